"""Levels and versions of the standards, and the policy that the labels of a namespace ask for."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from watchkeeper.meta.field import FieldError, invalid

PREFIX = "pod-security.kubernetes.io/"
_VERSION = re.compile(r"v1\.([0-9]|[1-9][0-9]*)", re.ASCII)
LATEST = 1 << 30
"""The minor version that is newer than all others."""


class Level(enum.IntEnum):
    """How strict; more is stricter."""

    PRIVILEGED = 0
    BASELINE = 1
    RESTRICTED = 2

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class LevelVersion:
    """A level as it was in a minor version of Kubernetes."""

    level: Level = Level.PRIVILEGED
    minor: int = LATEST

    def __str__(self) -> str:
        return f"{self.level}:{'latest' if self.minor == LATEST else f'v1.{self.minor}'}"


@dataclass(frozen=True, slots=True)
class Policy:
    """What is refused, what is noted in the audit log, and what is warned of."""

    enforce: LevelVersion = LevelVersion()
    audit: LevelVersion = LevelVersion()
    warn: LevelVersion = LevelVersion()

    @property
    def is_privileged(self) -> bool:
        """Whether it asks for nothing."""
        return not (self.enforce.level or self.audit.level or self.warn.level)


NO_POLICY = Policy()
_LEVELS = {str(level): level for level in Level}


def read_policy(labels: Mapping[str, str]) -> tuple[Policy, list[FieldError]]:
    """The policy of a namespace, and what is wrong with its labels.

    A level to enforce that cannot be read is restricted, one to audit or warn of privileged; a version is the latest.
    """
    errors: list[FieldError] = []
    enforce, enforced = _mode(labels, "enforce", Level.RESTRICTED, errors)
    audit, _ = _mode(labels, "audit", Level.PRIVILEGED, errors)
    warn, _ = _mode(labels, "warn", Level.PRIVILEGED, errors)
    if f"{PREFIX}warn" not in labels and enforced and enforce.level > warn.level:
        minor = warn.minor if f"{PREFIX}warn-version" in labels else enforce.minor
        warn = LevelVersion(enforce.level, minor)
    return Policy(enforce, audit, warn), errors


def _mode(labels: Mapping[str, str], mode: str, fallback: Level, errors: list[FieldError]) -> tuple[LevelVersion, bool]:
    """What one mode asks for, and whether a level was given that can be read."""
    found, given = LevelVersion(), False
    label = PREFIX + mode
    if (text := labels.get(label)) is not None:
        level = _LEVELS.get(text)
        given = level is not None
        if level is None:
            errors.append(invalid(_path(label), text, f"must be one of {', '.join(_LEVELS)}"))
        found = replace(found, level=fallback if level is None else level)
    label += "-version"
    if (text := labels.get(label)) is not None and text != "latest":
        match = _VERSION.fullmatch(text)
        if match is None:
            errors.append(invalid(_path(label), text, 'must be "latest" or "v1.x"'))
        else:
            found = replace(found, minor=min(int(match[1]), LATEST - 1))
    return found, given


def _path(label: str) -> str:
    return f"metadata.labels[{label}]"

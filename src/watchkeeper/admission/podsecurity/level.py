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


def parse_level(text: str) -> tuple[Level, str]:
    """A level, and what is wrong with its name; the strictest where it has none."""
    level = _LEVELS.get(text)
    return (Level.RESTRICTED, f"must be one of {', '.join(_LEVELS)}") if level is None else (level, "")


def parse_version(text: str) -> tuple[int, str]:
    """A minor version, and what is wrong with the text; the latest where it is none."""
    if text == "latest":
        return LATEST, ""
    match = _VERSION.fullmatch(text)
    return (LATEST, 'must be "latest" or "v1.x"') if match is None else (min(int(match[1]), LATEST - 1), "")


def policy_of(modes: Mapping[str, str]) -> Policy:
    """The policy of a configuration's defaults, by mode and `MODE-version`."""
    enforce, audit, warn = (
        LevelVersion(parse_level(modes.get(m, "privileged"))[0], parse_version(modes.get(f"{m}-version", "latest"))[0])
        for m in ("enforce", "audit", "warn")
    )
    return Policy(enforce, audit, warn)


def is_equivalent(one: Policy, other: Policy) -> bool:
    """Whether two policies ask for the same."""
    pairs = ((one.enforce, other.enforce), (one.audit, other.audit), (one.warn, other.warn))
    return all(a == b or not (a.level or b.level) for a, b in pairs)


def read_policy(labels: Mapping[str, str], defaults: Policy = NO_POLICY) -> tuple[Policy, list[FieldError]]:
    """The policy of a namespace, and what is wrong with its labels.

    A level to enforce that cannot be read is restricted, one to audit or warn of privileged; a version is the latest.
    """
    errors: list[FieldError] = []
    enforce, enforced = _mode(labels, "enforce", defaults.enforce, errors)
    audit, _ = _mode(labels, "audit", defaults.audit, errors)
    warn, _ = _mode(labels, "warn", defaults.warn, errors)
    if f"{PREFIX}warn" not in labels and enforced and enforce.level > warn.level:
        minor = warn.minor if f"{PREFIX}warn-version" in labels else enforce.minor
        warn = LevelVersion(enforce.level, minor)
    return Policy(enforce, audit, warn), errors


def _mode(
    labels: Mapping[str, str], mode: str, found: LevelVersion, errors: list[FieldError]
) -> tuple[LevelVersion, bool]:
    """What one mode asks for, beginning with what holds anyway, and whether a level was given that can be read."""
    given = False
    label = PREFIX + mode
    if (text := labels.get(label)) is not None:
        level, fault = parse_level(text)
        given = not fault
        if fault:
            errors.append(invalid(_path(label), text, fault))
            level = level if mode == "enforce" else Level.PRIVILEGED
        found = replace(found, level=level)
    label += "-version"
    if (text := labels.get(label)) is not None:
        minor, fault = parse_version(text)
        if fault:
            errors.append(invalid(_path(label), text, fault))
        found = replace(found, minor=minor)
    return found, given


def _path(label: str) -> str:
    return f"metadata.labels[{label}]"

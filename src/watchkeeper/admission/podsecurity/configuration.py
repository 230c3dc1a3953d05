"""PodSecurityConfiguration: what holds where a namespace says nothing, and who is exempt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from watchkeeper.admission.podsecurity.level import (
    NO_POLICY,
    PREFIX,
    Level,
    Policy,
    is_equivalent,
    parse_level,
    parse_version,
    policy_of,
)
from watchkeeper.apis.validation.names import is_dns1123_label, is_dns1123_subdomain
from watchkeeper.meta.field import FieldError, aggregate, duplicate, go_quote, invalid
from watchkeeper.runtime.config_file import parse_config

_MODES = ("enforce", "enforce-version", "audit", "audit-version", "warn", "warn-version")
_FIELDS = {
    "defaults": dict.fromkeys(_MODES, str),
    "exemptions": {"usernames": [str], "namespaces": [str], "runtimeClasses": [str]},
}
_SPECS = {f"pod-security.admission.config.k8s.io/{version}": _FIELDS for version in ("v1", "v1beta1", "v1alpha1")}


@dataclass(frozen=True, slots=True)
class Configuration:
    """The defaults and exemptions of the plugin."""

    defaults: Policy = NO_POLICY
    namespaces: frozenset[str] = frozenset()
    usernames: frozenset[str] = frozenset()
    runtime_classes: frozenset[str] = frozenset()

    def exemption(self, namespace: str, username: str) -> str:
        """Why a request is not judged, "" when it is."""
        if namespace in self.namespaces:
            return "namespace"
        return "user" if username in self.usernames else ""

    def warning(self, namespace: str, policy: Policy, labels: Mapping[str, str]) -> str:
        """What to tell who asks something of a namespace that is exempt; "" where that is no news."""
        if policy.is_privileged or is_equivalent(policy, self.defaults):
            return ""
        modes = [
            f"{mode}={wanted}"
            for mode, wanted in (("enforce", policy.enforce), ("audit", policy.audit), ("warn", policy.warn))
            if wanted.level is not Level.PRIVILEGED
            and (f"{PREFIX}{mode}" in labels or f"{PREFIX}{mode}-version" in labels)
        ]
        return (
            f"namespace {go_quote(namespace)} is exempt from Pod Security, and the policy ({', '.join(modes)})"
            " will be ignored"
        )


NO_CONFIGURATION = Configuration()


class ConfigurationError(Exception):
    """Values that cannot be meant. The message names all."""


def parse_configuration(data: str | Mapping[str, Any]) -> Configuration:
    """Read a file, or an object from one. Raises ConfigFileError, ConfigurationError."""
    found = parse_config(data, "PodSecurityConfiguration", _SPECS)
    defaults = {mode: value for mode, value in (found.get("defaults") or {}).items() if value}
    wrong = [
        f"{mode}: {fault}"
        for mode, value in ((mode, defaults[mode]) for mode in _MODES if mode in defaults)
        if (fault := (parse_version if mode.endswith("-version") else parse_level)(value)[1])
    ]
    if wrong:
        all_wrong = wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]"
        raise ConfigurationError(f"configuration error: {all_wrong}")
    errors: list[FieldError] = []
    exemptions = found.get("exemptions") or {}
    namespaces = _unique(exemptions, "namespaces", is_dns1123_label, errors)
    classes = _unique(exemptions, "runtimeClasses", is_dns1123_subdomain, errors)
    usernames = _unique(exemptions, "usernames", _username_faults, errors)
    if errors:
        raise ConfigurationError(f"invalid: {aggregate(errors)}")
    return Configuration(policy_of(defaults), namespaces, usernames, classes)


def _unique(
    exemptions: Mapping[str, Any], field: str, faults: Callable[[str], Sequence[str]], errors: list[FieldError]
) -> frozenset[str]:
    seen: set[str] = set()
    for i, value in enumerate(exemptions.get(field) or ()):
        path = f"exemptions.{field}[{i}]"
        if problems := faults(value):
            errors.append(invalid(path, value, ", ".join(problems)))
        elif value in seen:
            errors.append(duplicate(path, value))
        else:
            seen.add(value)
    return frozenset(seen)


def _username_faults(name: str) -> Sequence[str]:
    return () if name else ("username must not be empty",)

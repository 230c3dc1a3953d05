"""kube-apiserver's AuthenticationConfiguration: requests without credentials, and issuers of tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from watchkeeper.runtime.config_file import ConfigFileError, parse_config

_RULE = {"claim": str, "requiredValue": str, "expression": str, "message": str}
_MAPPING = {"claim": str, "prefix": str, "expression": str}
_JWT = {
    "issuer": {
        "url": str,
        "discoveryURL": str,
        "certificateAuthority": str,
        "audiences": [str],
        "audienceMatchPolicy": str,
        "egressSelectorType": str,
    },
    "claimValidationRules": [_RULE],
    "claimMappings": {
        "username": _MAPPING,
        "groups": _MAPPING,
        "uid": {"claim": str, "expression": str},
        "extra": [{"key": str, "valueExpression": str}],
    },
    "userValidationRules": [{"expression": str, "message": str}],
}
_FIELDS = {"jwt": [_JWT], "anonymous": {"enabled": bool, "conditions": [{"path": str}]}}
_SPECS = {f"apiserver.config.k8s.io/{version}": _FIELDS for version in ("v1", "v1beta1", "v1alpha1")}


class ConfigurationError(Exception):
    """The file breaks a rule. The message says which."""


@dataclass(frozen=True, slots=True)
class Anonymous:
    """Which requests need no credentials."""

    enabled: bool = True
    paths: frozenset[str] = frozenset()
    """None means all paths; these are exact."""

    def admits(self, path: str) -> bool:
        """Whether a request for a path needs none."""
        return self.enabled and (not self.paths or path in self.paths)


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a file says."""

    anonymous: Anonymous | None = None
    jwt: tuple[dict[str, Any], ...] = ()
    """Issuers, whose fields have the right types and are not judged any further."""


def parse_configuration(text: str) -> Configuration:
    """Read the text of a file, YAML or JSON. Raises ConfigurationError."""
    if not text:
        raise ConfigurationError("empty config data")
    try:
        given = parse_config(text, "AuthenticationConfiguration", _SPECS)
    except ConfigFileError as error:
        raise ConfigurationError(str(error)) from None
    jwt = tuple(given.get("jwt") or ())
    anonymous = given.get("anonymous")
    if anonymous is None:
        return Configuration(None, jwt)
    conditions = anonymous.get("conditions") or ()
    enabled = bool(anonymous.get("enabled"))
    if conditions and not enabled:
        raise ConfigurationError("anonymous.conditions: enabled should be set to true when conditions are defined")
    return Configuration(Anonymous(enabled, frozenset(each.get("path") or "" for each in conditions)), jwt)

"""kube-apiserver's AuthenticationConfiguration: what it says of requests without credentials, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_API_VERSIONS = tuple(f"apiserver.config.k8s.io/{version}" for version in ("v1", "v1beta1", "v1alpha1"))
_KIND = "AuthenticationConfiguration"


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


def parse_configuration(text: str) -> Anonymous | None:
    """Read the text of a file, YAML or JSON; None where it says nothing. Raises ConfigurationError."""
    import yaml

    if not text:
        raise ConfigurationError("empty config data")
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigurationError(str(error)) from None
    given = _fields(data, "", apiVersion=str, kind=str, jwt=list, anonymous=dict)
    if given.get("apiVersion") not in _API_VERSIONS or given.get("kind") != _KIND:
        raise ConfigurationError(f"expected kind {_KIND} of apiVersion {_API_VERSIONS[0]}")
    if given.get("jwt"):
        raise ConfigurationError("jwt: this server knows no issuers of tokens but itself")
    if given.get("anonymous") is None:
        return None
    anonymous = _fields(given["anonymous"], "anonymous.", enabled=bool, conditions=list)
    conditions = [
        _fields(each, f"anonymous.conditions[{i}].", path=str)
        for i, each in enumerate(anonymous.get("conditions") or ())
    ]
    enabled = bool(anonymous.get("enabled"))
    if conditions and not enabled:
        raise ConfigurationError("anonymous.conditions: enabled should be set to true when conditions are defined")
    return Anonymous(enabled, frozenset(each.get("path") or "" for each in conditions))


def _fields(data: Any, where: str, **types: type) -> dict[str, Any]:
    """The fields of an object, which has no others."""
    if not isinstance(data, dict):
        raise ConfigurationError(f"{where.removesuffix('.') or 'the file'} is no object")
    for name, value in data.items():
        if name not in types:
            raise ConfigurationError(f'strict decoding error: unknown field "{where}{name}"')
        if value is not None and not isinstance(value, types[name]):
            raise ConfigurationError(f"{where}{name} is no {types[name].__name__}")
    return data

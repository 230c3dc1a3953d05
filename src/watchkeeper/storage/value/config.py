"""kube-apiserver's EncryptionConfiguration: which resources are encrypted, with which keys."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from watchkeeper.meta.field import FieldError, aggregate, invalid, required
from watchkeeper.meta.gvk import GroupResource

AES_SIZES = (16, 24, 32)
SECRETBOX_SIZES = (32,)

_PROVIDERS = ("kms", "aesgcm", "aescbc", "secretbox", "identity")
_VERSIONS = (("apiserver.config.k8s.io/v1", "EncryptionConfiguration"), ("v1", "EncryptionConfig"))
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_NOT_SERVED = frozenset({"apiserveripinfo", "serviceipallocations", "servicenodeportallocations"})
DEFAULT_KMS_TIMEOUT = 3.0


class ConfigError(Exception):
    """The file cannot be read or breaks a rule. The message names the field, and shows no secret."""


@dataclass(frozen=True, slots=True)
class Key:
    """A named key."""

    name: str
    secret: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Provider:
    """One way of encrypting: `kind` is kms, aesgcm, aescbc, secretbox or identity. What does not apply is empty."""

    kind: str
    keys: tuple[Key, ...] = ()
    name: str = ""
    endpoint: str = ""
    timeout: float = DEFAULT_KMS_TIMEOUT


@dataclass(frozen=True, slots=True)
class Rule:
    """Resources, and the providers for them: the first writes, all of them read."""

    resources: tuple[GroupResource, ...]
    providers: tuple[Provider, ...]


def parse_config(text: str) -> tuple[Rule, ...]:
    """Read the text of a configuration file, YAML or JSON. Raises ConfigError with all that is wrong."""
    import yaml

    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as e:
        raise ConfigError(f"error decoding encryption provider configuration: {e}") from None
    if not isinstance(data, dict) or (data.get("apiVersion"), data.get("kind")) not in _VERSIONS:
        raise ConfigError(
            "error decoding encryption provider configuration: expected kind EncryptionConfiguration of "
            "apiVersion apiserver.config.k8s.io/v1"
        )
    faults: list[FieldError] = []
    rules = _Reader(faults).rules(data)
    if faults:
        raise ConfigError(aggregate(faults))
    return rules


class _Reader:
    """Collects faults while it reads; what it returns is of use only if there are none."""

    def __init__(self, faults: list[FieldError]) -> None:
        self._faults = faults
        self._kms_names: set[str] = set()

    def _fields(self, data: Any, path: str, known: Sequence[str]) -> Mapping[str, Any]:
        if not isinstance(data, dict):
            self._faults.append(invalid(path, type(data).__name__, "must be an object"))
            return {}
        for name in data:
            if name not in known:
                self._faults.append(invalid(path or "file", str(name), "unknown field"))
        return data

    def _items(self, data: Any, path: str) -> list[Any]:
        if data is None or data == []:
            self._faults.append(required(path, f"at least one {path} is required"))
            return []
        if not isinstance(data, list):
            self._faults.append(invalid(path, type(data).__name__, "must be a list"))
            return []
        return data

    def rules(self, data: Any) -> tuple[Rule, ...]:
        fields = self._fields(data, "", ("apiVersion", "kind", "resources"))
        items = self._items(fields.get("resources"), "resources")
        rules = tuple(self._rule(item, f"resources[{i}]") for i, item in enumerate(items))
        self._check_masked(rules)
        return rules

    def _rule(self, data: Any, path: str) -> Rule:
        fields = self._fields(data, path, ("resources", "providers"))
        names = [str(name) for name in self._items(fields.get("resources"), f"{path}.resources")]
        for i, name in enumerate(names):
            if fault := _resource_fault(name):
                self._faults.append(invalid(f"{path}.resources[{i}]", name, fault))
        resources = tuple(parse_resource(name) for name in names)
        self._check_overlap(resources, names, f"{path}.resources")
        items = self._items(fields.get("providers"), f"{path}.providers")
        return Rule(resources, tuple(self._provider(item, f"{path}.providers[{i}]") for i, item in enumerate(items)))

    def _check_overlap(self, resources: Sequence[GroupResource], names: list[str], path: str) -> None:
        if len(set(resources)) < len(resources):
            self._faults.append(invalid(path, names, "the same resource cannot be specified multiple times"))
        groups = {r.group for r in resources if r.resource == "*"}
        distinct = set(resources)
        if any(r.group in groups and r.resource != "*" for r in distinct) or ("*" in groups and len(distinct) > 1):
            text = "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed"
            self._faults.append(invalid(path, names, f"{text} as they will be masked"))

    def _check_masked(self, rules: Sequence[Rule]) -> None:
        """A rule for what an earlier wildcard covers would never be used."""
        earlier: set[GroupResource] = set()
        for i, rule in enumerate(rules):
            for resource in rule.resources:
                for wildcard in (GroupResource(resource.group, "*"), GroupResource("*", "*")):
                    if wildcard in earlier:
                        text = f"resource {_written(resource)!r} is masked by earlier rule {_written(wildcard)!r}"
                        self._faults.append(invalid(f"resources[{i}].resources", _written(resource), text))
            earlier.update(rule.resources)

    def _provider(self, data: Any, path: str) -> Provider:
        fields = self._fields(data, path, _PROVIDERS)
        kinds = [kind for kind in _PROVIDERS if kind in fields]
        if not kinds:
            text = "provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity"
            self._faults.append(invalid(path, list(fields), text))
            return Provider("identity")
        if len(kinds) > 1:
            text = "more than one provider specified in a single element, should split into different list elements"
            self._faults.append(invalid(path, kinds, text))
        kind = kinds[0]
        path = f"{path}.{kind}"
        if kind == "identity":
            return Provider(kind)
        if kind == "kms":
            return self._kms(fields[kind], path)
        keys = self._fields(fields[kind], path, ("keys",)).get("keys")
        if not keys:
            self._faults.append(required(f"{path}.keys", "at least one keys is required"))
            return Provider(kind)
        sizes = SECRETBOX_SIZES if kind == "secretbox" else AES_SIZES
        return Provider(kind, tuple(self._key(key, f"{path}.keys[{i}]", sizes) for i, key in enumerate(keys)))

    def _key(self, data: Any, path: str, sizes: Sequence[int]) -> Key:
        fields = self._fields(data, path, ("name", "secret"))
        name, secret = str(fields.get("name") or ""), str(fields.get("secret") or "")
        if not name:
            self._faults.append(required(f"{path}.name", "name is a mandatory field for a key"))
        if not secret:
            self._faults.append(required(f"{path}.secret", "secret is a mandatory field for a key"))
            return Key(name, b"")
        try:
            plain = base64.b64decode(secret, validate=True)
        except (binascii.Error, ValueError):
            self._faults.append(invalid(f"{path}.secret", "REDACTED", "secrets must be base64 encoded"))
            return Key(name, b"")
        if len(plain) not in sizes:
            expected = " ".join(map(str, sizes))
            text = f"secret is not of the expected length, got {len(plain)}, expected one of [{expected}]"
            self._faults.append(invalid(f"{path}.secret", "REDACTED", text))
        return Key(name, plain)

    def _kms(self, data: Any, path: str) -> Provider:
        fields = self._fields(data, path, ("apiVersion", "name", "endpoint", "timeout", "cachesize"))
        version = str(fields.get("apiVersion") or "v1")
        name, endpoint = str(fields.get("name") or ""), str(fields.get("endpoint") or "")
        if not name:
            self._faults.append(required(f"{path}.name", "name is a mandatory field for a provider"))
        elif ":" in name:
            text = f"invalid KMS provider name {name}, must not contain ':'"
            self._faults.append(invalid(f"{path}.name", name, text))
        elif name in self._kms_names:
            text = f"duplicate KMS provider name {name}, names must be unique"
            self._faults.append(invalid(f"{path}.name", name, text))
        self._kms_names.add(name)
        timeout = self._timeout(fields.get("timeout"), f"{path}.timeout")
        if not endpoint:
            self._faults.append(invalid(f"{path}.endpoint", "", "endpoint is a mandatory field for a kms"))
        elif (scheme := urlsplit(endpoint).scheme) != "unix":
            text = f'unsupported scheme "{scheme}" for KMS provider, only unix is supported'
            self._faults.append(invalid(f"{path}.endpoint", endpoint, text))
        if version != "v2":
            text = f"unsupported apiVersion {version} for KMS provider, only v2 is supported"
            self._faults.append(invalid(f"{path}.apiVersion", version, text))
        elif "cachesize" in fields:
            self._faults.append(invalid(f"{path}.cachesize", fields["cachesize"], "cachesize is not supported in v2"))
        return Provider("kms", name=name, endpoint=endpoint, timeout=timeout)

    def _timeout(self, value: Any, path: str) -> float:
        if value is None:
            return DEFAULT_KMS_TIMEOUT
        parts = _DURATION.findall(str(value))
        seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
        if "".join(number + unit for number, unit in parts) != str(value) or seconds <= 0:
            self._faults.append(invalid(path, str(value), "timeout should be a positive value"))
        return seconds


def _resource_fault(name: str) -> str:
    if name != name.lower():
        return "resource name should not contain capital letters"
    if name == "*":
        return "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources"
    if name in _NOT_SERVED:
        return "resources which do not have REST API/s cannot be encrypted"
    parsed = parse_resource(name)
    if parsed.group == "events.k8s.io":
        return (
            "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. "
            "Use 'events' instead in the config file"
        )
    if parsed.group == "extensions":
        return "'extensions' group has been removed and cannot be used for encryption"
    if parsed.group == "*" and parsed.resource != "*":
        return "encrypting the same resource across groups is not supported"
    return ""


def parse_resource(name: str) -> GroupResource:
    """Read `secrets`, `deployments.apps`, `*.apps`, `*.` (all of the core group) or `*.*`."""
    resource, _, group = name.partition(".")
    return GroupResource(group, resource)


def _written(resource: GroupResource) -> str:
    return f"{resource.resource}.{resource.group}" if resource.group or resource.resource == "*" else resource.resource

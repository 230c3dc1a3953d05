"""audit.k8s.io/v1 Policy: which requests are told of, and how much of them."""

from __future__ import annotations

import enum
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from watchkeeper.authz.interface import Attributes
from watchkeeper.meta.field import FieldError, aggregate, invalid, not_supported, required
from watchkeeper.meta.label_syntax import dns_subdomain_faults

log = logging.getLogger(__name__)


class Level(enum.IntEnum):
    """How much is told."""

    NONE = 0
    METADATA = 1
    REQUEST = 2
    REQUEST_RESPONSE = 3

    @property
    def text(self) -> str:
        """As policies and events spell it."""
        return _LEVEL_NAMES[self]


_LEVEL_NAMES = {
    Level.NONE: "None",
    Level.METADATA: "Metadata",
    Level.REQUEST: "Request",
    Level.REQUEST_RESPONSE: "RequestResponse",
}
_LEVELS = {name: level for level, name in _LEVEL_NAMES.items()}


class Stage(enum.StrEnum):
    """When in the life of a request something is told."""

    REQUEST_RECEIVED = "RequestReceived"
    RESPONSE_STARTED = "ResponseStarted"
    """Of requests that last: the headers are out."""
    RESPONSE_COMPLETE = "ResponseComplete"
    PANIC = "Panic"


class PolicyError(Exception):
    """The file cannot be read or breaks a rule. The message says all that is wrong."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a policy says of one request."""

    level: Level
    omit_stages: frozenset[str] = frozenset()
    omit_managed_fields: bool = False


@dataclass(frozen=True, slots=True)
class GroupResources:
    """Resources of one group. `*` stands for all, `*/status` for a subresource of all, `pods/*` for all of one."""

    group: str = ""
    resources: tuple[str, ...] = ()
    """None means all of the group."""
    names: tuple[str, ...] = ()

    def matches(self, about: Attributes) -> bool:
        """Whether the request is about one of them."""
        if self.group not in ("*", about.group):
            return False
        if not self.resources:
            return True
        if self.names and about.name not in self.names:
            return False
        return any(_resource_matches(resource, about) for resource in self.resources)


def _resource_matches(pattern: str, about: Attributes) -> bool:
    resource, subresource = about.resource, about.subresource
    if pattern in ("*", f"{resource}/{subresource}" if subresource else resource):
        return True
    if subresource and pattern == f"*/{subresource}":
        return True
    return pattern == f"{resource}/*"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. What is empty restricts nothing."""

    decision: Decision
    users: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    verbs: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()
    """"" stands for what is in no namespace."""
    resources: tuple[GroupResources, ...] = ()
    paths: tuple[str, ...] = ()

    def matches(self, about: Attributes) -> bool:
        """Whether the rule is about this request."""
        user = about.user
        if self.users and user.name not in self.users:
            return False
        if self.groups and self.groups.isdisjoint(user.groups):
            return False
        if self.verbs and about.verb not in self.verbs:
            return False
        if self.namespaces or self.resources:
            return about.is_resource and self._matches_resource(about)
        if self.paths:
            return not about.is_resource and any(_path_matches(path, about.path) for path in self.paths)
        return True

    def _matches_resource(self, about: Attributes) -> bool:
        if self.namespaces and about.namespace not in self.namespaces:
            return False
        return not self.resources or any(each.matches(about) for each in self.resources)


def _path_matches(pattern: str, path: str) -> bool:
    if pattern in ("*", path):
        return True
    return pattern.endswith("*") and path.startswith(pattern.rstrip("*"))


@dataclass(frozen=True, slots=True)
class Policy:
    """Rules, of which the first that matches decides."""

    rules: tuple[Rule, ...]
    otherwise: Decision = field(default=Decision(Level.NONE))
    """What holds where no rule matches: nothing is told."""

    def decide(self, about: Attributes) -> Decision:
        """How much of a request is told."""
        for rule in self.rules:
            if rule.matches(about):
                return rule.decision
        return self.otherwise


def parse_policy(text: str) -> Policy:
    """Read the text of a policy file, YAML or JSON. Raises PolicyError.

    Fields that are not known are warned of in the server's log and have no effect, as in kube-apiserver.
    """
    import yaml

    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise PolicyError(f"failed decoding: {error}") from None
    if not isinstance(data, dict):
        raise PolicyError("failed decoding: the file holds no object")
    if (data.get("apiVersion"), data.get("kind")) != ("audit.k8s.io/v1", "Policy"):
        raise PolicyError(f"unknown group version field {data.get('apiVersion')}, Kind={data.get('kind')} in policy")
    reader = _Reader()
    policy = reader.policy(data)
    if reader.faults:
        raise PolicyError(aggregate(reader.faults))
    if not policy.rules:
        raise PolicyError("loaded illegal policy with 0 rules")
    return policy


class _Reader:
    """Collects faults while it reads; what it returns is of use only if there are none."""

    def __init__(self) -> None:
        self.faults: list[FieldError] = []

    def policy(self, data: dict[str, Any]) -> Policy:
        self._warn_of_unknown(data, "", ("apiVersion", "kind", "metadata", "rules", "omitStages", "omitManagedFields"))
        stages = self._stages(data, "")
        drop = self._flag(data, "omitManagedFields", "", default=False)
        rules = tuple(
            self._rule(item, f"rules[{i}]", stages, drop) for i, item in enumerate(self._objects(data, "rules", ""))
        )
        return Policy(rules, Decision(Level.NONE, stages, drop))

    def _rule(self, data: dict[str, Any], path: str, stages: frozenset[str], drop: bool) -> Rule:
        self._warn_of_unknown(
            data,
            path,
            (
                *("level", "users", "userGroups", "verbs", "resources", "namespaces", "nonResourceURLs"),
                *("omitStages", "omitManagedFields"),
            ),
        )
        level = self._level(data.get("level"), f"{path}.level")
        urls = self._texts(data, "nonResourceURLs", path)
        self._check_urls(urls, f"{path}.nonResourceURLs")
        resources = tuple(self._resources(item, f"{path}.resources") for item in self._objects(data, "resources", path))
        own_stages = self._stages(data, path)
        namespaces = self._texts(data, "namespaces", path)
        if urls and (resources or namespaces):
            why = "rules cannot apply to both regular resources and non-resource URLs"
            self.faults.append(invalid(f"{path}.nonResourceURLs", urls, why))
        drop = self._flag(data, "omitManagedFields", path, default=drop)
        return Rule(
            Decision(level, stages | own_stages, drop),
            users=frozenset(self._texts(data, "users", path)),
            groups=frozenset(self._texts(data, "userGroups", path)),
            verbs=frozenset(self._texts(data, "verbs", path)),
            namespaces=frozenset(namespaces),
            resources=resources,
            paths=tuple(urls),
        )

    def _level(self, text: object, path: str) -> Level:
        if text in (None, ""):
            self.faults.append(required(path))
        elif text not in _LEVELS:
            self.faults.append(not_supported(path, text, _LEVELS))
        else:
            return _LEVELS[str(text)]
        return Level.NONE

    def _check_urls(self, urls: Sequence[str], path: str) -> None:
        for i, url in enumerate(urls):
            if url == "*":
                continue
            if not url.startswith("/"):
                why = "non-resource URL rules must begin with a '/' character"
                self.faults.append(invalid(f"{path}[{i}]", url, why))
            if "*" in url[:-1]:
                why = "non-resource URL wildcards '*' must be the final character of the rule"
                self.faults.append(invalid(f"{path}[{i}]", url, why))

    def _resources(self, data: dict[str, Any], path: str) -> GroupResources:
        self._warn_of_unknown(data, path, ("group", "resources", "resourceNames"))
        group = self._text(data.get("group"), f"{path}.group")
        if group not in ("", "*") and (problems := dns_subdomain_faults(group)):
            self.faults.append(invalid(f"{path}.group", group, ",".join(problems)))
        resources = self._texts(data, "resources", path)
        names = self._texts(data, "resourceNames", path)
        if names and not resources:
            why = "using resourceNames requires at least one resource"
            self.faults.append(invalid(f"{path}.resourceNames", names, why))
        return GroupResources(group, tuple(resources), tuple(names))

    def _stages(self, data: dict[str, Any], path: str) -> frozenset[str]:
        stages = self._texts(data, "omitStages", path)
        for i, stage in enumerate(stages):
            if stage not in list(Stage):
                where = f"{path}.omitStages[{i}]" if path else f"omitStages[{i}]"
                self.faults.append(invalid(where, stage, f"allowed stages are {','.join(Stage)}"))
        return frozenset(stages)

    # -- what fields hold -----------------------------------------------------------------------------------------

    def _warn_of_unknown(self, data: dict[str, Any], path: str, known: Sequence[str]) -> None:
        for name in data:
            if name not in known:
                log.warning("audit policy: unknown field %s", f"{path}.{name}" if path else name)

    def _list(self, data: dict[str, Any], name: str, path: str) -> list[Any]:
        value = data.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            self.faults.append(invalid(f"{path}.{name}" if path else name, type(value).__name__, "must be a list"))
            return []
        return value

    def _objects(self, data: dict[str, Any], name: str, path: str) -> list[dict[str, Any]]:
        items = self._list(data, name, path)
        for i, item in enumerate(items):
            if not isinstance(item, dict):
                where = f"{path}.{name}[{i}]" if path else f"{name}[{i}]"
                self.faults.append(invalid(where, type(item).__name__, "must be an object"))
        return [item if isinstance(item, dict) else {} for item in items]

    def _texts(self, data: dict[str, Any], name: str, path: str) -> list[str]:
        where = f"{path}.{name}" if path else name
        return [self._text(item, f"{where}[{i}]") for i, item in enumerate(self._list(data, name, path))]

    def _text(self, value: Any, path: str) -> str:
        if value is None:
            return ""
        if not isinstance(value, str):
            self.faults.append(invalid(path, type(value).__name__, "must be a string"))
            return ""
        return value

    def _flag(self, data: dict[str, Any], name: str, path: str, *, default: bool) -> bool:
        value = data.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.faults.append(
                invalid(f"{path}.{name}" if path else name, type(value).__name__, "must be true or false")
            )
            return default
        return value

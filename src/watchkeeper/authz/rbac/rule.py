"""Policy rules: what one allows, and whether some cover others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from watchkeeper.authz.interface import Attributes
from watchkeeper.meta.field import go_quote

ALL = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rbac PolicyRule. `*` stands for all; `*/scale` for a subresource of all resources."""

    verbs: tuple[str, ...]
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = ()

    @classmethod
    def parse(cls, obj: Mapping[str, Any]) -> Rule:
        """Read a rule as it stands in a role."""
        return cls(
            verbs=tuple(obj.get("verbs") or ()),
            api_groups=tuple(obj.get("apiGroups") or ()),
            resources=tuple(obj.get("resources") or ()),
            resource_names=tuple(obj.get("resourceNames") or ()),
            non_resource_urls=tuple(obj.get("nonResourceURLs") or ()),
        )

    def allows(self, asked: Attributes) -> bool:
        """Whether this rule alone lets the request pass."""
        verbs = self.verbs
        if asked.verb not in verbs and ALL not in verbs:
            return False
        if not asked.is_resource:
            return any(url_covers(url, asked.path) for url in self.non_resource_urls)
        groups = self.api_groups
        if asked.group not in groups and ALL not in groups:
            return False
        if not self._allows_resource(asked.resource, asked.subresource):
            return False
        return not self.resource_names or asked.name in self.resource_names

    def _allows_resource(self, resource: str, subresource: str) -> bool:
        resources = self.resources
        if ALL in resources:
            return True
        if subresource:
            return f"{resource}/{subresource}" in resources or f"*/{subresource}" in resources
        return resource in resources

    def __str__(self) -> str:
        parts = [
            f"{name}:[{' '.join(map(go_quote, values))}]"
            for name, values in (
                ("APIGroups", self.api_groups),
                ("Resources", self.resources),
                ("NonResourceURLs", self.non_resource_urls),
                ("ResourceNames", self.resource_names),
                ("Verbs", self.verbs),
            )
            if values
        ]
        return f"{{{', '.join(parts)}}}"


FULL_AUTHORITY = (
    Rule(verbs=(ALL,), api_groups=(ALL,), resources=(ALL,)),
    Rule(verbs=(ALL,), non_resource_urls=(ALL,)),
)


def parse_rules(role: Mapping[str, Any]) -> tuple[Rule, ...]:
    """The rules of a Role or ClusterRole."""
    return tuple(Rule.parse(rule) for rule in role.get("rules") or ())


def url_covers(pattern: str, path: str) -> bool:
    """Whether a path is what the pattern says, or below it when the pattern ends with a star."""
    return pattern == path or (pattern.endswith(ALL) and path.startswith(pattern.rstrip(ALL)))


def uncovered(owned: Sequence[Rule], wanted: Iterable[Rule]) -> list[Rule]:
    """What of `wanted` no rule of `owned` allows, each down to one verb on one thing."""
    return [small for rule in wanted for small in _break_down(rule) if not any(_covers(o, small) for o in owned)]


def _break_down(rule: Rule) -> Iterator[Rule]:
    for group in rule.api_groups:
        for resource in rule.resources:
            for verb in rule.verbs:
                about = {"verbs": (verb,), "api_groups": (group,), "resources": (resource,)}
                if rule.resource_names:
                    for name in rule.resource_names:
                        yield Rule(**about, resource_names=(name,))
                else:
                    yield Rule(**about)
    for url in rule.non_resource_urls:
        for verb in rule.verbs:
            yield Rule(verbs=(verb,), non_resource_urls=(url,))


def _covers(owned: Rule, small: Rule) -> bool:
    """Whether one rule allows a rule of one verb on one thing."""
    if ALL not in owned.verbs and small.verbs[0] not in owned.verbs:
        return False
    if small.non_resource_urls:
        return any(url_covers(url, small.non_resource_urls[0]) for url in owned.non_resource_urls)
    if ALL not in owned.api_groups and small.api_groups[0] not in owned.api_groups:
        return False
    if not _covers_resource(owned.resources, small.resources[0]):
        return False
    if not owned.resource_names:
        return True
    return bool(small.resource_names) and small.resource_names[0] in owned.resource_names


def _covers_resource(owned: tuple[str, ...], resource: str) -> bool:
    if ALL in owned or resource in owned:
        return True
    _, found, subresource = resource.partition("/")
    return bool(found) and f"*/{subresource}" in owned


def compact(rules: Iterable[Rule]) -> list[Rule]:
    """Put the verbs on the same resource together; rules on paths stay as they are."""
    merged: list[Rule] = []
    verbs: dict[Rule, list[str]] = {}
    for rule in rules:
        if rule.non_resource_urls:
            merged.append(rule)
        else:
            verbs.setdefault(replace(rule, verbs=()), []).extend(rule.verbs)
    return merged + [replace(about, verbs=tuple(found)) for about, found in verbs.items()]

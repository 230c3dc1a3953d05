"""One rule: operations on resources (admissionregistration RuleWithOperations and NamedRuleWithOperations)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from watchkeeper.admission.interface import Attributes
from watchkeeper.meta.gvk import GroupVersionResource

_NAMESPACES = GroupVersionResource("", "v1", "namespaces")


class Rule:
    """A rule, made ready for being asked often."""

    __slots__ = ("_groups", "_names", "_operations", "_resources", "_scope", "_versions")

    def __init__(self, rule: Mapping[str, Any]) -> None:
        self._operations = _choices(rule.get("operations") or ())
        self._groups = _choices(rule.get("apiGroups") or ())
        self._versions = _choices(rule.get("apiVersions") or ())
        self._resources = tuple(_split(text) for text in rule.get("resources") or ())
        self._scope = rule.get("scope") or "*"
        self._names = frozenset(rule.get("resourceNames") or ())

    def __repr__(self) -> str:
        resources = ["/".join(filter(None, pair)) for pair in self._resources]
        return f"<Rule {sorted(self._operations or '*')} {resources}>"

    def matches(self, attributes: Attributes, resource: GroupVersionResource) -> bool:
        """Whether the rule is about the request, taken as one for `resource` (the request's own or an equivalent)."""
        operations, groups, versions = self._operations, self._groups, self._versions
        return (
            (operations is None or attributes.operation in operations)
            and (groups is None or resource.group in groups)
            and (versions is None or resource.version in versions)
            and self._has(resource.resource, attributes.subresource)
            and self._in_scope(attributes.namespace, resource)
            and (not self._names or attributes.name in self._names)
        )

    def _has(self, resource: str, subresource: str) -> bool:
        return any(name in ("*", resource) and sub in ("*", subresource) for name, sub in self._resources)

    def _in_scope(self, namespace: str, resource: GroupVersionResource) -> bool:
        if self._scope == "*":
            return True
        # Requests for a Namespace carry its name as their namespace, but Namespaces are cluster-scoped.
        namespaced = bool(namespace) and resource != _NAMESPACES
        return namespaced is (self._scope == "Namespaced")


def _choices(values: Sequence[str]) -> frozenset[str] | None:
    """The values to choose from, None for any."""
    return None if "*" in values else frozenset(values)


def _split(text: str) -> tuple[str, str]:
    resource, _, subresource = text.partition("/")
    return resource, subresource


def rules_of(rules: Iterable[Mapping[str, Any]] | None) -> tuple[Rule, ...]:
    """All rules of a list, in its order."""
    return tuple(Rule(rule) for rule in rules or ())

"""All that decides whether a webhook, a policy or a binding is about a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from watchkeeper.admission.interface import Attributes
from watchkeeper.admission.matching.equivalents import Equivalents
from watchkeeper.admission.matching.namespaces import Namespaces, labels_of
from watchkeeper.admission.matching.rule import Rule, rules_of
from watchkeeper.meta import errors, labels
from watchkeeper.meta.gvk import GroupVersionKind, GroupVersionResource
from watchkeeper.meta.labels import LabelSelector, SelectorError


class Match(NamedTuple):
    """As what a request is to be shown: the resource that a rule named, and what objects are there."""

    resource: GroupVersionResource
    kind: GroupVersionKind


class Criteria:
    """Rules and selectors, read once. Immutable."""

    __slots__ = ("_everything", "_exact", "_excluded", "_namespaces", "_objects", "_rules")

    def __init__(
        self,
        *,
        rules: Sequence[Rule],
        excluded: Sequence[Rule] = (),
        everything: bool = False,
        match_policy: str | None = None,
        namespace_selector: Mapping[str, Any] | None = None,
        object_selector: Mapping[str, Any] | None = None,
    ) -> None:
        """`everything`: whether it matches regardless of rules when there are none."""
        self._rules = tuple(rules)
        self._excluded = tuple(excluded)
        self._everything = everything and not rules
        self._exact = match_policy != "Equivalent"
        self._namespaces = _selector(namespace_selector)
        self._objects = _selector(object_selector)

    def __repr__(self) -> str:
        return f"<Criteria of {len(self._rules)} rules>"

    @classmethod
    def of_policy(cls, resources: Mapping[str, Any]) -> Criteria:
        """Read a policy's matchConstraints or a binding's matchResources."""
        return cls(
            rules=rules_of(resources.get("resourceRules")),
            excluded=rules_of(resources.get("excludeResourceRules")),
            everything=True,
            match_policy=resources.get("matchPolicy"),
            namespace_selector=resources.get("namespaceSelector"),
            object_selector=resources.get("objectSelector"),
        )

    @classmethod
    def of_webhook(cls, hook: Mapping[str, Any]) -> Criteria:
        """Read one webhook of a configuration."""
        return cls(
            rules=rules_of(hook.get("rules")),
            match_policy=hook.get("matchPolicy"),
            namespace_selector=hook.get("namespaceSelector"),
            object_selector=hook.get("objectSelector"),
        )

    async def matches(self, attributes: Attributes, equivalents: Equivalents, namespaces: Namespaces) -> Match | None:
        """As what the request matches, None when it does not. Raises ApiError.

        A 404 says that the namespace whose labels decide does not exist, a 500 that a selector makes no sense.
        """
        found = self.match_rules(attributes, equivalents)
        if found is None:
            return None
        objects = self._objects
        if isinstance(objects, LabelSelector) and not _selects_object(objects, attributes):
            return None
        if not await self._selects_namespace(attributes, namespaces):
            return None
        if not isinstance(objects, LabelSelector):
            raise errors.internal_error(objects)
        return found

    def match_rules(self, attributes: Attributes, equivalents: Equivalents) -> Match | None:
        """As what the rules alone say that the request matches; the cheap part of `matches`."""
        if self._excluded and self._first(self._excluded, attributes, equivalents) is not None:
            return None
        if self._everything:
            return Match(attributes.resource, attributes.kind)
        return self._first(self._rules, attributes, equivalents)

    def _first(self, rules: Sequence[Rule], attributes: Attributes, equivalents: Equivalents) -> Match | None:
        requested = attributes.resource
        for rule in rules:
            if rule.matches(attributes, requested):
                return Match(requested, attributes.kind)
        if self._exact:
            return None
        others = [e for e in equivalents.of(requested, attributes.subresource) if e.resource != requested]
        if not others:
            return None
        for rule in rules:
            for other in others:
                if rule.matches(attributes, other.resource):
                    return Match(other.resource, other.kind)
        return None

    async def _selects_namespace(self, attributes: Attributes, namespaces: Namespaces) -> bool:
        if not _has_namespace(attributes):
            return True  # cluster-scoped objects are never exempted by labels of a namespace
        selector = self._namespaces
        if not isinstance(selector, LabelSelector):
            raise errors.internal_error(selector)
        return selector.is_empty() or selector.matches(await namespaces.labels(attributes))


def _has_namespace(attributes: Attributes) -> bool:
    return bool(attributes.namespace) or attributes.resource.resource == "namespaces"


def _selects_object(selector: LabelSelector, attributes: Attributes) -> bool:
    if selector.is_empty():
        return True
    for obj in (attributes.obj, attributes.old):
        found = labels_of(obj)
        if found is not None and selector.matches(found):
            return True
    return False


def _selector(spec: Mapping[str, Any] | None) -> LabelSelector | str:
    """The selector, or what is wrong with it."""
    try:
        return labels.from_spec({} if spec is None else spec)
    except SelectorError as error:
        return str(error)

"""The PodNodeSelector plugin: to which nodes the Pods of a namespace may go."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from watchkeeper.admission.interface import Attributes, BasePlugin, Operation
from watchkeeper.admission.pods import is_new_pod
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import invalid
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.meta.label_syntax import label_key_faults, label_value_faults
from watchkeeper.runtime.yaml import YamlError
from watchkeeper.runtime.yaml_reader import read_yaml

Object = dict[str, Any]
Labels = dict[str, str]
FindNamespace = Callable[[str], "Object | Awaitable[Object | None] | None"]

ANNOTATION = "scheduler.alpha.kubernetes.io/node-selector"
_DEFAULT = "clusterDefaultNodeSelector"
_PODS = GroupResource("", "pods")


def parse_selectors(data: str | Mapping[str, Any]) -> dict[str, str]:
    """The selectors in a file, by namespace, and the one for those without any; what is none counts for nothing."""
    if isinstance(data, str):
        try:
            data = read_yaml(data.encode())
        except YamlError:
            return {}
    given = data.get("podNodeSelectorPluginConfig") if isinstance(data, Mapping) else None
    if not isinstance(given, Mapping):
        return {}
    return {name: selector for name, selector in given.items() if isinstance(selector, str)}


class PodNodeSelector(BasePlugin):
    """Gives new Pods the node selector of their namespace, and refuses those that contradict it."""

    name = "PodNodeSelector"
    deep = False
    operations = frozenset({Operation.CREATE})
    resources = frozenset({_PODS})

    def __init__(self, find: FindNamespace, selectors: Mapping[str, str]) -> None:
        """`selectors`: what is allowed, by namespace, and what holds for those that say nothing."""
        self._find = find
        self._selectors = selectors

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Put the selector of the namespace there."""
        return self._with_namespace(attributes, self._select)

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Refuse what others have put there instead."""
        return self._with_namespace(attributes, self._judge)

    def _with_namespace(
        self, attributes: Attributes, then: Callable[[Attributes, Labels], None]
    ) -> Awaitable[None] | None:
        if not is_new_pod(attributes):
            return None
        found = self._find(attributes.namespace)
        if found is None or isinstance(found, dict):
            then(attributes, self._selector(attributes.namespace, found))
            return None
        return self._wait(attributes, found, then)

    async def _wait(
        self, attributes: Attributes, found: Awaitable[Object | None], then: Callable[[Attributes, Labels], None]
    ) -> None:
        then(attributes, self._selector(attributes.namespace, await found))

    def _selector(self, name: str, namespace: Object | None) -> Labels:
        if namespace is None:
            raise errors.internal_error(f"namespace {name} does not exist")
        said = (namespace["metadata"].get("annotations") or {}).get(ANNOTATION)
        return _labels(self._selectors.get(_DEFAULT, "") if said is None else said)

    def _select(self, attributes: Attributes, wanted: Labels) -> None:
        assert attributes.obj is not None
        spec = attributes.obj["spec"]
        own = spec.get("nodeSelector") or {}
        self._check(attributes, own, wanted)
        if merged := {**wanted, **own}:
            spec["nodeSelector"] = merged
        self._check_allowed(attributes, merged)

    def _judge(self, attributes: Attributes, wanted: Labels) -> None:
        assert attributes.obj is not None
        own = attributes.obj["spec"].get("nodeSelector") or {}
        self._check(attributes, own, wanted)
        self._check_allowed(attributes, own)

    def _check(self, attributes: Attributes, own: Labels, wanted: Labels) -> None:
        if any(own.get(key, value) != value for key, value in wanted.items()):
            raise _refusal(attributes, "pod node label selector conflicts with its namespace node label selector")

    def _check_allowed(self, attributes: Attributes, own: Labels) -> None:
        allowed = _labels(self._selectors.get(attributes.namespace, ""))
        if allowed and any(allowed.get(key) != value for key, value in own.items()):
            raise _refusal(attributes, "pod node label selector labels conflict with its namespace whitelist")


def _refusal(attributes: Attributes, why: str) -> ApiError:
    assert attributes.obj is not None
    return errors.forbidden(_PODS, attributes.obj["metadata"].get("name") or "", why)


def _labels(selector: str) -> Labels:
    """The labels of a selector that names values only. Raises ApiError."""
    found: Labels = {}
    for each in selector.split(",") if selector else ():
        parts = each.split("=")
        if len(parts) != 2:
            raise ApiError(500, "", f"invalid selector: [{' '.join(parts)}]")
        key, value = (part.strip() for part in parts)
        if faults := label_key_faults(key):
            raise ApiError(500, "", str(invalid("<nil>", key, "; ".join(faults))))
        if faults := label_value_faults(value):
            raise ApiError(500, "", str(invalid(f"[{key}]", value, "; ".join(faults))))
        found[key] = value
    return found

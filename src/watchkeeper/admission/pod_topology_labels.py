"""PodTopologyLabels: Pods carry the zone and region of the node that they run on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from watchkeeper.admission.interface import Attributes, BasePlugin, Operation
from watchkeeper.meta.gvk import GroupResource

Object = dict[str, Any]
Labels = Mapping[str, str]
NodeLabels = Callable[[str], "Labels | Awaitable[Labels]"]
"""Name -> the labels of the Node, none when there is no such Node. An awaitable when memory cannot tell."""

LABELS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


class PodTopologyLabels(BasePlugin):
    """Copies a node's topology labels to the Bindings of its Pods, and to new Pods that are on it already.

    The node knows better than the object what they are. A Pod takes those of its Binding over where it has none.
    """

    name = "PodTopologyLabels"
    deep = False
    operations = frozenset({Operation.CREATE})
    resources = frozenset({GroupResource("", "pods")})

    def __init__(self, labels: NodeLabels) -> None:
        self._labels = labels

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Look for the node only when the object names one."""
        node = _node_name(attributes)
        if not node:
            return None
        labels = self._labels(node)
        if labels:
            if isinstance(labels, Awaitable):
                return self._wait(attributes, labels)
            self._label(attributes, labels)
        return None

    async def _wait(self, attributes: Attributes, labels: Awaitable[Labels]) -> None:
        self._label(attributes, await labels)

    @staticmethod
    def _label(attributes: Attributes, labels: Labels) -> None:
        copied = {key: labels[key] for key in LABELS if key in labels}
        if copied:
            assert attributes.obj is not None
            meta: Object = attributes.obj.setdefault("metadata", {})
            meta["labels"] = {**(meta.get("labels") or {}), **copied}


def _node_name(attributes: Attributes) -> str | None:
    """The node that a new Pod or a Binding names; nodes of other kinds do not count."""
    if attributes.resource.resource != "pods" or attributes.resource.group or attributes.obj is None:
        return None
    if not attributes.subresource:
        name: str | None = (attributes.obj.get("spec") or {}).get("nodeName")
        return name
    if attributes.subresource != "binding":
        return None
    target = attributes.obj.get("target") or {}
    return target.get("name") if target.get("kind") == "Node" else None

"""NodeDeclaredFeatureValidator: what an update of a Pod needs of its node must be among what the node declares."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator
from itertools import zip_longest
from typing import Any

from watchkeeper.admission.interface import Attributes, BasePlugin, Operation
from watchkeeper.admission.pod_nodes import FindNode, node_in_question, require_node
from watchkeeper.admission.refusal import forbidden
from watchkeeper.apis.quantities import compare
from watchkeeper.meta.field import go_quote
from watchkeeper.meta.gvk import GroupResource

Object = dict[str, Any]
_SUBRESOURCES = ("", "resize")


class NodeDeclaredFeatureValidator(BasePlugin):
    """Judges changes of Pods that are on a node already."""

    name = "NodeDeclaredFeatureValidator"
    deep = False
    operations = frozenset({Operation.UPDATE})
    resources = frozenset({GroupResource("", "pods")})

    def __init__(self, find: FindNode) -> None:
        self._find = find

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Look for the node only when the change needs something of it."""
        new, old = attributes.obj, attributes.old
        if attributes.subresource not in _SUBRESOURCES or new is None or old is None:
            return None
        node = node_in_question(new, old)
        if not node:
            return None
        needed = list(_needed(new["spec"], old["spec"], old.get("status") or {}))
        return self._judge(attributes, node, needed) if needed else None

    async def _judge(self, attributes: Attributes, name: str, needed: list[str]) -> None:
        node = await require_node(attributes, self._find, name)
        declared = (node.get("status") or {}).get("declaredFeatures") or ()
        lacking = [feature for feature in needed if feature not in declared]
        if lacking:
            what = f"pod update requires features {', '.join(lacking)}"
            raise forbidden(attributes, f"{what} which are not available on node {go_quote(name)}")


def _needed(new: Object, old: Object, status: Object) -> Iterator[str]:
    """The features that a change needs, by name."""
    if status.get("qosClass", "") == "Guaranteed" and _cpus_differ(new, old):
        yield "GuaranteedQoSPodCPUResize"
    if (new.get("resources") or None) != (old.get("resources") or None):
        yield "InPlacePodLevelResourcesVerticalScaling"


def _cpus_differ(new: Object, old: Object) -> bool:
    nothing: Object = {}
    pairs = zip_longest(new.get("containers") or (), old.get("containers") or (), fillvalue=nothing)
    return any(compare(_cpu(now), _cpu(before)) != 0 for now, before in pairs)


def _cpu(container: Object) -> str:
    asked: str = ((container.get("resources") or {}).get("requests") or {}).get("cpu", "0")
    return asked

"""NodeDeclaredFeatureValidator: what an update of a Pod needs of its node must be among what the node declares."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator
from typing import Any

from watchkeeper.admission.interface import Attributes, BasePlugin, Operation
from watchkeeper.admission.pod_nodes import FindNode, node_in_question, require_node
from watchkeeper.admission.refusal import forbidden
from watchkeeper.apis.core.pod_resources import is_restartable_init
from watchkeeper.apis.semantic import same
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
        needed = list(_needed(new["spec"], old["spec"]))
        return self._judge(attributes, node, needed) if needed else None

    async def _judge(self, attributes: Attributes, name: str, needed: list[str]) -> None:
        node = await require_node(attributes, self._find, name)
        declared = (node.get("status") or {}).get("declaredFeatures") or ()
        lacking = [feature for feature in needed if feature not in declared]
        if lacking:
            what = f"pod update requires features {', '.join(lacking)}"
            raise forbidden(attributes, f"{what} which are not available on node {go_quote(name)}")


def _needed(new: Object, old: Object) -> Iterator[str]:
    """The features that a change needs, by name and in that order."""
    if not same(new.get("resources"), old.get("resources"), "core.v1.ResourceRequirements"):
        yield "InPlacePodLevelResourcesVerticalScaling"
    if any(_resized(container, before) for container, before in _init_containers(new, old)):
        yield "InPlacePodVerticalScalingInitContainers"


def _init_containers(new: Object, old: Object) -> Iterator[tuple[Object, Object]]:
    return zip(new.get("initContainers") or (), old.get("initContainers") or (), strict=False)


def _resized(new: Object, old: Object) -> bool:
    return not is_restartable_init(old) and (new.get("resources") or {}) != (old.get("resources") or {})

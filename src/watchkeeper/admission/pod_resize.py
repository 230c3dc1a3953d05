"""PodResizeValidator: a Pod grows in place only as far as its node could ever let it, and on Linux."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator
from typing import Any

from watchkeeper.admission.interface import Attributes, BasePlugin, Operation
from watchkeeper.admission.pod_nodes import FindNode, node_in_question, require_node
from watchkeeper.admission.refusal import forbidden
from watchkeeper.apis.core.pod_resources import total_resources
from watchkeeper.apis.quantities import compare, milli_value, whole_value
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import go_quote
from watchkeeper.meta.gvk import GroupResource

Object = dict[str, Any]
_OS, _LINUX = "kubernetes.io/os", "linux"


class PodResizeValidator(BasePlugin):
    """Judges what the resize subresource changes of Pods that are on a node already."""

    name = "PodResizeValidator"
    deep = False
    operations = frozenset({Operation.UPDATE})
    resources = frozenset({GroupResource("", "pods")})

    def __init__(self, find: FindNode) -> None:
        self._find = find

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Look for the node only when something is resized."""
        new, old = attributes.obj, attributes.old
        if attributes.subresource != "resize" or new is None or old is None:
            return None
        name = node_in_question(new, old)
        return self._judge(attributes, name, new["spec"]) if name else None

    async def _judge(self, attributes: Attributes, name: str, spec: Object) -> None:
        node = await require_node(attributes, self._find, name)
        system = (node["metadata"].get("labels") or {}).get(_OS, _LINUX)
        if system != _LINUX:
            shown = f"node {go_quote(name)} is {go_quote(system)}"
            text = f"pod resize is only supported on linux nodes, {shown}"
            raise _refused(attributes, text, "UnsupportedPlatform")
        lacking = "; ".join(_lacking(spec, (node.get("status") or {}).get("allocatable") or {}))
        if lacking:
            text = f"node didn't have enough allocatable resources: {lacking}"
            raise _refused(attributes, text, "NodeCapacity")


def _refused(attributes: Attributes, why: str, cause: str) -> ApiError:
    error = forbidden(attributes, why)
    assert error.details is not None
    error.details["causes"] = [{"reason": cause}]
    return error


def _lacking(spec: Object, allocatable: Object) -> Iterator[str]:
    asked = total_resources(spec, "requests")
    for name, measure in (("cpu", milli_value), ("memory", whole_value)):
        requested, available = asked.get(name, "0"), allocatable.get(name, "0")
        if compare(requested, available) > 0:
            yield f"{name}, requested: {measure(requested)}, allocatable: {measure(available)}"

"""The nodes of Pods, as plugins look them up that judge what changes on them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from watchkeeper.admission.interface import Attributes
from watchkeeper.admission.refusal import forbidden
from watchkeeper.meta.field import go_quote

Object = dict[str, Any]
FindNode = Callable[[str], Awaitable["Object | None"]]
"""Name -> the Node, None when there is none."""


def node_in_question(new: Object, old: Object) -> str:
    """The name of the node that a Pod is on, "" when it is on none or nothing of its spec changes."""
    if new["metadata"].get("generation") == old["metadata"].get("generation"):
        return ""
    return new["spec"].get("nodeName") or ""


async def require_node(attributes: Attributes, find: FindNode, name: str) -> Object:
    """The Node. Raises a 403 when there is none."""
    node = await find(name)
    if node is None:
        raise forbidden(attributes, f"node {go_quote(name)} not found")
    return node

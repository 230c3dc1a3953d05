"""ComponentStatuses: the deprecated view of what a control plane is made of, and of how its parts are."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from watchkeeper.meta import errors
from watchkeeper.meta.gvk import GroupResource, GroupVersionKind
from watchkeeper.registry.rest import Context, Object
from watchkeeper.storage.codec import JsonCodec
from watchkeeper.storage.interface import ListOptions, ListResult, StoredObject

_RESOURCE = GroupResource("", "componentstatus")
"""What the reference calls it where it finds none."""
_CODEC = JsonCodec(GroupVersionKind("", "v1", "ComponentStatus"))


@dataclass(frozen=True, slots=True)
class Health:
    """How a component is. What it says is a message; what keeps it from being asked, an error."""

    healthy: bool
    message: str = ""
    error: str = ""


Check = Callable[[], Awaitable[Health]]
"""Asks a component. Raises nothing."""


class ComponentStatuses:
    """Asks each component when somebody wants to know; nothing is stored."""

    def __init__(self, components: Callable[[], Mapping[str, Check]]) -> None:
        """`components` gives those that there are, by name, each time anew."""
        self._components = components

    def get_nowait(self, ctx: Context, name: str, resource_version: str) -> StoredObject | None:
        """Never at once."""
        return None

    async def get(self, ctx: Context, name: str, resource_version: str) -> Object:
        """How a component is now. Raises NotFound."""
        check = self._components().get(name)
        if check is None:
            raise errors.not_found(_RESOURCE, name)
        return _status(name, await check())

    async def list(self, ctx: Context, options: ListOptions) -> ListResult:
        """How all are that are selected, asked at the same time."""
        matches = options.predicate.matches
        asked = {name: check for name, check in self._components().items() if matches({}, {"metadata.name": name})}
        async with asyncio.TaskGroup() as group:
            asking = [
                (name, group.create_task(_asked(check), name=f"ask component {name}")) for name, check in asked.items()
            ]
        items = [
            # There is no revision that such an object is of.
            StoredObject(name, 0, _CODEC.head, _CODEC.body(_status(name, answer.result())), _CODEC)
            for name, answer in asking
        ]
        return ListResult(items, 0)


async def _asked(check: Check) -> Health:
    return await check()


def _status(name: str, health: Health) -> Object:
    condition = {"type": "Healthy", "status": "True" if health.healthy else "False"}
    if health.message:
        condition["message"] = health.message
    if health.error:
        condition["error"] = health.error
    return {"kind": "ComponentStatus", "apiVersion": "v1", "metadata": {"name": name}, "conditions": [condition]}

"""What the server reads of stored objects for itself."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from watchkeeper.meta.gvk import GroupResource
from watchkeeper.server.stored_objects import StoredObjects
from watchkeeper.storage.errors import NotReady

SERVICES = GroupResource("", "services")


def test_what_a_start_needs_is_waited_for_until_the_cache_is_full() -> None:
    answers: list[Any] = [NotReady("storage is (re)initializing"), NotReady("storage is (re)initializing: slow"), []]
    asked: list[str] = []

    async def get_list(prefix: str, options: Any) -> Any:
        asked.append(f"{prefix} {options.resource_version}")
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return SimpleNamespace(items=[SimpleNamespace(data=lambda: {"kind": "Service"})])

    store = SimpleNamespace(prefix="/registry/services/specs", storage=SimpleNamespace(get_list=get_list))
    stored = StoredObjects(SimpleNamespace(find=lambda resource: store))  # type: ignore[arg-type]
    assert asyncio.run(stored.first_of(SERVICES)) == [{"kind": "Service"}]
    assert asked == ["/registry/services/specs/ 0"] * 3

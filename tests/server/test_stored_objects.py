"""What the server reads of stored objects for itself."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from watchkeeper.meta.gvk import GroupResource
from watchkeeper.server.errors import StartupError
from watchkeeper.server.stored_objects import StoredObjects
from watchkeeper.storage.errors import NotReady, Unreachable
from watchkeeper.storage.interface import StoredObject
from watchkeeper.testing import Server

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


def test_a_start_whose_storage_goes_away_ends_with_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    async def gone(_self: StoredObjects, _resource: GroupResource) -> Sequence[StoredObject]:
        raise Unreachable("the key-value store is unavailable: it left")

    monkeypatch.setattr(StoredObjects, "first_items", gone)
    with pytest.raises(StartupError) as refused, Server(controllers=()):
        pass
    told = "cannot find out what Services have been allocated: the key-value store is unavailable: it left"
    assert str(refused.value) == told

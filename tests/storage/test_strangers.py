"""Keys that belong to no resource are found, counted and never read."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from watchkeeper.kv.memory import MemoryKV
from watchkeeper.storage.strangers import Strangers, strangers

KNOWN = ("/registry/pods", "/registry/services/specs", "/registry/shop.example.com/carts")


def found(keys: Iterable[str]) -> list[Strangers]:
    async def run() -> list[Strangers]:
        kv = MemoryKV()
        for key in keys:
            await kv.optimistic_put(key.encode(), b"?", 0)
        left = [stranger async for stranger in strangers(kv, "/registry", KNOWN)]
        await kv.close()
        return left

    return asyncio.run(run())


def test_keys_of_known_resources_and_of_the_servers_are_none() -> None:
    assert found([]) == []
    keys = ["/registry/pods/shop/a", "/registry/services/specs/shop/a", "/registry/shop.example.com/carts/shop/a"]
    assert found([*keys, "/registry/ranges/serviceips", "/registry/masterleases/10.0.0.1"]) == []


def test_keys_of_other_programs_are_none() -> None:
    assert found(["/calico/v1/a", "/registryx/a", "compact_rev_key"]) == []


def test_keys_that_lie_together_are_told_of_together() -> None:
    keys = ["/registry/podsecuritypolicy/a", "/registry/podsecuritypolicy/b", "/registry/pods/shop/a"]
    assert found(keys) == [Strangers("/registry/podsecuritypolicy/", 2)]


def test_a_resource_whose_name_begins_like_that_of_another_is_another() -> None:
    assert found(["/registry/pods/shop/a", "/registry/podpresets/shop/a", "/registry/pods2/b"]) == [
        Strangers("/registry/podpresets/", 1),
        Strangers("/registry/pods2/", 1),
    ]


def test_custom_resources_lie_below_their_group() -> None:
    keys = ["/registry/shop.example.com/carts/shop/a", "/registry/shop.example.com/lists/shop/a", "/registry/a.b/c/d"]
    assert found(keys) == [Strangers("/registry/a.b/c/", 1), Strangers("/registry/shop.example.com/lists/", 1)]


def test_what_lies_beside_a_resource_in_a_place_of_two_parts_is_told_of() -> None:
    assert found(["/registry/services/old/a", "/registry/services/specs/a"]) == [
        Strangers("/registry/services/old/", 1)
    ]


def test_a_key_that_is_in_no_place_is_told_of_by_itself() -> None:
    assert found(["/registry/lone", "/registry/lone/a"]) == [
        Strangers("/registry/lone", 1),
        Strangers("/registry/lone/", 1),
    ]

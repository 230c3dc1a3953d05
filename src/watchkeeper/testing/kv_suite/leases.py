"""Keys that go by themselves."""

from __future__ import annotations

from watchkeeper.kv.errors import LeaseNotFound
from watchkeeper.kv.interface import KV, EventType
from watchkeeper.testing.cases import collector
from watchkeeper.testing.kv_suite.case import delete, eventually, put, quiet, raises, take, watching

CASES, case = collector()


async def _gone(kv: KV, key: bytes) -> bool:
    return (await kv.get(key)).kv is None


@case
async def a_key_carries_the_lease_it_was_put_with(kv: KV) -> None:
    """Leases have distinct ids that are not zero."""
    one, two = await kv.grant_lease(3600), await kv.grant_lease(3600)
    assert 0 not in (one, two) and one != two
    await put(kv, b"/k", lease=one)
    found = (await kv.get(b"/k")).kv
    assert found is not None and found.lease == one
    updated = await put(kv, b"/k", b"v2", found.mod_revision, lease=two)
    found = (await kv.get(b"/k")).kv
    assert found is not None and found.lease == two
    assert (await kv.range(b"/", b"0", keys_only=True)).kvs[0].lease == two
    await put(kv, b"/k", b"v3", updated)
    found = (await kv.get(b"/k")).kv
    assert found is not None and found.lease == 0


@case
async def when_a_lease_expires_its_keys_are_deleted_and_watches_see_it(kv: KV) -> None:
    """In key order, each deletion with what it deleted; the lease is gone, and other keys stay."""
    lease = await kv.grant_lease(1)
    for key in (b"/a/2", b"/a/1", b"/b/1"):
        await put(kv, key, b"mortal", lease=lease)
    last = await put(kv, b"/a/3", b"immortal")
    async with watching(kv, b"/a/", prev_kv=True) as watch:
        events = await take(watch, 2)
        assert [(event.type, event.kv.key) for event in events] == [
            (EventType.DELETE, b"/a/1"),
            (EventType.DELETE, b"/a/2"),
        ]
        assert all(event.kv.mod_revision > last for event in events)
        assert [event.prev and event.prev.value for event in events] == [b"mortal", b"mortal"]
        await eventually(lambda: _gone(kv, b"/b/1"), "the third key of the lease goes")
        await quiet(watch, kv)
    assert [found.key for found in (await kv.range(b"", b"\0")).kvs] == [b"/a/3"]
    await raises(LeaseNotFound, kv.optimistic_put(b"/a/4", b"x", 0, lease=lease))
    await raises(LeaseNotFound, kv.revoke_lease(lease))


@case
async def an_expired_lease_takes_only_the_keys_it_still_has(kv: KV) -> None:
    """Not one put without it since, not one put with another, not one deleted and made anew."""
    short, long = await kv.grant_lease(1), await kv.grant_lease(3600)
    detached = await put(kv, b"/detached", lease=short)
    moved = await put(kv, b"/moved", lease=short)
    anew = await put(kv, b"/anew", lease=short)
    joined = await put(kv, b"/joined", lease=long)
    await put(kv, b"/kept", lease=short)
    await put(kv, b"/detached", b"v2", detached)
    await put(kv, b"/moved", b"v2", moved, lease=long)
    await put(kv, b"/joined", b"v2", joined, lease=short)
    await delete(kv, b"/anew", anew)
    await put(kv, b"/anew")
    await eventually(lambda: _gone(kv, b"/kept"), "the lease expires")
    await eventually(lambda: _gone(kv, b"/joined"), "the key that joined it goes")
    assert [found.key for found in (await kv.range(b"/", b"0")).kvs] == [b"/anew", b"/detached", b"/moved"]


@case
async def revoking_a_lease_deletes_its_keys_now(kv: KV) -> None:
    """And a second time there is no such lease."""
    lease = await kv.grant_lease(3600)
    async with watching(kv, b"/") as watch:
        for key in (b"/b", b"/a"):
            await put(kv, key, lease=lease)
        await kv.revoke_lease(lease)
        assert (await kv.range(b"/", b"0")).count == 0
        assert [(event.type.value, event.kv.key) for event in await take(watch, 4)] == [
            ("put", b"/b"),
            ("put", b"/a"),
            ("delete", b"/a"),
            ("delete", b"/b"),
        ]
    await raises(LeaseNotFound, kv.revoke_lease(lease))
    await put(kv, b"/a")


@case
async def a_put_with_a_lease_that_does_not_exist_writes_nothing(kv: KV) -> None:
    """LeaseNotFound, and no revision passes."""
    base = await put(kv, b"/k", b"old")
    await raises(LeaseNotFound, kv.optimistic_put(b"/k", b"new", base, lease=987654321))
    await raises(LeaseNotFound, kv.optimistic_put(b"/l", b"new", 0, lease=987654321))
    found = (await kv.get(b"/k")).kv
    assert found is not None and found.value == b"old"
    assert await kv.current_revision() == base


@case
async def a_put_that_fails_does_not_join_the_lease(kv: KV) -> None:
    """The key outlives it."""
    await put(kv, b"/k")
    lease = await kv.grant_lease(3600)
    assert not (await kv.optimistic_put(b"/k", b"v2", 0, lease=lease)).succeeded
    await kv.revoke_lease(lease)
    assert not await _gone(kv, b"/k")


@case
async def one_lease_serves_many_keys(kv: KV) -> None:
    """All go together."""
    lease = await kv.grant_lease(3600)
    for number in range(50):
        await put(kv, b"/k%02d" % number, lease=lease)
    assert (await kv.range(b"/k", b"/l", count_only=True)).count == 50
    await kv.revoke_lease(lease)
    assert (await kv.range(b"/k", b"/l", count_only=True)).count == 0


@case
async def granting_and_ending_a_lease_without_keys_is_no_write(kv: KV) -> None:
    """The revision counts puts and deletes of keys only."""
    base = await kv.current_revision()
    lease = await kv.grant_lease(3600)
    await kv.revoke_lease(lease)
    assert await kv.current_revision() == base


@case
async def a_lease_of_no_time_is_a_mistake_of_the_caller(kv: KV) -> None:
    """ValueError."""
    for ttl in (0, -5):
        await raises(ValueError, kv.grant_lease(ttl))

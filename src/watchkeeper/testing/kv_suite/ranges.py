"""Reading many keys."""

from __future__ import annotations

import asyncio

from watchkeeper.kv.interface import KV, KeyValue, prefix_end
from watchkeeper.testing.cases import collector
from watchkeeper.testing.kv_suite.case import delete, put

CASES, case = collector()


async def _keys(kv: KV, start: bytes, end: bytes) -> list[bytes]:
    return [found.key for found in (await kv.range(start, end)).kvs]


@case
async def a_range_is_in_byte_order_whatever_the_order_of_writing(kv: KV) -> None:
    """Not in the order of any locale, length or time."""
    keys = [b"/a", b"/a\0", b"/a/b", b"/aa", b"/b", b"/Z", "/ä".encode(), b"/\xff"]
    for key in reversed(keys):
        await put(kv, key)
    assert await _keys(kv, b"/", b"0") == sorted(keys)


@case
async def a_range_includes_its_start_and_excludes_its_end(kv: KV) -> None:
    """[start, end)."""
    for key in (b"/a", b"/b", b"/c"):
        await put(kv, key)
    assert await _keys(kv, b"/a", b"/c") == [b"/a", b"/b"]
    assert await _keys(kv, b"/a\0", b"/c\0") == [b"/b", b"/c"]


@case
async def a_prefix_never_shows_its_neighbors(kv: KV) -> None:
    """`/a/` has nothing of `/a`, `/a-b/` or `/ab/`."""
    for key in (b"/a", b"/a-b/x", b"/a.b/x", b"/a/x", b"/a/y", b"/a0", b"/ab/x"):
        await put(kv, key)
    assert await _keys(kv, b"/a/", prefix_end(b"/a/")) == [b"/a/x", b"/a/y"]
    assert await _keys(kv, b"/a", prefix_end(b"/a")) == [
        b"/a", b"/a-b/x", b"/a.b/x", b"/a/x", b"/a/y", b"/a0", b"/ab/x",
    ]  # fmt: skip


@case
async def an_end_of_one_zero_byte_means_to_the_end_of_all_keys(kv: KV) -> None:
    """As does the end of a prefix of nothing but high bytes."""
    for key in (b"\0", b"a", b"z", b"\xff", b"\xff\xff\xff"):
        await put(kv, key)
    assert await _keys(kv, b"", b"\0") == [b"\0", b"a", b"z", b"\xff", b"\xff\xff\xff"]
    assert await _keys(kv, b"z", b"\0") == [b"z", b"\xff", b"\xff\xff\xff"]
    assert await _keys(kv, b"\xff", prefix_end(b"\xff")) == [b"\xff", b"\xff\xff\xff"]


@case
async def a_range_whose_end_is_not_after_its_start_is_empty(kv: KV) -> None:
    """No error, and no single key."""
    revision = await put(kv, b"/k")
    for start, end in ((b"/k", b"/k"), (b"/k", b"/a"), (b"/k", b"")):
        result = await kv.range(start, end)
        assert (result.kvs, result.count, result.more, result.revision) == ([], 0, False, revision)


@case
async def a_limit_cuts_the_keys_but_not_the_count(kv: KV) -> None:
    """`more` says whether any were cut."""
    for number in range(5):
        await put(kv, b"/k%d" % number)
    for limit, length, more in ((0, 5, False), (1, 1, True), (4, 4, True), (5, 5, False), (6, 5, False)):
        result = await kv.range(b"/k", b"/l", limit=limit)
        assert (len(result.kvs), result.count, result.more) == (length, 5, more), f"limit {limit}"
    assert [found.key for found in (await kv.range(b"/k", b"/l", limit=2)).kvs] == [b"/k0", b"/k1"]


@case
async def who_needs_no_count_is_told_whether_there_is_more(kv: KV) -> None:
    """Now and in the past; the count is then anything that is not too small."""
    for number in range(5):
        await put(kv, b"/k%d" % number)
    past = await kv.current_revision()
    await put(kv, b"/k5")
    for revision, there in ((past, 5), (0, 6)):
        for limit in (0, 1, 4, 5, 6, 7):
            result = await kv.range(b"/k", b"/l", limit=limit, revision=revision, counted=False)
            wanted = min(limit or there, there)
            assert [found.key for found in result.kvs] == [b"/k%d" % number for number in range(wanted)]
            assert result.more is (wanted < there), f"limit {limit} at {revision}"
            assert wanted <= result.count <= there


@case
async def count_only_brings_the_count_and_no_keys(kv: KV) -> None:
    """Now and in the past."""
    for number in range(3):
        await put(kv, b"/k%d" % number)
    past = await kv.current_revision()
    await put(kv, b"/k3")
    now = await kv.range(b"/k", b"/l", count_only=True)
    assert (now.kvs, now.count, now.more) == ([], 4, False)
    then = await kv.range(b"/k", b"/l", count_only=True, revision=past)
    assert (then.kvs, then.count) == ([], 3)


@case
async def keys_only_brings_everything_but_the_values(kv: KV) -> None:
    """Now and in the past."""
    created = await put(kv, b"/k", b"value")
    updated = await put(kv, b"/k", b"value2", created)
    assert (await kv.range(b"/", b"0", keys_only=True)).kvs == [KeyValue(b"/k", b"", created, updated, 2)]
    past = await kv.range(b"/", b"0", keys_only=True, revision=created)
    assert past.kvs == [KeyValue(b"/k", b"", created, created, 1)]


@case
async def a_range_at_a_revision_sees_exactly_what_that_revision_left(kv: KV) -> None:
    """Keys made later are out, keys deleted later are in, each as it was; limit and count belong to that state."""
    first = await put(kv, b"/a", b"a1")
    await put(kv, b"/b", b"b1")
    past = await put(kv, b"/c", b"c1")
    await put(kv, b"/a", b"a2", first)
    await delete(kv, b"/b", first + 1)
    await put(kv, b"/ab", b"new")
    result = await kv.range(b"/", b"0", revision=past)
    assert [(found.key, found.value) for found in result.kvs] == [(b"/a", b"a1"), (b"/b", b"b1"), (b"/c", b"c1")]
    assert result.revision == past + 3
    page = await kv.range(b"/", b"0", revision=past, limit=2)
    assert ([found.key for found in page.kvs], page.count, page.more) == ([b"/a", b"/b"], 3, True)
    assert await _keys(kv, b"/", b"0") == [b"/a", b"/ab", b"/c"]


@case
async def pages_at_one_revision_fit_together_while_writes_go_on(kv: KV) -> None:
    """No key twice, none missing, none from after the revision."""
    made = {b"/k%02d" % number: await put(kv, b"/k%02d" % number) for number in range(20)}
    revision = await kv.current_revision()
    seen: list[bytes] = []
    start = b"/k"
    while True:
        page = await kv.range(start, b"/l", limit=3, revision=revision)
        assert page.count == 20 - len(seen)
        seen.extend(found.key for found in page.kvs)
        if not page.more:
            break
        await delete(kv, page.kvs[0].key, made[page.kvs[0].key])
        await put(kv, b"/k%02d-new" % len(seen))
        start = page.kvs[-1].key + b"\0"
    assert seen == sorted(made)


@case
async def a_range_of_thousands_of_keys_is_complete(kv: KV) -> None:
    """Whatever pages the backend reads it in."""
    keys = [b"/k%05d" % number for number in range(2500)]
    for part in range(0, len(keys), 100):
        await asyncio.gather(*(put(kv, key, key) for key in keys[part : part + 100]))
    result = await kv.range(b"/k", b"/l")
    assert [found.key for found in result.kvs] == keys
    assert all(found.value == found.key for found in result.kvs)
    assert (result.count, result.more) == (2500, False)


@case
async def a_range_of_many_megabytes_is_complete(kv: KV) -> None:
    """More than one message of most protocols holds."""
    value = b"x" * (1024 * 1024)
    for number in range(9):
        await put(kv, b"/k%d" % number, value)
    result = await kv.range(b"/k", b"/l")
    assert [(found.key, found.value == value) for found in result.kvs] == [(b"/k%d" % n, True) for n in range(9)]

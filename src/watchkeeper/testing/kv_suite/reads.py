"""Reading one key."""

from __future__ import annotations

from watchkeeper.kv.errors import FutureRevision
from watchkeeper.kv.interface import KV, KeyValue
from watchkeeper.testing.cases import collector
from watchkeeper.testing.kv_suite.case import delete, put, raises

CASES, case = collector()


@case
async def a_fresh_store_has_no_keys_and_a_revision_of_at_least_one(kv: KV) -> None:
    """Numbering begins at 1, before the first write."""
    found = await kv.range(b"", b"\0")
    assert (found.kvs, found.count, found.more) == ([], 0, False)
    assert found.revision == await kv.current_revision() >= 1


@case
async def a_key_that_does_not_exist_reads_as_none_with_the_current_revision(kv: KV) -> None:
    """Absence is an answer, not an error."""
    revision = await put(kv, b"/other")
    result = await kv.get(b"/absent")
    assert (result.kv, result.revision) == (None, revision)


@case
async def a_key_reads_back_as_written_with_its_revisions_and_version(kv: KV) -> None:
    """All fields of KeyValue after creation and after an update."""
    created = await put(kv, b"/k", b"one")
    assert (await kv.get(b"/k")).kv == KeyValue(b"/k", b"one", created, created, 1)
    updated = await put(kv, b"/k", b"two", created)
    assert (await kv.get(b"/k")).kv == KeyValue(b"/k", b"two", created, updated, 2)


@case
async def a_read_tells_the_stores_revision_not_the_keys(kv: KV) -> None:
    """Also when another key was written last, and when an old revision is read."""
    first = await put(kv, b"/k")
    last = await put(kv, b"/other")
    assert (await kv.get(b"/k")).revision == last
    assert (await kv.get(b"/k", revision=first)).revision == last


@case
async def a_read_at_a_revision_sees_exactly_what_that_revision_left(kv: KV) -> None:
    """Before creation, between updates, after deletion, after creation anew."""
    before = await kv.current_revision()
    created = await put(kv, b"/k", b"one")
    updated = await put(kv, b"/k", b"two", created)
    deleted = await delete(kv, b"/k", updated)
    again = await put(kv, b"/k", b"three")
    await put(kv, b"/other")
    assert (await kv.get(b"/k", revision=before)).kv is None
    assert (await kv.get(b"/k", revision=created)).kv == KeyValue(b"/k", b"one", created, created, 1)
    assert (await kv.get(b"/k", revision=updated)).kv == KeyValue(b"/k", b"two", created, updated, 2)
    assert (await kv.get(b"/k", revision=deleted)).kv is None
    assert (await kv.get(b"/k", revision=again)).kv == KeyValue(b"/k", b"three", again, again, 1)
    assert (await kv.get(b"/k", revision=again + 1)).kv == KeyValue(b"/k", b"three", again, again, 1)


@case
async def a_read_at_a_future_revision_raises_future_revision(kv: KV) -> None:
    """The current revision is readable, the next is not."""
    revision = await put(kv, b"/k")
    assert (await kv.get(b"/k", revision=revision)).kv is not None
    await raises(FutureRevision, kv.get(b"/k", revision=revision + 1))
    await raises(FutureRevision, kv.range(b"/", b"0", revision=revision + 1))


@case
async def keys_and_values_are_any_bytes(kv: KV) -> None:
    """Zero bytes, high bytes, an empty value, invalid UTF-8."""
    odd = {b"/\0": b"\0\0", b"/\xff\xfe": b"\xff" * 10, b"/empty": b"", "/ü".encode(): b"\x80", b"\xff\xff": b"end"}
    for key, value in odd.items():
        await put(kv, key, value)
    for key, value in odd.items():
        found = (await kv.get(key)).kv
        assert found is not None and (found.key, found.value) == (key, value)


@case
async def large_values_read_back_whole(kv: KV) -> None:
    """Up to close to the limit of 1.5 MiB."""
    value = bytes(range(256)) * (5 * 1024)
    await put(kv, b"/large", value)
    found = (await kv.get(b"/large")).kv
    assert found is not None and found.value == value


@case
async def a_write_is_read_by_whatever_begins_after_it_returned(kv: KV) -> None:
    """Reads without a revision are linearizable."""
    for number in range(50):
        key = b"/k%d" % number
        revision = await put(kv, key)
        assert (await kv.current_revision()) >= revision
        result = await kv.get(key)
        assert result.kv is not None and result.revision >= revision
        assert (await kv.range(key, key + b"\0")).count == 1

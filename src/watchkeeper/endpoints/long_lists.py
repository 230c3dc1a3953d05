"""Lists too long to be written at one go: the same bytes, piece by piece, in every form (KEP-5116).

A piece may be empty, where the first byte of a form tells how long all of it is: objects are written then, one stretch
after the other, before anything can be sent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import Any

import orjson

from watchkeeper.apis.protobuf import ProtobufList
from watchkeeper.endpoints.negotiation import PROTOBUF, YAML, Accepted
from watchkeeper.endpoints.render import Renderer, no_protobuf
from watchkeeper.runtime.yaml import dump_yaml
from watchkeeper.storage.interface import ListResult, StoredObject

CHUNK_BYTES = 15 << 14
"""About how much of many objects is joined at a time: with one object more it is still in the processor's cache when it
is encrypted, and comes from memory that was used before."""
_REMEMBERED_SHARE = 8
"""Of longer lists than this share of what is remembered in other forms, nothing is: all else would be forgotten."""


def pieces_of(renderer: Renderer, result: ListResult, accepted: Accepted, size: int = CHUNK_BYTES) -> Iterator[bytes]:
    """A list of at least one object in the form asked for, in pieces of about `size` bytes as they are stored.

    Raises a 406, with the first piece, for what has no form in protobuf: Tables.
    """
    if accepted.media_type == PROTOBUF:
        return _protobuf(renderer, result)
    if accepted.media_type == YAML:
        return _yaml(renderer, result)
    if accepted.pretty:
        return _indented(renderer, result)
    return _compact(renderer, result, size)


def _compact(renderer: Renderer, result: ListResult, size: int) -> Iterator[bytes]:
    head = renderer.list_head(result)
    for group in _groups(result.items, size):
        joined = renderer.list_items(group, first=bool(head))
        yield head + joined if head else joined
        head = b""
    yield renderer.list_tail()


def _indented(renderer: Renderer, result: ListResult) -> Iterator[bytes]:
    empty = orjson.dumps(_without_items(renderer, result), option=orjson.OPT_INDENT_2)
    before = empty.removesuffix(b"]\n}") + b"\n    "
    for group in _groups(result.items, CHUNK_BYTES):
        items = [orjson.dumps(item, option=orjson.OPT_INDENT_2) for item in _parsed(renderer, group)]
        # No text has a line's end in it, as JSON writes texts.
        yield before + b",\n".join(items).replace(b"\n", b"\n    ")
        before = b",\n    "
    yield b"\n  ]\n}"


def _yaml(renderer: Renderer, result: ListResult) -> Iterator[bytes]:
    empty = _without_items(renderer, result)
    name = list(empty)[-1].encode()
    before, _, after = (b"\n" + dump_yaml(empty)).partition(b"\n%b: []\n" % name)
    yield b"%b\n%b:\n" % (before[1:], name)
    for item in result.items:
        yield dump_yaml(_parsed(renderer, [item]))
    yield after


def _protobuf(renderer: Renderer, result: ListResult) -> Iterator[bytes]:
    empty = _without_items(renderer, result)
    if empty["kind"] == "Table":
        raise no_protobuf("*v1.Table")
    written = ProtobufList(empty)
    most = renderer.scope.services.encodings.max_bytes // _REMEMBERED_SHARE
    remembers = sum(len(item.tail) for item in result.items) <= most
    form = ("protobuf item", renderer.key)

    def write(item: StoredObject) -> bytes:
        [parsed] = _parsed(renderer, [item])
        return written.item(parsed)

    parts: deque[bytes] = deque()
    size = 0
    for group in _groups(result.items, CHUNK_BYTES // 4):
        items = [renderer.remembered(item, form, partial(write, item)) if remembers else write(item) for item in group]
        parts.append(b"".join(items))
        size += len(parts[-1])
        yield b""
    head, tail = written.around(size)
    yield head
    while parts:
        yield parts.popleft()
    yield tail


def _without_items(renderer: Renderer, result: ListResult) -> dict[str, Any]:
    """The list with nothing in it: the field for its objects, empty, is the last."""
    empty: dict[str, Any] = orjson.loads(renderer.list_head(result) + renderer.list_tail())
    return empty


def _parsed(renderer: Renderer, items: list[StoredObject]) -> list[Any]:
    parsed: list[Any] = orjson.loads(b"[%b]" % renderer.list_items(items, first=True))
    return parsed


def _groups(items: list[StoredObject], size: int) -> Iterator[list[StoredObject]]:
    start, left = 0, size
    for index, item in enumerate(items):
        left -= len(item.tail)
        if left <= 0:
            yield items[start : index + 1]
            start, left = index + 1, size
    if start < len(items):
        yield items[start:]

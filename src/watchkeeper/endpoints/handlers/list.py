"""GET of a collection. Large lists leave in pieces: no buffer of the whole is ever made (KEP-5116)."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Iterator

from watchkeeper.endpoints.compression import GZIP_HEADERS, GZIP_THRESHOLD, gzip_compressor, takes_gzip
from watchkeeper.endpoints.handlers.common import CHUNK_BYTES, TURN, context, list_options, predicate
from watchkeeper.endpoints.negotiation import Accepted, negotiate
from watchkeeper.endpoints.params import read_list_params
from watchkeeper.endpoints.render import Renderer, finish, renderer_for, shown
from watchkeeper.endpoints.response import JSON, Response
from watchkeeper.endpoints.scope import Scope
from watchkeeper.request.request import Request
from watchkeeper.storage.interface import ListResult, StoredObject

_PACKED_BYTES = 1 << 20
"""As CHUNK_BYTES where it is compressed, in a thread: each piece is handed there and back."""


async def list_collection(request: Request, scope: Scope) -> Response:
    """Answer a list."""
    accepted = negotiate(request, protobuf=scope.in_protobuf, streams=True)
    params = read_list_params(request, watch=False)
    options = list_options(params, predicate(request, scope, params))
    result = await scope.store.list(context(request, scope), options)
    renderer = renderer_for(scope, accepted, request.param("includeObject") if accepted.target else "")
    return shown(scope, "list", result.items, lambda: list_response(request, renderer, accepted, result))


def list_response(request: Request, renderer: Renderer, accepted: Accepted, result: ListResult) -> Response:
    """Write a list result: small ones whole, large ones in pieces, compressed when asked."""
    items = result.items
    packed = takes_gzip(request.header(b"accept-encoding"))
    whole = GZIP_THRESHOLD if packed or accepted.target else CHUNK_BYTES
    if not accepted.pretty and accepted.media_type == "application/json" and _is_longer(items, whole):
        head = renderer.list_head(result)
        pieces = _pieces(renderer, head, result.items, _PACKED_BYTES if packed else CHUNK_BYTES)
        if accepted.target:
            begun, pieces = _begin(pieces)
            if len(begun) <= GZIP_THRESHOLD:
                return Response(200, begun)
        if packed:
            return _gzipped(pieces)
        return Response(200, headers=(JSON,), stream=_stream(pieces))
    if not items:
        return finish(renderer.empty_list(result), accepted)
    body = renderer.list_head(result) + renderer.list_items(items, first=True) + renderer.list_tail()
    return finish(body, accepted)


def _is_longer(items: list[StoredObject], size: int) -> bool:
    for item in items:
        size -= len(item.tail)
        if size <= 0:
            return True
    return False


def _begin(pieces: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """As many pieces as tell whether there is much to send at all, joined, and all pieces.

    Of what objects are shown as in other forms their own size says little.
    """
    begun = b""
    for piece in pieces:
        begun += piece
        if len(begun) > GZIP_THRESHOLD:
            break
    return begun, itertools.chain((begun,), pieces)


def _pieces(renderer: Renderer, head: bytes, items: list[StoredObject], size: int) -> Iterator[bytes]:
    first = True
    for group in _groups(items, size):
        joined = renderer.list_items(group, first=first)
        yield head + joined if first else joined
        first = False
    yield head + renderer.list_tail() if first else renderer.list_tail()


def _groups(items: list[StoredObject], size: int) -> Iterator[list[StoredObject]]:
    start, left = 0, size
    for index, item in enumerate(items):
        left -= len(item.tail)
        if left <= 0:
            yield items[start : index + 1]
            start, left = index + 1, size
    if start < len(items):
        yield items[start:]


async def _stream(pieces: Iterator[bytes]) -> AsyncGenerator[bytes]:
    for count, piece in enumerate(pieces, 1):
        yield piece
        if not count % TURN:
            await asyncio.sleep(0)


def _gzipped(pieces: Iterator[bytes]) -> Response:
    return Response(200, headers=(JSON, *GZIP_HEADERS), stream=_compress(pieces))


async def _compress(pieces: Iterator[bytes]) -> AsyncGenerator[bytes]:
    compressor = gzip_compressor()
    for piece in pieces:
        # Compression frees the interpreter while it works, so other requests go on.
        ready = await asyncio.to_thread(compressor.compress, piece)
        if ready:
            yield ready
    yield compressor.flush()

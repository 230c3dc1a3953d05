"""GET of a collection. Large lists are made in pieces; plain JSON leaves so, without a whole buffer (KEP-5116)."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace

from watchkeeper.aio.turns import in_turns
from watchkeeper.endpoints.compression import GZIP_HEADERS, GZIP_THRESHOLD, gzip_compressor, takes_gzip
from watchkeeper.endpoints.handlers.common import context, list_options, predicate
from watchkeeper.endpoints.long_lists import CHUNK_BYTES, pieces_of
from watchkeeper.endpoints.negotiation import PROTOBUF, YAML, Accepted, negotiate
from watchkeeper.endpoints.params import read_list_params
from watchkeeper.endpoints.render import (
    PROTOBUF_HEADER,
    YAML_HEADER,
    Renderer,
    finish,
    name_broken,
    renderer_for,
)
from watchkeeper.endpoints.response import JSON, Response
from watchkeeper.endpoints.scope import Scope
from watchkeeper.request.request import Request
from watchkeeper.storage.interface import ListResult, StoredObject

_PACKED_BYTES = 1 << 20
"""As CHUNK_BYTES where it is compressed, in a thread: each piece is handed there and back."""
_PARSED_BYTES = 1 << 16
"""Shorter lists are written at one go also where their objects must be parsed."""


async def list_collection(request: Request, scope: Scope) -> Response:
    """Answer a list."""
    accepted = negotiate(request, protobuf=scope.in_protobuf, streams=True)
    params = read_list_params(request, watch=False)
    options = list_options(params, predicate(request, scope, params))
    result = await scope.store.list(context(request, scope), options)
    renderer = renderer_for(scope, accepted, request.param("includeObject") if accepted.target else "")
    try:
        return await list_response(request, renderer, accepted, result)
    except Exception as problem:
        name_broken(problem, scope, "list", result.items)
        raise


async def list_response(request: Request, renderer: Renderer, accepted: Accepted, result: ListResult) -> Response:
    """Write a list result: small ones whole, large ones in pieces, compressed when asked."""
    if not result.items:
        return finish(renderer.empty_list(result), accepted)
    items = renderer.ordered(result.items)
    result = replace(result, items=items)
    packed = takes_gzip(request.header(b"accept-encoding"))
    if not _is_longer(items, _whole_bytes(accepted, packed=packed)):
        return finish(
            renderer.list_head(result) + renderer.list_items(items, first=True) + renderer.list_tail(), accepted
        )
    pieces = in_turns(pieces_of(renderer, result, accepted, _PACKED_BYTES if packed else CHUNK_BYTES))
    header = {PROTOBUF: PROTOBUF_HEADER, YAML: YAML_HEADER}.get(accepted.media_type, JSON)
    if request.observer is not None and request.observer.reads:
        return Response(200, b"".join([piece async for piece in pieces]), headers=(header,))
    if not accepted.is_plain:
        # Of what objects are shown as in other forms their own size says little. Where objects are parsed all of them
        # are, as the reference does, before the answer begins: errors can be told then.
        whole = accepted.media_type in (PROTOBUF, YAML) or accepted.pretty
        begun, ended = await _begin(pieces, math.inf if whole else GZIP_THRESHOLD)
        if ended and sum(map(len, begun)) <= GZIP_THRESHOLD:
            return Response(200, b"".join(begun), headers=(header,))
        pieces = _chained(begun, pieces)
    if packed:
        return Response(200, headers=(header, *GZIP_HEADERS), stream=_compressed(pieces))
    return Response(200, headers=(header,), stream=pieces)


def _whole_bytes(accepted: Accepted, *, packed: bool) -> int:
    """How much is written at one go; counted as it is stored."""
    if not accepted.is_plain:
        return _PARSED_BYTES
    return GZIP_THRESHOLD if packed else CHUNK_BYTES


def _is_longer(items: list[StoredObject], size: int) -> bool:
    for item in items:
        size -= len(item.tail)
        if size <= 0:
            return True
    return False


async def _begin(pieces: AsyncIterator[bytes], most: float) -> tuple[deque[bytes], bool]:
    """Pieces until there are more than `most` bytes, and whether these are all."""
    begun: deque[bytes] = deque()
    size = 0
    async for piece in pieces:
        begun.append(piece)
        size += len(piece)
        if size > most:
            return begun, False
    return begun, True


async def _chained(begun: deque[bytes], pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    while begun:
        yield begun.popleft()
    async for piece in pieces:
        yield piece


async def _compressed(pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    compressor = gzip_compressor()
    async for piece in pieces:
        # Compression frees the interpreter while it works, so other requests go on.
        ready = await asyncio.to_thread(compressor.compress, piece)
        if ready:
            yield ready
    yield compressor.flush()

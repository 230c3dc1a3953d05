"""The OpenAPI documents over HTTP. v3 documents have URLs that name their content and may be kept for good."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import formatdate

from watchkeeper.endpoints.compression import GZIP_HEADERS, gzip_compressor, weighs_gzip
from watchkeeper.endpoints.conditions import is_conditional, judge
from watchkeeper.endpoints.negotiation import JSON, media_ranges
from watchkeeper.endpoints.openapi.documents import Document, OpenAPI
from watchkeeper.endpoints.openapi.gnostic import CONTENT_TYPE
from watchkeeper.endpoints.openapi.gnostic_v3 import CONTENT_TYPE as CONTENT_TYPE_V3
from watchkeeper.endpoints.response import AT_ONCE, TEXT, Header, Response
from watchkeeper.request.request import Request

_V3 = "/openapi/v3"
_VARY: Header = (b"vary", b"Accept")
_VARY_V2: tuple[Header, ...] = ((b"vary", b"Accept-Encoding"), _VARY)
_PACKED = GZIP_HEADERS[0]
_CHUNK = 1 << 18
"""Bytes that are sent at a time."""
_FOREVER: Header = (b"cache-control", b"public, immutable")
_V2_FORMS = {JSON: JSON, CONTENT_TYPE: CONTENT_TYPE, CONTENT_TYPE.replace("v2.v1.0", "v2@v1.0"): CONTENT_TYPE}
"""What the v2 document may be asked for by -> what it then is; the last is an old name, which clients still use."""
_V3_FORMS = {
    JSON: JSON,
    CONTENT_TYPE_V3: CONTENT_TYPE_V3,
    CONTENT_TYPE_V3.replace("v3.v1.0", "v3@v1.0"): CONTENT_TYPE_V3,
}
"""The same for v3 documents."""


class OpenAPIPaths:
    """Handles /openapi/v2, /openapi/v3 and what is below it, for whatever method, as the reference does.

    Documents may be large and take seconds to make, which they do in slices between other requests. Whether a client
    has the latest one is known at once.
    """

    def __init__(self, documents: OpenAPI) -> None:
        self._documents = documents
        self._dates: dict[str, tuple[str, float]] = {}
        """Since when documents have been what they are: their hashes and times by their paths."""

    def handle_v2(self, request: Request) -> Response | Awaitable[Response]:
        """The v2 document, in JSON or in protobuf, compressed for clients that take that."""
        form = _form(request, _V2_FORMS)
        if form is None:
            return Response(406, b"", _VARY_V2)
        documents = self._documents
        if is_conditional(request) and (known := self._judged(request, documents.v2_hash(), form, _VARY_V2)):
            return known
        packed = weighs_gzip(request.header(b"accept-encoding"))
        making = documents.v2_protobuf() if form == CONTENT_TYPE else documents.v2()
        return self._answer(request, making, form, _VARY_V2, packed)

    def handle_v3(self, request: Request) -> Response | Awaitable[Response]:
        """The index of v3 documents, or one of them; asked for by its hash it may be kept for good."""
        path = request.path.removeprefix(_V3)
        if not path:
            # The reference says nothing of its type, which makes it text.
            return Response(200, self._documents.v3_index().body, (TEXT,))
        path = path[1:]
        if (handler := self._documents.elsewhere(path)) is not None:
            return handler(request)
        current = self._documents.v3_hash(path) if path and not path.endswith("/") else None
        if current is None:
            return _not_found()
        form = _form(request, _V3_FORMS)
        if form is None:
            return Response(406, b"", (_VARY,))
        asked = request.param("hash")
        if asked and asked != current:
            location = (b"location", f"{request.path}?hash={current}".encode())
            etag = (b"etag", _etag(current).encode())
            return Response(301, b"", ((b"content-type", form.encode()), location, etag, _VARY))
        headers = (_VARY, *(_for_good() if asked else ()))
        if is_conditional(request) and (known := self._judged(request, current, form, headers)):
            return known
        documents = self._documents
        making = documents.v3_protobuf(path) if form == CONTENT_TYPE_V3 else documents.v3(path)
        return self._answer(request, making, form, headers)

    def _judged(self, request: Request, digest: str, form: str, headers: tuple[Header, ...]) -> Response | None:
        """The answer to a client that has the document of that hash, or wants another; None for others."""
        date = self._date(request, digest)
        status = judge(request, _etag(digest), date)
        if status is None:
            return None
        headers = (*headers, (b"etag", _etag(digest).encode()))
        if status == 304:
            return Response(status, b"", headers)
        return Response(status, b"", ((b"content-type", form.encode()), *headers, _modified(date)))

    def _date(self, request: Request, digest: str) -> float:
        known = self._dates.get(request.path)
        if known is None or known[0] != digest:
            known = self._dates[request.path] = digest, time.time()
        return known[1]

    async def _answer(
        self,
        request: Request,
        making: Awaitable[Document | None],
        form: str,
        headers: tuple[Header, ...],
        packed: bool = False,
    ) -> Response:
        document = await making
        if document is None:
            return _not_found()
        modified = _modified(self._date(request, document.hash))
        headers = ((b"content-type", form.encode()), *headers, (b"etag", _etag(document.hash).encode()), modified)
        if packed:
            return Response(200, headers=(*headers, _PACKED), stream=_compressed(document.pieces))
        if sum(map(len, document.pieces)) <= AT_ONCE:
            return Response(200, document.body, headers)
        return Response(200, headers=headers, stream=_chunks(document.pieces))


def _modified(date: float) -> Header:
    return b"last-modified", formatdate(date, usegmt=True).encode()


def _for_good() -> tuple[Header, ...]:
    now = datetime.now(UTC)
    year = now.replace(year=now.year + 1) if (now.month, now.day) != (2, 29) else now.replace(now.year + 1, 3, 1)
    return _FOREVER, (b"expires", formatdate(year.timestamp(), usegmt=True).replace("GMT", "UTC").encode())


def _form(request: Request, forms: Mapping[str, str]) -> str | None:
    """The first form that a client accepts; None for a client that accepts none of them."""
    for media_range in media_ranges(request.header(b"accept") or "*/*"):
        kind, _, subtype = media_range.partition("/")
        for name, form in forms.items():
            if kind in ("application", "*") and subtype in (name.partition("/")[2], "*"):
                return form
    return None


def _not_found() -> Response:
    return Response(404, b"", ())


async def _compressed(pieces: Sequence[bytes]) -> AsyncGenerator[bytes]:
    compressor = gzip_compressor()
    async for chunk in _chunks(pieces):
        # Compression frees the interpreter while it works, so other requests go on.
        if ready := await asyncio.to_thread(compressor.compress, chunk):
            yield ready
    yield compressor.flush()


async def _chunks(pieces: Sequence[bytes]) -> AsyncGenerator[bytes]:
    """The pieces, joined to chunks of some size: a document of tens of megabytes is never in memory as a whole."""
    chunk: list[bytes] = []
    size = 0
    for piece in pieces:
        chunk.append(piece)
        size += len(piece)
        if size >= _CHUNK:
            yield b"".join(chunk)
            chunk, size = [], 0
    yield b"".join(chunk)


def _etag(digest: str) -> str:
    return f'"{digest}"'

"""The OpenAPI documents over HTTP. v3 documents have URLs that name their content and may be kept for good."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence

from watchkeeper.endpoints.negotiation import JSON, media_ranges
from watchkeeper.endpoints.openapi.documents import Document, OpenAPI
from watchkeeper.endpoints.openapi.gnostic import CONTENT_TYPE
from watchkeeper.endpoints.openapi.gnostic_v3 import CONTENT_TYPE as CONTENT_TYPE_V3
from watchkeeper.endpoints.response import AT_ONCE, TEXT, Header, Response
from watchkeeper.request.request import Request

_V3 = "/openapi/v3"
_VARY: Header = (b"vary", b"Accept")
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

    def handle_v2(self, request: Request) -> Response | Awaitable[Response]:
        """The v2 document, in JSON or in protobuf."""
        form = _form(request, _V2_FORMS)
        if form is None:
            return _not_acceptable()
        documents = self._documents
        if unchanged := _unchanged(request, documents.v2_hash):
            return unchanged
        return _answer(documents.v2_protobuf() if form == CONTENT_TYPE else documents.v2(), form)

    def handle_v3(self, request: Request) -> Response | Awaitable[Response]:
        """The index of v3 documents, or one of them; asked for by its hash it may be kept for good."""
        path = request.path.removeprefix(_V3)
        if not path:
            # The reference says nothing of its type, which makes it text.
            return Response(200, self._documents.v3_index().body, (TEXT,))
        path = path[1:]
        current = self._documents.v3_hash(path) if path and not path.endswith("/") else None
        if current is None:
            return _not_found()
        form = _form(request, _V3_FORMS)
        if form is None:
            return _not_acceptable()
        asked = request.param("hash")
        if asked and asked != current:
            location = (b"location", f"{request.path}?hash={current}".encode())
            return Response(301, b"", ((b"content-type", form.encode()), location, *_caching(current)))
        more = (_FOREVER,) if asked else ()
        if unchanged := _unchanged(request, lambda: current, more):
            return unchanged
        documents = self._documents
        return _answer(documents.v3_protobuf(path) if form == CONTENT_TYPE_V3 else documents.v3(path), form, more)


def _form(request: Request, forms: Mapping[str, str]) -> str | None:
    """The first form that a client accepts; None for a client that accepts none of them."""
    for media_range in media_ranges(request.header(b"accept") or "*/*"):
        kind, _, subtype = media_range.partition("/")
        for name, form in forms.items():
            if kind in ("application", "*") and subtype in (name.partition("/")[2], "*"):
                return form
    return None


def _not_acceptable() -> Response:
    return Response(406, b"", (_VARY,))


def _not_found() -> Response:
    return Response(404, b"", ())


def _unchanged(request: Request, current: Callable[[], str], more: tuple[Header, ...] = ()) -> Response | None:
    """304 for a client that has the document of that hash."""
    has = request.header(b"if-none-match")
    if not has or has != _etag(digest := current()):
        return None
    return Response(304, b"", (*more, *_caching(digest)))


async def _answer(making: Awaitable[Document | None], form: str, more: tuple[Header, ...] = ()) -> Response:
    document = await making
    return _not_found() if document is None else _response(document, form, more)


def _response(document: Document, form: str, more: tuple[Header, ...] = ()) -> Response:
    headers = ((b"content-type", form.encode()), *more, *_caching(document.hash))
    if sum(map(len, document.pieces)) <= AT_ONCE:
        return Response(200, document.body, headers)
    return Response(200, headers=headers, stream=_chunks(document.pieces))


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


def _caching(digest: str) -> tuple[Header, ...]:
    return (b"etag", _etag(digest).encode()), _VARY

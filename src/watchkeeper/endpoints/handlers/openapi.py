"""The OpenAPI documents over HTTP. v3 documents have URLs that name their content and may be kept for good."""

from __future__ import annotations

from collections.abc import Awaitable

from watchkeeper.endpoints.negotiation import negotiate, not_acceptable
from watchkeeper.endpoints.openapi.documents import Document, OpenAPI
from watchkeeper.endpoints.openapi.gnostic import CONTENT_TYPE
from watchkeeper.endpoints.render import finish
from watchkeeper.endpoints.response import JSON, Header, Response, text_response
from watchkeeper.endpoints.router import method_not_allowed
from watchkeeper.request.request import Request

_V3 = "/openapi/v3"
_FOREVER: Header = (b"cache-control", b"public, immutable")
_PROTOBUF = "protobuf"
_V2_PROTOBUF = (CONTENT_TYPE, CONTENT_TYPE.replace("v2.v1.0", "v2@v1.0"))
"""What the v2 document is asked for by; the second form is an old one, which clients still use."""


class OpenAPIPaths:
    """Handles /openapi/v2, /openapi/v3 and what is below it."""

    def __init__(self, documents: OpenAPI) -> None:
        self._documents = documents

    def handle_v2(self, request: Request) -> Response | Awaitable[Response]:
        """The v2 document, in JSON unless protobuf is what the client wants first."""
        if request.method == "GET" and request.header(b"accept").startswith(_V2_PROTOBUF):
            return self._protobuf(request)
        return self._answer(request, self._documents.v2())

    async def _protobuf(self, request: Request) -> Response:
        document = await self._documents.v2_protobuf()
        headers = _caching(document)
        if _unchanged(request, document):
            return Response(304, b"", headers)
        return Response(200, document.body, ((b"content-type", CONTENT_TYPE.encode()), *headers))

    def handle_v3(self, request: Request) -> Response:
        """The index of v3 documents, or one of them; asked for by its hash it may be kept for good."""
        path = request.path.removeprefix(_V3).strip("/")
        if not path:
            return self._answer(request, self._documents.v3_index())
        document = self._documents.v3(path)
        if document is None:
            return text_response(404, "404 page not found\n")
        asked = request.param("hash")
        if asked and asked != document.hash:
            location = f"{request.path}?hash={document.hash}".encode()
            return Response(301, b"", ((b"location", location),))
        return self._answer(request, document, (_FOREVER,) if asked else ())

    @staticmethod
    def _answer(request: Request, document: Document, headers: tuple[Header, ...] = ()) -> Response:
        if request.method != "GET":
            raise method_not_allowed()
        more: tuple[Header, ...] = (*headers, *_caching(document))
        if _unchanged(request, document):
            return Response(304, b"", more)
        accept = request.header(b"accept")
        if _PROTOBUF in accept and "json" not in accept and "*/*" not in accept:
            raise not_acceptable()
        if "yaml" in accept:
            return finish(document.body, negotiate(request, transforms=False))
        return Response(200, document.body, (JSON, *more))


def _etag(document: Document) -> str:
    return f'"{document.hash}"'


def _caching(document: Document) -> tuple[Header, ...]:
    return (b"etag", _etag(document).encode()), (b"vary", b"Accept")


def _unchanged(request: Request, document: Document) -> bool:
    return request.header(b"if-none-match") == _etag(document)

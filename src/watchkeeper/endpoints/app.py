"""The ASGI application: one readable list of filters, then the router or a fixed path, then the answer."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Awaitable, Mapping, Sequence

import orjson

from watchkeeper.aio.deadline import Deadlines
from watchkeeper.apis.protobuf import protobuf_of
from watchkeeper.endpoints.compression import GZIP_HEADERS, GZIP_THRESHOLD, gzip, takes_gzip
from watchkeeper.endpoints.filters import Filter
from watchkeeper.endpoints.filters.request_deadline import allowed_seconds
from watchkeeper.endpoints.negotiation import JSON, PLAIN, YAML, Accepted, accepted_form, wants_pretty
from watchkeeper.endpoints.render import PROTOBUF_HEADER
from watchkeeper.endpoints.response import (
    AT_ONCE,
    TEXT,
    Header,
    PathHandler,
    Response,
    error_response,
    internal_error,
    text_response,
)
from watchkeeper.endpoints.router import Router, method_not_allowed
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.request.exchange import Exchange
from watchkeeper.request.request import ClientGone, Receive, Request, Scope, Send
from watchkeeper.runtime.yaml import dump_yaml

log = logging.getLogger(__name__)

_CLIENT_CLOSED = 499
_OF_FLOW_CONTROL = b"x-kubernetes-pf-"
_TIMED_OUT = (
    b'{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout",'
    b'"reason":"Timeout","details":{},"code":504}\n'
)
_BEFORE_THE_KIND = frozenset({406, 415})
"""Media types that a path does not know at all, which `details` without anything in them tell, are refused before
anybody has looked at the kind; so nobody warns of that."""
_UNFINISHED = "failed to create RequestInfo: unable to determine kind and namespace from url"


class App:
    """Serves HTTP. Knows filters, the router and the paths that are no resources; nothing else."""

    def __init__(
        self,
        *,
        filters: Sequence[Filter],
        router: Router,
        paths: Mapping[str, PathHandler],
        prefixes: Mapping[str, PathHandler] | None = None,
        request_timeout: float = 60.0,
    ) -> None:
        self.filters = tuple(filters)
        self.router = router
        self._served = router.served
        self.paths = dict(paths)
        self.prefixes = dict(prefixes or {})
        self.request_timeout = request_timeout
        self._deadlines = Deadlines()
        digits = os.urandom(8).hex()
        self._audit_start = f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[1:4]}-".encode()
        self._audit_count = int.from_bytes(os.urandom(3), "big")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection event: an HTTP request, or the server's start and stop."""
        kind = scope["type"]
        if kind == "http":
            pending = self.begin(scope, receive, send)
            if pending is not None:
                await pending
        else:
            await _lifespan(receive, send)

    def begin(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None] | None:
        """Serve an HTTP request as far as that goes without waiting: None when it has been answered.

        An HTTP server that calls this instead of the application needs a task only for what has to wait.
        """
        request = Request(scope, receive, send, asyncio.get_running_loop().time())
        try:
            response = self.respond(request)
        except ApiError as error:
            response = render_error(request, error)
        except Exception:
            response = self._panicked(request)
        if isinstance(response, Response) and response.stream is None:
            exchange = scope.get("exchange")
            waits = request.observer is not None and request.observer.holds
            if exchange is not None and len(response.body) <= AT_ONCE and not waits:
                self._respond_now(request, exchange, response)
                return None
        return self._serve(request, response)

    def _respond_now(self, request: Request, exchange: Exchange, response: Response) -> None:
        status = 500
        try:
            if request.observer is not None:
                request.observer.responding(response.status, response.body, lasting=False)
            if len(response.body) > GZIP_THRESHOLD:
                _compress(request, response)
            headers = response.all_headers(request)
            headers.append(self._audit_header(request))
            exchange.respond(response.status, headers, response.body)
            status = response.status
        finally:
            request.finish(status)

    async def _serve(self, request: Request, response: Response | Awaitable[Response]) -> None:
        status = 500
        try:
            if not isinstance(response, Response):
                try:
                    response = await self._in_time(request, response)
                except ApiError as error:
                    response = render_error(request, error)
                except ClientGone:
                    status = _CLIENT_CLOSED
                    return
                except Exception:
                    response = self._panicked(request)
            status = response.status
            if request.observer is not None:
                lasting = response.stream is not None and request.info.long_running
                request.observer.responding(status, response.body, lasting=lasting)
                if request.observer.holds:
                    await request.observer.settled()
            if len(response.body) > GZIP_THRESHOLD:
                _compress(request, response)
            response.headers = (*response.headers, self._audit_header(request))
            await response.send(request)
        finally:
            request.finish(status)

    @staticmethod
    def _panicked(request: Request) -> Response:
        """The answer to the exception that is being handled."""
        if limit := _exceeded_limit(sys.exception()):
            return render_error(request, errors.bad_request(limit))
        if request.observer is not None:
            request.observer.panicked()
        log.exception("panic while serving %s %s", request.method, request.path)
        return render_error(request, _panic(request))

    def respond(self, request: Request) -> Response | Awaitable[Response]:
        """Run the filters and the handler as far as they go without waiting."""
        for index, apply in enumerate(self.filters):
            outcome = apply(request)
            if outcome is not None:
                if isinstance(outcome, Response):
                    return outcome
                return self._respond_from(request, index, outcome)
        return self._handle(request)

    async def _respond_from(self, request: Request, index: int, waiting: Awaitable[Response | None]) -> Response:
        """Go on after a filter that had to wait."""
        outcome: Response | Awaitable[Response | None] | None = await waiting
        if isinstance(outcome, Response):
            return outcome
        for apply in self.filters[index + 1 :]:
            outcome = apply(request)
            if outcome is not None and not isinstance(outcome, Response):
                outcome = await outcome
            if outcome is not None:
                return outcome
        handled = self._handle(request)
        return handled if isinstance(handled, Response) else await handled

    def _handle(self, request: Request) -> Response | Awaitable[Response]:
        if self._served.remote and (handler := self._served.elsewhere(request.path)) is not None:
            request.passed_on = True
            return handler(request)
        if request.info.is_resource:
            return self.router.route(request)
        return self._path(request)

    def _path(self, request: Request) -> Response | Awaitable[Response]:
        path = request.path
        if request.info.parts:
            return internal_error(request, f"{_UNFINISHED}, {request.uri}")
        handler = self.paths.get(path)
        if handler is None and path.startswith(("/api/", "/apis/")):
            handler = self.paths.get(path.rstrip("/"))
        if handler is None:
            for prefix, found in self.prefixes.items():
                if path.startswith(prefix):
                    handler = found
                    break
        if handler is None:
            return text_response(404, "404 page not found\n")
        return handler(request)

    async def _in_time(self, request: Request, response: Awaitable[Response]) -> Response:
        """Wait for a handler. Watches have their own deadline, but must open in time like everybody else.

        When the time is over that is all there is to tell, whatever the handler makes of it.
        """
        seconds = allowed_seconds(request, self.request_timeout)
        try:
            return await self._deadlines.within(seconds, response)
        except TimeoutError:
            if request.info.long_running:
                raise errors.timeout("request did not complete within the allotted timeout") from None
            return _timed_out(request)
        except ApiError:
            if request.info.long_running or asyncio.get_running_loop().time() < request.started + seconds:
                raise
            return _timed_out(request)

    def _audit_header(self, request: Request) -> Header:
        given = request.audit_id or request.header(b"audit-id")
        if given:
            return (b"audit-id", given.encode("latin-1"))
        self._audit_count = (self._audit_count + 1) & 0xFFFFFFFFFFFF
        return (b"audit-id", b"%b%012x" % (self._audit_start, self._audit_count))


def _compress(request: Request, response: Response) -> None:
    """Compress a large answer of the API for a client that asks for that."""
    if request.path.startswith("/api") and takes_gzip(request.header(b"accept-encoding")):
        response.body = gzip(response.body)
        response.headers = (*response.headers, *GZIP_HEADERS)


def _timed_out(request: Request) -> Response:
    """The answer of kube-apiserver's filter, which nobody marks as a Status: clients take the code alone."""
    request.told = tuple(header for header in request.told if not header[0].startswith(_OF_FLOW_CONTROL))
    request.warnings.clear()
    return Response(504, _TIMED_OUT, (TEXT,))


def _exceeded_limit(error: BaseException | None) -> str:
    """Which limit of what can be computed with at all a request ran into, "" for none: that is the client's fault.

    Decoding bounds bodies well below; but patches can pile up an object, and any text can be taken for a number.
    """
    if isinstance(error, RecursionError) or (
        isinstance(error, orjson.JSONEncodeError) and "Recursion limit" in str(error)
    ):
        return "the object is nested too deep"
    if isinstance(error, ValueError) and "integer string conversion" in str(error):
        return "a number has too many digits"
    return ""


def _panic(request: Request) -> ApiError:
    return errors.internal_error(
        f'This request caused apiserver to panic. Look in the logs for details. ({request.method} "{request.path}")'
    )


def render_error(request: Request, error: ApiError) -> Response:
    """The Status of an error in the form that the client accepts, or as JSON if it accepts none."""
    if error.code in _BEFORE_THE_KIND and error.details == {}:
        request.warnings.clear()
    response = error_response(error)
    accepted: Accepted | None = PLAIN
    header = request.header(b"accept")
    if header not in ("", JSON, "*/*"):
        accepted = accepted_form(header, transforms=False, protobuf=True)
    if accepted is None or accepted.media_type == JSON:
        if accepted is None or accepted.pretty or wants_pretty(request):
            response.body = orjson.dumps(orjson.loads(response.body), option=orjson.OPT_INDENT_2)
    elif accepted.media_type == YAML:
        response.body = dump_yaml(orjson.loads(response.body))
        response.headers = ((b"content-type", b"application/yaml"), *error.headers)
    else:
        response.body = protobuf_of(orjson.loads(response.body))
        response.headers = (PROTOBUF_HEADER, *error.headers)
    return response


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await send({"type": "lifespan.shutdown.complete"})
            return


__all__ = ["App", "PathHandler", "method_not_allowed", "render_error"]

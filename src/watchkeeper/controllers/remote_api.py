"""Objects of other API servers, for controllers: requests that this server passes on as it does those of any client.

The other server is told that the controller asks. Of objects only metadata is asked for.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from urllib.parse import quote, urlencode

import orjson

from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.client.dynamic import MERGE_PATCH, ResourceClient
from watchkeeper.client.errors import ClientError, error_of
from watchkeeper.client.rest import JSON, Json, Lines, Query
from watchkeeper.controllers.remote_resources import RemoteResource
from watchkeeper.endpoints.response import Response, Stream
from watchkeeper.endpoints.scope import ServedTable
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersion
from watchkeeper.registry.rest import DeleteOptions
from watchkeeper.request.exchange import AnswerBroken
from watchkeeper.request.request import ClientGone, Request
from watchkeeper.request.user import User

Object = dict[str, Any]

REQUEST_SECONDS = 60.0
"""So long a server may take to answer, or to begin to tell of events."""
_ATTEMPTS = 5
_NO_SUCH_PATH = "the server could not find the requested resource"
_UNAVAILABLE = "the server is currently unable to handle the request"
_FORMS = {"list": "PartialObjectMetadataList", "get": "PartialObjectMetadata", "watch": "PartialObjectMetadata"}
_FORMS["patch"] = _FORMS["get"]


class RemoteApi:
    """The objects of all other servers as one controller sees them. All methods raise ApiError.

    A NotFound is said of an object, by the server that would have it. That this one is not there, does not know the
    path or says nothing that can be understood is another error: it tells nothing of the object.
    """

    def __init__(self, served: ServedTable, user: User, agent: str) -> None:
        """`agent` is what the program calls itself, and so whom fields belong to that it writes."""
        self._passed_on = PassedOn(served, user, agent)

    async def close(self) -> None:
        """End the watches that are left. Idempotent."""
        await self._passed_on.close()

    def client(self, resource: RemoteResource, namespace: str = "") -> ResourceClient:
        """Who asks for the objects of a resource in a namespace, or everywhere. Its methods raise ClientError, too."""
        return ResourceClient(self._passed_on, resource.info.gvr, namespace if resource.info.namespaced else "")

    async def get(self, resource: RemoteResource, namespace: str, name: str) -> Object:
        """An object as it is now. Raises NotFound."""
        with _one_kind_of_error():
            return _object(await self.client(resource, namespace).get(name))

    async def list(self, resource: RemoteResource, namespace: str) -> list[Object]:
        """The objects of a namespace as they are now."""
        with _one_kind_of_error():
            return _objects(await self.client(resource, namespace).list())

    async def delete(self, resource: RemoteResource, namespace: str, name: str, options: DeleteOptions) -> None:
        """Delete an object, or begin to. Raises NotFound, and Conflict for one that is not the one that is meant."""
        with _one_kind_of_error():
            await self.client(resource, namespace).delete(name, _body(options))

    async def delete_collection(self, resource: RemoteResource, namespace: str) -> None:
        """Delete all objects of a namespace, dependents in the background."""
        with _one_kind_of_error():
            await self.client(resource, namespace).delete_collection(
                _body(DeleteOptions(propagation_policy="Background"))
            )

    async def change(
        self, resource: RemoteResource, namespace: str, name: str, uid: str, change: Callable[[Object], None]
    ) -> Object:
        """Change the metadata of the object with this uid by a function, some times if other writers interfere.

        Returns it as it is then. Raises NotFound; Conflict when they do not stop, and when another object has its name.
        """
        client = self.client(resource, namespace)
        attempts = _ATTEMPTS
        while True:
            obj = await self.get(resource, namespace, name)
            patch = _patch_of(obj, uid, change)
            if patch is None:
                return obj
            attempts -= 1
            try:
                with _one_kind_of_error():
                    return await client.patch(name, patch, content_type=MERGE_PATCH)
            except ApiError as error:
                if error.code != 409 or not attempts:
                    raise


def _patch_of(obj: Object, uid: str, change: Callable[[Object], None]) -> Object | None:
    """What makes of an object what the function makes of it, None when that is nothing. Raises Conflict."""
    meta: Object = obj["metadata"]
    if uid and meta.get("uid") != uid:
        raise ApiError(409, "Conflict", f"the UID of {meta.get('name')} is {meta.get('uid')}, not {uid}")
    changed = copy.deepcopy(obj)
    change(changed)
    after: Object = changed["metadata"]
    different = {key: after.get(key) for key in {**meta, **after} if meta.get(key) != after.get(key)}
    if not different:
        return None
    held = {key: meta[key] for key in ("uid", "resourceVersion") if key in meta}
    return {"metadata": {**held, **different}}


def _objects(found: Any) -> list[Object]:
    """The items of a list. Raises ClientError for what is none."""
    items = found.get("items", []) if isinstance(found, dict) else ""
    if not isinstance(items, list | None):
        raise ClientError("the answer is no list of objects")
    return [_object(item) for item in items or ()]


def _object(found: Any) -> Object:
    """An object whose metadata can be worked with. Raises ClientError for what is none."""
    obj: Object = found if isinstance(found, dict) else {}
    meta = obj.get("metadata")
    if not isinstance(meta, dict) or not isinstance(meta.get("name"), str):
        raise ClientError("the answer is no object")
    for name, kind in (("finalizers", str), ("ownerReferences", dict)):
        entries = meta.get(name) or []
        if not isinstance(entries, list) or not all(isinstance(entry, kind) for entry in entries):
            raise ClientError(f"the {name} of {meta['name']} are none")
    return obj


def _body(options: DeleteOptions) -> Object:
    preconditions = {"uid": options.uid, "resourceVersion": options.resource_version}
    given = {key: value for key, value in preconditions.items() if value is not None}
    body = {"kind": "DeleteOptions", "apiVersion": "v1", **options.as_mapping()}
    return {**body, **({"preconditions": given} if given else {})}


@contextmanager
def _one_kind_of_error() -> Iterator[None]:
    try:
        yield
    except ClientError as problem:
        raise ApiError(503, "ServiceUnavailable", str(problem)) from problem


class PassedOn:
    """Sends requests by way of what passes them on to other servers. Implements `client.rest.Requests`."""

    def __init__(self, served: ServedTable, user: User, agent: str) -> None:
        self._served = served
        self._user = user
        self._agent = agent
        self._tasks = TaskOwner(f"requests of {user.name}")

    def __repr__(self) -> str:
        return f"<PassedOn for {self._user.name}>"

    async def close(self) -> None:
        """End what is still to be ended. Idempotent."""
        await self._tasks.close()

    async def request(
        self, method: str, path: str, *, query: Query = (), body: Json = None, content_type: str = JSON
    ) -> Json:
        """The JSON of the answer. Raises ApiError for what is refused, ClientError when there is no answer."""
        data = b"" if body is None else body if isinstance(body, bytes) else orjson.dumps(body)
        request = self._make(method, path, query, data, content_type)
        async with _in_time(path):
            return await self._result(request, await self._respond(request))

    async def lines(self, path: str, *, query: Query = ()) -> Lines:
        """The lines of an answer as they come. Raises ApiError, ClientError. Close it."""
        request = self._make("GET", path, query, b"", "")
        async with _in_time(path):
            response = await self._respond(request)
            if response.status != 200:
                await self._result(request, response)
                raise ClientError(f"{path}: answered with {response.status}")
        return Lines(_Pieces(request, response, self._tasks))

    async def _result(self, request: Request, response: Response) -> Json:
        pieces = _Pieces(request, response, self._tasks)
        try:
            body = response.body or b"".join([piece async for piece in pieces])
        finally:
            await pieces.aclose()
        return _result(response.status, body)

    async def _respond(self, request: Request) -> Response:
        info = request.info
        handler = self._served.remote.get(GroupVersion(info.group, info.version))
        if handler is None:
            raise ClientError(f"{request.path}: no other server has it any more")
        try:
            found = handler(request)
            return found if isinstance(found, Response) else await found
        except ClientGone:
            raise ClientError(f"{request.path}: the request was given up") from None
        except BaseException:
            request.finish(500)
            raise

    def _make(self, method: str, path: str, query: Query, body: bytes, content_type: str) -> Request:
        encoded = urlencode(list(query), quote_via=quote).encode()
        headers = [(b"user-agent", self._agent.encode()), (b"content-length", str(len(body)).encode())]
        if body:
            headers.append((b"content-type", content_type.encode()))
        sent = False

        async def receive() -> Object:
            nonlocal sent
            if sent:
                await asyncio.get_running_loop().create_future()  # it is not given up: who waits for that is canceled
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(_message: Object) -> None:
            raise RuntimeError("answers are read, not sent")

        scope = {"type": "http", "method": method, "path": path, "query_string": encoded, "headers": headers}
        request = Request(scope, receive, send, asyncio.get_running_loop().time())
        request.user = self._user
        form = _FORMS.get(request.info.verb)
        accept = f"{JSON};as={form};g=meta.k8s.io;v=v1,{JSON}" if form else JSON
        headers.append((b"accept", accept.encode()))
        return request


@asynccontextmanager
async def _in_time(path: str) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(REQUEST_SECONDS):
            yield
    except TimeoutError:
        raise ClientError(f"{path}: no answer within {REQUEST_SECONDS:g} s") from None


def _result(status: int, body: bytes) -> Json:
    """What an answer holds. Raises ApiError for a refusal, ClientError for what is no JSON."""
    try:
        found = orjson.loads(body) if body else None
    except orjson.JSONDecodeError as problem:
        if status < 300:
            raise ClientError(f"the answer is not JSON: {problem}") from problem
        found = None
    if status < 300:
        return found
    error = error_of(status, found, _UNAVAILABLE if status == 503 else body.decode("utf-8", "replace"))
    if error.message == _NO_SUCH_PATH:
        error.reason = ""
    raise error


class _Pieces:
    """The body of an answer. Implements `client.rest.Pieces`."""

    def __init__(self, request: Request, response: Response, tasks: TaskOwner) -> None:
        self._request = request
        self._stream = response.stream
        self._status = response.status
        self._tasks = tasks
        self._pieces: AsyncIterator[bytes] | None = aiter(response.stream) if response.stream is not None else None

    def __aiter__(self) -> _Pieces:
        return self

    async def __anext__(self) -> bytes:
        if self._pieces is None:
            raise StopAsyncIteration
        try:
            return await anext(self._pieces)
        except AnswerBroken as problem:
            raise ClientError(f"{self._request.path}: {problem}") from problem

    def close(self) -> None:
        """Stop: the connection is closed at once, unless the answer was read to its end."""
        if (stream := self._let_go()) is not None:
            self._tasks.start(f"end of {self._request.path}", _end(stream))

    async def aclose(self) -> None:
        """Let go of the answer, read to its end or not. Idempotent."""
        if (stream := self._let_go()) is not None:
            await stream.aclose()

    def _let_go(self) -> Stream | None:
        stream, self._stream, self._pieces = self._stream, None, None
        self._request.finish(self._status)
        return stream


async def _end(stream: Stream) -> None:
    await stream.aclose()

"""How controllers ask other API servers, and what they make of the answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Coroutine
from typing import Any

import orjson
import pytest

from watchkeeper.apis.catalog import ResourceInfo
from watchkeeper.client.errors import ClientError
from watchkeeper.controllers import remote_api
from watchkeeper.controllers.loopback import controller_user
from watchkeeper.controllers.remote_api import RemoteApi
from watchkeeper.controllers.remote_content import delete_all
from watchkeeper.controllers.remote_resources import RemoteResource
from watchkeeper.endpoints.response import Response, text_response
from watchkeeper.endpoints.scope import ServedTable
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource
from watchkeeper.registry.rest import DeleteOptions
from watchkeeper.request.exchange import AnswerBroken
from watchkeeper.request.request import Request

Object = dict[str, Any]
BASE = "/apis/far.io/v1/namespaces/ns/lamps"
LAMPS = GroupResource("far.io", "lamps")


def lamps(*verbs: str, namespaced: bool = True) -> RemoteResource:
    gvr, kind = GroupVersionResource("far.io", "v1", "lamps"), GroupVersionKind("far.io", "v1", "Lamp")
    return RemoteResource(ResourceInfo(gvr, kind, "lamp", namespaced, verbs))


class Far:
    """Another server: gives the answers that it was told to give, in turn."""

    def __init__(self, *answers: Response | Object | Awaitable[Response]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[Request, Object | None]] = []
        self.finished: list[int] = []
        self.served = ServedTable()
        self.served.remote[GroupVersion("far.io", "v1")] = self._answer
        self.api = RemoteApi(self.served, controller_user("namespace-controller"), "watchkeeper-test")

    async def _answer(self, request: Request) -> Response:
        request.on_done(self.finished.append)
        body = await request.body(1 << 20)
        self.asked.append((request, orjson.loads(body) if body else None))
        answer = self.answers.pop(0)
        if isinstance(answer, dict):
            return Response(200, orjson.dumps(answer))
        return answer if isinstance(answer, Response) else await answer

    @property
    def lines(self) -> list[str]:
        return [f"{request.method} {request.path}" for request, _ in self.asked]


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


def refusal(code: int, reason: str, message: str) -> Response:
    return Response(code, orjson.dumps(ApiError(code, reason, message).status()))


def lamp(name: str, **meta: Any) -> Object:
    return {"metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": "7", **meta}}


async def error_of(request: Awaitable[Any]) -> ApiError:
    with pytest.raises(ApiError) as raised:
        await request
    return raised.value


def test_the_controller_asks_as_itself_and_for_metadata_alone() -> None:
    far = Far(lamp("a"))
    assert run(far.api.get(lamps(), "ns", "a")) == lamp("a")
    [(request, body)] = far.asked
    assert (far.lines, body, far.finished) == ([f"GET {BASE}/a"], None, [200])
    assert request.user.name == "system:serviceaccount:kube-system:namespace-controller"
    assert request.header(b"user-agent") == "watchkeeper-test"
    assert request.header(b"accept").startswith("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,")


def test_resources_of_the_cluster_have_no_namespace() -> None:
    far = Far(lamp("a"))
    run(far.api.get(lamps(namespaced=False), "ns", "a"))
    assert far.lines == ["GET /apis/far.io/v1/lamps/a"]


def test_deletions_say_which_object_they_mean() -> None:
    far = Far({"kind": "Status"})
    options = DeleteOptions(propagation_policy="Foreground", uid="u", resource_version="3")
    run(far.api.delete(lamps(), "ns", "a", options))
    [(request, body)] = far.asked
    assert (request.method, request.header(b"content-type")) == ("DELETE", "application/json")
    preconditions = {"uid": "u", "resourceVersion": "3"}
    head = {"kind": "DeleteOptions", "apiVersion": "v1"}
    assert body == {**head, "propagationPolicy": "Foreground", "preconditions": preconditions}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Response(404, orjson.dumps(errors.not_found(LAMPS, "a").status())), "NotFound"),
        (refusal(404, "NotFound", "the server could not find the requested resource"), ""),
        (text_response(404, "404 page not found\n"), ""),
        (refusal(503, "ServiceUnavailable", "etcd is away"), "ServiceUnavailable"),
        (text_response(503, "service unavailable\n"), ""),
        (Response(200, b"{nonsense"), "ServiceUnavailable"),
        (Response(200, b"[]"), "ServiceUnavailable"),
        (Response(200, b'{"metadata":{"name":"a","finalizers":[1]}}'), "ServiceUnavailable"),
        (Response(302, b""), ""),
    ],
)
def test_only_the_server_that_would_have_an_object_says_that_it_is_not_there(answer: Response, reason: str) -> None:
    assert run(error_of(Far(answer).api.get(lamps(), "ns", "a"))).reason == reason


@pytest.mark.parametrize("answer", [b"[]", b'{"items":{}}', b'{"items":[{"metadata":{}}]}', b""])
def test_what_is_no_list_tells_nothing_of_objects(answer: bytes) -> None:
    assert run(error_of(Far(Response(200, answer)).api.list(lamps(), "ns"))).reason == "ServiceUnavailable"


def test_who_cannot_be_reached_is_not_able_to_handle_the_request() -> None:
    error = run(error_of(Far(text_response(503, "service unavailable\n")).api.get(lamps(), "ns", "a")))
    assert (error.code, error.message) == (503, "the server is currently unable to handle the request")


def test_what_is_not_passed_on_any_more_tells_nothing_of_its_objects() -> None:
    far = Far()
    far.served.remote.clear()
    assert run(error_of(far.api.get(lamps(), "ns", "a"))).reason == "ServiceUnavailable"


def test_what_cannot_be_a_name_is_not_asked_for() -> None:
    far = Far()
    assert run(error_of(far.api.get(lamps(), "ns", "a/b"))).reason == "ServiceUnavailable"
    assert far.asked == []


def test_an_answer_is_not_waited_for_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_api, "REQUEST_SECONDS", 0.01)

    async def main() -> tuple[ApiError, list[int]]:
        far = Far(asyncio.get_running_loop().create_future())
        return await error_of(far.api.get(lamps(), "ns", "a")), far.finished

    error, finished = run(main())
    assert (error.message, finished) == (f"{BASE}/a: no answer within 0.01 s", [500])


# -- changes ------------------------------------------------------------------------------------------------------


def release(obj: Object) -> None:
    del obj["metadata"]["finalizers"]


def test_a_change_is_a_patch_of_what_is_different() -> None:
    far = Far(lamp("a", finalizers=["f"], labels={"l": "1"}), lamp("a"))
    assert run(far.api.change(lamps(), "ns", "a", "uid-a", release)) == lamp("a")
    assert far.lines == [f"GET {BASE}/a", f"PATCH {BASE}/a"]
    request, body = far.asked[1]
    assert request.header(b"content-type") == "application/merge-patch+json"
    assert body == {"metadata": {"uid": "uid-a", "resourceVersion": "7", "finalizers": None}}


def test_a_change_is_made_again_when_somebody_else_was_faster() -> None:
    conflict = refusal(409, "Conflict", "the object has been modified")
    far = Far(lamp("a", finalizers=["f"]), conflict, lamp("a", finalizers=["f"], resourceVersion="8"), lamp("a"))
    run(far.api.change(lamps(), "ns", "a", "uid-a", release))
    assert [body["metadata"]["resourceVersion"] for _, body in far.asked if body] == ["7", "8"]


def test_nothing_is_sent_for_what_is_as_it_should_be_and_for_another_object() -> None:
    far = Far(lamp("a"), lamp("a"))
    assert run(far.api.change(lamps(), "ns", "a", "uid-a", lambda _obj: None)) == lamp("a")
    assert run(error_of(far.api.change(lamps(), "ns", "a", "uid-b", release))).reason == "Conflict"
    assert far.lines == [f"GET {BASE}/a", f"GET {BASE}/a"]


# -- watches ------------------------------------------------------------------------------------------------------


class Stream:
    """An answer that comes in pieces, the last of which may be an exception, and else goes on for ever."""

    def __init__(self, *pieces: bytes | Exception) -> None:
        self._pieces = list(pieces)
        self.closed = asyncio.Event()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if not self._pieces:
            await asyncio.get_running_loop().create_future()
        piece = self._pieces.pop(0)
        if isinstance(piece, Exception):
            raise piece
        return piece

    async def aclose(self) -> None:
        self.closed.set()


def event(name: str) -> bytes:
    return orjson.dumps({"type": "ADDED", "object": lamp(name)}) + b"\n"


def test_events_come_as_they_happen_and_a_watch_that_is_closed_is_over_at_once() -> None:
    async def main() -> tuple[list[str], str, list[int]]:
        both = event("a") + event("b")
        stream = Stream(both[:30], both[30:])
        far = Far(Response(200, stream=stream))
        watch = await far.api.client(lamps(), "ns").watch(resourceVersion="5")
        names = [(await anext(watch))[1]["metadata"]["name"] for _ in range(2)]
        watch.close()
        finished = list(far.finished)
        await stream.closed.wait()
        await far.api.close()
        return names, far.asked[0][0].query, finished

    names, query, finished = run(main())
    assert (names, query, finished) == (["a", "b"], "resourceVersion=5&watch=true", [200])


def test_a_watch_that_breaks_or_is_refused_is_an_error() -> None:
    async def main() -> tuple[bool, ApiError]:
        broken = Stream(event("a"), AnswerBroken("EOF"))
        far = Far(Response(200, stream=broken), refusal(410, "Expired", "too old"))
        watch = await far.api.client(lamps()).watch()
        await anext(watch)
        with pytest.raises(ClientError, match="EOF"):
            await anext(watch)
        watch.close()
        await broken.closed.wait()
        error = await error_of(far.api.client(lamps()).watch())
        await far.api.close()
        return bool(far.answers), error

    left, error = run(main())
    assert (left, error.code, error.reason) == (False, 410, "Expired")


# -- all objects of a namespace -----------------------------------------------------------------------------------

ALL = ("list", "delete", "deletecollection")
NONE: Object = {"items": []}


def emptied(resource: RemoteResource, *answers: Response | Object) -> tuple[list[str], list[str]]:
    """The requests that are made, and the names of what is left."""
    far = Far(*answers)
    left = run(delete_all(far.api, resource, "ns"))
    return far.lines, [item["metadata"]["name"] for item in left]


LIST, AT_ONCE, ONE = f"GET {BASE}", f"DELETE {BASE}", f"DELETE {BASE}/a"
SOME: Object = {"items": [lamp("a")]}
DONE: Object = {"kind": "Status"}


def test_nothing_is_deleted_where_there_is_nothing() -> None:
    assert emptied(lamps(*ALL), NONE) == ([LIST], [])


def test_all_objects_are_deleted_at_once() -> None:
    assert emptied(lamps(*ALL), SOME, DONE, SOME) == ([LIST, AT_ONCE, LIST], ["a"])


def test_objects_are_deleted_one_by_one_where_that_is_not_let() -> None:
    asked = [LIST, LIST, ONE, LIST]
    assert emptied(lamps("list", "delete"), SOME, SOME, DONE, NONE) == (asked, [])
    refused = refusal(405, "MethodNotAllowed", "no")
    asked.insert(1, AT_ONCE)
    gone = Response(404, orjson.dumps(errors.not_found(LAMPS, "a").status()))
    assert emptied(lamps(*ALL), SOME, refused, SOME, gone, NONE) == (asked, [])


def test_what_cannot_be_listed_is_deleted_unseen() -> None:
    assert emptied(lamps("delete", "deletecollection"), DONE) == ([AT_ONCE], [])
    assert emptied(lamps("delete")) == ([], [])


def test_a_server_that_does_not_find_what_it_told_of_has_not_said_that_nothing_is_left() -> None:
    async def main(far: Far) -> ApiError:
        return await error_of(delete_all(far.api, lamps(*ALL), "ns"))

    assert run(main(Far(text_response(404, "404 page not found\n")))).code == 404
    assert run(main(Far(SOME, refusal(500, "InternalError", "broken")))).message == "broken"

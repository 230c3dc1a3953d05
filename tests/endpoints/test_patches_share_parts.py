"""What a patch leaves alone is shared with the state before, and nobody can tell from the outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
import pytest

from watchkeeper.admission.interface import Attributes, BasePlugin, Chain, Operation
from watchkeeper.authn.service_account_tokens import ServiceAccountTokens
from watchkeeper.authz.union import AlwaysAllow
from watchkeeper.endpoints.app import App
from watchkeeper.endpoints.router import Router
from watchkeeper.kv.memory import MemoryKV
from watchkeeper.server.assembly import Assembly, AssemblyOptions
from watchkeeper.storage.backend import BackendConfig
from watchkeeper.storage.factory import StorageFactory

PODS = "/api/v1/namespaces/default/pods"
MERGE = b"application/merge-patch+json"
JSON_PATCH = b"application/json-patch+json"
STRATEGIC = b"application/strategic-merge-patch+json"

Call = Callable[..., Awaitable[tuple[int, Any]]]


class Meddler(BasePlugin):
    """Changes an object deep inside, in place, and remembers how the old state looked to it afterwards."""

    operations = frozenset({Operation.UPDATE})
    old_image = ""

    def admit(self, attributes: Attributes) -> None:
        assert attributes.obj is not None and attributes.old is not None
        if attributes.resource.resource == "pods":
            attributes.obj["spec"]["containers"][0]["image"] = "meddled"
            self.old_image = attributes.old["spec"]["containers"][0]["image"]


async def _served(work: Callable[[Call, Assembly], Awaitable[None]]) -> None:
    kv = MemoryKV()

    async def opener(_config: BackendConfig) -> MemoryKV:
        return kv

    factory = StorageFactory(BackendConfig(type="memory"), opener)
    await factory.open()
    tokens: Any = None
    options = AssemblyOptions(
        authorizer=AlwaysAllow(), resolver=tokens, tokens=tokens, signer=ServiceAccountTokens(lambda: tokens, "x")
    )
    assembly = Assembly(factory, options)
    app = App(filters=[], router=Router(assembly.served), paths={})

    async def call(method: str, path: str, body: Any, kind: bytes = b"application/json") -> tuple[int, Any]:
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": orjson.dumps(body), "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [(b"accept", b"application/json"), (b"content-type", kind), (b"user-agent", b"t")]
        query = b""
        if "?" in path:
            path, _, text = path.partition("?")
            query = text.encode()
        scope = {"type": "http", "method": method, "path": path, "query_string": query, "headers": headers}
        await app(scope, receive, send)
        return sent[0]["status"], orjson.loads(sent[1]["body"])

    try:
        await call("POST", "/api/v1/namespaces", {"metadata": {"name": "default"}})
        await call("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
        status, answer = await call("POST", PODS, _pod())
        assert status == 201, answer
        await work(call, assembly)
    finally:
        await assembly.close()
        await factory.close()


def _pod() -> Any:
    container = {"name": "a", "image": "one", "env": [{"name": "A", "value": "1"}]}
    meta = {"name": "p", "labels": {"app": "x"}, "annotations": {"note": "y"}}
    return {"metadata": meta, "spec": {"containers": [container]}}


async def _stored(assembly: Assembly) -> Any:
    return await assembly.store("", "pods").storage.get("/registry/pods/default/p")


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        (MERGE, {"metadata": {"labels": {"round": "2"}}}),
        (STRATEGIC, {"metadata": {"labels": {"round": "2"}}}),
        (JSON_PATCH, [{"op": "add", "path": "/metadata/labels/round", "value": "2"}]),
    ],
)
def test_a_patch_of_a_settled_object_changes_what_it_says_and_nothing_else(kind: bytes, patch: Any) -> None:
    async def work(call: Call, assembly: Assembly) -> None:
        before = await _stored(assembly)
        assert before.settled
        status, answer = await call("PATCH", f"{PODS}/p", patch, kind)
        assert status == 200
        expected = before.data()
        expected["metadata"]["labels"]["round"] = "2"
        for state in (answer, expected):
            del state["metadata"]["managedFields"], state["metadata"]["resourceVersion"]
        assert answer == expected
        assert (await _stored(assembly)).settled

    asyncio.run(_served(work))


def test_what_a_patch_touches_is_decoded_and_defaulted_and_checked() -> None:
    async def work(call: Call, _assembly: Assembly) -> None:
        unknown = {"spec": {"activeDeadlineSeconds": 5, "nonsense": 1}}
        status, answer = await call("PATCH", f"{PODS}/p?fieldValidation=Strict", unknown, MERGE)
        assert (status, answer["reason"]) == (422, "Invalid")
        assert "spec.nonsense" in answer["message"]
        status, answer = await call("PATCH", f"{PODS}/p", unknown, MERGE)
        assert status == 200
        assert answer["spec"]["activeDeadlineSeconds"] == 5
        assert "nonsense" not in answer["spec"]
        status, answer = await call("PATCH", f"{PODS}/p", {"spec": {"hostname": "other"}}, MERGE)
        assert (status, answer["details"]["causes"][0]["field"]) == (422, "spec")
        status, answer = await call("PATCH", f"{PODS}/p", {"metadata": {"labels": {"a b": "c"}}}, MERGE)
        assert (status, answer["details"]["causes"][0]["field"]) == (422, "metadata.labels")
        mirror = {"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}}
        status, answer = await call("PATCH", f"{PODS}/p", mirror, MERGE)
        assert (status, answer["details"]["causes"][0]["field"]) == (
            422,
            "metadata.annotations[kubernetes.io/config.mirror]",
        )
        status, answer = await call("PATCH", f"{PODS}/p", [{"op": "remove", "path": "/spec"}], JSON_PATCH)
        assert status == 422

    asyncio.run(_served(work))


def test_a_null_where_nothing_was_is_not_stored() -> None:
    async def work(call: Call, _assembly: Assembly) -> None:
        patch = [{"op": "add", "path": "/nothing", "value": None}, {"op": "add", "path": "/metadata/x", "value": None}]
        status, answer = await call("PATCH", f"{PODS}/p?fieldValidation=Ignore", patch, JSON_PATCH)
        assert status == 200
        assert "nothing" not in answer and "x" not in answer["metadata"]

    asyncio.run(_served(work))


def test_an_object_that_was_changed_past_its_strategy_is_not_settled() -> None:
    async def work(call: Call, assembly: Assembly) -> None:
        target = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
        status, answer = await call("POST", f"{PODS}/p/binding", target)
        assert status == 201, answer
        assert not (await _stored(assembly)).settled
        status, _ = await call("PATCH", f"{PODS}/p", {"metadata": {"labels": {"round": "2"}}}, MERGE)
        assert status == 200
        assert (await _stored(assembly)).settled

    asyncio.run(_served(work))


def test_an_admission_plugin_that_changes_objects_in_place_does_not_change_the_old_state() -> None:
    async def work(call: Call, assembly: Assembly) -> None:
        meddler = Meddler()
        assembly.services.admission = Chain([*assembly.services.admission.plugins, meddler])
        status, answer = await call("PATCH", f"{PODS}/p", {"metadata": {"labels": {"round": "2"}}}, MERGE)
        assert (status, answer["spec"]["containers"][0]["image"]) == (200, "meddled")
        assert meddler.old_image == "one"

    asyncio.run(_served(work))


def test_no_plugin_of_the_server_stands_in_the_way_of_sharing() -> None:
    async def work(_call: Call, assembly: Assembly) -> None:
        assert Operation.UPDATE not in assembly.services.admission.deep

    asyncio.run(_served(work))


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        (MERGE, {"spec": {"hostNetwork": True}}),
        (JSON_PATCH, [{"op": "add", "path": "/spec/hostNetwork", "value": True}]),
        (STRATEGIC, {"spec": {"hostNetwork": True}}),
    ],
)
def test_defaults_that_follow_a_patch_do_not_reach_the_old_state(kind: bytes, patch: Any) -> None:
    async def work(call: Call, _assembly: Assembly) -> None:
        pod = _pod()
        pod["metadata"]["name"] = "q"
        pod["spec"]["containers"][0]["ports"] = [{"containerPort": 80}]
        code, _ = await call("POST", PODS, pod)
        assert code == 201
        code, status = await call("PATCH", f"{PODS}/q", patch, kind)
        assert code == 422
        assert '-     "HostPort": 0,\n+     "HostPort": 80,' in status["message"]

    asyncio.run(_served(work))

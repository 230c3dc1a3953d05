"""Several versions of a custom resource, with and without a webhook between them."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import eventually

from watchkeeper.apiextensions.serving.build import compile_version
from watchkeeper.apiextensions.serving.defined import read_defined
from watchkeeper.apiextensions.serving.hooks import Hooks
from watchkeeper.apiextensions.serving.versioned import KeptObjects, VersionedStorage
from watchkeeper.kv.memory import MemoryKV
from watchkeeper.meta.errors import bad_request
from watchkeeper.meta.gvk import GroupVersion, GroupVersionKind
from watchkeeper.server.pki import ServingCertificate, serving_certificate
from watchkeeper.server.tls import server_context
from watchkeeper.storage.codec import JsonCodec
from watchkeeper.storage.interface import StoredObject
from watchkeeper.storage.store import Store

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
TEXT = {"type": "string"}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> ServingCertificate:
    return serving_certificate(Path(tmp_path_factory.mktemp("hook")), "127.0.0.1")


class Hook:
    """A webhook; `answer` makes the response of a ConversionReview's request."""

    def __init__(self, url: str, certificate: ServingCertificate) -> None:
        self.url = url
        self.ca = base64.b64encode(certificate.ca_pem).decode()
        self.reviews: list[dict[str, Any]] = []
        self.requests: list[dict[str, Any]] = []
        self.answer: Callable[[dict[str, Any]], Any] = convert

    def conversion(self, **config: Any) -> dict[str, Any]:
        client = {"url": self.url, "caBundle": self.ca, **config}
        return {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client}}


def convert(request: dict[str, Any]) -> dict[str, Any]:
    """Between one name (v1) and two (v2)."""
    wanted, done = request["desiredAPIVersion"], []
    for item in request["objects"]:
        spec = dict(item.get("spec", {}))
        if wanted.endswith("/v2") and "name" in spec:
            spec["first"], _, spec["last"] = spec.pop("name").partition(" ")
        elif wanted.endswith("/v1") and "first" in spec:
            spec["name"] = f"{spec.pop('first')} {spec.pop('last')}"
        done.append({**item, "apiVersion": wanted, "spec": spec})
    return {"uid": request["uid"], "convertedObjects": done, "result": {"status": "Success"}}


@contextmanager
def serving(certificate: ServingCertificate) -> Iterator[Hook]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["content-length"])))
            hook.reviews.append(review)
            hook.requests.append(review["request"])
            response = hook.answer(review["request"])
            status = response if isinstance(response, int) else 200
            body = json.dumps({**review, "response": response}).encode() if status == 200 else b"no"
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    context: ssl.SSLContext = server_context(certificate.cert, certificate.key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    hook = Hook(f"https://127.0.0.1:{server.server_port}/convert", certificate)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hook
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def hook(certificate: ServingCertificate) -> Iterator[Hook]:
    with serving(certificate) as found:
        yield found


def two_versions(kit: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    return (
        kit.version("v1", kit.obj(name=TEXT)),
        kit.version("v2", kit.obj(first=TEXT, last=TEXT), storage=False),
    )


def test_without_conversion_an_object_reads_the_same_in_each_version(api: Any, kit: Any) -> None:
    old = kit.obj(size={"type": "integer"}, gone=TEXT)
    new = kit.obj(size={"type": "integer"}, level={"type": "string", "default": "Low"})
    one = api.install(kit.version("v1", old), kit.version("v2", new, storage=False))
    two = api.path("v2")
    api.call("POST", one, api.widget("a", {"size": 1, "gone": "x"}))
    found = api.call("GET", f"{two}/a").body
    assert (found["apiVersion"], found["spec"]) == (f"{api.group}/v2", {"size": 1})
    with api.watch(two) as events:
        assert events.wait(1) == [("ADDED", {"size": 1})]
        api.call("PATCH", f"{one}/a", {"spec": {"size": 2}}, MERGE)
        assert events.wait(2)[1] == ("MODIFIED", {"size": 2})
        assert {e["object"]["apiVersion"] for e in events.events} == {f"{api.group}/v2"}
    tried = api.call("POST", f"{two}?dryRun=All", api.widget("b", {"size": 3}, "v2")).body
    assert tried["spec"] == {"size": 3}, "nor does a dry run show what would not be stored"
    created = api.call("POST", two, api.widget("b", {"size": 3}, "v2")).body
    assert created["spec"] == {"size": 3}, "what the storage version does not know is lost on the way"
    assert [i["spec"] for i in api.call("GET", two).body["items"]] == [{"size": 2}, {"size": 3}]
    assert api.call("DELETE", f"{two}/b").status == 200
    wrong = api.call("POST", one, api.widget("c", {}, "v2"))
    assert (wrong.status, "does not match the expected API version" in wrong.body["message"]) == (400, True)


def test_a_dry_run_shows_no_status_that_the_storage_version_does_not_know(api: Any, kit: Any) -> None:
    spec = kit.obj(size={"type": "integer"})
    old = kit.version("v1", spec)
    new = kit.version("v2", spec, storage=False)
    new["subresources"] = {"status": {}}
    new["schema"]["openAPIV3Schema"]["properties"]["status"] = kit.obj(ok={"type": "boolean"})
    old["schema"]["openAPIV3Schema"]["properties"].pop("status", None)
    api.install(old, new)
    two = api.path("v2")
    assert api.call("POST", two, api.widget("a", {"size": 1}, "v2")).status == 201
    for query in ("?dryRun=All", ""):
        found = api.call("PATCH", f"{two}/a/status{query}", {"status": {"ok": True}}, MERGE)
        assert (found.status, found.body.get("status")) == (200, None)


def test_a_write_that_changes_nothing_writes_nothing_where_the_storage_version_has_defaults_of_its_own(
    api: Any, kit: Any
) -> None:
    old = kit.obj(size={"type": "integer"})
    new = kit.obj(size={"type": "integer"}, level={"type": "string", "default": "Low"})
    one = api.install(kit.version("v1", old, storage=False), kit.version("v2", new))
    made = api.call("POST", one, api.widget("a", {"size": 1})).body
    same = api.call("PATCH", f"{one}/a", {"spec": {"size": 1}}, MERGE).body
    assert same["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    tried = api.call("PATCH", f"{one}/a?dryRun=All", {"spec": {"size": 2}}, MERGE).body
    assert (tried["spec"], tried["metadata"]["resourceVersion"]) == ({"size": 2}, made["metadata"]["resourceVersion"])
    changed = api.call("PATCH", f"{one}/a", {"spec": {"size": 2}}, MERGE).body
    assert changed["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]


def test_the_storage_version_can_change_and_old_objects_still_read(api: Any, kit: Any) -> None:
    spec = kit.obj(size={"type": "integer"})
    one = api.install(kit.version("v1", spec), kit.version("v2", spec, storage=False))
    api.call("POST", one, api.widget("a", {"size": 1}))
    versions = [kit.version("v1", spec, storage=False), kit.version("v2", spec)]
    name = f"{DEFINITIONS}/widgets.{api.group}"
    assert api.call("PATCH", name, {"spec": {"versions": versions}}, MERGE).status == 200
    stored = api.call("GET", name).body["status"]["storedVersions"]
    assert stored == ["v1", "v2"]
    for version in ("v1", "v2"):
        eventually(lambda v=version: api.call("GET", f"{api.path(v)}/a").body.get("spec") == {"size": 1})
    before = api.call("GET", f"{api.path('v2')}/a").body["metadata"]["resourceVersion"]
    rewritten = api.call("PUT", f"{api.path('v2')}/a", api.call("GET", f"{api.path('v2')}/a").body)
    assert rewritten.body["metadata"]["resourceVersion"] != before, "a rewrite brings it to the storage version"


def test_a_webhook_converts_what_is_read_written_listed_and_watched(api: Any, kit: Any, hook: Hook) -> None:
    one = api.install(*two_versions(kit), conversion=hook.conversion())
    two = api.path("v2")
    api.call("POST", one, api.widget("a", {"name": "Ada Lovelace"}))
    assert not hook.requests, "the storage version needs no conversion"
    assert api.call("GET", f"{two}/a").body["spec"] == {"first": "Ada", "last": "Lovelace"}
    assert set(hook.requests[0]) == {"uid", "desiredAPIVersion", "objects"}
    assert api.call("POST", two, api.widget("b", {"first": "Alan", "last": "Turing"}, "v2")).status == 201
    assert [i["spec"]["name"] for i in api.call("GET", one).body["items"]] == ["Ada Lovelace", "Alan Turing"]
    hook.requests.clear()
    assert [i["spec"]["first"] for i in api.call("GET", two).body["items"]] == ["Ada", "Alan"]
    assert not hook.requests, "what was converted before is kept for lists"
    api.call("PATCH", f"{one}/a", {"spec": {"name": "Ada King"}}, MERGE)
    api.call("PATCH", f"{one}/b", {"spec": {"name": "Alan M"}}, MERGE)
    assert [i["spec"]["last"] for i in api.call("GET", two).body["items"]] == ["King", "M"]
    hook.requests.clear()
    for name in ("a", "b"):  # read by name, which always asks
        api.call("GET", f"{two}/{name}")
    assert {len(r["objects"]) for r in hook.requests} == {1}, "each object is sent in a request of its own"
    sent = {field for r in hook.requests for field in r["objects"][0]["metadata"]}
    assert "uid" in sent
    assert "resourceVersion" not in sent
    assert hook.reviews[-1]["response"] == {"uid": "", "convertedObjects": None, "result": {"metadata": {}}}
    with api.watch(two) as events:
        events.wait(2)
        patched = api.call("PATCH", f"{two}/a", {"spec": {"last": "Byron"}}, MERGE).body
        assert (patched["spec"], patched["metadata"]["generation"]) == ({"first": "Ada", "last": "Byron"}, 3)
        assert events.wait(3)[2] == ("MODIFIED", {"first": "Ada", "last": "Byron"})
        api.call("DELETE", f"{two}/a")
        assert events.wait(4)[3][0] == "DELETED"


def test_a_webhook_is_asked_once_for_all_who_list_and_watch(api: Any, kit: Any, hook: Hook) -> None:
    one = api.install(*two_versions(kit), conversion=hook.conversion())
    two = api.path("v2")
    for number in range(20):
        api.call("POST", one, api.widget(f"w{number}", {"name": "Ada Lovelace"}))
    waits = threading.Event()

    def slowly(request: dict[str, Any]) -> Any:
        waits.wait(0.1)
        return convert(request)

    hook.answer = slowly
    with ThreadPoolExecutor(8) as readers, ExitStack() as watches:
        lists = [readers.submit(api.call, "GET", two) for _ in range(8)]
        assert {len(answer.result().body["items"]) for answer in lists} == {20}
        assert len(hook.requests) == 20
        events = [watches.enter_context(api.watch(two)) for _ in range(8)]
        for each in events:
            each.wait(20)
        hook.requests.clear()
        api.call("PATCH", f"{one}/w3", {"spec": {"name": "Ada King"}}, MERGE)
        assert {repr(each.wait(21)[20]) for each in events} == {repr(("MODIFIED", {"first": "Ada", "last": "King"}))}
        assert len(hook.requests) == 1


class HeldConverter:
    """Answers when it is let."""

    is_local = False

    def __init__(self) -> None:
        self.asked = 0
        self.answers: asyncio.Queue[Exception | None] = asyncio.Queue()

    def convert_nowait(self, obj: dict[str, Any], to: GroupVersion) -> dict[str, Any]:
        raise RuntimeError

    async def convert(self, obj: dict[str, Any], to: GroupVersion) -> dict[str, Any]:
        self.asked += 1
        error = await self.answers.get()
        if error is not None:
            raise error
        return {**obj, "apiVersion": str(to)}

    def close(self) -> None:
        pass


def held() -> tuple[HeldConverter, VersionedStorage, StoredObject]:
    """A storage of v2 objects that are stored as v1, and one of those."""
    names = {"plural": "widgets", "kind": "Widget"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [{"name": name, "served": True, "storage": name == "v1", "schema": schema} for name in ("v1", "v2")]
    spec = {"group": "g", "names": names, "scope": "Cluster", "versions": versions}
    defined = read_defined({"metadata": {"name": "widgets.g"}, "spec": spec})
    old, new = (compile_version(defined, version, Hooks()) for version in defined.versions)
    codec, converter = JsonCodec(defined.gvk("v1")), HeldConverter()
    storage = VersionedStorage(
        Store(MemoryKV(), codec, "/widgets"),
        stored=old,
        shown=new,
        converter=converter,
        selectable_fields=None,
        same_fields=False,
    )
    return converter, storage, codec.wrap("/widgets/a", codec.body({"metadata": {"name": "a"}}), 7)


def test_who_waits_for_a_conversion_asks_when_whoever_asked_goes_away() -> None:
    async def run() -> None:
        converter, storage, stored = held()
        first, second = (asyncio.create_task(storage.show([stored])) for _ in range(2))
        while not converter.asked:
            await asyncio.sleep(0)
        first.cancel()
        converter.answers.put_nowait(None)
        (shown,) = await second
        assert first.cancelled()
        assert shown.data()["apiVersion"] == "g/v2"
        assert await storage.show([stored]) == [shown]
        assert converter.asked == 2

    asyncio.run(run())


def test_a_conversion_that_fails_fails_for_all_who_wait_for_it_and_is_tried_again() -> None:
    async def run() -> None:
        converter, storage, stored = held()
        waiting = asyncio.gather(*(storage.show([stored]) for _ in range(3)), return_exceptions=True)
        while not converter.asked:
            await asyncio.sleep(0)
        converter.answers.put_nowait(bad_request("no"))
        found = await waiting
        assert [str(each) for each in found] == ["no"] * 3
        assert converter.asked == 1
        converter.answers.put_nowait(None)
        (shown,) = await storage.show([stored])
        assert shown.resource_version == 7

    asyncio.run(run())


def owners(answer: Any) -> dict[str, Any]:
    """By manager and version: the fields."""
    record = answer.body["metadata"]["managedFields"]
    return {f"{e['manager']} {e['apiVersion'].rpartition('/')[2]}": e["fieldsV1"] for e in record}


def test_owners_at_one_version_are_known_at_the_other_by_what_the_webhook_makes(api: Any, kit: Any, hook: Hook) -> None:
    one = api.install(*two_versions(kit), conversion=hook.conversion())
    two = api.path("v2")
    api.call("POST", f"{one}?fieldManager=maker", api.widget("a", {"name": "Ada Lovelace"}))
    patched = api.call("PATCH", f"{two}/a?fieldManager=editor", {"spec": {"last": "Byron"}}, MERGE)
    assert owners(patched) == {"maker v1": {"f:spec": {}}, "editor v2": {"f:spec": {"f:last": {}}}}
    body = patched.body | {"spec": {"first": "Alan", "last": "Byron"}}
    replaced = api.call("PUT", f"{two}/a?fieldManager=editor", body)
    assert owners(replaced)["editor v2"] == {"f:spec": {"f:first": {}, "f:last": {}}}


def test_what_is_applied_at_one_version_conflicts_at_the_other(api: Any, kit: Any, hook: Hook) -> None:
    one = api.install(*two_versions(kit), conversion=hook.conversion())
    two = api.path("v2")

    def apply(path: str, version: str, spec: dict[str, Any], manager: str) -> Any:
        return api.call("PATCH", f"{path}/a?fieldManager={manager}", api.widget("a", spec, version), APPLY)

    assert apply(two, "v2", {"first": "Ada", "last": "Byron"}, "x").status == 201
    refused = apply(one, "v1", {"name": "Alan Turing"}, "y")
    assert refused.status == 409
    assert [cause["field"] for cause in refused.body["details"]["causes"]] == [".spec.first", ".spec.last"]
    agreed = apply(one, "v1", {"name": "Ada Byron"}, "y")
    assert owners(agreed) == {
        "x v2": {"f:spec": {"f:first": {}, "f:last": {}}},
        "y v1": {"f:spec": {"f:name": {}}},
    }


def test_labels_are_the_webhooks_to_change_and_other_metadata_is_not(api: Any, kit: Any, hook: Hook) -> None:
    one = api.install(*two_versions(kit), conversion=hook.conversion())
    created = api.call("POST", one, api.widget("a", {"name": "A B"})).body

    def relabel(request: dict[str, Any]) -> Any:
        response = convert(request)
        for item in response["convertedObjects"]:
            item["metadata"] = {**item["metadata"], "labels": {"x": "y"}, "generation": 99}
        return response

    hook.answer = relabel
    meta = api.call("GET", f"{api.path('v2')}/a").body["metadata"]
    assert (meta["labels"], meta["generation"], meta["uid"]) == ({"x": "y"}, 1, created["metadata"]["uid"])


def with_change(request: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """Converted, and otherwise."""
    response = convert(request)
    for item in response["convertedObjects"]:
        item.update(changed)
    return response


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 500),
        ("?resourceVersion=0", 429),
        ("?resourceVersion=1&resourceVersionMatch=NotOlderThan", 429),
        ("?resourceVersion=0&limit=1", 500),
        ("?resourceVersion=0&limit=1&labelSelector=!x", 429),
        ("?resourceVersion={now}&resourceVersionMatch=Exact", 500),
    ],
)
def test_who_could_do_with_an_earlier_list_is_told_to_come_back_when_objects_can_be_converted(
    api: Any, kit: Any, hook: Hook, query: str, status: int
) -> None:
    one = api.install(*two_versions(kit), conversion=hook.conversion())
    # Before there is anything that the garbage collector's watch could have converted, which would be remembered.
    hook.answer = lambda r: {**convert(r), "result": {"status": "Failure", "message": "cannot"}}
    api.call("POST", one, api.widget("a", {"name": "A B"}))
    now = api.call("GET", one).body["metadata"]["resourceVersion"]
    refused = api.call("GET", f"{api.path('v2')}{query.format(now=now)}")
    why = f"conversion webhook for {api.group}/v1, Kind=Widget failed: cannot"
    assert refused.status == status
    if status == 500:
        assert refused.body["message"] == why
    else:
        gvk = f"{api.group}/v2, Kind=Widget"
        assert refused.body["message"] == f"storage is (re)initializing: failed to list {gvk}: {why}"
        assert (refused.body["reason"], refused.body["details"]) == ("TooManyRequests", {"retryAfterSeconds": 1})


def test_who_would_watch_is_told_to_come_back_when_objects_can_be_converted(api: Any, kit: Any, hook: Hook) -> None:
    one = api.install(*two_versions(kit), conversion=hook.conversion())
    hook.answer = lambda r: {**convert(r), "result": {"status": "Failure", "message": "cannot"}}
    api.call("POST", one, api.widget("a", {"name": "A B"}))
    now = api.call("GET", one).body["metadata"]["resourceVersion"]
    why = (
        f"failed to list {api.group}/v2, Kind=Widget: conversion webhook for {api.group}/v1, Kind=Widget failed: cannot"
    )
    for query in ("?watch=1", f"?watch=1&resourceVersion={now}"):
        refused = api.call("GET", f"{api.path('v2')}{query}&timeoutSeconds=1")
        assert (refused.status, refused.body["reason"]) == (429, "TooManyRequests")
        assert refused.body["message"] == f"storage is (re)initializing: {why}"
    assert api.call("GET", f"{one}?watch=1&timeoutSeconds=1").status == 200, "nothing has to be converted"


def with_metadata(request: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """Converted, and with other metadata."""
    metadata = request["objects"][0]["metadata"]
    return with_change(request, metadata={**metadata, **changed})


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda r: {**convert(r), "uid": "other"}, 'expected response.uid="'),
        (lambda r: {**convert(r), "result": {"status": "Failure", "message": "cannot"}}, "failed: cannot"),
        (lambda r: {**convert(r), "result": {}}, "response.result.status was '', not 'Success'"),
        (lambda r: {**convert(r), "convertedObjects": []}, "returned 0 objects, expected 1"),
        (
            lambda r: {**convert(r), "convertedObjects": r["objects"]},
            "invalid object at index 0: invalid groupVersion (expe",
        ),
        (lambda r: with_change(r, apiVersion=5), "invalid groupVersion (expected {group}/v2, received )"),
        (lambda r: with_change(r, apiVersion=None), "invalid groupVersion (expected {group}/v2, received )"),
        (lambda r: with_metadata(r, name="b"), "returned invalid object: must have the same name: a != b"),
        (lambda r: with_metadata(r, name=5), "returned invalid object: must have the same name: a != "),
        (lambda r: with_metadata(r, labels={"x": 1}), "invalid metadata: metadata.labels[x] must be a string, but is"),
        (lambda r: 500, "an error on the server"),
        (lambda r: 404, "the server could not find the requested resource"),
    ],
)
def test_what_a_webhook_does_wrong_is_told(api: Any, kit: Any, hook: Hook, answer: Any, words: str) -> None:
    one = api.install(*two_versions(kit), conversion=hook.conversion())
    api.call("POST", one, api.widget("a", {"name": "A B"}))
    hook.answer = answer
    refused = api.call("GET", f"{api.path('v2')}/a")
    assert refused.status == 500
    assert refused.body["message"].startswith(f"conversion webhook for {api.group}/v1, Kind=Widget ")
    assert words.replace("{group}", api.group) in refused.body["message"]
    assert api.call("GET", f"{one}/a").status == 200


@pytest.mark.parametrize(
    ("converted", "message"),
    [
        (None, "unexpected end of JSON input"),
        ("x", "json: cannot unmarshal string into Go value of type map[string]interface {}"),
        ({}, "Object 'Kind' is missing in '{}'"),
        ({"apiVersion": "a/b/c", "kind": "K"}, """Object 'Kind' is missing in '{"apiVersion":"a/b/c","kind":"K"}'"""),
    ],
)
def test_what_is_no_object_is_told_as_it_is_read(api: Any, kit: Any, hook: Hook, converted: Any, message: str) -> None:
    one = api.install(*two_versions(kit), conversion=hook.conversion())
    api.call("POST", one, api.widget("a", {"name": "A B"}))
    hook.answer = lambda request: {**convert(request), "convertedObjects": [converted]}
    refused = api.call("GET", f"{api.path('v2')}/a")
    assert (refused.status, refused.body["message"]) == (500, message)


def test_a_dry_run_asks_the_webhook_as_a_write_would(api: Any, kit: Any, hook: Hook) -> None:
    api.install(*two_versions(kit), conversion=hook.conversion())
    hook.answer = lambda request: {**convert(request), "result": {"status": "Failure", "message": "cannot"}}
    refused = api.call("POST", f"{api.path('v2')}?dryRun=All", api.widget("b", {"first": "A", "last": "B"}, "v2"))
    assert (refused.status, refused.body["message"].endswith("failed: cannot")) == (500, True)


def test_a_dry_run_of_a_change_tells_the_version_that_was_read(api: Any, kit: Any, hook: Hook) -> None:
    one = api.install(*two_versions(kit), conversion=hook.conversion())
    version = api.call("POST", one, api.widget("a", {"name": "A B"})).body["metadata"]["resourceVersion"]
    for path in (one, api.path("v2")):
        shown = api.call("PATCH", f"{path}/a?dryRun=All", {"metadata": {"labels": {"a": "b"}}}, MERGE)
        assert (shown.status, shown.body["metadata"]["resourceVersion"]) == (200, version)


def test_whole_floats_from_a_webhook_are_shown_as_integers(api: Any, kit: Any, hook: Hook) -> None:
    one = api.install(*two_versions(kit), conversion=hook.conversion())
    api.call("POST", one, api.widget("a", {"name": "A B"}))
    hook.answer = lambda request: with_change(request, status={"n": [1.0, 1e3, 2.5, 12345678901234567890]})
    for path in (f"{api.path('v2')}/a", api.path("v2")):
        assert '"n":[1,1000,2.5,12345678901234567000]' in api.call("GET", path).text.replace("567168", "567000")


def test_a_list_shows_what_was_converted_before_and_tells_of_the_first_that_cannot_be(
    api: Any, kit: Any, hook: Hook
) -> None:
    one = api.install(*two_versions(kit), conversion=hook.conversion())
    two = api.path("v2")
    for name in ("a", "b", "c"):
        api.call("POST", one, api.widget(name, {"name": f"{name} X"}))
    assert len(api.call("GET", two).body["items"]) == 3

    def pick(request: dict[str, Any]) -> dict[str, Any]:
        name = request["objects"][0]["metadata"]["name"]
        if name == "a":
            return convert(request)
        return {**convert(request), "result": {"status": "Failure", "message": f"not {name}"}}

    hook.answer = pick
    assert [i["spec"]["last"] for i in api.call("GET", two).body["items"]] == ["X", "X", "X"]
    assert api.call("GET", f"{two}/b").status == 500
    for name in ("a", "b", "c"):
        api.call("PATCH", f"{one}/{name}", {"spec": {"name": f"{name} Y"}}, MERGE)
    listed = api.call("GET", two)
    assert (listed.status, listed.body["message"].endswith("failed: not b")) == (500, True)


def test_little_of_what_was_converted_is_kept_however_small_it_is() -> None:
    kept = KeptObjects(limit=2000)
    codec = JsonCodec(GroupVersionKind("g", "v1", "Widget"))
    for number in range(4):
        kept.put(codec.wrap(f"/w/{number}", codec.body({"metadata": {"name": "n" * 10}}), number + 1))
    held = [number for number in range(4) if kept.get(codec.wrap(f"/w/{number}", b'"metadata":{}}', number + 1))]
    assert held == [2, 3]
    assert kept.get(codec.wrap("/w/3", b'"metadata":{}}', 9)) is None, "another state"


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"url": "https://127.0.0.1:1/convert"}, "dial tcp 127.0.0.1:1: connect: connection refused"),
        ({"url": None, "service": {"name": "s", "namespace": "n"}}, 'service "s" not found'),
        ({"caBundle": None}, "x509: certificate signed by unknown authority"),
    ],
)
def test_a_webhook_that_cannot_be_reached_is_told_of(
    api: Any, kit: Any, hook: Hook, config: dict[str, Any], words: str
) -> None:
    one = api.install(*two_versions(kit), conversion=hook.conversion(**config))
    api.call("POST", one, api.widget("a", {"name": "A B"}))
    refused = api.call("GET", f"{api.path('v2')}/a")
    assert refused.status == 500
    assert words in refused.body["message"]


def test_objects_of_an_older_version_are_converted_by_the_webhook_after_the_storage_version_has_changed(
    api: Any, kit: Any, hook: Hook
) -> None:
    one = api.install(*two_versions(kit), conversion=hook.conversion())
    api.call("POST", one, api.widget("a", {"name": "Ada Lovelace"}))
    old, new = two_versions(kit)
    versions = [{**old, "storage": False}, {**new, "storage": True}]
    api.call("PATCH", f"{DEFINITIONS}/widgets.{api.group}", {"spec": {"versions": versions}}, MERGE)
    two = api.path("v2")
    eventually(lambda: api.call("POST", two, api.widget("b", {"first": "A", "last": "B"}, "v2")).status == 201)
    assert [i["spec"] for i in api.call("GET", two).body["items"]] == [
        {"first": "Ada", "last": "Lovelace"},
        {"first": "A", "last": "B"},
    ]
    assert api.call("GET", f"{one}/a").body["spec"] == {"name": "Ada Lovelace"}
    assert api.call("GET", f"{one}/b").body["spec"] == {"name": "A B"}


def test_a_deprecated_version_warns(api: Any, kit: Any) -> None:
    api.install(
        kit.version("v1"),
        kit.version("v1beta1", storage=False, deprecated=True),
        kit.version("v1alpha1", storage=False, deprecated=True, deprecationWarning="moved on"),
    )
    words = f'299 - "{api.group}/v1beta1 Widget is deprecated; use {api.group}/v1 Widget"'
    assert api.call("GET", api.path("v1beta1")).warnings == [words]
    assert api.call("GET", api.path("v1alpha1")).warnings == ['299 - "moved on"']
    assert api.call("GET", api.path("v1")).warnings == []


def test_objects_at_a_version_that_has_gone_cannot_be_read_until_it_is_back(api: Any, kit: Any) -> None:
    old, new = kit.version("v1"), kit.version("v2", storage=False)
    api.install(old, new)
    definition = f"{DEFINITIONS}/widgets.{api.group}"

    def set_versions(*versions: Any) -> None:
        assert api.call("PATCH", definition, {"spec": {"versions": list(versions)}}, MERGE).status == 200

    api.call("POST", api.path("v1"), api.widget("old", {"n": 1}))
    old, new = {**old, "storage": False}, {**new, "storage": True}
    set_versions(old, new)
    eventually(lambda: api.call("GET", definition).body["status"]["storedVersions"] == ["v1", "v2"])
    api.call("PATCH", f"{definition}/status", {"status": {"storedVersions": ["v2"]}}, MERGE)
    set_versions(new)
    eventually(lambda: api.call("GET", api.path("v1")).status == 404)
    text = f"request to convert CR from an invalid group/version: {api.group}/v1"
    for method, path in (("GET", "/old"), ("GET", ""), ("DELETE", "/old"), ("DELETE", "")):
        answer = api.call(method, api.path("v2") + path)
        assert (answer.status, answer.body["message"], answer.body.get("reason")) == (500, text, None)
    assert api.call("POST", api.path("v2"), api.widget("new", {"n": 2}, "v2")).status == 201
    assert api.call("GET", f"{api.path('v2')}/new").body["spec"] == {"n": 2}
    set_versions(old, new)
    eventually(lambda: api.call("GET", api.path("v1")).status == 200)
    assert api.call("GET", f"{api.path('v2')}/old").body["spec"] == {"n": 1}

"""Whose defaults a custom resource has that was sent or stored at another version than the storage version."""

from __future__ import annotations

from typing import Any

import orjson
from tests.waiting import eventually

from watchkeeper.apiextensions.serving.codec import CustomCodec
from watchkeeper.apiextensions.serving.version import CompiledVersion
from watchkeeper.meta.gvk import GroupVersionKind

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE = "application/merge-patch+json"
STORED = {"apiVersion": "example.io/v2", "kind": "Widget", "metadata": {"name": "a", "generation": 1}, "spec": {}}


def defaulting(name: str) -> dict[str, Any]:
    fields = {field: {"type": "boolean"} for field in ("v1", "v2")}
    fields[name] = {"type": "boolean", "default": True}  # type: ignore[dict-item]
    return {"type": "object", "properties": {"spec": {"type": "object", "default": {}, "properties": fields}}}


def codec() -> CustomCodec:
    kinds = {name: GroupVersionKind("example.io", name, "Widget") for name in ("v1", "v2")}
    versions = {name: CompiledVersion(gvk, orjson.dumps(defaulting(name))) for name, gvk in kinds.items()}
    return CustomCodec(kinds["v2"], versions)


def test_the_order_of_what_is_stored_does_not_matter() -> None:
    for value in (orjson.dumps(STORED), orjson.dumps(dict(reversed(STORED.items())))):
        read = codec().stored("/a", value, 7).data()
        assert read == {
            **STORED,
            "metadata": {"name": "a", "generation": 1, "resourceVersion": "7"},
            "spec": {"v2": True},
        }


def test_an_object_of_an_older_version_has_the_defaults_of_that_one() -> None:
    old = {**STORED, "apiVersion": "example.io/v1"}
    read = codec().stored("/a", orjson.dumps(old), 7).data()
    assert (read["apiVersion"], read["spec"]) == ("example.io/v1", {"v1": True})


def test_what_is_written_is_shown_as_it_will_be_read() -> None:
    found = codec()
    body = found.body(STORED)
    shown, attributes = found.shown(STORED, body)
    assert b'"v2"' not in body
    assert found.wrap("/a", shown, 7).data() == found.stored("/a", found.head + body, 7).data()
    assert attributes.fields["metadata.name"] == "a"


def test_the_defaults_of_the_storage_version_are_not_stored_with_what_was_sent_at_another(api: Any, kit: Any) -> None:
    def versions(storage_default: bool) -> list[dict[str, Any]]:
        one, two = kit.version("v1", storage=False), kit.version("v2")
        one["schema"] = {"openAPIV3Schema": defaulting("v1")}
        two["schema"] = {"openAPIV3Schema": defaulting("v2" if storage_default else "v1")}
        return [one, two]

    api.install(*versions(storage_default=True))
    path = api.path("v1")
    made = api.call("POST", path, api.widget("a", {}, "v1"))
    assert (made.status, made.body["spec"]) == (201, {"v1": True, "v2": True})
    for version in ("v1", "v2"):
        assert api.call("GET", f"{api.path(version)}/a").body["spec"] == {"v1": True, "v2": True}
        assert [i["spec"] for i in api.call("GET", api.path(version)).body["items"]] == [{"v1": True, "v2": True}]
    tried = api.call("POST", f"{path}?dryRun=All", api.widget("b", {}, "v1"))
    assert tried.body["spec"] == {"v1": True, "v2": True}
    definition = f"{DEFINITIONS}/widgets.{api.group}"
    assert api.call("PATCH", definition, {"spec": {"versions": versions(storage_default=False)}}, MERGE).status == 200
    eventually(lambda: api.call("GET", f"{path}/a").body["spec"] == {"v1": True})


def test_a_resource_within_that_has_something_else_for_metadata_is_told_at_each_version(api: Any, kit: Any) -> None:
    def versions(**changed: bool) -> list[dict[str, Any]]:
        both = [kit.version("v1", storage=False), kit.version("v2")]
        for version in both:
            spec = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, **changed}
            version["schema"] = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
        return both

    api.install(*versions())
    assert api.call("POST", api.path("v2"), api.widget("a", {"metadata": [1]}, "v2")).status == 201
    definition = f"{DEFINITIONS}/widgets.{api.group}"
    embedded = {"spec": {"versions": versions(**{"x-kubernetes-embedded-resource": True})}}
    assert api.call("PATCH", definition, embedded, MERGE).status == 200
    eventually(lambda: api.call("GET", f"{api.path('v2')}/a").status == 500)
    why = "spec.metadata: Invalid value: [1]: json: cannot unmarshal array into Go value of type v1.ObjectMeta"
    for version in ("v1", "v2"):
        found = api.call("GET", f"{api.path(version)}/a").body
        assert (found["message"], found["code"], found.get("reason")) == (why, 500, None)


def test_what_only_an_older_version_knows_is_shown_there_until_the_object_is_written(api: Any, kit: Any) -> None:
    def versions(storage: str) -> list[dict[str, Any]]:
        old, new = kit.obj(size={"type": "integer"}, gone={"type": "string"}), kit.obj(size={"type": "integer"})
        return [kit.version("v1", old, storage=storage == "v1"), kit.version("v2", new, storage=storage == "v2")]

    one = api.install(*versions("v1"))
    two, spec = api.path("v2"), {"size": 1, "gone": "x"}
    made = api.call("POST", one, api.widget("a", spec)).body
    definition = f"{DEFINITIONS}/widgets.{api.group}"
    assert api.call("PATCH", definition, {"spec": {"versions": versions("v2")}}, MERGE).status == 200
    eventually(lambda: api.call("GET", definition).body["status"]["storedVersions"] == ["v1", "v2"])
    eventually(lambda: api.call("POST", f"{two}?dryRun=All", api.widget("b", spec, "v2")).body["spec"] == {"size": 1})
    assert api.call("GET", f"{one}/a").body["spec"] == spec
    assert [item["spec"] for item in api.call("GET", one).body["items"]] == [spec]
    found = api.call("GET", f"{two}/a").body
    assert (found["apiVersion"], found["spec"]) == (f"{api.group}/v2", {"size": 1})
    assert [item["spec"] for item in api.call("GET", two).body["items"]] == [{"size": 1}]
    written = api.call("PATCH", f"{one}/a", {"spec": {"size": 1}}, MERGE).body
    assert written["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]
    assert written["spec"] == {"size": 1}

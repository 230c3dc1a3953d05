"""Whose defaults a custom resource has that was sent or stored at another version than the storage version."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from watchkeeper.apiextensions.conversion.none import NoneConverter
from watchkeeper.apiextensions.serving.codec import CustomCodec
from watchkeeper.apiextensions.serving.version import CompiledVersion
from watchkeeper.meta.gvk import GroupVersionKind

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE = "application/merge-patch+json"
STORED = {"apiVersion": "example.io/v2", "kind": "Widget", "metadata": {"name": "a", "generation": 1}, "spec": {}}


class Elsewhere:
    """A converter that somebody else has to be asked for."""

    is_local = False

    def convert_nowait(self, objects: Any, to: Any) -> Any:
        raise RuntimeError("a webhook takes time")


def defaulting(name: str) -> dict[str, Any]:
    fields = {field: {"type": "boolean"} for field in ("v1", "v2")}
    fields[name] = {"type": "boolean", "default": True}  # type: ignore[dict-item]
    return {"type": "object", "properties": {"spec": {"type": "object", "default": {}, "properties": fields}}}


def codec(converter: Any) -> CustomCodec:
    kinds = {name: GroupVersionKind("example.io", name, "Widget") for name in ("v1", "v2")}
    versions = {name: CompiledVersion(gvk, orjson.dumps(defaulting(name))) for name, gvk in kinds.items()}
    return CustomCodec(kinds["v2"], versions, converter)


@pytest.mark.parametrize("converter", [NoneConverter(), Elsewhere()])
def test_the_order_of_what_is_stored_does_not_matter(converter: Any) -> None:
    for value in (orjson.dumps(STORED), orjson.dumps(dict(reversed(STORED.items())))):
        read = codec(converter).stored("/a", value, 7).data()
        assert read == {
            **STORED,
            "metadata": {"name": "a", "generation": 1, "resourceVersion": "7"},
            "spec": {"v2": True},
        }


@pytest.mark.parametrize(("converter", "version"), [(NoneConverter(), "v2"), (Elsewhere(), "v1")])
def test_an_object_of_an_older_version_has_the_defaults_of_that_one(converter: Any, version: str) -> None:
    old = {**STORED, "apiVersion": "example.io/v1"}
    read = codec(converter).stored("/a", orjson.dumps(old), 7).data()
    assert (read["apiVersion"], read["spec"]) == (f"example.io/{version}", {"v1": True})


def test_what_is_written_is_shown_as_it_will_be_read() -> None:
    found = codec(NoneConverter())
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
    kit.eventually(lambda: api.call("GET", f"{path}/a").body["spec"] == {"v1": True})


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
    kit.eventually(lambda: api.call("GET", f"{api.path('v2')}/a").status == 500)
    why = "spec.metadata: Invalid value: [1]: json: cannot unmarshal array into Go value of type v1.ObjectMeta"
    for version in ("v1", "v2"):
        found = api.call("GET", f"{api.path(version)}/a").body
        assert (found["message"], found["code"], found.get("reason")) == (why, 500, None)

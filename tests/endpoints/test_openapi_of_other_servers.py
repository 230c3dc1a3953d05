"""What other API servers' documents add to that of v2."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from watchkeeper.endpoints.openapi.parts import V2
from watchkeeper.endpoints.openapi.remote_v2 import RemoteSpecs, version_spec
from watchkeeper.meta.gvk import GroupVersion

FAR, NEAR = GroupVersion("far.io", "v1"), GroupVersion("near.io", "v1")


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/definitions/{name}"}


def path(name: str) -> dict[str, Any]:
    return {"get": {"responses": {"200": {"schema": ref(name)}}}}


def spec(at: GroupVersion, **definitions: Any) -> bytes:
    paths = {f"/apis/{at}/{name.lower()}s": path(name) for name in definitions}
    return orjson.dumps({"paths": paths, "definitions": definitions})


def merged(specs: RemoteSpecs) -> tuple[dict[str, Any], dict[str, Any]]:
    paths: dict[str, Any] = {}
    definitions: dict[str, Any] = {}
    for part in specs.parts(()):
        fragment = part.make(V2)
        paths |= orjson.loads(b"{%b}" % fragment.paths)
        definitions |= orjson.loads(b"{%b}" % fragment.definitions)
    return paths, definitions


def test_only_the_version_and_what_it_uses_are_taken() -> None:
    document = {
        "paths": {
            "/apis/far.io/v1/lamps": path("Lamp"),
            "/apis/far.io/v10/lamps": path("Other"),
            "/version": path("Other"),
        },
        "definitions": {"Lamp": {"properties": {"bulb": ref("Bulb")}}, "Bulb": {}, "Other": {}, "Unused": {}},
    }
    found = orjson.loads(version_spec(orjson.dumps(document), FAR))
    assert list(found["paths"]) == ["/apis/far.io/v1/lamps"]
    assert set(found["definitions"]) == {"Lamp", "Bulb", "Unused"}


def test_parameters_that_stand_elsewhere_are_spelled_out() -> None:
    pretty = {"name": "pretty", "in": "query"}
    asks = {
        "parameters": [{"$ref": "#/parameters/pretty-x"}],
        "get": {"parameters": [{"$ref": "#/parameters/pretty-x"}]},
    }
    document = {"paths": {"/apis/far.io/v1/lamps": asks}, "parameters": {"pretty-x": pretty}}
    [found] = orjson.loads(version_spec(orjson.dumps(document), FAR))["paths"].values()
    assert found == {"parameters": [pretty], "get": {"parameters": [pretty]}}


@pytest.mark.parametrize("text", [b"[]", b"1", b'{"paths":[1]}', b"{"])
def test_what_is_no_document_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"document|unexpected|column"):
        version_spec(text, FAR)


def test_definitions_that_are_the_same_but_for_their_kinds_are_told_once() -> None:
    mine = {"type": "object", "x-kubernetes-group-version-kind": [{"group": "", "kind": "Time", "version": "v1"}]}
    specs = RemoteSpecs({"Time": mine}.get, lambda: ())
    specs.put(FAR, spec(FAR, Time={"type": "object"}, Lamp={}))
    specs.put(NEAR, spec(NEAR, Time={"type": "object"}, Lamp={}))
    paths, definitions = merged(specs)
    assert definitions == {"Lamp": {}}
    assert len(paths) == 4


def test_definitions_that_differ_get_names_of_their_own() -> None:
    specs = RemoteSpecs({"Time": {"type": "string"}}.get, lambda: {"Lamp"})
    specs.put(FAR, spec(FAR, Time={"type": "object"}, Lamp={"description": "far"}))
    specs.put(NEAR, spec(NEAR, Time={"type": "object"}, Lamp={"description": "near"}))
    paths, definitions = merged(specs)
    assert definitions == {
        "Time_v2": {"type": "object"},
        "Lamp_v2": {"description": "far"},
        "Lamp_v3": {"description": "near"},
    }
    assert paths["/apis/far.io/v1/times"] == paths["/apis/near.io/v1/times"] == path("Time_v2")
    assert paths["/apis/near.io/v1/lamps"] == path("Lamp_v3")


def test_what_is_served_here_is_told_of_as_it_is_here() -> None:
    specs = RemoteSpecs({}.get, lambda: ())
    assert specs.put(FAR, spec(FAR, Lamp={}))
    assert not specs.put(FAR, spec(FAR, Lamp={}))
    assert specs.parts({FAR}) == []
    assert specs.put(FAR, None)
    assert not specs.put(FAR, None)


def test_what_is_too_deep_to_be_written_or_defines_no_objects_is_no_document() -> None:
    deep = b'{"paths":{"/apis/far.io/v1/x":' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}}"
    for text in (deep, b'{"definitions":{"A":1}}'):
        with pytest.raises(ValueError, match=r"no O|no o"):
            version_spec(text, FAR)

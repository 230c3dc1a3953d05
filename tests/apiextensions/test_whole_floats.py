"""Whole floats in custom objects: floats to whoever judges a request, integers to whoever reads the object."""

from __future__ import annotations

from typing import Any

import httpx

MERGE = "application/merge-patch+json"
PATCH = "application/json-patch+json"
RULE = {"rule": "self < 10"}


def text_of(api: Any, method: str, path: str, body: str | None = None, content_type: str = "application/json") -> str:
    headers = {"Authorization": f"Bearer {api.handle.token}", "Content-Type": content_type}
    return httpx.request(method, api.handle.url + path, content=body, headers=headers).text


def body_of(api: Any, name: str, spec: str) -> str:
    head = f'"apiVersion":"{api.group}/v1","kind":"Widget","metadata":{{"name":"{name}"}}'
    return f'{{{head},"spec":{spec}}}'


def test_a_whole_float_is_stored_and_answered_as_an_integer(api: Any, kit: Any) -> None:
    spec = kit.obj(n={"type": "integer"}, free={"x-kubernetes-preserve-unknown-fields": True})
    path = api.install(kit.version(spec=spec))
    body = body_of(api, "a", '{"free":[3e9,1e20,2.5,"4.0"],"n":2.0}')
    stored = '"spec":{"free":[3000000000,100000000000000000000,2.5,"4.0"],"n":2}'
    assert stored in text_of(api, "POST", f"{path}?dryRun=All", body)
    assert stored in text_of(api, "POST", path, body)
    assert stored in text_of(api, "GET", f"{path}/a")


def test_metadata_may_have_whole_floats_too(api: Any, kit: Any) -> None:
    emb = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    path = api.install(kit.version(spec=kit.obj(emb=emb)))
    inner = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","generation":2.0}}'
    body = body_of(api, "a", f'{{"emb":{inner}}}').replace('"metadata":{', '"metadata":{"generation":3.0,', 1)
    assert '"metadata":{"generation":2,"name":"p"}' in text_of(api, "POST", path, body)
    refused = text_of(api, "POST", path, body.replace("3.0", "3.5"))
    assert "cannot unmarshal number 3.5 into Go struct field ObjectMeta.generation of type int64" in refused


def test_a_float_in_place_of_the_same_integer_is_a_new_generation(api: Any, kit: Any) -> None:
    path = api.install(kit.version(spec=kit.obj(n={"type": "number"})))
    assert api.call("POST", path, api.widget("a", {"n": 2})).body["metadata"]["generation"] == 1
    assert api.call("PATCH", f"{path}/a", {"spec": {"n": 2}}, MERGE).body["metadata"]["generation"] == 1
    found = api.call("PATCH", f"{path}/a", {"spec": {"n": 2.0}}, MERGE).body
    assert found["metadata"]["generation"] == 2
    assert found["spec"]["n"].__class__ is int
    assert api.call("PATCH", f"{path}/a", [{"op": "test", "path": "/spec/n", "value": 2.0}], PATCH).status == 422


def test_true_in_place_of_one_is_a_new_generation(api: Any, kit: Any) -> None:
    path = api.install(kit.version(spec=kit.obj(free={"x-kubernetes-preserve-unknown-fields": True})))
    assert api.call("POST", path, api.widget("a", {"free": [1, 0]})).body["metadata"]["generation"] == 1
    for free, generation in (([True, 0], 2), ([True, False], 3), ([True, False], 3)):
        found = api.call("PATCH", f"{path}/a", {"spec": {"free": free}}, MERGE).body
        assert (found["metadata"]["generation"], found["spec"]["free"]) == (generation, free)


def test_rules_do_not_take_a_float_for_an_integer(api: Any, kit: Any) -> None:
    either = {"x-kubernetes-int-or-string": True, "x-kubernetes-validations": [{"rule": "self != 'x'"}]}
    spec = kit.obj(
        n={"type": "integer", "x-kubernetes-validations": [RULE]},
        number={"type": "number", "x-kubernetes-validations": [{"rule": "self < 10.0"}]},
        either=either,
        list={
            "type": "array",
            "maxItems": 3,
            "items": {"type": "integer"},
            "x-kubernetes-validations": [{"rule": "self.all(n, n < 10)"}],
        },
        map={
            "type": "object",
            "maxProperties": 3,
            "additionalProperties": {"type": "integer"},
            "x-kubernetes-validations": [{"rule": "self.all(k, self[k] < 10)"}],
        },
    )
    spec["properties"]["outer"] = {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "m": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": "self.n < 10"}],
    }
    spec["properties"]["asked"] = {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "m": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": "has(self.n)"}],
    }
    path = api.install(kit.version(spec=spec))
    float_found = "invalid data, expected int, got float64 evaluating rule"
    for given, field, message in (
        ({"n": 2.0}, "spec.n", f"{float_found}: self < 10"),
        ({"list": [1, 2.0]}, "spec.list", f"{float_found}: self.all(n, n < 10)"),
        ({"map": {"a": 2.0}}, "spec.map", f"{float_found}: self.all(k, self[k] < 10)"),
        ({"outer": {"n": 2.0}}, "spec.outer", f"{float_found}: self.n < 10"),
        ({"asked": {"n": 2.0}}, "spec.asked", f"{float_found}: has(self.n)"),
        ({"either": 2.0}, "spec.either", "invalid data, expected XIntOrString value to be either a string or integer"),
    ):
        answer = api.call("POST", path, api.widget("a", given))
        assert answer.status == 422, answer
        (cause,) = answer.body["details"]["causes"]
        assert cause["field"] == field
        assert message in cause["message"]
    fine = {
        "n": 2,
        "number": 2.0,
        "list": [1, 2],
        "map": {"a": 1},
        "either": 2,
        "outer": {"n": 2, "m": 2.0},
        "asked": {"n": 2, "m": 2.0},
    }
    assert api.call("POST", path, api.widget("a", fine)).status == 201


def test_large_whole_numbers_are_no_integers_to_validation(api: Any, kit: Any) -> None:
    path = api.install(kit.version(spec=kit.obj(n={"type": "integer"}, step={"type": "number", "multipleOf": 0.5})))
    answer = api.call("POST", path, api.widget("a", {"n": 2.0**53}))
    assert answer.status == 422
    (cause,) = answer.body["details"]["causes"]
    assert cause["message"] == 'Invalid value: "number": spec.n in body must be of type integer: "number"'
    assert api.call("POST", path, api.widget("a", {"step": 2.0})).status == 201

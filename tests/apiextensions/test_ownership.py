"""Who owns which field of a custom resource: across versions, in scales, and when nobody is to own anything."""

from __future__ import annotations

import time
from typing import Any

MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
WHOLE, TEXT = {"type": "integer"}, {"type": "string"}


def owners(answer: Any) -> dict[str, Any]:
    assert answer.status in (200, 201), answer
    record = answer.body["metadata"].get("managedFields", [])
    return {
        " ".join(
            filter(None, [e["manager"], e["operation"], e["apiVersion"].rpartition("/")[2], e.get("subresource")])
        ): (e["fieldsV1"])
        for e in record
    }


def apply(api: Any, path: str, body: dict[str, Any], manager: str, **more: str) -> Any:
    query = "&".join(f"{k}={v}" for k, v in {"fieldManager": manager, **more}.items())
    return api.call("PATCH", f"{path}?{query}", body, APPLY)


def test_what_is_moved_to_where_less_is_known_is_lost_to_its_owner(api: Any, kit: Any) -> None:
    path = api.install(kit.version(spec=kit.obj(a=kit.obj(x=WHOLE, y=WHOLE), b=kit.obj(x=WHOLE))))
    apply(api, f"{path}/a", api.widget("a", {"a": {"x": 1, "y": 2}}), "one")
    move = [{"op": "move", "from": "/spec/a", "path": "/spec/b"}]
    moved = api.call("PATCH", f"{path}/a?fieldManager=editor", move, "application/json-patch+json")
    assert moved.body["spec"] == {"b": {"x": 1}}
    assert owners(moved) == {"editor Update v1": {"f:spec": {"f:b": {".": {}, "f:x": {}}}}}


def test_times_that_are_none_are_applied_as_if_they_were_not_there(api: Any, kit: Any) -> None:
    path = api.install(kit.version(spec=kit.obj(size=WHOLE)))
    wrong = api.widget("a", {"size": 1})
    wrong["metadata"] |= {"creationTimestamp": "x", "deletionTimestamp": "y"}
    other = apply(api, f"{path}/b", wrong, "one")
    assert other.body["message"] == "the name of the object (a) does not match the name on the URL (b)"
    for _ in range(2):
        answer = apply(api, f"{path}/a", wrong, "one")
        assert owners(answer) == {"one Apply v1": {"f:metadata": {"f:deletionTimestamp": {}}, "f:spec": {"f:size": {}}}}
        assert answer.body["metadata"]["creationTimestamp"].startswith("20")
        assert "deletionTimestamp" not in answer.body["metadata"]


def test_owners_at_one_version_keep_their_fields_when_others_write_at_another(api: Any, kit: Any) -> None:
    spec = kit.obj(size=WHOLE, note=TEXT)
    path = api.install(kit.version("v1", spec), kit.version("v2", spec, storage=False))
    apply(api, f"{path}/a", api.widget("a", {"size": 1, "note": "x"}), "one")
    second = api.path("v2")
    patched = api.call("PATCH", f"{second}/a?fieldManager=editor", {"spec": {"note": "y"}}, MERGE)
    assert owners(patched) == {
        "one Apply v1": {"f:spec": {"f:size": {}}},
        "editor Update v2": {"f:spec": {"f:note": {}}},
    }
    conflict = apply(api, f"{second}/a", api.widget("a", {"size": 2}, "v2"), "two")
    assert conflict.status == 409
    assert conflict.body["details"]["causes"][0]["message"] == 'conflict with "one"'
    moved = apply(api, f"{second}/a", api.widget("a", {}, "v2"), "one")
    assert moved.body["spec"] == {"note": "y"}
    assert owners(moved).keys() == {"one Apply v2", "editor Update v2"}


def test_a_status_written_at_another_version_takes_no_part_of_the_spec_from_its_owner(api: Any, kit: Any) -> None:
    status = {"status": {}}
    path = api.install(
        kit.version("v1", kit.obj(size=WHOLE), subresources=status),
        kit.version("v2", kit.obj(size=WHOLE), subresources=status, storage=False),
    )
    apply(api, f"{path}/a", api.widget("a", {"size": 1}), "one")
    sent = {"metadata": {"labels": {"a": "b"}}, "spec": {"size": 2}, "status": {"phase": "x"}}
    written = api.call("PATCH", f"{api.path('v2')}/a/status?fieldManager=two", sent, MERGE)
    assert written.body["spec"] == {"size": 1}
    assert owners(written) == {
        "one Apply v1": {"f:spec": {"f:size": {}}},
        "two Update v2 status": {"f:status": {".": {}, "f:phase": {}}},
    }


def test_a_scale_has_the_owners_of_the_replicas(api: Any, kit: Any) -> None:
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    version = kit.version("v1", kit.obj(size=WHOLE), subresources={"status": {}, "scale": scale})
    path = api.install(version)
    apply(api, f"{path}/a", api.widget("a", {"size": 1}), "one")
    body = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"replicas": 2},
    }
    refused = apply(api, f"{path}/a/scale", body, "scaler")
    assert refused.status == 409
    assert refused.body["message"] == 'Apply failed with 1 conflict: conflict with "one": .spec.replicas'
    changed = api.call("PATCH", f"{path}/a/scale?fieldManager=scaler", {"spec": {"replicas": 2}}, MERGE)
    assert changed.body["spec"] == {"replicas": 2}
    answer = api.call("GET", f"{path}/a")
    assert answer.body["spec"] == {"size": 2}
    assert owners(answer) == {"scaler Update v1 scale": {"f:spec": {"f:size": {}}}}
    assert apply(api, f"{path}/a/scale", body, "second").body["spec"] == {"replicas": 2}
    assert owners(api.call("GET", f"{path}/a")) == {
        "scaler Update v1 scale": {"f:spec": {"f:size": {}}},
        "second Apply v1 scale": {"f:spec": {"f:size": {}}},
    }


def test_a_scale_that_an_apply_changes_cannot_be_converted(api: Any, kit: Any) -> None:
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    path = api.install(kit.version("v1", kit.obj(size=WHOLE), subresources={"scale": scale}))
    apply(api, f"{path}/a", api.widget("a", {"size": 1}), "one")
    body = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 2}}
    refused = apply(api, f"{path}/a/scale", body, "scaler", force="true")
    assert (refused.status, refused.body["message"]) == (
        500,
        "failed to convert new object (/a; autoscaling/v1, Kind=Scale) to proper version: "
        "request to convert CR to an invalid group/version: autoscaling/v1",
    )
    assert api.call("GET", f"{path}/a").body["spec"] == {"size": 1}


def test_a_scale_whose_replicas_nobody_owns_cannot_be_applied(api: Any, kit: Any) -> None:
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    path = api.install(kit.version("v1", kit.obj(size=WHOLE), subresources={"scale": scale}))
    apply(api, f"{path}/a", api.widget("a", {}), "one")
    body = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 2}}
    refused = apply(api, f"{path}/a/scale", body, "scaler", force="true")
    assert (refused.status, refused.body["message"]) == (
        500,
        "failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, Kind=Scale) "
        "to proper version: request to convert CR to an invalid group/version: autoscaling/v1",
    )


def test_the_record_is_lost_where_what_is_not_written_does_not_fit(api: Any, kit: Any) -> None:
    version = kit.version("v1", kit.obj(size=WHOLE), subresources={"status": {}})
    version["schema"]["openAPIV3Schema"]["properties"]["status"] = kit.obj(size=WHOLE)
    path = api.install(version)
    made = api.call("POST", path, api.widget("b", {"size": 1}) | {"status": {"size": "x"}})
    assert (made.status, "managedFields" in made.body["metadata"]) == (201, False)
    assert owners(apply(api, f"{path}/a", api.widget("a", {"size": 1}), "one"))
    answer = api.call("PATCH", f"{path}/a/status", {"spec": {"size": 2}}, MERGE)
    assert owners(answer)
    answer = api.call("PATCH", f"{path}/a/status", {"spec": {"size": []}}, MERGE)
    assert (answer.status, answer.body["spec"]) == (200, {"size": 1})
    assert "managedFields" not in answer.body["metadata"]


def test_an_applied_object_must_have_a_name(api: Any, kit: Any) -> None:
    path = api.install(kit.version("v1", kit.obj(size=WHOLE)))
    body = api.widget("a", {"size": 1})
    del body["metadata"]
    refused = apply(api, f"{path}/a", body, "one")
    assert refused.status == 400
    assert refused.body["message"].endswith("was undeterminable: name must be provided")


def test_below_a_field_that_keeps_unknown_ones_any_field_may_be_applied(api: Any, kit: Any) -> None:
    known = {"type": "object", "properties": {"a": WHOLE}}
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"known": known}}
    path = api.install(kit.version("v1", kit.obj(free=free)))
    applied = apply(api, f"{path}/a", api.widget("a", {"free": {"known": {"a": 1, "b": 2}, "c": 3}}), "one")
    assert applied.body["spec"] == {"free": {"known": {"a": 1}, "c": 3}}
    assert owners(applied) == {"one Apply v1": {"f:spec": {"f:free": {"f:c": {}, "f:known": {"f:a": {}, "f:b": {}}}}}}


def test_an_empty_record_ends_ownership(api: Any, kit: Any) -> None:
    path = api.install(kit.version("v1", kit.obj(size=WHOLE)))
    created = api.call("POST", f"{path}?fieldManager=maker", api.widget("a", {"size": 1}))
    assert owners(created) == {"maker Update v1": {"f:spec": {".": {}, "f:size": {}}}}
    for size in (2, 3):
        patch = {"metadata": {"managedFields": [{}]}, "spec": {"size": size}}
        assert owners(api.call("PATCH", f"{path}/a?fieldManager=editor", patch, MERGE)) == {}
    assert owners(apply(api, f"{path}/a", api.widget("a", {"size": 3}), "one")).keys() == {
        "one Apply v1",
        "before-first-apply Update v1",
    }


def test_what_has_no_schema_is_owned_key_by_key(api: Any, kit: Any) -> None:
    path = api.install(kit.version("v1"))
    apply(api, f"{path}/a", api.widget("a", {"map": {"x": 1}, "list": [1, {"y": 2}]}), "one")
    second = apply(api, f"{path}/a", api.widget("a", {"map": {"z": 1}}), "two")
    assert second.body["spec"] == {"map": {"x": 1, "z": 1}, "list": [1, {"y": 2}]}
    assert owners(second) == {
        "one Apply v1": {"f:spec": {"f:list": {}, "f:map": {".": {}, "f:x": {}}}},
        "two Apply v1": {"f:spec": {"f:map": {".": {}, "f:z": {}}}},
    }


def test_keys_with_a_default_need_not_be_named(api: Any, kit: Any) -> None:
    item = kit.obj(port=WHOLE, protocol={"type": "string", "default": "TCP"}, note=TEXT)
    item["required"] = ["port", "protocol"]
    ports = {
        "type": "array",
        "items": item,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port", "protocol"],
    }
    path = api.install(kit.version("v1", kit.obj(ports=ports)))
    apply(api, f"{path}/a", api.widget("a", {"ports": [{"port": 80, "note": "x"}]}), "one")
    named = {"ports": [{"port": 80, "protocol": "TCP", "note": "y"}, {"port": 80, "protocol": "UDP"}]}
    refused = apply(api, f"{path}/a", api.widget("a", named), "two")
    assert refused.status == 409
    assert refused.body["details"]["causes"][0]["field"] == '.spec.ports[port=80,protocol="TCP"].note'


def test_null_is_applied_as_it_is(api: Any, kit: Any) -> None:
    spec = kit.obj(note=TEXT, level={"type": "string", "default": "Low"}, free={"type": "string", "nullable": True})
    path = api.install(kit.version("v1", spec))
    refused = apply(api, f"{path}/a", api.widget("a", {"note": None}), "one")
    assert refused.status == 422
    assert refused.body["details"]["causes"][0]["message"] == (
        'Invalid value: "null": spec.note in body must be of type string: "null"'
    )
    applied = apply(api, f"{path}/a", api.widget("a", {"level": None, "free": None}), "one")
    assert applied.body["spec"] == {"level": "Low", "free": None}


def test_an_empty_list_of_owners_of_a_custom_object_says_nothing(api: Any, kit: Any) -> None:
    path = api.install(kit.version())
    first = apply(api, f"{path}/a", api.widget("a", {"n": 1}), "one")
    kept = api.call("PATCH", f"{path}/a", {"metadata": {"managedFields": []}}, MERGE)
    assert owners(kept) == owners(first) != {}


def test_a_scale_whose_field_the_schema_names_no_more_leaves_the_object_as_it_is(api: Any, kit: Any) -> None:
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    path = api.install(kit.version("v1", kit.obj(note=TEXT), subresources={"scale": scale}))
    before = apply(api, f"{path}/a", api.widget("a", {"note": "x"}), "one")
    changed = api.call("PATCH", f"{path}/a/scale?fieldManager=scaler", {"spec": {"replicas": 2}}, MERGE)
    assert (changed.status, changed.body["spec"]) == (200, {})
    found = api.call("GET", f"{path}/a").body
    assert found["spec"] == {"note": "x"}
    patched = api.call("PATCH", f"{path}/a?fieldManager=editor", {"metadata": {"labels": {"a": "b"}}}, MERGE)
    assert {"one Apply v1", "editor Update v1"} <= owners(patched).keys()
    assert owners(patched)["one Apply v1"] == owners(before)["one Apply v1"]


def test_what_another_owner_s_version_does_not_declare_cannot_be_applied(api: Any, kit: Any) -> None:
    wide = kit.obj(size=WHOLE, extra=TEXT)
    path = api.install(kit.version("v1", kit.obj(size=WHOLE)), kit.version("v2", wide, storage=False))
    second = api.path("v2")
    apply(api, f"{path}/a", api.widget("a", {"size": 1}), "one")
    refused = apply(api, f"{second}/a", api.widget("a", {"extra": "x"}, "v2"), "two")
    assert (refused.status, refused.body["message"]) == (
        500,
        "failed to convert new object: .spec.extra: field not declared in schema",
    )
    patched = api.call("PATCH", f"{second}/a?fieldManager=editor", {"spec": {"extra": "x"}}, MERGE)
    assert owners(patched) == {}


def test_owners_at_versions_that_are_none_end_ownership(api: Any, kit: Any) -> None:
    path = api.install(kit.version("v1", kit.obj(size=WHOLE)))
    entry = {"manager": "odd", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:size": {}}}}
    apply(api, f"{path}/a", api.widget("a", {"size": 1}), "one")
    for version in (f"{api.group}/v9", "apps/v1", "a/b/c"):
        apply(api, f"{path}/a", api.widget("a", {"size": 1}), "one")
        record = api.call("GET", f"{path}/a").body["metadata"]["managedFields"]
        patch = {"metadata": {"managedFields": [*record, {**entry, "apiVersion": version}]}}
        assert owners(api.call("PATCH", f"{path}/a?fieldManager=editor", patch, MERGE)) == {}


def test_fields_beside_the_declared_ones_are_owned_as_whatever_they_are(api: Any, kit: Any) -> None:
    path = api.install(kit.version("v1", {**kit.obj(size=WHOLE), "additionalProperties": True}))
    made = apply(api, f"{path}/a", api.widget("a", {"size": 1, "more": {"x": 1}}), "one")
    assert owners(made) == {"one Apply v1": {"f:spec": {"f:more": {".": {}, "f:x": {}}, "f:size": {}}}}


def test_validation_tells_what_is_neither_an_integer_nor_a_text_when_it_is_applied(api: Any, kit: Any) -> None:
    path = api.install(kit.version("v1", kit.obj(port={"x-kubernetes-int-or-string": True})))
    refused = apply(api, f"{path}/a", api.widget("a", {"port": []}), "one")
    assert refused.status == 422
    message = 'Invalid value: "array": spec.port in body must be of type integer,string: "array"'
    assert [cause["message"] for cause in refused.body["details"]["causes"]] == [message]
    made = apply(api, f"{path}/a", api.widget("a", {"port": 1}), "one")
    assert owners(made) == {"one Apply v1": {"f:spec": {"f:port": {}}}}


def test_an_applied_null_where_anything_may_stay_is_not_there(api: Any, kit: Any) -> None:
    path = api.install(kit.version("v1", kit.obj(free={"x-kubernetes-preserve-unknown-fields": True}, size=WHOLE)))
    answer = apply(api, f"{path}/a", api.widget("a", {"free": None, "size": 1}), "one")
    assert (answer.status, answer.body["spec"]) == (201, {"size": 1})
    assert owners(answer) == {"one Apply v1": {"f:spec": {"f:free": {}, "f:size": {}}}}
    answer = apply(api, f"{path}/a", api.widget("a", {"free": {"k": None}}), "one")
    assert answer.body["spec"] == {"free": {"k": None}}
    assert apply(api, f"{path}/b", api.widget("b", {"size": None}), "one").status == 422


def test_an_applied_resource_within_must_say_its_kind_and_version(api: Any, kit: Any) -> None:
    inner = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    path = api.install(kit.version("v1", kit.obj(inner=inner, size=WHOLE)))
    for name in ("kind", "apiVersion"):
        body = api.widget("a", {"inner": {"kind": "F", "apiVersion": "v1", name: None}})
        answer = apply(api, f"{path}/a", body, "one")
        wrong = f"spec.inner.{name}: Invalid value: null: must be a string"
        assert (answer.status, answer.body["message"]) == (422, f'Widget.{api.group} "a" is invalid: {wrong}')


def test_an_applied_status_of_null_is_no_change_where_there_is_none(api: Any, kit: Any) -> None:
    version = kit.version("v1", subresources={"status": {}})
    parts = {"type": "object", "properties": {"size": WHOLE}}
    version["schema"] = {"openAPIV3Schema": {"type": "object", "properties": {"spec": parts, "status": parts}}}
    path = api.install(version)
    api.call("POST", path, api.widget("a", {"size": 1}))
    answer = apply(api, f"{path}/a/status", {**api.widget("a"), "status": None}, "one")
    assert owners(answer)["one Apply v1 status"] == {"f:status": {}}
    assert "status" not in answer.body
    refused = api.call("PATCH", f"{path}/a/status", {"status": {"size": "x"}}, MERGE)
    assert refused.status == 422


def counted(answer: Any) -> tuple[Any, ...]:
    """The generation, and the version that was written."""
    assert answer.status in (200, 201), answer
    return answer.body["metadata"]["generation"], int(answer.body["metadata"]["resourceVersion"])


def test_what_is_applied_beyond_what_is_kept_is_a_change_each_time(api: Any, kit: Any) -> None:
    """As in kube-apiserver, which compares before it prunes; the schema lets it pass, because it names no fields."""
    status = kit.obj(free={"type": "object"}, count=WHOLE)
    version = kit.version("v1", kit.obj(free={"type": "object"}, size=WHOLE), subresources={"status": {}})
    version["schema"]["openAPIV3Schema"]["properties"]["status"] = status
    path = api.install(version)

    def applied(spec: dict[str, Any], **more: Any) -> tuple[Any, ...]:
        return counted(apply(api, f"{path}/a", {**api.widget("a", spec), **more}, "one"))

    made = applied({"free": {"a": 1}})
    again = applied({"free": {"a": 1}})
    assert (made[0], again[0]) == (1, 2)
    assert again[1] > made[1]
    kept = applied({"free": {}})
    assert (kept[0], applied({"free": {}})) == (2, kept)
    moved = applied({"size": 1}, status={"free": {"a": 1}})
    assert (moved[0], applied({"size": 1}, status={"free": {"a": 1}})) == (3, moved)


def test_a_status_that_is_applied_beyond_what_is_kept_is_written_each_time_and_not_counted(api: Any, kit: Any) -> None:
    version = kit.version("v1", kit.obj(free={"type": "object"}), subresources={"status": {}})
    version["schema"]["openAPIV3Schema"]["properties"]["status"] = kit.obj(free={"type": "object"}, count=WHOLE)
    path = api.install(version)
    counted(apply(api, f"{path}/a", api.widget("a", {}), "one"))

    def applied(**parts: Any) -> Any:
        return counted(apply(api, f"{path}/a/status", {**api.widget("a", {}), **parts}, "one", force="true"))

    first = applied(status={"free": {"a": 1}})
    for _ in range(200):  # the time in the record has to change for the write to be one
        again = applied(status={"free": {"a": 1}})
        if again != first:
            break
        time.sleep(0.01)
    assert again[0] == first[0] == 1
    assert again[1] > first[1]
    moved = applied(status={"count": 1}, spec={"free": {"a": 1}})
    assert applied(status={"count": 1}, spec={"free": {"a": 1}}) == moved


def test_nobody_owns_fields_of_an_object_with_a_list_where_a_text_should_be(api: Any, kit: Any) -> None:
    time_of_day = {"type": "string", "format": "date-time"}
    times = {"type": "array", "items": time_of_day}
    path = api.install(kit.version("v1", kit.obj(size=WHOLE, at=time_of_day, times=times)))
    wrong: dict[str, dict[str, Any]] = {".spec.at": {"at": ["x"]}, ".spec.times[0]": {"times": [["x"]]}}
    for number, (where, spec) in enumerate(wrong.items()):
        a, b = f"a{number}", f"b{number}"
        assert owners(api.call("POST", path, api.widget(a, spec))) == {}
        assert owners(api.call("PATCH", f"{path}/{a}", {"spec": {"size": 1}}, MERGE)) == {}
        assert owners(api.call("POST", path, api.widget(b, {"size": 1})))
        assert owners(api.call("PATCH", f"{path}/{b}", {"spec": spec}, MERGE)) == {}
        merged = apply(api, f"{path}/{a}", api.widget(a, {"size": 2}), "one")
        why = f"{where}: expected any scalar, got &{{[x]}}"
        words = (
            "failed to create manager for existing fields: failed to convert new object (default/{}; {}) to smd typed"
        )
        gvk = f"{api.widget(a, {})['apiVersion']}, Kind=Widget"
        assert (merged.status, merged.body["message"]) == (500, f"{words.format(a, gvk)}: {why}")
        refused = apply(api, f"{path}/c", api.widget("c", spec), "one")
        assert refused.body["message"] == f"failed to create typed patch object (/c; {gvk}): {why}"

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from watchkeeper.apis.builtin import builtin_scheme
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.managedfields import FieldManager, excluding, keep_times_of_unchanged

Object = dict[str, Any]

SCHEME = builtin_scheme()
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class Kept:
    """An object as a server keeps it, written by a field manager, one second after the other."""

    def __init__(self, gvk: GroupVersionKind, **options: Any) -> None:
        self.kind = SCHEME.kind(gvk)
        self.seconds = 0
        self.manager = FieldManager(SCHEME, self.kind, now=self.now, **options)
        self.live: Object | None = None

    def now(self) -> str:
        return f"2026-01-01T00:00:{self.seconds:02d}Z"

    def keep(self, obj: Object) -> Object:
        obj["metadata"]["uid"] = "1"
        if self.live is not None:
            keep_times_of_unchanged(obj, self.live)
        self.live = obj
        return obj

    def body(self, body: Object) -> Object:
        return {"apiVersion": self.kind.gvk.api_version, "kind": self.kind.gvk.kind, **body}

    def apply(self, body: Object, manager: str, *, force: bool = False) -> Object:
        self.seconds += 1
        before, applied = copy.deepcopy(self.live), self.body(body)
        given = copy.deepcopy(applied)
        obj = self.manager.apply(self.live, applied, manager, force=force)
        assert (self.live, applied) == (before, given), "what was given has changed"
        return self.keep(obj)

    def refused(self, body: Object, manager: str) -> ApiError:
        before = copy.deepcopy(self.live)
        with pytest.raises(ApiError) as raised:
            self.apply(body, manager)
        assert self.live == before
        return raised.value

    def update(self, body: Object, manager: str) -> Object:
        self.seconds += 1
        obj = self.kind.decode(copy.deepcopy(self.body(body)), None)
        if self.kind.default is not None:
            self.kind.default(obj)
        if self.live is not None:
            obj["metadata"]["uid"] = "1"
        return self.keep(self.manager.update(self.live, obj, manager))

    def owners(self) -> dict[str, Any]:
        assert self.live is not None
        record = self.live["metadata"].get("managedFields", [])
        return {f"{e['manager']} {e['operation']}": e["fieldsV1"] for e in record}


def config_maps() -> Kept:
    return Kept(GroupVersionKind("", "v1", "ConfigMap"))


def deployments() -> Kept:
    return Kept(GroupVersionKind("apps", "v1", "Deployment"), filters={"apps/v1": excluding("status")})


def data(**values: str) -> Object:
    return {"metadata": {"name": "a"}, "data": values}


def containers(*items: Object, **pod: Any) -> Object:
    template = {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": list(items), **pod}}
    spec = {"selector": {"matchLabels": {"app": "d"}}, "template": template}
    return {"metadata": {"name": "d"}, "spec": spec}


def part(*items: Object, **pod: Any) -> Object:
    return {"metadata": {"name": "d"}, "spec": {"template": {"spec": {"containers": list(items), **pod}}}}


def pod_spec(obj: Object) -> Object:
    found: Object = obj["spec"]["template"]["spec"]
    return found


def test_applying_nothing_there_creates_what_is_applied_and_owns_only_that() -> None:
    kept = deployments()
    obj = kept.apply(containers({"name": "m", "image": "i"}), "one")
    assert obj["spec"]["replicas"] == 1
    assert obj["status"] == {}
    named = {'k:{"name":"m"}': {".": {}, "f:image": {}, "f:name": {}}}
    template = {"f:metadata": {"f:labels": {"f:app": {}}}, "f:spec": {"f:containers": named}}
    assert kept.owners() == {"one Apply": {"f:spec": {"f:selector": {}, "f:template": template}}}


def test_applying_the_same_again_changes_nothing() -> None:
    kept = deployments()
    body = containers({"name": "m", "image": "i", "ports": [{"containerPort": 80}]}, tolerations=[], volumes=[])
    first = copy.deepcopy(kept.apply(body, "one"))
    assert kept.apply(body, "one") == first


def test_what_an_applier_leaves_out_is_removed_unless_somebody_else_owns_it() -> None:
    kept = config_maps()
    kept.apply(data(a="1", b="2"), "one")
    kept.apply(data(b="2"), "two")
    assert kept.apply({"metadata": {"name": "a"}}, "one")["data"] == {"b": "2"}
    assert kept.owners() == {"two Apply": {"f:data": {"f:b": {}}}}
    assert "data" not in kept.apply({"metadata": {"name": "a"}}, "two")
    assert kept.owners() == {}


def test_what_an_update_set_stays_when_an_applier_leaves_it_out() -> None:
    kept = config_maps()
    kept.update(data(a="1"), "maker")
    kept.apply(data(a="1", b="2"), "one")
    assert kept.apply({"metadata": {"name": "a"}}, "one")["data"] == {"a": "1"}


def test_another_value_than_others_own_is_a_conflict_with_a_cause_for_each_field() -> None:
    kept = config_maps()
    body = {"metadata": {"name": "a", "labels": {"x": "1"}}, "data": {"k": "1", "m": "1"}}
    kept.apply(body, "one")
    kept.apply(data(n="1"), "other")
    wanted = {"metadata": {"name": "a", "labels": {"x": "2"}}, "data": {"k": "2", "m": "1", "n": "2"}}
    error = kept.refused(wanted, "two")
    assert (error.code, error.reason) == (409, "Conflict")
    assert error.message == (
        'Apply failed with 3 conflicts: conflicts with "one":\n- .data.k\n- .metadata.labels.x\n'
        'conflicts with "other":\n- .data.n'
    )
    assert error.details == {
        "causes": [
            {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.k"},
            {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".metadata.labels.x"},
            {"reason": "FieldManagerConflict", "message": 'conflict with "other"', "field": ".data.n"},
        ]
    }


def test_conflicts_name_updaters_with_their_version_and_subresource() -> None:
    kept = config_maps()
    kept.update(data(k="1"), "maker")
    error = kept.refused(data(k="2"), "one")
    assert error.message == 'Apply failed with 1 conflict: conflict with "maker" using v1: .data.k'
    kept.manager = FieldManager(SCHEME, kept.kind, subresource="part", now=kept.now)
    kept.update(data(k="3"), "maker")
    error = kept.refused(data(k="2"), "one")
    assert error.message == (
        'Apply failed with 1 conflict: conflict with "maker" with subresource "part" using v1: .data.k'
    )


def test_force_takes_fields_over() -> None:
    kept = config_maps()
    kept.apply(data(k="1", m="1"), "one")
    kept.apply(data(k="2"), "two", force=True)
    assert kept.owners() == {"one Apply": {"f:data": {"f:m": {}}}, "two Apply": {"f:data": {"f:k": {}}}}
    assert 'conflict with "two": .data.k' in kept.refused(data(k="1", m="1"), "one").message


def test_equal_values_are_owned_together_from_a_time_before_all_others() -> None:
    kept = config_maps()
    kept.apply(data(k="1"), "one")
    obj = kept.apply(data(k="1"), "two")
    record = obj["metadata"]["managedFields"]
    assert [(e["manager"], e.get("time")) for e in record] == [("two", None), ("one", "2026-01-01T00:00:01Z")]


def test_keyed_items_belong_to_those_who_name_them() -> None:
    kept = deployments()
    kept.apply(containers({"name": "main", "image": "main:1"}), "one")
    obj = kept.apply(part({"name": "side", "image": "side:1"}), "two")
    assert [c["name"] for c in pod_spec(obj)["containers"]] == ["main", "side"]
    kept.apply(containers({"name": "main", "image": "main:2"}), "one")
    field = '.spec.template.spec.containers[name="main"].image'
    assert kept.refused(part({"name": "main", "image": "x"}), "two").message.endswith(f'"one": {field}')
    obj = kept.apply(part(), "two")
    assert [c["name"] for c in pod_spec(obj)["containers"]] == ["main"]


def test_the_applied_order_counts_where_it_can() -> None:
    kept = deployments()
    kept.update(containers(*({"name": n, "image": "i"} for n in "abcd")), "maker")
    obj = kept.apply(part({"name": "d"}, {"name": "new", "image": "i"}, {"name": "b"}), "one")
    assert [c["name"] for c in pod_spec(obj)["containers"]] == ["a", "c", "d", "new", "b"]


def test_keys_with_defaults_need_not_be_named() -> None:
    kept = deployments()
    ports = [{"containerPort": 53, "name": "tcp"}, {"containerPort": 53, "protocol": "UDP"}]
    kept.apply(containers({"name": "m", "image": "i", "ports": ports}), "one")
    error = kept.refused(part({"name": "m", "ports": [{"containerPort": 53, "protocol": "TCP", "name": "x"}]}), "two")
    field = '.spec.template.spec.containers[name="m"].ports[containerPort=53,protocol="TCP"].name'
    assert error.message.endswith(field)


def test_sets_are_owned_value_by_value() -> None:
    kept = config_maps()

    def finalizers(*values: str) -> Object:
        return {"metadata": {"name": "a", "finalizers": list(values)}}

    kept.apply(finalizers("e.com/a", "e.com/b"), "one")
    obj = kept.apply(finalizers("e.com/c", "e.com/b"), "two")
    assert obj["metadata"]["finalizers"] == ["e.com/a", "e.com/c", "e.com/b"]
    assert kept.apply(finalizers("e.com/a"), "one")["metadata"]["finalizers"] == ["e.com/a", "e.com/c", "e.com/b"]
    assert kept.apply(finalizers(), "two")["metadata"]["finalizers"] == ["e.com/a"]


def test_atomic_values_are_owned_as_a_whole() -> None:
    kept = deployments()
    kept.apply(containers({"name": "m", "image": "i", "args": ["a"]}, tolerations=[{"key": "k"}]), "one")
    fields = kept.owners()["one Apply"]["f:spec"]["f:template"]["f:spec"]
    assert fields["f:tolerations"] == {} == fields["f:containers"]['k:{"name":"m"}']["f:args"]
    error = kept.refused(part({"name": "m", "args": ["a", "b"]}, tolerations=[]), "two")
    assert error.message.startswith("Apply failed with 2 conflicts")


def test_a_removed_field_comes_back_with_the_next_apply() -> None:
    kept = config_maps()
    kept.apply(data(k="1", m="1"), "one")
    kept.update(data(m="1"), "two")
    assert kept.owners() == {"one Apply": {"f:data": {"f:m": {}}}}
    assert kept.apply(data(k="1", m="1"), "one")["data"] == {"k": "1", "m": "1"}


def test_nobody_recorded_means_that_all_belongs_to_before_first_apply() -> None:
    kept = config_maps()
    kept.update(data(k="1", m="1"), "maker")
    assert kept.live is not None
    del kept.live["metadata"]["managedFields"]
    error = kept.refused(data(k="2"), "one")
    assert error.message == 'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.k'
    kept.apply(data(k="1"), "one")
    assert kept.owners() == {
        "one Apply": {"f:data": {"f:k": {}}},
        "before-first-apply Update": {"f:data": {".": {}, "f:k": {}, "f:m": {}}},
    }


def test_kubectl_takes_over_what_it_applied_from_the_client() -> None:
    kept = config_maps()
    applied = kept.body(data(k="1", m="1"))
    body = copy.deepcopy(applied)
    body["metadata"]["annotations"] = {LAST_APPLIED: json.dumps(applied)}
    kept.update(body, "kubectl-client-side-apply")
    assert kept.refused(data(k="2", m="1"), "other").code == 409
    obj = kept.apply(data(k="2", m="1"), "kubectl")
    assert obj["data"] == {"k": "2", "m": "1"}
    recorded = obj["metadata"]["annotations"][LAST_APPLIED]
    assert recorded == ('{"apiVersion":"v1","data":{"k":"2","m":"1"},"kind":"ConfigMap","metadata":{"name":"a"}}\n')
    kept.update({**data(k="9", m="1"), "metadata": copy.deepcopy(obj["metadata"])}, "editor")
    assert 'conflict with "editor" using v1: .data.k' in kept.refused(data(k="3", m="2"), "kubectl").message


def test_kubectl_takes_nothing_over_of_an_object_with_items_that_occur_twice() -> None:
    def pod(image: str, *names: str) -> Object:
        env = [{"name": name, "value": str(n)} for n, name in enumerate(names)]
        return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "m", "image": image, "env": env}]}}

    for names, taken in ((("A", "B"), True), (("A", "A"), False)):
        kept = Kept(GroupVersionKind("", "v1", "Pod"))
        applied = pod("i:1")
        body = pod("i:1", *names)
        body["metadata"]["annotations"] = {LAST_APPLIED: json.dumps(kept.body(applied))}
        kept.update(body, "kubectl-client-side-apply")
        if taken:
            assert kept.apply(pod("i:2"), "kubectl")["spec"]["containers"][0]["image"] == "i:2"
        else:
            assert ".image" in kept.refused(pod("i:2"), "kubectl").message


@pytest.mark.parametrize(
    ("annotations", "recorded"),
    [({"a": None, "b": "1"}, ',"metadata":{"annotations":{"a":"","b":"1"},'), ({}, '{"annotations":{},'), (None, "{")],
)
def test_annotations_are_recorded_as_applied_without_nulls(annotations: Any, recorded: str) -> None:
    kept = config_maps()
    body = data(k="1")
    body["metadata"]["annotations"] = {LAST_APPLIED: "{}"}
    kept.update(body, "maker")
    applied = data(k="1")
    applied["metadata"]["annotations"] = annotations
    text = kept.apply(applied, "kubectl")["metadata"]["annotations"][LAST_APPLIED]
    assert text.endswith(f'{recorded}"name":"a"}}}}\n')


def test_what_is_stored_without_a_key_cannot_be_applied_to() -> None:
    kept = Kept(GroupVersionKind("", "v1", "ServiceAccount"))
    kept.update({"metadata": {"name": "a"}, "secrets": [{"name": "x"}, {}]}, "maker")
    where = ".secrets: element 1: associative list with keys has an element that omits all key fields"
    applied = {"metadata": {"name": "a", "labels": {"a": "b"}}}
    message = kept.refused(applied, "one").message
    named = "(/a; /v1, Kind=ServiceAccount)"
    before = f"failed to create manager for existing fields: failed to convert new object {named} to smd typed"
    assert message.startswith(f"{before}: {where}")
    assert kept.live is not None
    kept.live["metadata"]["managedFields"] = [
        {
            "manager": "x",
            "operation": "Update",
            "apiVersion": "v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {}},
        }
    ]
    assert kept.refused(applied, "one").message.startswith(f"failed to create typed live object {named}: {where}")


def test_a_last_applied_configuration_without_room_is_dropped() -> None:
    kept = config_maps()
    body = kept.body(data(k="1"))
    body["metadata"]["annotations"] = {LAST_APPLIED: json.dumps(kept.body(data(k="1")))}
    kept.update(body, "kubectl-client-side-apply")
    obj = kept.apply(data(k="1", big="x" * 270_000), "kubectl")
    assert LAST_APPLIED not in obj["metadata"].get("annotations", {})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"data": {}, "nonsense": 1}, ".nonsense: field not declared in schema"),
        ({"data": []}, ".data: expected map, got &{[]}"),
        ({"data": {"k": True}}, ".data.k: expected string, got &value.valueUnstructured{Value:true}"),
        (
            {"data": {"k": {"a": 1}}},
            '.data.k: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"a":1}}',
        ),
        ({"immutable": "yes"}, ".immutable: expected boolean, got &{yes}"),
        (
            {"metadata": {"name": "a", "generation": "x"}},
            ".metadata.generation: expected numeric (int or float), got string",
        ),
        ({"metadata": {"name": "a", "finalizers": "x"}}, ".metadata.finalizers: expected list, got &{x}"),
        (
            {"metadata": {"name": "a", "finalizers": ["x", "x"]}},
            '.metadata.finalizers: duplicate entries for key [="x"]',
        ),
        (
            {"metadata": {"name": "a", "finalizers": [None]}},
            ".metadata.finalizers: element 0: associative list without keys has an element that's an explicit null",
        ),
        (
            {"data": {"k": 1, "m": 2}},
            "errors:\n  .data.k: expected string, got &value.valueUnstructured{Value:1}\n"
            "  .data.m: expected string, got &value.valueUnstructured{Value:2}",
        ),
    ],
)
def test_a_configuration_that_does_not_fit_the_schema_is_the_servers_failure(body: Object, message: str) -> None:
    error = config_maps().refused({"metadata": {"name": "a"}, **body}, "one")
    assert (error.code, error.reason) == (500, "")
    assert error.message == f"failed to create typed patch object (/a; /v1, Kind=ConfigMap): {message}"


def test_duplicate_keys_are_refused_in_what_is_applied() -> None:
    error = deployments().refused(part({"name": "x"}, {"name": "x"}), "one")
    assert error.message == (
        "failed to create typed patch object (/d; apps/v1, Kind=Deployment): "
        '.spec.template.spec.containers: duplicate entries for key [name="x"]'
    )


def test_duplicate_items_that_are_there_stay_until_an_apply_names_them() -> None:
    kept = deployments()
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "A", "value": "3"}]
    kept.update(containers({"name": "m", "image": "i", "env": env}), "maker")
    obj = kept.apply({"metadata": {"name": "d", "labels": {"x": "1"}}}, "one")
    assert pod_spec(obj)["containers"][0]["env"] == env
    patch = part({"name": "m", "env": [{"name": "A", "value": "4"}]})
    assert '.env[name="A"]' in kept.refused(patch, "one").message
    obj = kept.apply(patch, "one", force=True)
    assert pod_spec(obj)["containers"][0]["env"] == [{"name": "A", "value": "4"}, {"name": "B", "value": "2"}]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"kind": "Secret"}, "invalid object type: /v1, Kind=Secret"),
        ({"apiVersion": "apps/v1"}, "invalid object type: apps/v1, Kind=ConfigMap"),
        ({"apiVersion": "a/b/c"}, "invalid object type: /, Kind="),
        ({"metadata": {"name": "a", "managedFields": []}}, "metadata.managedFields must be nil"),
    ],
)
def test_another_kind_or_a_record_in_what_is_applied_is_a_bad_request(body: Object, message: str) -> None:
    error = config_maps().refused({**data(k="1"), **body}, "one")
    assert (error.code, error.message) == (400, message)


def test_a_value_that_another_owner_s_version_cannot_hold_is_told_by_the_field() -> None:
    old, new = (GroupVersionKind("autoscaling", v, "HorizontalPodAutoscaler") for v in ("v1", "v2"))
    kept = Kept(new)
    target = {"scaleTargetRef": {"kind": "Deployment", "name": "d"}}
    kept.apply({"metadata": {"name": "h"}, "spec": {**target, "maxReplicas": 5}}, "one")
    kept.kind = SCHEME.kind(old)
    kept.manager = FieldManager(SCHEME, kept.kind, now=kept.now)
    assert kept.refused({"metadata": {"name": "h"}, "spec": {"maxReplicas": 5.5}}, "two").message == (
        "failed to convert new object: unable to convert unstructured object to autoscaling/v1,"
        " Kind=HorizontalPodAutoscaler: cannot convert float64 to int32"
    )


def test_an_apply_at_another_version_keeps_the_appliers_entry() -> None:
    old, new = (GroupVersionKind("autoscaling", v, "HorizontalPodAutoscaler") for v in ("v1", "v2"))
    kept = Kept(old)
    spec = {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "maxReplicas": 5}
    kept.apply({"metadata": {"name": "h", "labels": {"x": "1"}}, "spec": spec}, "one")
    kept.kind = SCHEME.kind(new)
    kept.manager = FieldManager(SCHEME, kept.kind, now=kept.now)
    obj = kept.apply({"metadata": {"name": "h"}, "spec": spec}, "one")
    assert "labels" not in obj["metadata"]
    [entry] = obj["metadata"]["managedFields"]
    assert (entry["manager"], entry["apiVersion"]) == ("one", "autoscaling/v2")
    target = {"f:kind": {}, "f:name": {}}
    assert entry["fieldsV1"] == {"f:spec": {"f:maxReplicas": {}, "f:scaleTargetRef": target}}

from __future__ import annotations

import copy
from typing import Any

import pytest
from kind_writer import BEHAVIORS, create, created, row, update, update_status

from watchkeeper.apis.resource.claim_validation import MAX_PARAMETERS, validate_class_spec
from watchkeeper.meta.field import FieldError, invalid
from watchkeeper.meta.gvk import GroupKind

GROUP = "resource.k8s.io"


def obj(kind: str, **spec: Any) -> Any:
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": "a"}, "spec": spec}


def claim(*requests: Any, **devices: Any) -> Any:
    return obj("ResourceClaim", devices={"requests": list(requests), **devices})


def one(name: str = "r", **exactly: Any) -> Any:
    return {"name": name, "exactly": {"deviceClassName": "gpu", **exactly}}


def published(*devices: Any, **spec: Any) -> Any:
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    return obj(
        "ResourceSlice", **{"driver": "a.example", "nodeName": "n", "pool": pool, "devices": list(devices), **spec}
    )


def test_a_request_is_for_one_device() -> None:
    found = created(claim(one()))
    exactly = found["spec"]["devices"]["requests"][0]["exactly"]
    assert exactly == {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    assert found["status"] == {}
    assert row(found)["State"] == "pending"
    assert update(found, claim(one("other"))).errors[0].startswith("spec: Invalid value: ")


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        (
            claim({"name": "r"}),
            ["spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required"],
        ),
        (claim(one(), one()), ['spec.devices.requests[1]: Duplicate value: "r"']),
        (
            claim(one(allocationMode="All", count=2)),
            [
                "spec.devices.requests[0].exactly.count: Invalid value: 2: must not be specified when "
                "allocationMode is "
                "'All'"
            ],
        ),
        (
            claim(one(), constraints=[{"requests": ["x"], "matchAttribute": "a.example/b"}]),
            [
                'spec.devices.constraints[0].requests[0]: Invalid value: "x": must be the name of a '
                "request in the claim "
                "or the name of a request and a subrequest separated by '/'"
            ],
        ),
        (
            claim(one(), config=[{"opaque": {"driver": "a.example", "parameters": [1]}}]),
            ['spec.devices.config[0].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object'],
        ),
    ],
)
def test_what_a_claim_may_not_be(body: Any, errors: list[str]) -> None:
    assert create(body).errors == errors


def test_allocations_stay_and_go_with_what_is_known_of_their_devices() -> None:
    device = {"driver": "a.example", "pool": "p", "device": "d"}
    allocation = {"devices": {"results": [{"request": "r", **device}]}}
    user = {"resource": "pods", "name": "p", "uid": "u"}
    status = {"allocation": allocation, "reservedFor": [user], "devices": [{**device, "conditions": []}]}
    old = created(claim(one()))
    written = update_status(old, status)
    assert written.errors == []
    assert row(written.obj)["State"] == "allocated,reserved"
    moved = {"devices": {"results": [{"request": "r", **device, "device": "e"}]}}
    assert update_status(written.obj, {"allocation": moved}).errors[0].startswith("status.allocation: Invalid value")
    freed = update_status(written.obj, {"devices": status["devices"]})
    assert freed.errors == []
    assert "devices" not in freed.obj["status"]
    assert update_status(old, {"reservedFor": [user]}).errors == [
        "status.reservedFor: Forbidden: may not be specified when `allocated` is not set"
    ]


def test_templates_make_claims() -> None:
    body = obj("ResourceClaimTemplate", spec=claim(one())["spec"])
    assert created(body)["spec"]["spec"]["devices"]["requests"][0]["exactly"]["count"] == 1
    body["spec"]["metadata"] = {"name": "no"}
    assert create(body).errors == ["spec.metadata.name: Forbidden: cannot be set"]
    body["spec"]["metadata"] = {"uid": "u"}
    assert create(body).errors == ["spec.metadata.uID: Forbidden: cannot be set"]


def test_a_changed_template_is_judged_as_a_new_one_before_it_is_refused() -> None:
    old = created(obj("ResourceClaimTemplate", spec=claim(one())["spec"]))
    missing, immutable = update(old, obj("ResourceClaimTemplate", spec=claim(one(deviceClassName=""))["spec"])).errors
    assert missing == "spec.spec.devices.requests[0].exactly.deviceClassName: Required value"
    assert immutable.startswith("spec: Invalid value: ")
    assert immutable.endswith(": field is immutable")


def test_devices_that_a_claim_did_not_get_have_no_status() -> None:
    strange = {"driver": "a.example", "pool": "p", "device": "d"}
    assert update_status(created(claim(one())), {"devices": [strange]}).errors == [
        'status.devices[0]: Invalid value: {"Driver":"a.example","Pool":"p","Device":"d","ShareID":""}: '
        "must be an allocated device in the claim"
    ]


def test_slices_leave_out_what_is_not_there_yet() -> None:
    device = {
        "name": "d",
        "attributes": {"model": {"string": "x", "strings": ["y"], "ints": [1]}},
        "nodeAllocatableResourceMappings": {"cpu": {}},
    }
    old = created(published(device))
    assert old["spec"]["devices"] == [{"name": "d", "attributes": {"model": {"string": "x"}}}]
    written = update(old, published(device)).obj
    assert (written["spec"], written["metadata"]["generation"]) == (old["spec"], 2)
    assert update(old, published(old["spec"]["devices"][0])).obj["metadata"]["generation"] == 1


def stored_with_alpha_fields() -> Any:
    """A slice of a server where the features are on."""
    old = created(published({"name": "d", "attributes": {"m": {"string": "x"}}, "capacity": {"mem": {"value": "1Gi"}}}))
    device = old["spec"]["devices"][0]
    device["attributes"]["m"] = {"strings": ["a", "b"]}
    device["nodeAllocatableResourceMappings"] = {"cpu": {"allocationMultiplier": "2"}, "memory": {"capacityKey": "mem"}}
    return old


def test_slices_keep_what_is_not_there_yet_if_they_have_it() -> None:
    old = stored_with_alpha_fields()
    new = copy.deepcopy(old)
    new["spec"]["devices"].append({"name": "e", "attributes": {"v": {"versions": ["1.2.3"]}}})
    assert update(old, new).obj["spec"]["devices"] == new["spec"]["devices"]
    with_lists_only = copy.deepcopy(old)
    del with_lists_only["spec"]["devices"][0]["nodeAllocatableResourceMappings"]
    kept = update(with_lists_only, new).obj["spec"]["devices"][0]
    assert "nodeAllocatableResourceMappings" not in kept
    assert kept["attributes"] == {"m": {"strings": ["a", "b"]}}


@pytest.mark.parametrize(
    ("change", "errors"),
    [
        (
            {"attributes": {"m": {"strings": []}}},
            ["attributes[m].strings: Invalid value: []: must not be empty if specified"],
        ),
        (
            {"attributes": {"m": {"strings": ["x" * 65]}}},
            ["attributes[m].strings[0]: Too long: may not be more than 64 bytes"],
        ),
        (
            {"attributes": {"m": {"versions": ["1", "1.2.3"]}}},
            [
                'attributes[m].versions[0]: Invalid value: "1": must be a string compatible with semver.org spec 2.0.0',
            ],
        ),
        (
            {"nodeAllocatableResourceMappings": {"a.b/c": {"allocationMultiplier": "1"}}},
            [
                'nodeAllocatableResourceMappings[a.b/c]: Invalid value: "a.b/c": '
                "must be a node allocatable resource name"
            ],
        ),
        (
            {"nodeAllocatableResourceMappings": {"cpu": {}, "memory": {"allocationMultiplier": "-1"}}},
            [
                'nodeAllocatableResourceMappings[cpu]: Invalid value: "": at least one of allocationMultiplier or '
                "capacityKey must be set",
                'nodeAllocatableResourceMappings[memory].allocationMultiplier: Invalid value: "-1": must be positive',
            ],
        ),
        (
            {"nodeAllocatableResourceMappings": {"cpu": {"capacityKey": ""}, "memory": {"capacityKey": "q"}}},
            [
                'nodeAllocatableResourceMappings[cpu].capacityKey: Invalid value: "": capacityKey must not be an empty '
                "string",
                'nodeAllocatableResourceMappings[memory].capacityKey: Not found: "q"',
            ],
        ),
    ],
)
def test_what_a_kept_field_of_a_device_may_not_be(change: Any, errors: list[str]) -> None:
    old = stored_with_alpha_fields()
    new = copy.deepcopy(old)
    new["spec"]["devices"][0].update(change)
    assert update(old, new).errors == [f"spec.devices[0].{error}" for error in errors]


def test_devices_with_lists_are_special_and_have_no_more_than_48_values() -> None:
    old = stored_with_alpha_fields()
    new = copy.deepcopy(old)
    new["spec"]["devices"] = [{"name": f"d{i}", "attributes": {"q": {"strings": ["z"]}}} for i in range(65)]
    assert update(old, new).errors == ["spec.devices: Too many: 65: must have at most 64 items"]
    new["spec"]["devices"] = [{"name": "d", "attributes": {"q": {"ints": list(range(49))}}}]
    assert update(old, new).errors == [
        "spec.devices[0]: Invalid value: 49: the total number of attribute values must not exceed 48"
    ]


def test_classes_count_changes() -> None:
    old = created(obj("DeviceClass"))
    written = update(old, obj("DeviceClass", extendedResourceName="example.com/gpu"))
    assert written.errors == []
    assert written.obj["metadata"]["generation"] == 2
    assert create(obj("DeviceClass", selectors=[{}], extendedResourceName="cpu")).errors == [
        "spec.selectors[0].cel: Required value",
        'spec.extendedResourceName: Invalid value: "cpu": must be a valid extended resource name',
    ]


def test_of_a_class_that_is_stored_configurations_may_be_long_but_expressions_must_compile() -> None:
    def refuse(path: str, expression: str) -> list[FieldError]:
        return [invalid(path, expression, "does not compile")]

    opaque = {"driver": "d.example.com", "parameters": {"a": "x" * MAX_PARAMETERS}}
    spec = {"selectors": [{"cel": {"expression": "x"}}], "config": [{"opaque": opaque}]}
    told = [str(error) for error in validate_class_spec(spec, {}, "spec", refuse)]
    assert told == [
        'spec.selectors[0].cel.expression: Invalid value: "x": does not compile',
        "spec.config[0].opaque.parameters: Too long: may not be more than 10240 bytes",
    ]
    assert [str(error) for error in validate_class_spec(spec, spec, "spec", refuse)] == told[:1]


def test_slices_publish_devices() -> None:
    device = {
        "name": "d",
        "attributes": {"model": {"string": "x"}, "a.example/version": {"version": "1.2.3-rc.1"}},
        "capacity": {"memory": {"value": "1Gi"}},
        "taints": [{"key": "k", "effect": "NoSchedule"}],
    }
    found = created(published(device))
    assert found["spec"]["devices"][0]["taints"][0]["timeAdded"]
    behavior = BEHAVIORS.of(GroupKind(GROUP, "ResourceSlice"))
    assert behavior.selectable_fields is not None
    assert behavior.selectable_fields(found) == {"spec.nodeName": "n", "spec.driver": "a.example"}
    assert (row(found)["Node"], row(found)["Driver"], row(found)["Pool"]) == ("n", "a.example", "p")
    assert update(found, published(device, nodeName="m")).errors == [
        'spec.nodeName: Invalid value: "m": field is immutable'
    ]


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        (
            published(allNodes=True),
            [
                'spec: Invalid value: "{`nodeName`, `allNodes`}": exactly one of `nodeName`, '
                "`nodeSelector`, `allNodes`, "
                "`perDeviceNodeSelection` is required, but multiple fields are set"
            ],
        ),
        (
            published({"name": "d", "attributes": {"v": {"version": "1"}, "w": {}}}),
            [
                'spec.devices[0].attributes[v].version: Invalid value: "1": must be a string compatible '
                "with semver.org "
                "spec 2.0.0",
                'spec.devices[0].attributes[w]: Invalid value: "": exactly one value must be specified',
            ],
        ),
        (
            published({"name": "d", "capacity": {"m": {"value": "1", "requestPolicy": {"default": "1"}}}}),
            ["spec.devices[0].capacity[m].requestPolicy: Forbidden: allowMultipleAllocations must be true"],
        ),
        (
            published({"name": "d", "bindingConditions": ["a"]}),
            [
                "spec.devices[0].bindingFailureConditions: Invalid value: null: bindingFailureConditions "
                "are required to "
                "use bindingConditions"
            ],
        ),
        (
            published({"name": "d", "bindingConditions": [], "bindingFailureConditions": ["a"]}),
            [
                "spec.devices[0].bindingConditions: Invalid value: []: bindingConditions are required to use "
                "bindingFailureConditions"
            ],
        ),
    ],
)
def test_what_a_slice_may_not_be(body: Any, errors: list[str]) -> None:
    assert create(body).errors == errors


def test_portions_of_a_capacity_fit_into_it() -> None:
    policy = {"default": "3", "validRange": {"min": "2", "max": "20", "step": "2"}}
    device = {
        "name": "d",
        "allowMultipleAllocations": True,
        "capacity": {"m": {"value": "10", "requestPolicy": policy}},
    }
    path = "spec.devices[0].capacity[m].requestPolicy.validRange"
    assert create(published(device)).errors == [
        f'{path}.max: Invalid value: "20": max is larger than capacity value: 10',
        f'{path}.step: Invalid value: "3": value is not a multiple of a given step (2) from (2)',
    ]


def test_what_tolerates_a_taint_tolerates_one_value_of_it_by_default() -> None:
    toleration = {"key": "a.example.com/k", "value": "v"}
    requests = [
        {"name": "one", "exactly": {"deviceClassName": "c", "tolerations": [toleration]}},
        {"name": "any", "firstAvailable": [{"name": "x", "deviceClassName": "c", "tolerations": [toleration]}]},
    ]
    claim = {"devices": {"requests": requests}}
    head = {"apiVersion": "resource.k8s.io/v1", "metadata": {"name": "d"}}
    found = [
        created({**head, "kind": "ResourceClaim", "spec": claim})["spec"],
        created({**head, "kind": "ResourceClaimTemplate", "spec": {"spec": claim}})["spec"]["spec"],
    ]
    for spec in found:
        exact, several = spec["devices"]["requests"]
        assert exact["exactly"]["tolerations"] == [{**toleration, "operator": "Equal"}]
        assert several["firstAvailable"][0]["tolerations"] == [{**toleration, "operator": "Equal"}]


def test_a_driver_with_capitals_is_warned_of() -> None:
    warning = 'spec.driver: driver names should be lowercase; "A.example" contains uppercase characters'
    assert create(published(driver="A.example")).warnings == [warning]
    assert create(published()).warnings == []


@pytest.mark.parametrize("kind", ["DeviceClass", "ResourceClaim"])
def test_metadata_of_a_changed_object_are_judged_as_new_and_then_as_changed(kind: str) -> None:
    old = created(claim(one()) if kind == "ResourceClaim" else obj(kind))
    changed = {**old, "metadata": {**old["metadata"], "finalizers": ["plain"]}}
    assert [error.partition(": ")[0] for error in update(old, changed).errors] == ["metadata.finalizers[0]"] * 2


def test_metadata_of_a_template_are_shown_in_the_order_of_their_type() -> None:
    spec = claim(one())["spec"]
    old = created(obj("ResourceClaimTemplate", spec=spec))
    metadata = {"labels": {"b": "1", "a": "2"}, "annotations": {}, "generateName": "g", "name": "n", "finalizers": []}
    found = update(old, obj("ResourceClaimTemplate", spec=spec, metadata=metadata)).errors
    shown = '{"name":"n","generateName":"g","labels":{"a":"2","b":"1"},"Spec":'
    assert any(error.startswith(f"spec: Invalid value: {shown}") for error in found)


def test_a_template_may_not_even_say_that_there_is_no_grace() -> None:
    template = obj("ResourceClaimTemplate", spec=claim(one())["spec"], metadata={"deletionGracePeriodSeconds": 0})
    assert create(template).errors == ["spec.metadata.deletionGracePeriodSeconds: Forbidden: cannot be set"]

"""PersistentVolumes and claims: what they must say, and the little of it that may change."""

import copy
from typing import Any

import pytest
from kind_writer import create, created, read, row, update, update_status


def volume(*, annotations: Any = None, **spec: Any) -> Any:
    defaults = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "csi": {"driver": "example.com", "volumeHandle": "h"},
    }
    meta = {"name": "v", **({"annotations": annotations} if annotations else {})}
    filled = {key: value for key, value in {**defaults, **spec}.items() if value is not None}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": meta, "spec": filled}


def claim(*, annotations: Any = None, **spec: Any) -> Any:
    defaults = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    meta = {"name": "c", **({"annotations": annotations} if annotations else {})}
    filled = {key: value for key, value in {**defaults, **spec}.items() if value is not None}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": filled}


def zone(key: str, *values: str) -> Any:
    requirement = {"key": key, "operator": "In", "values": list(values)}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}}


def test_a_volume_is_kept_and_a_file_system() -> None:
    obj = created(volume())
    assert obj["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert obj["spec"]["volumeMode"] == "Filesystem"
    assert obj["status"]["phase"] == "Pending"
    assert obj["status"]["lastPhaseTransitionTime"].endswith("Z")


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({"accessModes": []}, ["accessModes: Required value"]),
        (
            {"accessModes": ["ReadWriteOncePod", "ReadOnlyMany"]},
            ["accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"],
        ),
        (
            {"accessModes": ["Read"]},
            [
                'accessModes: Unsupported value: "Read": supported values: '
                '"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"'
            ],
        ),
        (
            {"capacity": {"storage": "0"}},
            ['capacity[storage]: Invalid value: "0": must be greater than zero'],
        ),
        (
            {"capacity": {"storage": "1Gi", "cpu": "1"}},
            ['capacity: Unsupported value: {"cpu":"1","storage":"1Gi"}: supported values: "storage"'],
        ),
        ({"csi": None}, [": Required value: must specify a volume type"]),
        (
            {"hostPath": {"path": "/data"}},
            ["csi: Forbidden: may not specify more than 1 volume type"],
        ),
        (
            {"csi": None, "hostPath": {"path": "/"}, "persistentVolumeReclaimPolicy": "Recycle"},
            ["persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'"],
        ),
        ({"csi": None, "hostPath": {"path": "", "type": "Pipe"}}, ["hostPath.path: Required value"]),
        (
            {"nodeAffinity": {}},
            ["nodeAffinity.required: Required value: must specify required node constraints"],
        ),
        (
            {"volumeMode": "Tape"},
            ['volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"'],
        ),
        (
            {"csi": None, "hostPath": {"path": "/d"}, "volumeAttributesClassName": ""},
            [
                "volumeAttributesClassName: Required value: an empty string is disallowed",
                "csi: Required value: has to be specified when using volumeAttributesClassName",
            ],
        ),
    ],
)
def test_what_a_volume_must_say(spec: Any, errors: list[str]) -> None:
    expected = [f"spec{'' if error.startswith(':') else '.'}{error}" for error in errors]
    assert create(volume(**spec)).errors == expected


def test_what_a_volume_stands_for_stays() -> None:
    old = created(volume())
    body = copy.deepcopy(old)
    body["spec"]["csi"]["volumeHandle"] = "other"
    (error,) = update(old, body).errors
    assert error.startswith(
        "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n"
    )
    body = copy.deepcopy(old)
    body["spec"]["csi"]["controllerExpandSecretRef"] = {"name": "s", "namespace": "n"}
    assert update(old, body).errors == []


def test_affinity_of_a_volume_stays_but_for_labels_that_became_stable() -> None:
    old = created(volume(nodeAffinity=zone("failure-domain.beta.kubernetes.io/zone", "a")))
    body = copy.deepcopy(old)
    body["spec"]["nodeAffinity"] = zone("topology.kubernetes.io/zone", "a")
    assert update(old, body).errors == []
    body["spec"]["nodeAffinity"] = zone("topology.kubernetes.io/zone", "b")
    (error,) = update(old, body).errors
    assert error.startswith("nodeAffinity: Invalid value: ")
    assert error.endswith("field is immutable, except for updating from beta label to GA")


def test_affinity_of_a_volume_that_loses_a_key_is_refused_for_that_alone() -> None:
    old = created(volume(nodeAffinity=zone("example.com/zone", "a")))
    body = copy.deepcopy(old)
    body["spec"]["nodeAffinity"] = zone("", "a")
    errors = update(old, body).errors
    assert errors
    assert not any("immutable" in error for error in errors)


def test_a_change_of_phase_is_noted() -> None:
    old = created(volume())
    old["status"]["lastPhaseTransitionTime"] = "2020-01-01T00:00:00Z"
    same = update_status(old, {"phase": "Pending"})
    assert same.obj["status"]["lastPhaseTransitionTime"] == "2020-01-01T00:00:00Z"
    changed = update_status(old, {"phase": "Available"})
    assert changed.obj["status"]["lastPhaseTransitionTime"] > "2020-01-01T00:00:00Z"
    told = update_status(old, {"phase": "Available", "lastPhaseTransitionTime": "2021-01-01T00:00:00Z"})
    assert told.obj["status"]["lastPhaseTransitionTime"] == "2021-01-01T00:00:00Z"


def test_what_is_deprecated_of_a_volume_is_said() -> None:
    annotations = {"volume.beta.kubernetes.io/storage-class": "old"}
    body = volume(
        annotations=annotations,
        csi=None,
        rbd={"image": "i", "monitors": ["m"]},
        persistentVolumeReclaimPolicy="Recycle",
    )
    assert create(body).warnings == [
        "metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; "
        'use "storageClassName" attribute instead',
        "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
        "Instead, the recommended approach is to use dynamic provisioning.",
        "spec.rbd: deprecated in v1.28, non-functional in v1.31+",
    ]


def test_options_in_an_annotation_are_for_what_is_mounted_with_options() -> None:
    annotations = {"volume.beta.kubernetes.io/mount-options": "ro"}
    nfs = volume(annotations=annotations, csi=None, nfs={"server": "s", "path": "/"})
    accepted = create(nfs)
    assert (accepted.errors, accepted.warnings) == (
        [],
        [
            "metadata.annotations[volume.beta.kubernetes.io/mount-options]: deprecated since v1.31; "
            'use "mountOptions" attribute instead'
        ],
    )
    refused = (
        "metadata.annotations.volume.beta.kubernetes.io/mount-options: Forbidden: "
        "may not specify mount options for this volume type"
    )
    assert refused in create(volume(annotations=annotations)).errors
    assert update(created(volume()), volume(annotations=annotations)).errors == [refused]


def test_the_table_of_volumes_shows_claims() -> None:
    obj = created(volume(claimRef={"namespace": "n", "name": "c"}, storageClassName="fast"))
    shown = row(obj)
    assert (shown["Capacity"], shown["Access Modes"], shown["Claim"]) == ("1Gi", "RWO", "n/c")
    assert (shown["StorageClass"], shown["VolumeAttributesClass"], shown["Status"]) == ("fast", "<unset>", "Pending")


def test_a_claim_begins_pending() -> None:
    obj = created(claim())
    assert (obj["status"], obj["spec"]["volumeMode"]) == ({"phase": "Pending"}, "Filesystem")


def test_a_source_of_old_and_one_of_new_say_the_same() -> None:
    source = {"apiGroup": None, "kind": "PersistentVolumeClaim", "name": "other"}
    spec = created(claim(dataSource=source))["spec"]
    assert spec["dataSource"] == spec["dataSourceRef"] == source
    spec = created(claim(dataSourceRef=source))["spec"]
    assert spec["dataSource"] == source
    elsewhere = {**source, "namespace": "far"}
    assert "dataSource" not in read(claim(dataSourceRef=elsewhere))["spec"]


def test_a_claim_stays_but_may_grow_when_bound() -> None:
    old = created(claim(storageClassName="fast"))
    body = copy.deepcopy(old)
    body["spec"]["resources"]["requests"]["storage"] = "2Gi"
    (error,) = update(old, body).errors
    assert error.startswith(
        "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName "
        "for bound claims\n"
    )
    old["status"] = {"phase": "Bound", "capacity": {"storage": "1Gi"}}
    old["spec"]["volumeName"] = body["spec"]["volumeName"] = "v"
    assert update(old, body).errors == []
    body["spec"]["resources"]["requests"]["storage"] = "500Mi"
    assert update(old, body).errors == [
        "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
    ]
    body["spec"]["resources"]["requests"] = {}
    assert [error.partition(": ")[0] for error in update(old, body).errors] == [
        "spec.resources[storage]",
        "spec.resources.requests.storage",
    ]


def test_a_claim_is_bound_once() -> None:
    old = created(claim())
    body = copy.deepcopy(old)
    body["spec"]["volumeName"] = "v"
    assert update(old, body).errors == []
    other = copy.deepcopy(body)
    other["spec"]["volumeName"] = "w"
    assert len(update(body, other).errors) == 1


def test_the_class_of_a_claim_moves_from_its_annotation() -> None:
    annotations = {"volume.beta.kubernetes.io/storage-class": "fast"}
    old = created(claim(annotations=annotations))
    body = copy.deepcopy(old)
    body["spec"]["storageClassName"] = "fast"
    assert update(old, body).errors == []
    body["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"] = "slow"
    assert any(
        error.startswith("metadata.annotations.volume.beta.kubernetes.io/storage-class: Invalid value")
        for error in update(old, body).errors
    )


def test_the_status_of_a_claim_knows_storage_only() -> None:
    old = created(claim())
    written = update_status(old, {"allocatedResources": {"cpu": "1"}, "capacity": {"storage": "-1"}})
    assert written.errors == [
        "status.capacity[storage]: Invalid value: -1: must be a valid resource quantity",
        'status.allocatedResources: Unsupported value: "cpu": supported values: "storage"',
    ]


def test_the_table_of_claims_shows_what_is_bound() -> None:
    obj = created(claim(storageClassName="fast"))
    assert (row(obj)["Status"], row(obj)["Capacity"], row(obj)["Access Modes"]) == ("Pending", "", "")
    obj["spec"]["volumeName"] = "v"
    obj["status"] = {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
    shown = row(obj)
    assert (shown["Volume"], shown["Capacity"], shown["Access Modes"]) == ("v", "1Gi", "RWO")
    obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert row(obj)["Status"] == "Terminating"


def test_old_labels_of_nodes_in_the_affinity_of_a_volume_are_warned_of() -> None:
    terms = [{"matchExpressions": [{"key": "beta.kubernetes.io/os", "operator": "Exists"}]}]
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/x"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
    }
    body = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": spec}
    path = "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key"
    old = 'deprecated since v1.14; use "kubernetes.io/os" instead'
    assert create(body).warnings == [f"{path}: beta.kubernetes.io/os is {old}"]

"""Storage classes, and what CSI drivers, nodes, capacities and attachments say."""

import copy
from typing import Any

import pytest
from kind_writer import BEHAVIORS, create, created, read, row, update, update_status

from watchkeeper.meta.gvk import GroupKind


def body(kind: str, *, name: str = "a", annotations: Any = None, **fields: Any) -> Any:
    meta = {"name": name, **({"annotations": annotations} if annotations else {})}
    return {"apiVersion": "storage.k8s.io/v1", "kind": kind, "metadata": meta, **fields}


def storage_class(**fields: Any) -> Any:
    return body("StorageClass", **{"provisioner": "example.com/p", **fields})


def driver(**spec: Any) -> Any:
    return body("CSIDriver", name="example.com", spec=spec)


def csi_node(*drivers: Any) -> Any:
    return body("CSINode", spec={"drivers": list(drivers)})


def attachment(**spec: Any) -> Any:
    defaults = {"attacher": "example.com", "nodeName": "n", "source": {"persistentVolumeName": "v"}}
    return body("VolumeAttachment", spec={**defaults, **spec})


def test_a_class_deletes_and_binds_at_once() -> None:
    obj = read(storage_class())
    assert (obj["reclaimPolicy"], obj["volumeBindingMode"]) == ("Delete", "Immediate")


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({"provisioner": ""}, ["provisioner: Required value"]),
        (
            {"reclaimPolicy": "Recycle"},
            ['reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"'],
        ),
        (
            {"volumeBindingMode": "Never"},
            ['volumeBindingMode: Unsupported value: "Never": supported values: "Immediate", "WaitForFirstConsumer"'],
        ),
        ({"parameters": {"": "x"}}, ['parameters: Invalid value: "": field can not be empty.']),
        (
            {"allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["a", "a"]}]}]},
            ['allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: "a"'],
        ),
        (
            {"allowedTopologies": [{"matchLabelExpressions": [{"key": "zone"}]}]},
            ["allowedTopologies[0].matchLabelExpressions[0].values: Required value"],
        ),
        ({"allowedTopologies": [{}]}, ['allowedTopologies[0].matchLabelExpressions: Duplicate value: ""']),
    ],
)
def test_what_a_class_must_say(fields: Any, errors: list[str]) -> None:
    assert create(storage_class(**fields)).errors == errors


def test_refusals_show_provisioners_in_lower_case() -> None:
    (error,) = create(storage_class(provisioner="Example.com/P/q")).errors
    assert error.startswith('provisioner: Invalid value: "example.com/p/q": ')


def test_a_class_stays() -> None:
    old = created(storage_class(parameters={"a": "b"}))
    changed = storage_class(provisioner="example.com/q", volumeBindingMode="WaitForFirstConsumer")
    assert update(old, changed).errors == [
        "parameters: Invalid value: null: field is immutable",
        'provisioner: Invalid value: "example.com/q": field is immutable',
        'volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable',
    ]
    assert update(old, storage_class(parameters={"a": "b"}, allowVolumeExpansion=True)).errors == []


def test_the_table_marks_the_default_class() -> None:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    shown = row(created(storage_class(annotations=annotations)))
    assert (shown["Name"], shown["AllowVolumeExpansion"]) == ("a (default)", False)
    assert row(created(storage_class()))["Name"] == "a"


def test_old_labels_in_topologies_are_warned_of() -> None:
    expression = {"key": "failure-domain.beta.kubernetes.io/zone", "values": ["a"]}
    (warning,) = create(storage_class(allowedTopologies=[{"matchLabelExpressions": [expression]}])).warnings
    assert warning == (
        "allowedTopologies[0].matchLabelExpressions[0].key: "
        'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    )


def test_a_class_of_attributes_has_parameters_that_stay() -> None:
    plain = body("VolumeAttributesClass", driverName="example.com", parameters={"iops": "1"})
    old = created(plain)
    assert row(old)["DriverName"] == "example.com"
    assert create({**plain, "parameters": {}}).errors == [
        "parameters: Required value: must contain at least one key/value pair"
    ]
    assert update(old, {**plain, "parameters": {"iops": "2"}}).errors == [
        "parameters: Forbidden: updates to parameters are forbidden."
    ]
    assert update(old, {**plain, "driverName": ""}).errors == [
        "driverName: Forbidden: updates to driverName are forbidden.",
        "driverName: Required value",
    ]


def test_a_driver_is_filled_in() -> None:
    assert created(driver())["spec"] == {
        "attachRequired": True,
        "podInfoOnMount": False,
        "storageCapacity": False,
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "requiresRepublish": False,
        "seLinuxMount": False,
        "volumeLifecycleModes": ["Persistent"],
    }


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        (
            {"volumeLifecycleModes": ["Forever"]},
            ['volumeLifecycleModes: Unsupported value: "Forever": supported values: "Persistent", "Ephemeral"'],
        ),
        (
            {"tokenRequests": [{"audience": "a", "expirationSeconds": 1}, {"audience": "a"}]},
            [
                "tokenRequests[0].expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes",
                'tokenRequests[1].audience: Duplicate value: "a"',
            ],
        ),
        (
            {"nodeAllocatableUpdatePeriodSeconds": 5},
            ["nodeAllocatableUpdatePeriodSeconds: Invalid value: 5: must be greater than or equal to 10 seconds"],
        ),
        (
            {"serviceAccountTokenInSecrets": False},
            [
                "serviceAccountTokenInSecrets: Invalid value: false: serviceAccountTokenInSecrets is set but no "
                "tokenRequests are specified"
            ],
        ),
    ],
)
def test_what_a_driver_must_say(spec: Any, errors: list[str]) -> None:
    assert create(driver(**spec)).errors == [f"spec.{error}" for error in errors]


def test_what_a_driver_can_do_stays() -> None:
    old = created(driver())
    assert update(old, driver(attachRequired=False)).errors == [
        "spec.attachedRequired: Invalid value: false: field is immutable"
    ]
    assert update(old, driver(fsGroupPolicy="None")).errors == []
    changed = update(old, driver(podInfoOnMount=True))
    assert "generation" not in old["metadata"]
    assert (changed.errors, changed.obj["metadata"]["generation"]) == ([], 1)
    assert row(old)["TokenRequests"] == "<unset>"
    assert row(created(driver(tokenRequests=[{"audience": "a"}, {"audience": "b"}])))["TokenRequests"] == "a,b"


def test_a_node_knows_each_driver_once() -> None:
    one = {"name": "example.com", "nodeID": "id", "topologyKeys": None}
    assert create(csi_node(one, {**one, "nodeID": ""})).errors == [
        "spec.drivers[1].nodeID: Required value",
        'spec.drivers[1].name: Duplicate value: "example.com"',
    ]
    old = created(csi_node(one))
    assert update(old, csi_node({**one, "allocatable": {"count": 5}})).errors == []
    assert update(old, csi_node({**one, "nodeID": "other"})).errors == [
        'spec.drivers: Invalid value: {"Name":"example.com","NodeID":"other","TopologyKeys":null,"Allocatable":null}: '
        "field is immutable"
    ]
    faulty = {**one, "name": "other.example", "nodeID": "x" * 257}
    assert len(update(old, csi_node(one, faulty)).errors) == 1
    (error,) = create(csi_node({**one, "topologyKeys": ["zone", "_"]})).errors
    assert error.startswith('spec.drivers[0]: Invalid value: "_": ')
    assert row(old)["Drivers"] == 1


def test_a_capacity_is_of_one_class_in_one_place() -> None:
    plain = body("CSIStorageCapacity", storageClassName="fast", capacity="1Gi")
    old = created(plain)
    assert create({**plain, "capacity": "-1"}).errors == [
        'capacity: Invalid value: "-1": must be greater than or equal to 0'
    ]
    assert create({**plain, "maximumVolumeSize": "-1"}).errors == []
    assert update(old, {**plain, "storageClassName": "slow"}).errors == [
        'storageClassName: Invalid value: "slow": field is immutable'
    ]


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        (
            {"source": {}},
            ["source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName"],
        ),
        (
            {"source": {"persistentVolumeName": "v", "inlineVolumeSpec": {}}},
            ["source: Forbidden: must specify exactly one of inlineVolumeSpec and persistentVolumeName"],
        ),
        (
            {"source": {"inlineVolumeSpec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1"}}}},
            [
                "source.inlineVolumeSpec.capacity: Forbidden: may not be specified in the context of inline volumes",
                "source.inlineVolumeSpec.csi: Required value: has to be specified in the context of inline volumes",
                "source.inlineVolumeSpec: Required value: must specify a volume type",
            ],
        ),
        (
            {
                "source": {
                    "inlineVolumeSpec": {
                        "accessModes": ["ReadWriteOnce"],
                        "claimRef": {},
                        "csi": {"driver": "d", "volumeHandle": "h"},
                        "volumeAttributesClassName": "A b",
                    }
                }
            },
            ["source.inlineVolumeSpec.claimRef: Forbidden: may not be specified in the context of inline volumes"],
        ),
        (
            {"source": {"persistentVolumeName": ""}},
            [
                "source.persistentVolumeName: Required value: must specify non empty persistentVolumeName",
                'source.persistentVolumeName: Invalid value: ""',
            ],
        ),
    ],
)
def test_what_an_attachment_must_say(spec: Any, errors: list[str]) -> None:
    found = create(attachment(**spec)).errors
    assert len(found) == len(errors)
    for text, error in zip(found, errors, strict=True):
        assert text.startswith(f"spec.{error}")


def test_an_attachment_stays_and_its_status_is_written_apart() -> None:
    old = created(attachment())
    assert update(old, attachment(nodeName="m")).errors == [
        'spec: Invalid value: {"Attacher":"example.com","Source":{"PersistentVolumeName":"v","InlineVolumeSpec":null},'
        '"NodeName":"m"}: field is immutable'
    ]
    changed = copy.deepcopy(old)
    changed["metadata"]["labels"] = {"a": "b"}
    written = update_status(changed, {"attached": True})
    assert (written.errors, written.obj["status"]["attached"]) == ([], True)
    assert row(old)["Attached"] is False
    assert update_status(old, {"attached": False, "attachError": {"message": "x" * 1025}}).errors == [
        "status.attachError.message: Too long: may not be more than 262144 bytes"
    ]
    assert update_status(old, {"detachError": {"errorCode": -1}}).errors == [
        "status.detachError.errorCode: Invalid value: -1: must be between 0 and 2147483647, inclusive"
    ]


def test_tokens_of_drivers_that_may_show_are_warned_of() -> None:
    words = "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent "
    warnings = [words + "possible logging of tokens in volume attributes"]
    tokens, others = [{"audience": "a"}], [{"audience": "b"}]
    assert create(driver(tokenRequests=tokens)).warnings == warnings
    assert create(driver(tokenRequests=tokens, serviceAccountTokenInSecrets=False)).warnings == []
    old = created(driver(tokenRequests=tokens))
    assert update(old, driver(tokenRequests=tokens, podInfoOnMount=True)).warnings == []
    assert update(old, driver(tokenRequests=others)).warnings == warnings
    assert update(old, driver()).warnings == []


def test_what_belongs_to_a_feature_that_is_off_is_left_out() -> None:
    old = created(driver(preventPodSchedulingIfMissing=True))
    assert "preventPodSchedulingIfMissing" not in old["spec"]
    changed = update(old, driver(preventPodSchedulingIfMissing=True)).obj
    assert changed == {**old, "metadata": changed["metadata"]}


def test_a_driver_has_a_name_as_other_kinds_do() -> None:
    assert create({**driver(), "metadata": {"name": "x" * 64}}).errors == []
    (error,) = create({**driver(), "metadata": {"name": "Example"}}).errors
    assert error.startswith('metadata.name: Invalid value: "Example": ')


@pytest.mark.parametrize("kind", ["CSIDriver", "CSINode", "CSIStorageCapacity", "VolumeAttachment"])
def test_what_drivers_write_is_changed_with_a_version(kind: str) -> None:
    assert BEHAVIORS.of(GroupKind("storage.k8s.io", kind)).allow_unconditional_update is False


def test_old_labels_of_nodes_are_warned_of() -> None:
    old = 'deprecated since v1.14; use "kubernetes.io/os" instead'
    os = "beta.kubernetes.io/os"
    topology = {"matchLabels": {os: "linux"}, "matchExpressions": [{"key": os, "operator": "Exists"}]}
    body = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": "c"},
        "storageClassName": "s",
        "nodeTopology": topology,
    }
    warnings = [f"nodeTopology.matchExpressions[0].key: {os} is {old}", f"nodeTopology.matchLabels.{os}: {old}"]
    written = create(body)
    assert written.warnings == warnings
    assert update(created(body), body).warnings == warnings


def test_a_volume_described_in_place_takes_the_defaults_of_a_volume_and_shows_as_one() -> None:
    inline = {"capacity": {}, "rbd": {"monitors": ["m"], "image": "i"}}
    given = body("VolumeAttachment", spec={"attacher": "a", "nodeName": "n", "source": {"inlineVolumeSpec": inline}})
    source = read(given)["spec"]["source"]["inlineVolumeSpec"]["rbd"]
    assert (source["pool"], source["user"], source["keyring"]) == ("rbd", "admin", "/etc/ceph/keyring")
    old = {**given, "metadata": {"name": "x", "uid": "u"}, "spec": {**given["spec"], "nodeName": "m"}}
    error = update(old, given).errors[-1]
    assert error.startswith(
        'spec: Invalid value: {"Attacher":"a","Source":{"PersistentVolumeName":null,"InlineVolumeSpec":{"Capacity":{},'
        '"GCEPersistentDisk":null,'
    )
    assert '"MountOptions":null,"VolumeMode":null,"NodeAffinity":null,"VolumeAttributesClassName":null}}' in error


def test_the_keys_of_a_driver_on_a_node_show_as_they_were_sent() -> None:
    old = body("CSINode", spec={"drivers": [{"name": "d", "nodeID": "n", "topologyKeys": None}]})
    new = body("CSINode", spec={"drivers": [{"name": "d", "nodeID": "n", "topologyKeys": []}]})
    assert update(created(old), new).errors == []
    new["spec"]["drivers"][0]["nodeID"] = "m"
    shown = '{"Name":"d","NodeID":"m","TopologyKeys":[],"Allocatable":null}'
    assert update(created(old), new).errors == [f"spec.drivers: Invalid value: {shown}: field is immutable"]


def test_a_topology_that_selects_all_is_another_than_none() -> None:
    old = created(body("CSIStorageCapacity", storageClassName="fast"))
    changed = body("CSIStorageCapacity", storageClassName="fast", nodeTopology={})
    assert update(old, changed).errors == ["nodeTopology: Invalid value: {}: field is immutable"]
    assert update(created(changed), body("CSIStorageCapacity", storageClassName="fast")).errors == [
        "nodeTopology: Invalid value: null: field is immutable"
    ]

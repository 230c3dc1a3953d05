from __future__ import annotations

from typing import Any

from watchkeeper.apis.validation.metadata import (
    validate_builtin_object_meta,
    validate_builtin_object_meta_update,
    validate_immutable,
    validate_object_meta_update,
)

UID = "11111111-2222-3333-4444-555555555555"


def texts(errors: Any) -> list[str]:
    return [str(error) for error in errors]


def meta(**fields: Any) -> dict[str, Any]:
    return {"name": "a", "namespace": "ns", "uid": UID, "resourceVersion": "1", **fields}


def test_plain_metadata_is_valid() -> None:
    good = meta(labels={"a": "b"}, annotations={"example.com/c": "any thing"}, finalizers=["example.com/hold"])
    assert validate_builtin_object_meta(good, namespaced=True) == []


def test_a_name_is_required_and_a_namespace_where_there_are_some() -> None:
    assert texts(validate_builtin_object_meta({}, namespaced=True)) == [
        "metadata.name: Required value: name or generateName is required",
        "metadata.namespace: Required value",
    ]
    assert texts(validate_builtin_object_meta(meta(), namespaced=False)) == [
        "metadata.namespace: Forbidden: not allowed on this type"
    ]


def test_labels_and_annotations_are_named_by_their_fields() -> None:
    wrong = meta(labels={"a b": "c", "d": "-"}, annotations={"-": "x"})
    fields = [error.field for error in validate_builtin_object_meta(wrong, namespaced=True)]
    assert fields == ["metadata.labels", "metadata.labels", "metadata.annotations"]


def test_annotations_hold_256_kib_in_all() -> None:
    large = meta(annotations={"a": "x" * (256 * 1024)})
    [error] = texts(validate_builtin_object_meta(large, namespaced=True))
    assert error == "metadata.annotations: Too long: may not be more than 262144 bytes"


def test_only_one_owner_is_the_controller() -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "o", "uid": "u", "controller": True}
    errors = validate_builtin_object_meta(
        meta(ownerReferences=[owner, {**owner, "name": "p", "uid": "v"}]), namespaced=True
    )
    assert [error.field for error in errors] == ["metadata.ownerReferences"]
    assert "Only one reference can have Controller set to true." in errors[0].detail


def test_owners_name_what_they_are() -> None:
    errors = validate_builtin_object_meta(meta(ownerReferences=[{}]), namespaced=True)
    assert [error.field.rpartition(".")[2] for error in errors] == ["apiVersion", "kind", "name", "uid"]


def test_finalizers_of_built_in_kinds_are_qualified() -> None:
    [error] = texts(validate_builtin_object_meta(meta(finalizers=["hold"]), namespaced=True))
    why = "name is neither a standard finalizer name nor is it fully qualified"
    assert error == f'metadata.finalizers[0]: Invalid value: "hold": {why}'


def test_identity_does_not_change() -> None:
    errors = texts(validate_object_meta_update(meta(name="b", uid="v"), meta()))
    assert errors == [
        'metadata.name: Invalid value: "b": field is immutable',
        'metadata.uid: Invalid value: "v": field is immutable',
    ]


def test_updates_say_what_they_replace() -> None:
    new = meta()
    del new["resourceVersion"]
    [error] = texts(validate_object_meta_update(new, meta()))
    assert error == 'metadata.resourceVersion: Invalid value: "": must be specified for an update'


def test_what_is_being_deleted_gets_no_new_finalizers() -> None:
    going = meta(deletionTimestamp="2024-01-01T00:00:00Z", deletionGracePeriodSeconds=0, finalizers=["example.com/a"])
    more = {**going, "finalizers": ["example.com/a", "example.com/b"]}
    [error] = texts(validate_builtin_object_meta_update(more, going))
    assert error.startswith("metadata.finalizers: Forbidden: no new finalizers can be added if the object is being")
    assert validate_builtin_object_meta_update({**going, "finalizers": []}, going) == []


def test_empty_and_absent_are_the_same_to_immutable_fields() -> None:
    assert validate_immutable(None, {}, "spec.x") == []
    assert texts(validate_immutable({"a": 1}, None, "spec.x")) == ['spec.x: Invalid value: {"a":1}: field is immutable']

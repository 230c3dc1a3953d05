"""What is cut out of an encoding is the record of owners, and never anything else."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.storage.codec import JsonCodec
from watchkeeper.storage.unmanaged import without_managed_fields

Object = dict[str, Any]

CODEC = JsonCodec(
    GroupVersionKind("", "v1", "Thing"), lambda obj: {"spec.at": str((obj.get("spec") or {}).get("at", ""))}
)

NASTY = st.sampled_from(
    [
        '],"name":"x"',
        ',"managedFields":[',
        '{"',
        "}]",
        "\\",
        '"',
        "name",
        "managedFields",
        '\\"managedFields\\":[1],\\"name\\":\\"',
    ]
)
TEXT = NASTY | st.text(max_size=5)
VALUE = st.recursive(
    TEXT | st.integers(-5, 5) | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "managedFields", "a", "z", "metadata"]) | TEXT, inner, max_size=3)
    ),
    max_leaves=8,
)
RECORD = st.lists(
    st.fixed_dictionaries(
        {"manager": TEXT, "fieldsV1": st.dictionaries(TEXT, VALUE, max_size=3)}, optional={"time": TEXT}
    ),
    max_size=3,
)
METADATA = st.fixed_dictionaries(
    {"name": TEXT},
    optional={
        "namespace": TEXT,
        "uid": TEXT,
        "managedFields": RECORD,
        "labels": st.dictionaries(TEXT, TEXT, max_size=3),
        "annotations": st.dictionaries(TEXT, TEXT, max_size=3),
        "ownerReferences": st.lists(st.fixed_dictionaries({"name": TEXT, "uid": TEXT}), max_size=2),
    },
)
OBJECTS = st.fixed_dictionaries(
    {"kind": st.just("Thing"), "apiVersion": st.just("v1"), "metadata": METADATA},
    optional={
        "spec": st.dictionaries(st.sampled_from(["at", "name", "managedFields", "template"]), VALUE, max_size=4),
        "zone": VALUE,
        "managedFields": VALUE,
    },
)


@given(OBJECTS)
def test_attributes_are_those_of_the_whole_object(obj: Object) -> None:
    stored = CODEC.stored("/things/x", CODEC.encode(obj), 7)
    assert stored.attributes == CODEC.attributes(stored.data())


@given(OBJECTS)
def test_what_is_left_is_the_object_without_the_record(obj: Object) -> None:
    tail = CODEC.stored("/things/x", CODEC.encode(obj), 7).tail
    left = without_managed_fields(tail)
    if left is None:
        return
    metadata = {k: v for k, v in obj["metadata"].items() if k != "managedFields"}
    rest = {k: v for k, v in obj.items() if k not in ("kind", "apiVersion")}
    assert left == {**rest, "metadata": {"resourceVersion": "7", **metadata}}


def test_the_record_that_this_program_writes_is_cut_out() -> None:
    fields = {"f:spec": {"f:at": {}, 'k:{"name":"a"}': {".": {}}}}
    record = [{"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields}]
    obj = {"metadata": {"name": "n", "labels": {"a": "b"}, "managedFields": record}, "spec": {"at": "here"}}
    left = without_managed_fields(CODEC.stored("/things/n", CODEC.encode(obj), 7).tail)
    assert left == {"metadata": {"resourceVersion": "7", "labels": {"a": "b"}, "name": "n"}, "spec": {"at": "here"}}


@pytest.mark.parametrize(
    "tail",
    [
        b'"metadata":{"resourceVersion":"7","name":"n","managedFields":[]},"spec":{"x":[],"name":"s"}}',
        b'"metadata":{"resourceVersion":"7","labels":{},"name":"n"},"spec":{"a":1,"managedFields":[1],"name":"s"}}',
        b'"metadata":{"resourceVersion":"7","managedFields":[{"a":{],"name":"n"}}',
        b'"metadata":{"resourceVersion":"7","managedFields":[{"a":[],"name":"i"}],"name":"n"}}',
        b'"metadata":{"resourceVersion":"7","managedFields":[],"name":"n"}',
        b'"metadata":{"resourceVersion":"7","managedFields":[{}]}}',
    ],
    ids=["in Go's order", "not in the metadata", "broken", "a name inside", "cut short", "no name"],
)
def test_what_is_not_plainly_so_is_left_alone(tail: bytes) -> None:
    assert without_managed_fields(tail) is None

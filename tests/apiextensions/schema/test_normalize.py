"""What becomes of an object before anybody validates or stores it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from watchkeeper.apiextensions.schema.defaulting import compile_defaulter
from watchkeeper.apiextensions.schema.normalize import compile_normalizer
from watchkeeper.apiextensions.schema.structural import read_structural
from watchkeeper.runtime.scheme import DecodeError


def _spec(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


def _normalize(schema: dict[str, Any], value: Any) -> tuple[Any, list[str]]:
    unknown: list[str] = []
    found = compile_normalizer(read_structural(schema))(copy.deepcopy(value), unknown, "")
    return found, sorted(unknown)


WIDGET = _spec(
    size={"type": "integer"},
    ratio={"type": "number"},
    box={"type": "object", "properties": {"w": {"type": "integer"}}},
    list={"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}}},
    map={
        "type": "object",
        "additionalProperties": {"type": "object", "properties": {"k": {"type": "integer"}}},
    },
    free={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    port={"x-kubernetes-int-or-string": True},
    maybe={"type": "string", "nullable": True},
    with_default={"type": "string", "default": "x"},
)


def test_nulls_of_what_the_schema_names_can_be_kept() -> None:
    spec = {"size": None, "box": {"w": None, "odd": None}, "list": [None, {"a": None}], "map": {"k": None}, "odd": None}
    walk = compile_normalizer(read_structural(WIDGET), keeps_nulls=True)
    kept = {"size": None, "box": {"w": None}, "list": [None, {"a": None}], "map": {"k": None}}
    assert walk({"spec": copy.deepcopy(spec)}, None, "") == {"spec": kept}
    assert _normalize(WIDGET, {"spec": spec})[0] == {"spec": {"box": {}, "list": [None, {}], "map": {}}}


def test_fields_that_the_schema_does_not_name_go_at_every_depth_and_are_told_of() -> None:
    value = {
        "apiVersion": "g/v1",
        "kind": "Widget",
        "metadata": {"name": "a", "whatever": 1},
        "extra": {"x": 1},
        "spec": {
            "box": {"odd": {"x": 1}, "w": 1},
            "list": [{"a": 1, "odd": 1}, {"odd": 1}],
            "map": {"any": {"k": 1, "odd": 1}},
            "odd": 1,
            "size": 1,
        },
    }
    found, unknown = _normalize(WIDGET, value)
    assert found == {
        "apiVersion": "g/v1",
        "kind": "Widget",
        "metadata": {"name": "a", "whatever": 1},
        "spec": {"box": {"w": 1}, "list": [{"a": 1}, {}], "map": {"any": {"k": 1}}, "size": 1},
    }
    assert unknown == [
        "extra",
        "spec.box.odd",
        "spec.list[0].odd",
        "spec.list[1].odd",
        "spec.map.any.odd",
        "spec.odd",
    ]


def test_what_is_preserved_keeps_everything_inside() -> None:
    value = {"spec": {"free": {"any": [{"thing": {"x": None}}], "n": 2.0}}}
    found, unknown = _normalize(WIDGET, value)
    assert found == {"spec": {"free": {"any": [{"thing": {"x": None}}], "n": 2.0}}}
    assert found["spec"]["free"]["n"].__class__ is float
    assert unknown == []


@pytest.mark.parametrize("additional", [True, False])
@pytest.mark.parametrize("preserve", [True, None])
def test_a_map_of_anything_or_nothing_keeps_its_keys_and_nothing_is_known_of_what_is_inside(
    additional: bool, preserve: bool | None
) -> None:
    kind = {"type": "object", "additionalProperties": additional, "x-kubernetes-preserve-unknown-fields": preserve}
    found, unknown = _normalize(_spec(map=kind), {"spec": {"map": {"a": 1, "b": {"c": 1}, "d": [{"e": 1}]}}})
    assert found == {"spec": {"map": {"a": 1, "b": {}, "d": [{}]}}}
    assert unknown == ["spec.map.b.c", "spec.map.d[0].e"]


@pytest.mark.parametrize(
    ("field", "kept"),
    [("size", False), ("box", False), ("maybe", True), ("with_default", True)],
)
def test_null_goes_unless_it_is_allowed_or_a_default_replaces_it(field: str, kept: bool) -> None:
    found, unknown = _normalize(WIDGET, {"spec": {field: None}})
    assert found == {"spec": {field: None} if kept else {}}
    assert unknown == []


@pytest.mark.parametrize(("given", "becomes"), [(2.0, 2.0), (2.5, 2.5), (7, 7), (2**63, 2.0**63)])
def test_whole_floats_stay_floats(given: float, becomes: float) -> None:
    for field in ("size", "ratio", "port"):
        found, _ = _normalize(WIDGET, {"spec": {field: given}})
        assert found["spec"][field] == becomes
        assert found["spec"][field].__class__ is becomes.__class__


def test_integers_beyond_64_bits_become_floats() -> None:
    found, _ = _normalize(WIDGET, {"spec": {"size": 2**64, "ratio": 2**63 - 1}})
    assert found["spec"]["size"].__class__ is float
    assert found["spec"]["ratio"] == 2**63 - 1


def test_numbers_beyond_floats_are_refused() -> None:
    with pytest.raises(DecodeError):
        _normalize(WIDGET, {"spec": {"ratio": float("inf")}})


def test_objects_where_the_schema_has_something_else_lose_their_fields_but_stay_for_validation_to_see() -> None:
    found, unknown = _normalize(WIDGET, {"spec": {"size": {"a": 1}, "list": {"b": 2}, "box": [1]}})
    assert found == {"spec": {"size": {}, "list": {}, "box": [1]}}
    assert unknown == ["spec.list.b", "spec.size.a"]


def test_without_a_schema_only_type_and_metadata_stay() -> None:
    walk = compile_normalizer(None)
    assert walk({"apiVersion": "v1", "kind": "K", "metadata": {}, "spec": 1}, None, "") == {
        "apiVersion": "v1",
        "kind": "K",
        "metadata": {},
    }


def test_an_embedded_resource_keeps_its_type_and_metadata() -> None:
    schema = _spec(inner={"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": {}}})
    schema["properties"]["spec"]["properties"]["inner"]["properties"]["spec"] = {"type": "object"}
    inner = {"apiVersion": "v1", "kind": "K", "metadata": {"name": "x"}, "spec": {"a": 1}, "more": 1}
    found, unknown = _normalize(schema, {"spec": {"inner": inner}})
    assert found["spec"]["inner"] == {"apiVersion": "v1", "kind": "K", "metadata": {"name": "x"}, "spec": {}}
    assert unknown == ["spec.inner.more", "spec.inner.spec.a"]


def test_preserving_lists_hand_it_down_to_their_items() -> None:
    schema = _spec(
        rows={
            "type": "array",
            "x-kubernetes-preserve-unknown-fields": True,
            "items": {"type": "object", "properties": {"a": {"type": "object"}}},
        }
    )
    found, unknown = _normalize(schema, {"spec": {"rows": [{"a": {"x": 1}, "b": {"y": 1}}]}})
    assert found == {"spec": {"rows": [{"a": {}, "b": {"y": 1}}]}}
    assert unknown == ["spec.rows[0].a.x"]


DEFAULTS = _spec(
    size={"type": "integer", "default": 1},
    box={
        "type": "object",
        "properties": {"unit": {"type": "string", "default": "cm"}, "w": {"type": "integer", "default": 3}},
    },
    lid={
        "type": "object",
        "default": {"w": 9},
        "properties": {"unit": {"type": "string", "default": "cm"}, "w": {"type": "integer", "default": 3}},
    },
    list={"type": "array", "items": {"type": "object", "properties": {"on": {"type": "boolean", "default": True}}}},
    map={"type": "object", "additionalProperties": {"type": "integer", "default": 4}},
    keep={"type": "string", "default": "x", "nullable": True},
)


def _default(schema: dict[str, Any], value: Any) -> Any:
    root = read_structural(schema)
    value = compile_normalizer(root)(value, None, "")
    fill = compile_defaulter(root)
    assert fill is not None
    fill(value)
    return value


def test_defaults_fill_what_is_missing_where_the_object_around_it_is_there() -> None:
    assert _default(DEFAULTS, {"spec": {"keep": None}}) == {
        "spec": {"size": 1, "lid": {"w": 9, "unit": "cm"}, "keep": None}
    }
    assert _default(DEFAULTS, {}) == {}
    found = _default(DEFAULTS, {"spec": {"box": {}, "lid": {"unit": "m"}, "list": [{}, {"on": False}], "size": 5}})
    assert found["spec"] == {
        "size": 5,
        "keep": "x",
        "box": {"unit": "cm", "w": 3},
        "lid": {"unit": "m", "w": 3},
        "list": [{"on": True}, {"on": False}],
    }


def test_defaults_replace_nulls_that_are_not_allowed() -> None:
    assert _default(DEFAULTS, {"spec": {"size": None, "map": {"a": None, "b": 2}}})["spec"] == {
        "size": 1,
        "lid": {"w": 9, "unit": "cm"},
        "map": {"a": 4, "b": 2},
        "keep": "x",
    }


def test_a_default_is_never_shared_between_objects() -> None:
    first = _default(DEFAULTS, {"spec": {}})
    first["spec"]["lid"]["w"] = 100
    assert _default(DEFAULTS, {"spec": {}})["spec"]["lid"]["w"] == 9


def test_a_schema_without_defaults_has_no_defaulter() -> None:
    assert compile_defaulter(read_structural(WIDGET["properties"]["spec"]["properties"]["box"])) is None

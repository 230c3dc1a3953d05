"""What holds for any object of any shape: laws of applying, updating and owning, tried on random configurations."""

from __future__ import annotations

import copy
import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.managedfields import FieldManager
from watchkeeper.runtime.managedfields.compare import compare
from watchkeeper.runtime.managedfields.field_set import difference, intersection, members, union
from watchkeeper.runtime.managedfields.merge import merge, remove
from watchkeeper.runtime.managedfields.named import fields_of
from watchkeeper.runtime.managedfields.nodes import NodeTable
from watchkeeper.runtime.managedfields.reconcile import reconcile
from watchkeeper.runtime.managedfields.tracking import Tracking
from watchkeeper.runtime.schema import Field, ListType, Schema, SchemaType
from watchkeeper.runtime.scheme import Kind, Scheme

Object = dict[str, Any]

LAW = settings(max_examples=50, deadline=None)


def struct(**fields: Schema) -> Schema:
    return Schema(SchemaType.STRUCT, fields={name: Field(name, schema) for name, schema in fields.items()})


TEXT, WHOLE = Schema(SchemaType.STRING), Schema(SchemaType.INTEGER)
PART = struct(a=WHOLE, b=WHOLE)
ITEM = struct(name=TEXT, port=WHOLE, part=PART)
SPEC = struct(
    size=WHOLE,
    part=PART,
    labels=Schema(SchemaType.MAP, element=TEXT),
    whole_map=Schema(SchemaType.MAP, element=TEXT, atomic=True),
    whole_list=Schema(SchemaType.LIST, element=WHOLE),
    tags=Schema(SchemaType.LIST, element=TEXT, list_type=ListType.SET),
    items=Schema(SchemaType.LIST, element=ITEM, list_type=ListType.MAP, list_map_keys=("name",)),
    free=Schema(SchemaType.ANY),
)
META = struct(name=TEXT, uid=TEXT, labels=Schema(SchemaType.MAP, element=TEXT))
ROOT = struct(apiVersion=TEXT, kind=TEXT, metadata=META, spec=SPEC)


def kind(version: str, schema: Schema) -> Kind:
    gvk, hub = GroupVersionKind("example.com", version, "Thing"), GroupVersionKind("example.com", "v1", "Thing")
    return Kind(gvk=gvk, hub=hub, schema=schema, decode=lambda obj, _unknown: obj, builtin=False)


SCHEME = Scheme([kind("v1", ROOT), kind("v2", ROOT)])
NODE = NodeTable().root(ROOT)

SMALL = st.integers(0, 2)
NAMES = st.sampled_from("xyz")
PARTS = st.fixed_dictionaries({}, optional={"a": SMALL, "b": SMALL})
ITEMS = st.lists(
    st.fixed_dictionaries({"name": NAMES}, optional={"port": SMALL, "part": PARTS}),
    unique_by=lambda item: item["name"],
    max_size=3,
)
WILD_FREE = st.recursive(
    SMALL | st.lists(SMALL, max_size=2), lambda inner: st.dictionaries(NAMES, inner, max_size=2), max_leaves=3
)
FREE = st.fixed_dictionaries({}, optional={"x": SMALL, "y": st.dictionaries(NAMES, SMALL, max_size=2)})


def specs(free: st.SearchStrategy[Any]) -> st.SearchStrategy[Object]:
    fields: dict[Any, st.SearchStrategy[Any]] = {
        "size": SMALL,
        "part": PARTS,
        "labels": st.dictionaries(NAMES, st.sampled_from("12"), max_size=3),
        "whole_map": st.dictionaries(NAMES, st.sampled_from("12"), max_size=2),
        "whole_list": st.lists(SMALL, max_size=2),
        "tags": st.lists(NAMES, unique=True, max_size=3),
        "items": ITEMS,
        "free": free,
    }
    return st.fixed_dictionaries({}, optional=fields)


def filled(value: Any) -> Any:
    """The value without what is empty, which nobody can own apart from its absence."""
    if isinstance(value, dict):
        return {k: inner for k, v in value.items() if (inner := filled(v)) not in ({}, [], None)}
    return [filled(v) for v in value] if isinstance(value, list) else value


SPECS = specs(FREE).map(filled)
"""Objects in which every value has something in it, and each field one type."""
WILD = specs(WILD_FREE)
"""Any objects."""


def thing(spec: Object | None, version: str = "v1") -> Object:
    obj: Object = {"apiVersion": f"example.com/{version}", "kind": "Thing", "metadata": {"name": "a"}}
    return {**obj, "spec": copy.deepcopy(spec)} if spec else obj


def manager(version: str = "v1") -> FieldManager:
    gvk = GroupVersionKind("example.com", version, "Thing")
    return FieldManager(SCHEME, SCHEME.kind(gvk), now=lambda: "2026-01-01T00:00:00Z")


def apply(live: Object | None, spec: Object | None, name: str, *, force: bool = True, version: str = "v1") -> Object:
    before = copy.deepcopy(live)
    obj = manager(version).apply(live, thing(spec, version), name, force=force)
    assert live == before
    obj["metadata"]["uid"] = "1"
    return obj


def update(live: Object | None, spec: Object, name: str) -> Object:
    new = thing(spec)
    if live is not None:
        new["metadata"]["uid"] = "1"
    obj = manager().update(live, new, name)
    obj["metadata"]["uid"] = "1"
    return obj


def owned(obj: Object, name: str) -> Any:
    found = [e["fieldsV1"] for e in obj["metadata"].get("managedFields", []) if e["manager"] == name]
    return found[0] if found else {}


def content(obj: Object) -> Object:
    """What is in the object besides metadata and what is empty."""
    found: Object = filled({k: v for k, v in obj.items() if k != "metadata"})
    return found


@LAW
@given(WILD, WILD)
def test_applying_twice_is_applying_once(live: Object, spec: Object) -> None:
    once = apply(update(None, {**live, "size": 1}, "maker"), spec, "one")
    assert apply(once, spec, "one") == once


@LAW
@given(SPECS, SPECS)
def test_what_is_applied_is_there_and_owned(live: Object, spec: Object) -> None:
    obj = apply(update(None, live, "maker"), spec, "one")
    assert compare(NODE, thing(spec), {**obj, "metadata": {"name": "a"}}).removed == {}
    named = fields_of(NODE, {"spec": spec}) if spec else {}
    assert owned(obj, "one") == named
    assert intersection(named, fields_of(NODE, bare(obj))) == named


@LAW
@given(SPECS, SPECS)
def test_giving_up_what_one_applied_restores(live: Object, spec: Object) -> None:
    before = update(None, live, "maker")
    try:
        applied = apply(before, spec, "one", force=False)
    except ApiError:
        return
    restored = apply(applied, None, "one")
    assert unordered(content(restored)) == unordered(content(before))
    assert owned(restored, "one") == {}
    assert owned(restored, "maker") == owned(before, "maker")


@LAW
@given(SPECS, SPECS, SPECS)
def test_appliers_who_do_not_conflict_commute(live: Object, first: Object, second: Object) -> None:
    base = update(None, live, "maker")
    try:
        one = apply(apply(base, first, "one", force=False), second, "two", force=False)
    except ApiError:
        return
    other = apply(apply(base, second, "two", force=False), first, "one", force=False)
    assert unordered(content(one)) == unordered(content(other))
    assert owned(one, "one") == owned(other, "one")
    assert owned(one, "two") == owned(other, "two")


def unordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: unordered(v) for k, v in value.items()}
    return (
        sorted((unordered(v) for v in value), key=lambda v: json.dumps(v, sort_keys=True))
        if isinstance(value, list)
        else value
    )


@LAW
@given(SPECS, SPECS)
def test_without_force_a_conflict_is_all_that_keeps_an_apply_from_its_outcome(live: Object, spec: Object) -> None:
    base = apply(None, live, "other")
    forced = apply(base, spec, "one")
    try:
        polite = apply(base, spec, "one", force=False)
    except ApiError as error:
        assert error.code == 409
        assert error.details is not None
        taken = difference(owned(base, "other"), owned(forced, "other"))
        assert len(error.details["causes"]) == len(list(members(taken))) > 0
        return
    assert polite == forced


@LAW
@given(WILD, WILD, WILD)
def test_an_update_leaves_nobody_with_what_it_changed(live: Object, spec: Object, new: Object) -> None:
    before = apply(update(None, live, "maker"), spec, "one")
    after = update(before, new, "editor")
    differing = compare(NODE, bare(before), bare(after))
    for name in ("maker", "one"):
        kept = difference(difference(owned(before, name), differing.changed), differing.removed)
        assert owned(after, name) == kept
    assert intersection(owned(after, "editor"), differing.changed) == owned(after, "editor")


@LAW
@given(
    st.lists(st.tuples(st.sampled_from(["one", "two"]), st.sampled_from(["", "status"]), SPECS | st.none()), max_size=6)
)
def test_a_record_that_is_renewed_is_the_one_that_would_be_worked_out(writes: list[tuple[str, str, Any]]) -> None:
    """`None` repeats the last spec with other values in the fields that it has."""
    with pytest.MonkeyPatch.context() as patched:
        quick = [copy.deepcopy(obj) for obj in written_by(writes)]
        patched.setattr(Tracking, "renewed", lambda *_: None)
        assert quick == written_by(writes)


def written_by(writes: list[tuple[str, str, Any]]) -> list[Object]:
    """What a kind that everybody knows goes through."""
    known = dataclasses.replace(kind("v1", ROOT), builtin=True)
    live: Object | None = None
    states: list[Object] = []
    for second, (name, subresource, spec) in enumerate(writes):
        new = thing(spec if spec is not None else otherwise((live or {}).get("spec", {})))
        keeper = FieldManager(
            Scheme([known]), known, subresource=subresource, now=lambda second=second: f"2026-01-01T00:00:{second:02d}Z"
        )
        if live is not None:
            new["metadata"] = {**copy.deepcopy(live["metadata"]), "labels": {"x": str(second % 2)}}
        live = keeper.update(live, new, name)
        live["metadata"]["uid"] = "1"
        states.append(live)
    return states


def otherwise(value: Any) -> Any:
    """Other values in the same fields."""
    if isinstance(value, dict):
        return {name: inner if name == "name" else otherwise(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [otherwise(item) if isinstance(item, dict) else item for item in value]
    return value + 1 if isinstance(value, int) else value


def bare(obj: Object) -> Object:
    return {**obj, "metadata": {"name": "a"}}


@LAW
@given(SPECS, SPECS)
def test_comparing_finds_exactly_what_merging_changes(live: Object, spec: Object) -> None:
    base, merged = thing(live), merge(NODE, thing(live), thing(spec))
    found = compare(NODE, base, merged)
    assert found.removed == {}
    assert (found.changed == {}) == (unordered(base) == unordered(merged))
    back = compare(NODE, merged, base)
    assert intersection(back.removed, found.changed) == back.removed


@LAW
@given(WILD)
def test_a_configuration_merged_into_nothing_or_itself_is_itself(spec: Object) -> None:
    assert merge(NODE, {}, thing(spec)) == thing(spec)
    assert merge(NODE, thing(spec), thing(spec)) == thing(spec)


@LAW
@given(WILD)
def test_removing_all_fields_leaves_nothing_but_what_is_empty(spec: Object) -> None:
    found = fields_of(NODE, {"spec": spec})
    assert filled(remove(NODE, {"spec": spec}, found)) in ({}, None)


@LAW
@given(WILD, WILD)
def test_everything_is_what_comparing_with_nothing_finds(first: Object, second: Object) -> None:
    for spec in (first, second):
        assert compare(NODE, {}, {"spec": spec}).changed == {"f:spec": NODE.child("spec").everything(spec)}
    one, two = (fields_of(NODE, {"spec": spec}) for spec in (first, second))
    assert union(one, two) == union(two, one)


@pytest.mark.parametrize(
    ("live", "null"),
    [({"items": [{"name": "x", "port": 1}]}, {"items": None}), ({"tags": ["x"]}, {"tags": None})],
)
def test_a_list_that_nobody_owns_goes_with_the_second_null_that_is_applied(live: Object, null: Object) -> None:
    base = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a", "uid": "1"}, "spec": live}
    kept = apply(base, {"size": 1}, "other")
    for entry in kept["metadata"]["managedFields"]:
        entry["fieldsV1"] = {"f:spec": {"f:size": {}}}
    once = apply(kept, null, "one")
    assert content(once)["spec"] == {**live, "size": 1}
    assert content(apply(once, null, "one"))["spec"] == {"size": 1}


@LAW
@given(SPECS, SPECS)
def test_versions_make_no_difference_where_they_look_alike(live: Object, spec: Object) -> None:
    base = apply(None, live, "other")
    same, other = apply(base, spec, "one"), apply(base, spec, "one", version="v2")
    assert content(same) == content(other)
    assert owned(same, "one") == owned(other, "one")
    assert owned(same, "other") == owned(other, "other")


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ({"f:spec": {"f:whole_list": {"i:0": {}}}}, {"f:spec": {"f:whole_list": {}}}),
        ({"f:spec": {"f:whole_map": {".": {}, "f:x": {}}}}, {"f:spec": {"f:whole_map": {}}}),
        ({"f:spec": {"f:labels": {}}}, {"f:spec": {"f:labels": {}}}),
        ({"f:spec": {"f:gone": {"f:x": {}}}}, {"f:spec": {"f:gone": {"f:x": {}}}}),
    ],
)
def test_records_follow_a_schema_that_makes_parts_one_whole(was: Object, becomes: Object) -> None:
    found = reconcile(NODE, was)
    assert found == becomes
    assert (found is was) == (was == becomes)


def test_a_kind_whose_schema_changed_keeps_a_fitting_record() -> None:
    base = apply(None, {"whole_map": {"x": "1"}}, "one")
    base["metadata"]["managedFields"][0]["fieldsV1"] = {"f:spec": {"f:whole_map": {"f:x": {}}}}
    after = apply(base, {"size": 1}, "two")
    assert owned(after, "one") == {"f:spec": {"f:whole_map": {}}}

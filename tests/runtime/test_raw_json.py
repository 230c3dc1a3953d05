"""Raw objects and their texts: where they are, how they are found in what was sent, and when they are equal."""

from __future__ import annotations

import copy
from typing import Any

import orjson
import pytest

from watchkeeper.apis.builtin import builtin_scheme
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.raw_json import (
    RawJson,
    mark,
    mark_as_written,
    patched_text,
    plain_text,
    raw_paths,
    sorted_text,
    unmark,
    with_texts,
)
from watchkeeper.runtime.with_empties import as_shown

PARAMETERS = ("spec", "config", "*", "opaque", "parameters")


@pytest.mark.parametrize(
    ("group", "kind", "paths"),
    [
        ("apps", "ControllerRevision", {("data",)}),
        ("resource.k8s.io", "DeviceClass", {PARAMETERS}),
        (
            "resource.k8s.io",
            "ResourceClaim",
            {
                ("spec", "devices", "config", "*", "opaque", "parameters"),
                ("status", "allocation", "devices", "config", "*", "opaque", "parameters"),
                ("status", "devices", "*", "data"),
            },
        ),
        ("", "Pod", set()),
        ("apiextensions.k8s.io", "CustomResourceDefinition", set()),
    ],
)
def test_where_kinds_have_raw_objects(group: str, kind: str, paths: set[tuple[str, ...]]) -> None:
    assert set(raw_paths(builtin_scheme().kind(GroupVersionKind(group, "v1", kind)).schema)) == paths


def test_what_was_sent_is_kept_but_for_line_breaks() -> None:
    first_text = '{"opaque":{"parameters":{"b": 1,\n"a":"\\"}"}}}'
    others = '{"opaque":null},{"opaque":{"parameters":{"c":[]}}}'
    text = f'{{ "kind":"K" ,"spec":{{"other":[ 1, {{"parameters": 2}}],"config":[{first_text},{others}]}}}}'
    obj: Any = orjson.loads(text)
    mark_as_written(obj, [PARAMETERS], text)
    first, _, last = obj["spec"]["config"]
    assert first["opaque"]["parameters"].text == '{"b": 1, "a":"\\"}"}'
    assert last["opaque"]["parameters"].text == '{"c":[]}'
    written = orjson.dumps(with_texts(obj, [PARAMETERS]), option=orjson.OPT_SORT_KEYS)
    assert b'"parameters":{"b": 1, "a":' in written
    assert orjson.loads(written) == orjson.loads(text)


def test_what_the_text_does_not_have_is_sorted() -> None:
    obj: Any = {"data": {"b": 1, "a": 2}}
    mark_as_written(obj, [("data",)], '{"other": {}}')
    assert obj["data"].text == '{"a":2,"b":1}'
    for empty in ({}, {"data": None}, {"data": [1]}, {"data": "x"}):
        same = copy.deepcopy(empty)
        mark_as_written(same, [("data",)], orjson.dumps(empty).decode())
        assert same == empty


def test_two_are_equal_when_their_texts_are() -> None:
    blank, plain = RawJson({"a": 1}, '{"a": 1}'), RawJson({"a": 1}, '{"a":1}')
    assert blank != plain
    assert [blank] != [plain]
    assert blank == RawJson({"a": 1}, '{"a": 1}') == copy.deepcopy(blank)
    assert blank == {"a": 1} == plain
    assert blank != {"a": 2}


def test_a_patch_writes_without_blanks_and_sorts_what_it_changes() -> None:
    live: Any = {"data": RawJson({"b": 1, "a": 2}, '{"b": 1, "a": 2}')}
    text_of = patched_text(live, [("data",)])
    assert text_of({"b": 1, "a": 2}) == plain_text({"b": 1, "a": 2}) == '{"b":1,"a":2}'
    assert text_of({"b": 1, "a": 3}) == sorted_text({"b": 1, "a": 3}) == '{"a":3,"b":1}'


def test_nothing_is_left_of_texts_where_plain_dicts_are_wanted() -> None:
    obj: Any = {"data": {"a": {"b": 1}}, "spec": {"config": [{"opaque": {"parameters": {"x": 1}}}]}}
    plain = copy.deepcopy(obj)
    mark(obj, [("data",), PARAMETERS], sorted_text)
    shown = as_shown(obj)
    assert shown == plain
    assert shown["data"].__class__ is dict is not obj["data"].__class__
    unmark(obj, [("data",), PARAMETERS])
    assert obj["spec"]["config"][0]["opaque"]["parameters"].__class__ is dict

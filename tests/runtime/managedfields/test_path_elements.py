from __future__ import annotations

import pytest

from watchkeeper.runtime.managedfields.nodes import ListNode, NodeTable
from watchkeeper.runtime.managedfields.path import (
    canonical,
    element_text,
    key_element,
    path_text,
    sort_key,
    value_element,
)
from watchkeeper.runtime.schema import Field, ListType, Schema, SchemaType


@pytest.mark.parametrize(
    ("element", "text"),
    [
        (key_element({"name": "main"}), 'k:{"name":"main"}'),
        (key_element({"protocol": "TCP", "containerPort": 80}), 'k:{"containerPort":80,"protocol":"TCP"}'),
        (key_element({"on": True, "n": 1.5, "w": 2.0}), 'k:{"n":1.5,"on":true,"w":2}'),
        (value_element("example.com/a"), 'v:"example.com/a"'),
        (value_element('say "a\n<b>&"'), 'v:"say \\"a\\n\\u003cb\\u003e\\u0026\\""'),
        (value_element("ü\b\u2028"), 'v:"ü\\u0008\\u2028"'),
        (value_element(5), "v:5"),
    ],
)
def test_elements_are_written_as_the_reference_writes_them(element: str, text: str) -> None:
    assert element == text
    assert canonical(text) == text


def test_items_with_equal_keys_of_different_types_are_told_apart() -> None:
    text, item = Schema(SchemaType.STRING), Schema(SchemaType.STRUCT)
    item.fields = {name: Field(name, text) for name in ("name", "on")}
    items = Schema(SchemaType.LIST, element=item, list_type=ListType.MAP, list_map_keys=("name", "on"))
    node = NodeTable().node(items)
    assert isinstance(node, ListNode)
    found = [node.element({"name": "a", "on": on}) for on in (1, True, 1.5, False, 0)]
    assert [element[len('k:{"name":"a","on":') : -1] for element in found] == ["1", "true", "1.5", "false", "0"]


def test_elements_are_ordered_by_kind_and_content() -> None:
    elements = [
        ".",
        "f:a",
        "f:b",
        'k:{"containerPort":80}',
        'k:{"containerPort":443}',
        'k:{"containerPort":"80"}',
        'k:{"name":"a"}',
        "v:9",
        "v:10",
        'v:"a"',
        "v:true",
        "i:2",
        "i:10",
    ]
    assert sorted(set(elements), key=sort_key) == elements


def test_paths_are_shown_as_conflicts_show_them() -> None:
    path = ("f:spec", "f:containers", 'k:{"containerPort":80,"protocol":"TCP"}', "f:tags", 'v:"x"', "i:3")
    assert path_text(path) == '.spec.containers[containerPort=80,protocol="TCP"].tags[="x"][3]'


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("0", "0"),
        ("-3", "-3"),
        ("65535", "65535"),
        ("1000000", "1e+06"),
        ("-25000000", "-2.5e+07"),
        ("123456.75", "123456.75"),
        ("1.25e-7", "1.25e-07"),
        ("0.0001", "0.0001"),
    ],
)
def test_numbers_in_conflicts_are_floats_and_in_errors_what_was_sent(number: str, text: str) -> None:
    assert path_text((f"v:{number}",)) == f"[={text}]"
    assert path_text((f'k:{{"n":{number}}}',)) == f"[n={text}]"
    assert element_text("v:1000000") == "[=1000000]"

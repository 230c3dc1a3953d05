"""Paths find what kubectl's paths find."""

from __future__ import annotations

from typing import Any

import pytest

from watchkeeper.runtime.jsonpath import JSONPathError, compile_path

VALUE = {
    "spec": {"name": "x", "tags": ["a", "b", "c"], "a.b": 1, "empty": [], "null": None},
    "status": {
        "conditions": [
            {"type": "Ready", "status": "True", "n": 1},
            {"type": "Old", "status": "False", "n": 2},
            {"n": 3},
        ]
    },
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".spec.name", ["x"]),
        (".spec.nothing.more", []),
        (".spec.tags[0]", ["a"]),
        (".spec.tags[-1]", ["c"]),
        (".spec.tags[0:2]", ["a", "b"]),
        (".spec.tags[::2]", ["a", "c"]),
        (".spec.tags[*]", ["a", "b", "c"]),
        (".spec.tags[0,2]", ["a", "c"]),
        (".spec.empty[*]", []),
        (".spec['name']", ["x"]),
        (r".spec.a\.b", [1]),
        (".spec.null", [None]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type=='Ready')].status", ["True"]),
        (".status.conditions[?(@.n>1)].n", [2, 3]),
        (".status.conditions[?(@.type)].n", [1, 2]),
        (".status.conditions[*].n", [1, 2, 3]),
        ("..type", ["Ready", "Old"]),
        (".status.*[0].n", [1]),
        ("@.spec.name", ["x"]),
        ("$.spec.name", ["x"]),
    ],
)
def test_a_path_finds(path: str, expected: list[Any]) -> None:
    assert compile_path(path)(VALUE) == expected


@pytest.mark.parametrize(
    "path", [".spec.tags[7]", ".spec.name[0]", ".spec[?(@.a==1)]", ".status.conditions[?(@.n=='1')]"]
)
def test_what_makes_no_sense_is_an_error(path: str) -> None:
    with pytest.raises(JSONPathError):
        compile_path(path)(VALUE)


@pytest.mark.parametrize("path", [".spec[", ".a[x]", "(", ".a[?(@.b]", "....a", ".a\n", ".a}{.b["])
def test_broken_paths_are_refused(path: str) -> None:
    with pytest.raises(JSONPathError):
        compile_path(path)


def test_a_word_that_is_no_field_is_found_out_when_the_path_is_followed():
    find = compile_path("spec.a")
    with pytest.raises(JSONPathError, match=r"^unrecognized identifier spec$"):
        find({"spec": {"a": 1}})


def test_text_behind_the_braces_finds_nothing():
    assert compile_path(".a}z")({"a": 1}) == compile_path(".a}{.b")({"a": 1}) == [1]


def test_a_character_that_begins_nothing_is_named_as_go_does():
    with pytest.raises(JSONPathError, match=r"^unrecognized character in action: U\+0025 '%'$"):
        compile_path("50%")

"""The reducer on a made-up group: what it takes from Go types, from definitions and from discovery."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from reduce_schema import OMIT_NEVER, OMIT_ZERO, POINTER, REQUIRED, Reducer, resources_of

TYPES = """package v1

import (
\t"k8s.io/apimachinery/pkg/api/resource"
\tmetav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Robot works.
type Robot struct {
\tmetav1.TypeMeta `json:",inline"`
\t// +optional
\tmetav1.ObjectMeta `json:"metadata,omitempty"`

\t// What it is for.
\tSpec RobotSpec `json:"spec"`
}

type RobotSpec struct {
\tArms `json:",inline"`
\t// +default=ref(MoodGood)
\tMood Mood `json:"mood,omitempty"`
\t// +listType=map
\t// +listMapKey=name
\tTools []Tool `json:"tools"`
\t// +structType=granular
\tSpare *Tool `json:"spare,omitempty"`
\tPower *resource.Quantity `json:"power,omitempty"`
\tBuilt metav1.Time `json:"built,omitempty,omitzero"`
\tNotes map[string][]byte `json:"notes,omitempty"`
\thidden string
}

type Arms struct {
\tCount *int32 `json:"count,omitempty"`
}

// +structType=atomic
type Tool struct {
\tName string `json:"name"`
}

// +enum
type Mood string

const (
\tMoodGood Mood = "Good"
\tMoodBad  Mood = "Bad"
)

type Nothing struct{}
"""

REGISTER = """package v1

const GroupName = "toys"

func addKnownTypes(scheme *runtime.Scheme) error {
\tscheme.AddKnownTypes(SchemeGroupVersion,
\t\t&Robot{},
\t)
}
"""

META = """package v1

type TypeMeta struct {
\tKind string `json:"kind,omitempty"`
\tAPIVersion string `json:"apiVersion,omitempty"`
}

type ObjectMeta struct {
\tName string `json:"name,omitempty"`
}
"""


@pytest.fixture
def reducer(tmp_path: Path) -> Reducer:
    api, machinery = tmp_path / "api", tmp_path / "apimachinery"
    toys, meta = api / "toys/v1", machinery / "pkg/apis/meta/v1"
    for folder, files in ((toys, {"types.go": TYPES, "register.go": REGISTER}), (meta, {"types.go": META})):
        folder.mkdir(parents=True)
        for name, text in files.items():
            (folder / name).write_text(text)
    definitions = {"io.k8s.api.toys.v1.Robot": {"required": ["spec"], "properties": {}}}
    return Reducer({"k8s.io/api": api, "k8s.io/apimachinery": machinery}, definitions)


def fields(reducer: Reducer, name: str) -> dict[str, list[Any]]:
    index = reducer.type_of(f"k8s.io/api/toys/v1.{name}")
    return {entry[0]: entry for entry in reducer.types[index]["fields"]}


def test_embedded_structs_are_flattened_in_order(reducer: Reducer) -> None:
    assert list(fields(reducer, "Robot")) == ["kind", "apiVersion", "metadata", "spec"]
    assert list(fields(reducer, "RobotSpec")) == ["count", "mood", "tools", "spare", "power", "built", "notes"]


def test_tags_say_pointers_and_when_fields_are_left_out(reducer: Reducer) -> None:
    spec = fields(reducer, "RobotSpec")
    assert spec["count"][2] == POINTER
    assert spec["tools"][2] == REQUIRED | OMIT_NEVER
    assert spec["built"][2] == OMIT_ZERO
    assert fields(reducer, "Robot")["spec"][2] == REQUIRED | OMIT_NEVER


def test_markers_say_defaults_values_and_how_lists_merge(reducer: Reducer) -> None:
    spec = fields(reducer, "RobotSpec")
    assert spec["mood"][3] == {"default": "Good"}
    assert reducer.types[spec["mood"][1]] == {"go": "v1.Mood", "type": "string", "enum": ["Bad", "Good"]}
    tools = reducer.types[spec["tools"][1]]
    assert (tools["go"], tools["list"], tools["keys"]) == ("[]v1.Tool", "map", ["name"])
    assert reducer.types[tools["of"]]["atomic"]


def test_a_field_may_be_owned_in_parts_although_its_type_is_atomic(reducer: Reducer) -> None:
    spec = fields(reducer, "RobotSpec")
    tool, spare = reducer.types[reducer.types[spec["tools"][1]]["of"]], reducer.types[spec["spare"][1]]
    assert (tool["name"], tool["atomic"], "variant" in tool) == ("io.k8s.api.toys.v1.Tool", True, False)
    assert (spare["name"], spare["atomic"], spare["variant"]) == ("io.k8s.api.toys.v1.Tool", False, True)


def test_types_that_encode_themselves_are_known(reducer: Reducer) -> None:
    spec = fields(reducer, "RobotSpec")
    assert reducer.types[spec["power"][1]]["format"] == "quantity"
    assert reducer.types[spec["built"][1]]["format"] == "date-time"
    notes = reducer.types[spec["notes"][1]]
    assert (notes["go"], reducer.types[notes["of"]]["format"]) == ("map[string][]uint8", "byte")


def test_a_struct_without_fields_has_none(reducer: Reducer) -> None:
    assert fields(reducer, "Nothing") == {}


def test_registered_kinds_and_their_group_are_found(reducer: Reducer) -> None:
    package = reducer.package("k8s.io/api/toys/v1")
    assert (package.group, package.name, package.kinds) == ("toys", "v1", ["Robot"])
    with pytest.raises(KeyError):
        reducer.package("k8s.io/elsewhere/v1")


def test_resources_of_unknown_versions_are_passed_over() -> None:
    def version(name: str) -> dict[str, Any]:
        kind = {"group": "", "version": "", "kind": "Robot"}
        status = {"subresource": "status", "responseKind": kind, "verbs": ["get"]}
        robot = {
            "resource": "robots",
            "responseKind": kind,
            "scope": "Namespaced",
            "singularResource": "robot",
            "verbs": ["get", "list"],
            "shortNames": ["rb"],
            "subresources": [status],
        }
        return {"version": name, "resources": [robot]}

    document = {"items": [{"metadata": {"name": "toys"}, "versions": [version("v1"), version("v1beta1")]}]}
    assert resources_of([document], [["toys", "v1", "Robot", 0]]) == [
        {
            "group": "toys",
            "version": "v1",
            "resource": "robots",
            "kind": "Robot",
            "singular": "robot",
            "namespaced": True,
            "verbs": ["get", "list"],
            "shortNames": ["rb"],
            "subresources": [["status", "toys", "v1", "Robot", ["get"]]],
        }
    ]

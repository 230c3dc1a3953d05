"""Kinds declared in Python, and definitions that come with the start."""

from __future__ import annotations

import datetime
import enum
import http.client
import json
from dataclasses import dataclass, field, make_dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import msgspec
import pydantic
import pytest

from watchkeeper.apiextensions.declared.hooks import hooks_of
from watchkeeper.apiextensions.declared.json_schema import to_structural
from watchkeeper.apiextensions.declared.load import LoadError, load_app, load_definitions
from watchkeeper.apiextensions.declared.models import ModelError, model_of
from watchkeeper.kinds import Column, Registry, forbidden
from watchkeeper.server.errors import StartupError
from watchkeeper.testing import Server

registry = Registry()


@dataclass
class Line:
    item: str
    count: Annotated[int, {"minimum": 1}] = 1


@dataclass
class OrderStatus:
    phase: str = ""


class OrderStrategy:
    def default(self, obj: dict[str, Any]) -> None:
        obj["metadata"].setdefault("labels", {}).setdefault("shop", "main")

    def validate(self, obj: dict[str, Any], spec: Any) -> list[str]:
        return ["too many lines"] if len(spec.lines) > 2 else []

    def validate_update(self, obj: dict[str, Any], old: dict[str, Any]) -> list[str]:
        return ["priority cannot change"] if obj["spec"]["priority"] != old["spec"]["priority"] else []


@registry.kind(
    "shop.example.com/v1",
    status=OrderStatus,
    short_names=["ord"],
    columns=[Column("Priority", ".spec.priority")],
    selectable_fields=[".spec.priority"],
    strategy=OrderStrategy(),
)
@dataclass
class Order:
    """What somebody wants."""

    lines: list[Line]
    priority: Literal["Low", "High"] = "Low"
    notes: dict[str, str] = field(default_factory=dict)


@registry.kind("shop.example.com/v1", plural="people", namespaced=False)
class Person(msgspec.Struct):
    name: Annotated[str, msgspec.Meta(min_length=2)]
    age: int | None = None


@registry.kind("shop.example.com/v1")
class Delivery(pydantic.BaseModel):
    street: str = pydantic.Field(max_length=10)
    number: int = 1

    @pydantic.field_validator("street")
    @classmethod
    def not_nowhere(cls, value: str) -> str:
        if value == "nowhere":
            raise ValueError("nobody lives there")
        return value


def test_a_dataclass_makes_a_schema() -> None:
    assert model_of(Order).schema() == {
        "type": "object",
        "description": "What somebody wants.",
        "required": ["lines"],
        "properties": {
            "lines": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["item"],
                    "properties": {
                        "item": {"type": "string"},
                        "count": {"type": "integer", "minimum": 1, "default": 1},
                    },
                },
            },
            "priority": {"type": "string", "enum": ["Low", "High"], "default": "Low"},
            "notes": {"type": "object", "additionalProperties": {"type": "string"}, "default": {}},
        },
    }


def test_struct_and_pydantic_schemas_become_structural() -> None:
    assert model_of(Person).schema()["properties"] == {
        "name": {"type": "string", "minLength": 2},
        "age": {"type": "integer", "nullable": True},
    }
    assert model_of(Delivery).schema()["properties"] == {
        "street": {"type": "string", "maxLength": 10},
        "number": {"type": "integer", "default": 1},
    }


class Fit(enum.Enum):
    WIDE = "wide"
    SLIM = "slim"


class Fabric(msgspec.Struct):
    weight: Literal["light", "heavy", "fair"]
    enum: list[str] = []


class Coat(msgspec.Struct):
    size: Literal["S", "M", "L"]
    fits: list[Fit]
    fabrics: dict[str, Fabric | None]
    pockets: Annotated[Literal[4, 2], msgspec.Meta(description="How many.")] = 2


def test_choices_of_a_struct_stay_in_their_order() -> None:
    properties = model_of(Coat).schema()["properties"]
    assert properties["size"]["enum"] == ["S", "M", "L"]
    assert properties["fits"]["items"]["enum"] == ["wide", "slim"]
    assert properties["pockets"]["enum"] == [4, 2]
    fabric = properties["fabrics"]["additionalProperties"]["properties"]
    assert fabric["weight"]["enum"] == ["light", "heavy", "fair"]
    assert fabric["enum"] == {"type": "array", "items": {"type": "string"}, "default": []}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"x-kubernetes-int-or-string": True}),
        ({"type": ["string", "null"]}, {"type": "string", "nullable": True}),
        ({"const": "x"}, {"enum": ["x"], "type": "string"}),
        ({"type": "number", "exclusiveMinimum": 0}, {"type": "number", "minimum": 0, "exclusiveMinimum": True}),
        ({"type": "array", "uniqueItems": True, "items": {"type": "string"}}, "set"),
        ({"anyOf": [{"type": "object"}, {"type": "array"}]}, {"x-kubernetes-preserve-unknown-fields": True}),
    ],
)
def test_json_schemas_become_structural(schema: dict[str, Any], expected: Any) -> None:
    found = to_structural(schema)
    if expected == "set":
        assert found["x-kubernetes-list-type"] == "set"
    else:
        assert found == expected


def test_a_type_that_holds_itself_ends_somewhere() -> None:
    tree = {"$ref": "#/$defs/T", "$defs": {"T": {"type": "object", "properties": {"next": {"$ref": "#/$defs/T"}}}}}
    assert to_structural(tree)["properties"]["next"] == {"x-kubernetes-preserve-unknown-fields": True}


def test_data_that_a_model_refuses_are_told_with_their_path() -> None:
    with pytest.raises(ModelError) as refused:
        model_of(Delivery).load({"street": "nowhere"})
    assert refused.value.problems == [("street", "nobody lives there")]
    with pytest.raises(ModelError) as refused:
        model_of(Person).load({"name": "x"})
    assert refused.value.problems[0][0] == "name"
    assert model_of(Order).load({"lines": [{"item": "a"}]}) == Order(lines=[Line("a")])


@dataclass
class Parcel:
    sent: datetime.datetime | None = None
    due: datetime.date | None = None
    seal: bytes = b"wax"
    fit: Fit = Fit.SLIM


def test_dataclasses_hold_what_their_annotations_say() -> None:
    model = model_of(Parcel)
    assert model.schema()["properties"]["seal"] == {"type": "string", "format": "byte", "default": "d2F4"}
    found = model.load({"sent": "2016-12-31t23:59:00z", "due": "2016-12-31", "seal": "d2F4", "fit": "wide"})
    sent = datetime.datetime(2016, 12, 31, 23, 59, tzinfo=datetime.UTC)
    assert found == Parcel(sent, datetime.date(2016, 12, 31), b"wax", Fit.WIDE)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"sent": "0000-01-01T00:00:00Z"}, ("sent", "year 0 is out of range")),
        ({"due": "0000-01-01"}, ("due", "year 0 is out of range")),
        ({"fit": "tight"}, ("fit", "'tight' is not a valid Fit")),
    ],
)
def test_what_python_cannot_hold_is_told_with_its_path(data: Any, problem: tuple[str, str]) -> None:
    with pytest.raises(ModelError) as refused:
        model_of(Parcel).load(data)
    assert refused.value.problems == [problem]


def test_a_spec_is_required_or_filled_in_as_its_fields_are() -> None:
    registry = Registry()
    for each in (Order, Parcel, Person, Delivery):
        registry.kind("shop.example.com/v1")(each)
    schemas = [k.definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] for k in registry.kinds]
    assert [(s.get("required"), s["properties"]["spec"].get("default")) for s in schemas] == [
        (["spec"], None),
        (None, {}),
        (["spec"], None),
        (["spec"], None),
    ]
    assert [s["description"] for s in schemas] == ["What somebody wants.", "", "", ""]


class Picky:
    """Says no in each of the ways that there are."""

    answers: ClassVar[dict[str, Any]] = {
        "text": "no",
        "texts": ["no", "never"],
        "error": forbidden("spec.item", "no"),
        "errors": (forbidden("spec.item", "no"),),
        "nothing": None,
    }

    def validate(self, obj: Any, spec: Any) -> Any:
        return self.answers[spec["item"]]


class Bare:
    def schema(self) -> Any:
        return {}

    def load(self, data: Any) -> Any:
        return data


@pytest.mark.parametrize(
    ("item", "told"),
    [
        ("text", ["spec: Invalid value: no"]),
        ("texts", ["spec: Invalid value: no", "spec: Invalid value: never"]),
        ("error", ["spec.item: Forbidden: no"]),
        ("errors", ["spec.item: Forbidden: no"]),
        ("nothing", []),
    ],
)
def test_a_strategy_says_what_is_wrong_in_one_text_or_several(item: str, told: list[str]) -> None:
    validate = hooks_of(Bare(), Picky()).validate
    assert validate is not None
    assert list(map(str, validate({"spec": {"item": item}}))) == told


def test_what_was_wrong_before_does_not_keep_an_object_from_being_changed_elsewhere() -> None:
    hooks = hooks_of(model_of(Delivery), None)
    assert hooks.validate_update is not None
    old = {"metadata": {"finalizers": ["a.example.com/b"]}, "spec": {"street": "nowhere"}}
    assert hooks.validate_update({"metadata": {}, "spec": {"street": "nowhere"}}, old) == []
    found = hooks.validate_update({"metadata": {}, "spec": {"street": "nowhere", "number": 2}}, old)
    assert list(map(str, found)) == ["spec.street: Invalid value: nobody lives there"]


def test_what_is_no_model_or_no_kind_is_refused() -> None:
    with pytest.raises(TypeError, match="is no dataclass"):
        model_of(int)
    with pytest.raises(ValueError, match="names no group"):
        Registry().kind("v1")


def test_a_kind_is_declared_once_and_in_one_version() -> None:
    registry = Registry()
    registry.kind("a.example.com/v1")(Order)
    with pytest.raises(ValueError, match=r"orders\.a\.example\.com is declared already, in version v1: a kind has one"):
        registry.kind("a.example.com/v2")(Order)
    with pytest.raises(ValueError, match=r"commands\.a\.example\.com: orders\.a\.example\.com is of the kind Order"):
        registry.kind("a.example.com/v1", plural="commands")(Order)
    registry.kind("b.example.com/v1")(Order)
    registry.kind("a.example.com/v2", kind="Other")(Order)
    assert len(registry.kinds) == 3


class Client:
    def __init__(self, server: Any) -> None:
        host, _, port = server.url.removeprefix("http://").partition(":")
        self._connection = http.client.HTTPConnection(host, int(port))
        self._token = server.token

    def __call__(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": kind}
        self._connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = self._connection.getresponse()
        return response.status, json.loads(response.read())


def test_declared_kinds_are_served_with_defaults_validation_status_and_columns() -> None:
    path = "/apis/shop.example.com/v1/namespaces/default/orders"
    with Server(insecure_http=True, app=registry) as server:
        call = Client(server)
        status, created = call("POST", path, {"metadata": {"name": "a"}, "kind": "Order",
                                              "apiVersion": "shop.example.com/v1",
                                              "spec": {"lines": [{"item": "x"}], "odd": 1}})  # fmt: skip
        assert status == 201
        assert created["spec"] == {"lines": [{"item": "x", "count": 1}], "priority": "Low", "notes": {}}
        assert created["metadata"]["labels"] == {"shop": "main"}
        merge = "application/merge-patch+json"
        lines = [{"item": str(i)} for i in range(3)]
        status, refused = call("PATCH", f"{path}/a", {"spec": {"lines": lines}}, merge)
        assert (status, refused["details"]["causes"][0]["message"]) == (422, "Invalid value: too many lines")
        status, refused = call("PATCH", f"{path}/a", {"spec": {"priority": "High"}}, merge)
        assert (status, refused["details"]["causes"][0]["message"]) == (422, "Invalid value: priority cannot change")
        status, refused = call("PATCH", f"{path}/a", {"spec": {"lines": [{"item": "x", "count": 0}]}}, merge)
        assert refused["details"]["causes"][0]["field"] == "spec.lines[0].count"
        _, found = call("PATCH", f"{path}/a/status", {"status": {"phase": "Sent"}}, merge)
        assert found["status"] == {"phase": "Sent"}
        status, refused = call("POST", "/apis/shop.example.com/v1/namespaces/default/deliveries",
                               {"metadata": {"name": "d"}, "kind": "Delivery", "apiVersion": "shop.example.com/v1",
                                "spec": {"street": "nowhere"}})  # fmt: skip
        assert refused["details"]["causes"][0] == {
            "field": "spec.street",
            "message": "Invalid value: nobody lives there",
            "reason": "FieldValueInvalid",
        }
        _, resources = call("GET", "/apis/shop.example.com/v1")
        assert [r["name"] for r in resources["resources"]] == ["deliveries", "orders", "orders/status", "people"]
        assert call("GET", f"{path}?fieldSelector=spec.priority%3DHigh")[1]["items"] == []


DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.files.example.io}
spec:
  group: files.example.io
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
---
kind: ConfigMap
apiVersion: v1
"""


def test_definitions_in_files_are_installed_at_start_and_brought_up_to_date_at_the_next(tmp_path: Path) -> None:
    (tmp_path / "crds").mkdir()
    file = tmp_path / "crds" / "widgets.yaml"
    file.write_text(DEFINITION)
    options = {"insecure_http": True, "crds": tmp_path / "crds", "storage": f"sqlite:{tmp_path}/x.db"}
    path = "/apis/files.example.io/v1"
    with Server(**options) as server:
        assert [r["name"] for r in Client(server)("GET", path)[1]["resources"]] == ["widgets"]
    file.write_text(DEFINITION.replace("plural: widgets}", "plural: widgets, shortNames: [wd]}"))
    with Server(**options) as server:
        assert Client(server)("GET", path)[1]["resources"][0]["shortNames"] == ["wd"]


def test_what_an_earlier_start_has_installed_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "widgets.yaml"
    file.write_text(DEFINITION)
    options = {"insecure_http": True, "crds": file, "storage": f"sqlite:{tmp_path}/x.db"}
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.files.example.io"

    def started() -> Any:
        with Server(**options) as server:
            return Client(server)("GET", path)[1]

    first = started()
    assert started() == first
    file.write_text(DEFINITION.replace("metadata: {", "metadata: {labels: {by: file}, "))
    labelled = started()
    assert labelled["metadata"]["labels"] == {"by": "file"}
    assert labelled["spec"] == first["spec"]
    assert labelled["metadata"]["generation"] == first["metadata"]["generation"]
    file.write_text(DEFINITION)
    assert started() == labelled, "labels that the file does not name are not taken away"


def test_what_cannot_be_installed_or_found_is_told_at_start(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(DEFINITION.replace("scope: Namespaced", "scope: Everywhere"))
    with pytest.raises(StartupError, match=r"--crds: widgets.files.example.io: .*spec.scope: Unsupported value"):
        Server(insecure_http=True, crds=bad).__enter__()
    with pytest.raises(LoadError, match="does not exist"):
        load_definitions(tmp_path / "nothing")
    with pytest.raises(LoadError, match="is nothing, not a"):
        load_app("json:registry")
    with pytest.raises(LoadError, match="No module named"):
        load_app("no_such_module:registry")


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (Literal["a", 1], {"x-kubernetes-int-or-string": True, "enum": ["a", 1]}),
        (Literal[True], {"type": "boolean", "enum": [True]}),
        (Literal[2, 1], {"type": "integer", "enum": [2, 1]}),
        (Literal["a", True], {"x-kubernetes-preserve-unknown-fields": True}),
    ],
)
def test_choices_of_a_dataclass_have_the_type_of_their_values(annotation: Any, schema: Any) -> None:
    made = make_dataclass("Made", [("x", annotation), ("later", str, field(init=False))])
    found = model_of(made).schema()
    assert (found["properties"], found["required"]) == ({"x": schema}, ["x"])
    assert model_of(made).load({"x": 1}).x == 1


APP = """\
from dataclasses import dataclass
from typing import Annotated
from watchkeeper.kinds import Column, Registry

registry = Registry()


{}
@dataclass
class Order:
    amount: Annotated[int, {}] = 1
"""


@pytest.mark.parametrize(
    ("declared", "keywords", "told"),
    [
        ("@registry.kind('a.io/v1')", "{'minimun': 1}", 'unknown field "spec.versions[0].schema.openAPIV3Schema.'),
        ("@registry.kind('a.io/v1')", "{'minimum': '1'}", "cannot unmarshal string into Go struct field"),
        ("@registry.kind('a.io/v1')", "{'minimum': 5}", "in body should be greater than or equal to 5"),
        ("@registry.kind('apps/v1')", "{}", "should be a domain with at least one dot"),
        ("@registry.kind", "{}", 'kind() takes an apiVersion: @registry.kind("shop.example.com/v1")'),
        ("@registry.knid('a.io/v1')", "{}", "'Registry' object has no attribute 'knid'"),
    ],
)
def test_what_is_declared_wrongly_is_told_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, declared: str, keywords: str, told: str
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / "declared_wrongly.py"
    file.write_text(APP.format(declared, keywords))
    with pytest.raises(LoadError) as refused:
        load_app("declared_wrongly:registry")
    text = str(refused.value)
    assert told in text
    assert text.endswith(f" ({file}, line 8)")


def test_an_import_that_fails_is_told_with_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / "importing_wrongly.py"
    file.write_text("\nimport no_such_module\n")
    with pytest.raises(LoadError) as refused:
        load_app("importing_wrongly:registry")
    assert str(refused.value) == f"importing_wrongly:registry: No module named 'no_such_module' ({file}, line 2)"

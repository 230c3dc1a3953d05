"""CEL rules on objects: what they see, what they tell and what they may cost."""

from __future__ import annotations

import time
from typing import Any

import pytest

from watchkeeper.apiextensions.schema.correlation import Correlation
from watchkeeper.apiextensions.schema.rule_costs import NO_LIMIT
from watchkeeper.apiextensions.schema.rule_set import RuleSet
from watchkeeper.apiextensions.schema.rules import compile_rules
from watchkeeper.apiextensions.schema.structural import read_structural


def _rules(schema: dict[str, Any]) -> RuleSet:
    root = compile_rules(read_structural(schema))
    assert root is not None
    return RuleSet(root)


def _spec(rule: Any, **properties: Any) -> dict[str, Any]:
    rules = rule if isinstance(rule, list) else [rule]
    spec = {"type": "object", "properties": properties, "x-kubernetes-validations": rules}
    return {"type": "object", "properties": {"spec": spec}}


INT = {"type": "integer"}
TEXT = {"type": "string"}


def test_a_broken_rule_tells_its_message_or_itself() -> None:
    rules = _rules(
        _spec([{"rule": "self.low <= self.high", "message": "low > high"}, {"rule": "self.low > 0"}], low=INT, high=INT)
    )
    assert [str(e) for e in rules.errors({"spec": {"low": 2, "high": 1}})] == ["spec: Invalid value: low > high"]
    assert [str(e) for e in rules.errors({"spec": {"low": 0, "high": 1}})] == [
        "spec: Invalid value: failed rule: self.low > 0"
    ]
    assert rules.errors({"spec": {"low": 1, "high": 1}}) == []
    assert rules.errors({}) == []


def test_an_expression_can_make_the_message_and_falls_back_when_it_fails() -> None:
    rule = {"rule": "self.n < 3", "messageExpression": "'too big: ' + string(self.n)"}
    assert [e.detail for e in _rules(_spec(rule, n=INT)).errors({"spec": {"n": 7}})] == ["too big: 7"]
    rule = {"rule": "self.n < 3", "messageExpression": "'x' + string(self.n / 0)", "message": "plain"}
    assert [e.detail for e in _rules(_spec(rule, n=INT)).errors({"spec": {"n": 7}})] == ["plain"]


def test_reason_and_field_path_say_what_and_where() -> None:
    rule = {"rule": "has(self.n)", "reason": "FieldValueRequired", "fieldPath": ".n", "message": "give n"}
    assert [str(e) for e in _rules(_spec(rule, n=INT)).errors({"spec": {}})] == ["spec.n: Required value: give n"]
    rule = {"rule": "self.n != 1", "reason": "FieldValueForbidden", "fieldPath": ".n"}
    assert [str(e) for e in _rules(_spec(rule, n=INT)).errors({"spec": {"n": 1}})] == [
        "spec.n: Forbidden: failed rule: self.n != 1"
    ]


def test_rules_reach_into_lists_and_maps() -> None:
    positive = {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]}
    rules = _rules(
        {
            "type": "object",
            "properties": {
                "list": {"type": "array", "items": positive},
                "map": {"type": "object", "additionalProperties": positive},
            },
        }
    )
    assert [str(e) for e in rules.errors({"list": [1, 0], "map": {"a": 0}})] == [
        "list[1]: Invalid value: 0: failed rule: self > 0",
        "map[a]: Invalid value: 0: failed rule: self > 0",
    ]


def test_transition_rules_run_only_where_there_is_an_old_value() -> None:
    rules = _rules(_spec({"rule": "self.n >= oldSelf.n", "message": "only up"}, n=INT))
    assert rules.errors({"spec": {"n": 1}}) == []
    assert [e.detail for e in rules.errors({"spec": {"n": 1}}, {"spec": {"n": 2}})] == ["only up"]
    assert rules.errors({"spec": {"n": 3}}, {"spec": {"n": 2}}) == []


def test_an_optional_old_value_runs_always() -> None:
    rule = {"rule": "oldSelf.hasValue() || self.n == 0", "optionalOldSelf": True, "message": "begin with 0"}
    rules = _rules(_spec(rule, n=INT))
    assert [e.detail for e in rules.errors({"spec": {"n": 1}})] == ["begin with 0"]
    assert rules.errors({"spec": {"n": 1}}, {"spec": {"n": 0}}) == []


def test_items_of_keyed_lists_are_followed_and_of_others_are_not() -> None:
    item = {
        "type": "object",
        "properties": {
            "name": TEXT,
            "n": {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf"}]},
        },
    }
    schema = {
        "type": "object",
        "properties": {
            "l": {
                "type": "array",
                "items": item,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
            }
        },
    }
    old = {"l": [{"name": "a", "n": 5}, {"name": "b", "n": 1}]}
    new = {"l": [{"name": "b", "n": 1}, {"name": "a", "n": 4}]}
    assert [e.field for e in _rules(schema).errors(new, old)] == ["l[1].n"]


def test_unchanged_parts_that_break_a_rule_are_told_as_warnings() -> None:
    schema = _spec({"rule": "self.n < 3"}, n=INT)
    root = read_structural(schema)
    warnings: list[str] = []
    new, old = {"spec": {"n": 7}, "x": 1}, {"spec": {"n": 7}}
    found = _rules(schema).errors(new, old, correlation=Correlation(root, new, old), warn=warnings.append)
    assert found == []
    assert warnings == ["spec: Invalid value: failed rule: self.n < 3"]


def test_errors_while_evaluating_are_errors_of_the_object() -> None:
    rules = _rules(_spec({"rule": "self.list[self.n] == 1"}, list={"type": "array", "items": INT}, n=INT))
    found = rules.errors({"spec": {"list": [], "n": 3}})
    assert [e.field for e in found] == ["spec"]
    assert "evaluating rule: self.list[self.n] == 1" in str(found[0])


def test_the_root_sees_its_name_and_type() -> None:
    rules = _rules({"type": "object", "x-kubernetes-validations": [{"rule": "self.metadata.name.startsWith('a')"}]})
    assert rules.errors({"metadata": {"name": "abc"}, "kind": "W", "apiVersion": "g/v1"}) == []
    assert [e.field for e in rules.errors({"metadata": {"name": "b"}})] == ["<nil>"]


def test_costs_are_counted_only_where_a_limit_could_be_reached() -> None:
    rules = [
        {"rule": "self.n < 3"},
        {"rule": "self.l.all(x, x > 0)"},
        {"rule": "self.l.all(x, self.l.all(y, x >= y || y > x))"},
        {"rule": "self.m.all(k, k.size() > 0)"},
    ]
    found = _rules(
        _spec(
            rules,
            n=INT,
            l={"type": "array", "items": INT},
            m={"type": "object", "maxProperties": 9, "additionalProperties": INT},
        )
    )
    node = found.root.fields["spec"]
    cheap, linear, square, keys = (found.quick_sizes.get(id(rule), 0) for rule in node.rules)
    assert cheap == NO_LIMIT
    assert 4 * 1024 <= linear < NO_LIMIT
    assert square == 0
    assert keys > 0


def test_a_run_that_costs_too_much_is_stopped() -> None:
    rules = _rules(_spec({"rule": "self.l.all(x, self.l.all(y, x >= y || y > x))"}, l={"type": "array", "items": INT}))
    found = rules.errors({"spec": {"l": list(range(1000))}})
    assert len(found) == 1
    assert "call cost exceeds limit" in found[0].detail


def test_a_pattern_that_takes_too_long_on_a_text_is_told_as_a_limit_and_stops_the_run() -> None:
    hostile = "(ab|ba){900}c"
    for rule in (f"self.t.matches('{hostile}')", "self.t.matches(self.p)", f"self.t.find('{hostile}') == ''"):
        rules = _rules(_spec([{"rule": rule}, {"rule": "false"}], t=TEXT, p=TEXT))
        began = time.process_time()
        found = rules.errors({"spec": {"t": "abba" * 9000, "p": hostile}})
        assert time.process_time() - began < 3
        assert [str(e) for e in found] == [
            "spec: Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': no further validation "
            f"rules will be run due to call cost exceeds limit for rule: {rule}"
        ]
        assert rules.errors({"spec": {"t": "abc", "p": "b"}})[-1].detail == "failed rule: false"


def test_the_cost_of_a_pattern_is_reckoned_by_its_length_and_the_texts() -> None:
    # ceil(0.1 * (text + 1)) * ceil(0.25 * pattern) for each, and more than a million in all
    rules = _rules(
        _spec({"rule": "self.l.all(x, x.matches('^[a-z]{3}-[a-z]{3}$'))"}, l={"type": "array", "items": TEXT})
    )
    assert rules.errors({"spec": {"l": ["abc-def"] * 1000}}) == []
    (found,) = rules.errors({"spec": {"l": ["abc-def"] * 200_000}})
    assert "call cost exceeds limit" in found.detail


@pytest.mark.parametrize(
    ("kind", "value", "rule"),
    [
        ({"type": "string", "format": "date-time"}, "2024-01-02T03:04:05Z", "self.v.getFullYear() == 2024"),
        ({"type": "string", "format": "duration"}, "90s", "self.v == duration('1m30s')"),
        ({"type": "string", "format": "byte"}, "aGk=", "self.v == b'hi'"),
        ({"type": "number"}, 2, "self.v / 4.0 == 0.5"),
        ({"x-kubernetes-int-or-string": True}, "x", "type(self.v) == string"),
        ({"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}, ["a", "b"], "self.v == ['b', 'a']"),
        ({"type": "object", "additionalProperties": INT}, {"a": 1}, "self.v['a'] == 1 && 'b' in self.v == false"),
    ],
)
def test_values_are_what_their_schema_says(kind: dict[str, Any], value: Any, rule: str) -> None:
    rules = _rules(_spec({"rule": rule}, v=kind))
    assert rules.errors({"spec": {"v": value}}) == []


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("has(self.n)", "failed rule"),
        ("has(self.o.n)", "failed rule"),
        ("self.n == 'a'", "no such key: n"),
        ("self.?n.orValue('x') == 'x' && self.?o.n.orValue(1) == 1", ""),
        ("has(self.o)", ""),
        ("'a' in self.m", ""),
    ],
)
def test_null_counts_as_absent_in_objects_and_as_a_value_in_maps(rule: str, words: str) -> None:
    nothing = {"nullable": True}
    inner = {"type": "object", "properties": {"n": {**INT, **nothing}}}
    values = {"type": "object", "additionalProperties": {**TEXT, **nothing}}
    rules = _rules(_spec({"rule": rule}, n={**TEXT, **nothing}, o=inner, m=values))
    found = [str(e) for e in rules.errors({"spec": {"n": None, "o": {"n": None}, "m": {"a": None}}})]
    assert (len(found), words in "".join(found)) == (1 if words else 0, True)


@pytest.mark.parametrize(
    "rule", ["self.s.find(')') == ''", "self.s.findAll(')', 1) == []", "self.s.findAll(')') == []"]
)
def test_patterns_that_are_none_keep_a_rule_from_being_made(rule: str) -> None:
    errors = [str(e) for e in _rules(_spec({"rule": rule}, s=TEXT)).errors({"spec": {"s": "a"}})]
    text = "rule compile error: program instantiation failed: error parsing regexp: unexpected ): `)`"
    assert errors == [f'spec: Invalid value: "object": {text}']


def test_the_type_of_a_result_is_looked_at_before_its_patterns() -> None:
    [error] = _rules(_spec({"rule": "self.s.find(')')"}, s=TEXT)).errors({"spec": {"s": "a"}})
    assert error.detail == "rule compile error: cel expression must evaluate to a bool"
    spec = _spec({"rule": "false", "message": "no", "messageExpression": "self.s.find(')') == ''"}, s=TEXT)
    assert [e.detail for e in _rules(spec).errors({"spec": {"s": "a"}})] == ["no"]


def test_messages_see_the_old_value_itself_where_a_rule_beside_them_looks_at_it() -> None:
    shown = "'was %d'.format([oldSelf])"

    def details(*each: dict[str, Any], old: Any = None) -> list[str]:
        schema = {"type": "object", "properties": {"n": {"type": "integer", "x-kubernetes-validations": list(each)}}}
        return [e.detail for e in _rules(schema).errors({"n": 0}, old)]

    alone = {"rule": "self > 0", "message": "plain", "messageExpression": shown}
    beside = {"rule": "self >= oldSelf", "message": "shrunk"}
    optional = {"rule": "oldSelf.orValue(9) < 1", "optionalOldSelf": True, "message": "plain"}
    assert details(alone, old={"n": 5}) == ["plain"]
    assert details(alone, beside) == ["plain"]
    assert details(alone, beside, old={"n": 5}) == ["was 5", "shrunk"]
    told = optional | {"messageExpression": "oldSelf.hasValue() ? 'had' : 'none'"}
    assert details(told) == details(told, old={"n": 5}) == ["plain"]


def test_null_is_a_value_among_items_and_in_maps() -> None:
    def nullable(schema: dict[str, Any]) -> dict[str, Any]:
        return schema | {"nullable": True}

    date = nullable({"type": "string", "format": "date"})
    rules = _rules(
        _spec(
            [
                {"rule": "self.dates.exists(x, dyn(x) == null) && self.dates[0] > timestamp('2000-01-01T00:00:00Z')"},
                {"rule": "self.numbers.all(x, dyn(x) == null || x > 1.0)"},
                {"rule": "dyn(self.map.a) == null"},
            ],
            dates={"type": "array", "items": date},
            numbers={"type": "array", "items": nullable({"type": "number"})},
            map={"type": "object", "additionalProperties": nullable({"type": "array", "items": date})},
        )
    )
    spec = {"dates": ["2024-01-01", None], "numbers": [None, 2], "map": {"a": None}}
    assert rules.errors({"spec": spec}) == []
    assert len(rules.errors({"spec": spec | {"numbers": [None, 1]}})) == 1


def test_items_are_told_apart_by_their_keys_as_expressions_call_them() -> None:
    item = {"type": "object", "properties": {"namespace": TEXT, "name": TEXT}}
    keyed = {"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    two = [{"name": "a", "namespace": "a"}, {"name": "b", "namespace": "b"}]
    rules = _rules(_spec({"rule": "self.l == oldSelf.l"}, l=keyed))
    assert rules.errors({"spec": {"l": two}}, {"spec": {"l": two[::-1]}}) == []
    rules = _rules(_spec({"rule": "self.l == oldSelf.l"}, l=keyed | {"x-kubernetes-list-map-keys": ["namespace"]}))
    assert rules.errors({"spec": {"l": two[:1]}}, {"spec": {"l": two[:1]}}) == []
    assert len(rules.errors({"spec": {"l": two}}, {"spec": {"l": two}})) == 1


@pytest.mark.parametrize(
    ("schema", "value", "problem"),
    [
        (INT, "x", "expected int, got string"),
        (INT, {}, "expected int, got map[string]interface {}"),
        (TEXT, 1, "expected string, got int64"),
        (TEXT | {"format": "date"}, 1, "expected string, got int64"),
        ({"type": "number"}, "x", "expected float, got string"),
        ({"type": "boolean"}, 1.5, "expected bool, got float64"),
        ({"type": "array", "items": INT}, "x", "expected an array for the provided schema with type=array"),
        ({"type": "array", "items": INT}, [None], "got null for schema with nullable=false"),
        ({"type": "object", "properties": {}}, [], "expected a map for the provided schema with type=object"),
        ({"type": "object", "additionalProperties": INT}, {"a": True}, "expected int, got bool"),
        (
            {"x-kubernetes-int-or-string": True},
            False,
            "expected XIntOrString value to be either a string or integer",
        ),
    ],
)
def test_data_of_another_schema_do_not_fit(schema: dict[str, Any], value: Any, problem: str) -> None:
    root = compile_rules(read_structural(_spec({"rule": "[self.x].size() == 1"}, x=schema)), strict=True)
    assert root is not None
    found = RuleSet(root).errors({"spec": {"x": value}}, {"spec": {"x": value}})
    assert [e.detail for e in found] == [f"invalid data, {problem} evaluating rule: [self.x].size() == 1"]


def test_what_does_not_fit_matters_only_to_rules_that_look_at_it() -> None:
    rules = [{"rule": "self == oldSelf || true"}, {"rule": "self > oldSelf"}, {"rule": "true"}]
    schema = {"type": "object", "properties": {"n": INT | {"x-kubernetes-validations": rules}}}
    root = compile_rules(read_structural(schema), strict=True)
    assert root is not None
    assert [e.detail for e in RuleSet(root).errors({"n": 1}, {"n": "x"})] == [
        "invalid data, expected int, got string evaluating rule: self > oldSelf"
    ]
    root = compile_rules(read_structural(_spec({"rule": "has(self.n)"}, n=INT)), strict=True)
    assert root is not None
    assert [e.detail for e in RuleSet(root).errors({"spec": {"n": "x"}})] == [
        "invalid data, expected int, got string evaluating rule: has(self.n)"
    ]


def test_rules_of_elements_that_the_type_does_not_have_are_broken_by_all_that_is_there() -> None:
    items = INT | {"x-kubernetes-validations": [{"rule": "self > 0"}]}
    inner = {"type": "object", "properties": {"n": items}}
    for schema in (items, {"type": "object", "items": items}):
        root = compile_rules(read_structural(_spec([], x={"type": "object", "items": schema}, y=inner)), strict=True)
        assert root is not None
        assert RuleSet(root).errors({"spec": {"x": {}, "y": {"n": 1}}}) == []
    rules = _rules(_spec([], x={"type": "object", "items": items}))
    assert [str(e) for e in rules.errors({"spec": {"x": [1, None, 2]}})] == [
        f'spec.x[{i}]: Invalid value: "integer": rule compiler initialization error: '
        "failed to convert to declType for CEL validation rules"
        for i in (0, 2)
    ]
    below = {"type": "object", "items": {"type": "object", "properties": {"n": items}}}
    assert _rules(_spec([], x=below)).errors({"spec": {"x": [{"n": 1}]}}) == []


def test_kind_and_version_of_the_root_always_count_as_changed() -> None:
    schema = {"type": "object", "properties": {"kind": TEXT | {"x-kubernetes-validations": [{"rule": "self == 'B'"}]}}}
    root, warnings, value = read_structural(schema), list[str](), {"kind": "A"}
    found = _rules(schema).errors(value, value, correlation=Correlation(root, value, value), warn=warnings.append)
    assert [str(e) for e in found] == ["kind: Invalid value: \"A\": failed rule: self == 'B'"]
    assert warnings == []

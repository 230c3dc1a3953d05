"""Admission policies and their bindings, with a compiler of expressions and without one."""

import copy
from typing import Any

import pytest
from kind_writer import create, created, row, update, update_status

from watchkeeper.apis.admissionregistration.behaviors import checked_behaviors
from watchkeeper.apis.admissionregistration.expressions import Problem, Scope, Use
from watchkeeper.meta.field import ErrorType

MATCH = {
    "resourceRules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]
}


def validating(**spec: Any) -> Any:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "p"},
        "spec": {"matchConstraints": copy.deepcopy(MATCH), "validations": [{"expression": "true"}], **spec},
    }


def mutating(**spec: Any) -> Any:
    mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": "[]"}}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": copy.deepcopy(MATCH),
            "mutations": [mutation],
            "reinvocationPolicy": "Never",
            **spec,
        },
    }


def binding(kind: str = "Validating", **spec: Any) -> Any:
    actions = {"validationActions": ["Deny"]} if kind == "Validating" else {}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}AdmissionPolicyBinding",
        "metadata": {"name": "b"},
        "spec": {"policyName": "p", **actions, **spec},
    }


class Compiler:
    """Knows the words `ok` and those declared; writes down how it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.known = {"ok"}
        self.scopes: list[tuple[bool, bool]] = []

    def scope(self, *, params: bool, variables: bool) -> Scope:
        self.scopes.append((params, variables))
        return self

    def declare(self, name: str, expression: str) -> Problem | None:
        found = self.problem(expression, Use.CONDITION)
        self.known.add(name)
        return found

    def problem(self, expression: str, use: Use) -> Problem | None:
        self.asked.append((expression, use.value))
        return None if expression in self.known else Problem("compilation failed", expression.startswith("sound"))


def checked(kind: str, obj: Any, old: Any = None) -> tuple[list[str], Compiler]:
    compiler = Compiler()
    behavior = next(b for b in checked_behaviors(compiler) if b.kind.kind == kind)
    found = behavior.validate(obj) if old is None else behavior.validate_update(obj, old)
    return [f"{error.field}: {error.detail}" for error in found], compiler


def test_a_validating_policy_is_filled_in() -> None:
    obj = created(validating())
    assert obj["metadata"]["generation"] == 1
    assert obj["spec"]["failurePolicy"] == "Fail"
    constraints = obj["spec"]["matchConstraints"]
    assert constraints["matchPolicy"] == "Equivalent"
    assert constraints["namespaceSelector"] == constraints["objectSelector"] == {}
    assert constraints["resourceRules"][0]["scope"] == "*"


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({"matchConstraints": None}, ["matchConstraints: Required value"]),
        ({"matchConstraints": {}}, ["matchConstraints.resourceRules: Required value"]),
        (
            {"validations": []},
            [
                "validations: Required value: validations or auditAnnotations must contain at least one item",
                "auditAnnotations: Required value: validations or auditAnnotations must contain at least one item",
            ],
        ),
        (
            {"validations": [{"expression": ""}]},
            ["validations[0].expression: Required value: expression is not specified"],
        ),
        (
            {"validations": [{"expression": "true", "reason": "Whatever"}]},
            [
                'validations[0].reason: Unsupported value: "Whatever": supported values: '
                '"Forbidden", "Invalid", "RequestEntityTooLarge"'
            ],
        ),
        (
            {"validations": [{"expression": "true", "message": "a\nb", "messageExpression": " "}]},
            [
                'validations[0].messageExpression: Invalid value: " ": must be non-empty if specified',
                'validations[0].message: Invalid value: "a\\nb": must not contain line breaks',
            ],
        ),
        (
            {"paramKind": {"apiVersion": "a/b/c"}},
            [
                'paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
                "paramKind.kind: Required value",
            ],
        ),
        (
            {"paramKind": {"apiVersion": "example.com/", "kind": "Limit"}},
            ['paramKind.apiVersion: Invalid value: "example.com/": version must be specified'],
        ),
        (
            {"variables": [{"name": "if", "expression": "1"}, {"name": " "}]},
            [
                'variables[0].name: Invalid value: "if": must be a valid CEL identifier',
                "variables[1].name: Required value: name is not specified",
                "variables[1].expression: Required value: expression is not specified",
            ],
        ),
        (
            {"auditAnnotations": [{"key": "k", "valueExpression": "'v'"}, {"key": "k"}]},
            [
                "auditAnnotations[1].valueExpression: Required value: valueExpression is not specified",
                'auditAnnotations[1].key: Duplicate value: "k"',
            ],
        ),
    ],
)
def test_what_a_validating_policy_must_say(spec: Any, errors: list[str]) -> None:
    assert create(validating(**spec)).errors == [f"spec.{error}" for error in errors]


def test_each_expression_is_compiled_for_its_use() -> None:
    policy = created(
        validating(
            paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
            matchConditions=[{"name": "c", "expression": " ok "}],
            variables=[{"name": "v", "expression": "ok"}],
            validations=[{"expression": "v", "messageExpression": "nope"}],
            auditAnnotations=[{"key": "k", "valueExpression": "never"}],
        )
    )
    errors, compiler = checked("ValidatingAdmissionPolicy", policy)
    assert errors == [
        "spec.validations[0].messageExpression: compilation failed",
        "spec.auditAnnotations[0].valueExpression: compilation failed",
    ]
    assert compiler.asked == [
        ("ok", "condition"),
        ("ok", "condition"),
        ("v", "validation"),
        ("nope", "message"),
        ("never", "auditAnnotation"),
    ]
    assert compiler.scopes == [(True, False), (True, True)]


def test_an_expression_that_no_program_can_be_made_of_is_an_internal_error() -> None:
    policy = validating(
        matchConditions=[{"name": "c", "expression": "sound"}],
        variables=[{"name": "v", "expression": "sound"}],
        validations=[{"expression": "sound too", "messageExpression": "sound too"}],
        auditAnnotations=[{"key": "k", "valueExpression": "sound too"}],
    )
    behavior = next(b for b in checked_behaviors(Compiler()) if b.kind.kind == "ValidatingAdmissionPolicy")
    errors = behavior.validate(created(policy))
    assert [(e.type, e.value) for e in errors] == [(ErrorType.INTERNAL, "")] * 5


def test_match_conditions_that_stay_are_not_compiled_again() -> None:
    policy = created(validating(matchConditions=[{"name": "c", "expression": "old words"}]))
    changed = copy.deepcopy(policy)
    changed["spec"]["validations"] = [{"expression": "ok"}]
    errors, _ = checked("ValidatingAdmissionPolicy", changed, policy)
    assert errors == []
    changed["spec"]["paramKind"] = {"apiVersion": "v1", "kind": "ConfigMap"}
    errors, _ = checked("ValidatingAdmissionPolicy", changed, policy)
    assert errors == ["spec.matchConditions[0].expression: compilation failed"]


def test_a_change_of_the_spec_is_a_new_generation() -> None:
    old = created(validating())
    body = copy.deepcopy(old)
    body["spec"]["failurePolicy"] = "Ignore"
    assert update(old, body).obj["metadata"]["generation"] == 2


def test_the_status_holds_conditions_and_warnings_only() -> None:
    old = created(validating())
    status = {"typeChecking": {"expressionWarnings": [{"fieldRef": "spec.validations[0].expression"}]}}
    assert update_status(old, status).errors == ["status.typeChecking.expressionWarnings[0].warning: Required value"]
    odd = {"typeChecking": {"expressionWarnings": [{"fieldRef": " a[ ", "warning": "w"}]}}
    assert update_status(old, odd).errors == [
        'status.typeChecking.expressionWarnings[0].fieldRef: Invalid value: "a[": invalid JSONPath: unterminated array'
    ]
    fine = {"typeChecking": {"expressionWarnings": [{"fieldRef": "spec.x", "warning": "w"}]}}
    written = update_status(old, fine)
    assert (written.errors, written.obj["status"]) == ([], fine)


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({"policyName": ""}, ["policyName: Required value"]),
        ({"validationActions": []}, ["validationActions: Required value: at least one validation action is required"]),
        (
            {"validationActions": ["Deny", "Warn"]},
            [
                'validationActions: Invalid value: ["Deny","Warn"]: must not contain both Deny and Warn (repeating the '
                "same validation failure information in the API response and headers serves no purpose)"
            ],
        ),
        (
            {"validationActions": ["Audit", "Audit", "Sing"]},
            [
                'validationActions[1]: Duplicate value: "Audit"',
                'validationActions[2]: Unsupported value: "Sing": supported values: "Audit", "Deny", "Warn"',
            ],
        ),
        (
            {"paramRef": {}},
            [
                "paramRef: Required value: one of name or selector must be specified",
                "paramRef.parameterNotFoundAction: Required value",
            ],
        ),
        (
            {"paramRef": {"name": "x", "selector": {}, "parameterNotFoundAction": "Shrug"}},
            [
                "paramRef.name: Forbidden: name and selector are mutually exclusive",
                "paramRef.selector: Forbidden: name and selector are mutually exclusive",
                'paramRef.parameterNotFoundAction: Unsupported value: "Shrug": supported values: "Deny", "Allow"',
            ],
        ),
        (
            {"matchResources": {"resourceRules": [{**MATCH["resourceRules"][0], "resourceNames": ["a", "a"]}]}},
            ['matchResources.resourceRules[0].resourceNames[1]: Duplicate value: "a"'],
        ),
    ],
)
def test_what_a_binding_must_say(spec: Any, errors: list[str]) -> None:
    assert create(binding(**spec)).errors == [f"spec.{error}" for error in errors]


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({"mutations": []}, ["mutations: Required value: mutations must contain at least one item"]),
        ({"reinvocationPolicy": None}, ["reinvocationPolicy: Required value"]),
        (
            {"mutations": [{"patchType": "JSONPatch", "applyConfiguration": {"expression": "x"}}]},
            [
                "mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch",
                'mutations[0].applyConfiguration: Invalid value: "{applyConfiguration}": '
                "must not be specified when patchType is JSONPatch",
            ],
        ),
        (
            {"mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": " "}}]},
            ["mutations[0].applyConfiguration.expression: Required value"],
        ),
        (
            {"mutations": [{"patchType": "Magic"}]},
            ['mutations[0].patchType: Unsupported value: "Magic": supported values: "ApplyConfiguration", "JSONPatch"'],
        ),
        (
            {"matchConstraints": {"resourceRules": [{**MATCH["resourceRules"][0], "operations": ["DELETE"]}]}},
            [
                'matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: '
                '"*", "CONNECT", "CREATE", "UPDATE"'
            ],
        ),
    ],
)
def test_what_a_mutating_policy_must_say(spec: Any, errors: list[str]) -> None:
    assert create(mutating(**spec)).errors == [f"spec.{error}" for error in errors]


def test_a_mutating_policy_compiles_patches() -> None:
    errors, compiler = checked("MutatingAdmissionPolicy", created(mutating()))
    assert errors == ["spec.mutations[0].jsonPatch.expression: compilation failed"]
    assert compiler.asked == [("[]", "jsonPatch")]
    assert compiler.scopes[-1] == (False, True)


def test_a_binding_of_a_mutating_policy_needs_no_actions() -> None:
    assert create(binding("Mutating")).errors == []
    rules = {"resourceRules": [{**MATCH["resourceRules"][0], "operations": ["DELETE"]}]}
    assert create(binding("Mutating", matchResources=rules)).errors == [
        'spec.matchResources.resourceRules.operations: Unsupported value: "DELETE": supported values: '
        '"*", "CONNECT", "CREATE", "UPDATE"'
    ]


def test_tables_show_parameters() -> None:
    policy = created(validating(paramKind={"apiVersion": "v1", "kind": "ConfigMap"}))
    assert (row(policy)["Validations"], row(policy)["ParamKind"]) == (1, "v1/ConfigMap")
    assert (row(created(mutating()))["Mutations"], row(created(mutating()))["ParamKind"]) == (1, "<unset>")
    assert row(created(binding()))["ParamRef"] == "<unset>"
    action = {"parameterNotFoundAction": "Deny"}
    assert row(created(binding(paramRef={"name": "x", **action})))["ParamRef"] == "*/x"
    assert row(created(binding(paramRef={"name": "x", "namespace": "n", **action})))["ParamRef"] == "n/x"
    selector = {
        "matchLabels": {"b": "2", "a": "1"},
        "matchExpressions": [{"key": "k", "operator": "In", "values": ["x", "y"]}],
    }
    shown = row(created(binding("Mutating", paramRef={"selector": selector, **action})))["ParamRef"]
    assert shown == (
        "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},"
        "MatchExpressions:[]LabelSelectorRequirement{"
        "LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},},}"
    )

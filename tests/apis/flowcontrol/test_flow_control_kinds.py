"""FlowSchemas and priority levels: two of each are fixed, the others follow the arithmetic of shuffle sharding."""

import copy
from typing import Any

import pytest
from kind_writer import create, created, row, update, update_status

from watchkeeper.apis.flowcontrol.flowschema import MANDATORY

SUBJECT = {"kind": "User", "user": {"name": "u"}}
RULE = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"]}


def schema(name: str = "s", **spec: Any) -> Any:
    return {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "FlowSchema",
        "metadata": {"name": name},
        "spec": {"priorityLevelConfiguration": {"name": "level"}, **spec},
    }


def level(name: str = "l", **spec: Any) -> Any:
    return {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "PriorityLevelConfiguration",
        "metadata": {"name": name},
        "spec": spec,
    }


def limited(**fields: Any) -> Any:
    return {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}, **fields}}


def queuing(**fields: Any) -> Any:
    return limited(limitResponse={"type": "Queue", "queuing": fields})


def rules(**fields: Any) -> Any:
    return [{"subjects": [SUBJECT], "resourceRules": [RULE], **fields}]


def test_a_schema_is_in_the_middle_by_default() -> None:
    obj = created(schema())
    assert (obj["spec"]["matchingPrecedence"], obj["metadata"]["generation"]) == (1000, 1)


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({"matchingPrecedence": -1}, ["matchingPrecedence: Invalid value: -1: must be a positive value"]),
        ({"matchingPrecedence": 10001}, ["matchingPrecedence: Invalid value: 10001: must not be greater than 10000"]),
        (
            {"matchingPrecedence": 1},
            ["matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1"],
        ),
        (
            {"priorityLevelConfiguration": {}},
            ["priorityLevelConfiguration.name: Required value: must reference a priority level"],
        ),
        (
            {"rules": [{}]},
            [
                "rules[0].subjects: Required value: subjects must contain at least one value",
                "rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty",
            ],
        ),
        (
            {"rules": rules(subjects=[{"kind": "Foo"}])},
            [
                'rules[0].subjects[0].kind: Unsupported value: "Foo": supported values: '
                '"Group", "ServiceAccount", "User"'
            ],
        ),
        (
            {"rules": rules(subjects=[{"kind": "ServiceAccount", "serviceAccount": {"name": "*"}, "user": {}}])},
            [
                "rules[0].subjects[0].serviceAccount.namespace: Required value: "
                "must specify namespace for service account",
                "rules[0].subjects[0].user: Forbidden: user is forbidden when subject kind is not 'User'",
            ],
        ),
        (
            {"rules": rules(subjects=[{"kind": "Group"}])},
            ["rules[0].subjects[0].group: Required value: group is required when subject kind is 'Group'"],
        ),
        (
            {"rules": rules(resourceRules=[{**RULE, "verbs": ["feed"], "namespaces": []}])},
            [
                'rules[0].resourceRules[0].verbs: Unsupported value: ["feed"]: supported values: "create", "delete", '
                '"deletecollection", "get", "list", "patch", "proxy", "update", "watch"',
                "rules[0].resourceRules[0].namespaces: Required value: "
                "resource rules that are not cluster scoped must supply at least one namespace",
            ],
        ),
        (
            {"rules": rules(resourceRules=[{**RULE, "namespaces": ["a", "*"], "apiGroups": []}])},
            [
                "rules[0].resourceRules[0].apiGroups: Required value: "
                "resource rules must supply at least one api group",
                'rules[0].resourceRules[0].namespaces: Invalid value: ["a","*"]: '
                "if '*' is present, must not specify other namespaces",
            ],
        ),
        (
            {"rules": rules(nonResourceRules=[{"verbs": ["get"], "nonResourceURLs": ["x", "/a//b", "/*/b", "/a/*"]}])},
            [
                'rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "x": must start with slash',
                'rules[0].nonResourceRules[0].nonResourceURLs[1]: Invalid value: "/a//b": '
                "must not contain double slash",
                'rules[0].nonResourceRules[0].nonResourceURLs[2]: Invalid value: "/*/b": '
                "wildcard can only do suffix matching",
            ],
        ),
        ({"rules": rules(resourceRules=[{**RULE, "namespaces": [], "clusterScope": True}])}, []),
    ],
)
def test_what_a_schema_must_say(spec: Any, errors: list[str]) -> None:
    assert create(schema(**spec)).errors == [f"spec.{error}" for error in errors]


@pytest.mark.parametrize("name", ["exempt", "catch-all"])
def test_mandatory_schemas_are_fixed(name: str) -> None:
    spec = copy.deepcopy(MANDATORY[name])
    assert create(schema(name, **spec)).errors == []
    spec["rules"] = []
    (error,) = create(schema(name, **spec)).errors
    assert error.endswith(f"spec of '{name}' must equal the fixed value")


def test_status_writers_change_the_status_only() -> None:
    old = created(schema())
    status = {"conditions": [{"type": "Dangling", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
    assert update_status(old, status).obj["status"] == status
    assert update_status(old, {"conditions": [{"type": "D"}, {"type": "D"}, {}]}).errors == [
        'status.conditions[1].type: Duplicate value: "D"',
        "status.conditions[2].type: Required value",
    ]
    assert update_status(old, status).obj["metadata"]["generation"] == 1


@pytest.mark.parametrize("obj", [schema(), level(**limited())])
def test_status_writers_change_no_metadata(obj: Any) -> None:
    old = created(obj)
    found = update_status(old, {}, {**old["metadata"], "generateName": "a/b", "labels": {"a": "b"}})
    assert found.errors == []
    assert found.obj["metadata"] == old["metadata"]


def test_the_table_of_schemas_shows_whether_the_level_is_missing() -> None:
    obj = created(schema(distinguisherMethod={"type": "ByUser"}))
    shown = row(obj)
    assert (shown["PriorityLevel"], shown["MatchingPrecedence"], shown["DistinguisherMethod"]) == (
        "level",
        1000,
        "ByUser",
    )
    assert shown["MissingPL"] == "?"
    obj["status"] = {"conditions": [{"type": "Dangling", "status": "False"}]}
    assert row(obj)["MissingPL"] == "False"
    assert row(created(schema()))["DistinguisherMethod"] == "<none>"


def test_a_level_is_filled_in() -> None:
    obj = created(level(**queuing()))
    assert obj["spec"]["limited"] == {
        "nominalConcurrencyShares": 30,
        "lendablePercent": 0,
        "limitResponse": {"type": "Queue", "queuing": {"queues": 64, "handSize": 8, "queueLengthLimit": 50}},
    }
    exempt = created(level("exempt", type="Exempt", exempt={}))
    assert exempt["spec"]["exempt"] == {"nominalConcurrencyShares": 0, "lendablePercent": 0}


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({"type": "Limited"}, ["limited: Required value: must not be empty when type is Limited"]),
        ({"type": "Free"}, ['type: Unsupported value: "Free": supported values: "Exempt", "Limited"']),
        (
            {"type": "Exempt"},
            ["type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'"],
        ),
        (
            {**limited(), "exempt": {}},
            ["exempt: Forbidden: must be nil if the type is Limited"],
        ),
        (
            limited(nominalConcurrencyShares=-1, lendablePercent=101, borrowingLimitPercent=-1),
            [
                "limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer",
                "limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive",
                "limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer",
            ],
        ),
        (
            limited(limitResponse={"type": "Queue"}),
            [
                "limited.limitResponse.queuing: Required value: "
                "must not be empty if limited.limitResponse.type is Limited"
            ],
        ),
        (
            limited(limitResponse={"type": "Reject", "queuing": {}}),
            ["limited.limitResponse.queuing: Forbidden: must be nil if limited.limitResponse.type is not Limited"],
        ),
        (
            queuing(queues=512, handSize=8),
            [
                "limited.limitResponse.queuing.handSize: Invalid value: 8: "
                "required entropy bits of deckSize 512 and handSize 8 should not be greater than 60"
            ],
        ),
        (
            queuing(queues=7, handSize=8, queueLengthLimit=-1),
            [
                "limited.limitResponse.queuing.queueLengthLimit: Invalid value: -1: must be positive",
                "limited.limitResponse.queuing.handSize: Invalid value: 8: should not be greater than queues (7)",
            ],
        ),
        (queuing(queues=10_000_000, handSize=2), []),
    ],
)
def test_what_a_level_must_say(spec: Any, errors: list[str]) -> None:
    assert create(level(**spec)).errors == [f"spec.{error}" for error in errors]


def test_mandatory_levels_are_fixed_but_for_the_shares_of_the_exempt() -> None:
    assert create(level("exempt", type="Exempt", exempt={"nominalConcurrencyShares": 10})).errors == []
    wrong = create(level("exempt", **limited())).errors
    assert wrong[0].startswith('spec.type: Invalid value: "Limited"')
    assert wrong[1].endswith("spec of 'exempt' except the 'spec.exempt' field must equal the fixed value")
    assert create(level("catch-all", **limited(nominalConcurrencyShares=5))).errors == []
    (error,) = create(level("catch-all", **limited())).errors
    assert error.endswith("spec of 'catch-all' must equal the fixed value")


def test_a_change_of_a_level_is_a_new_generation() -> None:
    old = created(level(**limited()))
    body = copy.deepcopy(old)
    body["spec"]["limited"]["nominalConcurrencyShares"] = 1
    assert update(old, body).obj["metadata"]["generation"] == 2


def test_the_table_of_levels_shows_queues() -> None:
    shown = row(created(level(**queuing())))
    assert [shown[name] for name in ("Type", "NominalConcurrencyShares", "Queues", "HandSize", "QueueLengthLimit")] == [
        "Limited",
        30,
        64,
        8,
        50,
    ]
    exempt = row(created(level("exempt", type="Exempt")))
    assert (exempt["NominalConcurrencyShares"], exempt["Queues"]) == ("<none>", "<none>")

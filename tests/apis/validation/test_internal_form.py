"""How errors show values that have fields."""

from typing import Any

import pytest
from kind_writer import create, created, update

from watchkeeper.apis.validation.internal_form import InternalForm, Listed, Reference, internal_form

FORM: InternalForm = {
    "name": ("Name", ""),
    "part": ("Part", {"count": ("Count", 0)}),
    "other": ("Other", Reference(name=("Name", ""))),
    "items": ("Items", Listed(key=("Key", ""))),
}


def test_all_fields_are_shown_and_those_not_set_are_empty() -> None:
    assert internal_form(None, FORM) == {"Name": "", "Part": {"Count": 0}, "Other": None, "Items": None}
    value = {"items": [{}, {"key": "a"}], "other": {}, "part": {"count": 2}, "more": 1}
    assert internal_form(value, FORM) == {
        "Name": "",
        "Part": {"Count": 2},
        "Other": {"Name": ""},
        "Items": [{"Key": ""}, {"Key": "a"}],
    }
    assert list(internal_form(value, FORM)) == ["Name", "Part", "Other", "Items"]


def body(kind: str, version: str, **fields: Any) -> Any:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}, **fields}


BUDGET = body("PodDisruptionBudget", "policy/v1", spec={"minAvailable": 1, "maxUnavailable": "5%"})
TOLERATION = {"key": "a", "operator": "Exists"}
RUNTIME = body("RuntimeClass", "node.k8s.io/v1", handler="h", scheduling={"tolerations": [TOLERATION, TOLERATION]})
SCHEMA = body("FlowSchema", "flowcontrol.apiserver.k8s.io/v1")
SCHEMA["metadata"]["name"] = "exempt"
SCHEMA["spec"] = {
    "priorityLevelConfiguration": {"name": "exempt"},
    "matchingPrecedence": 1,
    "rules": [
        {
            "subjects": [{"kind": "User", "user": {"name": "u"}}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        }
    ],
}
METHOD = {"distinguisherMethod": {"type": "X"}, "matchingPrecedence": 2}
LEVEL = body("PriorityLevelConfiguration", "flowcontrol.apiserver.k8s.io/v1")
LEVEL["metadata"]["name"] = "catch-all"
LEVEL["spec"] = {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}


@pytest.mark.parametrize(
    ("new", "error"),
    [
        (
            {**SCHEMA, "metadata": {"name": "a"}, "spec": {**SCHEMA["spec"], **METHOD}},
            'spec.distinguisherMethod.type: Unsupported value: {"Type":"X"}: supported values: "ByNamespace", "ByUser"',
        ),
        (
            BUDGET,
            'spec: Invalid value: {"MinAvailable":1,"Selector":null,"MaxUnavailable":"5%",'
            '"UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set',
        ),
        (
            RUNTIME,
            'scheduling.tolerations[1]: Duplicate value: {"Key":"a","Operator":"Exists","Value":"","Effect":"",'
            '"TolerationSeconds":null}',
        ),
        (
            SCHEMA,
            'spec: Invalid value: {"PriorityLevelConfiguration":{"Name":"exempt"},"MatchingPrecedence":1,'
            '"DistinguisherMethod":null,"Rules":[{"Subjects":[{"Kind":"User","User":{"Name":"u"},"Group":null,'
            '"ServiceAccount":null}],"ResourceRules":null,"NonResourceRules":[{"Verbs":["*"],'
            '"NonResourceURLs":["*"]}]}]}: spec of \'exempt\' must equal the fixed value',
        ),
        (
            LEVEL,
            'spec: Invalid value: {"Type":"Limited","Limited":{"NominalConcurrencyShares":30,"LimitResponse":{'
            '"Type":"Reject","Queuing":null},"LendablePercent":0,"BorrowingLimitPercent":null},"Exempt":null}: '
            "spec of 'catch-all' must equal the fixed value",
        ),
    ],
)
def test_refusals_of_new_objects_name_fields_as_go_does(new: Any, error: str) -> None:
    assert create(new).errors == [error]


def test_a_changed_role_is_shown_as_go_names_it() -> None:
    group = "rbac.authorization.k8s.io"
    binding = body("RoleBinding", f"{group}/v1", roleRef={"apiGroup": group, "kind": "Role", "name": "x"})
    changed = {**binding, "roleRef": {**binding["roleRef"], "name": "y"}}
    assert update(created(binding), changed).errors == [
        'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"y"}: '
        "cannot change roleRef"
    ]


def test_a_changed_parent_is_judged_as_a_new_one_too() -> None:
    address = body("IPAddress", "networking.k8s.io/v1", spec={"parentRef": {"resource": "services", "name": "s"}})
    address["metadata"]["name"] = "10.0.0.1"
    changed = {**address, "spec": {"parentRef": {"resource": "services", "name": "s/"}}}
    assert update(created(address), changed).errors == [
        "spec.parentRef.name: Invalid value: \"s/\": may not contain '/'",
        'spec.parentRef: Invalid value: {"Group":"","Resource":"services","Namespace":"","Name":"s/"}: '
        "field is immutable",
    ]


def test_a_changed_claim_is_shown_whole() -> None:
    request = {"name": "r", "exactly": {"deviceClassName": "gpu", "selectors": [{"cel": {"expression": "true"}}]}}
    claim = body("ResourceClaim", "resource.k8s.io/v1", spec={"devices": {"requests": [request]}})
    changed = {**claim, "spec": {"devices": {"requests": [{**request, "name": "q"}]}}}
    assert update(created(claim), changed).errors == [
        'spec: Invalid value: {"Devices":{"Requests":[{"Name":"q","Exactly":{"DeviceClassName":"gpu","Selectors":['
        '{"CEL":{"Expression":"true"}}],"AllocationMode":"ExactCount","Count":1,"AdminAccess":null,'
        '"Tolerations":null,"Capacity":null},"FirstAvailable":null}],"Constraints":null,"Config":null}}: '
        "field is immutable"
    ]

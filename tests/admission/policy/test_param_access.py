"""Who may write policies that read parameters."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from watchkeeper.admission.interface import Attributes, Operation
from watchkeeper.admission.policy.param_access import ParamAccess
from watchkeeper.authz.interface import ALLOWED, NO_OPINION, Answer
from watchkeeper.authz.interface import Attributes as Question
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupResource, GroupVersionKind, GroupVersionResource
from watchkeeper.request.user import LOOPBACK, User

Object = dict[str, Any]
GROUP = "admissionregistration.k8s.io"
ANN = User("ann", groups=("devs", "system:authenticated"), extra={"b": ("1", "2"), "a": ("x",)})
SHOWN = "&{ann  [devs system:authenticated] map[a:[x] b:[1 2]]}"
PARAM_KIND = {"apiVersion": "example.io/v1", "kind": "Limit"}
POLICIES = {
    "known": {"spec": {"paramKind": PARAM_KIND}},
    "unserved": {"spec": {"paramKind": {**PARAM_KIND, "kind": "X"}}},
}


class Rights:
    """Grants what is listed as `verb group/resource namespace/name`."""

    def __init__(self, *granted: str) -> None:
        self.granted = granted
        self.asked: list[str] = []

    def authorize(self, attributes: Question) -> Answer:
        a = attributes
        self.asked.append(f"{a.verb} {a.group}/{a.resource} {a.namespace}/{a.name}")
        return ALLOWED if self.asked[-1] in self.granted else NO_OPINION


async def find_policy(resource: GroupResource, name: str) -> Object | None:
    assert resource == GroupResource(GROUP, "validatingadmissionpolicies")
    return POLICIES.get(name)


def find_resource(kind: GroupVersionKind) -> str | None:
    return "limits" if kind == GroupVersionKind("example.io", "v1", "Limit") else None


def judge(rights: Rights, kind: str, spec: Object, old: Object | None = None, user: User = ANN) -> list[Object]:
    """The causes of a refusal, none when the write passes."""
    plural = {"Policy": "validatingadmissionpolicies", "Binding": "validatingadmissionpolicybindings"}[kind]
    attributes = Attributes(
        operation=Operation.CREATE if old is None else Operation.UPDATE,
        kind=GroupVersionKind(GROUP, "v1", f"ValidatingAdmission{kind}"),
        resource=GroupVersionResource(GROUP, "v1", plural),
        namespace="",
        name="p",
        user=user,
        obj={"metadata": {"name": "p"}, "spec": spec},
        old=None if old is None else {"metadata": {"name": "p"}, "spec": old},
        options={},
    )

    async def wait(waiting: Awaitable[None]) -> None:
        await waiting

    try:
        waiting = ParamAccess(rights, find_policy, find_resource).validate(attributes)
        if waiting is not None:
            asyncio.run(wait(waiting))
    except ApiError as error:
        assert (error.code, error.reason) == (422, "Invalid")
        assert error.details is not None
        return list(error.details["causes"])
    return []


def cause(field: str, why: str) -> list[Object]:
    return [{"reason": "FieldValueForbidden", "message": f"Forbidden: {why}", "field": field}]


def test_a_policy_needs_the_right_to_get_all_of_its_parameters() -> None:
    spec = {"paramKind": PARAM_KIND}
    why = (
        f'user {SHOWN} must have "get" permission on all objects of the referenced paramKind '
        "(kind=Limit, apiVersion=example.io/v1)"
    )
    assert judge(Rights(), "Policy", spec) == cause("spec.paramKind", why)
    assert judge(Rights("get example.io/limits */*"), "Policy", spec) == []
    assert judge(Rights(), "Policy", spec, user=LOOPBACK) == []
    assert judge(Rights(), "Policy", {}) == []


def test_a_policy_is_asked_about_again_only_when_its_kind_of_parameters_changes() -> None:
    spec = {"paramKind": PARAM_KIND}
    assert judge(Rights(), "Policy", spec, {**spec, "failurePolicy": "Ignore"}) == []
    assert judge(Rights(), "Policy", {"paramKind": {"apiVersion": "v1", "kind": "X"}}, spec) != []


@pytest.mark.parametrize(
    ("policy", "ref", "asked", "why"),
    [
        (
            "known",
            {"name": "a", "namespace": "web"},
            "get example.io/limits web/a",
            f'user {SHOWN} does not have "get" permission on the object referenced by paramRef',
        ),
        (
            "known",
            {"selector": {}},
            "list example.io/limits /",
            f'user {SHOWN} does not have "list" permission on the object referenced by paramRef',
        ),
        (
            "absent",
            {"name": "a"},
            "get */* /a",
            f"unable to get policy absent to determine minimum required permissions and user {SHOWN} does not have "
            '"get" permission for all groups, versions and resources',
        ),
        (
            "unserved",
            {"name": "a"},
            "get example.io/* /a",
            "unable to resolve paramKind &{example.io/v1 X} to determine minimum required permissions and user "
            f'{SHOWN} does not have "get" permission for all groups, versions and resources',
        ),
    ],
)
def test_a_binding_needs_the_right_to_read_what_it_refers_to(policy: str, ref: Object, asked: str, why: str) -> None:
    spec, rights = {"policyName": policy, "paramRef": ref}, Rights()
    assert judge(rights, "Binding", spec) == cause("spec.paramRef", why)
    assert rights.asked == [asked]
    assert judge(Rights(asked), "Binding", spec, spec) == []
    assert judge(Rights(), "Binding", spec, spec) == cause("spec.paramRef", why)
    assert judge(Rights(), "Binding", {"policyName": policy}) == []

"""Nobody grants what they do not have."""

import asyncio

import pytest
from rbac_objects import binding, role, rule, subject

from watchkeeper.authz.rbac.authorizer import RbacAuthorizer
from watchkeeper.authz.rbac.escalation import EscalationCheck
from watchkeeper.authz.rbac.policy import GROUP, Policy
from watchkeeper.meta.errors import ApiError
from watchkeeper.request.user import User

ANN = User("ann", groups=("system:authenticated",))
ADMIN = User("root", groups=("system:masters",))


def check(*rules):
    """A check for a user Ann who has these rules in namespace `a`, beside a role `other` with more."""
    policy = Policy()
    policy.put(role("own", *rules, namespace="a"))
    policy.put(binding("own", "own", subject("User", "ann"), namespace="a"))
    policy.put(role("other", rule("delete", "secrets"), namespace="a"))
    return EscalationCheck(policy, RbacAuthorizer(policy))


def refused(work):
    with pytest.raises(ApiError) as caught:
        asyncio.run(work)
    return caught.value


def test_a_role_of_ones_own_rights_can_be_written():
    wanted = role("new", rule("get", "pods"), namespace="a")
    asyncio.run(check(rule("get list", "pods")).check_role(ANN, "a", "", wanted, None))


def test_a_role_beyond_ones_rights_is_refused_with_what_is_missing():
    wanted = role("new", rule("get delete", "pods"), namespace="a")
    error = refused(check(rule("get", "pods")).check_role(ANN, "a", "", wanted, None))
    assert error.code == 403
    assert error.message == (
        'roles.rbac.authorization.k8s.io "new" is forbidden: user "ann" (groups=["system:authenticated"]) '
        "is attempting to grant RBAC permissions not currently held:\n"
        '{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}'
    )


def test_a_refusal_tells_of_roles_that_ones_bindings_refer_to_in_vain():
    told = []
    for gone in (("nosuch",), ("nosuch", "either")):
        policy = Policy()
        for name in gone:
            policy.put(binding(f"to-{name}", name, subject("User", "ann"), namespace="a"))
        wanted = role("new", rule("get", "pods"), namespace="a")
        error = refused(EscalationCheck(policy, RbacAuthorizer(policy)).check_role(ANN, "a", "", wanted, None))
        told.append(error.message.partition("}; ")[2])
    one, other = (f'role.rbac.authorization.k8s.io "{name}" not found' for name in ("nosuch", "either"))
    assert told == [f"resolution errors: [{one}]", f"resolution errors: [[{one}, {other}]]"]


def test_the_right_to_escalate_and_the_administrator_go_beyond():
    wanted = role("new", rule("delete", "pods"), namespace="a")
    asyncio.run(check(rule("escalate", "roles", GROUP)).check_role(ANN, "a", "", wanted, None))
    asyncio.run(check().check_role(ADMIN, "a", "", wanted, None))


def test_a_garbage_collector_may_touch_what_it_could_not_grant():
    old = role("new", rule("delete", "pods"), namespace="a")
    new = {**old, "metadata": {**old["metadata"], "finalizers": ["x"]}}
    asyncio.run(check().check_role(ANN, "a", "new", new, old))
    changed = {**new, "rules": [rule("get", "pods")]}
    assert refused(check().check_role(ANN, "a", "new", changed, old)).code == 403


def test_only_cluster_administrators_aggregate():
    wanted = {**role("new"), "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}}
    error = refused(check(rule("get", "pods")).check_role(ANN, "", "", wanted, None))
    assert error.message.endswith("must have cluster-admin privileges to use the aggregationRule")


def test_a_binding_needs_the_rights_it_gives_or_the_right_to_bind():
    wanted = binding("new", "other", subject("User", "bob"), namespace="a")
    error = refused(check(rule("get", "pods")).check_binding(ANN, "a", wanted, None))
    assert error.details == {"name": "new", "group": GROUP, "kind": "rolebindings"}
    asyncio.run(check(rule("delete", "secrets")).check_binding(ANN, "a", wanted, None))
    asyncio.run(check(rule("bind", "roles", GROUP)).check_binding(ANN, "a", wanted, None))


def test_a_binding_to_nothing_cannot_be_judged():
    wanted = binding("new", "absent", subject("User", "bob"), namespace="a")
    error = refused(check(rule("get", "pods")).check_binding(ANN, "a", wanted, None))
    assert (error.code, error.message) == (404, 'rolebindings.rbac.authorization.k8s.io "absent" not found')

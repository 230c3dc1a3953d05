"""Roles and bindings decide."""

from rbac_objects import binding, role, rule, subject

from watchkeeper.authz.interface import Attributes, Decision
from watchkeeper.authz.rbac.authorizer import RbacAuthorizer
from watchkeeper.authz.rbac.policy import Policy
from watchkeeper.authz.reviews import self_subject_rules_review
from watchkeeper.request.user import User

ANN = User("ann", groups=("devs", "system:authenticated"))


def policy(*objects):
    found = Policy()
    for obj in objects:
        found.put(obj)
    return found


def may(found, user, verb, resource, namespace=""):
    return RbacAuthorizer(found).authorize(Attributes(user=user, verb=verb, resource=resource, namespace=namespace))


def test_a_role_binding_grants_in_its_namespace_only():
    found = policy(
        role("reader", rule("get", "pods"), namespace="a"),
        binding("readers", "reader", subject("User", "ann"), namespace="a"),
    )
    answer = may(found, ANN, "get", "pods", "a")
    assert answer.allowed
    assert answer.reason == 'RBAC: allowed by RoleBinding "readers/a" of Role "reader" to User "ann"'
    assert not may(found, ANN, "get", "pods", "b").allowed
    assert not may(found, ANN, "get", "pods").allowed
    assert may(found, User("bob"), "get", "pods", "a").decision is Decision.NO_OPINION


def test_a_cluster_role_can_be_bound_in_one_namespace_or_everywhere():
    reader = role("reader", rule("get", "pods"))
    there = policy(reader, binding("b", "reader", subject("Group", "devs"), namespace="a", cluster_role=True))
    assert may(there, ANN, "get", "pods", "a").allowed
    assert not may(there, ANN, "get", "pods", "b").allowed
    everywhere = policy(reader, binding("b", "reader", subject("Group", "devs")))
    answer = may(everywhere, ANN, "get", "pods", "b")
    assert answer.reason == 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "reader" to Group "devs"'


def test_a_service_account_is_meant_in_its_own_namespace_or_in_the_bindings():
    robot = User("system:serviceaccount:a:robot")
    reader = role("reader", rule("get", "pods"), namespace="a")
    assert may(
        policy(reader, binding("b", "reader", subject("ServiceAccount", "robot"), namespace="a")),
        robot,
        "get",
        "pods",
        "a",
    ).allowed
    other = policy(reader, binding("b", "reader", subject("ServiceAccount", "robot", namespace="z"), namespace="a"))
    assert not may(other, robot, "get", "pods", "a").allowed
    assert may(other, User("system:serviceaccount:z:robot"), "get", "pods", "a").allowed


def test_a_binding_to_nothing_is_named_in_the_refusal():
    found = policy(binding("b", "absent", subject("User", "ann"), namespace="a"))
    answer = may(found, ANN, "get", "pods", "a")
    assert (answer.allowed, answer.reason) == (False, 'RBAC: role.rbac.authorization.k8s.io "absent" not found')


def test_changes_take_effect_at_once():
    found = policy(role("reader", rule("get", "pods")))
    authorizer = RbacAuthorizer(found)
    asked = Attributes(user=ANN, verb="get", resource="pods")
    bound = binding("b", "reader", subject("User", "ann"))
    assert not authorizer.authorize(asked).allowed
    found.put(bound)
    assert authorizer.authorize(asked).allowed
    found.put(role("reader", rule("list", "pods")))
    assert not authorizer.authorize(asked).allowed
    found.put(role("reader", rule("get", "pods")))
    found.put(binding("b", "reader", subject("User", "bob")))
    assert not authorizer.authorize(asked).allowed
    found.put(bound)
    found.remove(bound)
    assert not authorizer.authorize(asked).allowed


def test_a_whole_kind_can_be_replaced():
    found = policy(
        role("old", rule("get", "pods")),
        role("old", rule("get", "pods"), namespace="a"),
        binding("b", "old", subject("User", "ann")),
    )
    found.replace("ClusterRole", [role("new", rule("list", "pods"))])
    assert not may(found, ANN, "get", "pods").allowed
    found.put(binding("b", "old", subject("User", "ann"), namespace="a"))
    assert may(found, ANN, "get", "pods", "a").allowed, "namespaced roles are another kind"
    found.replace("RoleBinding", [])
    assert not may(found, ANN, "get", "pods", "a").allowed


def test_rules_for_a_user_are_those_of_the_cluster_and_of_the_namespace():
    found = policy(
        role("all", rule("get", "nodes")),
        role("here", rule("get", "pods"), namespace="a"),
        binding("1", "all", subject("Group", "devs")),
        binding("2", "here", subject("User", "ann"), namespace="a"),
    )
    assert [r.resources for r in found.rules_for(ANN, "a")] == [("nodes",), ("pods",)]
    assert [r.resources for r in found.rules_for(ANN, "b")] == [("nodes",)]


def test_a_review_of_ones_rules_tells_of_roles_that_there_are_not():
    found = policy(
        role("all", rule("get", "nodes")),
        binding("1", "all", subject("User", "ann")),
        binding("2", "nosuch", subject("User", "ann")),
        binding("3", "nosuch", subject("Group", "devs")),
    )
    review = {"kind": "SelfSubjectRulesReview", "spec": {"namespace": "a"}}
    status = self_subject_rules_review(review, ANN, found)["status"]
    assert [each["resources"] for each in status["resourceRules"]] == [["nodes"]]
    assert status["evaluationError"] == 'clusterrole.rbac.authorization.k8s.io "nosuch" not found'
    assert "evaluationError" not in self_subject_rules_review(review, User("bob"), found)["status"]

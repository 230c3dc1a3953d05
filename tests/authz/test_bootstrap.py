"""What every cluster begins with, looked at as a whole."""

from watchkeeper.authz.bootstrap.policy import initial_policy
from watchkeeper.authz.interface import Attributes
from watchkeeper.authz.rbac.authorizer import RbacAuthorizer
from watchkeeper.authz.rbac.policy import Policy
from watchkeeper.request.user import ANONYMOUS, AUTHENTICATED, User

ANN = User("ann", groups=(AUTHENTICATED,))


def authorizer():
    policy = Policy()
    for obj in initial_policy():
        policy.put(obj)
    return RbacAuthorizer(policy)


def reads(user, path):
    return authorizer().authorize(Attributes(user=user, verb="get", is_resource=False, path=path)).allowed


def test_every_binding_refers_to_a_role_that_is_there():
    objects = initial_policy()
    roles = {(o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"]) for o in objects if "rules" in o}
    for obj in objects:
        if "roleRef" in obj:
            kind, name = obj["roleRef"]["kind"], obj["roleRef"]["name"]
            namespace = obj["metadata"].get("namespace", "") if kind == "Role" else ""
            assert (kind, namespace, name) in roles, obj["metadata"]["name"]


def test_names_are_there_once_and_carry_the_marks_of_the_bootstrap():
    objects = initial_policy()
    names = [(o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"]) for o in objects]
    assert len(set(names)) == len(names)
    for obj in objects:
        assert obj["metadata"]["labels"]["kubernetes.io/bootstrapping"] == "rbac-defaults"
        assert obj["metadata"]["annotations"]["rbac.authorization.kubernetes.io/autoupdate"] == "true"


def test_anybody_reads_health_and_version_and_users_discover():
    for path in ("/healthz", "/livez", "/readyz", "/version"):
        assert reads(ANONYMOUS, path)
        assert reads(ANN, path)
    for path in ("/api", "/apis/apps/v1", "/openapi/v3"):
        assert not reads(ANONYMOUS, path)
        assert reads(ANN, path)
    assert not reads(ANN, "/metrics")


def test_admin_collects_edit_and_edit_collects_view():
    rules = {o["metadata"]["name"]: o["rules"] for o in initial_policy() if o["kind"] == "ClusterRole"}
    assert all(rule in rules["edit"] for rule in rules["view"])
    assert all(rule in rules["admin"] for rule in rules["edit"])
    assert all(rule in rules["admin"] for rule in rules["system:aggregate-to-admin"])


def test_each_controller_has_the_rights_of_its_own_account():
    robot = User("system:serviceaccount:kube-system:job-controller")
    asked = Attributes(user=robot, verb="update", group="batch", resource="jobs", subresource="status", namespace="x")
    assert authorizer().authorize(asked).allowed


def test_rules_hold_what_they_name_in_order():
    for obj in initial_policy():
        for rule in obj.get("rules", ()):
            for names in rule.values():
                assert names == sorted(names), obj["metadata"]["name"]


def test_editors_write_events_of_both_groups():
    rules = {o["metadata"]["name"]: o["rules"] for o in initial_policy() if o["kind"] == "ClusterRole"}
    assert {
        "apiGroups": ["", "events.k8s.io"],
        "resources": ["events"],
        "verbs": ["create", "delete", "deletecollection", "patch", "update"],
    } in rules["edit"]
    assert {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["get", "list", "watch"]} in rules[
        "view"
    ]

"""Acting as somebody else, as far as one may."""

import asyncio

import pytest

from watchkeeper.authz.interface import ALLOWED, NO_OPINION
from watchkeeper.endpoints.filters.impersonation import Impersonation
from watchkeeper.meta.errors import ApiError
from watchkeeper.request.request import Request
from watchkeeper.request.user import User

ANN = User("ann", groups=("system:authenticated",))


class Rights:
    """Allows (verb, resource, name) triples; a name of * stands for all."""

    def __init__(self, *granted):
        self.granted = set(granted)

    def authorize(self, a):
        resource = f"{a.resource}/{a.subresource}" if a.subresource else a.resource
        may = {(a.verb, resource, a.name), (a.verb, resource, "*")} & self.granted
        return ALLOWED if may or ("*", "*", "*") in self.granted else NO_OPINION


ALL = Rights(("*", "*", "*"))


def impersonate(rights, headers, user=ANN, path="/api/v1/namespaces/ns/pods"):
    scope = {
        "method": "GET",
        "path": path,
        "query_string": b"",
        "headers": [(k.encode(), v.encode()) for k, v in headers],
    }
    request = Request(scope, None, None)
    request.user = user
    filtered = rights if isinstance(rights, Impersonation) else Impersonation(rights)

    async def run():
        pending = filtered(request)
        if pending is not None:
            await pending

    asyncio.run(run())
    return request.user


def refusal(*arguments, **named):
    with pytest.raises(ApiError) as refused:
        impersonate(*arguments, **named)
    return refused.value


def test_names_are_utf_8():
    headers = [("impersonate-user", "jürgen"), ("impersonate-group", "köche"), ("impersonate-extra-x", "ü")]
    user = impersonate(ALL, headers)
    assert (user.name, user.groups[0], dict(user.extra)) == ("jürgen", "köche", {"x": ("ü",)})


def test_without_headers_everybody_stays_who_they_are():
    assert impersonate(Rights(), [("accept", "*/*")]) is ANN


def test_everything_of_a_user_can_be_taken_on():
    user = impersonate(
        ALL,
        [
            ("impersonate-user", "bob"), ("impersonate-group", "devs"), ("impersonate-group", "ops"),
            ("impersonate-uid", "42"), ("impersonate-extra-scopes", "a"), ("impersonate-extra-scopes", "b"),
            ("impersonate-extra-acme.io%2fteam", "t"),
        ],
    )  # fmt: skip
    extra = {"scopes": ("a", "b"), "acme.io/team": ("t",)}
    assert user == User("bob", uid="42", groups=("devs", "ops", "system:authenticated"), extra=extra)


def test_service_accounts_bring_their_groups_and_nodes_theirs():
    account = impersonate(ALL, [("impersonate-user", "system:serviceaccount:ns:robot")])
    assert account.groups == ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated")
    node = impersonate(ALL, [("impersonate-user", "system:node:n1")])
    assert node.groups == ("system:nodes", "system:authenticated")


def test_the_anonymous_user_is_unauthenticated():
    assert impersonate(ALL, [("impersonate-user", "system:anonymous")]).groups == ("system:unauthenticated",)


def test_groups_without_a_user_are_a_bad_request():
    error = refusal(ALL, [("impersonate-group", "devs")])
    assert error.code == 400
    assert error.headers == ((b"x-content-type-options", b"nosniff"),)
    assert error.message == (
        'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"devs"}, Extra:map[string][]string(nil)} '
        "without impersonating a user name"
    )


def test_the_old_right_covers_one_user_and_each_group_apart():
    rights = Rights(("impersonate", "users", "bob"), ("impersonate", "groups", "devs"))
    user = impersonate(rights, [("impersonate-user", "bob"), ("impersonate-group", "devs")])
    assert user.groups == ("devs", "system:authenticated")
    assert refusal(rights, [("impersonate-user", "eve")]).code == 403
    assert refusal(rights, [("impersonate-user", "bob"), ("impersonate-group", "system:masters")]).code == 403


def test_a_constrained_right_holds_for_what_may_be_done_with_it():
    rights = Rights(
        ("impersonate:user-info", "users", "bob"),
        ("impersonate-on:user-info:list", "pods", "*"),
    )
    rights.granted.add(("impersonate-on:user-info:list", "pods", ""))
    assert impersonate(rights, [("impersonate-user", "bob")]).name == "bob"
    error = refusal(rights, [("impersonate-user", "bob")], path="/api/v1/namespaces/ns/secrets")
    assert error.message == (
        'secrets is forbidden: User "ann" cannot impersonate-on:user-info:list resource "secrets" in API group "" '
        'in the namespace "ns"'
    )


def test_a_constrained_right_never_makes_an_administrator():
    granted = [("impersonate:user-info", r, "*") for r in ("users", "groups")]
    rights = Rights(*granted, ("impersonate-on:user-info:list", "pods", ""))
    headers = [("impersonate-user", "bob"), ("impersonate-group", "system:masters")]
    assert refusal(rights, headers).message.endswith("impersonating the system:masters group is not allowed")


def test_a_service_account_may_act_as_its_own_node():
    extra = {"authentication.kubernetes.io/node-name": ("n1",)}
    robot = User("system:serviceaccount:kube-system:agent", extra=extra)
    rights = Rights(("impersonate:associated-node", "nodes", "*"), ("impersonate-on:associated-node:list", "pods", ""))
    user = impersonate(rights, [("impersonate-user", "system:node:n1")], user=robot)
    assert user.groups == ("system:nodes", "system:authenticated")
    assert refusal(rights, [("impersonate-user", "system:node:n2")], user=robot).code == 403


def test_who_was_let_in_by_the_old_right_is_refused_in_its_words():
    filtered = Impersonation(Rights(("impersonate", "users", "bob")))
    impersonate(filtered, [("impersonate-user", "bob")])
    error = refusal(filtered, [("impersonate-user", "eve")])
    assert error.message == (
        'users "eve" is forbidden: User "ann" cannot impersonate resource "users" in API group "" at the cluster scope'
    )

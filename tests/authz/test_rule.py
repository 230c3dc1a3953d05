"""What a rule allows, and which rules cover others."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchkeeper.authz.interface import Attributes
from watchkeeper.authz.rbac.rule import FULL_AUTHORITY, Rule, compact, uncovered, url_covers
from watchkeeper.request.user import User

ANN = User("ann")


def asks(verb, resource="", group="", subresource="", name="", path=""):
    return Attributes(
        user=ANN, verb=verb, resource=resource, group=group, subresource=subresource, name=name, path=path,
        is_resource=not path,
    )  # fmt: skip


def rule(verbs, resources, groups="", names=""):
    return Rule(
        verbs=tuple(verbs.split()), api_groups=tuple(groups.split(",")), resources=tuple(resources.split()),
        resource_names=tuple(names.split()),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("granted", "asked", "allowed"),
    [
        (rule("get list", "pods"), asks("get", "pods"), True),
        (rule("get list", "pods"), asks("watch", "pods"), False),
        (rule("get", "pods"), asks("get", "pods", "apps"), False),
        (rule("*", "*", "*"), asks("anything", "things", "any.group", "status"), True),
        (rule("get", "pods"), asks("get", "pods", subresource="log"), False),
        (rule("get", "pods/log"), asks("get", "pods", subresource="log"), True),
        (rule("get", "pods/log"), asks("get", "pods"), False),
        (rule("get", "*/scale", "*"), asks("get", "deployments", "apps", "scale"), True),
        (rule("get", "*/scale", "*"), asks("get", "deployments", "apps"), False),
        (rule("get", "secrets", names="mine"), asks("get", "secrets", name="mine"), True),
        (rule("get", "secrets", names="mine"), asks("get", "secrets", name="other"), False),
        (rule("list", "secrets", names="mine"), asks("list", "secrets"), False),
        (rule("get", "pods"), asks("get", path="/healthz"), False),
        (Rule(verbs=("get",), non_resource_urls=("/healthz/*",)), asks("get", path="/healthz/ping"), True),
        (Rule(verbs=("get",), non_resource_urls=("/healthz/*",)), asks("get", path="/healthz"), False),
        (Rule(verbs=("get",), non_resource_urls=("*",)), asks("get", path="/anything"), True),
        (Rule(verbs=("get",), non_resource_urls=("*",)), asks("get", "pods"), False),
    ],
)
def test_a_rule_allows_what_it_names(granted, asked, allowed):
    assert granted.allows(asked) is allowed


def test_a_star_at_the_end_covers_all_that_begins_so():
    assert url_covers("/a*", "/abc")
    assert not url_covers("/a*c", "/abc")


def test_what_is_missing_is_told_verb_by_verb_and_put_together_again():
    missing = uncovered([rule("get", "pods")], [rule("get list delete", "pods secrets")])
    assert [str(found) for found in compact(missing)] == [
        '{APIGroups:[""], Resources:["pods"], Verbs:["list" "delete"]}',
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list" "delete"]}',
    ]


def test_rights_on_named_objects_do_not_cover_rights_on_all():
    assert uncovered([rule("get", "pods", names="a")], [rule("get", "pods")])
    assert not uncovered([rule("get", "pods")], [rule("get", "pods", names="a")])


def test_subresources_of_everything_cover_those_of_one():
    assert not uncovered([rule("get", "*/scale", "*")], [rule("get", "deployments/scale", "apps")])
    assert uncovered([rule("get", "*/scale", "*")], [rule("get", "deployments", "apps")])


WORDS = st.sampled_from(["a", "b", "c", "*"])
RULES = st.builds(
    Rule,
    verbs=st.lists(WORDS, min_size=1, max_size=2, unique=True).map(tuple),
    api_groups=st.lists(WORDS, min_size=1, max_size=2, unique=True).map(tuple),
    resources=st.lists(st.sampled_from(["x", "y", "x/s", "*/s", "*"]), min_size=1, max_size=2, unique=True).map(tuple),
    resource_names=st.lists(st.sampled_from(["n", "m"]), max_size=2, unique=True).map(tuple),
)


@settings(deadline=None)
@given(owned=st.lists(RULES, max_size=3), wanted=RULES, verb=WORDS, group=WORDS, name=st.sampled_from(["", "n", "m"]))
def test_covered_rules_allow_nothing_that_the_covering_ones_do_not(owned, wanted, verb, group, name):
    if uncovered(owned, [wanted]):
        return
    for resource, subresource in (("x", ""), ("y", ""), ("x", "s"), ("y", "s")):
        asked = asks(verb, resource, group, subresource, name)
        assert not wanted.allows(asked) or any(rule.allows(asked) for rule in owned)


@settings(deadline=None)
@given(wanted=RULES)
def test_full_authority_covers_everything(wanted):
    assert uncovered(FULL_AUTHORITY, [wanted]) == []

"""Which requests an audit policy wants told of."""

from __future__ import annotations

import pytest

from watchkeeper.audit.policy import Level, Policy, PolicyError, Stage, parse_policy
from watchkeeper.authz.interface import Attributes
from watchkeeper.request.user import User

HEAD = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"


def policy(rules: str) -> Policy:
    return parse_policy(HEAD + rules)


def asks(
    verb: str = "get", resource: str = "pods", name: str = "p", *, user: str = "ann", groups: tuple[str, ...] = (),
    group: str = "", subresource: str = "", namespace: str = "ns",
) -> Attributes:  # fmt: skip
    return Attributes(
        user=User(user, groups=groups), verb=verb, group=group, version="v1", resource=resource,
        subresource=subresource, namespace=namespace, name=name,
    )  # fmt: skip


def path(text: str) -> Attributes:
    return Attributes(user=User("ann"), verb="get", is_resource=False, path=text)


def test_the_first_rule_that_matches_decides_and_without_one_nothing_is_told() -> None:
    found = policy("rules: [{level: None, users: [ann]}, {level: Metadata, verbs: [get]}]")
    assert found.decide(asks()).level is Level.NONE
    assert found.decide(asks(user="bob")).level is Level.METADATA
    assert found.decide(asks("list", user="bob")).level is Level.NONE


@pytest.mark.parametrize(
    ("resources", "told", "not_told"),
    [
        ("[{}]", asks(), asks(group="apps", resource="deployments")),
        ('[{group: "*"}]', asks(group="apps", resource="deployments"), path("/healthz")),
        ("[{resources: [pods]}]", asks(), asks(subresource="status")),
        ("[{resources: [pods/status]}]", asks(subresource="status"), asks()),
        ("[{resources: ['*/status']}]", asks(subresource="status"), asks(subresource="log")),
        ("[{resources: ['pods/*']}]", asks(subresource="log"), asks(resource="nodes", subresource="status")),
        ("[{resources: ['pods/*']}]", asks(), asks(resource="nodes")),
        ("[{resources: ['*']}]", asks(subresource="log"), asks(group="apps")),
        ("[{resources: [pods], resourceNames: [p]}]", asks(), asks(name="q")),
    ],
)
def test_resources_are_chosen_by_group_name_and_subresource(
    resources: str, told: Attributes, not_told: Attributes
) -> None:
    found = policy(f"rules: [{{level: Request, resources: {resources}}}]")
    assert found.decide(told).level is Level.REQUEST
    assert found.decide(not_told).level is Level.NONE


def test_users_groups_and_namespaces_restrict() -> None:
    found = policy("rules: [{level: Metadata, userGroups: [a, b]}, {level: Request, namespaces: ['']}]")
    assert found.decide(asks(groups=("b",))).level is Level.METADATA
    assert found.decide(asks(groups=("c",))).level is Level.NONE
    assert found.decide(asks(resource="nodes", namespace="")).level is Level.REQUEST
    assert found.decide(path("/version")).level is Level.NONE


def test_paths_may_end_in_a_star() -> None:
    found = policy("rules: [{level: Metadata, nonResourceURLs: [/healthz*, /version]}]")
    assert [found.decide(path(text)).level.text for text in ("/healthz/etcd", "/version", "/version/x", "/livez")] == [
        "Metadata", "Metadata", "None", "None"
    ]  # fmt: skip
    assert found.decide(asks()).level is Level.NONE


def test_stages_add_up_and_a_rule_overrides_managed_fields() -> None:
    found = policy(
        "omitStages: [RequestReceived]\nomitManagedFields: true\n"
        "rules: [{level: Metadata, omitStages: [Panic], omitManagedFields: false}]"
    )
    decision = found.decide(asks())
    assert decision.omit_stages == {Stage.REQUEST_RECEIVED, Stage.PANIC}
    assert not decision.omit_managed_fields
    assert found.otherwise.omit_managed_fields


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: Policy\nrules: []", "unknown group version field None, Kind=Policy in policy"),
        (HEAD, "loaded illegal policy with 0 rules"),
        (HEAD + "rules: [{}]", "rules[0].level: Required value"),
        (
            HEAD + "rules: [{level: All}]",
            'rules[0].level: Unsupported value: "All": supported values: "None", "Metadata", "Request", '
            '"RequestResponse"',
        ),
        (
            HEAD + "rules: [{level: None, resources: [{}], nonResourceURLs: [/x]}]",
            'rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and '
            "non-resource URLs",
        ),
        (
            HEAD + "rules: [{level: None, resources: [{resourceNames: [a]}]}]",
            'rules[0].resources.resourceNames: Invalid value: ["a"]: using resourceNames requires at least one '
            "resource",
        ),
        (
            HEAD + "omitStages: [Never]\nrules: [{level: None}]",
            'omitStages[0]: Invalid value: "Never": allowed stages are '
            "RequestReceived,ResponseStarted,ResponseComplete,Panic",
        ),
        (HEAD + "rules: 7", 'rules: Invalid value: "int": must be a list'),
        ("[", "failed decoding"),
    ],
)
def test_a_policy_that_breaks_a_rule_is_refused(text: str, message: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse_policy(text)
    assert message in str(caught.value)

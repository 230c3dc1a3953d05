"""Rules and selectors decide as the reference's do."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from watchkeeper.admission.interface import Attributes, Operation
from watchkeeper.admission.matching import Criteria, Equivalent, Match, Namespaces
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionKind, GroupVersionResource
from watchkeeper.request.user import User

Object = dict[str, Any]

DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
OLD_DEPLOYMENTS = GroupVersionResource("apps", "v1beta1", "deployments")
OLD_DEPLOYMENT = GroupVersionKind("apps", "v1beta1", "Deployment")
NAMESPACES = {"web": {"metadata": {"name": "web", "labels": {"tier": "front"}}}}


class TwoVersions:
    def of(self, resource: GroupVersionResource, subresource: str) -> Sequence[Equivalent]:
        if resource.resource != "deployments":
            return ()
        return (Equivalent(OLD_DEPLOYMENTS, OLD_DEPLOYMENT), Equivalent(DEPLOYMENTS, DEPLOYMENT))


def request(
    resource: GroupVersionResource = DEPLOYMENTS,
    kind: GroupVersionKind = DEPLOYMENT,
    operation: Operation = Operation.CREATE,
    **more: Any,
) -> Attributes:
    given: dict[str, Any] = {"namespace": "web", "name": "a", "obj": {"metadata": {"name": "a"}}, **more}
    return Attributes(operation=operation, kind=kind, resource=resource, user=User("u"), options={}, **given)


def rule(resources: str = "deployments", **more: Any) -> Object:
    return {
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": resources.split(),
        "scope": "*",
        **more,
    }


def policy(*rules: Object, **more: Any) -> Criteria:
    return Criteria.of_policy({"resourceRules": list(rules), "matchPolicy": "Equivalent", **more})


def matched(criteria: Criteria, attributes: Attributes) -> Match | None:
    return asyncio.run(criteria.matches(attributes, TwoVersions(), Namespaces(NAMESPACES.get)))


def test_a_rule_names_operation_group_version_and_resource() -> None:
    assert matched(policy(rule()), request()) == (DEPLOYMENTS, DEPLOYMENT)
    assert matched(policy(rule()), request(operation=Operation.UPDATE)) is None
    assert matched(policy(rule(apiGroups=["*"], apiVersions=["*"], operations=["*"])), request()) is not None
    assert matched(policy(rule(apiGroups=["batch"])), request()) is None


@pytest.mark.parametrize(
    ("resources", "subresource", "expected"),
    [
        ("deployments", "", True),
        ("deployments", "scale", False),
        ("deployments/scale", "scale", True),
        ("deployments/*", "scale", True),
        ("deployments/*", "", True),
        ("*", "", True),
        ("*", "scale", False),
        ("*/scale", "scale", True),
        ("*/*", "scale", True),
        ("pods deployments", "", True),
    ],
)
def test_resources_and_subresources_are_named_with_stars(resources: str, subresource: str, expected: bool) -> None:
    assert (matched(policy(rule(resources)), request(subresource=subresource)) is not None) is expected


def test_an_equivalent_version_matches_and_shows_the_request_as_that_version() -> None:
    old = rule(apiVersions=["v1beta1"])
    assert matched(policy(old), request()) == (OLD_DEPLOYMENTS, OLD_DEPLOYMENT)
    assert matched(policy(old, matchPolicy="Exact"), request()) is None


def test_the_version_asked_for_goes_before_its_equivalents_whatever_the_order_of_rules() -> None:
    assert matched(policy(rule(apiVersions=["v1beta1"]), rule()), request()) == (DEPLOYMENTS, DEPLOYMENT)


def test_excluded_rules_win() -> None:
    everything = rule(apiGroups=["*"], apiVersions=["*"])
    assert matched(policy(everything, excludeResourceRules=[rule(apiVersions=["v1beta1"])]), request()) is None
    named = rule(resourceNames=["b"])
    assert matched(policy(everything, excludeResourceRules=[named]), request()) is not None
    assert matched(policy(everything, excludeResourceRules=[named]), request(name="b")) is None


def test_names_narrow_a_rule() -> None:
    assert matched(policy(rule(resourceNames=["a"])), request()) is not None
    assert matched(policy(rule(resourceNames=["b"])), request()) is None


def test_the_scope_takes_namespaces_for_cluster_scoped() -> None:
    resource = GroupVersionResource("", "v1", "namespaces")
    kind = GroupVersionKind("", "v1", "Namespace")
    any_rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    written = request(resource, kind, namespace="web", name="web")
    assert matched(policy({**any_rule, "scope": "Cluster"}), written) is not None
    assert matched(policy({**any_rule, "scope": "Namespaced"}), written) is None
    assert matched(policy({**any_rule, "scope": "Namespaced"}), request()) is not None
    assert matched(policy({**any_rule, "scope": "Cluster"}), request()) is None


def test_the_namespace_selector_reads_the_namespace_and_leaves_cluster_scoped_objects_alone() -> None:
    front = {"matchLabels": {"tier": "front"}}
    back = {"matchLabels": {"tier": "back"}}
    assert matched(policy(rule(), namespaceSelector=front), request()) is not None
    assert matched(policy(rule(), namespaceSelector=back), request()) is None
    assert matched(policy(rule(), namespaceSelector=back), request(namespace="")) is not None


def test_a_namespace_that_is_written_is_judged_by_its_new_labels() -> None:
    anything = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"], "scope": "*"}
    criteria = policy(anything, namespaceSelector={"matchLabels": {"tier": "back"}})
    resource, kind = GroupVersionResource("", "v1", "namespaces"), GroupVersionKind("", "v1", "Namespace")
    new = {"metadata": {"name": "web", "labels": {"tier": "back"}}}
    updated = request(resource, kind, Operation.UPDATE, obj=new, name="web")
    assert matched(criteria, updated) is not None
    deleted = request(resource, kind, Operation.DELETE, obj=None, old=new, name="web")
    assert matched(criteria, deleted) is None


def test_an_absent_namespace_is_a_404_only_where_rules_and_objects_match() -> None:
    criteria = policy(rule(), namespaceSelector={"matchLabels": {"tier": "front"}})
    with pytest.raises(ApiError, match='namespaces "gone" not found') as caught:
        matched(criteria, request(namespace="gone"))
    assert caught.value.code == 404
    assert matched(criteria, request(namespace="gone", operation=Operation.UPDATE)) is None


def test_the_object_selector_looks_at_the_new_and_the_old_object() -> None:
    criteria = policy(rule(operations=["*"]), objectSelector={"matchLabels": {"app": "x"}})
    labeled = {"metadata": {"name": "a", "labels": {"app": "x"}}}
    plain = {"metadata": {"name": "a"}}
    assert matched(criteria, request(obj=labeled)) is not None
    assert matched(criteria, request(obj=plain)) is None
    assert matched(criteria, request(operation=Operation.UPDATE, obj=plain, old=labeled)) is not None
    assert matched(criteria, request(operation=Operation.DELETE, obj=None, old=labeled)) is not None
    absent = policy(
        rule(operations=["*"]), objectSelector={"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}
    )
    assert matched(absent, request(obj={"command": ["sh"]}, operation=Operation.CONNECT)) is None


def test_without_rules_a_binding_matches_everything_and_a_webhook_nothing() -> None:
    assert matched(Criteria.of_policy({}), request()) == (DEPLOYMENTS, DEPLOYMENT)
    assert matched(Criteria.of_webhook({"matchPolicy": "Equivalent"}), request()) is None
    assert matched(Criteria.of_webhook({"rules": [rule()]}), request()) is not None

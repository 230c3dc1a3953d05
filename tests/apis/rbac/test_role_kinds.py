"""Roles and the bindings of them."""

from typing import Any

import pytest
from kind_writer import create, created, read, row, update

from watchkeeper.apis.builtin import builtin_behaviors
from watchkeeper.meta.gvk import GroupKind

GROUP = "rbac.authorization.k8s.io"
RULE = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
ROLE_REF = {"apiGroup": GROUP, "kind": "ClusterRole", "name": "r"}


def role(*rules: Any, kind: str = "Role", **fields: Any) -> Any:
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": "r"}, "rules": list(rules), **fields}


def binding(*subjects: Any, kind: str = "RoleBinding", ref: Any = None) -> Any:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": kind,
        "metadata": {"name": "system:b"},
        "subjects": list(subjects),
        "roleRef": ref or ROLE_REF,
    }


@pytest.mark.parametrize(
    ("rule", "errors"),
    [
        (
            {},
            [
                "rules[0].verbs: Required value: verbs must contain at least one value",
                "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
                "rules[0].resources: Required value: resource rules must supply at least one resource",
            ],
        ),
        (
            {"verbs": ["get"], "nonResourceURLs": ["/healthz"]},
            [
                'rules[0].nonResourceURLs: Invalid value: ["/healthz"]: '
                "namespaced rules cannot apply to non-resource URLs"
            ],
        ),
        (RULE, []),
    ],
)
def test_what_a_role_must_say(rule: Any, errors: list[str]) -> None:
    assert create(role(rule)).errors == errors


def test_a_cluster_role_speaks_of_urls_or_of_resources() -> None:
    url = {"verbs": ["get"], "nonResourceURLs": ["/healthz"]}
    assert create(role(url, kind="ClusterRole")).errors == []
    assert create(role({**RULE, **url}, kind="ClusterRole")).errors == [
        'rules[0].nonResourceURLs: Invalid value: ["/healthz"]: '
        "rules cannot apply to both regular resources and non-resource URLs"
    ]
    assert create(role(kind="ClusterRole", aggregationRule={})).errors == [
        "aggregationRule.clusterRoleSelectors: Required value: "
        "at least one clusterRoleSelector required if aggregationRule is non-nil"
    ]


def test_subjects_and_roles_are_of_this_group() -> None:
    subjects = [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s", "namespace": "n"}]
    obj = read(binding(*subjects, ref={"kind": "Role", "name": "r"}))
    assert obj["roleRef"]["apiGroup"] == GROUP
    assert obj["subjects"] == [{**subjects[0], "apiGroup": GROUP}, subjects[1]]


@pytest.mark.parametrize(
    ("subject", "errors"),
    [
        (
            {"kind": "Robot", "name": "x"},
            ['kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"'],
        ),
        ({"kind": "Group"}, ["name: Required value"]),
        ({"kind": "ServiceAccount", "name": "s"}, ["namespace: Required value"]),
        (
            {"kind": "User", "name": "u", "apiGroup": "other"},
            [f'apiGroup: Unsupported value: "other": supported values: "{GROUP}"'],
        ),
    ],
)
def test_what_a_subject_must_say(subject: Any, errors: list[str]) -> None:
    written = create(binding(subject, kind="ClusterRoleBinding"))
    assert written.errors == [f"subjects[0].{error}" for error in errors]


def test_a_cluster_wide_binding_is_of_a_cluster_role() -> None:
    ref = {"kind": "Role", "name": "r"}
    assert create(binding(ref=ref)).errors == []
    assert create(binding(kind="ClusterRoleBinding", ref=ref)).errors == [
        'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"'
    ]


def test_the_role_of_a_binding_stays() -> None:
    old = created(binding())
    (error,) = update(old, binding(ref={**ROLE_REF, "name": "other"})).errors
    assert error.startswith("roleRef: Invalid value: ")
    assert error.endswith("cannot change roleRef")


def test_the_table_names_the_subjects() -> None:
    obj = created(
        binding(
            {"kind": "User", "name": "u"},
            {"kind": "User", "name": "v"},
            {"kind": "Group", "name": "g"},
            {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
        )
    )
    shown = row(obj)
    assert (shown["Role"], shown["Users"], shown["Groups"], shown["ServiceAccounts"]) == (
        "ClusterRole/r",
        "u, v",
        "g",
        "n/s",
    )


@pytest.mark.parametrize("kind", ["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"])
def test_all_are_made_by_a_put(kind: str) -> None:
    assert builtin_behaviors().of(GroupKind(GROUP, kind)).allow_create_on_update is True


def test_what_is_wrong_with_a_changed_object_makes_one_cause() -> None:
    missing = "rules[0].verbs: Required value: verbs must contain at least one value"
    for kind in ("Role", "ClusterRole"):
        assert update(created(role(RULE, kind=kind)), role({**RULE, "verbs": []}, kind=kind)).errors == [missing]
    changed = binding({"kind": "Robot", "name": "x"})
    words = 'subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"'
    assert update(created(binding()), changed).errors == [words]


def test_selectors_of_aggregated_roles_must_select() -> None:
    def aggregated(*values: str) -> Any:
        selector = {"matchExpressions": [{"key": "k", "operator": "In", "values": list(values)}]}
        return role(kind="ClusterRole", aggregationRule={"clusterRoleSelectors": [selector]})

    path = "aggregationRule.clusterRoleSelectors[0]"
    no_values = (
        f"{path}.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"
    )
    unusable = f"{path}: Invalid value: null: invalid label selector."
    assert create(aggregated()).errors == [no_values, unusable]
    old = created(aggregated("a"))
    old["aggregationRule"]["clusterRoleSelectors"][0]["matchExpressions"][0]["values"] = ["a b"]
    assert update(old, aggregated("a b")).errors == [unusable]

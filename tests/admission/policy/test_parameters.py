"""Parameters are found as bindings say, or what is to be done without them is done."""

from __future__ import annotations

from typing import Any

from policy_kit import Asking, Stored, binding, config_map, policy, services, validate, validating

LIMITS = {"apiVersion": "example.io/v1", "kind": "Limit"}
CHECK = {"expression": "params == null || size(object.data) <= params.most"}
FAILED = "denied request: failed to configure binding: "


def limit(name: str, most: int, namespace: str = "web", **labels: str) -> dict[str, Any]:
    return {"kind": "Limit", "metadata": {"name": name, "namespace": namespace, "labels": labels}, "most": most}


def judged(ref: dict[str, Any] | None, *limits: dict[str, Any], namespaced: bool = True, namespace: str = "web") -> str:
    """What is refused, "" for nothing."""
    using = services(Limit=Stored(*limits, namespaced=namespaced))
    given: dict[str, Any] = {} if ref is None else {"paramRef": ref}
    plugin = validating(policy(paramKind=LIMITS, validations=[CHECK]), binding(**given), using=using)
    asking = Asking(config_map(x="1", y="2"))
    asking.attributes.namespace = namespace
    error = validate(plugin, asking)
    return "" if error is None else error.message


def test_a_parameter_is_read_by_name_in_the_namespace_of_the_request_or_the_one_given() -> None:
    ref = {"name": "few", "parameterNotFoundAction": "Deny"}
    assert judged(ref, limit("few", 1)).endswith(
        "failed expression: params == null || size(object.data) <= params.most"
    )
    assert judged(ref, limit("few", 2)) == ""
    assert judged({**ref, "namespace": "other"}, limit("few", 1), limit("few", 9, "other")) == ""


def test_every_selected_parameter_is_applied() -> None:
    ref = {"selector": {"matchLabels": {"on": "yes"}}, "parameterNotFoundAction": "Deny"}
    assert judged(ref, limit("a", 5, on="yes"), limit("b", 5, on="yes"), limit("c", 1)) == ""
    assert judged(ref, limit("a", 5, on="yes"), limit("b", 1, on="yes")) != ""


def test_without_parameters_the_binding_denies_or_is_not_in_force() -> None:
    missing = f"{FAILED}no params found for policy binding with `Deny` parameterNotFoundAction"
    assert judged({"name": "few", "parameterNotFoundAction": "Deny"}).endswith(missing)
    assert judged({"name": "few", "parameterNotFoundAction": "Allow"}) == ""
    assert judged({"selector": {}, "parameterNotFoundAction": "Deny"}).endswith(missing)


def test_without_a_reference_params_are_null() -> None:
    assert judged(None) == ""


def test_the_scope_of_the_kind_has_to_fit_the_reference() -> None:
    cluster = {"name": "few", "namespace": "web", "parameterNotFoundAction": "Deny"}
    assert judged(cluster, namespaced=False).endswith(
        f"{FAILED}paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
    )
    assert judged({"name": "few", "parameterNotFoundAction": "Deny"}, namespace="").endswith(
        f"{FAILED}cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
    )


def test_a_kind_that_is_not_served_makes_the_policy_fail() -> None:
    plugin = validating(policy(paramKind={**LIMITS, "kind": "Nope"}, validations=[CHECK]), binding())
    error = validate(plugin, Asking(config_map()))
    assert error is not None
    assert error.message == (
        "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: "
        "failed to find resource referenced by paramKind: 'example.io/v1, Kind=Nope'"
    )

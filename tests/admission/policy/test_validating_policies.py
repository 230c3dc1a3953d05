"""Validating policies judge requests as the reference's do, word for word."""

from __future__ import annotations

import json

import pytest
from policy_kit import (
    Asking,
    MayGet,
    Stored,
    binding,
    config_map,
    policy,
    services,
    validate,
    validating,
)

from watchkeeper.admission.interface import Operation

BAD = {"expression": "!('bad' in object.data)", "message": "no bad keys"}
DENIED = "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: "


def test_without_a_binding_a_policy_costs_nothing_and_decides_nothing() -> None:
    plugin = validating(policy(validations=[BAD]))
    assert plugin.validate(Asking(config_map(bad="x")).attributes) is None


def test_a_denial_is_invalid_and_names_policy_and_binding() -> None:
    plugin = validating(policy(validations=[BAD]), binding())
    error = validate(plugin, Asking(config_map(bad="x")))
    assert error is not None
    assert (error.code, error.reason, error.message) == (422, "Invalid", f"{DENIED}no bad keys")
    assert error.details == {
        "name": "a",
        "kind": "configmaps",
        "causes": [{"message": "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no bad keys"}],
    }
    assert validate(plugin, Asking(config_map(good="x"))) is None


def test_the_reason_sets_the_code() -> None:
    for reason, code in (("Forbidden", 403), ("Unauthorized", 401), ("RequestEntityTooLarge", 413), ("Invalid", 422)):
        error = validate(
            validating(policy(validations=[{**BAD, "reason": reason}]), binding()), Asking(config_map(bad="x"))
        )
        assert error is not None
        assert (error.code, error.reason) == (code, reason)


def test_words_come_from_the_message_expression_then_the_message_then_the_expression() -> None:
    def words(**validation: str) -> str:
        plugin = validating(policy(validations=[{"expression": " false ", **validation}]), binding())
        error = validate(plugin, Asking(config_map()))
        assert error is not None
        return error.message.removeprefix(DENIED)

    assert words() == "failed expression: false"
    assert words(message=" text ") == "text"
    assert words(message="text", messageExpression="' built ' + object.metadata.name") == "built a"
    assert words(message="text", messageExpression="object.nope + ''") == "text"
    assert words(message="text", messageExpression="'two\\nlines'") == "text"
    assert words(message="text", messageExpression="'  '") == "text"


def test_what_cannot_be_evaluated_denies_unless_failures_are_ignored() -> None:
    broken = {"expression": "object.nope.x == 1"}
    error = validate(validating(policy(validations=[broken]), binding()), Asking(config_map()))
    assert error is not None
    assert error.message == f"{DENIED}expression 'object.nope.x == 1' resulted in error: no such key: nope"
    lenient = validating(policy(failurePolicy="Ignore", validations=[broken]), binding())
    assert validate(lenient, Asking(config_map())) is None


def test_warnings_and_audit_annotations_do_not_stop_a_request() -> None:
    plugin = validating(policy(validations=[BAD]), binding("b", "p", "Warn", "Audit"))
    asking = Asking(config_map(bad="x"))
    assert validate(plugin, asking) is None
    assert asking.warnings == ["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': no bad keys"]
    noted = json.loads(asking.annotations["validation.policy.admission.k8s.io/validation_failure"])
    assert noted == [
        {
            "message": "no bad keys",
            "policy": "p",
            "binding": "b",
            "expressionIndex": 0,
            "validationActions": ["Warn", "Audit"],
        }
    ]


def test_audit_annotations_of_all_bindings_are_joined_and_empty_ones_left_out() -> None:
    annotations = [
        {"key": "k", "valueExpression": "string(params.metadata.name)"},
        {"key": "none", "valueExpression": "null"},
    ]
    params = [config_map("one", {"x": "y"}), config_map("two", {"x": "y"})]
    ref = {"selector": {"matchLabels": {"x": "y"}}, "parameterNotFoundAction": "Deny"}
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    plugin = validating(
        policy(paramKind=kind, auditAnnotations=annotations),
        binding(paramRef=ref),
        using=services(ConfigMap=Stored(*params)),
    )
    asking = Asking(config_map())
    assert validate(plugin, asking) is None
    assert asking.annotations == {"p/k": "one, two"}


def test_all_match_conditions_have_to_hold_and_one_that_is_false_hides_what_is_wrong_with_others() -> None:
    def judged(*expressions: str, **spec: str) -> str | None:
        conditions = [{"name": f"c{i}", "expression": e} for i, e in enumerate(expressions)]
        plugin = validating(policy(matchConditions=conditions, validations=[BAD], **spec), binding())
        error = validate(plugin, Asking(config_map(bad="x")))
        return None if error is None else error.message.removeprefix(DENIED)

    assert judged("true", "request.userInfo.username == 'jane'") == "no bad keys"
    assert judged("object.nope == 1", "false") is None
    assert judged("object.nope == 1") == "expression 'object.nope == 1' resulted in error: no such key: nope"
    assert judged("object.nope == 1", failurePolicy="Ignore") is None
    assert judged("namespaceObject == null") == "no bad keys"


def test_variables_build_on_each_other_and_errors_in_them_show_where_they_are_used() -> None:
    variables = [
        {"name": "size", "expression": "int(object.data.size)"},
        {"name": "double", "expression": "variables.size * 2"},
    ]
    checks = [{"expression": "variables.double < 10", "messageExpression": "'%d'.format([variables.double])"}]
    plugin = validating(policy(variables=variables, validations=checks), binding())
    assert validate(plugin, Asking(config_map(size="4"))) is None
    error = validate(plugin, Asking(config_map(size="5")))
    assert error is not None
    assert error.message == f"{DENIED}10"
    error = validate(plugin, Asking(config_map()))
    assert error is not None
    assert error.message == (
        f"{DENIED}expression 'variables.double < 10' resulted in error: composited variable \"double\" fails to "
        'evaluate: composited variable "size" fails to evaluate: no such key: size'
    )


def test_the_old_object_is_null_on_creation_and_the_object_on_deletion() -> None:
    checks = [{"expression": "request.operation == 'DELETE' ? object == null : oldObject == null"}]
    plugin = validating(policy(validations=checks), binding())
    assert validate(plugin, Asking(config_map())) is None
    assert validate(plugin, Asking(None, config_map(), Operation.DELETE)) is None
    assert validate(plugin, Asking(config_map(), config_map(), Operation.UPDATE)) is not None


def test_the_namespace_is_shown_without_its_owners() -> None:
    checks = [{"expression": "namespaceObject.metadata.labels.tier == 'back'"}]
    error = validate(validating(policy(validations=checks), binding()), Asking(config_map()))
    assert error is not None
    assert error.code == 422


def test_the_authorizer_is_asked_once_per_question_also_when_the_answer_takes_time() -> None:
    authorizer = MayGet()
    ask = "authorizer.group('apps').resource('deployments').namespace('web').check('list').allowed()"
    checks = [{"expression": f"{ask} && {ask}"}, {"expression": "authorizer.requestResource.check('get').allowed()"}]
    plugin = validating(policy(validations=checks), binding(), using=services(authorizer))
    assert validate(plugin, Asking(config_map())) is None
    assert [(q.verb, q.resource, q.namespace, q.name, q.user.name) for q in authorizer.asked] == [
        ("list", "deployments", "web", "", "jane"),
        ("get", "configmaps", "web", "a", "jane"),
    ]


def test_a_service_account_can_be_asked_about_and_paths_too() -> None:
    authorizer = MayGet()
    checks = [
        {"expression": "authorizer.serviceAccount('ns', 'bot').path('/healthz').check('get').allowed()"},
        {"expression": "authorizer.path('/metrics').check('post').reason() == ''"},
    ]
    plugin = validating(policy(validations=checks), binding(), using=services(authorizer))
    assert validate(plugin, Asking(config_map())) is None
    first = authorizer.asked[0]
    assert (first.user.name, first.path, first.is_resource) == ("system:serviceaccount:ns:bot", "/healthz", False)


def test_cost_is_limited_per_expression() -> None:
    tens = "[1,2,3,4,5,6,7,8,9,10]"
    loop = "true"
    for name in "abcdef":
        loop = f"{tens}.all({name}, {loop})"
    error = validate(validating(policy(validations=[{"expression": loop}]), binding()), Asking(config_map()))
    assert error is not None
    assert error.message.endswith("resulted in error: operation cancelled: actual cost limit exceeded")


def test_the_first_denial_is_told_whatever_other_bindings_do() -> None:
    plugin = validating(
        policy("p", validations=[BAD]),
        binding("b1", "p", "Warn"),
        binding("b2", "p"),
        policy("q", validations=[{"expression": "false"}]),
        binding("c", "q"),
    )
    asking = Asking(config_map(bad="x"))
    error = validate(plugin, asking)
    assert error is not None
    assert "'p' with binding 'b2'" in error.message
    assert len(asking.warnings) == 1


@pytest.mark.parametrize(
    ("group", "resource", "judged"),
    [
        ("admissionregistration.k8s.io", "validatingadmissionpolicies", False),
        ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings", False),
        ("authorization.k8s.io", "subjectaccessreviews", False),
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations", True),
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", True),
        ("", "configmaps", True),
    ],
)
def test_policies_and_reviews_are_exempt_but_not_what_configures_webhooks(
    group: str, resource: str, judged: bool
) -> None:
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    everything = {
        "metadata": {"name": "p"},
        "spec": {"matchConstraints": {"resourceRules": [rule]}, "validations": [BAD]},
    }
    asking = Asking(config_map(bad="x"))
    asking.attributes.resource = asking.attributes.resource._replace(group=group, resource=resource)
    assert (validate(validating(everything, binding()), asking) is not None) is judged


def test_what_policies_find_is_counted_by_action() -> None:
    using = services()
    plugin = validating(
        policy(validations=[BAD, {"expression": "object.nope == 1"}]), binding("b", "p", "Deny", "Audit"), using=using
    )
    assert validate(plugin, Asking(config_map(bad="x"))) is not None
    assert using.metrics.checks == {("p", "b", "invalid_error", "deny"): 2, ("p", "b", "invalid_error", "audit"): 2}

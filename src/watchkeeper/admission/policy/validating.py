"""The admission plugin of ValidatingAdmissionPolicies."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from watchkeeper.admission.interface import Attributes, BasePlugin
from watchkeeper.admission.matching import is_exempt_from_policies
from watchkeeper.admission.policy.definition import Binding, Policy
from watchkeeper.admission.policy.invocation import Invocation, PolicyServices, RequestView
from watchkeeper.admission.policy.metrics import PolicyMetrics
from watchkeeper.admission.policy.policies import Policies
from watchkeeper.admission.refusal import forbidden
from watchkeeper.meta.errors import ApiError

if TYPE_CHECKING:
    from watchkeeper.admission.policy.validator import Denial, Validator, Verdict

KIND = "ValidatingAdmissionPolicy"
_CODES = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413, "Invalid": 422}
_FAILURE_KEY = "validation.policy.admission.k8s.io/validation_failure"
_MAX_ANNOTATION_BYTES = 10 * 1024
_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


class ValidatingPolicies(BasePlugin):
    """Asks all policies that are in force; costs nothing when there is none."""

    name = KIND

    def __init__(self, policies: Policies[Validator], services: PolicyServices) -> None:
        self.policies = policies
        self._services = services

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Raise what the first denial says."""
        if not self.policies.hooks or is_exempt_from_policies(attributes):
            return None
        return self._validate(attributes)

    async def _validate(self, attributes: Attributes) -> None:
        view = RequestView(self._services, attributes)
        judgment = _Judgment(attributes, self._services.metrics)
        annotated: dict[str, dict[str, list[str]]] = {}
        async for invocation in view.invocations(self.policies.hooks, judgment.add_config_error):
            try:
                values = await view.values(invocation.match, None)
            except ApiError as error:
                text = f"failed to configure binding: failed to convert object version: {error}"
                judgment.add_config_error(text, invocation.policy, invocation.binding)
                continue
            values["namespaceObject"] = await view.namespace()
            for param in invocation.params:
                verdict = await _judge(view, invocation, values, param)
                judgment.add(invocation, verdict)
                _collect(annotated.setdefault(invocation.policy.name, {}), verdict)
        for policy, values_of in annotated.items():
            for key, texts in values_of.items():
                attributes.annotate(f"{policy}/{key}", ", ".join(texts))
        judgment.conclude()


async def _judge(view: RequestView, invocation: Invocation[Validator], values: dict[str, Any], param: Any) -> Verdict:
    given = {**values, "params": param}
    asking = view.questions.values()
    conditions = view.condition_values(invocation.match, values, param)
    evaluator = invocation.policy.evaluator
    return await view.questions.evaluate(lambda: evaluator.validate(given, asking, conditions))


def _collect(found: dict[str, list[str]], verdict: Verdict) -> None:
    """Add annotations to those of a policy; what bindings say alike is said once."""
    for annotation in verdict.annotations:
        if annotation.error:
            continue
        value = annotation.value.encode()[:_MAX_ANNOTATION_BYTES].decode(errors="ignore")
        values = found.setdefault(annotation.key, [])
        if value not in values:
            values.append(value)


@dataclass(slots=True)
class _Judgment:
    """What all policies say of a request."""

    attributes: Attributes
    metrics: PolicyMetrics
    denials: list[tuple[Policy[Any], Binding | None, str, str]] = field(default_factory=list)
    """(policy, binding, message, reason) each."""

    def add_config_error(self, text: str, policy: Policy[Any], binding: Binding | None) -> None:
        """A policy that cannot be used denies, unless its failures are ignored."""
        if policy.fails:
            self.denials.append((policy, binding, text, ""))

    def add(self, invocation: Invocation[Validator], verdict: Verdict) -> None:
        """Carry out what the binding wants done about each denial."""
        policy, binding = invocation.policy, invocation.binding
        for denial in verdict.denials:
            for action in binding.actions:
                self.metrics.checked(policy.name, binding.name, denial.message, action.lower())
                match action:
                    case "Deny":
                        self.denials.append((policy, binding, denial.message, denial.reason))
                    case "Audit":
                        self.attributes.annotate(_FAILURE_KEY, _failure(binding, denial))
                    case "Warn":
                        where = f"{KIND} '{policy.name}' with binding '{binding.name}'"
                        self.attributes.warn(f"Validation failed for {where}: {denial.message}")
        for annotation in verdict.annotations:
            if annotation.error:
                self.metrics.checked(policy.name, binding.name, annotation.error, "deny")
                self.denials.append((policy, binding, annotation.error, ""))

    def conclude(self) -> None:
        """Raise what the first denial says, if there is one."""
        if not self.denials:
            return
        policy, binding, text, reason = self.denials[0]
        bound = f" with binding '{binding.name}'" if binding is not None else ""
        message = f"{KIND} '{policy.name}'{bound} denied request: {text}"
        error = forbidden(self.attributes, message)
        error.reason = reason or "Invalid"
        error.code = _CODES.get(error.reason, 422)
        assert error.details is not None
        error.details["causes"] = [{"message": message}]
        raise error


def _failure(binding: Binding, denial: Denial) -> str:
    """A denial as the audit log has it: JSON as Go writes it."""
    actions: Sequence[str] = list(binding.actions)
    failure = {
        "message": denial.message,
        "policy": binding.policy_name,
        "binding": binding.name,
        "expressionIndex": denial.index,
        "validationActions": actions,
    }
    return json.dumps([failure], separators=(",", ":"), ensure_ascii=False).translate(_HTML)

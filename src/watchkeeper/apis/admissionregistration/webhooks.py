"""ValidatingWebhookConfigurations and MutatingWebhookConfigurations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.admissionregistration.expressions import Expressions, Unchecked
from watchkeeper.apis.admissionregistration.rules import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    REINVOCATION_POLICIES,
    default_matching,
    default_rules,
    validate_match_conditions,
    validate_rule,
)
from watchkeeper.apis.admissionregistration.static_names import static_name_warnings
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.validation.domains import validate_fully_qualified_name
from watchkeeper.apis.validation.enums import validate_optional_enum
from watchkeeper.apis.validation.selectors import has_invalid_values, validate_label_selector
from watchkeeper.apis.validation.webhooks import (
    REVIEW_VERSIONS,
    takes_known_review,
    validate_client_config,
    validate_review_versions,
)
from watchkeeper.meta.field import FieldError, duplicate, invalid, not_supported, required
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind
from watchkeeper.runtime.with_empties import equal_as_sent

Object = dict[str, Any]
Hook = Mapping[str, Any]

GROUP = "admissionregistration.k8s.io"
_SIDE_EFFECTS = ("None", "NoneOnDryRun", "Some", "Unknown")
_NO_SIDE_EFFECTS = ("None", "NoneOnDryRun")
_DEFAULT_TIMEOUT = 10
_MAX_TIMEOUT = 30
_HTTPS = 443


@dataclass(frozen=True, slots=True)
class _Leniency:
    """What an update lets pass because the old state had it already."""

    conditions: bool = False
    side_effects: bool = False
    review_versions: bool = False
    names: bool = False
    label_values: bool = False


def default_hook(hook: Object) -> None:
    """Fill in what both kinds of webhooks have."""
    if hook.get("failurePolicy") is None:
        hook["failurePolicy"] = "Fail"
    default_matching(hook)
    if hook.get("timeoutSeconds") is None:
        hook["timeoutSeconds"] = _DEFAULT_TIMEOUT
    default_rules(hook.get("rules"))
    service = (hook.get("clientConfig") or {}).get("service")
    if service is not None and service.get("port") is None:
        service["port"] = _HTTPS


def _default_validating(configuration: Object) -> None:
    for hook in configuration.get("webhooks") or ():
        default_hook(hook)


def _default_mutating(configuration: Object) -> None:
    for hook in configuration.get("webhooks") or ():
        default_hook(hook)
        if hook.get("reinvocationPolicy") is None:
            hook["reinvocationPolicy"] = "Never"


def _count_changes(new: Object, old: Object) -> None:
    if not equal_as_sent(new.get("webhooks"), old.get("webhooks")):
        new["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1


def _validator(expressions: Expressions) -> Callable[[Object, _Leniency], list[FieldError]]:
    def validate(configuration: Object, leniency: _Leniency) -> list[FieldError]:
        errors: list[FieldError] = []
        seen: set[str] = set()
        for i, hook in enumerate(configuration.get("webhooks") or ()):
            path, name = f"webhooks[{i}]", hook.get("name") or ""
            errors += _hook_errors(hook, path, leniency)
            if not leniency.conditions:
                scope = expressions.scope(params=False, variables=False)
                errors += validate_match_conditions(hook.get("matchConditions"), f"{path}.matchConditions", scope)
            versions = hook.get("admissionReviewVersions") or ()
            errors += validate_review_versions(
                versions,
                f"{path}.admissionReviewVersions",
                required_text=f"must specify one of {', '.join(REVIEW_VERSIONS)}",
                allow_unknown=leniency.review_versions,
            )
            if name and name in seen and not leniency.names:
                errors.append(duplicate(f"{path}.name", name))
            seen.add(name)
        return errors

    return validate


def _hook_errors(hook: Hook, path: str, leniency: _Leniency) -> list[FieldError]:
    errors = validate_fully_qualified_name(hook.get("name") or "", f"{path}.name")
    for i, rule in enumerate(hook.get("rules") or ()):
        errors += validate_rule(rule, f"{path}.rules[{i}]")
    errors += validate_optional_enum(hook.get("failurePolicy"), f"{path}.failurePolicy", FAILURE_POLICIES)
    errors += validate_optional_enum(hook.get("matchPolicy"), f"{path}.matchPolicy", MATCH_POLICIES)
    effects, allowed = hook.get("sideEffects"), _SIDE_EFFECTS if leniency.side_effects else _NO_SIDE_EFFECTS
    if effects is None:
        errors.append(required(f"{path}.sideEffects", f"must specify one of {', '.join(allowed)}"))
    elif effects not in allowed:
        errors.append(not_supported(f"{path}.sideEffects", effects, allowed))
    timeout = hook.get("timeoutSeconds")
    if timeout is not None and not 1 <= timeout <= _MAX_TIMEOUT:
        why = f"the timeout value must be between 1 and {_MAX_TIMEOUT} seconds"
        errors.append(invalid(f"{path}.timeoutSeconds", timeout, why))
    for name in ("namespaceSelector", "objectSelector"):
        lenient = leniency.label_values
        errors += validate_label_selector(hook.get(name), f"{path}.{name}", allow_invalid_values=lenient)
    policy = hook.get("reinvocationPolicy")
    errors += validate_optional_enum(policy, f"{path}.reinvocationPolicy", REINVOCATION_POLICIES)
    return errors + validate_client_config(hook.get("clientConfig") or {}, f"{path}.clientConfig")


def _leniency(new: Sequence[Hook], old: Sequence[Hook]) -> _Leniency:
    names = [hook.get("name") for hook in old]
    selectors = [hook.get(name) for hook in old for name in ("namespaceSelector", "objectSelector")]
    return _Leniency(
        conditions=[hook.get("matchConditions") for hook in new] == [hook.get("matchConditions") for hook in old],
        side_effects=any(hook.get("sideEffects") not in _NO_SIDE_EFFECTS for hook in old),
        review_versions=any(_is_unknown_only(hook.get("admissionReviewVersions") or ()) for hook in old),
        names=len(set(names)) < len(names),
        label_values=any(has_invalid_values(selector) for selector in selectors),
    )


def _is_unknown_only(versions: Sequence[str]) -> bool:
    return bool(versions) and not takes_known_review(versions)


def _cells(configuration: Object, now: float) -> list[Any]:
    hooks = configuration.get("webhooks") or ()
    return [printing.name_of(configuration), len(hooks), printing.age(configuration, now)]


_TABLE = TableSpec(
    columns=(printing.NAME, Column("Webhooks", "integer", "How many webhooks it names."), printing.AGE),
    cells=_cells,
)


def webhook_behaviors(expressions: Expressions) -> list[KindBehavior]:
    """The behavior of both kinds, with what can compile the expressions of their match conditions."""
    validate = _validator(expressions)

    def validate_new(configuration: Object) -> list[FieldError]:
        return validate(configuration, _Leniency())

    def validate_update(new: Object, old: Object) -> list[FieldError]:
        return validate(new, _leniency(new.get("webhooks") or (), old.get("webhooks") or ()))

    return [
        KindBehavior(
            kind=GroupKind(GROUP, kind),
            prepare_for_update=_count_changes,
            validate=validate_new,
            validate_update=validate_update,
            allow_unconditional_update=False,
            has_status=False,
            has_generation=True,
            warnings_on_create=static_name_warnings,
            warnings_on_update=static_name_warnings,
            table=_TABLE,
        )
        for kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
    ]


BEHAVIORS = webhook_behaviors(Unchecked())
DEFAULTS = {
    GroupVersionKind(GROUP, "v1", "ValidatingWebhookConfiguration"): _default_validating,
    GroupVersionKind(GROUP, "v1", "MutatingWebhookConfiguration"): _default_mutating,
}

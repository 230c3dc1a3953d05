"""The rules of a Job's spec, in a Job and in a CronJob's template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.batch.job_policy_validation import (
    SUCCESS_POLICY,
    validate_failure_policy,
    validate_success_policy,
)
from watchkeeper.apis.core.pod_options import PodOptions
from watchkeeper.apis.core.pod_template_validation import validate_template
from watchkeeper.apis.validation.internal_form import internal_form
from watchkeeper.apis.validation.names import byte_length, is_dns1123_subdomain, is_http_path
from watchkeeper.apis.validation.numbers import validate_nonnegative
from watchkeeper.meta.field import FieldError, invalid, not_supported, required, too_long

Object = Mapping[str, Any]

_COUNTS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
_MODES = ("NonIndexed", "Indexed")
_MAX_MANAGER = 63
_MAX_INDEXED = 100_000
"""The most parallel pods, and the most failed indexes, of an indexed Job."""
_MANY = 100_000
"""From more completions than this on, less may go on in parallel and fail."""
_LIMIT_FOR_MANY = 10_000
_INDEXED_ONLY = "requires indexed completion mode"


def validate_job_spec(spec: Object, path: str, options: PodOptions) -> list[FieldError]:
    """All of a Job's spec but its selector."""
    errors: list[FieldError] = []
    for name in _COUNTS:
        errors += validate_nonnegative(spec.get(name), f"{path}.{name}")
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        errors.append(required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if spec.get("managedBy") is not None:
        errors += _manager_errors(spec["managedBy"], f"{path}.managedBy")
    mode = spec.get("completionMode")
    if mode is not None and mode not in _MODES:
        errors.append(not_supported(f"{path}.completionMode", mode, _MODES))
    if mode == "Indexed":
        errors += _indexed_errors(spec, path)
    elif mode in (None, "NonIndexed"):
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(name) is not None:
                errors.append(invalid(f"{path}.{name}", spec[name], _INDEXED_ONLY))
    if spec.get("podFailurePolicy") is not None:
        errors += validate_failure_policy(spec, f"{path}.podFailurePolicy")
    if spec.get("successPolicy") is not None:
        if mode == "Indexed":
            errors += validate_success_policy(spec, f"{path}.successPolicy")
        else:
            errors.append(
                invalid(f"{path}.successPolicy", internal_form(spec["successPolicy"], SUCCESS_POLICY), _INDEXED_ONLY)
            )
    errors += _replacement_errors(spec, f"{path}.podReplacementPolicy")
    errors += validate_template(spec.get("template") or {}, f"{path}.template", options)
    return errors + _restart_errors(spec, f"{path}.template.spec.restartPolicy")


def _manager_errors(manager: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    domain, _, rest = manager.partition("/")
    if not manager:
        errors.append(required(path))
    elif not domain or not rest:
        text = 'must be a domain-prefixed path (such as "acme.io/foo")'
        errors.append(invalid(path, manager, text))
    else:
        errors += [invalid(path, domain, text) for text in is_dns1123_subdomain(domain)]
        errors += [invalid(path, rest, text) for text in is_http_path(rest)]
    if byte_length(manager) > _MAX_MANAGER:
        errors.append(too_long(path, manager, _MAX_MANAGER))
    return errors


def _indexed_errors(spec: Object, path: str) -> list[FieldError]:
    completions, parallelism = spec.get("completions"), spec.get("parallelism")
    failures = spec.get("maxFailedIndexes")
    errors: list[FieldError] = []
    if completions is None:
        errors.append(required(f"{path}.completions", "when completion mode is Indexed"))
    if parallelism is not None and parallelism > _MAX_INDEXED:
        text = f"must be less than or equal to {_MAX_INDEXED} when completion mode is Indexed"
        errors.append(invalid(f"{path}.parallelism", parallelism, text))
    if completions is not None and failures is not None and failures > completions:
        text = "must be less than or equal to completions"
        errors.append(invalid(f"{path}.maxFailedIndexes", failures, text))
    if failures is not None and failures > _MAX_INDEXED:
        text = f"must be less than or equal to {_MAX_INDEXED}"
        errors.append(invalid(f"{path}.maxFailedIndexes", failures, text))
    if completions is None or completions <= _MANY or spec.get("backoffLimitPerIndex") is None:
        return errors
    if failures is None:
        text = f"must be specified when completions is above {_MANY}"
        errors.append(required(f"{path}.maxFailedIndexes", text))
    when = f"when completions are above {_MANY} and used with backoff limit per index"
    for name in ("parallelism", "maxFailedIndexes"):
        value = spec.get(name)
        if value is not None and value > _LIMIT_FOR_MANY:
            text = f"must be less than or equal to {_LIMIT_FOR_MANY} {when}"
            errors.append(invalid(f"{path}.{name}", value, text))
    return errors


def _replacement_errors(spec: Object, path: str) -> list[FieldError]:
    policy = spec.get("podReplacementPolicy")
    supported = ("Failed",) if spec.get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed")
    return [] if policy is None or policy in supported else [not_supported(path, policy, supported)]


def _restart_errors(spec: Object, path: str) -> list[FieldError]:
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy") or ""
    if policy in ("", "Always"):
        return [required(path, 'valid values: "OnFailure", "Never"')]
    if policy not in ("OnFailure", "Never"):
        return [not_supported(path, policy, ("OnFailure", "Never"))]
    if spec.get("podFailurePolicy") is not None and policy != "Never":
        return [invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    return []

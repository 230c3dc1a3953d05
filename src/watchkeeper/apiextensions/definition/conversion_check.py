"""Whether spec.conversion makes sense."""

from __future__ import annotations

from typing import Any

from watchkeeper.apiextensions.definition.ca_bundle import ca_bundle_errors
from watchkeeper.apis.validation.names import is_dns1035_label
from watchkeeper.apis.validation.webhooks import validate_client_config
from watchkeeper.meta.field import FieldError, forbidden, invalid, not_supported, required

Object = dict[str, Any]

STRATEGIES = ("None", "Webhook")
REVIEW_VERSIONS = ("v1", "v1beta1")


def conversion_errors(
    conversion: Object | None, path: str, *, known_review_version: bool, allow_invalid_bundle: bool
) -> list[FieldError]:
    """What is wrong with the conversion. Paths are those of the reference's internal form."""
    if conversion is None:
        return []
    strategy = conversion.get("strategy") or ""
    errors: list[FieldError] = []
    if not strategy:
        errors.append(required(f"{path}.strategy"))
    elif strategy not in STRATEGIES:
        errors.append(not_supported(f"{path}.strategy", strategy, STRATEGIES))
    webhook = conversion.get("webhook") or {}
    config, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    if strategy != "Webhook":
        text = "should not be set when strategy is not set to Webhook"
        if config is not None:
            errors.append(forbidden(f"{path}.webhookClientConfig", text))
        if versions:
            errors.append(forbidden(f"{path}.conversionReviewVersions", text))
        return errors
    errors += _config_errors(config, f"{path}.webhookClientConfig", allow_invalid_bundle)
    return errors + _review_version_errors(versions, f"{path}.conversionReviewVersions", known_review_version)


def _config_errors(config: Object | None, path: str, allow_invalid_bundle: bool) -> list[FieldError]:
    if config is None:
        return [required(path, "required when strategy is set to Webhook")]
    errors = validate_client_config(config, path)
    bundle = config.get("caBundle")
    if bundle and not allow_invalid_bundle:
        errors += ca_bundle_errors(bundle, f"{path}.caBundle")
    return errors


def _review_version_errors(versions: list[str], path: str, known: bool) -> list[FieldError]:
    if not versions:
        return [required(path)]
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, version in enumerate(versions):
        if version in seen:
            errors.append(invalid(f"{path}[{i}]", version, "duplicate version"))
            continue
        seen.add(version)
        errors += [invalid(f"{path}[{i}]", version, wrong) for wrong in is_dns1035_label(version)]
    if known and not accepts_known_review(versions):
        errors.append(invalid(path, versions, f"must include at least one of {', '.join(REVIEW_VERSIONS)}"))
    return errors


def accepts_known_review(versions: list[str]) -> bool:
    """Whether the webhook understands a version of ConversionReview that this server sends."""
    return any(version in REVIEW_VERSIONS for version in versions)

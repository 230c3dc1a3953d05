"""Whether spec.conversion makes sense."""

from __future__ import annotations

from typing import Any

from watchkeeper.apiextensions.definition.ca_bundle import ca_bundle_errors
from watchkeeper.apis.validation.webhooks import validate_client_config, validate_review_versions
from watchkeeper.meta.field import FieldError, forbidden, not_supported, required

Object = dict[str, Any]

STRATEGIES = ("None", "Webhook")


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
        errors.append(not_supported(f"{path}.strategy", strategy, STRATEGIES, plain=True))
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
    return errors + validate_review_versions(
        versions, f"{path}.conversionReviewVersions", allow_unknown=not known_review_version
    )


def _config_errors(config: Object | None, path: str, allow_invalid_bundle: bool) -> list[FieldError]:
    if config is None:
        return [required(path, "required when strategy is set to Webhook")]
    errors = validate_client_config(config, path)
    bundle = config.get("caBundle")
    if bundle and not allow_invalid_bundle:
        errors += ca_bundle_errors(bundle, f"{path}.caBundle")
    return errors

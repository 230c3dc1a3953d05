"""Webhook configurations as they were stored at v1beta1: what was not said meant something else."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

_DEFAULTS = {"failurePolicy": "Ignore", "matchPolicy": "Exact", "sideEffects": "Unknown", "timeoutSeconds": 30}


def webhooks_at_v1(configuration: Object) -> Object:
    """A configuration with the defaults of v1beta1 (pkg/apis/admissionregistration/v1beta1). Consumes it."""
    for hook in configuration.get("webhooks") or ():
        for name, value in _DEFAULTS.items():
            if hook.get(name) is None:
                hook[name] = value
        if not hook.get("admissionReviewVersions"):
            hook["admissionReviewVersions"] = ["v1beta1"]
    return configuration

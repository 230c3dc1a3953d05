"""Defaults of a definition."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def set_defaults(definition: Object) -> None:
    """Fill in, in place, what apiextensions.k8s.io/v1 leaves to the server."""
    spec = definition.setdefault("spec", {})
    names = spec.setdefault("names", {})
    kind = names.get("kind") or ""
    if not names.get("singular") and kind:
        names["singular"] = kind.lower()
    if not names.get("listKind") and kind:
        names["listKind"] = f"{kind}List"
    if spec.get("conversion") is None:
        spec["conversion"] = {"strategy": "None"}
    webhook = spec["conversion"].get("webhook")
    if webhook is not None and webhook.get("clientConfig") is None and webhook.get("conversionReviewVersions") is None:
        # The hub version has no struct around the two, so that nothing of an empty one is left.
        spec["conversion"].pop("webhook")
    service = ((webhook or {}).get("clientConfig") or {}).get("service")
    if service is not None and service.get("port") is None:
        service["port"] = 443
    status = definition.get("status")
    if status is not None and not status.get("storedVersions"):
        stored = storage_version(definition)
        if stored is not None:
            status["storedVersions"] = [stored]


def storage_version(definition: Object) -> str | None:
    """The version that objects are stored at: the first that says so."""
    for version in (definition.get("spec") or {}).get("versions") or ():
        if version.get("storage"):
            name: str = version.get("name") or ""
            return name
    return None


def add_stored_version(definition: Object) -> None:
    """Note the storage version among those that objects may be stored at."""
    status = definition.setdefault("status", {})
    version = storage_version(definition)
    stored = status.get("storedVersions") or []
    if version is not None and version not in stored:
        status["storedVersions"] = [*stored, version]

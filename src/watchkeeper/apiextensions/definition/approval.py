"""Groups below k8s.io and kubernetes.io belong to the community: whoever uses them says that this was approved."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

from watchkeeper.meta.field import FieldError, go_quote, invalid, required
from watchkeeper.meta.urls import URLError, parse_request_uri

ANNOTATION = "api-approved.kubernetes.io"
_WORDS = f"protected groups must have approval annotation {go_quote(ANNOTATION)}"
_MORE = "see https://github.com/kubernetes/enhancements/pull/1111"


class Approval(enum.Enum):
    """What the annotation amounts to."""

    INVALID = "invalid"
    APPROVED = "approved"
    BYPASSED = "bypassed"
    MISSING = "missing"


def is_protected_group(group: str) -> bool:
    """Whether the group belongs to the community."""
    return any(group == domain or group.endswith(f".{domain}") for domain in ("k8s.io", "kubernetes.io"))


def approval(annotations: Mapping[str, Any]) -> tuple[Approval, str]:
    """What the annotations say, and why it counts as that."""
    text = annotations.get(ANNOTATION) or ""
    if not text:
        return Approval.MISSING, f"{_WORDS}, {_MORE}"
    if text.startswith("unapproved"):
        return Approval.BYPASSED, f"not approved: {go_quote(text)}"
    try:
        url = parse_request_uri(text)
    except URLError:
        url = None
    if url is not None and url.host and url.scheme:
        return Approval.APPROVED, f"approved in {text}"
    return Approval.INVALID, f'{_WORDS} with either a URL or a reason starting with "unapproved", {_MORE}'


def approval_errors(definition: dict[str, Any], old: dict[str, Any] | None) -> list[FieldError]:
    """What is wrong with the annotation; nothing as long as an update leaves it what it was."""
    if not is_protected_group((definition.get("spec") or {}).get("group") or ""):
        return []
    annotations = definition["metadata"].get("annotations") or {}
    state, reason = approval(annotations)
    if old is not None and approval(old["metadata"].get("annotations") or {})[0] is state:
        return []
    path = f"metadata.annotations[{ANNOTATION}]"
    if state is Approval.MISSING:
        return [required(path, reason)]
    return [invalid(path, annotations[ANNOTATION], reason)] if state is Approval.INVALID else []

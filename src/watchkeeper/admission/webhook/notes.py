"""What the audit log is told of webhooks: their own annotations, what they changed, and failures that were ignored."""

from __future__ import annotations

import logging
from typing import Any

import orjson

from watchkeeper.admission.interface import Attributes
from watchkeeper.admission.webhook.hook import Hook
from watchkeeper.apis.validation.metadata import validate_label_name

log = logging.getLogger(__name__)

_MUTATION = "mutation.webhook.admission.k8s.io/"
_PATCH = "patch.webhook.admission.k8s.io/"
_VALIDATING = "validating.webhook.admission.k8s.io/"
_FAILED_OPEN = "failed-open."


def add(attributes: Attributes, key: str, value: str, level: str = "Metadata") -> None:
    """Note an annotation; one whose key is not a qualified name with a prefix is dropped."""
    if key.count("/") != 1 or validate_label_name(key, "key"):
        log.warning("audit annotation %r has no valid key", key)
        return
    attributes.annotate(key, value, level)


def add_mutation(attributes: Attributes, hook: Hook, place: str, *, mutated: bool) -> None:
    """Whether a webhook changed the object. `place` is where in which round it was asked."""
    value = {"configuration": hook.configuration, "webhook": hook.name, "mutated": mutated}
    add(attributes, f"{_MUTATION}{place}", orjson.dumps(value).decode())


def add_patch(attributes: Attributes, hook: Hook, place: str, operations: list[dict[str, Any]]) -> None:
    """How a webhook changed the object, for those who log requests."""
    value = {
        "configuration": hook.configuration,
        "webhook": hook.name,
        "patch": [dict(sorted(operation.items())) for operation in operations],
        "patchType": "JSONPatch",
    }
    add(attributes, f"{_PATCH}{place}", orjson.dumps(value).decode(), "Request")


def add_failed_open(attributes: Attributes, hook: Hook, place: str, *, mutating: bool) -> None:
    """A failure of a webhook was ignored."""
    add(attributes, f"{_FAILED_OPEN}{_MUTATION if mutating else _VALIDATING}{place}", hook.name)


def place(index: int, *, second: bool = False) -> str:
    """Where a webhook is asked: as which of all, and whether in the second pass of admission."""
    return f"round_{int(second)}_index_{index}"

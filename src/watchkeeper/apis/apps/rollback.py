"""Going back to an earlier revision of a Deployment: how apps/v1beta1 asks for it, and what is kept of that."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.validation.metadata import validate_annotations
from watchkeeper.apis.validation.numbers import validate_nonnegative
from watchkeeper.meta.field import FieldError, required

Object = dict[str, Any]

ROLLBACK_TO = "deprecated.deployment.rollback.to"
"""The annotation in which the revision to go back to travels, at versions that have no field for it, and in storage."""

_NUMBER = re.compile(r"[+-]?\d+").fullmatch


def rollback_target(deployment: Mapping[str, Any]) -> int | None:
    """The revision that a Deployment of apps/v1 is to go back to, if it is: 0 for the last one."""
    text = ((deployment.get("metadata") or {}).get("annotations") or {}).get(ROLLBACK_TO)
    return int(text) if text and _NUMBER(text) else None


def validate_rollback_target(revision: int | None, path: str) -> list[FieldError]:
    """What is wrong with a revision. The reference calls it a version here."""
    return validate_nonnegative(revision, f"{path}.version")


def validate_rollback(rollback: Object) -> list[FieldError]:
    """What is wrong with a request (apps/v1beta1 DeploymentRollback)."""
    errors = validate_annotations(rollback.get("updatedAnnotations") or {}, "updatedAnnotations")
    if not rollback.get("name"):
        errors.append(required("name", "name is required"))
    return errors + validate_rollback_target((rollback.get("rollbackTo") or {}).get("revision"), "rollback")


def request_rollback(deployment: Object, rollback: Object) -> None:
    """Note a request on a Deployment of apps/v1, in place, for its controller to act on."""
    meta = deployment["metadata"]
    revision = (rollback.get("rollbackTo") or {}).get("revision") or 0
    meta["annotations"] = {
        **(meta.get("annotations") or {}),
        **(rollback.get("updatedAnnotations") or {}),
        ROLLBACK_TO: str(revision),
    }

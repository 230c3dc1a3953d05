"""Requests to bring a Deployment back to a revision: apps/v1beta1 DeploymentRollback."""

from __future__ import annotations

from typing import Any

from watchkeeper.apis.apps.beta_versions import ROLLBACK_TO
from watchkeeper.apis.validation.metadata import validate_annotations
from watchkeeper.apis.validation.numbers import validate_nonnegative
from watchkeeper.meta.field import FieldError, required

Object = dict[str, Any]


def validate_rollback(rollback: Object) -> list[FieldError]:
    """What is wrong with a request."""
    errors = validate_annotations(rollback.get("updatedAnnotations") or {}, "updatedAnnotations")
    if not rollback.get("name"):
        errors.append(required("name", "name is required"))
    return errors + validate_nonnegative((rollback.get("rollbackTo") or {}).get("revision"), "rollback.version")


def request_rollback(deployment: Object, rollback: Object) -> None:
    """Note a request on a Deployment of apps/v1, in place, for its controller to act on."""
    meta = deployment["metadata"]
    revision = (rollback.get("rollbackTo") or {}).get("revision") or 0
    meta["annotations"] = {
        **(meta.get("annotations") or {}),
        **(rollback.get("updatedAnnotations") or {}),
        ROLLBACK_TO: str(revision),
    }

"""How admission refuses: a 403 that names the object, also when it has no name yet."""

from __future__ import annotations

from watchkeeper.admission.interface import Attributes
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError


def forbidden(attributes: Attributes, why: str) -> ApiError:
    """403 with the reference's words (admission.NewForbidden)."""
    return errors.forbidden(attributes.resource.group_resource, shown_name(attributes), why)


def shown_name(attributes: Attributes) -> str:
    """The name, else what it will be generated from, else `Unknown`."""
    if attributes.name:
        return attributes.name
    obj = attributes.obj
    if obj is None:
        return "Unknown"
    metadata = obj.get("metadata")
    if metadata is None:
        return "Unknown/errorGettingName"
    return metadata.get("name") or metadata.get("generateName") or "Unknown"

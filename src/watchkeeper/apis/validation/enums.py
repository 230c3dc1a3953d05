"""The rules of fields that take one of a few values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from watchkeeper.meta.field import FieldError, not_supported, required


def validate_enum(value: Any, path: str, supported: Sequence[str]) -> list[FieldError]:
    """The value must be one of those supported; an absent one is required."""
    if value in supported and value is not None:
        return []
    if not value:
        return [required(path)]
    return [not_supported(path, value, supported)]


def validate_given_enum(value: Any, path: str, supported: Sequence[str]) -> list[FieldError]:
    """The value must be there and one of those supported; an empty one is a value that is not."""
    return [required(path)] if value is None else validate_optional_enum(value, path, supported)


def validate_optional_enum(value: Any, path: str, supported: Sequence[str]) -> list[FieldError]:
    """The value, if there is one, must be one of those supported."""
    if value is None or value in supported:
        return []
    return [not_supported(path, value, supported)]

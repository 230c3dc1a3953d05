"""What a kind that is declared in Python does with its objects besides what its schema says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from watchkeeper.meta.field import FieldError

Object = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """Called with objects that the schema has pruned and defaulted; validation comes last, if all is well so far."""

    default: Callable[[Object], None] | None = None
    prepare_for_create: Callable[[Object], None] | None = None
    prepare_for_update: Callable[[Object, Object], None] | None = None
    validate: Callable[[Object], list[FieldError]] | None = None
    validate_update: Callable[[Object, Object], list[FieldError]] | None = None
    """(new, old)."""

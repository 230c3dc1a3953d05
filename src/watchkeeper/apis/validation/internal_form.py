"""How errors show values that have fields.

kube-apiserver judges objects in a form of its own, whose fields have no JSON names: where an error shows such a value
as a whole, its fields have the names they have in Go, all of them are there, and those not set are empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from watchkeeper.meta.field import in_declared_order

InternalForm: TypeAlias = Mapping[str, tuple[str, Any]]
"""JSON name -> (name in Go, form), in Go's order. The form is what shows when nothing is set ("", 0, None), or an
`InternalForm` for a value that is always there, or a `Reference` or `Listed` to values that may be missing."""


class Reference(dict[str, tuple[str, Any]]):
    """The form of a value that may be missing, which shows as null."""


class Listed(dict[str, tuple[str, Any]]):
    """The form of the items of a list, which shows as null when there is none."""


def internal_form(value: Mapping[str, Any] | None, form: InternalForm) -> dict[str, Any]:
    """A value as errors show it."""
    given = value or {}
    return {name: _shown(given.get(field), inner) for field, (name, inner) in form.items()}


def _shown(value: Any, form: Any) -> Any:
    if isinstance(form, Listed):
        return None if value is None else [internal_form(item, form) for item in value]
    if isinstance(form, Reference):
        return None if value is None else internal_form(value, form)
    if isinstance(form, Mapping):
        return internal_form(value, form)
    return form if value is None else in_declared_order(value)

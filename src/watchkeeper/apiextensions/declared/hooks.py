"""What a model and a strategy do with objects, as the hooks of a custom resource."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from watchkeeper.apiextensions.declared.models import Model, ModelError
from watchkeeper.apiextensions.serving.hooks import Hooks
from watchkeeper.meta.field import OMIT_VALUE, FieldError, invalid

Object = dict[str, Any]
Problem = str | FieldError
"""A text about the spec, or an error about any field."""


class Strategy(Protocol):
    """What a kind may do besides. Every method is optional; objects are dicts as clients send them."""

    def default(self, obj: Object) -> None:
        """Fill in, in place, what no default of the schema can."""
        ...

    def prepare_for_create(self, obj: Object) -> None:
        """Change a new object, in place, before it is validated."""
        ...

    def prepare_for_update(self, obj: Object, old: Object) -> None:
        """Carry over, in place, what an update may not touch."""
        ...

    def validate(self, obj: Object, spec: Any) -> Iterable[Problem] | Problem | None:
        """What is wrong with an object, new or changed; `spec` is an instance of the class.

        What was wrong before with a spec that an update leaves alone is not held against the update.
        """
        ...

    def validate_update(self, obj: Object, old: Object) -> Iterable[Problem] | Problem | None:
        """What is wrong with a change."""
        ...


def hooks_of(model: Model, strategy: Any) -> Hooks:
    """The hooks of a kind."""

    def validate(obj: Object) -> list[FieldError]:
        try:
            spec = model.load(obj.get("spec") or {})
        except ModelError as error:
            return [invalid(_below_spec(path), OMIT_VALUE, text) for path, text in error.problems]
        check = getattr(strategy, "validate", None)
        return _errors(check(obj, spec)) if check is not None else []

    def validate_update(obj: Object, old: Object) -> list[FieldError]:
        found = validate(obj)
        if found and obj.get("spec") == old.get("spec"):
            # A class may ask for more than it did when the object was written; its finalizers can go all the same.
            before = set(map(str, validate(old)))
            found = [error for error in found if str(error) not in before]
        check = getattr(strategy, "validate_update", None)
        return found + (_errors(check(obj, old)) if check is not None else [])

    return Hooks(
        default=getattr(strategy, "default", None),
        prepare_for_create=getattr(strategy, "prepare_for_create", None),
        prepare_for_update=getattr(strategy, "prepare_for_update", None),
        validate=validate,
        validate_update=validate_update,
    )


def _below_spec(path: str) -> str:
    return f"spec.{path}" if path else "spec"


def _errors(problems: Iterable[Problem] | Problem | None) -> list[FieldError]:
    if isinstance(problems, Problem):
        problems = [problems]
    return [p if isinstance(p, FieldError) else invalid("spec", OMIT_VALUE, p) for p in problems or ()]

"""What a patch makes of an object, in the order in which the reference has it as text.

The reference's libraries take apart only those objects that a patch leads into, and write these with their keys sorted.
What lies beside the way stays the text that it was, be it from the encoder of Go types or from a JSON patch.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any

from watchkeeper.meta.field import escape_html
from watchkeeper.runtime.json_text import write_as_written
from watchkeeper.runtime.patch.json_patch import JsonPatch
from watchkeeper.runtime.patch.merge_patch import MergePatch

Object = dict[str, Any]


def outcome_in_order(patch: JsonPatch | MergePatch, before: Object) -> Any:
    """The patched object. `before` is in the order of its text, and is not changed. Raises ApiError."""
    kept: dict[int, Object] = {}

    def keep(text: Any) -> Any:
        kept.update((id(each), each) for each in _objects(text))
        return text

    keep(before)
    if isinstance(patch, JsonPatch):
        for operation in patch.operations:
            keep(operation.get("value"))
        outcome = patch.outcome(before, lambda value: keep(_sorted_but(value, kept)))
    else:
        outcome = patch.apply(before)
    kept.pop(id(outcome), None)  # the whole is taken apart in any case
    return _sorted_but(outcome, kept)


def outcome_text(outcome: Any) -> str:
    """An outcome as the reference's libraries write it: numbers as they came, and fit to stand in HTML."""
    return escape_html(write_as_written(outcome).decode())


def _objects(value: Any) -> Iterator[Object]:
    if value.__class__ is dict:
        yield value
        for item in value.values():
            yield from _objects(item)
    elif value.__class__ is list:
        for item in value:
            yield from _objects(item)


def _sorted_but(value: Any, kept: Container[int]) -> Any:
    if value.__class__ is dict:
        names = value if id(value) in kept else sorted(value)
        return {name: _sorted_but(value[name], kept) for name in names}
    return [_sorted_but(item, kept) for item in value] if value.__class__ is list else value

"""JSON merge patch (RFC 7386).

Like the reference, it drops nulls also from objects in lists that take the place of anything but an object.
"""

from __future__ import annotations

from typing import Any

from watchkeeper.meta import errors
from watchkeeper.runtime.json_text import JsonError, read_as_written, read_json
from watchkeeper.runtime.patch.documents import read_patch
from watchkeeper.runtime.repeated import Pairs
from watchkeeper.runtime.strict import strict_errors

Object = dict[str, Any]


class MergePatch:
    """A parsed document."""

    def __init__(self, body: bytes, *, strict: bool = True) -> None:
        """Raises a 400 for what is no object; one that says nothing of why unless `strict`.

        A list passes for a patch when nobody is strict: it takes the place of the document.
        """
        patch: Any
        self._repeated: Pairs | None = None
        if strict:
            patch, self._repeated = read_patch(body, prefix="error decoding patch: ")
        else:
            patch = _read_leniently(body)
        if not isinstance(patch, (dict, list)):
            raise errors.bad_request("Invalid JSON Patch")
        self._patch = patch

    @classmethod
    def as_written(cls, body: bytes) -> MergePatch:
        """The patch with the numbers of a document as they are written, for errors about what it made of an object."""
        patch = cls(body, strict=False)
        patch._patch = read_as_written(body)
        return patch

    def strict_errors(self) -> list[str]:
        """Fields that the patch sets twice."""
        return strict_errors(None, self._repeated) if self._repeated is not None else []

    def apply(self, document: Object) -> Any:
        """The document with the patch merged in; parts that the patch does not touch are shared."""
        return _merge(document, self._patch) if isinstance(self._patch, dict) else _without_nulls(self._patch)


def _read_leniently(body: bytes) -> Any:
    try:
        return read_json(body)
    except JsonError:
        return None


def _merge(target: Object, patch: Object) -> Object:
    merged = dict(target)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
            continue
        current = merged.get(key)
        if isinstance(current, dict) and isinstance(value, dict):
            merged[key] = _merge(current, value)
        else:
            merged[key] = value if isinstance(current, dict) else _without_nulls(value)
    return merged


def _without_nulls(value: Any) -> Any:
    """A value without the nulls in its objects, wherever they are; lists keep theirs."""
    if isinstance(value, dict):
        return {k: _without_nulls(v) for k, v in value.items() if v is not None}
    return list(map(_without_nulls, value)) if isinstance(value, list) else value

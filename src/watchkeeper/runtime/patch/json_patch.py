"""JSON patch (RFC 6902), with the leniencies of the reference's library.

`replace` sets an absent member of an object, `copy` from an absent member copies null, a missing `value` is null, and
negative indices count from the end of a list. What comes before the first slash of a path does not count. Only `test`
and `replace` can mean the whole document, and it stays as it is when `replace` has neither an object nor a list for it.
"""

from __future__ import annotations

from typing import Any

import orjson

from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.runtime.patch.documents import mismatch, read_document

MAX_OPERATIONS = 10_000
_KNOWN = frozenset({"op", "path", "from", "value"})
_PREFIX = "error decoding patch: "
_ABSENT = object()
_MAX_COPIED_BYTES = 3 * 1024 * 1024


class _DoesNotApply(Exception):
    """An operation found what it needs missing."""


class JsonPatch:
    """A parsed document."""

    def __init__(self, body: bytes) -> None:
        """Raises a 400 for what is no list of operations, a 413 for too many."""
        operations = read_document(body, prefix=_PREFIX)
        operations = [] if operations is None else operations
        if not isinstance(operations, list):
            raise mismatch(operations, "value of type []handlers.jsonPatchOp", prefix=_PREFIX)
        operations = [{} if each is None else each for each in operations]
        for each in operations:
            _check_operation(each)
        if len(operations) > MAX_OPERATIONS:
            raise errors.request_entity_too_large(
                f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
            )
        self._operations: list[dict[str, Any]] = operations

    def strict_errors(self) -> list[str]:
        """Members of operations that mean nothing."""
        return [
            f'json patch unknown field "[{index}].{name}"'
            for index, operation in enumerate(self._operations)
            for name in operation
            if name not in _KNOWN
        ]

    def apply(self, document: Any) -> Any:
        """The patched document. Raises a 422 when an operation does not apply; then nothing has changed."""
        holder = _Document(document)
        try:
            for operation in self._operations:
                holder.apply(operation)
        except _DoesNotApply:
            raise does_not_apply() from None
        return holder.root


def does_not_apply() -> ApiError:
    """422 for a patch that cannot be applied to the object as it is."""
    message = "the server rejected our request due to an error in our request"
    return ApiError(422, "Invalid", message, details={})


def _check_operation(operation: Any) -> None:
    if not isinstance(operation, dict):
        raise mismatch(operation, "value of type handlers.jsonPatchOp", prefix=_PREFIX)
    for name in ("op", "path", "from"):
        if not isinstance(operation.get(name), (str, type(None))):
            raise mismatch(operation[name], f"struct field jsonPatchOp.{name} of type string", prefix=_PREFIX)


class _Document:
    """The document while operations change it. Containers are copied before their first change."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self._own: set[int] = set()
        self._copied = 0

    def apply(self, operation: dict[str, Any]) -> None:
        """Carry one operation out. Raises _DoesNotApply."""
        act = _ACTIONS.get(operation.get("op"))  # type: ignore[arg-type]
        path = operation.get("path")
        if act is None or not isinstance(path, str):
            raise _DoesNotApply
        act(self, operation, path)

    def _add(self, operation: dict[str, Any], path: str) -> None:
        self.set(path, operation.get("value"), insert=True)

    def _replace(self, operation: dict[str, Any], path: str) -> None:
        value = operation.get("value")
        if path:
            self.set(path, value, insert=False)
        elif isinstance(value, (dict, list)):
            self.root = value

    def _remove(self, _operation: dict[str, Any], path: str) -> None:
        self.take(path)

    def _move(self, operation: dict[str, Any], path: str) -> None:
        source = operation.get("from")
        if not isinstance(source, str):
            raise _DoesNotApply
        self.set(path, self.take(source), insert=True)

    def _copy(self, operation: dict[str, Any], path: str) -> None:
        source = operation.get("from")
        if not isinstance(source, str):
            raise _DoesNotApply
        value = self.get(_split(source))
        encoded = orjson.dumps(None if value is _ABSENT else value)
        self._copied += len(encoded)
        if self._copied > _MAX_COPIED_BYTES:
            raise _DoesNotApply
        self.set(path, orjson.loads(encoded), insert=True)

    def _test(self, operation: dict[str, Any], path: str) -> None:
        value = self.get(_split(path)) if path else self.root
        if not _equal(None if value is _ABSENT else value, operation.get("value")):
            raise _DoesNotApply

    # -- walking ----------------------------------------------------------------------------------------------

    def get(self, parts: list[str]) -> Any:
        """The value at a path; _ABSENT for a member that its object lacks."""
        value = self.root
        for index, part in enumerate(parts):
            last = index == len(parts) - 1
            if isinstance(value, dict):
                if part in value:
                    value = value[part]
                elif last:
                    return _ABSENT
                else:
                    raise _DoesNotApply
            elif isinstance(value, list):
                value = value[_index(part, len(value))]
            else:
                raise _DoesNotApply
        return value

    def _parent(self, parts: list[str]) -> Any:
        """The container that a path's last part is in, ready to be changed."""
        value = self.root = self._mine(self.root)
        for part in parts[:-1]:
            if isinstance(value, dict):
                if part not in value:
                    raise _DoesNotApply
                value[part] = self._mine(value[part])
                value = value[part]
            else:
                at = _index(part, len(value))
                value[at] = self._mine(value[at])
                value = value[at]
        return value

    def _mine(self, value: Any) -> Any:
        if not isinstance(value, (dict, list)):
            raise _DoesNotApply
        if id(value) in self._own:
            return value
        own = value.copy()
        self._own.add(id(own))
        return own

    def set(self, path: str, value: Any, *, insert: bool) -> None:
        """Put a value at a path: into a list before what is there (`insert`), or in its place."""
        parts = _split(path)
        parent, key = self._parent(parts), parts[-1]
        if isinstance(parent, dict):
            parent[key] = value
        elif not insert:
            parent[_index(key, len(parent))] = value
        elif key == "-":
            parent.append(value)
        else:
            at = _number(key)
            if at < 0:
                at += len(parent) + 1
            if not 0 <= at <= len(parent):
                raise _DoesNotApply
            parent.insert(at, value)

    def take(self, path: str) -> Any:
        """Remove and return the value at a path."""
        parts = _split(path)
        parent, key = self._parent(parts), parts[-1]
        if isinstance(parent, dict):
            if key not in parent:
                raise _DoesNotApply
            return parent.pop(key)
        return parent.pop(_index(key, len(parent)))


_ACTIONS = {
    "add": _Document._add,
    "replace": _Document._replace,
    "remove": _Document._remove,
    "move": _Document._move,
    "copy": _Document._copy,
    "test": _Document._test,
}


def _split(path: str) -> list[str]:
    if "/" not in path:
        raise _DoesNotApply
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]


def _number(part: str) -> int:
    digits = part[1:] if part.startswith(("-", "+")) else part
    if not (digits.isascii() and digits.isdigit()):
        raise _DoesNotApply
    return int(part)


def _index(part: str, length: int) -> int:
    """The index of an existing item."""
    at = _number(part)
    if at < 0:
        at += length
    if not 0 <= at < length:
        raise _DoesNotApply
    return at


def _equal(a: Any, b: Any) -> bool:
    """Equal as JSON: 1 and true are not."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(v, b[k]) for k, v in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_equal(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)

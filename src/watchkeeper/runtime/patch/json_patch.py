"""JSON patch (RFC 6902), with the leniencies of the reference's library.

`replace` sets an absent member of an object, `copy` from an absent member copies null, a missing `value` is null, and
negative indices count from the end of a list. What comes before the first slash of a path does not count. Only `test`
and `replace` can mean the whole document, which must then be an object or a list.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator
from itertools import islice
from typing import Any

import orjson

from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.runtime.copying import copied
from watchkeeper.runtime.json_text import (
    HugeNumber,
    JsonError,
    WrittenNumber,
    read_as_written,
    read_json,
    write_as_written,
)
from watchkeeper.runtime.patch.documents import go_mismatch, mismatch, read_document
from watchkeeper.runtime.patch.spelling import as_spelled
from watchkeeper.runtime.repeated import Pairs, read_pairs, repeats_fields
from watchkeeper.runtime.unmarshal import MAX_STRICT_ERRORS

MAX_OPERATIONS = 10_000
_TEXTS = frozenset({"op", "path", "from"})
_KNOWN = _TEXTS | {"value"}
_PREFIX = "error decoding patch: "
_ABSENT = object()
_MAX_COPIED_BYTES = 3 * 1024 * 1024
_MISSING = "missing value"
_INVALID_INDEX = "invalid index referenced"
_BEYOND_INT64 = 2**63


class PatchError(Exception):
    """A patch that does not apply, or is none; the message is the library's."""


class FailedTest(PatchError):
    """A patch whose test found another value."""


class _Wrong(PatchError):
    """What is wrong at one place, which the operation tells."""


class JsonPatch:
    """A parsed document."""

    def __init__(self, body: bytes) -> None:
        """Raises a 400 for what is no list of operations, a 413 for too many."""
        try:
            operations = read_document(body, prefix=_PREFIX, huge=True)
        except HugeNumber:
            operations = _beside_huge_numbers(read_as_written(body))
        operations = [] if operations is None else operations
        if not isinstance(operations, list):
            raise mismatch(operations, "value of type []handlers.jsonPatchOp", prefix=_PREFIX)
        operations = [{} if each is None else each for each in operations]
        for each in operations:
            _check_operation(each)
        _check_count(operations)
        self.operations: list[dict[str, Any]] = operations
        self._expected = _expected(body, operations)
        self._repeated = read_pairs(body) if operations and repeats_fields(body, operations) else None

    @classmethod
    def lenient(cls, body: bytes) -> JsonPatch:
        """A document whose operations may turn out to be none only when they are due. Raises a 400 or 413."""
        try:
            patch = cls.of_webhook(body)
        except PatchError as error:
            raise errors.bad_request(str(error)) from error
        _check_count(patch.operations)
        return patch

    @classmethod
    def of_webhook(cls, text: bytes) -> JsonPatch:
        """A document that no client sent: it may be as long as it likes. Raises PatchError."""
        try:
            operations = read_json(text)
        except JsonError as error:
            raise PatchError(str(error)) from error
        operations = [] if operations is None else operations
        if not isinstance(operations, list):
            raise PatchError(go_mismatch(operations, "value of type jsonpatch.Patch"))
        for each in operations:
            if not isinstance(each, (dict, type(None))):
                raise PatchError(go_mismatch(each, "value of type jsonpatch.Operation"))
        patch = cls(b"null")
        patch.operations = [{} if each is None else each for each in operations]
        patch._expected = _expected(text, patch.operations)
        return patch

    @classmethod
    def as_written(cls, body: bytes) -> JsonPatch:
        """The patch with the numbers of a document as they are written, for `outcome`. The document can be read."""
        patch = cls(b"null")
        patch.operations = [{} if each is None else each for each in read_as_written(body) or ()]
        return patch

    def strict_errors(self) -> list[str]:
        """Members of operations that mean nothing, and those that values set twice."""
        if isinstance(self._repeated, list):
            found = (
                text for i, each in enumerate(self._repeated) for text in _odd_members(each, f"[{i}]", known=_KNOWN)
            )
            return _first(found) + _first(text for each in self._repeated for text in _set_twice(each))
        return _first(
            f'json patch unknown field "[{index}].{name}"'
            for index, operation in enumerate(self.operations)
            for name in operation
            if name not in _KNOWN
        )

    def apply(self, document: Any) -> Any:
        """The patched document. Raises a 422 when an operation does not apply; then nothing has changed."""
        try:
            return self.result(document)
        except PatchError:
            raise does_not_apply() from None

    def result(self, document: Any) -> Any:
        """The patched document, which may share parts with the one given. Raises PatchError."""
        holder = _Document(document)
        for index, operation in enumerate(self.operations):
            if index in self._expected:
                operation = {**operation, "value": self._expected[index]}
            holder.apply(operation)
        return holder.root

    def outcome(self, document: Any, copied: Callable[[Any], Any]) -> Any:
        """The patched document, once more: its tests have passed. `copied` makes the copies. Raises as `apply` does."""
        holder = _Repeated(document, copied)
        try:
            for operation in self.operations:
                holder.apply(operation)
        except PatchError:
            raise does_not_apply() from None
        return holder.root


def _first(errors: Iterable[str]) -> list[str]:
    """As many strict errors as are reported, each once."""
    return list(islice(dict.fromkeys(errors), MAX_STRICT_ERRORS))


def _odd_members(
    value: Any, path: str, where: str = "json patch ", *, known: Container[str] | None = None
) -> Iterator[str]:
    """The members that come again, and those that are not `known` (None: all are), as they stand in the text."""
    if isinstance(value, Pairs):
        seen: set[str] = set()
        for name, member in value:
            if known is not None and name not in known:
                yield f'{where}unknown field "{path}.{name}"'
                continue  # nobody looks into what means nothing
            if name in seen:
                yield f'{where}duplicate field "{f"{path}.{name}".lstrip(".")}"'
            seen.add(name)
            yield from _odd_members(member, f"{path}.{name}", where)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _odd_members(item, f"{path}[{index}]", where)


def _set_twice(operation: Any) -> Iterator[str]:
    """The members that come again in a value that becomes part of the document, where they are there."""
    if not isinstance(operation, Pairs):
        return
    members = dict(operation)
    path = members.get("path")
    if members.get("op") in ("add", "replace") and isinstance(path, str):
        parts = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]
        place = "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in parts)
        yield from _odd_members(members.get("value"), place, "")


def _expected(body: bytes, operations: list[dict[str, Any]]) -> dict[int, Any]:
    """What the tests of a document compare with, by the place of the operation."""
    if not any(operation.get("op") == "test" for operation in operations):
        return {}
    spelled = as_spelled(body)
    tests = (index for index, operation in enumerate(operations) if operation.get("op") == "test")
    return {index: spelled[index]["value"] for index in tests if "value" in operations[index]}


def does_not_apply() -> ApiError:
    """422 for a patch that cannot be applied to the object as it is."""
    message = "the server rejected our request due to an error in our request"
    return ApiError(422, "Invalid", message, details={})


def _check_count(operations: list[Any]) -> None:
    if len(operations) > MAX_OPERATIONS:
        raise errors.request_entity_too_large(
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        )


def _beside_huge_numbers(operations: Any) -> Any:
    """A document with a number beyond all floats, which matters in values only. Raises a 400 for the first fault."""
    if isinstance(operations, list):
        for each in operations:
            if each is not None:
                _check_operation(each)
                _check_numbers(each.get("value"))
    return _plain(operations)


def _check_numbers(value: Any) -> None:
    if isinstance(value, WrittenNumber) and math.isinf(value):
        where = "Go struct field jsonPatchOp.value of type float64"
        raise errors.bad_request(f"{_PREFIX}json: cannot unmarshal number {value.text} into {where}")
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _check_numbers(item)


def _plain(value: Any) -> Any:
    """The same with numbers as they are usually read."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return float(value) if isinstance(value, WrittenNumber) else value


def _check_operation(operation: Any) -> None:
    if not isinstance(operation, dict):
        raise mismatch(operation, "value of type handlers.jsonPatchOp", prefix=_PREFIX)
    for name, value in operation.items():
        if name in _TEXTS and not isinstance(value, (str, type(None))):
            raise mismatch(value, f"struct field jsonPatchOp.{name} of type string", prefix=_PREFIX)


class _Document:
    """The document while operations change it. Containers are copied before their first change."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self._own: set[int] = set()
        self._copied = 0

    def apply(self, operation: dict[str, Any]) -> None:
        """Carry one operation out. Raises PatchError."""
        name = operation.get("op")
        act = _ACTIONS.get(name) if isinstance(name, str) else None
        if act is None:
            raise PatchError(f"Unexpected kind: {name if isinstance(name, str) else 'unknown'}")
        act(self, operation)

    def _add(self, operation: dict[str, Any]) -> None:
        path = _path(operation, "add")
        place = self._place(path)
        if place is None:
            raise PatchError(f'add operation does not apply: doc is missing path: "{path}": {_MISSING}')
        try:
            self._insert(*place, operation.get("value"))
        except _Wrong as problem:
            raise PatchError(f"error in add for path: '{path}': {problem}") from None

    def _replace(self, operation: dict[str, Any]) -> None:
        path, value = _path(operation, "replace"), operation.get("value")
        if not path:
            if not isinstance(value, (dict, list)):
                raise PatchError("replace operation value must be object or array: %!w(<nil>)")
            self.root = value
            return
        place = self._place(path)
        if place is None:
            raise PatchError(f"replace operation does not apply: doc is missing path: {path}: {_MISSING}")
        parent, key = place
        if isinstance(parent, dict):
            parent[key] = value
            return
        try:
            parent[_index(key, len(parent))] = value
        except _Wrong:
            raise PatchError(f"replace operation does not apply: doc is missing key: {path}: {_MISSING}") from None

    def _remove(self, operation: dict[str, Any]) -> None:
        path = _path(operation, "remove")
        place = self._place(path)
        if place is None:
            raise PatchError(f'remove operation does not apply: doc is missing path: "{path}": {_MISSING}')
        try:
            _take(*place)
        except _Wrong as problem:
            raise PatchError(f"error in remove for path: '{path}': {problem}") from None

    def _move(self, operation: dict[str, Any]) -> None:
        source = _source(operation, "move")
        place = self._place(source)
        if place is None:
            raise PatchError(f"move operation does not apply: doc is missing from path: {source}: {_MISSING}")
        try:
            value = _take(*place)
        except _Wrong as problem:
            raise PatchError(f"error in move for path: '{place[1]}': {problem}") from None
        path = _path(operation, "move")
        place = self._place(path)
        if place is None:
            raise PatchError(f"move operation does not apply: doc is missing destination path: {path}: {_MISSING}")
        try:
            # Where it comes to it is decoded in place as something else, and who has the document before has it still.
            self._insert(*place, copied(value))
        except _Wrong as problem:
            raise PatchError(f"error in move for path: '{path}': {problem}") from None

    def _copy(self, operation: dict[str, Any]) -> None:
        source = _source(operation, "copy")
        origin = self._place(source)
        if origin is None:
            raise PatchError(f"copy operation does not apply: doc is missing from path: {source}: {_MISSING}")
        try:
            _get(*origin)
        except _Wrong as problem:
            raise PatchError(f"error in copy for from: '{source}': {problem}") from None
        path = _path(operation, "copy")
        place = self._place(path)
        if place is None:
            raise PatchError(f"copy operation does not apply: doc is missing destination path: {path}: {_MISSING}")
        value = _get(*origin)  # the way to the place may have led into it
        value = None if value is _ABSENT else value
        encoded = write_as_written(value)
        self._copied += len(encoded)
        if self._copied > _MAX_COPIED_BYTES:
            size = f"Unable to complete the copy, the accumulated size increase of copy is {self._copied}"
            raise PatchError(f"{size}, exceeding the limit {_MAX_COPIED_BYTES}")
        try:
            self._insert(*place, self._copy_of(value, encoded))
        except _Wrong as problem:
            raise PatchError(f"error while adding value during copy: {problem}") from None

    def _test(self, operation: dict[str, Any]) -> None:
        path = _path(operation, "test")
        if path:
            place = self._place(path)
            if place is None:
                raise PatchError(f"test operation does not apply: is missing path: {path}: {_MISSING}")
            try:
                value = _get(*place)
            except _Wrong as problem:
                raise PatchError(f"error in test for path: '{path}': {problem}") from None
        else:
            place, value = None, self.root
        if not self._passes(None if value is _ABSENT else value, operation.get("value")):
            raise FailedTest(f"testing value {path} failed: test failed")
        self._looked_at(place, value)

    def _copy_of(self, value: Any, encoded: bytes) -> Any:
        return orjson.loads(encoded)

    def _passes(self, value: Any, expected: Any) -> bool:
        return _equal(value, expected)

    def _looked_at(self, place: tuple[Any, str] | None, value: Any) -> None:
        """A test has passed: the value in the place, None for the whole, was compared in all its parts."""

    # -- walking ----------------------------------------------------------------------------------------------

    def _place(self, path: str) -> tuple[Any, str] | None:
        """The container that a path's last part is in, ready to be changed, and that part; None when there is none."""
        if "/" not in path:
            return None
        parts = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]
        if not isinstance(self.root, (dict, list)):
            return None
        value = self.root = self._mine(self.root)
        for part in parts[:-1]:
            try:
                inner = _get(value, part)
            except _Wrong:
                return None
            if not isinstance(inner, (dict, list)):
                return None
            inner = self._mine(inner)
            value[part if isinstance(value, dict) else _index(part, len(value))] = inner
            value = inner
        return value, parts[-1]

    def _mine(self, value: Any) -> Any:
        if id(value) in self._own:
            return value
        own = value.copy()
        self._own.add(id(own))
        return own

    @staticmethod
    def _insert(parent: Any, key: str, value: Any) -> None:
        """Put a value into an object, or into a list before what is there."""
        if isinstance(parent, dict):
            parent[key] = value
            return
        if key == "-":
            parent.append(value)
            return
        try:
            at = _number(key)
        except _Wrong as problem:
            raise _Wrong(f"value was not a proper array index: '{key}': {problem}") from None
        end = len(parent) + 1
        if not -end <= at < end:
            raise _Wrong(f"Unable to access invalid index: {at}: {_INVALID_INDEX}")
        parent.insert(at + end if at < 0 else at, value)


class _Repeated(_Document):
    """A document to which a patch is applied once more, so that its tests need but be walked to."""

    def __init__(self, root: Any, copied: Callable[[Any], Any]) -> None:
        super().__init__(root)
        self._copied_by = copied

    def _copy_of(self, value: Any, encoded: bytes) -> Any:
        return self._copied_by(value)

    def _passes(self, value: Any, expected: Any) -> bool:
        return True

    def _looked_at(self, place: tuple[Any, str] | None, value: Any) -> None:
        if not isinstance(value, (dict, list)):
            return
        own = self._all_mine(value)
        if place is None:
            self.root = own
            return
        parent, part = place
        parent[part if isinstance(parent, dict) else _index(part, len(parent))] = own

    def _all_mine(self, value: Any) -> Any:
        if not isinstance(value, (dict, list)):
            return value
        own = self._mine(value)
        for name, inner in own.items() if isinstance(own, dict) else enumerate(own):
            own[name] = self._all_mine(inner)
        return own


_ACTIONS = {
    "add": _Document._add,
    "replace": _Document._replace,
    "remove": _Document._remove,
    "move": _Document._move,
    "copy": _Document._copy,
    "test": _Document._test,
}


def _path(operation: dict[str, Any], name: str) -> str:
    path = operation.get("path")
    if isinstance(path, str):
        return path
    if name in ("add", "remove", "copy"):
        raise PatchError(f"{name} operation failed to decode path: {_MISSING}")
    raise PatchError(f"{name} operation failed to decode path: {_undecoded(path, 'operation missing path field')}")


def _source(operation: dict[str, Any], name: str) -> str:
    source = operation.get("from")
    if isinstance(source, str):
        return source
    raise PatchError(f"{name} operation failed to decode from: {_undecoded(source, 'operation, missing from field')}")


def _undecoded(value: Any, missing: str) -> str:
    return f"{missing}: {_MISSING}" if value is None else go_mismatch(value, "value of type string")


def _get(parent: Any, key: str) -> Any:
    """The value of a member, _ABSENT for one that its object lacks, or of an item."""
    if isinstance(parent, dict):
        return parent.get(key, _ABSENT)
    return parent[_index(key, len(parent))]


def _take(parent: Any, key: str) -> Any:
    """Remove and return a member or an item."""
    if isinstance(parent, list):
        return parent.pop(_index(key, len(parent)))
    if key not in parent:
        raise _Wrong(f"Unable to remove nonexistent key: {key}: {_MISSING}")
    return parent.pop(key)


def _number(part: str) -> int:
    digits = part[1:] if part.startswith(("-", "+")) else part
    if not (digits.isascii() and digits.isdigit()):
        raise _Wrong(f'strconv.Atoi: parsing "{part}": invalid syntax')
    significant = digits.lstrip("0") or "0"
    number = int(significant) if len(significant) < 20 else _BEYOND_INT64 + 1
    number = -number if part.startswith("-") else number
    if not -_BEYOND_INT64 <= number < _BEYOND_INT64:
        raise _Wrong(f'strconv.Atoi: parsing "{part}": value out of range')
    return number


def _index(part: str, length: int) -> int:
    """The index of an existing item."""
    at = _number(part)
    if not -length <= at < length:
        raise _Wrong(f"Unable to access invalid index: {at}: {_INVALID_INDEX}")
    return at + length if at < 0 else at


def _equal(a: Any, b: Any) -> bool:
    """Equal as JSON texts: neither 1 and true nor 1 and 1.0 are."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a.__class__ is b.__class__ and a == b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(v, b[k]) for k, v in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_equal(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)

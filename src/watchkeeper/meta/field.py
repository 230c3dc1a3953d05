"""Errors about fields: where, what was found, what is wrong, in the words clients parse.

The forms are those of apimachinery's `validation/field`: `path: Type: value: detail` in the message, and one cause per
error in the Status.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import orjson


class ErrorType(enum.Enum):
    """The reason of a cause, and the words that introduce it."""

    NOT_FOUND = ("FieldValueNotFound", "Not found")
    REQUIRED = ("FieldValueRequired", "Required value")
    DUPLICATE = ("FieldValueDuplicate", "Duplicate value")
    INVALID = ("FieldValueInvalid", "Invalid value")
    NOT_SUPPORTED = ("FieldValueNotSupported", "Unsupported value")
    FORBIDDEN = ("FieldValueForbidden", "Forbidden")
    TOO_LONG = ("FieldValueTooLong", "Too long")
    TOO_MANY = ("FieldValueTooMany", "Too many")
    INTERNAL = ("InternalError", "Internal error")
    TYPE_INVALID = ("FieldValueTypeInvalid", "Invalid value")

    @property
    def reason(self) -> str:
        """The machine-readable reason of a cause."""
        return self.value[0]

    @property
    def words(self) -> str:
        """What the message says."""
        return self.value[1]


class OmitValue:
    """Marks an Invalid error that does not show the value."""


OMIT_VALUE = OmitValue()


class JsonText(str):
    """Text that errors show as JSON instead of as Go quotes it: what has a type of its own in the reference."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing that is wrong with one field."""

    type: ErrorType
    field: str
    value: Any = None
    detail: str = ""

    def body(self) -> str:
        """The message without the field, as a cause carries it."""
        kind = self.type
        if kind in (
            ErrorType.REQUIRED,
            ErrorType.FORBIDDEN,
            ErrorType.TOO_LONG,
            ErrorType.INTERNAL,
        ) or isinstance(self.value, OmitValue):
            text = kind.words
        else:
            text = f"{kind.words}: {format_value(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.field}: {self.body()}"

    def cause(self) -> dict[str, str]:
        """The StatusCause that tells of this error."""
        return {"reason": self.type.reason, "message": self.body(), "field": self.field}


def format_value(value: Any) -> str:
    """A value as the reference prints it: text quoted as Go's %q (but for JsonText), null, and JSON for the rest."""
    if isinstance(value, str):
        return go_json(str(value)) if isinstance(value, JsonText) else go_quote(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return go_float(value)
    text = orjson.dumps(value)
    if b".0" in text or b"e+" in text:
        text = orjson.dumps(_with_integers(value))
    return escape_html(text.decode())


def _with_integers(value: Any) -> Any:
    """A value with integers for whole floats, as Go writes them."""
    if isinstance(value, dict):
        return {key: _with_integers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_integers(item) for item in value]
    whole = isinstance(value, float) and value.is_integer() and abs(value) < _BEYOND_INTEGERS
    return int(value) if whole else value


_BEYOND_INTEGERS = 2.0**63


_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})


def go_bool(text: str) -> bool | None:
    """What Go's strconv.ParseBool reads; None for what it does not."""
    return text in _TRUE if text in _TRUE or text in _FALSE else None


def go_float(value: float) -> str:
    """A number as Go's %v prints it: as few digits as tell it, and an exponent for what is large or small."""
    if value != value or value - value != 0:
        return "NaN" if value != value else "+Inf" if value > 0 else "-Inf"
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).rstrip("0") or "0"
    point = len(digits) + exponent
    if value and not -4 <= point - 1 < _LARGE_EXPONENT:
        mantissa = text[0] + (f".{text[1:]}" if len(text) > 1 else "")
        found = f"{mantissa}e{'-' if point < 1 else '+'}{abs(point - 1):02d}"
    elif point <= 0:
        found = f"0.{'0' * -point}{text}" if value else "0"
    else:
        text = text.ljust(point, "0")
        found = text[:point] + (f".{text[point:]}" if len(text) > point else "")
    return f"-{found}" if sign else found


_LARGE_EXPONENT = 6
"""The power of ten from which on Go writes an exponent."""


def in_key_order(value: Any) -> Any:
    """JSON with the keys of its objects sorted, as Go's maps are written; values with a struct keep its order."""
    if isinstance(value, dict):
        return {key: in_key_order(value[key]) for key in sorted(value)}
    return [in_key_order(item) for item in value] if isinstance(value, list) else value


def in_declared_order(value: Any) -> Any:
    """As `in_key_order`, for values in which there may be label selectors: those name their labels first."""
    if isinstance(value, dict):
        return {key: in_declared_order(value[key]) for key in sorted(value, key=_declared)}
    return [in_declared_order(item) for item in value] if isinstance(value, list) else value


def _declared(key: str) -> str:
    return "matchLabels+" if key == "matchExpressions" else key


def go_json(value: Any) -> str:
    """JSON as Go's encoder writes what has no struct: keys sorted, and what HTML would read escaped."""
    return escape_html(orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode())


def escape_html(text: str) -> str:
    """JSON with what HTML or JavaScript would read escaped, as Go's encoder does."""
    for ch, escaped in _HTML_ESCAPES:
        text = text.replace(ch, escaped)
    return text


_HTML_ESCAPES = tuple((ch, f"\\u{ord(ch):04x}") for ch in "<>&\u2028\u2029")


def go_syntax(value: Any, *, keys: str = "string") -> str:
    """A JSON value as Go's %#v prints it; `keys` is the type that its maps have keys of."""
    if isinstance(value, dict):
        entries = ", ".join(f"{go_quote(key)}:{go_syntax(inner, keys=keys)}" for key, inner in sorted(value.items()))
        return f"map[{keys}]interface {{}}{{{entries}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(go_syntax(item, keys=keys) for item in value)}}}"
    if isinstance(value, str):
        return go_quote(value)
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, bool):
        return "true" if value else "false"
    return go_float(value) if isinstance(value, float) else str(value)


def go_quote(text: str) -> str:
    """Quote as Go's strconv.Quote does."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    out = ['"']
    for ch in text:
        if ch in '"\\':
            out.append("\\" + ch)
        elif ch.isprintable():
            out.append(ch)
        else:
            out.append(_ESCAPES.get(ch) or _numeric_escape(ch))
    out.append('"')
    return "".join(out)


_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


def _numeric_escape(ch: str) -> str:
    code = ord(ch)
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def join(path: str, name: str) -> str:
    """The path of a field within the object at `path` ("" is the object itself)."""
    return f"{path}.{name}" if path else name


def required(path: str, detail: str = "") -> FieldError:
    """The field must be set."""
    return FieldError(ErrorType.REQUIRED, path, "", detail)


def invalid(path: str, value: Any, detail: str) -> FieldError:
    """The value is malformed or breaks a rule."""
    return FieldError(ErrorType.INVALID, path, value, detail)


def type_invalid(path: str, value: Any, detail: str) -> FieldError:
    """The value has the wrong type."""
    return FieldError(ErrorType.TYPE_INVALID, path, value, detail)


def duplicate(path: str, value: Any) -> FieldError:
    """The value must be unique and is not."""
    return FieldError(ErrorType.DUPLICATE, path, value)


def forbidden(path: str, detail: str) -> FieldError:
    """The field may not be set or changed here."""
    return FieldError(ErrorType.FORBIDDEN, path, "", detail)


def not_found(path: str, value: Any) -> FieldError:
    """The value refers to what does not exist."""
    return FieldError(ErrorType.NOT_FOUND, path, value)


def not_supported(path: str, value: Any, supported: Iterable[str], *, plain: bool = False) -> FieldError:
    """The value is not one of those known. Lists what would be, in the order given.

    Text is shown as JSON, for the types that have known values are not plain text to the reference. Where one is,
    `plain` has to say so.
    """
    if not plain and isinstance(value, str):
        value = JsonText(value)
    quoted = [go_quote(s) for s in supported]
    detail = f"supported values: {', '.join(quoted)}" if quoted else ""
    return FieldError(ErrorType.NOT_SUPPORTED, path, value, detail)


def too_long(path: str, value: Any, max_length: int) -> FieldError:
    """The text or encoding has more than `max_length` bytes."""
    detail = (
        f"may not be more than {max_length} {'byte' if max_length == 1 else 'bytes'}"
        if max_length >= 0
        else "value is too long"
    )
    return FieldError(ErrorType.TOO_LONG, path, value, detail)


def too_many(path: str, actual: int, max_quantity: int) -> FieldError:
    """The list has more than `max_quantity` items."""
    detail = (
        f"must have at most {max_quantity} {'item' if max_quantity == 1 else 'items'}"
        if max_quantity >= 0
        else "has too many items"
    )
    return FieldError(ErrorType.TOO_MANY, path, actual, detail)


def internal_error(path: str, error: str) -> FieldError:
    """The check itself failed."""
    return FieldError(ErrorType.INTERNAL, path, "", error)


def aggregate(errors: Sequence[FieldError]) -> str:
    """All errors in one message: each different text once, bracketed when there are several."""
    texts = list(dict.fromkeys(str(e) for e in errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"

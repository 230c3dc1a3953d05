"""The rules of counts, ports and int-or-percent values."""

from __future__ import annotations

import re
from typing import Any

from watchkeeper.apis.validation.metadata import NEGATIVE
from watchkeeper.apis.validation.names import is_port_name, is_port_number, is_valid_percent
from watchkeeper.meta.field import FieldError, JsonText, invalid

_percent = re.compile("[0-9]+%").fullmatch
_number = re.compile("[+-]?[0-9]{1,1000}").fullmatch

NOT_POSITIVE = "must be greater than zero"


def validate_nonnegative(value: int | None, path: str) -> list[FieldError]:
    """A count that may be zero, or absent."""
    if value is not None and value < 0:
        return [invalid(path, value, NEGATIVE)]
    return []


def validate_positive(value: int, path: str) -> list[FieldError]:
    """A count of at least one."""
    return [] if value > 0 else [invalid(path, value, NOT_POSITIVE)]


def validate_port_number(value: int, path: str) -> list[FieldError]:
    """A port number."""
    return [invalid(path, value, text) for text in is_port_number(value)]


def validate_port_number_or_name(value: Any, path: str) -> list[FieldError]:
    """A port number or the name of a port."""
    texts = is_port_name(value) if isinstance(value, str) else is_port_number(value)
    return [invalid(path, value, text) for text in texts]


def validate_nonnegative_int_or_percent(value: Any, path: str) -> list[FieldError]:
    """A count or a percentage; `value` is an int or a text."""
    if isinstance(value, str):
        return [invalid(path, JsonText(value), text) for text in is_valid_percent(value)]
    return validate_nonnegative(value, path)


def percent_of(value: Any) -> int | None:
    """The number in a percentage such as "25%"; None for anything else."""
    if not isinstance(value, str) or _percent(value) is None:
        return None
    return int(value[:-1])


def int_or_percent_value(value: Any) -> int:
    """An int as it is, the number of a percentage or of a text that is one; 0 for other texts."""
    if isinstance(value, int):
        return value
    percent = percent_of(value)
    return _number_in(value) if percent is None else percent


def _number_in(text: str) -> int:
    """What Go's Atoi, whose errors are dropped here, makes of a text."""
    return max(-(2**63), min(int(text), 2**63 - 1)) if _number(text) else 0


def validate_not_over_100_percent(value: Any, path: str) -> list[FieldError]:
    """A percentage, if it is one, may not exceed a hundred."""
    percent = percent_of(value)
    if percent is None or percent <= 100:
        return []
    return [invalid(path, value, "must not be greater than 100%")]


def scaled_value(value: Any, total: int, *, round_up: bool) -> int:
    """An int as it is, a percentage as its share of `total`. Raises ValueError for other texts."""
    if isinstance(value, int):
        return value
    percent = percent_of(value)
    if percent is None:
        raise ValueError(f"invalid value for IntOrString: invalid type: string is not a percentage: {value!r}")
    whole, rest = divmod(percent * total, 100)
    return whole + (1 if round_up and rest else 0)

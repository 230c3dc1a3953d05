"""Arithmetic on resource quantities within objects, where they are canonical texts such as `500m` or `1Gi`.

Amounts are whole numbers of nano units, exact for every quantity whose exponent is not absurd. Texts repeat from object
to object, so amounts are kept in a bounded cache.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping
from functools import lru_cache
from typing import Any

from watchkeeper.runtime.quantity import overflowed

NANO = 10**9
MILLI = NANO // 1000

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY_SUFFIX = {power: suffix for suffix, power in _BINARY.items()}

_COARSE = "imkMGTPE"
"""What ends the texts that have no part below a thousandth."""

_MIN_INT64, _MAX_INT64 = -(2**63), 2**63 - 1

_MAX_EXPONENT = 2048
"""Of ten. Greater ones are written by nobody in earnest; their numbers would not fit into memory."""

_quantity = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:([eE])([+-]?[0-9]+)|([numkMGTPE]|[KMGTPE]i)?)").fullmatch


class NotAQuantity(ValueError):
    """A text that cannot be read as a quantity."""


@lru_cache(8192)
def amount(text: str) -> int:
    """The amount in nano units, rounded up in magnitude. Raises NotAQuantity."""
    return _parse(text)[0]


def _parse(text: str) -> tuple[int, str]:
    """The amount, and the kind of suffix: "decimal", "binary" or "exponent"."""
    found = _quantity(text)
    if found is None or not (found[2] or found[3]):
        raise NotAQuantity(f"{text!r} is no quantity")
    sign, whole, fraction, _, exponent, suffix = found.groups()
    digits = int((whole or "") + (fraction or "") or "0") * NANO
    scale = -len(fraction or "")
    form = "decimal"
    if exponent is not None:
        scale += max(-_MAX_EXPONENT, min(int(exponent), _MAX_EXPONENT))
        form = "exponent"
    elif suffix in _BINARY:
        digits <<= _BINARY[suffix]
        form = "binary"
    else:
        scale += _DECIMAL[suffix or ""]
    value = digits * 10**scale if scale >= 0 else -(-digits // 10**-scale)
    return (-value if sign == "-" else value), form


def text_of(value: int, form: str) -> str:
    """The canonical text of an amount in nano units, with suffixes of the given kind."""
    if value == 0:
        return "0"
    sign, left = ("-", -value) if value < 0 else ("", value)
    if form == "binary" and left % NANO == 0 and left >= 1024 * NANO:
        whole, power = left // NANO, 0
        while whole % 1024 == 0 and power < 60:
            whole, power = whole >> 10, power + 10
        return f"{sign}{whole}{_BINARY_SUFFIX.get(power, '')}"
    power = -9
    while left % 1000 == 0 and power < 18:
        left, power = left // 1000, power + 3
    if form == "exponent":
        return f"{sign}{left}e{power}" if power else f"{sign}{left}"
    return f"{sign}{left}{_DECIMAL_SUFFIX[power]}"


def add(first: str, second: str) -> str:
    """The sum, in the form of the first unless that is zero."""
    (a, form), (b, other) = _parse(first), _parse(second)
    return text_of(a + b, other if a == 0 else form)


def compare(first: str, second: str) -> int:
    """Below, at or above zero as the first is less, equal or more."""
    if first == second:
        return 0
    return amount(first) - amount(second)


def whole_value(text: str) -> int:
    """The amount in whole units, rounded up; what the reference makes of it where that is beyond 64 bits."""
    value = -(-amount(text) // NANO)
    return value if _MIN_INT64 <= value <= _MAX_INT64 else overflowed(text, 0)


def milli_value(text: str) -> int:
    """The amount in thousandths, rounded up; what the reference makes of it where that is beyond 64 bits."""
    value = -(-amount(text) // MILLI)
    return value if _MIN_INT64 <= value <= _MAX_INT64 else overflowed(text, 3)


def round_resources(resources: MutableMapping[str, Any] | None) -> None:
    """Round the quantities of a resource list up to thousandths, in place."""
    if not resources:
        return
    for name, text in resources.items():
        if text[-1:] not in _COARSE and (text[-1] in "nu" or "e-" in text):
            resources[name] = _rounded(text)


def _rounded(text: str) -> str:
    value, form = _parse(text)
    if value % MILLI == 0:
        return text
    sign = -1 if value < 0 else 1
    return text_of(sign * -(-abs(value) // MILLI) * MILLI, form)


def add_resources(total: MutableMapping[str, str], more: Mapping[str, str]) -> None:
    """Add a resource list to another, in place."""
    for name, text in more.items():
        present = total.get(name)
        total[name] = text if present is None else add(present, text)


def max_resources(total: MutableMapping[str, str], other: Mapping[str, str]) -> None:
    """Raise each entry of a resource list to that of another, in place."""
    for name, text in other.items():
        present = total.get(name)
        if present is None or compare(text, present) > 0:
            total[name] = text

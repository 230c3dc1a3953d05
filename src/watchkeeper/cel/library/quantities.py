"""Kubernetes quantities such as 100m and 2Gi, with exact arithmetic."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from watchkeeper.cel.decls import Overload, overload
from watchkeeper.cel.library.parsing import can
from watchkeeper.cel.types import struct
from watchkeeper.cel.values import MAX_INT, MIN_INT, EvalError, NoSuchOverload, register_value_type
from watchkeeper.runtime import quantity

_MAX_EXPONENT = 2048
"""Of ten: greater numbers would not fit into memory."""
_QUANTITY = re.compile(
    r"([+-]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?[0-9]+)?", re.ASCII
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


class Quantity:
    """An amount, whatever its unit was written as."""

    __slots__ = ("value",)

    def __init__(self, value: Fraction) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and other.value == self.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return f"quantity({self.value})"


register_value_type(Quantity, struct("kubernetes.Quantity"))


def _odd(text: str) -> Quantity:
    """What is read all the same, such as a sign without a number. Raises EvalError."""
    try:
        return Quantity(Fraction(quantity.Quantity.parse(text).amount))
    except quantity.QuantityError as problem:
        raise EvalError(str(problem)) from None


def parse(text: Any) -> Quantity:
    """Read a quantity. Raises EvalError."""
    if not isinstance(text, str):
        raise NoSuchOverload
    found = _QUANTITY.fullmatch(text)
    if found is None:
        return _odd(text)
    sign, number, suffix = found.groups()
    value = Fraction(number if not number.endswith(".") else number[:-1])
    if suffix in _BINARY:
        value *= 2 ** _BINARY[suffix]
    elif suffix:
        exponent = _DECIMAL.get(suffix)
        if exponent is None:
            exponent = max(-_MAX_EXPONENT, min(int(suffix[1:]), _MAX_EXPONENT))
        value *= Fraction(10) ** exponent
    return Quantity(-value if sign == "-" else value)


def declarations() -> list[tuple[str, Overload]]:
    """All overloads of the library."""
    q = "kubernetes.Quantity"
    return [
        overload("string_to_quantity", f"::quantity(string) -> {q}", parse),
        overload("is_quantity_string", "::isQuantity(string) -> bool", can(parse)),
        overload("quantity_sign", f"::sign({q}) -> int", lambda a: _sign(a.value)),
        overload("quantity_is_greater_than", f"{q}.isGreaterThan({q}) -> bool", lambda a, b: a.value > b.value),
        overload("quantity_is_less_than", f"{q}.isLessThan({q}) -> bool", lambda a, b: a.value < b.value),
        overload("quantity_compare_to", f"{q}.compareTo({q}) -> int", lambda a, b: _sign(a.value - b.value)),
        overload("quantity_get_float", f"{q}.asApproximateFloat() -> double", lambda a: float(a.value)),
        overload("quantity_get_int", f"{q}.asInteger() -> int", _as_integer),
        overload("quantity_is_integer", f"{q}.isInteger() -> bool", lambda a: _fits(a.value)),
        overload("quantity_add", f"{q}.add({q}) -> {q}", lambda a, b: Quantity(a.value + b.value)),
        overload("quantity_add_int", f"{q}.add(int) -> {q}", lambda a, b: Quantity(a.value + b)),
        overload("quantity_sub", f"{q}.sub({q}) -> {q}", lambda a, b: Quantity(a.value - b.value)),
        overload("quantity_sub_int", f"{q}.sub(int) -> {q}", lambda a, b: Quantity(a.value - b)),
    ]


def _sign(value: Fraction) -> int:
    return (value > 0) - (value < 0)


def _fits(value: Fraction) -> bool:
    return value.denominator == 1 and MIN_INT <= value <= MAX_INT


def _as_integer(quantity: Quantity) -> int:
    if not _fits(quantity.value):
        raise EvalError("cannot convert value to integer")
    return int(quantity.value)

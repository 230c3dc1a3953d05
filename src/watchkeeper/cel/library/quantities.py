"""Kubernetes quantities such as 100m and 2Gi, with exact arithmetic."""

from __future__ import annotations

import math
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
_MAX_DIGITS, _PLACES = 18, 9
_QUANTITY = re.compile(
    r"([+-]?)(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?[0-9]+)?", re.ASCII
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


class Quantity:
    """An amount, whatever its unit was written as: a number of powers of ten.

    `small`: the reference holds it as an int64 and an exponent, which is where it tells integers from others.
    """

    __slots__ = ("exponent", "number", "small")

    def __init__(self, number: int, exponent: int, small: bool) -> None:
        self.number = number
        self.exponent = exponent
        self.small = small

    @property
    def value(self) -> Fraction:
        """The amount."""
        return self.number * Fraction(10) ** self.exponent

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and other.value == self.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return f"quantity({self.value})"

    def __add__(self, other: Quantity) -> Quantity:
        if self.small and other.small:
            if not other.number:
                return self
            if not self.number:
                return other
        exponent = min(self.exponent, other.exponent)
        steps = [(each.number, each.exponent - exponent) for each in (self, other)]
        total = sum(number * 10**power for number, power in steps)
        small = self.small and other.small and _is_int64(total) and all(_can_shift(*step) for step in steps)
        return Quantity(total, exponent, small)

    def __neg__(self) -> Quantity:
        return Quantity(-self.number, self.exponent, self.small)

    def __float__(self) -> float:
        power = self.exponent
        scale = float(f"1e{power}") if power < 309 else math.inf
        try:
            base = float(self.number)
        except OverflowError:
            base = math.inf if self.number > 0 else -math.inf
        return base * scale if power else base

    def integer(self) -> int | None:
        """The whole number that it is; None where the reference says that it is none."""
        if not self.small or self.exponent < 0 or not _can_shift(self.number, self.exponent):
            return None
        return int(self.number * 10**self.exponent)


def _is_int64(value: int) -> bool:
    return MIN_INT <= value <= MAX_INT


def _can_shift(number: int, power: int) -> bool:
    """Whether the product with a power of ten fits into 64 bits."""
    return power < 20 and _is_int64(number * 10**power) and (number != MIN_INT or not power)


register_value_type(Quantity, struct("kubernetes.Quantity"))


def parse(text: Any) -> Quantity:
    """Read a quantity. Raises EvalError."""
    if not isinstance(text, str):
        raise NoSuchOverload
    found = _QUANTITY.fullmatch(text)
    if found is None:
        return _odd(text)
    sign, whole, fraction, suffix = found.groups()
    fraction = fraction or ""
    digits = whole.lstrip("0") or "0"
    number = int(digits + fraction) * (-1 if sign == "-" else 1)
    if suffix in _BINARY:
        return _binary(number, digits, fraction, _BINARY[suffix])
    exponent = 0
    if suffix:
        exponent = _DECIMAL.get(suffix, 0) or max(-_MAX_EXPONENT, min(int(suffix[1:]), _MAX_EXPONENT))
    exponent -= len(fraction)
    if len(digits) + len(fraction) <= _MAX_DIGITS and exponent >= -_PLACES:
        return Quantity(number, exponent, True)
    return _rounded(number * Fraction(10) ** exponent)


def _binary(number: int, digits: str, fraction: str, power: int) -> Quantity:
    value = number * Fraction(2) ** power / 10 ** len(fraction)
    if not fraction and 15 - len(digits) - int(power * 3 / 10) - 1 >= 0:
        return Quantity(int(value), 0, True)
    return _rounded(max(Fraction(-MAX_INT), min(value, Fraction(MAX_INT))))


def _rounded(value: Fraction) -> Quantity:
    """An amount in billionths, of which what is less than one counts as one."""
    number = math.ceil(abs(value) * 10**_PLACES)
    return Quantity(-number if value < 0 else number, -_PLACES, False)


def _odd(text: str) -> Quantity:
    """What is read all the same, such as a sign without a number. Raises EvalError."""
    try:
        amount = Fraction(quantity.Quantity.parse(text).amount)
    except quantity.QuantityError as problem:
        raise EvalError(str(problem)) from None
    return _rounded(amount) if amount else ZERO


ZERO = Quantity(0, 0, True)


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
        overload("quantity_get_float", f"{q}.asApproximateFloat() -> double", float),
        overload("quantity_get_int", f"{q}.asInteger() -> int", _as_integer),
        overload("quantity_is_integer", f"{q}.isInteger() -> bool", lambda a: a.integer() is not None),
        overload("quantity_add", f"{q}.add({q}) -> {q}", lambda a, b: a + b),
        overload("quantity_add_int", f"{q}.add(int) -> {q}", lambda a, b: a + Quantity(b, 0, True)),
        overload("quantity_sub", f"{q}.sub({q}) -> {q}", lambda a, b: a + -b),
        overload("quantity_sub_int", f"{q}.sub(int) -> {q}", lambda a, b: a + Quantity(-b, 0, True)),
    ]


def _sign(value: Fraction) -> int:
    return (value > 0) - (value < 0)


def _as_integer(quantity: Quantity) -> int:
    found = quantity.integer()
    if found is None:
        raise EvalError("cannot convert value to integer")
    return found

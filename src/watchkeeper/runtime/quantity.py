"""Quantities: amounts of CPU, memory and other resources, as text such as `100m`, `1.5Gi` or `1e3`.

The rules, the canonical form and the odd corners are those of apimachinery's `resource.Quantity`: amounts have at most
nine decimal places (more are rounded away from zero), binary amounts end at 2^63-1, and a text that already looks
canonical is kept as it is.
"""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, ROUND_UP, Context, Decimal
from functools import total_ordering

_PARTS = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[+-]?[0-9]*)")
_DECIMAL_SUFFIXES = {"": 0, "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIXES = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_BY_EXPONENT = {exponent: suffix for suffix, exponent in _DECIMAL_SUFFIXES.items()}
_BINARY_BY_EXPONENT = {0: "", **{exponent: suffix for suffix, exponent in _BINARY_SUFFIXES.items()}}

_MAX_INT64 = 2**63 - 1
_FAST_DIGITS = 18
"""How many decimal digits surely fit an int64; longer ones are parsed by the reference's other, rounding path."""
_NANO = Decimal("1e-9")
_EXACT = Context(prec=1000, Emax=10**17, Emin=-(10**17))


class QuantityError(ValueError):
    """A text that is no quantity."""


_WRONG_FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_WRONG_SUFFIX = "unable to parse quantity's suffix"


@total_ordering
class Quantity:
    """An exact amount and the form it prints in: `decimal`, `binary` or `exponent`. Compares by amount."""

    __slots__ = ("_text", "amount", "form")

    def __init__(self, amount: Decimal, form: str = "decimal", text: str = "") -> None:
        self.amount = amount
        self.form = form
        self._text = text

    @classmethod
    def parse(cls, text: str) -> Quantity:
        """Read a quantity. Raises QuantityError with the reference's words."""
        match = _PARTS.fullmatch(text)
        if match is None or not text:
            raise QuantityError(_WRONG_FORMAT)
        sign, whole, fraction, suffix = match[1], match[2], match[3] or "", match[4]
        exponent, form = _interpret(suffix)
        number = Decimal(f"{sign}{whole or '0'}{'.' if fraction else ''}{fraction}")
        if form == "binary":
            return _binary(cls, text, number, whole, fraction, exponent)
        shifted = (whole or "0") + fraction
        if len(shifted) > _FAST_DIGITS or exponent - len(fraction) < -9:
            return cls(_round(number.scaleb(exponent, _EXACT)), form)
        keep = (exponent - len(fraction)) % 3 == 0 and not shifted.endswith("000") and shifted[0] != "0"
        return cls(number.scaleb(exponent, _EXACT), form, text if keep else "")

    def __str__(self) -> str:
        if not self._text:
            self._text = self._canonical()
        return self._text

    def __repr__(self) -> str:
        return f"<Quantity {self}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.amount == other.amount

    def __lt__(self, other: Quantity) -> bool:
        return self.amount < other.amount

    def __hash__(self) -> int:
        return hash(self.amount)

    def __bool__(self) -> bool:
        return bool(self.amount)

    def __add__(self, other: Quantity) -> Quantity:
        form = other.form if not self.amount else self.form
        return Quantity(_EXACT.add(self.amount, other.amount), form)

    def __sub__(self, other: Quantity) -> Quantity:
        form = other.form if not self.amount else self.form
        return Quantity(_EXACT.subtract(self.amount, other.amount), form)

    def __neg__(self) -> Quantity:
        return Quantity(-self.amount, self.form)

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self.amount > 0) - (self.amount < 0)

    @property
    def is_integer(self) -> bool:
        """Whether the amount is a whole number."""
        return self.amount == self.amount.to_integral_value()

    def value(self) -> int:
        """The amount, rounded up to a whole number and bounded to an int64."""
        return self._scaled(0)

    def milli_value(self) -> int:
        """The amount in thousandths, rounded up and bounded to an int64."""
        return self._scaled(3)

    def _scaled(self, places: int) -> int:
        if self.amount.adjusted() + places > 20:
            return _MAX_INT64 if self.amount > 0 else -_MAX_INT64 - 1
        scaled = int(self.amount.scaleb(places, _EXACT).to_integral_value(ROUND_CEILING))
        return max(-_MAX_INT64 - 1, min(_MAX_INT64, scaled))

    def __float__(self) -> float:
        return float(self.amount)

    def _canonical(self) -> str:
        amount = self.amount
        if not amount:
            return "0"
        if self.form == "binary" and abs(amount) >= 1024 and self.is_integer:
            number, power = int(amount), 0
            while number % 1024 == 0:
                number //= 1024
                power += 10
            return f"{number}{_BINARY_BY_EXPONENT.get(power, '')}"
        sign, digits, exponent = amount.as_tuple()
        assert isinstance(exponent, int)
        text = "".join(map(str, digits))
        stripped = text.rstrip("0")
        exponent += len(text) - len(stripped)
        padding = exponent % 3
        exponent -= padding
        if self.form == "exponent":
            suffix = f"e{exponent}" if exponent else ""
        else:
            suffix = _DECIMAL_BY_EXPONENT.get(exponent, "")
        return f"{'-' if sign else ''}{stripped}{'0' * padding}{suffix}"


def _interpret(suffix: str) -> tuple[int, str]:
    """The exponent (of 10, or of 2 for binary) that a suffix means, and the form it asks for."""
    if suffix in _DECIMAL_SUFFIXES:
        return _DECIMAL_SUFFIXES[suffix], "decimal"
    if suffix in _BINARY_SUFFIXES:
        return _BINARY_SUFFIXES[suffix], "binary"
    if len(suffix) > 1 and suffix[0] in "eE":
        try:
            exponent = int(suffix[1:])
        except ValueError:
            raise QuantityError(_WRONG_SUFFIX) from None
        if abs(exponent) <= _MAX_INT64:
            # Only the low 32 bits count in the reference.
            return (exponent + 2**31) % 2**32 - 2**31, "exponent"
    raise QuantityError(_WRONG_SUFFIX)


def _binary(cls: type[Quantity], text: str, number: Decimal, whole: str, fraction: str, exponent: int) -> Quantity:
    amount = _EXACT.multiply(number, Decimal(2**exponent))
    digits = whole or "0"
    if not fraction and _is_short(digits, exponent):
        return cls(amount, "binary", text if int(digits) & 7 else "")
    amount = _round(amount)
    if abs(amount) > _MAX_INT64:
        amount = Decimal(_MAX_INT64).copy_sign(amount)
    return cls(amount, "decimal" if 0 < abs(amount) < 1 else "binary")


def _round(amount: Decimal) -> Decimal:
    exponent = amount.as_tuple().exponent
    if isinstance(exponent, int) and exponent < -9:
        return (
            amount.quantize(_NANO, ROUND_UP, _EXACT)
            if amount.adjusted() >= -10
            else _NANO.copy_sign(amount)
            if amount
            else amount
        )
    return amount


def overflowed(text: str, places: int) -> int:
    """What the reference makes of a quantity of which 10^places times are beyond an int64.

    The low 64 bits are left, or 0, if it has read an int64 and an exponent that it multiplies by step by step.
    Raises QuantityError.
    """
    match = _PARTS.fullmatch(text)
    if match is None or not text:
        raise QuantityError(_WRONG_FORMAT)
    whole, fraction = match[2] or "0", match[3] or ""
    exponent, form = _interpret(match[4])
    digits, power = int(f"{match[1]}{whole}{fraction}"), exponent - len(fraction)
    if form == "binary":
        if not fraction and _is_short(whole, exponent):
            return _shifted(digits * 2**exponent, places)
        value = digits * 2**exponent * 10**places // 10 ** len(fraction)
        return _low_bits(min(value, _MAX_INT64 * 10**places) if value > 0 else max(value, -_MAX_INT64 * 10**places))
    if len(whole) + len(fraction) <= _FAST_DIGITS and power >= -9:
        return _shifted(digits, power + places)
    shift = power + places
    return _low_bits(digits * 10**shift if shift >= 0 else -(-digits // 10**-shift))


def _shifted(value: int, power: int) -> int:
    """The low bits of a product with a power of ten that the reference multiplies by at once, 0 with any other."""
    return _low_bits(value * 10**power) if power in (1, 2, 3, 6, 9) else 0


def _low_bits(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def _is_short(whole: str, exponent: int) -> bool:
    """Whether the reference reads so many binary units as an int64."""
    return 15 - len(whole) - int(exponent * 3 / 10) - 1 >= 0


_CANONICAL: dict[str, str] = {}
_CACHE_SIZE = 4096


def canonical_quantity(text: str) -> str:
    """The canonical form of a quantity's text; frequent texts are remembered. Raises QuantityError."""
    found = _CANONICAL.get(text)
    if found is None:
        found = str(Quantity.parse(text.strip()))
        if len(_CANONICAL) >= _CACHE_SIZE:
            _CANONICAL.clear()
        if len(text) <= 64:
            _CANONICAL[text] = found
    return found

"""Durations as Go reads them."""

from __future__ import annotations

import pytest

from watchkeeper.meta.go_durations import parse_duration


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("-0", 0),
        ("+5s", 5 * 10**9),
        ("1h30m", 5400 * 10**9),
        ("1.5s", 1_500_000_000),
        (".5s", 500_000_000),
        ("5.s", 5 * 10**9),
        ("-1m1.000000001s", -61_000_000_001),
        ("12\u00b5s34\u03bcs56us", 102_000),
        ("0.100000000000000000000h", 360 * 10**9),
        ("0.3333333333333333333h", 1200 * 10**9),
        ("9223372036854775807ns", 2**63 - 1),
        ("-9223372036854775808ns", -(2**63)),
        ("9007199254740993ns", 9007199254740993),
    ],
)
def test_what_durations_are(text: str, nanoseconds: int) -> None:
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        ("s", 'time: invalid duration "s"'),
        (".", 'time: invalid duration "."'),
        (".s", 'time: invalid duration ".s"'),
        ("1..s", 'time: missing unit in duration "1..s"'),
        ("+-3s", 'time: invalid duration "+-3s"'),
        ("3", 'time: missing unit in duration "3"'),
        ("00", 'time: missing unit in duration "00"'),
        ("1s2", 'time: missing unit in duration "1s2"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("1S", 'time: unknown unit "S" in duration "1S"'),
        ("1 s", 'time: unknown unit " s" in duration "1 s"'),
        ('1"\\\n', 'time: unknown unit "\\"\\\\\\x0a" in duration "1\\"\\\\\\x0a"'),
        ("1\u00e9", 'time: unknown unit "\\xc3\\xa9" in duration "1\\xc3\\xa9"'),
        ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
        ("9223372036854775809ns", 'time: invalid duration "9223372036854775809ns"'),
        ("9999999999h", 'time: invalid duration "9999999999h"'),
        ("-9223372036854775809ns", 'time: invalid duration "-9223372036854775809ns"'),
    ],
)
def test_what_is_wrong_with_what_is_none(text: str, wrong: str) -> None:
    with pytest.raises(ValueError, match="time: ") as refused:
        parse_duration(text)
    assert str(refused.value) == wrong

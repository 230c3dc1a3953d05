"""Times of the years that Go has."""

from __future__ import annotations

import pytest

from watchkeeper.meta.instants import since_epoch, utc_text

SECONDS = [
    ("1970-01-01T00:00:00", 0),
    ("2026-11-30T06:00:00", 1_796_018_400),
    ("9999-12-31T23:59:59", 253_402_300_799),
    ("0001-01-01T00:00:00", -62_135_596_800),
    ("0000-12-31T23:59:59", -62_135_596_801),
    ("0000-02-29T12:00:00", -62_162_078_400),
    ("0000-01-01T00:00:00", -62_167_219_200),
]


@pytest.mark.parametrize(("text", "seconds"), SECONDS)
def test_there_and_back(text: str, seconds: int) -> None:
    assert since_epoch(f"{text}Z").total_seconds() == seconds
    assert utc_text(seconds) == text


@pytest.mark.parametrize("seconds", [-62_167_219_201, 253_402_300_800, -(2**63), 2**63 - 1])
def test_what_has_no_year_of_four_digits(seconds: int) -> None:
    with pytest.raises(OverflowError):
        utc_text(seconds)


@pytest.mark.parametrize("text", ["", "0000-13-01T00:00:00Z", "2026-11-30T06:00:00", "0000-01-01T00:00:00", "now"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        since_epoch(text)


def test_offsets_and_fractions() -> None:
    assert since_epoch("1970-01-01T01:00:00.5+01:00").total_seconds() == 0.5
    assert since_epoch("0000-01-01T00:00:00.25Z").total_seconds() == -62_167_219_199.75

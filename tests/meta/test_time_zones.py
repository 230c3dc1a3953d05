"""Time zones by their names."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from watchkeeper.meta.time_zones import UnknownTimeZone, find_time_zone


@pytest.mark.parametrize("name", ["", "UTC", "Local"])
def test_servers_are_in_utc(name: str) -> None:
    assert find_time_zone(name) is UTC


def test_a_zone_of_the_database_is_found() -> None:
    assert datetime(2026, 7, 1, tzinfo=find_time_zone("Europe/Berlin")).utcoffset() == timedelta(hours=2)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Moon/Base", "unknown time zone Moon/Base"),
        ("utc\0", "unknown time zone utc\0"),
        ("/etc/x", "time: invalid location name"),
        ("\\x", "time: invalid location name"),
        ("../x", "time: invalid location name"),
    ],
)
def test_what_is_no_zone_is_told_in_the_words_of_go(name: str, why: str) -> None:
    with pytest.raises(UnknownTimeZone) as raised:
        find_time_zone(name)
    assert str(raised.value) == why

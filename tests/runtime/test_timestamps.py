import pytest

from watchkeeper.runtime.timestamps import TimeError, canonical_micro_time, canonical_time


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        ("2024-02-29T10:11:12.345+02:00", "2024-02-29T08:11:12Z"),
        ("2024-12-31T23:30:00-01:00", "2025-01-01T00:30:00Z"),
        ("2024-03-01T00:30:00+01:00", "2024-02-29T23:30:00Z"),
        ("2024-01-01T1:02:03Z", "2024-01-01T01:02:03Z"),
        ("0001-01-01T00:00:00Z", None),
        ("0001-01-01T01:00:00+01:00", None),
    ],
)
def test_times_are_shown_in_utc_to_the_second(text: str, canonical: str | None) -> None:
    assert canonical_time(text) == canonical


def test_some_times_are_shown_to_the_microsecond() -> None:
    assert canonical_micro_time("2024-01-01T00:00:00.123456+00:30") == "2023-12-31T23:30:00.123456Z"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("abc", 'parsing time "abc" as "2006-01-02T15:04:05Z07:00": cannot parse "abc" as "2006"'),
        (
            '\u00e9\t"',
            'parsing time "\\xc3\\xa9\\x09\\"" as "2006-01-02T15:04:05Z07:00":'
            ' cannot parse "\\xc3\\xa9\\x09\\"" as "2006"',
        ),
        ("2024-01-01", 'parsing time "2024-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"'),
        ("2024-13-01T00:00:00Z", 'parsing time "2024-13-01T00:00:00Z": month out of range'),
        ("2023-02-29T00:00:00Z", 'parsing time "2023-02-29T00:00:00Z": day out of range'),
        ("2024-01-01T24:00:00Z", 'parsing time "2024-01-01T24:00:00Z": hour out of range'),
        ("2024-01-01T00:00:00ZZ", 'parsing time "2024-01-01T00:00:00ZZ": extra text: "Z"'),
    ],
)
def test_what_is_no_time_is_refused_in_the_words_of_the_reference(text: str, message: str) -> None:
    with pytest.raises(TimeError) as raised:
        canonical_time(text)
    assert str(raised.value) == message


def test_microseconds_must_have_six_digits() -> None:
    with pytest.raises(TimeError, match=r'cannot parse ".123Z" as ".000000"'):
        canonical_micro_time("2024-01-01T00:00:00.123Z")

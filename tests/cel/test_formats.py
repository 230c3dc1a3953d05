"""String formats of schemas."""

import pytest

from watchkeeper.cel.formats import format_check


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        (
            "date-time",
            ["2024-02-29T10:00:00Z", "2024-02-29t10:00:00.5+01:00"],
            ["2024-02-30T10:00:00Z", "x", "2024-01-01"],
        ),
        ("date", ["2024-02-29"], ["2023-02-29", "2024-2-9"]),
        ("duration", ["1h30m", "22 ns", "3 days"], ["x", ""]),
        ("ipv4", ["10.0.0.1", "010.0.0.1"], ["10.0.0", "::1"]),
        ("ipv6", ["::1", "fe80::1"], ["10.0.0.1", "fe80::1%eth0"]),
        ("cidr", ["10.0.0.0/8", "::/0", "::1/0128"], ["10.0.0.0", "10.0.0.0/33"]),
        ("mac", ["01:23:45:67:89:ab", "0123.4567.89ab", "0123456789ab"], ["01:23:45:67:89", "01:23-45:67:89:ab"]),
        ("uuid", ["123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000"], ["no such thing"]),
        ("uuid4", ["f47ac10b-58cc-4372-a567-0e02b2c3d479"], ["123e4567-e89b-12d3-a456-426614174000"]),
        ("uri", ["https://a.b/c", "/path", "http://%C3%A9"], ["a.b", "", "http://%zz"]),
        ("email", ["a@b.c", "A <a@b.c>"], ["a", "@b"]),
        ("hostname", ["a.example.com", "localhost", "AA==", "a+b", "$x.com"], ["-a.com", "a..b", "a.$x", "a_b"]),
        ("byte", ["aGk="], ["aGk", "*"]),
        ("hexcolor", ["#fff", "AABBCC"], ["#ff"]),
        ("rgbcolor", ["rgb(0, 255,3)"], ["rgb(0,256,0)"]),
        ("ssn", ["123-45-6789"], ["123456789"]),
        ("creditcard", ["4111 1111 1111 1111"], ["4111 1111 1111 1112"]),
        ("isbn10", ["0321751043"], ["0321751044"]),
        ("isbn13", ["978-0321751041"], ["978-0321751042"]),
        ("bsonobjectid", ["507f1f77bcf86cd799439011"], ["507f"]),
        ("k8s-short-name", ["a-b"], ["a.b", "A"]),
        ("k8s-long-name", ["a.b-c"], ["a..b"]),
        ("password", ["", "x"], []),
    ],
)
def test_a_format_tells_good_from_bad(name: str, good: list[str], bad: list[str]) -> None:
    check = format_check(name)
    assert check is not None
    assert all(check(text) for text in good)
    assert not any(check(text) for text in bad)


def test_a_format_that_nobody_knows_has_no_check() -> None:
    assert format_check("shiny") is None

"""URLs as Go reads them, and what it says of those that are none."""

from __future__ import annotations

import pytest

from watchkeeper.meta.urls import URL, URLError, parse_request_uri, parse_url


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HTTPS://u:p@h:443/p%20q?x=1#f", URL("", "https", "h:443", "/p%20q", "x=1", "u:p", "f")),
        ("https://@h", URL("", "https", "h", "", "", "")),
        ("//h/p", URL("", "", "h", "/p", "")),
        ("///h", URL("", "", "", "///h", "")),
        ("a/b:c", URL("", "", "", "a/b:c", "")),
        ("", URL("", "", "", "", "")),
        ("mailto:x%zz", URL("", "mailto", "", "", "")),
        ("http://[::1]:80", URL("", "http", "[::1]:80", "", "")),
        ("http://[fe80::1%25e%20f]", URL("", "http", "[fe80::1%e f]", "", "")),
        ("http://%C3%A9", URL("", "http", "é", "", "")),
        ("http://a%25b", URL("", "http", "a%b", "", "")),
        ("mongodb://a:1,b:2", URL("", "mongodb", "a:1,b:2", "", "")),
        ("1a/b", URL("", "", "", "1a/b", "")),
    ],
)
def test_the_parts_of_a_url(text: str, expected: URL) -> None:
    url = parse_url(text)
    assert url.text == text
    assert [getattr(url, part) for part in ("scheme", "host", "path", "query", "user", "fragment")] == [
        getattr(expected, part) for part in ("scheme", "host", "path", "query", "user", "fragment")
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("https://a\x7f", "net/url: invalid control character in URL"),
        (":a", "missing protocol scheme"),
        ("1a:b", "first path segment in URL cannot contain colon"),
        ("https://a:x", 'invalid port ":x" after host'),
        ("https://a:1:2", 'invalid port ":1:2" after host'),
        ("https://[::1]x", 'invalid port "x" after host'),
        ("https://[::1", "missing ']' in host"),
        ("https://a[b]", "invalid IP-literal"),
        ("https://[1.2.3.4]", "invalid IP-literal"),
        ("https://[x]", 'invalid host: ParseAddr("x"): unable to parse IP'),
        ("https://[::1%e]", 'invalid URL escape "%e"'),
        ("https://a^b", 'invalid character "^" in host name'),
        ("https://a%41", 'invalid URL escape "%41"'),
        ("https://%zz", 'invalid URL escape "%zz"'),
        ("https://a b@c", "net/url: invalid userinfo"),
        ("https://u%zz@a", 'invalid URL escape "%zz"'),
        ("https://a/%4", 'invalid URL escape "%4"'),
        ("https://a#%zz", 'invalid URL escape "%zz"'),
    ],
)
def test_what_is_no_url(text: str, why: str) -> None:
    with pytest.raises(URLError) as raised:
        parse_url(text)
    assert str(raised.value).endswith(f": {why}")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty url"),
        ("a", "invalid URI for request"),
        ("1a:b", "invalid URI for request"),
        ("http://a#x", 'invalid character "#" in host name'),
    ],
)
def test_what_cannot_be_asked_for(text: str, why: str) -> None:
    with pytest.raises(URLError) as raised:
        parse_request_uri(text)
    assert str(raised.value).endswith(f": {why}")


def test_what_can_be_asked_for_is_absolute_or_a_path() -> None:
    assert parse_request_uri("/a#b").path == "/a#b"
    assert parse_request_uri("//h/p").host == ""
    assert parse_request_uri("x:").scheme == "x"

"""Headers of requests that are passed on, and of their answers, one by one."""

from __future__ import annotations

import pytest

from watchkeeper.request.user import User
from watchkeeper.server.aggregation.forwarding import escaped_key, incoming, user_headers
from watchkeeper.server.passing.headers import escaped_path


@pytest.mark.parametrize(
    ("location", "told"),
    [
        (b"/apis/far.io/v1/x?a=b", b"https://far:443/apis/far.io/v1/x?a=b"),
        (b"https://far:443/x", b"https://far:443/x"),
        (b"http://far:443/x", b"https://far:443/x"),
        (b"https://elsewhere/x", b"https://elsewhere/x"),
        (b"x", b"x"),
    ],
)
def test_places_on_the_other_server_are_told_in_full(location: bytes, told: bytes) -> None:
    assert incoming([(b"location", location)], "far:443", has_length=True) == [(b"location", told)]


def test_what_concerns_one_hop_or_other_sites_is_left_out_of_answers() -> None:
    given = [
        (b"connection", b"x-drop, close"),
        (b"x-drop", b"1"),
        (b"transfer-encoding", b"chunked"),
        (b"access-control-allow-origin", b"*"),
        (b"date", b"now"),
        (b"content-length", b"1"),
        (b"etag", b"e"),
        (b"warning", b"a"),
        (b"warning", b"b"),
    ]
    kept = [(b"etag", b"e"), (b"warning", b"a"), (b"warning", b"b")]
    assert incoming(given, "far:443", has_length=False) == kept
    assert incoming(given, "far:443", has_length=True) == [(b"content-length", b"1"), *kept]


def test_a_user_is_told_with_all_there_is() -> None:
    user = User("jürgen", uid="7", groups=("a", "b"), extra={"scopes/x%": ("one", "two")})
    assert user_headers(user) == [
        (b"x-remote-user", "jürgen".encode()),
        (b"x-remote-uid", b"7"),
        (b"x-remote-group", b"a"),
        (b"x-remote-group", b"b"),
        (b"x-remote-extra-scopes%2Fx%25", b"one"),
        (b"x-remote-extra-scopes%2Fx%25", b"two"),
    ]


def test_what_may_not_stand_in_names_and_paths_is_escaped() -> None:
    assert escaped_key("Az09!#$&'*+-.^_`|~") == b"Az09!#$&'*+-.^_`|~"
    assert escaped_key("a b/ü") == b"a%20b%2F%C3%BC"
    assert escaped_path("/a b/(c)*'!?;,:@&=+$~-_.%") == "/a%20b/%28c%29%2A%27%21%3F;,:@&=+$~-_.%25"

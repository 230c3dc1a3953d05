"""How tokens that the server did not make are refused."""

from __future__ import annotations

import base64

import pytest

from watchkeeper.storage import continue_token
from watchkeeper.storage.errors import InvalidRequest


def token(text: str | bytes) -> str:
    data = text.encode() if isinstance(text, str) else text
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("%%%", "illegal base64 data at input byte 0"),
        ("x", "illegal base64 data at input byte 0"),
        ("aé", "illegal base64 data at input byte 1"),
        ("abcde", "illegal base64 data at input byte 4"),
        ("abc", "invalid character 'i' looking for beginning of value"),
        (token("{"), "unexpected end of JSON input"),
        (token("[]"), "json: cannot unmarshal array into Go value of type storage.continueToken"),
        (token('{"v":1}'), "json: cannot unmarshal number into Go struct field continueToken.v of type string"),
        (token('{"rv":"1"}'), "json: cannot unmarshal string into Go struct field continueToken.rv of type int64"),
        (token('{"rv":true}'), "json: cannot unmarshal bool into Go struct field continueToken.rv of type int64"),
        (token("null"), "server does not recognize this encoded version "),
        (token(b'{"v":"\xff"}'), "server does not recognize this encoded version \ufffd"),
    ],
)
def test_a_token_that_cannot_be_read_says_why(bad: str, why: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        continue_token.decode(bad, "/registry/pods/")
    assert str(refused.value) == f"invalid continue token: continue key is not valid: {why}"


def test_a_token_leads_back_to_its_key() -> None:
    made = continue_token.encode("/registry/pods/web/a\0", "/registry/pods/", 7)
    assert continue_token.decode(made, "/registry/pods/") == ("/registry/pods/web/a\0", 7)

"""Who sent a request, by what it shows."""

import asyncio
from dataclasses import dataclass

import pytest

from watchkeeper.authn.configuration import Anonymous
from watchkeeper.authn.interface import InvalidToken
from watchkeeper.authn.request import RequestAuthenticator, bearer_token
from watchkeeper.authn.static_tokens import StaticTokens
from watchkeeper.authn.union import REMEMBER_SECONDS, TokenUnion
from watchkeeper.request.request import Request
from watchkeeper.request.user import ANONYMOUS, AUTHENTICATED, User
from watchkeeper.server.http.peer import TlsPeer
from watchkeeper.testing.clock import ManualClock


@dataclass
class Shown:
    certificate: TlsPeer | None = None
    long_running: bool = False

    def peer_certificate(self):
        return self.certificate


def request(authorization="", certificate=None):
    headers = [(b"authorization", authorization.encode())] if authorization else []
    scope = {"method": "GET", "path": "/", "query_string": b"", "headers": headers, "exchange": Shown(certificate)}
    return Request(scope, None, None)


class Issuer:
    """Knows tokens that have to be looked into."""

    def __init__(self):
        self.asked = 0

    async def authenticate_token(self, token):
        self.asked += 1
        if token == "expired":
            raise InvalidToken("it has expired")
        return User("robot") if token == "good" else None


def authenticator(others=(), **options):
    return RequestAuthenticator(TokenUnion(StaticTokens({"T": User("ann", groups=("devs",))}), others, **options))


async def settle(found):
    return await found if asyncio.iscoroutine(found) else found


def test_a_static_token_is_recognized_at_once_and_its_user_is_authenticated():
    who = authenticator()
    for _ in range(2):
        assert who.authenticate(request("Bearer T")) == User("ann", groups=("devs", AUTHENTICATED))


def test_no_credentials_are_anonymous_unless_that_is_not_allowed():
    assert authenticator().authenticate(request()) is ANONYMOUS
    strict = RequestAuthenticator(TokenUnion(StaticTokens({})), anonymous=Anonymous(enabled=False))
    assert strict.authenticate(request()) is None


def test_a_wrong_token_is_nobody_and_another_scheme_is_anonymous():
    who = authenticator()
    assert who.authenticate(request("Bearer wrong")) is None
    assert who.authenticate(request("Basic d3Jvbmc6d3Jvbmc=")) is ANONYMOUS


def test_a_certificate_names_user_groups_and_uid_and_goes_before_a_token():
    certificate = TlsPeer("eve", ("admins", "devs"), "42", "ab" * 32)
    user = authenticator().authenticate(request("Bearer T", certificate))
    assert (user.name, user.uid, user.groups) == ("eve", "42", ("admins", "devs", AUTHENTICATED))
    assert user.extra["authentication.kubernetes.io/credential-id"] == ("X509SHA256=" + "ab" * 32,)


def test_a_certificate_without_a_name_says_nothing():
    assert authenticator().authenticate(request("Bearer T", TlsPeer(""))).name == "ann"


def test_other_tokens_are_asked_for_and_remembered_for_a_while():
    clock, issuer = ManualClock(), Issuer()
    who = authenticator([issuer], clock=clock)

    async def run():
        found = [await settle(who.authenticate(request("Bearer good"))) for _ in range(3)]
        await clock.advance(REMEMBER_SECONDS + 1)
        return [*found, await settle(who.authenticate(request("Bearer good")))]

    assert {user.name for user in asyncio.run(run())} == {"robot"}
    assert issuer.asked == 2


@pytest.mark.parametrize("token", ["expired", "unknown"])
def test_what_no_issuer_vouches_for_is_nobody(token):
    async def run():
        return await settle(authenticator([Issuer()]).authenticate(request(f"Bearer {token}")))

    assert asyncio.run(run()) is None


@pytest.mark.parametrize(
    ("header", "token"),
    [("Bearer a", "a"), ("bearer a", "a"), (" BEARER a b", "a"), ("Bearer", ""), ("Bearer  a", ""), ("Token a", "")],
)
def test_the_scheme_is_bearer_in_any_case_and_one_space_follows(header, token):
    assert bearer_token(header) == token


@pytest.mark.parametrize(
    ("header", "warned"),
    [("Bearer  T", True), ("bearer   T x", True), ("Bearer ", False), ("Basic  T", False), ("Bearer", False)],
)
def test_a_token_behind_too_many_spaces_is_ignored_with_a_warning(header, warned):
    asked = request(header)
    assert authenticator().authenticate(asked) == ANONYMOUS
    told = ["the provided Authorization header contains extra space before the bearer token, and is ignored"]
    assert asked.warnings == (told if warned else [])


def test_a_reviewed_token_may_stand_among_blanks_as_in_a_header() -> None:
    tokens = TokenUnion(StaticTokens({"T": User("ann")}), audiences=("me",))

    def reviewed(token: str, anonymous: Anonymous = Anonymous()) -> tuple[str, tuple[str, ...]] | None:
        found = asyncio.run(RequestAuthenticator(tokens, anonymous=anonymous).review_token(token, ()))
        return None if found is None else (found.user.name, found.audiences)

    assert {reviewed(token) for token in ("T", "T ", "T\n", "T\u00a0", "T x")} == {("ann", ("me",))}
    assert {reviewed(token) for token in ("\tT", "T\tx")} == {None}
    assert {reviewed(token) for token in (" T", "  ", "\r\n")} == {("system:anonymous", ("me",))}
    assert reviewed(" T", Anonymous(enabled=False)) is None

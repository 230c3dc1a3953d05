"""Users whom a front proxy names."""

import asyncio
from dataclasses import dataclass

import pytest

from watchkeeper.authn.certificates import CREDENTIAL_ID
from watchkeeper.authn.configuration import Anonymous
from watchkeeper.authn.front_proxy import BehindProxy, proxy_headers
from watchkeeper.authn.request import RequestAuthenticator
from watchkeeper.authn.static_tokens import StaticTokens
from watchkeeper.authn.union import TokenUnion
from watchkeeper.request.request import Request
from watchkeeper.request.user import ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, User
from watchkeeper.server.http.peer import TlsPeer

PROXY = TlsPeer("front", is_client=False, is_proxy=True)
CLIENT = TlsPeer("ann", organizations=("devs",), fingerprint="ff")
STRANGER = TlsPeer("eve", is_client=False)
BOTH = TlsPeer("front", is_proxy=True, fingerprint="ff")


@dataclass
class Shown:
    certificate: TlsPeer | None

    def peer_certificate(self):
        return self.certificate


def request(certificate, **headers):
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"method": "GET", "path": "/", "query_string": b"", "headers": pairs, "exchange": Shown(certificate)}
    return Request(scope, None, None)


class Issuer:
    async def authenticate_token(self, token):
        return User("robot") if token == "slow" else None


def authenticator(allowed=(), clients=True, anonymous=True):
    tokens = TokenUnion(StaticTokens({"T": User("tom")}), [Issuer()])
    inner = RequestAuthenticator(tokens, anonymous=Anonymous(enabled=anonymous))
    headers = proxy_headers(
        ["X-Remote-User", "X-User"], ["X-Remote-Uid"], ["X-Remote-Group", "X-Group"], ["X-Remote-Extra-"]
    )
    return BehindProxy(inner, headers, allowed, clients=clients)


def who(certificate, *, of=None, **headers):
    found = (of or authenticator()).authenticate(request(certificate, **headers))
    return found.name if isinstance(found, User) else found


def test_headers_tell_all_of_a_user():
    asked = request(PROXY, x_remote_user="zoë", x_remote_uid="7", x_group="b", x_remote_group="a")
    asked.scope["headers"] += [(b"x-remote-group", b""), (b"x-remote-group", b"c"), (b"x-remote-group", b"a")]
    asked.scope["headers"] += [(b"x-remote-extra-acme.com%2fscope", b"one"), (b"x-remote-extra-acme.com%2fscope", b"")]
    asked.scope["headers"] += [(b"x-remote-extra-a%zz", b"raw"), (b"accept", b"x")]
    assert authenticator().authenticate(asked) == User(
        "zoë",
        uid="7",
        groups=("a", "c", "a", "b", AUTHENTICATED),
        extra={"acme.com/scope": ("one", ""), "a%zz": ("raw",)},
    )
    assert asked.scope["headers"] == [(b"accept", b"x")]
    assert asked.header(b"x-remote-user") == ""


def test_the_first_header_with_a_name_counts():
    assert who(PROXY, x_user="second") == "second"
    assert who(PROXY, x_user="second", x_remote_user="") == "second"
    assert who(PROXY, x_user="second", x_remote_user="first") == "first"


def test_what_others_than_proxies_say_is_not_believed_and_forgotten():
    asked = request(CLIENT, x_remote_user="bob", x_remote_group="system:masters")
    assert authenticator().authenticate(asked) == User(
        "ann", groups=("devs", AUTHENTICATED), extra={CREDENTIAL_ID: ("X509SHA256=ff",)}
    )
    assert asked.scope["headers"] == []
    assert who(None, x_remote_user="bob") == "system:anonymous"
    assert who(None, x_remote_user="bob", authorization="Bearer T") == "tom"


def test_a_proxy_counts_before_its_own_name_and_tokens():
    assert who(BOTH, x_remote_user="bob", authorization="Bearer T") == "bob"
    assert who(BOTH, authorization="Bearer T") == "front"


def test_a_proxy_that_names_nobody_is_no_client():
    assert who(PROXY) is None
    assert who(PROXY, authorization="Bearer T") == "tom"
    assert who(PROXY, of=authenticator(clients=False)) == "system:anonymous"


def test_only_proxies_of_allowed_names_are_believed():
    some = authenticator(["front", "other"])
    assert who(PROXY, of=some, x_remote_user="bob") == "bob"
    assert who(TlsPeer("back", is_client=False, is_proxy=True), of=some, x_remote_user="bob") is None
    assert who(TlsPeer("back", is_proxy=True), of=some, x_remote_user="bob") == "back"


@pytest.mark.parametrize("certificate", [STRANGER, TlsPeer(""), TlsPeer("", is_client=False)])
def test_whoever_shows_a_certificate_for_nothing_is_not_anonymous(certificate):
    assert who(certificate, x_remote_user="bob") is None
    assert who(certificate, authorization="Bearer T") == "tom"


def test_tokens_that_take_a_moment_are_waited_for():
    asked = request(STRANGER, authorization="Bearer slow", x_remote_user="bob")

    async def run():
        return await authenticator().authenticate(asked)

    found = asyncio.run(run())
    assert (found.name, asked.header(b"x-remote-user")) == ("robot", "")


def test_the_anonymous_user_stays_as_the_proxy_names_it():
    found = authenticator().authenticate(request(PROXY, x_remote_user="system:anonymous", x_group=UNAUTHENTICATED))
    assert found == ANONYMOUS
    assert authenticator().authenticate(request(PROXY, x_remote_user="system:anonymous")).groups == ()

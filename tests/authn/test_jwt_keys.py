"""The keys of issuers, and tokens that are signed with them."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from jwt.utils import base64url_encode

from watchkeeper.aio.http_client import HttpAnswer, JsonPoster
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.authn.interface import InvalidToken
from watchkeeper.authn.jwt.authenticator import JwtAuthenticator
from watchkeeper.authn.jwt.freshness import fresh_seconds
from watchkeeper.authn.jwt.issuer import read_issuers
from watchkeeper.authn.jwt.keys import KeySet, KeysUnavailable
from watchkeeper.request.user import User
from watchkeeper.testing.clock import ManualClock

URL = "https://issuer.test"
KEY = rsa.generate_private_key(65537, 2048)
JWK = {**RSAAlgorithm.to_jwk(KEY.public_key(), as_dict=True), "kid": "one"}
PRIVATE = {**RSAAlgorithm.to_jwk(KEY, as_dict=True), "kid": "one"}
OTHER = ECAlgorithm.to_jwk(ec.generate_private_key(ec.SECP256R1()).public_key(), as_dict=True)
[ISSUER], _ = read_issuers(
    [{"issuer": {"url": URL, "audiences": ["me"]}, "claimMappings": {"username": {"claim": "sub", "prefix": ""}}}], ()
)
Answer = Callable[[str], Awaitable[Any]]


class Web:
    """Answers what issuers are asked: with JSON, with a text, or with a place to go on to."""

    def __init__(self, keys: Any) -> None:
        self.pages: dict[str, Any] = {
            f"{URL}/.well-known/openid-configuration": {"issuer": URL, "jwks_uri": f"{URL}/keys"},
            f"{URL}/keys": keys,
        }
        self.asked: list[str] = []
        self.headers: dict[str, str] = {}
        self.gate = asyncio.Event()
        self.gate.set()

    async def get(self, poster: JsonPoster, **_: Any) -> HttpAnswer:
        self.asked.append(poster.url)
        await self.gate.wait()
        page = self.pages.get(poster.url)
        if isinstance(page, tuple):
            return HttpAnswer(302, {"location": page[0]}, b"")
        headers = self.headers if poster.url.endswith("/keys") else {}
        return HttpAnswer(200 if page is not None else 404, headers, json.dumps(page).encode())


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Web:
    made = Web({"keys": [JWK]})

    async def get(poster: JsonPoster, **options: Any) -> HttpAnswer:
        return await made.get(poster, **options)

    monkeypatch.setattr(JsonPoster, "get", get)
    return made


def token(key: Any = KEY, headers: Any = None, **claims: Any) -> str:
    given = {"iss": URL, "aud": "me", "sub": "ann", "exp": int(time.time()) + 600, **claims}
    header = {"alg": "RS256", **(headers or {"kid": "one"})}
    signed = b".".join(base64url_encode(json.dumps(part).encode()) for part in (header, given))
    signature = RSAAlgorithm(RSAAlgorithm.SHA256).sign(signed, key)
    return f"{signed.decode()}.{base64url_encode(signature).decode()}"


async def recognized(given: str) -> User | str:
    """Whose token it is, or why it is nobody's."""
    authenticator = JwtAuthenticator()
    await authenticator.replace([ISSUER])
    try:
        pending = authenticator.authenticate_token(given)
        assert pending is not None
        user = await pending
        assert user is not None
        return user
    except InvalidToken as error:
        return str(error)
    finally:
        await authenticator.close()


UNREADABLE = "oidc: verify token: oidc: failed to unmarshal claims: json: "
WRONG = f"{UNREADABLE}cannot unmarshal"
UNSIGNED = "oidc: verify token: failed to verify signature: failed to verify id token signature"


BROKEN = (
    "oidc: verify token: failed to verify signature: fetching keys oidc: failed to decode keys: expected Content-Type ="
    ' application/json, got "": '
)


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        ([OTHER, {"kty": "oct", "k": "AA"}, {"kty": "OKP", "crv": "Ed25519", "x": "AA"}, JWK], "ann"),
        ([{**JWK, "alg": "RSA-OAEP", "use": "enc", "x5t": "", "x5u": None}], "ann"),
        ([{"kty": "RSA", "n": "", "e": ""}, JWK], "ann"),
        ([PRIVATE], UNSIGNED),
        ([{**JWK, "kid": "two"}], UNSIGNED),
        (None, UNSIGNED),
        (5, "json: cannot unmarshal number into Go struct field JSONWebKeySet.keys of type []jose.JSONWebKey"),
        ([JWK, None], "go-jose/go-jose: unknown json web key type ''"),
        ([JWK, {"kty": "X"}], "go-jose/go-jose: unknown json web key type 'X'"),
        ([JWK, "x"], "json: cannot unmarshal string into Go value of type jose.rawJSONWebKey"),
        ([JWK, {"KTY": "RSA"}], "go-jose/go-jose: unknown json web key type ''"),
        ([JWK, {**JWK, "n": 5}], "json: cannot unmarshal number into Go value of type string"),
        ([JWK, {**JWK, "e": "A!"}], "illegal base64 data at input byte 1"),
        ([JWK, {**JWK, "kid": 7}], "json: cannot unmarshal number into Go value of type string"),
        ([JWK, {**JWK, "n": None}], "go-jose/go-jose: invalid RSA key, missing n/e values"),
        ([JWK, {**JWK, "d": "AA"}], "go-jose/go-jose: invalid RSA private key, missing P value(s)"),
        ([JWK, {**JWK, "x5c": ["AA=="]}],
         "go-jose/go-jose: failed to unmarshal x5c field: x509: malformed certificate"),
        ([JWK, {**JWK, "x5c": ["!"]}],
         "go-jose/go-jose: failed to unmarshal x5c field: illegal base64 data at input byte 0"),
        ([JWK, {**JWK, "x5t": "AA"}], "go-jose/go-jose: invalid JWK, x5t header is of incorrect size"),
        ([JWK, {**JWK, "x5u": "https://x"}], "json: cannot unmarshal string into Go value of type url.URL"),
        ([JWK, {"kty": "oct"}], "go-jose/go-jose: invalid OCT (symmetric) key, missing k value"),
        ([JWK, {"kty": "OKP", "crv": "X25519", "x": "AA"}], "go-jose/go-jose: unknown curve X25519'"),
        ([JWK, {**OTHER, "crv": "P-1"}], "go-jose/go-jose: unsupported elliptic curve 'P-1'"),
        ([JWK, {**OTHER, "crv": "P-384"}], "go-jose/go-jose: invalid EC public key, wrong length for x"),
        ([JWK, {**OTHER, "y": OTHER["x"]}], "go-jose/go-jose: invalid EC key, X/Y are not on declared curve"),
        ([JWK, {"kty": "EC", "crv": "P-256"}], "go-jose/go-jose: invalid EC key, missing x/y values"),
    ],
)  # fmt: skip
def test_a_key_that_is_none_spoils_the_whole_set(web: Web, keys: Any, name: str) -> None:
    web.pages[f"{URL}/keys"] = {"keys": keys}
    found = asyncio.run(recognized(token()))
    told = found.name if isinstance(found, User) else found
    assert told == name or told.startswith(f"{BROKEN}{name}")


def test_names_in_documents_and_claims_are_found_in_any_case(web: Web) -> None:
    web.pages[f"{URL}/.well-known/openid-configuration"] = {"ISSUER": URL, "JWKS_URI": f"{URL}/keys"}
    web.pages[f"{URL}/keys"] = {"Keys": [JWK]}
    now = int(time.time())
    for given, name in (
        (token(iss="https://else", ISS=URL), "ann"),
        (token(aud="you", AUD="me"), "ann"),
        (token(exp=1, Exp=now + 60), "ann"),
        (token(ſub=5), f"{WRONG} number into Go struct field idToken.sub of type string"),
        (token(NBF=now + 900), "before the nbf (not before) time"),
        (token(sub=None, SUB="ann"), ""),
    ):
        found = asyncio.run(recognized(given))
        assert found.name == name if isinstance(found, User) else name in found, given


def test_a_name_of_another_case_is_no_claim_of_a_user(web: Web) -> None:
    given = token(Sub="bob")
    found = asyncio.run(recognized(given))
    assert isinstance(found, User)
    assert found.name == "ann"


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (lambda: token(headers={"kid": "one", "typ": "at+jwt"}), "ann"),
        (lambda: token(headers={"typ": "JWT"}), "ann"),
        (lambda: token(headers={"kid": "one", "crit": ["x"], "x": 1}), UNSIGNED),
        (lambda: token(headers={"kid": "one", "b64": False}), UNSIGNED),
        (lambda: token(exp=str(int(time.time()) + 9)), "ann"),
        (lambda: token(nbf=time.time() + 30.5), "ann"),
        (lambda: token(nbf=None), "ann"),
        (lambda: token(sub="\ud800!"), "\ufffd!"),
        (lambda: token(headers={"kid": "one", "crit": ["b64"], "b64": True}), "ann"),
        (lambda: token(aud=[None, "me"]), "ann"),
        (lambda: token(aud=None), 'oidc: verify token: oidc: expected audience "me" got [""]'),
        (lambda: token(aud=["me", 5]), f"{WRONG} number into Go struct field idToken.aud of type string"),
        (lambda: token(aud={}), f"{WRONG} object into Go struct field idToken.aud of type []string"),
        (lambda: token(nonce=5), f"{WRONG} number into Go struct field idToken.nonce of type string"),
        (lambda: token(exp=True), f"{WRONG} bool into Go struct field idToken.exp of type json.Number"),
        (lambda: token(iat="x"), f'{UNREADABLE}invalid number literal, trying to unmarshal "\\"x\\"" into Number'),
        (lambda: token(_claim_names=5), f"{WRONG} number into Go struct field idToken._claim_names of type"
         " map[string]string"),
        (lambda: token(_claim_names={"a": "s"}), "oidc: verify token: oidc: source does not exist"),
        (lambda: token(_claim_names={"a": ""}), "oidc: verify token: oidc: failed to obtain source from claim name"),
        (lambda: token(exp=1.0),
         "oidc: verify token: oidc: token is expired (Token Expiry: 1970-01-01 00:00:01 +0000 UTC)"),
        (lambda: token(exp=-1e300),
         "oidc: verify token: oidc: token is expired (Token Expiry: 0001-01-01 00:00:00 +0000 UTC)"),
        (lambda: token(rsa.generate_private_key(65537, 2048), aud="you"), UNSIGNED),
    ],
)  # fmt: skip
def test_what_tokens_say_of_themselves_is_judged(web: Web, given: Callable[[], str], name: str) -> None:
    found = asyncio.run(recognized(given()))
    assert (found.name if isinstance(found, User) else found) == name


def test_issuers_may_lead_elsewhere(web: Web) -> None:
    async def run() -> None:
        start = f"{URL}/.well-known/openid-configuration"
        web.pages["https://new.test/here"] = web.pages[start]
        web.pages[start] = ("//new.test/there",)
        web.pages["https://new.test/there"] = ("here",)
        assert isinstance(await recognized(token()), User)
        web.pages["https://new.test/there"] = ("there",)
        keys = KeySet(ISSUER, TaskOwner("keys"))
        web.asked.clear()
        discovery = asyncio.create_task(keys.discover())
        while len(web.asked) < 10:
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        discovery.cancel()
        assert keys.problem == 'Get "https://new.test/there": stopped after 10 redirects'

    asyncio.run(run())


def test_whoever_goes_away_breaks_nothing_off_for_others(web: Web) -> None:
    async def run() -> None:
        tasks = TaskOwner("keys")
        keys = KeySet(ISSUER, tasks)
        await keys.discover()
        web.gate.clear()
        first, second = asyncio.create_task(keys.fetch()), asyncio.create_task(keys.fetch())
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        web.gate.set()
        await second
        assert first.cancelled()
        assert [key.name for key in keys.find("one")] == ["one"]
        await tasks.close()
        with pytest.raises(KeysUnavailable):
            await keys.fetch()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0),
        ({"cache-control": "max-age=60"}, 60),
        ({"cache-control": "public, S-MaxAge=90, max-age=60, no-store"}, 90),
        ({"cache-control": "max-age=x"}, 0),
        ({"expires": "Thu, 01 Jan 1970 00:20:00 GMT"}, 200),
        ({"expires": "Thu, 01 Jan 1970 00:20:00 GMT", "date": "Thu, 01 Jan 1970 00:19:00 GMT"}, 60),
        ({"expires": "0", "last-modified": "Thu, 01 Jan 1970 00:00:00 GMT"}, 100),
        ({"last-modified": "Wed, 01 Jan 1969 00:00:00 GMT"}, 86400),
        ({"last-modified": "yesterday", "expires": "Thu, 01 Jan 1970 00:20:00 GMT"}, 0),
        ({"expires": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0),
    ],
)
def test_how_long_keys_hold_is_what_the_issuer_says(headers: dict[str, str], seconds: float) -> None:
    assert fresh_seconds(headers, 1000.0) == seconds


@pytest.mark.parametrize(("headers", "fetches"), [({}, 2), ({"cache-control": "max-age=3600"}, 1),
                                                  ({"cache-control": "max-age=20"}, 2)])  # fmt: skip
def test_keys_that_hold_are_not_fetched_again(web: Web, headers: dict[str, str], fetches: int) -> None:
    async def run() -> None:
        clock = ManualClock()
        authenticator = JwtAuthenticator(clock)
        await authenticator.replace([ISSUER])
        web.headers = headers
        for key in ("one", "two"):
            pending = authenticator.authenticate_token(token(headers={"kid": key}))
            assert pending is not None
            task = asyncio.ensure_future(pending)
            while not task.done():
                await clock.advance(1)
                await asyncio.sleep(0)
            if key == "two":
                assert str(task.exception()) == UNSIGNED
        await authenticator.close()

    asyncio.run(run())
    assert web.asked.count(f"{URL}/keys") == fetches

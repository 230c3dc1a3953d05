"""Groups that a token does not hold itself, but says where they are."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm
from jwt.utils import base64url_encode

from watchkeeper.aio.http_client import HttpAnswer, JsonPoster
from watchkeeper.authn.interface import InvalidToken
from watchkeeper.authn.jwt.authenticator import JwtAuthenticator
from watchkeeper.authn.jwt.issuer import Issuer, read_issuers
from watchkeeper.request.user import User

URL, OTHER, CLAIMS = "https://issuer.test", "https://other.test", "https://claims.test/groups"
KEYS = {url: rsa.generate_private_key(65537, 2048) for url in (URL, OTHER)}
FAILED = "oidc: could not expand distributed claims: "


def issuer(**mappings: Any) -> Issuer:
    username = {"claim": "sub", "prefix": ""}
    about = {"url": URL, "audiences": ["me"]}
    [found], faults = read_issuers([{"issuer": about, "claimMappings": {"username": username, **mappings}}], ())
    assert faults == []
    return found


GROUPS = issuer(groups={"claim": "groups", "prefix": "g:"})


def token(url: str = URL, **claims: Any) -> str:
    given = {"iss": url, "aud": "me", "sub": "ann", "exp": int(time.time()) + 600, **claims}
    signed = b".".join(base64url_encode(json.dumps(part).encode()) for part in ({"alg": "RS256"}, given))
    signature = RSAAlgorithm(RSAAlgorithm.SHA256).sign(signed, KEYS[url])
    return f"{signed.decode()}.{base64url_encode(signature).decode()}"


def referring(**source: Any) -> str:
    return token(_claim_names={"groups": "s"}, _claim_sources={"s": {"endpoint": CLAIMS, **source}})


class Web:
    """Answers with what stands at a URL, and notes the credentials that come with a question."""

    def __init__(self) -> None:
        self.pages: dict[str, Any] = {}
        self.credentials: dict[str, str] = {}
        for url, key in KEYS.items():
            self.pages[f"{url}/.well-known/openid-configuration"] = {"issuer": url, "jwks_uri": f"{url}/keys"}
            self.pages[f"{url}/keys"] = {"keys": [RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)]}

    def answer(self, url: str, headers: Mapping[str, str]) -> HttpAnswer:
        self.credentials[url] = headers.get("Authorization", "")
        page = self.pages.get(url)
        if isinstance(page, tuple):
            return HttpAnswer(302, {"location": page[0]}, b"")
        body = page if isinstance(page, str) else json.dumps(page)
        return HttpAnswer(404 if page is None else 200, {}, body.encode())


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Web:
    made = Web()

    async def get(poster: JsonPoster, **_: Any) -> HttpAnswer:
        return made.answer(poster.url, poster._headers() if poster._headers is not None else {})

    monkeypatch.setattr(JsonPoster, "get", get)
    return made


def recognized(given: str, by: Issuer = GROUPS, *, times: int = 2) -> User | str:
    """Whose token it is, or why it is nobody's, when it is shown for the last of so many times."""

    async def run() -> User | str:
        authenticator = JwtAuthenticator()
        await authenticator.replace([by])
        found: User | str = ""
        try:
            for _ in range(times):
                pending = authenticator.authenticate_token(given)
                assert pending is not None
                try:
                    user = await pending
                    assert user is not None
                    found = user
                except InvalidToken as error:
                    found = str(error)
                for _ in range(5):
                    await asyncio.sleep(0)
        finally:
            await authenticator.close()
        return found

    return asyncio.run(run())


def groups(given: str, by: Issuer = GROUPS) -> tuple[str, ...]:
    found = recognized(given, by)
    assert isinstance(found, User), found
    return found.groups


def test_groups_are_fetched_with_the_credentials_that_the_token_has(web: Web) -> None:
    web.pages[CLAIMS] = token(OTHER, groups=["a", "b"]) + "\n"
    assert groups(referring(access_token="secret")) == ("g:a", "g:b")
    assert web.credentials[CLAIMS] == "Bearer secret"
    assert groups(referring()) == ("g:a", "g:b")
    assert web.credentials[CLAIMS] == ""


def test_credentials_do_not_follow_to_another_host(web: Web) -> None:
    web.pages[CLAIMS] = ("https://elsewhere.test/groups",)
    web.pages["https://elsewhere.test/groups"] = token(OTHER, groups="a")
    assert groups(referring(access_token="secret")) == ("g:a",)
    assert web.credentials["https://elsewhere.test/groups"] == ""


def test_nothing_is_fetched_that_nobody_asks_for(web: Web) -> None:
    assert groups(referring(), issuer()) == ()
    assert groups(token(groups="own", _claim_names={"groups": "s"}, _claim_sources={"s": {"endpoint": CLAIMS}})) == (
        "g:own",
    )
    assert groups(token(_claim_names={"roles": "s"}, _claim_sources={"s": {"endpoint": CLAIMS}})) == ()
    assert groups(referring(endpoint="", JWT="x")) == ()
    assert groups(token(_claim_names={"groups": "s"}, _claim_sources={"s": None})) == ()
    assert CLAIMS not in web.credentials


def test_the_keys_of_who_signs_are_looked_for_when_they_are_first_needed(web: Web) -> None:
    web.pages[CLAIMS] = token(OTHER, groups=["a"])
    assert recognized(referring(), times=1) == (
        f'{FAILED}verifying untrusted issuer {OTHER} failed: verifier not initialized for issuer: "{OTHER}"'
    )


@pytest.mark.parametrize(
    ("page", "told"),
    [
        (None, 'while getting distributed claim "groups": error while getting distributed claim JWT: 404 Not Found'),
        ("{}", f'getting untrusted issuer from endpoint {CLAIMS} failed for claim "groups": token is not compact JWT'),
        ("x", f'getting untrusted issuer from endpoint {CLAIMS} failed for claim "groups": malformed token'),
        ("a.b!.c", f'getting untrusted issuer from endpoint {CLAIMS} failed for claim "groups": error decoding token:'
         " illegal base64 data at input byte 1"),
        (token(OTHER), f'jwt returned by distributed claim endpoint "{CLAIMS}" did not contain claim: groups'),
        (token(OTHER, groups=["a"], aud="you"),
         'verify distributed claim token: oidc: expected audience "me" got ["you"]'),
        (token(OTHER, groups=["a"])[:-8] + "AAAAAAAA",
         "verify distributed claim token: failed to verify signature: failed to verify id token signature"),
    ],
)  # fmt: skip
def test_a_user_without_the_groups_is_nobody(web: Web, page: str | None, told: str) -> None:
    if page is not None:
        web.pages[CLAIMS] = page
    assert recognized(referring()) == f"{FAILED}{told}"


@pytest.mark.parametrize("where", ["ftp://x/y", "x"])
def test_an_endpoint_is_a_web_page(web: Web, where: str) -> None:
    scheme = where.partition("://")[0] if "://" in where else ""
    what = f'{FAILED}while getting distributed claim "groups": Get "{where}"'
    assert recognized(referring(endpoint=where)) == f'{what}: unsupported protocol scheme "{scheme}"'


def test_names_without_sources_are_refused(web: Web) -> None:
    names = "oidc: verify token: oidc: "
    assert recognized(token(_claim_names={})) == f"{FAILED}oidc: no claim sources"
    assert recognized(token(_claim_names={"groups": "s"})) == f"{names}source does not exist"
    assert recognized(token(_claim_names={"groups": "s"}, _claim_sources={"s": {"endpoint": 5}})) == (
        f"{names}failed to unmarshal claims: json: cannot unmarshal number into Go struct field"
        " claimSource._claim_sources.endpoint of type string"
    )

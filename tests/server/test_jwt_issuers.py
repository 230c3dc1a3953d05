"""A server that takes the tokens of issuers elsewhere."""

from __future__ import annotations

import hashlib
import http.server
import json
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from https_server import HttpsServer
from jwt.algorithms import RSAAlgorithm
from tests.waiting import eventually

from watchkeeper.server.authentication import check_oidc, issuers_of
from watchkeeper.server.errors import StartupError
from watchkeeper.server.options import ServeOptions
from watchkeeper.testing import Server
from watchkeeper.testing.etcd_certificates import make_certificates
from watchkeeper.testing.handle import Handle, RequestFailed


class Provider:
    """An issuer of tokens, with an HTTPS server for its keys."""

    def __init__(self, folder: Path) -> None:
        make_certificates(folder)
        self.ca = folder / "ca.crt"
        self.keys: dict[str, rsa.RSAPrivateKey] = {}
        self.add_key("one")
        self.asked: list[str] = []
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider.asked.append(self.path)
                documents = {"/.well-known/openid-configuration": provider.document(), "/keys": provider.key_set()}
                body = json.dumps(documents.get(self.path, {})).encode()
                self.send_response(200 if self.path in documents else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = HttpsServer(folder, Handler)
        self.url = self._server.url

    def add_key(self, name: str) -> None:
        self.keys[name] = rsa.generate_private_key(65537, 2048)

    def document(self) -> Any:
        return {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}

    def key_set(self) -> Any:
        public = {name: RSAAlgorithm.to_jwk(key.public_key(), as_dict=True) for name, key in self.keys.items()}
        return {"keys": [{"kid": name, "use": "sig", **key} for name, key in public.items()]}

    def token(self, key: str = "one", algorithm: str = "RS256", **claims: Any) -> str:
        given = {"iss": self.url, "aud": "me", "sub": "ann", "exp": int(time.time()) + 600, **claims}
        return jwt.encode(given, self.keys[key], algorithm=algorithm, headers={"kid": key})

    def close(self) -> None:
        self._server.close()


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provider]:
    made = Provider(tmp_path_factory.mktemp("issuer"))
    yield made
    made.close()


def configuration(provider: Provider, prefix: str = "jwt:", url: str = "") -> str:
    issuer = {"url": url or provider.url, "audiences": ["me"], "certificateAuthority": provider.ca.read_text()}
    mappings = {"username": {"claim": "sub", "prefix": prefix}, "groups": {"expression": "claims.?roles.orValue([])"}}
    head = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration"}
    return json.dumps({**head, "jwt": [{"issuer": issuer, "claimMappings": mappings}]})


@pytest.fixture
def file(tmp_path: Path, provider: Provider) -> Path:
    found = tmp_path / "authentication.json"
    found.write_text(configuration(provider))
    return found


@pytest.fixture(scope="module")
def server(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Handle]:
    """A server that knows the keys of the issuer."""
    file = tmp_path_factory.mktemp("server") / "authentication.json"
    file.write_text(configuration(provider))
    with Server(authentication_config=file, controllers=()) as running:
        in_time(running, provider.token(), "jwt:ann")
        yield running


def whoami(server: Handle, token: str) -> Any:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    other = Handle(server.url, token, server.kubeconfig, server.ca_pem)
    try:
        return other.request("POST", path, body)["status"]["userInfo"]
    except RequestFailed as error:
        return error.status


def in_time(server: Handle, token: str, name: str) -> Any:
    end = time.monotonic() + 10
    while (found := whoami(server, token)) == 401 or found["username"] != name:
        assert time.monotonic() < end, found
        time.sleep(0.05)
    return found


def put(file: Path, text: str) -> None:
    """Change a file at once, so that nobody reads half of it."""
    (file.parent / "next").write_text(text)
    (file.parent / "next").replace(file)


def test_tokens_say_who_asks(provider: Provider, server: Handle) -> None:
    assert in_time(server, provider.token(roles=["a"]), "jwt:ann")["groups"] == ["a", "system:authenticated"]
    now = int(time.time())
    for refused in (
        provider.token(aud="you"),
        provider.token(exp=now - 1),
        provider.token(nbf=now + 90),
        provider.token(iss="https://else"),
        provider.token(sub=7),
        provider.token()[:-8] + "AAAAAAAA",
        jwt.encode({"iss": provider.url, "aud": "me", "exp": now + 9}, "x" * 32, algorithm="HS256"),
    ):
        assert whoami(server, refused) == 401
    assert in_time(server, provider.token(aud=["you", "me"], nbf=now + 30, algorithm="PS256"), "jwt:ann")
    assert server.request("GET", "/api/v1/namespaces/default")["metadata"]["name"] == "default"


@pytest.mark.parametrize(
    "claims",
    [
        '"aud":5',
        '"aud":{"a":1}',
        '"aud":[5]',
        '"aud":null',
        '"aud":"me","exp":-1e300',
        '"aud":"me","exp":9e99,"nbf":1e300',
        '"aud":"me","exp":"soon"',
        '"aud":"me","exp":NaN',
        '"aud":"me","exp":Infinity',
        '"aud":"me","exp":1e30',
        '"aud":"me","exp":true',
        '"aud":"me","deep":' + "[" * 5000 + "]" * 5000,
    ],
)
def test_tokens_with_odd_claims_are_refused(provider: Provider, server: Handle, claims: str) -> None:
    payload = f'{{"iss":"{provider.url}","sub":"ann",{claims}}}'.encode()
    token = jwt.PyJWS().encode(payload, provider.keys["one"], algorithm="RS256", headers={"kid": "one"})
    assert whoami(server, token) == 401


def test_a_key_that_is_not_known_is_fetched(provider: Provider, file: Path) -> None:
    with Server(authentication_config=file, controllers=()) as server:
        in_time(server, provider.token(), "jwt:ann")
        provider.add_key("two")
        before = provider.asked.count("/keys")
        # Though keys were fetched just now.
        assert whoami(server, provider.token("two"))["username"] == "jwt:ann"
        wrong = provider.token("two")[:-8] + "AAAAAAAA"
        with ThreadPoolExecutor(5) as pool:
            assert list(pool.map(lambda _: whoami(server, wrong), range(5))) == [401] * 5
        assert provider.asked.count("/keys") <= before + 3


def test_a_changed_file_changes_who_asks(
    provider: Provider, file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("watchkeeper.server.file_watch.LOOK_SECONDS", 0.05)
    monkeypatch.setattr("watchkeeper.authn.union.REMEMBER_SECONDS", 0.0)
    with Server(authentication_config=file, controllers=()) as server:
        in_time(server, provider.token(), "jwt:ann")
        put(file, configuration(provider, url="http://plain"))
        eventually(
            lambda: "issuers of tokens stay as they were: invalid authentication configuration: jwt[0]" in caplog.text
        )
        assert whoami(server, provider.token())["username"] == "jwt:ann"
        put(file, configuration(provider, prefix="new:"))
        in_time(server, provider.token(), "new:ann")
        other = urllib.request.Request(f"{server.url}/metrics", headers={"Authorization": f"Bearer {server.token}"})
        with urllib.request.urlopen(other, context=server.ssl_context()) as answer:
            lines = answer.read().decode().splitlines()
    name = "apiserver_authentication_config_controller_"
    counts = [line.split("status=")[1] for line in lines if line.startswith(f"{name}automatic_reloads_total{{")]
    assert counts == ['"failure"} 1', '"success"} 1']
    issuer = hashlib.sha256(provider.url.encode()).hexdigest()
    fetched = [line for line in lines if line.startswith("apiserver_authentication_jwt_authenticator_jwks_fetch_last_")]
    assert [line.split(f'jwt_issuer_hash="sha256:{issuer}"')[1].split(" ")[0] for line in fetched] == [
        "}",
        ',result="success"}',
    ]
    latencies = "apiserver_authentication_jwt_authenticator_latency_seconds_count"
    judged = [line for line in lines if line.startswith(f'{latencies}{{jwt_issuer_hash="sha256:{issuer}"')]
    assert any('result="success"' in line and int(line.rpartition(" ")[2]) >= 2 for line in judged)
    keys = hashlib.sha256(json.dumps(provider.key_set()).encode()).hexdigest()
    assert f'hash="sha256:{keys}"' in fetched[0]
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    [held] = [line for line in lines if line.startswith(f"{name}last_config_info{{")]
    assert held.endswith(f',hash="sha256:{digest}"}} 1')


def test_a_file_that_cannot_be_read_is_told_at_each_look(
    provider: Provider, file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("watchkeeper.server.file_watch.LOOK_SECONDS", 0.05)
    with Server(authentication_config=file, controllers=()) as server:
        in_time(server, provider.token(), "jwt:ann")
        file.unlink()
        eventually(
            lambda: caplog.text.count("issuers of tokens stay as they were: [Errno 2] No such file or directory") >= 3
        )
        put(file, configuration(provider, prefix="new:"))
        in_time(server, provider.token(), "new:ann")


def test_tokens_of_an_issuer_that_is_not_there_are_refused(
    provider: Provider, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = "https://127.0.0.1:1"
    file.write_text(configuration(provider, url=url))
    with Server(authentication_config=file, controllers=()) as server:
        token = provider.token(iss=url)
        assert whoami(server, token) == 401
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        status = server.request("POST", "/apis/authentication.k8s.io/v1/tokenreviews", review)["status"]
        assert "oidc: authenticator not initialized" in status["error"]
    assert f'oidc authenticator: initializing plugin: Get "{url}/.well-known/openid-configuration"' in caplog.text
    assert token not in caplog.text


def test_options_name_an_issuer(provider: Provider) -> None:
    options: dict[str, Any] = {
        "oidc_issuer_url": provider.url,
        "oidc_client_id": "me",
        "oidc_ca_file": provider.ca,
        "oidc_groups_claim": "roles",
        "oidc_groups_prefix": "g:",
        "oidc_required_claim": ("hd=x",),
    }
    with Server(controllers=(), **options) as server:
        found = in_time(server, provider.token(hd="x", roles="a"), f"{provider.url}#ann")
        assert found["groups"] == ["g:a", "system:authenticated"]
        assert whoami(server, provider.token(hd="y")) == 401
        assert whoami(server, provider.token(hd="x", algorithm="RS512")) == 401


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"oidc_issuer_url": "https://x"}, "oidc-issuer-url and oidc-client-id must be specified together when any"
                                           " oidc-* flags are set"),
        ({"oidc_groups_claim": "x"}, "oidc-issuer-url and oidc-client-id must be specified together when any oidc-*"
                                     " flags are set"),
        ({"oidc_client_id": "x", "authentication_config": Path("x")},
         "authentication-config file and oidc-* flags are mutually exclusive"),
        ({"oidc_client_id": "x", "oidc_issuer_url": "https://x", "oidc_signing_algs": ("HS256",)},
         'oidc: unsupported signing alg: "HS256"'),
        ({"oidc_client_id": "x", "oidc_issuer_url": "http://x"}, "invalid authentication configuration:"
         ' jwt[0].issuer.url: Invalid value: "http://x": URL scheme must be https'),
    ],
)  # fmt: skip
def test_options_that_do_not_go_together_are_refused(given: Any, problem: str) -> None:
    with pytest.raises(StartupError) as refused:
        issuers_of(ServeOptions(data_dir=Path("d"), **given))
    assert str(refused.value) == problem


def test_without_options_there_are_no_issuers() -> None:
    options = ServeOptions(data_dir=Path("d"))
    check_oidc(options)
    assert issuers_of(options) is None

"""Others verify the tokens of service accounts with what the server publishes."""

from __future__ import annotations

import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle

CONFIGURATION = "/.well-known/openid-configuration"


def read(server: Handle, path: str, token: str, method: str = "GET") -> tuple[str, bytes]:
    request = urllib.request.Request(server.url + path, headers={"Authorization": f"Bearer {token}"}, method=method)
    with urllib.request.urlopen(request) as answer:
        return answer.headers["content-type"], answer.read()


def account_token(server: Handle) -> str:
    base = "/api/v1/namespaces/default/serviceaccounts"
    server.request("POST", base, {"metadata": {"name": "a"}})
    review = server.request("POST", f"{base}/a/token", {"spec": {"audiences": ["shop"]}})
    token: str = review["status"]["token"]
    return token


def test_a_relying_party_finds_the_key_by_its_name_and_verifies_the_token() -> None:
    with Server(insecure_http=True, controllers=()) as server:
        token, url = account_token(server), server.url
        found = server.request("GET", CONFIGURATION)
        content_type, body = read(server, "/openid/v1/jwks", server.token)
    assert found == {
        "issuer": "https://kubernetes.default.svc.cluster.local",
        "jwks_uri": f"{url}/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    }
    assert content_type == "application/jwk-set+json"
    header = jwt.get_unverified_header(token)
    assert set(header) == {"alg", "kid"}
    key = jwt.PyJWKSet.from_json(body.decode())[header["kid"]]
    claims = jwt.decode(token, key, algorithms=["ES256"], audience="shop", issuer=found["issuer"])
    assert claims["sub"] == "system:serviceaccount:default:a"


def test_service_accounts_may_read_it_and_strangers_may_not() -> None:
    with Server(insecure_http=True, controllers=()) as server:
        base = "/api/v1/namespaces/default/serviceaccounts"
        server.request("POST", base, {"metadata": {"name": "a"}})
        token = server.request("POST", f"{base}/a/token", {})["status"]["token"]
        assert read(server, CONFIGURATION, token)[0] == "application/json"
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(server.url + CONFIGURATION)
        assert refused.value.code == 403
        with pytest.raises(urllib.error.HTTPError) as wrong:
            read(server, CONFIGURATION, server.token, "POST")
        assert wrong.value.code == 405


def test_a_server_that_gets_another_key_goes_on_to_recognize_what_the_one_before_has_signed(tmp_path: Path) -> None:
    old, new = rsa.generate_private_key(65537, 2048), ec.generate_private_key(ec.SECP384R1())
    for name, key in (("old", old), ("new", new)):
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
        (tmp_path / f"{name}.key").write_bytes(pem)
    (tmp_path / "old.pub").write_bytes(old.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    store = {"storage": f"sqlite:{tmp_path / 'store.db'}", "insecure_http": True, "controllers": ()}
    base = "/api/v1/namespaces/default/serviceaccounts"

    def reviewed(server: Handle, token: str) -> dict[str, Any]:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        found = server.request("POST", "/apis/authentication.k8s.io/v1/tokenreviews", review)["status"]
        assert isinstance(found, dict)
        return found

    with Server(service_account_signing_key_file=tmp_path / "old.key", **store) as server:
        server.request("POST", base, {"metadata": {"name": "a"}})
        before = server.request("POST", f"{base}/a/token", {})["status"]["token"]
        assert jwt.get_unverified_header(before)["alg"] == "RS256"
        assert reviewed(server, before)["authenticated"] is True
        assert server.request("GET", CONFIGURATION)["id_token_signing_alg_values_supported"] == ["RS256"]
    with Server(service_account_signing_key_file=tmp_path / "new.key", **store) as server:
        assert reviewed(server, before)["error"] == "[invalid bearer token, invalid signature, no keys found]"
        unnamed = jwt.encode(jwt.decode(before, options={"verify_signature": False}), old, algorithm="RS256")
        wrong = "[invalid bearer token, go-jose/go-jose: error in cryptographic primitive]"
        assert reviewed(server, unnamed)["error"] == wrong
    both = {
        "service_account_signing_key_file": tmp_path / "new.key",
        "service_account_key_file": (tmp_path / "old.pub",),
    }
    with Server(**both, **store) as server:
        after = server.request("POST", f"{base}/a/token", {})["status"]["token"]
        assert jwt.get_unverified_header(after)["alg"] == "ES384"
        for token in (before, unnamed, after):
            assert reviewed(server, token)["user"]["username"] == "system:serviceaccount:default:a"
        found = server.request("GET", CONFIGURATION)
        keys = jwt.PyJWKSet.from_json(read(server, "/openid/v1/jwks", server.token)[1].decode())
        for token in (before, after):
            header = jwt.get_unverified_header(token)
            assert header["alg"] in found["id_token_signing_alg_values_supported"]
            jwt.decode(token, keys[header["kid"]], algorithms=[header["alg"]], audience=found["issuer"])

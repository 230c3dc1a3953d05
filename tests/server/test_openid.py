"""Others verify the tokens of service accounts with what the server publishes."""

from __future__ import annotations

import urllib.error
import urllib.request

import jwt
import pytest

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

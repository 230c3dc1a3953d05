"""Whose tokens are, and for whom they are meant, as other servers ask this one."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from watchkeeper.server.errors import StartupError
from watchkeeper.server.options import ISSUER
from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle, RequestFailed

REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
BASE = "/api/v1/namespaces/default"
INVALID = {"user": {}, "error": "invalid bearer token"}


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server() as running:
        running.request("POST", f"{BASE}/serviceaccounts", {"metadata": {"name": "robot"}})
        yield running


def refused(why: str) -> dict[str, Any]:
    """The status of a token that somebody knows, and does not take."""
    return {"user": {}, "error": f"[invalid bearer token, {why}]"}


def reviewed(server: Handle, token: str, *audiences: str) -> Any:
    spec = {"token": token, **({"audiences": list(audiences)} if audiences else {})}
    return server.request("POST", REVIEWS, {"spec": spec})["status"]


def issued(server: Handle, *audiences: str, **spec: Any) -> str:
    body = {"spec": {"audiences": list(audiences), **spec}}
    return str(server.request("POST", f"{BASE}/serviceaccounts/robot/token", body)["status"]["token"])


def test_a_token_without_an_audience_is_meant_for_this_server(server: Handle) -> None:
    for asked in ((), (ISSUER,), ("shop", ISSUER)):
        status = reviewed(server, server.token, *asked)
        assert (status["authenticated"], status["audiences"]) == (True, [ISSUER])
    assert reviewed(server, server.token, "shop") == INVALID
    assert reviewed(server, "nobody's", "shop") == INVALID


def test_a_token_is_good_for_those_of_the_audiences_asked_about_that_it_names(server: Handle) -> None:
    token = issued(server, "shop", "bank")
    status = reviewed(server, token, "mill", "bank", "shop")
    assert status["audiences"] == ["bank", "shop"]
    assert status["user"]["username"] == "system:serviceaccount:default:robot"
    assert "system:authenticated" in status["user"]["groups"]
    for asked, told in (((), ISSUER), (("mill",), "mill")):
        why = f'token audiences ["shop" "bank"] is invalid for the target audiences ["{told}"]'
        assert reviewed(server, token, *asked) == refused(why)
    assert reviewed(server, issued(server))["audiences"] == [ISSUER]


def test_what_a_client_says_of_the_outcome_stays_where_there_is_none(server: Handle) -> None:
    said = {"authenticated": True, "audiences": ["a"], "error": "mine", "user": {"username": "me"}}
    unknown = server.request("POST", REVIEWS, {"spec": {"token": "nobody's"}, "status": said})["status"]
    assert unknown == {"audiences": ["a"], "user": {"username": "me"}, "error": "invalid bearer token"}
    known = server.request("POST", REVIEWS, {"spec": {"token": server.token}, "status": said})["status"]
    assert (known["authenticated"], known["audiences"], known["error"]) == (True, [ISSUER], "mine")
    assert known["user"]["username"] != "me"


def test_a_token_tells_the_node_of_the_pod_that_it_is_bound_to(server: Handle) -> None:
    pods = f"{BASE}/pods"
    container = {"name": "c", "image": "i"}
    extra = []
    for name, node in (("here", "n1"), ("gone", "n2"), ("nowhere", None)):
        spec = {"serviceAccountName": "robot", "containers": [container], **({"nodeName": node} if node else {})}
        if name == "here":
            uid = server.request("POST", "/api/v1/nodes", {"metadata": {"name": node}})["metadata"]["uid"]
        server.request("POST", pods, {"metadata": {"name": name}, "spec": spec})
        bound = {"kind": "Pod", "apiVersion": "v1", "name": name}
        user = reviewed(server, issued(server, boundObjectRef=bound))["user"]["extra"]
        extra.append({key.partition("/")[2]: value for key, value in user.items() if "node" in key})
        assert user["authentication.kubernetes.io/pod-name"] == [name]
    assert extra == [{"node-name": ["n1"], "node-uid": [uid]}, {"node-name": ["n2"]}, {}]


def test_a_token_ends_with_what_it_is_bound_to(server: Handle) -> None:
    accounts = f"{BASE}/serviceaccounts"
    uid = server.request("POST", accounts, {"metadata": {"name": "brief"}})["metadata"]["uid"]
    server.request("POST", f"{BASE}/secrets", {"metadata": {"name": "s"}})
    bound = {"kind": "Secret", "apiVersion": "v1", "name": "s"}
    body = {"spec": {"boundObjectRef": bound, "audiences": ["a", "b", "c", "d"]}}
    token = server.request("POST", f"{accounts}/brief/token", body)["status"]["token"]
    assert reviewed(server, token, "a")["authenticated"] is True
    server.request("DELETE", f"{BASE}/secrets/s")
    assert reviewed(server, token, "b") == refused("service account token has been invalidated")
    server.request("DELETE", f"{accounts}/brief")
    assert reviewed(server, token, "c") == refused('serviceaccounts "brief" not found')
    other = server.request("POST", accounts, {"metadata": {"name": "brief"}})["metadata"]["uid"]
    assert reviewed(server, token, "d") == refused(f"service account UID ({other}) does not match claim ({uid})")
    # What was found out a moment ago still holds, for those who were asked about then.
    assert reviewed(server, token, "a")["authenticated"] is True


def test_what_is_no_token_of_this_server_is_nobodys_and_a_forged_one_is_told_apart(server: Handle) -> None:
    header, claims, signature = issued(server).split(".")
    other = base64.urlsafe_b64encode(b'{"iss":"elsewhere"}').rstrip(b"=").decode()
    for token in ("a.b.c", "a.b", f"{header}.{other}.{signature}", f"xx.{claims}.{signature}", f"{header}.{claims}.x"):
        assert reviewed(server, token) == INVALID
    forged = f"{header}.{claims}.{signature[::-1]}"
    assert reviewed(server, forged) == refused("go-jose/go-jose: error in cryptographic primitive")


@pytest.mark.parametrize("seconds", [0, 599])
def test_a_token_lasts_ten_minutes_at_least(server: Handle, seconds: int) -> None:
    with pytest.raises(RequestFailed, match="may not specify a duration less than 10 minutes"):
        issued(server, expirationSeconds=seconds)


def claims_of(token: str) -> Any:
    return json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))


def test_a_token_for_a_pod_holds_longer_than_kubelets_are_told(server: Handle) -> None:
    spec = {"serviceAccountName": "robot", "containers": [{"name": "c", "image": "i"}]}
    server.request("POST", f"{BASE}/pods", {"metadata": {"name": "mounted"}, "spec": spec})
    bound = {"kind": "Pod", "apiVersion": "v1", "name": "mounted"}
    claims = claims_of(issued(server, expirationSeconds=3607, boundObjectRef=bound))
    assert claims["exp"] - claims["iat"] == 365 * 24 * 3600
    assert claims["kubernetes.io"]["warnafter"] - claims["iat"] == 3607
    for audiences, spec in (
        ((), {"expirationSeconds": 3600, "boundObjectRef": bound}),
        (("shop",), {"expirationSeconds": 3607, "boundObjectRef": bound}),
        ((), {"expirationSeconds": 3607}),
    ):
        claims = claims_of(issued(server, *audiences, **spec))
        assert claims["exp"] - claims["iat"] == spec["expirationSeconds"]
        assert "warnafter" not in claims["kubernetes.io"]


def test_what_is_about_to_go_counts_for_a_minute_yet(server: Handle, monkeypatch: pytest.MonkeyPatch) -> None:
    accounts = f"{BASE}/serviceaccounts"
    server.request("POST", accounts, {"metadata": {"name": "leaving", "finalizers": ["example.com/f"]}})
    body = {"spec": {"audiences": ["a", "b"]}}
    token = server.request("POST", f"{accounts}/leaving/token", body)["status"]["token"]
    server.request("DELETE", f"{accounts}/leaving")
    assert reviewed(server, token, "a")["authenticated"] is True
    now = time.time()
    monkeypatch.setattr("watchkeeper.authn.service_account_tokens.time", SimpleNamespace(time=lambda: now + 62))
    assert reviewed(server, token, "b") == refused("service account default/leaving has been deleted")


def test_issuers_follow_one_another_and_the_tokens_of_earlier_ones_are_taken(tmp_path: Path) -> None:
    old, new = "https://old.example", "https://new.example"
    kept = {"data_dir": tmp_path, "storage": f"sqlite:{tmp_path / 's.db'}"}
    with Server(service_account_issuer=(old,), **kept) as server:
        server.request("POST", f"{BASE}/serviceaccounts", {"metadata": {"name": "robot"}})
        token = issued(server)
        assert (claims_of(token)["iss"], claims_of(token)["aud"]) == (old, [old])
    with Server(
        service_account_issuer=(new, old), service_account_jwks_uri="https://keys.example/jwks", **kept
    ) as server:
        assert reviewed(server, token)["audiences"] == [old]
        later = claims_of(issued(server))
        assert (later["iss"], later["aud"]) == (new, [new, old])
        found = server.request("GET", "/.well-known/openid-configuration")
        assert (found["issuer"], found["jwks_uri"]) == (new, "https://keys.example/jwks")
    with Server(service_account_issuer=(new,), api_audiences=("api", old), **kept) as server:
        assert reviewed(server, token) == INVALID
        assert claims_of(issued(server))["aud"] == ["api", old]


@pytest.mark.parametrize(("extended", "seconds"), [(True, 365 * 24 * 3600), (False, 3607)])
def test_tokens_that_are_mounted_into_pods_hold_for_a_year_unless_told_otherwise(extended: bool, seconds: int) -> None:
    with Server(service_account_extend_token_expiration=extended) as server:
        server.request("POST", f"{BASE}/serviceaccounts", {"metadata": {"name": "robot"}})
        spec = {"serviceAccountName": "robot", "containers": [{"name": "c", "image": "i"}]}
        server.request("POST", f"{BASE}/pods", {"metadata": {"name": "p"}, "spec": spec})
        bound = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
        claims = claims_of(issued(server, ISSUER, boundObjectRef=bound, expirationSeconds=3607))
    assert claims["exp"] - claims["iat"] == seconds
    assert ("warnafter" in claims["kubernetes.io"]) is extended


def test_tokens_hold_no_longer_than_they_may_and_whoever_asks_for_more_is_told() -> None:
    with Server(service_account_max_token_expiration=7200) as server:
        server.request("POST", f"{BASE}/serviceaccounts", {"metadata": {"name": "robot"}})
        head = {"Authorization": f"Bearer {server.token}"}
        for asked, given in ((7200, 7200), (7201, 7200), (600, 600)):
            body = {"spec": {"expirationSeconds": asked}}
            path = f"{server.url}{BASE}/serviceaccounts/robot/token"
            answer = httpx.post(path, json=body, headers=head, verify=server.ssl_context())
            found = answer.json()
            assert found["spec"]["expirationSeconds"] == given
            claims = claims_of(found["status"]["token"])
            assert claims["exp"] - claims["iat"] == given
            told = f'299 - "requested expiration of {asked} seconds shortened to {given} seconds"'
            assert answer.headers.get_list("warning") == ([told] if asked > given else [])


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (
            {"service_account_max_token_expiration": 3599.0},
            "the service-account-max-token-expiration must be between 1 hour and 2^32 seconds",
        ),
        ({"service_account_issuer": ()}, "service-account-issuer is a required flag"),
        ({"service_account_issuer": ("",)}, "service-account-issuer should not be an empty string"),
        ({"service_account_issuer": ("a", "a")}, 'service-account-issuer "a" is already specified'),
        (
            {"service_account_jwks_uri": "http://x"},
            "service-account-jwks-uri requires https scheme, parsed as: http://x",
        ),
    ],
)
def test_issuers_that_cannot_be_meant_are_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(StartupError) as refused_:
        Server(**options).start()
    assert str(refused_.value) == why

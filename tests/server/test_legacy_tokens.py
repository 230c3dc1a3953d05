"""Tokens without an end, which kube-controller-manager puts into Secrets."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from watchkeeper.server.options import ISSUER
from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle

BASE = "/api/v1/namespaces/default"
CLAIM = "kubernetes.io/serviceaccount/"
USER = "system:serviceaccount:default:robot"
KEY = ec.generate_private_key(ec.SECP256R1())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Handle]:
    path: Path = tmp_path_factory.mktemp("keys") / "sa.key"
    path.write_bytes(KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    policy = path.with_name("policy.yaml")
    policy.write_text("{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: Metadata}]}")
    with Server(
        service_account_signing_key_file=path,
        audit_policy_file=policy,
        audit_log_path=str(path.with_name("audit.log")),
    ) as running:
        running.request("POST", f"{BASE}/serviceaccounts", {"metadata": {"name": "robot"}})
        yield running


@pytest.fixture
def audited(server: Handle, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[int, dict[str, str]]]:
    """Shows a token twice: the status code, and the annotations of the last event."""
    file = next(tmp_path_factory.getbasetemp().glob("keys*")) / "audit.log"

    def show(token: str) -> tuple[int, dict[str, str]]:
        for _ in range(2):
            head = {"Authorization": f"Bearer {token}"}
            answer = httpx.get(f"{server.url}/version", headers=head, verify=server.ssl_context())
        event = json.loads(file.read_text().splitlines()[-1])
        assert event["requestURI"] == "/version"
        start = "authentication.k8s.io/"
        told = event.get("annotations", {}).items()
        return answer.status_code, {key.removeprefix(start): text for key, text in told if key.startswith(start)}

    return show


def claims(server: Handle, secret: str) -> dict[str, Any]:
    uid = server.request("GET", f"{BASE}/serviceaccounts/robot")["metadata"]["uid"]
    about = {"namespace": "default", "secret.name": secret, "service-account.name": "robot", "service-account.uid": uid}
    named = {CLAIM + name: value for name, value in about.items()}
    return {"iss": "kubernetes/serviceaccount", "sub": USER, **named}


def signed(content: dict[str, Any]) -> str:
    return jwt.encode(content, KEY, algorithm="ES256")


def keep(server: Handle, name: str, token: str, **metadata: Any) -> None:
    annotations = {"kubernetes.io/service-account.name": "robot"}
    secret = {
        "metadata": {"name": name, "annotations": annotations, **metadata},
        "type": "kubernetes.io/service-account-token",
        "data": {"token": base64.b64encode(token.encode()).decode()},
    }
    server.request("POST", f"{BASE}/secrets", secret)


def reviewed(server: Handle, token: str, *audiences: str) -> Any:
    review = {"spec": {"token": token, "audiences": list(audiences)}}
    return server.request("POST", "/apis/authentication.k8s.io/v1/tokenreviews", review)["status"]


def refused(why: str) -> dict[str, Any]:
    return {"user": {}, "error": f"[invalid bearer token, {why}]"}


def test_the_token_of_a_secret_is_its_accounts_and_its_use_is_noted(server: Handle) -> None:
    token = signed(claims(server, "kept"))
    keep(server, "kept", token)
    before = time.strftime("%Y-%m-%d", time.gmtime())
    status = reviewed(server, token)
    assert (status["authenticated"], status["audiences"]) == (True, [ISSUER])
    uid = server.request("GET", f"{BASE}/serviceaccounts/robot")["metadata"]["uid"]
    groups = ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"]
    assert status["user"] == {"username": USER, "uid": uid, "groups": groups}
    metadata = server.request("GET", f"{BASE}/secrets/kept")["metadata"]
    assert metadata["labels"]["kubernetes.io/legacy-token-last-used"] >= before
    assert {entry["manager"] for entry in metadata["managedFields"]} >= {"kube-apiserver"}


def test_the_token_of_a_secret_that_its_account_lists_is_warned_of(server: Handle) -> None:
    server.request("PATCH", f"{BASE}/serviceaccounts/robot", {"secrets": [{"name": "listed"}]})
    told = []
    for name in ("listed", "unlisted"):
        token = signed(claims(server, name))
        keep(server, name, token)
        for _ in range(2):
            head = {"Authorization": f"Bearer {token}"}
            answer = httpx.get(f"{server.url}/version", headers=head, verify=server.ssl_context())
            assert answer.status_code == 200
            told.append(answer.headers.get("warning"))
    assert told[0] == told[1]
    assert told[0].startswith('299 - "Use tokens from the TokenRequest API or manually created')
    assert told[2:] == [None, None]


def test_a_token_is_good_for_nobody_but_this_server(server: Handle) -> None:
    token = signed(claims(server, "away"))
    keep(server, "away", token)
    why = f'token audiences ["{ISSUER}"] is invalid for the target audiences ["shop"]'
    assert reviewed(server, token, "shop") == refused(why)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"sub": ""}, "sub claim is missing"),
        ({CLAIM + "namespace": None}, "namespace claim is missing"),
        ({CLAIM + "secret.name": ""}, "secretName claim is missing"),
        ({CLAIM + "service-account.name": ""}, "serviceAccountName claim is missing"),
        ({CLAIM + "service-account.uid": ""}, "serviceAccountUID claim is missing"),
        ({"sub": "system:serviceaccount:default:other"}, "sub claim is invalid"),
        ({CLAIM + "secret.name": "none"}, "Token has been invalidated"),
        ({"jti": "another"}, "Token does not match server's copy"),
    ],
)
def test_a_token_tells_what_it_is_bound_to(server: Handle, changed: dict[str, Any], why: str) -> None:
    held = claims(server, "held")
    if not server.request("GET", f"{BASE}/secrets?fieldSelector=metadata.name=held")["items"]:
        keep(server, "held", signed(held))
    content = {key: value for key, value in {**held, **changed}.items() if value is not None}
    assert reviewed(server, signed(content)) == refused(why)


def test_a_token_ends_with_its_account_and_where_it_is_marked(server: Handle) -> None:
    stale = signed({**claims(server, "stale"), CLAIM + "service-account.uid": "u"})
    keep(server, "stale", stale)
    uid = server.request("GET", f"{BASE}/serviceaccounts/robot")["metadata"]["uid"]
    assert reviewed(server, stale) == refused(f"ServiceAccount UID ({uid}) does not match claim (u)")
    subject = {CLAIM + "service-account.name": "x", "sub": "system:serviceaccount:default:x"}
    gone = signed({**claims(server, "gone"), **subject})
    keep(server, "gone", gone)
    assert reviewed(server, gone) == refused('serviceaccounts "x" not found')
    marked = signed(claims(server, "marked"))
    keep(server, "marked", marked, labels={"kubernetes.io/legacy-token-invalid-since": "2026-01-01"})
    told = reviewed(server, marked)["error"]
    assert "the token in secret default/marked for service account default/robot has been marked invalid." in told
    labels = server.request("GET", f"{BASE}/secrets/marked")["metadata"]["labels"]
    assert "kubernetes.io/legacy-token-last-used" in labels


def test_the_audit_log_tells_which_kind_of_token_was_shown(
    server: Handle, audited: Callable[[str], tuple[int, dict[str, str]]]
) -> None:
    server.request("PATCH", f"{BASE}/serviceaccounts/robot", {"secrets": [{"name": "made"}]})
    marked = {"labels": {"kubernetes.io/legacy-token-invalid-since": "2026-01-01"}}
    tokens = {name: signed(claims(server, name)) for name in ("made", "manual", "ended")}
    for name, token in tokens.items():
        keep(server, name, token, **(marked if name == "ended" else {}))
    assert audited(tokens["made"]) == (200, {"legacy-token": USER, "legacy-token-autogenerated-secret": "made"})
    assert audited(tokens["manual"]) == (200, {"legacy-token": USER, "legacy-token-manual-secret": "manual"})
    assert audited(tokens["ended"]) == (401, {"legacy-token": USER, "legacy-token-invalidated": "ended/default"})


def test_the_audit_log_tells_of_a_token_that_should_have_been_renewed(
    server: Handle, audited: Callable[[str], tuple[int, dict[str, str]]]
) -> None:
    now = int(time.time())
    uid = server.request("GET", f"{BASE}/serviceaccounts/robot")["metadata"]["uid"]
    about = {"namespace": "default", "serviceaccount": {"name": "robot", "uid": uid}}
    common = {"iss": ISSUER, "aud": [ISSUER], "exp": now + 600, "sub": USER}
    stale, fresh = (signed({**common, "kubernetes.io": {**about, "warnafter": now + n}}) for n in (-50, 50))
    code, told = audited(stale)
    text, _, seconds = told.pop("stale-token").rpartition(" ")
    assert (code, text, told) == (200, f"subject: {USER}, seconds after warning threshold:", {})
    assert 50 <= int(seconds) < 100
    assert audited(fresh) == (200, {})

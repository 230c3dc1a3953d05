"""When clients are warned, and when nobody has come so far as to warn them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle

Object = dict[str, Any]
ENDPOINTS = "/api/v1/namespaces/default/endpoints"
PODS = "/api/v1/namespaces/default/pods"
JOBS = "/apis/batch/v1/namespaces/default/jobs"


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True, controllers=()) as running:
        yield running


def warning(server: Handle, method: str, path: str, body: bytes = b"{}", **headers: str) -> str:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = b"" if method == "DELETE" else body
    answer = httpx.request(
        method, server.url + path, headers={"Authorization": f"Bearer {server.token}", **named}, content=body
    )
    return str(answer.headers.get("warning", ""))


def test_a_deprecated_kind_warns_even_of_what_is_not_there(server: Handle) -> None:
    for path in (ENDPOINTS, f"{ENDPOINTS}/absent", f"{ENDPOINTS}?limit=x"):
        assert "v1 Endpoints is deprecated" in warning(server, "GET", path)


def test_media_types_that_nobody_knows_are_refused_before_the_kind_is_looked_at(server: Handle) -> None:
    assert warning(server, "GET", ENDPOINTS, Accept="text/plain") == ""
    assert warning(server, "POST", ENDPOINTS, Accept="application/*") == ""
    assert warning(server, "PATCH", f"{ENDPOINTS}/a", Content_Type="text/plain") == ""
    assert "v1 Endpoints" in warning(server, "POST", ENDPOINTS, Content_Type="text/plain")


def test_deleting_jobs_warns_of_the_pods_that_stay_unless_somebody_says_what_becomes_of_them(server: Handle) -> None:
    for query in ("", "?dryRun=All"):
        assert "child pods are preserved" in warning(server, "DELETE", JOBS + query)
    assert warning(server, "DELETE", f"{JOBS}?propagationPolicy=Background") == ""


@pytest.mark.parametrize(
    ("annotation", "own", "pods", "warns"),
    [
        ("unconfined", None, None, True),
        ("unconfined", None, {"type": "Unconfined"}, False),
        ("unconfined", {"type": "RuntimeDefault"}, None, False),
        ("nonsense", None, {"type": "Unconfined"}, True),
    ],
)
def test_annotations_with_profiles_warn_even_where_the_pod_is_refused(
    server: Handle, annotation: str, own: Object | None, pods: Object | None, warns: bool
) -> None:
    key = "container.apparmor.security.beta.kubernetes.io/c"
    container = {"name": "c", "image": "i", "securityContext": {"appArmorProfile": own} if own else {}}
    spec = {"containers": [container], "imagePullSecrets": [{}]}
    if pods is not None:
        spec["securityContext"] = {"appArmorProfile": pods}
    pod = {"metadata": {"name": "p", "annotations": {key: annotation}}, "spec": spec}
    told = warning(server, "POST", f"{PODS}?dryRun=All", json.dumps(pod).encode())
    expected = f"metadata.annotations[{key}]: deprecated since v1.30; use the "
    assert told.startswith(f'299 - "{expected}') is warns
    assert (expected in told) is warns

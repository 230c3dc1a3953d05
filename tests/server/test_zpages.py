"""/statusz and /flagz: text for people, data for programs that name the version they mean."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from watchkeeper.meta.errors import ApiError
from watchkeeper.request.request import Request
from watchkeeper.server.options import ServeOptions
from watchkeeper.server.zpages import Flagz, Statusz
from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True, controllers=()) as running:
        yield running


def get(server: Handle, path: str, accept: str = "*/*") -> httpx.Response:
    return httpx.get(server.url + path, headers={"Authorization": f"Bearer {server.token}", "Accept": accept})


def asked(accept: str) -> Request:
    scope = {"method": "GET", "path": "/statusz", "query_string": b"", "headers": [(b"accept", accept.encode())]}
    return Request(scope, None, None)  # type: ignore[arg-type]


def form(kind: str, version: str = "v1beta1", media_type: str = "application/json") -> str:
    return f"{media_type};g=config.k8s.io;v={version};as={kind}"


def test_people_read_since_when_the_server_runs() -> None:
    now = 1_800_000_000.0
    page = Statusz(["/livez", "/flagz"], clock=lambda: now)
    now += 3 * 3600 + 62
    answer = page.handle(asked("text/plain"))
    assert answer.headers == ((b"content-type", b"text/plain; charset=utf-8"),)
    lines = answer.body.decode().splitlines()
    assert lines[2].startswith("Warning: This endpoint is not meant to be machine parseable")
    assert {"apiserver statusz", "Up: 3 hr 01 min 02 sec", "Paths: /flagz /livez"} <= set(lines)
    assert page.handle(asked(form("Statusz"))).body.count(b'"uptimeSeconds": 10862') == 1


def test_programs_get_the_version_that_they_name(server: Handle) -> None:
    answer = get(server, "/statusz", form("Statusz"))
    assert answer.headers["content-type"] == form("Statusz")
    assert "warning" not in answer.headers
    found = answer.json()
    assert (found["kind"], found["apiVersion"]) == ("Statusz", "config.k8s.io/v1beta1")
    assert found["paths"] == ["/flagz", "/healthz", "/livez", "/metrics", "/readyz", "/statusz", "/version"]
    old = get(server, "/flagz", form("Flagz", "v1alpha1"))
    assert old.headers["warning"].endswith('flagz endpoint is deprecated. Please use a newer version."')
    assert get(server, "/flagz", form("Flagz", media_type="application/yaml")).text.startswith("apiVersion: config")


@pytest.mark.parametrize("accept", ["application/json", "text/html", form("Statusz", "v1"), form("Flagz"), "text/*"])
def test_other_forms_are_refused(accept: str) -> None:
    with pytest.raises(ApiError) as refused:
        Statusz([]).handle(asked(accept))
    assert refused.value.code == 406
    assert refused.value.message.endswith("application/json, application/yaml, text/plain")


def test_flags_are_told_as_they_are_spelled_and_secrets_are_not() -> None:
    options = ServeOptions(data_dir=Path("/data"), admin_token="s3cret", controllers=("namespace",), event_ttl=60.0)
    text = Flagz(options).handle(asked("*/*")).body.decode()
    assert {"data-dir=/data", "controllers=[namespace]", "event-ttl=60", "anonymous-auth=true", "tls-cert="} <= set(
        text.splitlines()
    )
    assert "s3cret" not in text

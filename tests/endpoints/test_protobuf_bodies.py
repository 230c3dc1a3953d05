"""Bodies in protobuf that say less than they should, or something else."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle

MAPS = "/api/v1/namespaces/default/configmaps"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True, controllers=()) as running:
        yield running


def field(number: int, value: bytes) -> bytes:
    return bytes([number << 3 | 2, len(value)]) + value


CONFIG_MAP = field(1, field(1, b"a")) + field(2, field(1, b"x") + field(2, b"y"))


def body(api_version: bytes, kind: bytes, message: bytes = CONFIG_MAP) -> bytes:
    return b"k8s\0" + field(1, field(1, api_version) + field(2, kind)) + field(2, message)


def send(server: Handle, method: str, path: str, content: bytes) -> httpx.Response:
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/vnd.kubernetes.protobuf"}
    return httpx.request(method, f"{server.url}{path}?dryRun=All", headers=headers, content=content)


@pytest.mark.parametrize("said", [(b"", b""), (b"v1", b""), (b"", b"ConfigMap")])
def test_what_is_not_said_of_kind_and_version_is_what_the_path_says(server: Handle, said: tuple[bytes, bytes]) -> None:
    answer = send(server, "POST", MAPS, body(*said))
    assert (answer.status_code, answer.json()["data"]) == (201, {"x": "y"})
    answer = send(server, "PUT", f"{MAPS}/b", body(*said))
    assert answer.json()["message"] == "the name of the object (a) does not match the name on the URL (b)"


_SCHEME = 'in scheme "pkg/api/legacyscheme/scheme.go:30"'


@pytest.mark.parametrize(
    ("path", "content", "message"),
    [
        (
            MAPS,
            body(b"v1", b"Nosuch"),
            'Nosuch in version "v1" cannot be handled as a ConfigMap: no kind "Nosuch" is registered for version "v1" '
            + _SCHEME,
        ),
        (
            MAPS,
            body(b"v2", b"ConfigMap"),
            'ConfigMap in version "v2" cannot be handled as a ConfigMap: '
            f'no kind "ConfigMap" is registered for version "v2" {_SCHEME}',
        ),
        (
            REVIEWS,
            body(b"v1", b""),
            'SelfSubjectAccessReview in version "v1" cannot be handled as a SelfSubjectAccessReview: '
            f'no kind "SelfSubjectAccessReview" is registered for version "v1" {_SCHEME}',
        ),
        (
            MAPS,
            body(b"v1", b"ConfigMap", CONFIG_MAP[:-1]),
            'ConfigMap in version "v1" cannot be handled as a ConfigMap: unexpected EOF',
        ),
        (
            MAPS,
            body(b"v1", b"ConfigMap", b"\x08\x01"),
            'ConfigMap in version "v1" cannot be handled as a ConfigMap: '
            "proto: wrong wireType = 0 for field ObjectMeta",
        ),
    ],
)
def test_what_cannot_be_read_is_told(server: Handle, path: str, content: bytes, message: str) -> None:
    answer = send(server, "POST", path, content)
    assert (answer.status_code, answer.json()["message"]) == (400, message)


def test_options_of_a_deletion_are_no_other_kind(server: Handle) -> None:
    answer = send(server, "DELETE", f"{MAPS}/a", body(b"", b""))
    assert answer.json()["message"] == "proto: wrong wireType = 2 for field GracePeriodSeconds"
    answer = send(server, "DELETE", f"{MAPS}/a", body(b"v1", b"ConfigMap", b"\x0f"))
    assert answer.json()["message"].startswith('no kind "ConfigMap" is registered for version "v1" in scheme')

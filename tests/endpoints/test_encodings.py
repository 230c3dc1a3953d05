"""What is remembered of objects in other forms: found again, bounded, and never out of date."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from watchkeeper.endpoints.encodings import Encodings
from watchkeeper.registry.table import partial_metadata
from watchkeeper.testing import Handle
from watchkeeper.testing import Server as InProcess

MERGE = {"Content-Type": "application/merge-patch+json"}
SCALERS = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"


def test_what_was_put_is_found_under_its_bytes_and_form_alone() -> None:
    encodings = Encodings()
    encodings.put(b"object", "v1", b"first")
    encodings.put(b"object", "metadata", b"second")
    assert encodings.get(b"object", "v1") == b"first"
    assert encodings.get(b"object", "metadata") == b"second"
    assert encodings.get(b"object changed", "v1") is None


def test_it_stays_within_its_bound_and_keeps_what_is_asked_for() -> None:
    encodings = Encodings(max_bytes=100_000)
    encodings.put(b"wanted", "v1", b"x" * 100)
    for n in range(1_000):
        encodings.put(b"%d" % n, "v1", b"y" * 500)
        assert encodings.get(b"wanted", "v1") == b"x" * 100
        assert len(encodings) * 756 <= 101_000
    assert encodings.get(b"0", "v1") is None
    assert encodings.get(b"999", "v1") is not None


def test_what_is_larger_than_half_of_the_bound_is_not_kept() -> None:
    encodings = Encodings(max_bytes=10_000)
    encodings.put(b"small", "v1", b"x")
    encodings.put(b"large", "v1", b"x" * 6_000)
    assert encodings.get(b"large", "v1") is None
    assert encodings.get(b"small", "v1") == b"x"


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[InProcess, Handle]]:
    process = InProcess(insecure_http=True)
    with process as handle:
        yield process, handle


def scaler(name: str, least: int) -> dict[str, Any]:
    target = {"kind": "Deployment", "name": "x", "apiVersion": "apps/v1"}
    return {"metadata": {"name": name}, "spec": {"minReplicas": least, "maxReplicas": 9, "scaleTargetRef": target}}


def test_another_version_of_an_object_is_never_out_of_date(server: tuple[InProcess, Handle]) -> None:
    _, handle = server
    handle.request("POST", SCALERS, scaler("a", 1))
    path = f"{SCALERS}/a"
    for least in (2, 3, 4):
        for _ in range(2):
            assert handle.request("GET", path)["spec"]["minReplicas"] == least - 1
            assert handle.request("GET", SCALERS)["items"][0]["spec"]["minReplicas"] == least - 1
        patch = {"spec": {"minReplicas": least}}
        tried = handle.request("PATCH", f"{path}?dryRun=All", {"spec": {"minReplicas": 7}}, headers=MERGE)
        assert tried["spec"]["minReplicas"] == 7
        assert handle.request("GET", path)["spec"]["minReplicas"] == least - 1
        changed = handle.request("PATCH", path, patch, headers=MERGE)
        assert changed["spec"]["minReplicas"] == least
        assert changed["apiVersion"] == "autoscaling/v1"


def test_metadata_is_made_once_for_lists_and_watches(
    server: tuple[InProcess, Handle], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, handle = server
    made: list[str] = []

    def counted(obj: dict[str, Any], *rest: Any) -> dict[str, Any]:
        made.append(obj["metadata"].get("name", ""))
        return partial_metadata(obj, *rest)

    path = "/api/v1/namespaces/default/configmaps"
    for n in range(3):
        handle.request("POST", path, {"metadata": {"name": f"once-{n}", "labels": {"of": "once"}}})
    monkeypatch.setattr("watchkeeper.endpoints.render.partial_metadata", counted)
    accept = {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
    answers = [handle.request("GET", f"{path}?labelSelector=of%3Donce", headers=accept) for _ in range(3)]
    assert [item["metadata"]["name"] for item in answers[0]["items"]] == ["once-0", "once-1", "once-2"]
    assert answers[1] == answers[0] == answers[2]
    assert made == ["once-0", "once-1", "once-2"]

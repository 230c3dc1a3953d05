"""Annotations of DaemonSets and Deployments in which kube-apiserver keeps numbers of its internal types."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle

BASE = "/apis/apps/v1/namespaces/default"
GENERATION = "deprecated.daemonset.template.generation"
ROLLBACK = "deprecated.deployment.rollback.to"
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
SYNTAX = 'strconv.ParseInt: parsing "abc": invalid syntax'


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True, controllers=()) as running:
        yield running


def workload(name: str, annotation: str, text: str) -> dict[str, Any]:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    return {"metadata": {"name": name, "annotations": {annotation: text}}, "spec": spec}


def ask(server: Handle, method: str, path: str, body: Any, **headers: str) -> tuple[int, Any]:
    sent = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    answer = httpx.request(method, server.url + BASE + path, content=json.dumps(body), headers=sent)
    return answer.status_code, answer.json()


@pytest.mark.parametrize(
    ("resource", "kind", "annotation", "why"),
    [
        ("daemonsets", "DaemonSet", GENERATION, SYNTAX),
        ("deployments", "Deployment", ROLLBACK, f"failed to parse annotation[{ROLLBACK}]=abc as int64: {SYNTAX}"),
    ],
)
def test_what_is_no_number_cannot_be_read(server: Handle, resource: str, kind: str, annotation: str, why: str) -> None:
    path = f"/{resource}/refused"
    status, answer = ask(server, "POST", f"/{resource}", workload("refused", annotation, "abc"))
    assert (status, answer["message"]) == (400, f'{kind} in version "v1" cannot be handled as a {kind}: {why}')
    assert ask(server, "POST", f"/{resource}", workload("refused", annotation, "3"))[0] == 201
    status, answer = ask(server, "PUT", path, workload("refused", annotation, "abc"))
    assert (status, answer["message"]) == (400, f'{kind} in version "v1" cannot be handled as a {kind}: {why}')
    patch = {"metadata": {"annotations": {annotation: "abc"}}}
    status, answer = ask(server, "PATCH", path, patch, Content_Type=MERGE)
    assert (status, answer["details"]["causes"][0]["field"]) == (422, "patch")
    assert answer["message"].endswith(why)
    status, answer = ask(server, "PATCH", path, patch, Content_Type=STRATEGIC)
    assert (status, answer["message"], "reason" in answer) == (500, why, False)
    applied = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "refused", **patch["metadata"]}}
    path = f"{path}?fieldManager=m&force=true"
    status, answer = ask(server, "PATCH", path, applied, Content_Type="application/apply-patch+yaml")
    expected = f"failed to convert to unversioned (/refused; apps/v1, Kind={kind}): {why}"
    assert (status, answer["message"]) == (500, expected)


@pytest.mark.parametrize(
    ("resource", "annotation", "text", "shown"),
    [
        ("daemonsets", GENERATION, "+7", "7"),
        ("daemonsets", GENERATION, "-7", "1"),
        ("daemonsets", GENERATION, "007", "7"),
        ("deployments", ROLLBACK, "+07", "7"),
        ("deployments", ROLLBACK, "0", "0"),
        ("deployments", ROLLBACK, "", None),
    ],
)
def test_a_number_is_shown_as_numbers_are_written(
    server: Handle, resource: str, annotation: str, text: str, shown: str | None
) -> None:
    status, created = ask(server, "POST", f"/{resource}?dryRun=All", workload("shown", annotation, text))
    assert (status, created["metadata"].get("annotations")) == (201, None if shown is None else {annotation: shown})


def test_metadata_alone_does_not_have_the_number(server: Handle) -> None:
    form = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    body = workload("partial", ROLLBACK, "7")
    body["metadata"]["annotations"]["other"] = "x"
    status, created = ask(server, "POST", "/deployments?dryRun=All", body, Accept=form)
    assert (status, created["metadata"]["annotations"]) == (201, {"other": "x"})

"""Events are one stored thing with two views: clients of events.k8s.io say more, and select by other names."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle, RequestFailed

CORE = "/api/v1/namespaces/default/events"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server() as handle:
        yield handle


def event(name: str, **fields: Any) -> Any:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "default"},
        "eventTime": "2026-01-01T00:00:00.000001Z",
        "reportingController": "example.com/controller",
        "reportingInstance": "i",
        "action": "Testing",
        "reason": "Tested",
        "type": "Normal",
        "note": "it worked",
        "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
        **fields,
    }


def refused(server: Handle, method: str, path: str, body: Any) -> str:
    with pytest.raises(RequestFailed) as failure:
        server.request(method, path, body)
    assert failure.value.status == 422
    return str(failure.value)


def test_a_new_event_is_complete_and_leaves_old_fields_alone(server: Handle) -> None:
    server.request("POST", EVENTS, event("complete"))
    body = event("wrong", eventTime=None, type="Strange", deprecatedCount=2, series={"count": 1})
    text = refused(server, "POST", EVENTS, body)
    for part in (
        'series.count: Invalid value: \\"\\": should be at least 2',
        "series.lastObservedTime: Required value",
        "eventTime: Required value",
        'type: Invalid value: \\"\\": has invalid value: Strange',
        'count: Invalid value: \\"\\": needs to be unset',
    ):
        assert part in text


def test_an_event_of_events_k8s_io_has_the_metadata_of_other_kinds(server: Handle) -> None:
    text = refused(server, "POST", EVENTS, event("Bad_Name"))
    assert 'metadata.name: Invalid value: \\"Bad_Name\\": a lowercase RFC 1123 subdomain must' in text
    body = event("held")
    body["metadata"]["finalizers"] = ["unqualified"]
    assert "metadata.finalizers[0]: Invalid value" in refused(server, "POST", EVENTS, body)


def test_the_reporting_controller_is_called_as_the_client_knows_it(server: Handle) -> None:
    assert "reportingController: Required value" in refused(
        server, "POST", EVENTS, event("unreported", reportingController="")
    )
    legacy = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "unreported"},
        "eventTime": "2026-01-01T00:00:00.000001Z",
        "involvedObject": {"namespace": "default"},
    }
    assert "reportingComponent: Required value" in refused(server, "POST", CORE, legacy)


def test_an_event_of_the_core_group_may_be_poor(server: Handle) -> None:
    legacy = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "poor"},
        "involvedObject": {"namespace": "default"},
        "count": 3,
    }
    assert server.request("POST", CORE, legacy)["count"] == 3
    assert server.request("GET", f"{EVENTS}/poor")["deprecatedCount"] == 3


def test_an_update_changes_the_series_only(server: Handle) -> None:
    stored = server.request("POST", EVENTS, event("series"))
    body = copy.deepcopy(stored)
    body["series"] = {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}
    updated = server.request("PUT", f"{EVENTS}/series", body)
    assert updated["series"]["count"] == 2
    text = refused(server, "PUT", f"{EVENTS}/series", {**updated, "note": "no", "reportingController": "other.io/c"})
    assert 'message: Invalid value: \\"no\\": field is immutable' in text
    assert 'reportingController: Invalid value: \\"other.io/c\\": field is immutable' in text
    moved = {**updated, "regarding": {"kind": "Pod", "name": "q", "namespace": "default"}}
    moved.pop("note")
    text = refused(server, "PUT", f"{EVENTS}/series", moved)
    assert 'involvedObject: Invalid value: {\\"Kind\\":\\"Pod\\",\\"Namespace\\":\\"default\\",' in text
    assert 'message: Invalid value: \\"\\": field is immutable' in text
    changed = {**server.request("GET", f"{CORE}/series"), "message": "yes"}
    assert server.request("PUT", f"{CORE}/series", changed)["message"] == "yes"


def test_each_group_selects_by_its_own_labels(server: Handle) -> None:
    server.request("POST", EVENTS, event("chosen", regarding={"kind": "Node", "name": "n", "namespace": "default"}))
    for path, label in ((EVENTS, "regarding.kind"), (CORE, "involvedObject.kind")):
        found = server.request("GET", f"{path}?fieldSelector={label}%3DNode")
        assert [item["metadata"]["name"] for item in found["items"]] == ["chosen"]
    found = server.request("GET", f"{EVENTS}?fieldSelector=reportingController%3Dnobody,metadata.name%3Dchosen")
    assert found["items"] == []
    for path, label in ((CORE, "regarding.kind"), (EVENTS, "involvedObject.kind"), (EVENTS, "source")):
        with pytest.raises(RequestFailed) as failure:
            server.request("GET", f"{path}?fieldSelector={label}%3DNode")
        assert failure.value.status == 400
        assert f"field label not supported: {label}" in str(failure.value)


def test_events_are_read_as_from_a_database(server: Handle) -> None:
    for name in ("page-a", "page-b"):
        server.request("POST", EVENTS, event(name))
    page = server.request("GET", f"{CORE}?resourceVersion=0&limit=1")
    assert len(page["items"]) == 1
    assert page["metadata"]["continue"]
    for path in (f"{CORE}?resourceVersion=999999999", f"{CORE}/page-a?resourceVersion=999999999"):
        with pytest.raises(RequestFailed) as failure:
            server.request("GET", path)
        assert failure.value.status == 504
        assert "ResourceVersionTooLarge" in str(failure.value)
        assert "retryAfterSeconds" not in str(failure.value)


def test_refusals_and_answers_name_the_resource_that_was_asked_for(server: Handle) -> None:
    server.request("POST", EVENTS, event("named"))
    with pytest.raises(RequestFailed) as failure:
        server.request("POST", EVENTS, event("named"))
    assert 'events.events.k8s.io \\"named\\" already exists' in str(failure.value)
    assert server.request("DELETE", f"{EVENTS}/named")["details"]["group"] == "events.k8s.io"
    for path, resource in ((EVENTS, "events.events.k8s.io"), (CORE, "events")):
        with pytest.raises(RequestFailed) as failure:
            server.request("GET", f"{path}/named")
        assert f'"{resource} \\"named\\" not found"' in str(failure.value)

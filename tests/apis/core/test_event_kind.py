"""Events as the core group has them."""

from typing import Any

import pytest
from kind_writer import BEHAVIORS, create, created, row

from watchkeeper.meta.gvk import GroupKind


def event(**fields: Any) -> Any:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "ns"},
        **fields,
    }


RECENT = {
    "eventTime": "1970-01-01T00:00:10.000000Z",
    "reportingComponent": "example.com/c",
    "reportingInstance": "i",
    "action": "Doing",
    "reason": "Done",
}


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        (
            {"involvedObject": {}},
            ['involvedObject.namespace: Invalid value: "": does not match event.namespace'],
        ),
        (
            {"involvedObject": {"namespace": "other"}},
            ['involvedObject.namespace: Invalid value: "other": does not match event.namespace'],
        ),
        (RECENT, []),
        (
            {**RECENT, "action": "", "reason": "x" * 129},
            ["action: Required value", 'reason: Invalid value: "": can have at most 128 characters'],
        ),
        ({**RECENT, "message": "x" * 1025}, ['message: Invalid value: "": can have at most 1024 characters']),
    ],
)
def test_what_an_event_must_say(fields: Any, errors: list[str]) -> None:
    assert create(event(**fields)).errors == errors


def test_events_are_selected_by_what_they_are_about() -> None:
    behavior = BEHAVIORS.of(GroupKind("", "Event"))
    assert behavior.selectable_fields is not None
    fields = behavior.selectable_fields(created(event(reason="Done", type="Normal", source={"component": "c"})))
    assert fields["involvedObject.kind"] == "Pod"
    assert (fields["reason"], fields["source"], fields["type"]) == ("Done", "c", "Normal")
    recent = behavior.selectable_fields(created(event(**RECENT)))
    assert (recent["reportingComponent"], recent["source"]) == ("example.com/c", "example.com/c")


def test_the_table_shows_when_an_event_was_last_seen() -> None:
    old = event(
        type="Normal",
        reason="Done",
        message=" it worked\n",
        source={"component": "c", "host": "h"},
        firstTimestamp="1970-01-01T00:00:00Z",
        lastTimestamp="1970-01-01T00:00:50Z",
        count=3,
    )
    assert row(created(old), 60.0) == {
        "Last Seen": "10s",
        "Type": "Normal",
        "Reason": "Done",
        "Object": "pod/p",
        "Subobject": "",
        "Source": "c, h",
        "Message": "it worked",
        "First Seen": "60s",
        "Count": 3,
        "Name": "e",
    }
    series = event(**RECENT, series={"count": 5, "lastObservedTime": "1970-01-01T00:00:40.000000Z"})
    shown = row(created(series), 60.0)
    assert (shown["Last Seen"], shown["First Seen"], shown["Count"]) == ("20s", "50s", 5)
    assert shown["Source"] == "example.com/c, i"

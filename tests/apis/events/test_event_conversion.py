import copy

from watchkeeper.apis.builtin import builtin_scheme
from watchkeeper.meta.gvk import GroupVersionKind

SCHEME = builtin_scheme()
CORE = GroupVersionKind("", "v1", "Event")
EVENTS = GroupVersionKind("events.k8s.io", "v1", "Event")


def test_an_event_shows_under_other_names_and_comes_back_unchanged() -> None:
    core = SCHEME.kind(CORE).decode(
        {
            "kind": "Event",
            "apiVersion": "v1",
            "metadata": {"name": "a"},
            "involvedObject": {"kind": "Pod", "name": "p"},
            "message": "it started",
            "reason": "Started",
            "source": {"component": "tester"},
            "firstTimestamp": "2024-01-01T00:00:00Z",
            "count": 2,
            "reportingComponent": "c",
            "series": {"count": 3, "lastObservedTime": "2024-01-01T00:00:00.000001Z"},
        },
        None,
    )
    shown = SCHEME.convert(copy.deepcopy(core), EVENTS)
    assert shown == {
        "kind": "Event",
        "apiVersion": "events.k8s.io/v1",
        "metadata": {"name": "a"},
        "regarding": {"kind": "Pod", "name": "p"},
        "note": "it started",
        "reason": "Started",
        "deprecatedSource": {"component": "tester"},
        "deprecatedFirstTimestamp": "2024-01-01T00:00:00Z",
        "deprecatedLastTimestamp": None,
        "deprecatedCount": 2,
        "eventTime": None,
        "reportingController": "c",
        "series": {"count": 3, "lastObservedTime": "2024-01-01T00:00:00.000001Z"},
    }
    assert SCHEME.to_hub(shown) == core

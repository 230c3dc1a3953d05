"""Whatever an Event is made of, it survives being shown and written at the other of its groups."""

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.apis.builtin import builtin_scheme
from watchkeeper.meta.gvk import GroupVersionKind

Object = dict[str, Any]
SCHEME = builtin_scheme()
CORE = GroupVersionKind("", "v1", "Event")
EVENTS = GroupVersionKind("events.k8s.io", "v1", "Event")


def some(required: dict[str, Any], **optional: Any) -> Any:
    return st.fixed_dictionaries(required, optional=optional)


names = st.text("abcxyz-", min_size=1, max_size=6)
texts = st.text(min_size=1, max_size=8)
times = st.sampled_from(["2024-01-01T00:00:00Z", "2026-02-03T04:05:06Z"])
exact_times = st.sampled_from(["2024-01-01T00:00:00.000001Z", "2026-02-03T04:05:06.700000Z"])
references = some(
    {}, apiVersion=names, kind=names, name=names, namespace=names, uid=names, resourceVersion=names, fieldPath=texts
)
sources = some({}, component=names, host=names)
series = st.fixed_dictionaries({"count": st.integers(1, 99), "lastObservedTime": exact_times})
both = {
    "reason": names,
    "type": st.sampled_from(["Normal", "Warning"]),
    "eventTime": exact_times,
    "series": series,
    "action": names,
    "related": references,
    "reportingInstance": names,
}
metadata = some({"name": names, "namespace": names}, labels=st.dictionaries(names, texts, min_size=1, max_size=2))
core = some(
    {"metadata": metadata, "involvedObject": references},
    **both,
    message=texts,
    source=sources,
    firstTimestamp=times,
    lastTimestamp=times,
    count=st.integers(1, 99),
    reportingComponent=names,
)
events = some(
    {"metadata": metadata},
    **both,
    regarding=references,
    note=texts,
    deprecatedSource=sources,
    deprecatedFirstTimestamp=times,
    deprecatedLastTimestamp=times,
    deprecatedCount=st.integers(1, 99),
    reportingController=names,
)


def decoded(gvk: GroupVersionKind, obj: Object) -> Object:
    found: Object = SCHEME.kind(gvk).decode(
        {"kind": gvk.kind, "apiVersion": gvk.api_version, **copy.deepcopy(obj)}, None
    )
    return found


@given(core)
def test_a_stored_event_survives_being_written_back_through_events_k8s_io(obj: Object) -> None:
    stored = decoded(CORE, obj)
    shown = SCHEME.convert(copy.deepcopy(stored), EVENTS)
    assert shown["apiVersion"] == "events.k8s.io/v1"
    assert not {"involvedObject", "message", "source", "firstTimestamp", "count"} & set(shown)
    assert SCHEME.to_hub(decoded(EVENTS, shown)) == stored


@given(events)
def test_an_event_of_events_k8s_io_is_shown_as_it_was_written(obj: Object) -> None:
    written = decoded(EVENTS, obj)
    stored = SCHEME.to_hub(copy.deepcopy(written))
    assert stored["apiVersion"] == "v1"
    assert SCHEME.convert(decoded(CORE, stored), EVENTS) == written

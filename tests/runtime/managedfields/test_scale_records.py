from __future__ import annotations

from typing import Any

import pytest

from watchkeeper.meta.errors import ApiError
from watchkeeper.runtime.managedfields import REPLICAS_PATH, ScaleRecord

Entry = dict[str, Any]

PATHS = {"apps/v1": REPLICAS_PATH, "apps/v0": None}
SCALED = {"f:spec": {"f:replicas": {}}}


def entry(manager: str, operation: str, api_version: str, fields: Any, **more: str) -> Entry:
    found = {"manager": manager, "operation": operation, "apiVersion": api_version, "time": "2026-01-01T00:00:00Z"}
    return {**found, "fieldsType": "FieldsV1", "fieldsV1": fields, **more}


def record(*entries: Entry) -> ScaleRecord:
    return ScaleRecord(list(entries), "apps/v1", PATHS)


MAKER = entry("maker", "Update", "apps/v1", {"f:spec": {"f:paused": {}, "f:replicas": {}}})
APPLIER = entry("one", "Apply", "apps/v1", {"f:spec": {"f:replicas": {}}})
OTHER = entry("other", "Apply", "apps/v1", {"f:spec": {"f:paused": {}}})


def test_only_who_owns_the_replicas_owns_a_part_of_the_scale() -> None:
    found = record(MAKER, APPLIER, OTHER).to_scale()
    assert found == [
        entry("one", "Apply", "autoscaling/v1", SCALED),
        entry("maker", "Update", "autoscaling/v1", SCALED),
    ]


def test_who_still_owns_the_scale_keeps_the_replicas() -> None:
    kept = record(APPLIER, OTHER)
    assert kept.to_object(kept.to_scale()) == [APPLIER, OTHER]


def test_who_takes_the_scale_takes_the_replicas() -> None:
    scaler = entry("scaler", "Update", "autoscaling/v1", SCALED, subresource="scale")
    found = record(MAKER, APPLIER, OTHER).to_object([scaler])
    assert [(e["manager"], e["fieldsV1"], e.get("subresource")) for e in found] == [
        ("other", {"f:spec": {"f:paused": {}}}, None),
        ("scaler", SCALED, "scale"),
        ("maker", {"f:spec": {"f:paused": {}}}, None),
    ]
    assert found[1]["apiVersion"] == "apps/v1"
    assert "time" not in found[1]


def test_versions_without_a_scale_keep_their_record_and_unknown_ones_lose_it() -> None:
    old = entry("old", "Update", "apps/v0", {"f:spec": {"f:replicas": {}}})
    gone = entry("gone", "Update", "extensions/v1", {"f:spec": {"f:replicas": {}}})
    kept = record(old, gone)
    assert kept.to_scale() == []
    assert kept.to_object([]) == [old]


def test_a_record_that_cannot_be_understood_is_a_failure() -> None:
    with pytest.raises(ApiError) as raised:
        record({**MAKER, "operation": "Replace"})
    assert (raised.value.code, raised.value.message) == (500, "operation must be `Apply` or `Update`")

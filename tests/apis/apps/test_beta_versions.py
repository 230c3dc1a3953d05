"""apps/v1beta1 and apps/v1beta2: what they fill in, and that nothing is lost between them and apps/v1."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kind_writer import SCHEME, create, read

from watchkeeper.apis.apps.beta_schemas import KINDS, beta
from watchkeeper.apis.apps.rollback import ROLLBACK_TO, request_rollback, validate_rollback
from watchkeeper.apis.protobuf import object_of
from watchkeeper.meta.gvk import GroupVersionKind

Object = dict[str, Any]
HUB_SCALE = GroupVersionKind("autoscaling", "v1", "Scale")
LABELS = {"app": "web"}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "i"}]}}

names = st.text("abcxyz", min_size=1, max_size=5)
labels = st.dictionaries(names, names, max_size=3)
counts = st.integers(0, 5)
whole_or_part = st.one_of(counts, st.integers(0, 100).map(lambda n: f"{n}%"))
strategies = st.one_of(
    st.just({"type": "Recreate"}),
    st.fixed_dictionaries(
        {"type": st.just("RollingUpdate")},
        optional={
            "rollingUpdate": st.fixed_dictionaries(
                {}, optional={"maxSurge": whole_or_part, "maxUnavailable": whole_or_part}
            )
        },
    ),
)
metadata = st.fixed_dictionaries({"name": names}, optional={"labels": labels, "annotations": labels})
deployment_specs = st.fixed_dictionaries(
    {"template": st.just(TEMPLATE)},
    optional={
        "replicas": counts,
        "selector": labels.map(lambda found: {"matchLabels": found}),
        "strategy": strategies,
        "minReadySeconds": counts,
        "revisionHistoryLimit": counts,
        "paused": st.booleans(),
        "progressDeadlineSeconds": counts,
    },
)
statuses = st.fixed_dictionaries(
    {}, optional={"replicas": counts, "observedGeneration": counts, "collisionCount": counts}
)
rollbacks = st.fixed_dictionaries({}, optional={"revision": st.integers(0, 2**63 - 1)})


def at(version: str, kind: str, **parts: Any) -> Object:
    return {"kind": kind, "apiVersion": f"apps/{version}", **parts}


def decoded(obj: Object) -> Object:
    """As the server has it, defaults included."""
    kind = SCHEME.kind(beta(obj["apiVersion"].partition("/")[2], obj["kind"]))
    found: Object = kind.decode(copy.deepcopy(obj), None)
    if kind.default is not None:
        kind.default(found)
    return found


def round_trip(obj: Object, through: GroupVersionKind, back: GroupVersionKind) -> Object:
    found: Object = SCHEME.convert(SCHEME.convert(copy.deepcopy(obj), through), back)
    return found


@given(meta=metadata, spec=deployment_specs, status=statuses, rollback=st.none() | rollbacks)
def test_a_deployment_of_v1beta1_survives_storage(
    meta: Object, spec: Object, status: Object, rollback: Object | None
) -> None:
    if rollback is not None:
        spec = {**spec, "rollbackTo": rollback}
    obj = decoded(at("v1beta1", "Deployment", metadata=meta, spec=spec, status=status))
    assert round_trip(obj, beta("v1", "Deployment"), beta("v1beta1", "Deployment")) == obj
    assert obj["spec"].get("rollbackTo") == rollback or rollback == {"revision": 0}


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
@given(meta=metadata, spec=deployment_specs, status=statuses, revision=st.none() | st.integers(-5, 2**63 - 1))
def test_a_stored_deployment_survives_each_version(
    version: str, meta: Object, spec: Object, status: Object, revision: int | None
) -> None:
    if revision is not None:
        meta = {**meta, "annotations": {**meta.get("annotations", {}), ROLLBACK_TO: str(revision)}}
    obj = decoded(at("v1", "Deployment", metadata=meta, spec={"selector": None, **spec}, status=status))
    assert round_trip(obj, beta(version, "Deployment"), beta("v1", "Deployment")) == obj


@given(replicas=counts, selector=labels, extra=st.sampled_from(["", "tier in (a)", "tier notin (a,b)", "!gone"]))
def test_a_scale_tells_of_its_selector_in_two_forms(replicas: int, selector: dict[str, str], extra: str) -> None:
    text = ",".join([*(f"{name}={value}" for name, value in sorted(selector.items())), *([extra] if extra else [])])
    status: Object = {"replicas": replicas, **({"selector": text} if text else {})}
    hub = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "x"}, "spec": {}, "status": status}
    for version in KINDS:
        shown = SCHEME.convert(copy.deepcopy(hub), beta(version, "Scale"))
        assert shown["status"].get("targetSelector", "") == text
        assert shown["status"].get("selector") == (selector if selector and not extra else None)
        assert SCHEME.convert(shown, HUB_SCALE)["status"].get("selector", "") == text


def test_a_scale_with_labels_alone_selects_by_them() -> None:
    scale = at(
        "v1beta2", "Scale", metadata={"name": "x"}, spec={}, status={"replicas": 1, "selector": {"b": "2", "a": "1"}}
    )
    assert SCHEME.convert(scale, HUB_SCALE)["status"]["selector"] == "a=1,b=2"


@pytest.mark.parametrize(
    ("version", "history", "labeled"), [("v1beta1", 2, True), ("v1beta2", 10, False), ("v1", 10, False)]
)
def test_deployments_are_filled_in_as_their_version_does(version: str, history: int, labeled: bool) -> None:
    obj = decoded(at(version, "Deployment", metadata={"name": "x"}, spec={"template": TEMPLATE}))
    spec = obj["spec"]
    assert spec["revisionHistoryLimit"] == history
    assert spec["progressDeadlineSeconds"] == 600
    assert spec["strategy"]["rollingUpdate"] == {"maxUnavailable": "25%", "maxSurge": "25%"}
    assert spec.get("selector") == ({"matchLabels": LABELS} if labeled else None)
    assert obj["metadata"].get("labels") == (LABELS if labeled else None)


def test_labels_and_selectors_of_ones_own_are_kept_by_v1beta1() -> None:
    spec = {"template": TEMPLATE, "selector": {"matchLabels": {"mine": "1"}}}
    obj = decoded(at("v1beta1", "Deployment", metadata={"name": "x", "labels": {"own": "1"}}, spec=spec))
    assert obj["spec"]["selector"] == {"matchLabels": {"mine": "1"}}
    assert obj["metadata"]["labels"] == {"own": "1"}


@pytest.mark.parametrize(("version", "strategy"), [("v1beta1", "OnDelete"), ("v1beta2", "RollingUpdate")])
def test_stateful_sets_are_updated_as_their_version_says(version: str, strategy: str) -> None:
    obj = read(at(version, "StatefulSet", metadata={"name": "x"}, spec={"template": TEMPLATE, "serviceName": "s"}))
    assert obj["spec"]["updateStrategy"]["type"] == strategy


def test_every_kind_has_a_warning_that_names_its_successor() -> None:
    for version, kinds in KINDS.items():
        for kind in (*kinds, "Scale"):
            warning = SCHEME.kind(beta(version, kind)).warning
            assert warning.startswith(f"apps/{version} {kind} is deprecated in v1.")
            assert f"use {'autoscaling' if kind == 'Scale' else 'apps'}/v1 {kind}" in warning


def test_a_request_to_roll_back_is_judged_and_noted() -> None:
    assert [
        str(e.field) for e in validate_rollback({"rollbackTo": {"revision": -1}, "updatedAnnotations": {"-": ""}})
    ] == [
        "updatedAnnotations",
        "name",
        "rollback.version",
    ]
    obj: Object = {"metadata": {"name": "x", "annotations": {"a": "1", "b": "1"}}}
    request_rollback(obj, {"name": "x", "updatedAnnotations": {"b": "2"}, "rollbackTo": {"revision": 7}})
    assert obj["metadata"]["annotations"] == {"a": "1", "b": "2", ROLLBACK_TO: "7"}


def test_protobuf_of_the_old_versions_is_read() -> None:
    name, spec = b"\x0a\x01x", b"\x42\x02\x08\x05"  # rollbackTo is field 8 of v1beta1's spec
    message = b"\x0a" + bytes([len(name)]) + name + b"\x12" + bytes([len(spec)]) + spec
    for version, expected in (("v1beta1", {"rollbackTo": {"revision": 5}}), ("v1beta2", {})):
        kind = f"\x0a\x0capps/{version}\x12\x0aDeployment".encode()
        data = b"k8s\0\x0a" + bytes([len(kind)]) + kind + b"\x12" + bytes([len(message)]) + message
        assert object_of(data)["spec"] == expected


def test_a_revision_is_judged_at_every_version() -> None:
    old = at(
        "v1beta1", "Deployment", metadata={"name": "x"}, spec={"template": TEMPLATE, "rollbackTo": {"revision": -1}}
    )
    new = at(
        "v1",
        "Deployment",
        metadata={"name": "x", "annotations": {ROLLBACK_TO: "-1"}},
        spec={"template": TEMPLATE, "selector": {"matchLabels": LABELS}},
    )
    for obj in (old, new):
        assert create(obj).errors == ["spec.rollback.version: Invalid value: -1: must be greater than or equal to 0"]

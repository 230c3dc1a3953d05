"""What a DELETE does is decided from the object's state and the options alone."""

from __future__ import annotations

from typing import Any

import pytest

from watchkeeper.apis.behavior import KindBehavior
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind
from watchkeeper.registry.deletion import Outcome, decide, removed_by_update
from watchkeeper.registry.rest import DeleteOptions

KIND = GroupVersionKind("", "v1", "ConfigMap")
PLAIN = KindBehavior(kind=GroupKind("", "ConfigMap"))
GRACEFUL = KindBehavior(
    kind=GroupKind("", "Pod"), grace_period=lambda obj, options: options.get("gracePeriodSeconds", 30)
)


def obj(**metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a", "uid": "u", "resourceVersion": "7", **metadata}}


def test_an_object_that_nothing_holds_is_removed() -> None:
    assert decide(obj(), DeleteOptions(), PLAIN, KIND).outcome is Outcome.REMOVE


def test_a_finalizer_holds_it_and_it_is_marked() -> None:
    decision = decide(obj(finalizers=["x/y"], generation=3), DeleteOptions(), PLAIN, KIND)
    assert decision.outcome is Outcome.MARK
    assert decision.metadata is not None
    assert decision.metadata["deletionGracePeriodSeconds"] == 0
    assert decision.metadata["generation"] == 4
    assert decision.metadata["deletionTimestamp"].endswith("Z")


def test_the_policy_puts_the_collectors_finalizer_in() -> None:
    for policy, finalizer in (("Foreground", "foregroundDeletion"), ("Orphan", "orphan")):
        decision = decide(obj(finalizers=["x/y"]), DeleteOptions(propagation_policy=policy), PLAIN, KIND)
        assert decision.metadata is not None
        assert decision.metadata["finalizers"] == ["x/y", finalizer]


def test_background_takes_the_collectors_finalizers_out() -> None:
    options = DeleteOptions(propagation_policy="Background")
    decision = decide(obj(finalizers=["orphan", "x/y"]), options, PLAIN, KIND)
    assert decision.metadata is not None
    assert decision.metadata["finalizers"] == ["x/y"]


def test_a_kind_that_orphans_by_default_is_held_until_that_is_done() -> None:
    behavior = KindBehavior(kind=GroupKind("", "ReplicationController"), default_propagation="Orphan")
    decision = decide(obj(), DeleteOptions(), behavior, KIND)
    assert decision.metadata is not None
    assert decision.metadata["finalizers"] == ["orphan"]


def test_grace_is_given_once_and_only_shortened() -> None:
    first = decide(obj(generation=1), DeleteOptions(), GRACEFUL, KIND)
    assert first.outcome is Outcome.MARK
    assert first.metadata is not None
    assert (first.metadata["deletionGracePeriodSeconds"], first.metadata["generation"]) == (30, 2)
    again = {"metadata": first.metadata}
    assert decide(again, DeleteOptions(), GRACEFUL, KIND).outcome is Outcome.PENDING
    assert decide(again, DeleteOptions(grace_period_seconds=60), GRACEFUL, KIND).outcome is Outcome.PENDING
    shorter = decide(again, DeleteOptions(grace_period_seconds=5), GRACEFUL, KIND)
    assert shorter.outcome is Outcome.MARK
    assert shorter.metadata is not None
    assert (shorter.metadata["deletionGracePeriodSeconds"], shorter.metadata["generation"]) == (5, 2)


def test_no_grace_marks_and_removes() -> None:
    decision = decide(obj(), DeleteOptions(grace_period_seconds=0), GRACEFUL, KIND)
    assert decision.outcome is Outcome.MARK_AND_REMOVE


def test_negative_grace_is_one_second() -> None:
    decision = decide(obj(), DeleteOptions(grace_period_seconds=-5), GRACEFUL, KIND)
    assert decision.metadata is not None
    assert decision.metadata["deletionGracePeriodSeconds"] == 1


def test_a_precondition_that_does_not_hold_is_a_conflict() -> None:
    with pytest.raises(ApiError, match=r"the UID in the precondition \(other\) does not match") as caught:
        decide(obj(), DeleteOptions(uid="other"), PLAIN, KIND)
    assert caught.value.code == 409
    with pytest.raises(ApiError, match=r"the ResourceVersion in the precondition \(6\) does not match"):
        decide(obj(), DeleteOptions(resource_version="6"), PLAIN, KIND)


def test_the_last_finalizer_taken_off_ends_what_is_due_to_go() -> None:
    due = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}
    assert removed_by_update({}, due)
    assert not removed_by_update({"finalizers": ["x/y"]}, due)
    assert not removed_by_update({}, {})
    assert not removed_by_update({}, {**due, "deletionGracePeriodSeconds": 30})


def test_what_has_no_time_left_is_ended_by_whoever_deletes_it_again() -> None:
    due = obj(deletionTimestamp="2026-01-01T00:00:00Z", deletionGracePeriodSeconds=0)
    assert decide(due, DeleteOptions(), GRACEFUL, KIND).outcome is Outcome.REMOVE
    due["metadata"]["finalizers"] = ["x/y"]
    decision = decide(due, DeleteOptions(propagation_policy="Orphan"), GRACEFUL, KIND)
    assert decision.outcome is Outcome.MARK
    assert decision.metadata is not None
    assert decision.metadata["finalizers"] == ["x/y", "orphan"]
    assert decision.metadata["deletionTimestamp"] == "2026-01-01T00:00:00Z"


def test_a_shorter_grace_does_not_end_in_the_past() -> None:
    due = obj(deletionTimestamp="2026-01-01T00:00:30Z", deletionGracePeriodSeconds=30)
    decision = decide(due, DeleteOptions(grace_period_seconds=20), GRACEFUL, KIND)
    assert decision.outcome is Outcome.MARK
    assert decision.metadata is not None
    assert decision.metadata["deletionTimestamp"] > "2026-01-02"
    assert decision.metadata["deletionGracePeriodSeconds"] == 1


def test_finalizers_keep_their_order_when_the_policy_asks_for_those_that_are_there() -> None:
    decision = decide(obj(finalizers=["orphan", "x/y"]), DeleteOptions(propagation_policy="Orphan"), PLAIN, KIND)
    assert decision.metadata is not None
    assert decision.metadata["finalizers"] == ["orphan", "x/y"]


def test_no_policy_holds_a_kind_that_the_collector_knows_nothing_of() -> None:
    event = KindBehavior(kind=GroupKind("", "Event"), default_propagation="Unsupported")
    for policy in ("Foreground", "Orphan"):
        assert decide(obj(), DeleteOptions(propagation_policy=policy), event, KIND).outcome is Outcome.REMOVE

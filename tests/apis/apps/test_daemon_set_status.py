"""The status of DaemonSets, and what comes with it."""

import copy
from typing import Any

from kind_writer import BEHAVIORS, created

from watchkeeper.meta.gvk import GroupKind

GENERATION = "deprecated.daemonset.template.generation"


def test_status_writers_leave_the_generation_of_the_template_alone() -> None:
    labels = {"app": "a"}
    old = created(
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": "d"},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
            },
        }
    )
    assert old["metadata"]["annotations"][GENERATION] == "1"
    prepare = BEHAVIORS.of(GroupKind("apps", "DaemonSet")).prepare_for_status_update
    assert prepare is not None
    written: dict[str, str]
    for written in ({}, {GENERATION: "7"}):
        changed: Any = copy.deepcopy(old)
        changed["metadata"]["annotations"] = {"mine": "yes", **written}
        prepare(changed, old)
        assert changed["metadata"]["annotations"] == {"mine": "yes", GENERATION: "1"}

from __future__ import annotations

import copy
from typing import Any

import pytest
from kind_writer import BEHAVIORS, create, created, pod, read, update

from watchkeeper.apis.core import pod_eviction
from watchkeeper.apis.core.pod_binding import BindingError, bind, validate_binding
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupKind

NOW = "2024-01-01T00:00:00Z"
PARTS = BEHAVIORS.of(GroupKind("", "Pod")).extra["subresources"]


def change(part: str, old: Any, body: Any) -> tuple[Any, list[str]]:
    new = read(body)
    new["metadata"] = {**copy.deepcopy(old["metadata"]), **new["metadata"]}
    PARTS[part].prepare(new, old)
    return new, [f"{e.field}: {e.body()}" for e in PARTS[part].validate(new, old)]


def budget(**status: Any) -> Any:
    meta = {"name": "keep", "generation": 1}
    return {"metadata": meta, "spec": {"selector": {"matchLabels": {"app": "x"}}}, "status": status}


def binding(node: str = "n", **metadata: Any) -> Any:
    return {"metadata": {"name": "a", **metadata}, "target": {"kind": "Node", "name": node}}


def test_a_binding_sets_the_node_and_says_so() -> None:
    obj = created(pod(metadata={"annotations": {"a": "1", "b": "1"}}))
    bind(obj, binding(annotations={"b": "2"}), NOW)
    assert obj["spec"]["nodeName"] == "n"
    assert obj["metadata"]["annotations"] == {"a": "1", "b": "2"}
    assert obj["status"]["conditions"] == [
        {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": NOW}
    ]
    with pytest.raises(BindingError, match='pod a is already assigned to node "n"'):
        bind(obj, binding("other"), NOW)


def test_gated_and_leaving_pods_are_not_bound() -> None:
    gated = created(pod(schedulingGates=[{"name": "g"}]))
    with pytest.raises(BindingError, match=r"pod a has non-empty \.spec\.schedulingGates"):
        bind(gated, binding(), NOW)
    leaving = created(pod())
    leaving["metadata"]["deletionTimestamp"] = NOW
    with pytest.raises(BindingError, match="pod a is being deleted, cannot be assigned to a host"):
        bind(leaving, binding(), NOW)


def test_bindings_are_to_nodes() -> None:
    errors = [str(e) for e in validate_binding({"target": {"kind": "Pod"}})]
    assert errors == [
        'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
        "target.name: Required value",
    ]


def test_an_eviction_is_counted_off_the_budget() -> None:
    keep = budget(observedGeneration=1, disruptionsAllowed=1, currentHealthy=2, desiredHealthy=1)
    pod_eviction.take_disruption(keep, "a", NOW)
    assert keep["status"]["disruptionsAllowed"] == 0
    assert keep["status"]["disruptedPods"] == {"a": NOW}
    [condition] = keep["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "DisruptionAllowed",
        "False",
        "InsufficientPods",
    )


@pytest.mark.parametrize(
    ("status", "cause", "headers"),
    [
        ({}, "The disruption budget keep is still being processed by the server.", ((b"retry-after", b"10"),)),
        (
            {"observedGeneration": 1, "currentHealthy": 1, "desiredHealthy": 1},
            "The disruption budget keep needs 1 healthy pods and has 1 currently",
            (),
        ),
        (
            {"observedGeneration": 1, "currentHealthy": 2, "desiredHealthy": 1},
            "The disruption budget keep does not allow evicting pods currently",
            (),
        ),
        (
            {
                "observedGeneration": 1,
                "conditions": [
                    {"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": "no scale"}
                ],
            },
            "The disruption budget keep does not allow evicting pods currently because it failed sync: no scale",
            (),
        ),
    ],
)
def test_budgets_say_why_they_refuse(status: Any, cause: str, headers: Any) -> None:
    with pytest.raises(ApiError) as refusal:
        pod_eviction.take_disruption(budget(**status), "a", NOW)
    assert refusal.value.code == 429
    assert refusal.value.headers == headers
    assert refusal.value.details is not None
    assert refusal.value.details["causes"] == [{"reason": "DisruptionBudget", "message": cause}]


def test_budgets_cover_pods_by_labels_and_leave_those_at_rest_alone() -> None:
    obj = created(pod(metadata={"labels": {"app": "x"}}))
    other = {**budget(), "spec": {"selector": {"matchLabels": {"app": "y"}}}}
    everything = {**budget(), "spec": {"selector": {}}}
    nothing = {**budget(), "spec": {}}
    assert pod_eviction.budgets_of(obj, [budget(), other, everything, nothing]) == [budget(), everything]
    assert pod_eviction.ignores_budgets(obj)
    obj["status"]["phase"] = "Running"
    assert not pod_eviction.ignores_budgets(obj)


def test_unready_pods_go_when_the_budget_is_kept_without_them() -> None:
    obj = created(pod())
    assert pod_eviction.is_not_counted(obj, budget(currentHealthy=1, desiredHealthy=1))
    assert not pod_eviction.is_not_counted(obj, budget(currentHealthy=0, desiredHealthy=1))
    always = budget()
    always["spec"]["unhealthyPodEvictionPolicy"] = "AlwaysAllow"
    assert pod_eviction.is_not_counted(obj, always)
    obj["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    assert not pod_eviction.is_not_counted(obj, always)


def test_dry_runs_of_the_request_reach_the_deletion() -> None:
    assert pod_eviction.delete_options({}, ["All"]) == {"dryRun": ["All"]}
    assert pod_eviction.delete_options({"deleteOptions": {"gracePeriodSeconds": 7}}, []) == {"gracePeriodSeconds": 7}


def test_ephemeral_containers_are_added_through_their_subresource() -> None:
    old = created(pod())
    debug = {"name": "debug", "image": "i:1", "targetContainerName": "main"}
    new, errors = change("ephemeralcontainers", old, pod(ephemeralContainers=[debug], dnsPolicy="Default"))
    assert errors == []
    assert new["spec"]["dnsPolicy"] == "ClusterFirst"
    assert new["metadata"]["generation"] == 2
    _, errors = change("ephemeralcontainers", new, pod())
    assert errors == ['spec.ephemeralContainers: Forbidden: existing ephemeral containers "debug" may not be removed\n']
    _, errors = change("ephemeralcontainers", old, pod(ephemeralContainers=[{**debug, "targetContainerName": "no"}]))
    assert errors == ['spec.ephemeralContainers[0].targetContainerName: Not found: "no"']


def sized(cpu: str, **more: Any) -> Any:
    resources = {"requests": {"cpu": cpu, **more}}
    return pod(containers=[{"name": "main", "image": "registry.example/app:1", "resources": resources}])


def test_resizes_change_resources_and_nothing_else() -> None:
    old = created(sized("1"))
    body = sized("2")
    body["spec"]["containers"][0]["image"] = "other:1"
    new, errors = change("resize", old, body)
    assert errors == []
    assert new["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "2"}}
    assert new["spec"]["containers"][0]["image"] == "registry.example/app:1"
    assert new["metadata"]["generation"] == 2


def test_resizes_keep_the_class_of_service_and_all_that_was_asked_for() -> None:
    old = created(sized("1", memory="1Gi"))
    _, errors = change("resize", old, sized("1"))
    assert errors == ["spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed"]
    _, errors = change("resize", created(sized("1")), pod())
    assert errors[0] == 'spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing'
    _, errors = change("resize", created(sized("1")), sized("1", **{"example.com/gpu": "1"}))
    assert "spec: Forbidden: only cpu and memory resources are mutable" in errors


def test_amounts_that_are_written_otherwise_are_the_same() -> None:
    old = created(sized("1", **{"ephemeral-storage": "1Gi"}))
    assert change("resize", old, sized("2", **{"ephemeral-storage": "1073741824"}))[1] == []


def test_resizes_add_no_other_resource() -> None:
    old, body = created(sized("1")), sized("1")
    resources = body["spec"]["containers"][0]["resources"]
    resources["limits"] = {"memory": "1Gi"}
    assert change("resize", old, body)[1] == []
    resources["limits"] = {"ephemeral-storage": "1Gi"}
    assert change("resize", old, body)[1] == ["spec: Forbidden: only cpu and memory resources are mutable"]


def test_resizes_of_a_whole_pod_remove_nothing_and_change_no_other_resource() -> None:
    old = created(pod(resources={"requests": {"cpu": "1", "memory": "1Gi"}}))
    _, errors = change("resize", old, pod(resources={"requests": {"cpu": "2", "memory": "1Gi"}}))
    assert errors == []
    _, errors = change("resize", old, pod(resources={"requests": {"cpu": "2"}}))
    assert errors == ["spec.resources.requests: Forbidden: pod-level resource requests cannot be removed"]
    _, errors = change("resize", old, pod(containers=old["spec"]["containers"]))
    assert errors == [
        'spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing',
        "spec.resources: Forbidden: pod-level resources cannot be removed",
    ]
    huge = {"cpu": "1", "memory": "1Gi", "hugepages-2Mi": "2Mi"}
    _, errors = change("resize", old, pod(resources={"requests": huge, "limits": {"hugepages-2Mi": "2Mi"}}))
    assert "spec: Forbidden: only cpu and memory resources are mutable at pod-level" in errors
    _, errors = change("resize", created(pod()), pod(resources={}))
    assert errors == ["spec: Forbidden: only cpu and memory resources are mutable"]


def initialized(cpu: str, more: Any = None, **fields: Any) -> Any:
    first = {"name": "first", "image": "i:1", "resources": {"requests": {"cpu": cpu, **(more or {})}}, **fields}
    return pod(initContainers=[first])


def test_containers_that_run_before_the_others_are_resized_as_well() -> None:
    for policy in ({}, {"restartPolicy": "Always"}):
        old = created(initialized("1", **policy))
        new, errors = change("resize", old, initialized("2", **policy))
        assert errors == []
        assert new["spec"]["initContainers"][0]["resources"] == {"requests": {"cpu": "2"}}
        _, errors = change("resize", old, initialized("2", {"ephemeral-storage": "1Gi"}, **policy))
        refusal = "only cpu and memory resources for init or sidecar containers are mutable"
        assert errors == [f"spec.initContainers[0]: Forbidden: {refusal}"]
        _, errors = change("resize", created(initialized("1", {"memory": "1Gi"}, **policy)), initialized("1", **policy))
        assert errors == ["spec.initContainers[0].resources.requests: Forbidden: resource requests cannot be removed"]


def test_containers_that_run_before_the_others_are_not_started_again_to_resize_them() -> None:
    restart = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
    at = "spec.initContainers[0].resizePolicy[0].restartPolicy"
    refusal = f"""{at}: Invalid value: "RestartContainer": must not be set to 'RestartContainer' for non-sidecar """
    assert create(initialized("1", resizePolicy=restart)).errors == [f"{refusal}initContainers"]
    assert create(initialized("1", resizePolicy=restart, restartPolicy="Always")).errors == []
    old = created(initialized("1"))
    old["spec"]["initContainers"][0]["resizePolicy"] = restart
    assert update(old, initialized("1", resizePolicy=restart)).errors == []
    _, errors = change("resize", old, initialized("2", resizePolicy=restart))
    assert errors == [
        "spec.initContainers[0]: Forbidden: non-sidecar init containers with a resize policy of RestartContainer "
        "cannot be resized"
    ]


def test_resizes_do_not_rename_containers() -> None:
    body = sized("2")
    body["spec"]["containers"][0]["name"] = "renamed"
    _, errors = change("resize", created(sized("1")), body)
    assert errors == ["spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize"]


def test_mirrors_of_static_pods_are_left_alone() -> None:
    mirror = {"annotations": {"kubernetes.io/config.mirror": "x"}}
    old = created(pod(metadata=mirror, nodeName="n"))
    assert change("resize", old, pod(metadata=mirror))[1] == ["[]: Forbidden: static pods cannot be resized"]
    assert change("ephemeralcontainers", old, pod(metadata=mirror))[1] == [
        "[]: Forbidden: static pods do not support ephemeral containers"
    ]


def test_ephemeral_containers_lose_what_belongs_to_features_that_are_off() -> None:
    signaled = {"name": "debug", "image": "i:1", "lifecycle": {"stopSignal": "SIGTERM"}}
    new, errors = change("ephemeralcontainers", created(pod()), pod(ephemeralContainers=[signaled]))
    assert errors == []
    assert "lifecycle" not in new["spec"]["ephemeralContainers"][0]

"""Whatever an autoscaler is made of, it survives being shown and written back at the other version."""

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.apis.builtin import builtin_scheme
from watchkeeper.meta.gvk import GroupVersionKind

Object = dict[str, Any]
SCHEME = builtin_scheme()
V1 = GroupVersionKind("autoscaling", "v1", "HorizontalPodAutoscaler")
V2 = GroupVersionKind("autoscaling", "v2", "HorizontalPodAutoscaler")


def some(required: dict[str, Any], **optional: Any) -> Any:
    return st.fixed_dictionaries(required, optional=optional)


names = st.text("abcxyz-", min_size=1, max_size=6)
labels = st.dictionaries(names, names, min_size=1, max_size=2)
counts = st.integers(0, 200)
percents = st.integers(1, 200)
quantities = st.sampled_from(["1", "500m", "2Gi", "10k", "0", "1500m"])
times = st.sampled_from(["2024-01-01T00:00:00Z", "2026-02-03T04:05:06Z"])
texts = st.text(max_size=8)
# A selector of a metric may say more than labels.
requirements = st.fixed_dictionaries(
    {"key": names, "operator": st.sampled_from(["In", "NotIn"]), "values": st.lists(names, min_size=1, max_size=2)}
)
selectors = some({}, matchLabels=labels, matchExpressions=st.lists(requirements, min_size=1, max_size=2))
identifiers = some({"name": names}, selector=selectors)
described = some({"kind": names, "name": names}, apiVersion=st.sampled_from(["v1", "apps/v1"]))

utilization = st.fixed_dictionaries({"type": st.just("Utilization"), "averageUtilization": percents})
value = st.fixed_dictionaries({"type": st.just("Value"), "value": quantities})
average = st.fixed_dictionaries({"type": st.just("AverageValue"), "averageValue": quantities})


def metric(type_: str, field: str, parts: dict[str, Any]) -> Any:
    return st.fixed_dictionaries({"type": st.just(type_), field: st.fixed_dictionaries(parts)})


resources = st.sampled_from(["memory", "example.com/widgets"])
metrics = st.one_of(
    metric("Resource", "resource", {"name": resources, "target": utilization | average}),
    metric("Resource", "resource", {"name": st.just("cpu"), "target": average}),
    metric(
        "ContainerResource",
        "containerResource",
        {"name": st.just("cpu") | resources, "container": names, "target": utilization | average},
    ),
    metric("Pods", "pods", {"metric": identifiers, "target": average}),
    metric("Object", "object", {"describedObject": described, "metric": identifiers, "target": value | average}),
    metric("External", "external", {"metric": identifiers, "target": value | average}),
)
cpu = metric("Resource", "resource", {"name": st.just("cpu"), "target": utilization})

policies = st.fixed_dictionaries(
    {"type": st.sampled_from(["Pods", "Percent"]), "value": percents, "periodSeconds": st.integers(1, 1800)}
)
rules = some(
    {},
    stabilizationWindowSeconds=counts,
    selectPolicy=st.sampled_from(["Max", "Min", "Disabled"]),
    policies=st.lists(policies, min_size=1, max_size=2),
    tolerance=st.sampled_from(["100m", "50m"]),
)
behaviors = some({}, scaleUp=rules, scaleDown=rules).filter(bool)
current = some({"averageValue": quantities}, averageUtilization=percents)
used = st.one_of(
    metric("Resource", "resource", {"name": st.just("cpu") | resources, "current": current}),
    metric(
        "Pods", "pods", {"metric": identifiers, "current": average.map(lambda a: {"averageValue": a["averageValue"]})}
    ),
)
conditions = some(
    {"type": names, "status": st.sampled_from(["True", "False", "Unknown"]), "lastTransitionTime": times},
    reason=names,
    message=texts.filter(bool),
)
statuses = some(
    {"desiredReplicas": counts, "currentReplicas": counts},
    observedGeneration=st.integers(1, 9),
    lastScaleTime=times,
    currentMetrics=st.lists(used, min_size=1, max_size=3),
    conditions=st.lists(conditions, min_size=1, max_size=2),
)
specs = st.builds(
    lambda spec, others, cpus: {**spec, "metrics": others + cpus},
    some(
        {"scaleTargetRef": described, "maxReplicas": st.integers(1, 9)},
        minReplicas=st.integers(1, 5),
        behavior=behaviors,
    ),
    st.lists(metrics, max_size=3),
    st.lists(cpu, max_size=1),
).filter(lambda spec: spec["metrics"])


def autoscaler(gvk: GroupVersionKind, spec: Object, status: Object, annotations: Object) -> Object:
    obj = {
        "kind": gvk.kind,
        "apiVersion": gvk.api_version,
        "metadata": {"name": "a", **({"annotations": annotations} if annotations else {})},
        "spec": spec,
        "status": status,
    }
    decoded: Object = SCHEME.kind(gvk).decode(copy.deepcopy(obj), None)
    return decoded


@given(specs, statuses, st.dictionaries(names, texts, max_size=2))
def test_what_is_stored_survives_being_written_back_at_v1(spec: Object, status: Object, annotations: Object) -> None:
    stored = autoscaler(V2, spec, status, annotations)
    shown = SCHEME.convert(copy.deepcopy(stored), V1)
    assert shown["apiVersion"] == "autoscaling/v1"
    assert SCHEME.to_hub(SCHEME.kind(V1).decode(shown, None)) == stored


@given(
    some(
        {"scaleTargetRef": described, "maxReplicas": st.integers(1, 9), "targetCPUUtilizationPercentage": percents},
        minReplicas=st.integers(1, 5),
    ),
    some(
        {"desiredReplicas": counts, "currentReplicas": counts},
        currentCPUUtilizationPercentage=percents,
        observedGeneration=st.integers(1, 9),
        lastScaleTime=times,
    ),
)
def test_what_is_written_at_v1_is_shown_there_as_it_was(spec: Object, status: Object) -> None:
    written = autoscaler(V1, spec, status, {})
    shown = SCHEME.convert(SCHEME.to_hub(copy.deepcopy(written)), V1)
    annotations = shown["metadata"].pop("annotations", {})
    assert set(annotations) <= {"autoscaling.alpha.kubernetes.io/current-metrics"}
    assert shown == written

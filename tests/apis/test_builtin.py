from watchkeeper.apis.builtin import builtin_behaviors, builtin_scheme
from watchkeeper.apis.schema_data import resources
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

_METADATA = {"DaemonSet": {"annotations": {"deprecated.daemonset.template.generation": "0"}}}


def test_every_resource_decodes_and_defaults_an_empty_object() -> None:
    scheme = builtin_scheme()
    for info in resources():
        kind = scheme.kind(info.kind)
        obj = kind.decode({"kind": info.kind.kind, "apiVersion": info.kind.api_version}, None)
        if kind.default is not None:
            kind.default(obj)
        assert obj["metadata"] == _METADATA.get(info.kind.kind, {}), info.gvr


def test_kinds_with_two_versions_share_one_hub() -> None:
    scheme = builtin_scheme()
    v1 = scheme.kind(GroupVersionKind("autoscaling", "v1", "HorizontalPodAutoscaler"))
    v2 = scheme.kind(GroupVersionKind("autoscaling", "v2", "HorizontalPodAutoscaler"))
    assert v1.hub == v2.hub == v2.gvk
    events = scheme.kind(GroupVersionKind("events.k8s.io", "v1", "Event"))
    assert events.hub == GroupVersionKind("", "v1", "Event")


def test_behaviors_are_found_by_kind() -> None:
    assert builtin_behaviors().of(GroupKind("", "Nonsense")).kind == GroupKind("", "Nonsense")

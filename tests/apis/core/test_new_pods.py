"""New Pods are judged alike whether or not some like them were judged before."""

from __future__ import annotations

import copy
from typing import Any

from watchkeeper.apis.core import new_pods
from watchkeeper.apis.core.new_pods import NewPods
from watchkeeper.apis.core.pod_defaults import default_pod
from watchkeeper.apis.core.pod_validation import validate_pod
from watchkeeper.apis.core.pod_warnings import warnings_for_pod

Object = dict[str, Any]


def pod(name: str = "p", annotations: Object | None = None, **spec: Any) -> Object:
    obj: Object = {
        "metadata": {"name": name, "namespace": "n", **({"annotations": annotations} if annotations else {})},
        "spec": {"containers": [{"name": "main", "image": "img"}], **spec},
    }
    default_pod(obj)
    return obj


PODS = [
    pod(),
    pod(name="other"),
    pod(containers=[{"name": "Main", "image": "img"}]),
    pod(containers=[{"name": "main", "image": " img"}]),
    pod(terminationGracePeriodSeconds=-1),
    pod(nodeSelector={"beta.kubernetes.io/arch": "amd64"}),
    pod(annotations={"seccomp.security.alpha.kubernetes.io/pod": "localhost/x"}),
    pod(annotations={"a": "b"}),
    pod(annotations={"not a key": "b"}),
    pod(volumes=[{"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]),
    pod(name="n" * 250, volumes=[{"name": "data" * 8, "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]),
    pod(resourceClaims=[{"name": "gpu", "resourceClaimName": "c"}]),
    pod(restartPolicy="Sometimes"),
]


def test_the_same_is_found_again_and_again() -> None:
    judge = NewPods()
    for _ in range(3):
        for each in PODS:
            given = copy.deepcopy(each)
            assert judge.validate(given) == validate_pod(each)
            assert judge.warnings(given) == warnings_for_pod(each)


def test_a_pod_like_one_that_was_sound_is_not_judged_again(monkeypatch: Any) -> None:
    judged: list[Object] = []

    def noting(obj: Any) -> Any:
        judged.append(obj)
        return validate_pod(obj)

    monkeypatch.setattr(new_pods, "validate_pod", noting)
    judge = NewPods()
    for name in ("a", "b", "c"):
        assert judge.validate(pod(name=name)) == []
    assert len(judged) == 1
    assert judge.validate(pod(restartPolicy="Sometimes"))
    assert judge.validate(pod(restartPolicy="Sometimes"))
    assert len(judged) == 3


def test_what_is_handed_out_can_be_changed_freely() -> None:
    judge = NewPods()
    for _ in range(2):
        warned = pod(nodeSelector={"beta.kubernetes.io/arch": "amd64"})
        assert judge.validate(warned) == []
        warnings = judge.warnings(warned)
        assert len(warnings) == 1
        warnings.append("more")

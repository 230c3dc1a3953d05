from __future__ import annotations

from kind_writer import created, pod, update


def test_a_new_pod_keeps_the_quality_of_service_that_it_says() -> None:
    container = {"name": "m", "image": "i"}
    assert created(pod(containers=[container]))["status"]["qosClass"] == "BestEffort"
    said = {**pod(containers=[container]), "status": {"qosClass": "Burstable", "phase": "Running"}}
    assert created(said)["status"]["qosClass"] == "Burstable"
    assert created(said)["status"]["phase"] == "Pending"


def test_terms_that_are_gone_are_shown_as_null() -> None:
    term = {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    shape = {"containers": [{"name": "m", "image": "i"}], "schedulingGates": [{"name": "x/y"}]}
    old = created(pod(**shape, affinity={"nodeAffinity": required}))
    errors = update(old, pod(**shape)).errors
    assert any("nodeSelectorTerms: Invalid value: null: no additions/deletions" in error for error in errors)
    none = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}
    errors = update(old, pod(**shape, affinity={"nodeAffinity": none})).errors
    assert any("nodeSelectorTerms: Invalid value: []: no additions/deletions" in error for error in errors)

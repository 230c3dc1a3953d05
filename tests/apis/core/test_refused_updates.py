"""How often, and in which order, updates are told what is wrong; and some values that show in errors."""

from typing import Any

import pytest
from kind_writer import create, created, pod, template, update, update_status

from watchkeeper.apis.certificates.key_pair import key_pair_fault

SIZE = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}


def body(kind: str, **fields: Any) -> Any:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}, **fields}


BODIES = {
    "Node": (body("Node"), 2),
    "PersistentVolume": (body("PersistentVolume", spec=SIZE), 2),
    "Pod": (pod(), 2),
    "Service": (body("Service", spec={"ports": [{"port": 1}], "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]}), 1),
    "Secret": (body("Secret"), 2),
    "ConfigMap": (body("ConfigMap"), 2),
}


@pytest.mark.parametrize("kind", BODIES)
def test_a_bad_finalizer_is_told_as_often_as_the_kind_judges_metadata(kind: str) -> None:
    new, times = BODIES[kind]
    bad = {**new, "metadata": {"name": "a", "finalizers": ["x"]}}
    assert [error.split(":")[0] for error in create(bad).errors] == ["metadata.finalizers[0]"]
    told = update(created(new), bad).errors
    assert [error.split(":")[0] for error in told] == ["metadata.finalizers[0]"] * times


def test_an_updated_volume_is_judged_twice() -> None:
    old = created(body("PersistentVolume", spec=SIZE))
    told = update(old, {**old, "spec": {**old["spec"], "capacity": {}}}).errors
    assert [error.split(":")[0] for error in told] == ["spec.capacity"] * 4


def test_malformed_pod_blocks_of_a_node_cannot_be_compared() -> None:
    told = create(body("Node", spec={"podCIDRs": ["10.0.0.0/24", "x"]})).errors
    assert told[-2:] == [
        "spec.podCIDRs: Internal error: invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[1]: "
        "<nil> (invalid CIDR address: x)",
        'spec.podCIDRs: Invalid value: ["10.0.0.0/24","x"]: may specify no more than one CIDR for each IP family',
    ]


def test_what_a_node_avoids_is_json() -> None:
    key = "scheduler.alpha.kubernetes.io/preferAvoidPods"
    bad = {**body("Node"), "metadata": {"name": "a", "annotations": {key: "x"}}}
    problem = "invalid character 'x' looking for beginning of value"
    text = f'metadata.annotations.AvoidPods: Invalid value: "{key}": {problem}'
    assert create(bad).errors == [text]
    assert update(created(body("Node")), bad).errors == [text, text]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[]", ".AvoidPods: {} cannot unmarshal array into Go value of type v1.AvoidPods"),
        (
            '{"preferAvoidPods":1}',
            ".AvoidPods: {} cannot unmarshal number into Go struct field AvoidPods.preferAvoidPods "
            "of type []v1.PreferAvoidPodsEntry",
        ),
        ('{"preferAvoidPods":[{}]}', ".scheduler.alpha.kubernetes.io/preferAvoidPods[0].PodSignature: Required value"),
        (
            '{"preferAvoidPods":[{"podSignature":{"podController":{"controller":false}}}]}',
            ".scheduler.alpha.kubernetes.io/preferAvoidPods[0].PodSignature.PodController.Controller: "
            "Invalid value: false: must point to a controller",
        ),
        ('{"preferAvoidPods":[{"podSignature":{"podController":{"controller":true}}}]}', ""),
        (r'{"a":1e400,"b":"\ud800"}', ""),
    ],
)
def test_a_node_avoids_what_a_controller_has_made(text: str, error: str) -> None:
    key = "scheduler.alpha.kubernetes.io/preferAvoidPods"
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "annotations": {key: text}}}
    unread = f'Invalid value: "{key}": json:'
    assert create(node).errors == ([f"metadata.annotations{error.replace('{}', unread)}"] if error else [])


def test_restart_rules_need_a_policy_and_are_few() -> None:
    rule = {"action": "Restart", "exitCodes": {"operator": "In", "values": list(range(1, 257))}}
    first = {"name": "first", "image": "i:1", "restartPolicyRules": [rule]}
    told = create(pod(initContainers=[first])).errors
    needed = "restartPolicy: Required value: must specify restartPolicy when restart rules are used"
    assert told == [f"spec.initContainers[0].{needed}"]
    told = create(pod(initContainers=[{**first, "restartPolicy": "Never", "restartPolicyRules": [rule] * 21}])).errors
    at = "spec.initContainers[0].restartPolicyRules"
    assert told[0] == f"{at}: Too many: 21: must have at most 20 items"
    assert told[1] == f"{at}[0].exitCodes.values: Too many: 256: must have at most 255 items"


def test_changed_tolerations_are_told_once_and_negative_grace_periods_become_a_second() -> None:
    kept = [{"key": "a", "operator": "Exists", "effect": "NoExecute"}]
    old = created(pod(tolerations=kept * 2, terminationGracePeriodSeconds=-1))
    assert old["spec"]["terminationGracePeriodSeconds"] == 1
    told = update(old, {**old, "spec": {**old["spec"], "tolerations": [{"key": "a", "operator": "X"}]}}).errors
    assert [error.split(":")[0] for error in told] == ["spec.tolerations[0].operator", "spec.tolerations"]


def test_kept_tolerations_that_were_stored_wrong_are_told_as_those_of_the_pod_and_as_changeable() -> None:
    old = created(pod(tolerations=[{"key": "a", "operator": "Exists"}]))
    old["spec"]["tolerations"][0]["value"] = "x"
    told = update(old, {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}}).errors
    needed = "spec.tolerations[0].operator: Invalid value: \"x\": value must be empty when `operator` is 'Exists'"
    assert told == [needed, needed]


def test_a_selector_that_a_gated_pod_cannot_have_is_shown_by_key() -> None:
    old = created(pod(schedulingGates=[{"name": "x/y"}], nodeSelector={"b": "1"}))
    told = update(old, {**old, "spec": {**old["spec"], "nodeSelector": {"b": "2", "a": "1"}}}).errors
    assert told[0].startswith('spec.nodeSelector: Invalid value: {"a":"1","b":"2"}: only additions')


def test_a_pod_that_asks_for_nothing_as_a_whole_is_best_effort() -> None:
    asking = [{"name": "a", "image": "i:1", "resources": {"requests": {"cpu": "1"}}}]
    assert created(pod(containers=asking, resources={}))["status"]["qosClass"] == "BestEffort"
    assert created(pod(containers=asking))["status"]["qosClass"] == "Burstable"


def test_names_of_replication_controllers_are_measured_in_bytes() -> None:
    long = {**body("ReplicationController", spec={"template": template()}), "metadata": {"name": "a" * 254}}
    assert create(long).errors == [f'metadata.name: Invalid value: "{"a" * 254}": must be no more than 253 bytes']
    named = {**long, "metadata": {"name": "a", "generateName": "A_"}}
    assert create(named).errors == []


def test_the_minimum_of_a_limit_may_be_negative_but_not_its_ratio() -> None:
    item = {"type": "Container", "max": {"cpu": "4"}, "min": {"cpu": "-1"}, "maxLimitRequestRatio": {"cpu": "3"}}
    told = create(body("LimitRange", spec={"limits": [item]})).errors
    at = "spec.limits[0].maxLimitRequestRatio[cpu]"
    assert told == [f'{at}: Invalid value: "3": ratio 3 is greater than max/min = -4.000000']


def test_what_says_which_claims_a_pod_got() -> None:
    old = created(pod(resourceClaims=[{"name": "c", "resourceClaimName": "x"}]))
    told = update_status(old, {**old["status"], "resourceClaimStatuses": [{"name": "c", "resourceClaimName": ""}]})
    assert [error.split(":")[0] for error in told.errors] == ["status.resourceClaimStatuses[0].resourceClaimName"]


RESTART_ALL = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [7]}}]


@pytest.mark.parametrize(
    ("kind", "name", "restarting_all", "allowed"),
    [
        ("containerStatuses", "main", False, True),
        ("containerStatuses", "i", False, False),
        ("containerStatuses", "stranger", False, False),
        ("containerStatuses", "stranger", True, True),
        ("initContainerStatuses", "i", False, False),
        ("initContainerStatuses", "i", True, True),
        ("ephemeralContainerStatuses", "e", True, False),
    ],
)
def test_only_containers_of_the_spec_run_again(kind: str, name: str, *, restarting_all: bool, allowed: bool) -> None:
    rules = {"restartPolicyRules": RESTART_ALL} if restarting_all else {}
    init = {"name": "i", "image": "i:1", "restartPolicy": "Never", **rules}
    old = created(pod(initContainers=[init]))
    ended = {"name": name, "image": "i:1", "state": {"terminated": {"exitCode": 0}}}
    old["status"][kind] = [ended]
    told = update_status(old, {**old["status"], kind: [{**ended, "state": {"running": {}}}]})
    refusal = f"status.{kind}[0].state: Forbidden: may not be transitioned to non-terminated state"
    assert told.errors == ([] if allowed else [refusal])


def test_both_references_of_a_claim_must_agree() -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}
    source = {"apiGroup": "a.example", "kind": "A", "name": "x"}
    spec |= {"dataSource": source, "dataSourceRef": {**source, "name": "y"}}
    told = create(body("PersistentVolumeClaim", spec=spec)).errors
    assert told == ["spec: Invalid value: {}: must match dataSourceRef"]
    other = {"apiGroup": "", "kind": "PersistentVolumeClaim", "name": "x"}
    spec |= {"dataSource": other, "dataSourceRef": {**other, "apiGroup": None}}
    assert create(body("PersistentVolumeClaim", spec=spec)).errors == told


def test_a_certificate_that_is_none_is_warned_of() -> None:
    secret = body("Secret", type="kubernetes.io/tls", data={"tls.crt": "eA==", "tls.key": "eA=="})
    written = create(secret)
    assert written.errors == []
    assert written.warnings == ["tls: failed to find any PEM data in certificate input"]


def block(kind: str, content: str = "eA==") -> bytes:
    return f"-----BEGIN {kind}-----\n{content}\n-----END {kind}-----\n".encode()


def test_what_can_be_wrong_with_a_certificate_and_its_key() -> None:
    certificate, key = block("CERTIFICATE"), block("PRIVATE KEY")
    assert "may have been switched" in key_pair_fault(key, certificate)
    assert "of the following types: [A]" in key_pair_fault(block("A"), key)
    assert key_pair_fault(certificate, b"") == "tls: failed to find any PEM data in key input"
    assert "found a certificate rather than a key" in key_pair_fault(certificate, certificate)
    assert 'type ending in "PRIVATE KEY"' in key_pair_fault(certificate, block("A"))
    assert key_pair_fault(certificate, key) == "x509: malformed certificate"

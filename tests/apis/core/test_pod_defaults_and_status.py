from __future__ import annotations

from typing import Any

import pytest
from kind_writer import create, created, pod, read


def test_a_minimal_pod_gets_what_it_needs() -> None:
    obj = created(pod())
    assert obj["spec"] == {
        "containers": [
            {
                "name": "main",
                "image": "registry.example/app:1",
                "imagePullPolicy": "IfNotPresent",
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    }
    assert obj["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert obj["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("app", "Always"),
        ("app:latest", "Always"),
        ("app:1", "IfNotPresent"),
        ("r.example:5000/app", "Always"),
        ("app@sha256:" + "0" * 64, "IfNotPresent"),
    ],
)
def test_images_without_a_fixed_tag_are_pulled_always(image: str, policy: str) -> None:
    obj = read(pod(containers=[{"name": "a", "image": image}]))
    assert obj["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_probes_and_ports_are_completed() -> None:
    probe = {"httpGet": {"port": 80}}
    container = {"name": "a", "image": "i:1", "ports": [{"containerPort": 80}], "readinessProbe": probe}
    obj = read(pod(containers=[container]))
    [found] = obj["spec"]["containers"]
    assert found["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert found["readinessProbe"] == {
        "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    }


def test_resources_in_a_status_are_rounded_up_to_thousandths() -> None:
    obj = pod()
    resources = {"limits": {"cpu": "1n"}, "requests": {"cpu": "1500u"}}
    obj["status"] = {"allocatedResources": {"cpu": "1n"}, "resources": resources, "containerStatuses": [{}]}
    obj["status"]["containerStatuses"][0] |= {"name": "main", "resources": {"limits": {"cpu": "1n"}}}
    status = read(obj)["status"]
    assert status["allocatedResources"] == {"cpu": "1m"}
    assert status["resources"] == {"limits": {"cpu": "1m"}, "requests": {"cpu": "2m"}}
    assert status["containerStatuses"][0]["resources"]["limits"] == {"cpu": "1m"}


def test_host_ports_follow_container_ports_on_the_host_network() -> None:
    container = {"name": "a", "image": "i:1", "ports": [{"containerPort": 80}]}
    obj = read(pod(containers=[container], hostNetwork=True))
    assert obj["spec"]["containers"][0]["ports"][0]["hostPort"] == 80


def test_limits_are_requested_where_nothing_is() -> None:
    container = {"name": "a", "image": "i:1", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}
    obj = created(pod(containers=[container]))
    assert obj["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}
    assert obj["status"]["qosClass"] == "Guaranteed"


@pytest.mark.parametrize(
    ("resources", "qos"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1"}, "requests": {"cpu": "500m", "memory": "1"}}, "Burstable"),
        ({"limits": {"example.com/gpu": "1"}}, "BestEffort"),
    ],
)
def test_the_class_of_service_follows_from_resources(resources: Any, qos: str) -> None:
    obj = created(pod(containers=[{"name": "a", "image": "i:1", "resources": resources}]))
    assert obj["status"]["qosClass"] == qos


def test_volumes_are_completed() -> None:
    volumes = [{"name": "c", "configMap": {"name": "m"}}, {"name": "e"}, {"name": "h", "hostPath": {"path": "/x"}}]
    obj = read(pod(volumes=volumes))
    assert obj["spec"]["volumes"] == [
        {"name": "c", "configMap": {"name": "m", "defaultMode": 420}},
        {"name": "e", "emptyDir": {}},
        {"name": "h", "hostPath": {"path": "/x", "type": ""}},
    ]


def test_service_accounts_go_by_both_names() -> None:
    assert read(pod(serviceAccountName="s"))["spec"]["serviceAccount"] == "s"
    assert read(pod(serviceAccount="s"))["spec"]["serviceAccountName"] == "s"


def test_clients_do_not_set_the_status_of_a_new_pod() -> None:
    assert create({**pod(), "status": {"phase": "Running"}}).obj["status"]["phase"] == "Pending"


def test_a_gated_pod_says_why_it_is_not_scheduled() -> None:
    [condition] = created(pod(schedulingGates=[{"name": "example.com/hold"}]))["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("PodScheduled", "False", "SchedulingGated")


def test_label_keys_become_part_of_selectors() -> None:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "x"}},
        "matchLabelKeys": ["version"],
    }
    obj = created(pod(metadata={"labels": {"version": "2"}}, topologySpreadConstraints=[constraint]))
    selector = obj["spec"]["topologySpreadConstraints"][0]["labelSelector"]
    assert selector["matchExpressions"] == [{"key": "version", "operator": "In", "values": ["2"]}]

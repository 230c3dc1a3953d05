from __future__ import annotations

from typing import Any

import pytest
from kind_writer import create, created, pod, update, update_status

SUBDOMAIN_START = "a lowercase RFC 1123 subdomain must consist of"


def container(**fields: Any) -> Any:
    return {"name": "main", "image": "i:1", **fields}


RESTART_ALL = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({"containers": []}, ["spec.containers: Required value"]),
        (
            {"containers": [container(), container()]},
            ['spec.containers[1].name: Duplicate value: "main"'],
        ),
        ({"containers": [{"name": "main"}]}, ["spec.containers[0].image: Required value"]),
        (
            {"os": {"name": "windows"}, "securityContext": {"sysctls": [], "supplementalGroups": []}},
            ["spec.securityContext.supplementalGroups: Forbidden: cannot be set for a windows pod"],
        ),
        (
            {"restartPolicy": "Sometimes"},
            [
                'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
            ],
        ),
        (
            {"dnsPolicy": "Mine"},
            [
                'spec.dnsPolicy: Unsupported value: "Mine": supported values: "ClusterFirstWithHostNet", '
                '"ClusterFirst", "Default", "None"'
            ],
        ),
        (
            {"activeDeadlineSeconds": 0},
            ["spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"],
        ),
        (
            {"containers": [container(volumeMounts=[{"name": "gone", "mountPath": "/x"}])]},
            ['spec.containers[0].volumeMounts[0].name: Not found: "gone"'],
        ),
        (
            {"containers": [container(ports=[{"containerPort": 70000}])]},
            ["spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive"],
        ),
        (
            {"containers": [container(imagePullPolicy="Often")]},
            [
                'spec.containers[0].imagePullPolicy: Unsupported value: "Often": supported values: "Always", '
                '"IfNotPresent", "Never"'
            ],
        ),
        (
            {
                "containers": [container(restartPolicy="Never", restartPolicyRules=[RESTART_ALL])],
                "initContainers": [
                    {"name": "s", "image": "i:1", "restartPolicy": "Always", "restartPolicyRules": [RESTART_ALL]},
                    {
                        "name": "t",
                        "image": "i:1",
                        "restartPolicy": "Never",
                        "restartPolicyRules": [{**RESTART_ALL, "action": "Stop"}],
                    },
                ],
            },
            [
                'spec.initContainers[1].restartPolicyRules[0].action: Unsupported value: "Stop": supported values:'
                ' "Restart", "RestartAllContainers"'
            ],
        ),
        (
            {"ephemeralContainers": [{"name": "debug", "image": "i:1"}]},
            ["spec.ephemeralContainers: Forbidden: cannot be set on create"],
        ),
        (
            {"schedulingGates": [{"name": "a"}], "nodeName": "n"},
            ["spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"],
        ),
        (
            {"volumes": [{"name": "a", "emptyDir": {}, "hostPath": {"path": "/x"}}]},
            ["spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type"],
        ),
        (
            {"hostPID": True, "shareProcessNamespace": True},
            [
                "spec.securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID"
                " cannot both be enabled"
            ],
        ),
        (
            {
                "os": {"name": "windows"},
                "securityContext": {"sysctls": [], "supplementalGroups": [], "fsGroup": 1},
            },
            [
                "spec.securityContext.fsGroup: Forbidden: cannot be set for a windows pod",
                "spec.securityContext.supplementalGroups: Forbidden: cannot be set for a windows pod",
            ],
        ),
        (
            {"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}]},
            ["spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero"],
        ),
    ],
)
def test_what_a_new_pod_may_not_be(spec: Any, errors: list[str]) -> None:
    assert create(pod(**spec)).errors == errors


def test_names_are_checked_with_the_metadata_first() -> None:
    errors = create(pod("Not_A_Name", containers=[])).errors
    assert errors[0].startswith(f'metadata.name: Invalid value: "Not_A_Name": {SUBDOMAIN_START}')
    assert errors[1:] == ["spec.containers: Required value"]


def test_images_may_change_and_count_as_a_generation() -> None:
    old = created(pod())
    body = pod(containers=[{"name": "main", "image": "registry.example/app:2"}])
    written = update(old, body)
    assert written.errors == []
    assert written.obj["metadata"]["generation"] == 2
    assert written.obj["status"] == old["status"]


def test_little_else_of_a_spec_may_change() -> None:
    written = update(created(pod()), pod(dnsPolicy="Default"))
    [error] = written.errors
    assert error.startswith(
        "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
        "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
        "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"
    )
    assert '- "DNSPolicy": "ClusterFirst"' in error.replace("  ", " ")
    assert '+ "DNSPolicy": "Default"' in error.replace("  ", " ")


def test_containers_stay() -> None:
    body = pod()
    body["spec"]["containers"].append({"name": "more", "image": "i:1"})
    assert update(created(pod()), body).errors == [
        "spec.containers: Forbidden: pod updates may not add or remove containers"
    ]


def test_tolerations_are_only_added() -> None:
    first = {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    second = {"key": "b", "operator": "Exists"}
    old = created(pod(tolerations=[first]))
    assert update(old, pod(tolerations=[{**first, "tolerationSeconds": 9}, second])).errors == []
    assert update(old, pod(tolerations=[second])).errors == [
        "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"
    ]


def test_deadlines_only_come_closer() -> None:
    old = created(pod(activeDeadlineSeconds=10))
    assert update(old, pod(activeDeadlineSeconds=5)).errors == []
    assert update(old, pod(activeDeadlineSeconds=11)).errors == [
        "spec.activeDeadlineSeconds: Invalid value: 11: must be less than or equal to previous value"
    ]
    assert update(old, pod()).errors == [
        "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value"
    ]


def test_a_deadline_that_is_refused_is_all_that_is_said_of_a_change() -> None:
    old = created(pod(activeDeadlineSeconds=10))
    assert update(old, pod(activeDeadlineSeconds=11, hostname="other", schedulingGates=[{"name": "a"}])).errors == [
        "spec.activeDeadlineSeconds: Invalid value: 11: must be less than or equal to previous value"
    ]
    assert update(old, pod(activeDeadlineSeconds=-1)).errors == [
        "spec.activeDeadlineSeconds: Invalid value: -1: must be between 1 and 2147483647, inclusive",
        "spec.activeDeadlineSeconds: Invalid value: -1: must be between 0 and 2147483647, inclusive",
    ]
    errors = update(old, pod(hostname="other")).errors
    assert [error.partition(":")[0] for error in errors] == ["spec.activeDeadlineSeconds", "spec"]


def test_gates_are_only_removed() -> None:
    old = created(pod(schedulingGates=[{"name": "a"}, {"name": "b"}]))
    assert update(old, pod(schedulingGates=[{"name": "b"}])).errors == []
    selecting = created(pod(schedulingGates=[{"name": "a"}], nodeSelector={"disk": "ssd"}))
    assert update(selecting, pod(schedulingGates=[{"name": "a"}])).errors == [
        "spec.nodeSelector: Invalid value: null: only additions to spec.nodeSelector are allowed "
        "(no mutations or deletions)"
    ]
    picky = created(pod(schedulingGates=[{"name": "a"}], nodeSelector={"disk": "ssd", "zone": "z"}))
    assert update(picky, pod(schedulingGates=[{"name": "a"}], nodeSelector={"disk": "hdd"})).errors == [
        'spec.nodeSelector: Invalid value: {"disk":"hdd"}: only additions to spec.nodeSelector are allowed '
        "(no mutations or deletions)"
    ]
    assert update(old, pod(schedulingGates=[{"name": "c"}])).errors == [
        "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'c'"
    ]
    twice = update(old, pod(schedulingGates=[{"name": "c"}, {"name": "c"}])).errors
    assert [error for error in twice if "only deletion" in error] == [
        "spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'c'"
    ]


def test_status_writers_change_the_status_alone() -> None:
    old = created(pod())
    written = update_status({**old, "spec": {**old["spec"], "dnsPolicy": "Default"}}, {"phase": "Running"})
    assert written.errors == []
    written = update_status(old, {"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}], "podIP": "10.0.0.1"})
    assert written.errors == []
    assert written.obj["status"]["qosClass"] == "BestEffort"
    assert written.obj["spec"] == old["spec"]
    written = update_status(old, {"nodeAllocatableResourceClaimStatuses": [{"resourceClaimName": "c"}]})
    assert "nodeAllocatableResourceClaimStatuses" not in written.obj["status"]
    mount = {"name": "v", "mountPath": "/v"}
    main = {"name": "main", "volumeMounts": [{**mount, "volumeStatus": {"image": {"imageRef": "i@sha256:1"}}}]}
    written = update_status(old, {"containerStatuses": [main]})
    assert written.obj["status"]["containerStatuses"][0]["volumeMounts"] == [mount]


def test_a_status_has_one_address_of_each_family() -> None:
    ips = [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]
    errors = update_status(created(pod()), {"phase": "Running", "podIP": "10.0.0.1", "podIPs": ips}).errors
    assert errors == [
        'status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.2"}]: may specify no more than one IP for each '
        "IP family"
    ]


def test_writers_of_a_status_hear_of_odd_addresses_in_it() -> None:
    written = update_status(
        created(pod()), {"podIPs": [{"ip": "fe80::0:1"}], "hostIP": "::A", "hostIPs": [{"ip": "::A"}]}
    )
    assert written.warnings == [
        'status.podIPs[0].ip: IPv6 address "fe80::0:1" should be in RFC 5952 canonical format ("fe80::1")',
        'status.hostIPs[0].ip: IPv6 address "::A" should be in RFC 5952 canonical format ("::a")',
    ]


def test_warnings_name_what_is_odd() -> None:
    env = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    written = create(pod("a.b", containers=[container(env=env)], hostNetwork=False))
    assert written.errors == []
    assert written.warnings == [
        "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is "
        "recommended: [must not contain dots]",
        'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply',
    ]


def test_a_new_scheduling_gate_is_told_once_where_it_stands_last() -> None:
    old = created(pod(schedulingGates=[{"name": "a"}]))
    errors = update(old, pod(schedulingGates=[{"name": "c"}, {"name": "a"}, {"name": "c"}])).errors
    told = [error.partition(": ")[0] for error in errors if "new scheduling gate" in error]
    assert told == ["spec.schedulingGates[2].name"]


def test_amounts_of_bytes_that_are_too_great_to_count_in_thousandths_are_taken_for_fractions() -> None:
    resources = {"requests": {"memory": "1Ei", "ephemeral-storage": "10E"}}
    found = [text for text in create(pod(containers=[container(resources=resources)])).warnings if "fractional" in text]
    assert found == [
        'spec.containers[0].resources.requests[memory]: fractional byte value "1Ei" is invalid, must be an integer'
    ]


def test_amounts_of_bytes_that_are_no_whole_number_are_told_resource_by_resource() -> None:
    requests = {"memory": "1e-1", "ephemeral-storage": "100u", "cpu": "100m"}
    limits = {"memory": "1500m", "ephemeral-storage": "2000m", "cpu": "1"}
    resources = {"requests": requests, "limits": limits}
    found = [text for text in create(pod(containers=[container(resources=resources)])).warnings if "fractional" in text]
    where = "spec.containers[0].resources"
    assert found == [
        f'{where}.{at}: fractional byte value "{text}" is invalid, must be an integer'
        for at, text in (
            ("limits[memory]", "1500m"),
            ("requests[memory]", "100e-3"),
            ("requests[ephemeral-storage]", "1m"),
        )
    ]

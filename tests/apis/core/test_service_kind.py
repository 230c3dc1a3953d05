"""Services without the allocator: defaults, rules, what a change of type drops, warnings, tables."""

import copy
from typing import Any

import pytest
from kind_writer import BEHAVIORS, create, created, read, row, update, update_status

from watchkeeper.meta.gvk import GroupKind

ADDRESS: Any = {"clusterIP": "10.0.0.5", "clusterIPs": ["10.0.0.5"]}
TCP = {"port": 80, "protocol": "TCP"}


def service(name: str = "s", *, annotations: Any = None, **spec: Any) -> Any:
    meta = {"name": name, **({"annotations": annotations} if annotations else {})}
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"ports": [{"port": 80}], **spec}}


def errors_of(**spec: Any) -> list[str]:
    return create(service(**spec)).errors


def test_a_service_is_a_cluster_ip_for_tcp() -> None:
    assert read(service())["spec"] == {
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "internalTrafficPolicy": "Cluster",
    }


def test_a_load_balancer_says_where_its_traffic_goes() -> None:
    spec = read(service(type="LoadBalancer"))["spec"]
    assert (spec["externalTrafficPolicy"], spec["allocateLoadBalancerNodePorts"]) == ("Cluster", True)
    assert read(service(externalIPs=["192.0.2.1"]))["spec"]["externalTrafficPolicy"] == "Cluster"
    assert "internalTrafficPolicy" not in read(service(type="ExternalName"))["spec"]


def test_affinity_by_address_lasts_three_hours() -> None:
    spec = read(service(sessionAffinity="ClientIP"))["spec"]
    assert spec["sessionAffinityConfig"] == {"clientIP": {"timeoutSeconds": 10800}}
    dropped = read(service(sessionAffinity="None", sessionAffinityConfig={"clientIP": {"timeoutSeconds": 5}}))
    assert "sessionAffinityConfig" not in dropped["spec"]


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({"ports": []}, ["spec.ports: Required value"]),
        ({"ports": [], "clusterIP": "None", "clusterIPs": ["None"]}, []),
        (
            {"ports": [{"port": 80}, {"port": 81}]},
            ["spec.ports[0].name: Required value", "spec.ports[1].name: Required value"],
        ),
        (
            {"ports": [{"name": "a", "port": 80}, {"name": "a", "port": 81}]},
            ['spec.ports[1].name: Duplicate value: "a"'],
        ),
        (
            {"ports": [{"port": 0}]},
            [
                "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
                "spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive",
            ],
        ),
        (
            {"ports": [{"port": 80, "protocol": "ICMP"}]},
            ['spec.ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"'],
        ),
        (
            {"ports": [{"port": 80, "nodePort": 30000}]},
            ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
        ),
        (
            {"type": "Magic"},
            [
                'spec.type: Unsupported value: "Magic": supported values: '
                '"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"'
            ],
        ),
        (
            {"type": "NodePort", "clusterIP": "None", "clusterIPs": ["None"]},
            ["spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services"],
        ),
        ({"type": "ExternalName"}, ["spec.externalName: Required value"]),
        (
            {"type": "ExternalName", "externalName": "example.com.", "ipFamilies": ["IPv4"]},
            ["spec.ipFamilies: Forbidden: may not be set for ExternalName services"],
        ),
        (
            {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86401}}},
            [
                "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: "
                "must be greater than 0 and less than 86400"
            ],
        ),
        (
            {"externalIPs": ["127.0.0.1"]},
            [
                'spec.externalIPs[0]: Invalid value: "127.0.0.1": '
                "may not be in the loopback range (127.0.0.0/8, ::1/128)"
            ],
        ),
        (
            {"loadBalancerSourceRanges": ["10.0.0.0/8"]},
            ["spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'"],
        ),
        (
            {"type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.0/33"]},
            [
                'spec.LoadBalancerSourceRanges[0]: Invalid value: "10.0.0.0/33": '
                "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
            ],
        ),
        (
            {"loadBalancerClass": "example.com/lb"},
            ["spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'"],
        ),
        (
            {"allocateLoadBalancerNodePorts": True},
            ["spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when `type` is 'LoadBalancer'"],
        ),
        (
            {"externalTrafficPolicy": "Local"},
            ['spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services'],
        ),
        (
            {"type": "LoadBalancer", "externalTrafficPolicy": "Local"},
            ["spec.healthCheckNodePort: Required value"],
        ),
        (
            {"type": "NodePort", "healthCheckNodePort": 30000},
            [
                "spec.healthCheckNodePort: Invalid value: 30000: may only be set when `type` is 'LoadBalancer' "
                "and `externalTrafficPolicy` is 'Local'"
            ],
        ),
        (
            {"internalTrafficPolicy": "Elsewhere"},
            ['spec.internalTrafficPolicy: Unsupported value: "Elsewhere": supported values: "Cluster", "Local"'],
        ),
        (
            {"trafficDistribution": "Random"},
            [
                'spec.trafficDistribution: Unsupported value: "Random": supported values: '
                '"PreferClose", "PreferSameZone", "PreferSameNode"'
            ],
        ),
        (
            {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.2"]},
            ['spec.clusterIPs: Invalid value: ["10.0.0.2"]: first value must match `clusterIP`'],
        ),
        (
            {**ADDRESS, "ipFamilies": ["IPv6"]},
            ['spec.clusterIPs[0]: Invalid value: "10.0.0.5": expected an IPv6 value as indicated by `ipFamilies[0]`'],
        ),
        (
            {"ipFamilies": ["IPv5", "IPv5"], "ipFamilyPolicy": "Triple"},
            [
                'spec.ipFamilies[0]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6"',
                'spec.ipFamilies[1]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6"',
                'spec.ipFamilies[1]: Duplicate value: "IPv5"',
                'spec.ipFamilyPolicy: Unsupported value: "Triple": supported values: '
                '"PreferDualStack", "RequireDualStack", "SingleStack"',
            ],
        ),
        (
            {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1", "10.0.0.2"]},
            [
                'spec.clusterIPs: Invalid value: ["10.0.0.1","10.0.0.2"]: '
                "may specify no more than one IP for each IP family"
            ],
        ),
    ],
)
def test_what_a_service_must_say(spec: Any, errors: list[str]) -> None:
    assert errors_of(**spec) == errors


def test_node_ports_and_ports_are_used_once() -> None:
    ports = [
        {"name": "a", "port": 80, "nodePort": 30000},
        {"name": "b", "port": 81, "nodePort": 30000},
        {"name": "c", "port": 80, "protocol": "UDP", "nodePort": 30000},
        {"name": "d", "port": 80, "nodePort": 30001},
    ]
    errors = errors_of(type="NodePort", ports=ports)
    assert errors[0] == "spec.ports[1].nodePort: Duplicate value: 30000"
    assert errors[1].startswith("spec.ports[3]: Duplicate value: ")
    assert len(errors) == 2


def test_a_name_is_a_label() -> None:
    (error,) = create(service("a.b")).errors
    assert error.startswith('metadata.name: Invalid value: "a.b": must not contain dots')


def test_hints_and_mode_of_topology_agree() -> None:
    annotations = {
        "service.kubernetes.io/topology-aware-hints": "auto",
        "service.kubernetes.io/topology-mode": "disabled",
    }
    written = create(service(annotations=annotations))
    assert written.errors == [
        'metadata.annotations[service.kubernetes.io/topology-mode]: Invalid value: "disabled": '
        "must match annotations[service.kubernetes.io/topology-aware-hints] when both are specified"
    ]
    del annotations["service.kubernetes.io/topology-mode"]
    assert create(service(annotations=annotations)).warnings == [
        "annotation service.kubernetes.io/topology-aware-hints is deprecated, "
        "please use service.kubernetes.io/topology-mode instead"
    ]


def test_an_address_stays() -> None:
    old = created(service(**ADDRESS, ipFamilies=["IPv4"], ipFamilyPolicy="SingleStack"))
    body = copy.deepcopy(old)
    body["spec"] |= {"clusterIP": "10.0.0.6", "clusterIPs": ["10.0.0.6"]}
    assert update(old, body).errors == ['spec.clusterIPs[0]: Invalid value: ["10.0.0.6"]: may not change once set']
    del body["spec"]["clusterIP"], body["spec"]["clusterIPs"]
    assert update(old, body).errors == ["spec.clusterIPs[0]: Invalid value: null: primary clusterIP can not be unset"]


def test_the_second_family_goes_only_with_a_policy_for_one() -> None:
    both: Any = {
        "clusterIP": "10.0.0.5",
        "clusterIPs": ["10.0.0.5", "fd00::5"],
        "ipFamilies": ["IPv4", "IPv6"],
        "ipFamilyPolicy": "PreferDualStack",
    }
    old = created(service(**both))
    body = copy.deepcopy(old)
    body["spec"] |= {"clusterIPs": ["10.0.0.5"], "ipFamilies": ["IPv4"]}
    assert [error.partition(":")[0] for error in update(old, body).errors] == ["spec.ipFamilyPolicy"] * 2
    body["spec"]["ipFamilyPolicy"] = "SingleStack"
    assert update(old, body).errors == []


def test_the_class_of_a_load_balancer_stays() -> None:
    old = created(service(type="LoadBalancer", loadBalancerClass="example.com/a"))
    body = copy.deepcopy(old)
    body["spec"]["loadBalancerClass"] = "example.com/b"
    assert update(old, body).errors == [
        'spec.loadBalancerClass: Invalid value: "example.com/b": may not change once set'
    ]


def test_a_new_type_drops_what_it_has_no_use_for() -> None:
    balancer = service(type="LoadBalancer", **ADDRESS, loadBalancerClass="example.com/a")
    balancer["spec"]["ports"] = [{"port": 80, "nodePort": 30001}]
    old = created(balancer)
    old["status"] = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1", "ipMode": "VIP"}]}}
    body = copy.deepcopy(old)
    body["spec"]["type"] = "ClusterIP"
    written = update(old, body)
    assert written.errors == []
    spec = written.obj["spec"]
    assert "nodePort" not in spec["ports"][0]
    assert not {"externalTrafficPolicy", "allocateLoadBalancerNodePorts", "loadBalancerClass"} & spec.keys()
    assert written.obj["status"] == {"loadBalancer": {}}
    body["spec"] = {"type": "ExternalName", "externalName": "example.com", **ADDRESS}
    assert "clusterIP" not in update(old, body).obj["spec"]


@pytest.mark.parametrize(
    ("ingress", "errors"),
    [
        ({"ip": "192.0.2.1", "ipMode": "VIP"}, []),
        (
            {"ip": "192.0.2.1", "ipMode": "Maybe"},
            ['ipMode: Unsupported value: "Maybe": supported values: "Proxy", "VIP"'],
        ),
        ({"hostname": "a", "ipMode": "VIP"}, ["ipMode: Forbidden: may not be specified when `ip` is not set"]),
        (
            {"hostname": "192.0.2.1"},
            ['hostname: Invalid value: "192.0.2.1": must be a DNS name, not an IP address'],
        ),
    ],
)
def test_what_a_status_must_say(ingress: Any, errors: list[str]) -> None:
    old = created(service(type="LoadBalancer"))
    written = update_status(old, {"loadBalancer": {"ingress": [ingress]}})
    assert written.errors == [f"status.loadBalancer.ingress[0].{error}" for error in errors]


def test_only_load_balancers_have_ingress_points() -> None:
    status = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1", "ipMode": "VIP"}]}}
    assert update_status(created(service()), status).errors == [
        "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'"
    ]


@pytest.mark.parametrize(
    ("spec", "warnings"),
    [
        ({"externalName": "x"}, ['spec.externalName is ignored when spec.type is not "ExternalName"']),
        (
            {"type": "ExternalName", "externalName": "x", "externalIPs": ["192.0.2.1"], "ports": []},
            ['spec.externalIPs is ignored when spec.type is "ExternalName"'],
        ),
        (
            {"clusterIP": "None", "clusterIPs": ["None"], "loadBalancerIP": "192.0.2.1"},
            ["spec.loadBalancerIP is ignored for headless services"],
        ),
        (
            {"trafficDistribution": "PreferClose"},
            ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'],
        ),
    ],
)
def test_what_is_ignored_or_deprecated_is_said(spec: Any, warnings: list[str]) -> None:
    written = create(service(**spec))
    assert (written.errors, written.warnings) == ([], warnings)


def test_writers_of_a_status_hear_of_odd_addresses_of_ingress_points() -> None:
    old = created(service(type="LoadBalancer"))
    written = update_status(old, {"loadBalancer": {"ingress": [{"hostname": "h"}, {"ip": "fe80::0:1"}]}})
    assert written.warnings == [
        'status.loadBalancer.ingress[1]: IPv6 address "fe80::0:1" should be in RFC 5952 canonical format ("fe80::1")'
    ]


def test_services_are_selected_by_type_and_address() -> None:
    behavior = BEHAVIORS.of(GroupKind("", "Service"))
    assert behavior.selectable_fields is not None
    assert behavior.selectable_fields(created(service(**ADDRESS))) == {
        "spec.clusterIP": "10.0.0.5",
        "spec.type": "ClusterIP",
    }


def test_the_table_shows_how_a_service_is_reached() -> None:
    obj = created(service(**ADDRESS, selector={"app": "x"}))
    obj["metadata"]["creationTimestamp"] = "1970-01-01T00:00:00Z"
    assert row(obj, 60.0) == {
        "Name": "s",
        "Type": "ClusterIP",
        "Cluster-IP": "10.0.0.5",
        "External-IP": "<none>",
        "Port(s)": "80/TCP",
        "Age": "60s",
        "Selector": "app=x",
    }
    balancer = created(service(type="LoadBalancer", ports=[{"port": 80, "nodePort": 30001}]))
    assert (row(balancer)["External-IP"], row(balancer)["Port(s)"]) == ("<pending>", "80:30001/TCP")
    balancer["status"] = {"loadBalancer": {"ingress": [{"ip": "192.0.2.2"}, {"hostname": "a.example"}]}}
    balancer["spec"]["externalIPs"] = ["192.0.2.9"]
    assert row(balancer)["External-IP"] == "192.0.2.2,a.example,192.0.2.9"
    named = row(created(service(type="ExternalName", externalName="example.com", ports=[])))
    assert (named["Cluster-IP"], named["External-IP"], named["Port(s)"]) == ("<none>", "example.com", "<none>")


def test_a_service_that_is_no_longer_reached_from_outside_needs_no_policy_for_that() -> None:
    old = created(service(externalIPs=["192.0.2.1"], **ADDRESS))
    assert old["spec"]["externalTrafficPolicy"] == "Cluster"
    body = copy.deepcopy(old)
    del body["spec"]["externalIPs"]
    written = update(old, body)
    assert written.errors == []
    assert "externalTrafficPolicy" not in written.obj["spec"]
    body["spec"]["externalTrafficPolicy"] = "Local"
    assert [error.partition(":")[0] for error in update(old, body).errors] == ["spec.externalTrafficPolicy"]

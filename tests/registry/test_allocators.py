"""Services are allocated addresses and ports from ranges, without collisions, and give them back."""

from copy import deepcopy
from typing import Any

import pytest

from watchkeeper.apis.core.service import BEHAVIORS
from watchkeeper.apis.core.service_defaults import default_service
from watchkeeper.meta.errors import ApiError
from watchkeeper.registry.allocators import ServiceAllocator

Object = dict[str, Any]


def service(name: str = "s", **spec: Any) -> Object:
    obj: Object = {"metadata": {"name": name, "namespace": "n", "uid": f"uid-{name}"}, "spec": spec}
    if spec.get("type") != "ExternalName":
        spec.setdefault("ports", [{"port": 80}])
    default_service(obj)
    return obj


def create(allocator: ServiceAllocator, obj: Object, *, dry_run: bool = False) -> Object:
    allocator.begin_create(obj, dry_run=dry_run).commit()
    return obj


def update(allocator: ServiceAllocator, new: Object, old: Object) -> Object:
    transaction = allocator.begin_update(new, deepcopy(old), dry_run=False)
    prepare = BEHAVIORS[0].prepare_for_update
    assert prepare is not None
    prepare(new, old)
    transaction.commit()
    return new


def refusal(allocator: ServiceAllocator, obj: Object, *, dry_run: bool = False) -> str:
    with pytest.raises(ApiError) as caught:
        allocator.begin_create(obj, dry_run=dry_run)
    return caught.value.message


def test_a_service_gets_an_address_above_the_static_band_and_one_family() -> None:
    allocator = ServiceAllocator()
    spec = create(allocator, service())["spec"]
    assert spec["clusterIPs"] == [spec["clusterIP"]]
    assert spec["ipFamilies"] == ["IPv4"] and spec["ipFamilyPolicy"] == "SingleStack"
    assert int(spec["clusterIP"].rpartition(".")[2]) >= 17


def test_the_static_band_is_used_when_nothing_else_is_left_and_then_the_range_is_full() -> None:
    allocator = ServiceAllocator(["10.1.0.0/27"])
    given = [create(allocator, service(f"s{i}"))["spec"]["clusterIP"] for i in range(30)]
    assert sorted(given, key=lambda ip: int(ip.rpartition(".")[2])) == [f"10.1.0.{i}" for i in range(1, 31)]
    assert all(int(ip.rpartition(".")[2]) >= 17 for ip in given[:14])
    message = refusal(allocator, service("late"))
    assert message == 'Internal error occurred: failed to allocate a serviceIP for Service "late": range is full'


def test_an_address_belongs_to_one_service_until_that_is_deleted() -> None:
    allocator = ServiceAllocator()
    first = create(allocator, service("a", clusterIP="10.0.0.5"))
    assert first["spec"]["clusterIPs"] == ["10.0.0.5"]
    assert refusal(allocator, service("b", clusterIP="10.0.0.5")) == (
        'Service "b" is invalid: spec.clusterIPs: Invalid value: ["10.0.0.5"]: '
        "failed to allocate IP 10.0.0.5: provided IP is already allocated"
    )
    allocator.after_delete(service("b", clusterIP="10.0.0.5", clusterIPs=["10.0.0.5"]))
    assert "already allocated" in refusal(allocator, service("c", clusterIP="10.0.0.5"))
    allocator.after_delete(first)
    create(allocator, service("c", clusterIP="10.0.0.5"))


def test_an_address_outside_of_the_network_is_refused() -> None:
    message = refusal(ServiceAllocator(), service(clusterIP="10.9.0.1"))
    assert message.endswith("failed to allocate IP 10.9.0.1: the provided network does not match the current range")


def test_no_address_is_recorded_for_a_service_without_a_name() -> None:
    allocator = ServiceAllocator(["10.1.0.0/30"])
    record = 'IPAddress.networking.k8s.io "{}" is invalid: spec.parentRef.name: Required value'
    named = refusal(allocator, service("", clusterIP="10.1.0.2"))
    assert named.endswith("failed to allocate IP 10.1.0.2: " + record.format("10.1.0.2"))
    given = ("10.1.0.1", "10.1.0.2")
    any_address = refusal(allocator, service(""))
    assert any(any_address.endswith("failed to allocate IP: " + record.format(each)) for each in given)
    create(allocator, service("", clusterIP="None"))
    create(allocator, service(""), dry_run=True)
    assert {create(allocator, service(name))["spec"]["clusterIP"] for name in ("a", "b")} == set(given)


def test_a_write_that_fails_gives_back_what_it_took() -> None:
    allocator = ServiceAllocator(["10.1.0.0/30"], (30000, 30000))
    transaction = allocator.begin_create(service(type="NodePort"), dry_run=False)
    transaction.rollback()
    again = create(allocator, service(type="NodePort"))
    assert again["spec"]["ports"][0]["nodePort"] == 30000
    # The second port cannot be had: the address that was taken before is free again.
    two = service("two", type="NodePort", ports=[{"name": "a", "port": 1}, {"name": "b", "port": 2}])
    assert "range is full" in refusal(allocator, two)
    create(allocator, service("three"))


def test_a_dry_run_takes_nothing_and_shows_what_might_be() -> None:
    allocator = ServiceAllocator()
    shown = create(
        allocator, service(type="NodePort", ports=[{"name": "a", "port": 1}, {"name": "b", "port": 2}]), dry_run=True
    )
    assert shown["spec"]["clusterIP"] == "10.0.0.0"
    assert [p["nodePort"] for p in shown["spec"]["ports"]] == [32769, 32770]
    negative = service(
        type="LoadBalancer",
        externalTrafficPolicy="Local",
        allocateLoadBalancerNodePorts=False,
        ports=[{"port": 1, "nodePort": -1}],
    )
    assert create(allocator, negative, dry_run=True)["spec"]["healthCheckNodePort"] == 1
    create(allocator, service(clusterIP="10.0.0.5"), dry_run=True)
    create(allocator, service(clusterIP="10.0.0.5"))
    assert "The range of valid IPs is 10.0.0.0/24" in refusal(allocator, service(clusterIP="10.9.0.1"), dry_run=True)


@pytest.mark.parametrize(
    ("spec", "families", "policy"),
    [
        ({"clusterIP": "None"}, ["IPv4", "IPv6"], "RequireDualStack"),
        ({"clusterIP": "None", "selector": {"a": "b"}}, ["IPv4"], "SingleStack"),
        ({"clusterIP": "None", "ipFamilyPolicy": "SingleStack"}, ["IPv4"], "SingleStack"),
        ({"ipFamilyPolicy": "PreferDualStack"}, ["IPv4"], "PreferDualStack"),
    ],
)
def test_families_of_a_cluster_with_one_family(spec: Any, families: list[str], policy: str) -> None:
    found = create(ServiceAllocator(), service(**spec))["spec"]
    assert (found["ipFamilies"], found["ipFamilyPolicy"]) == (families, policy)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"ipFamilyPolicy": "RequireDualStack"},
            "this cluster is not configured for dual-stack services",
        ),
        ({"ipFamilies": ["IPv6"]}, 'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'),
        (
            {"clusterIP": "2001:db8::5"},
            'spec.clusterIPs[0]: Invalid value: ["2001:db8::5"]: IPv6 is not configured on this cluster',
        ),
        ({"clusterIP": "nonsense"}, "must be a valid IP address"),
        ({"clusterIP": "10.0.0.5", "clusterIPs": ["10.0.0.6"]}, "first value must match `clusterIP`"),
    ],
)
def test_what_a_cluster_with_one_family_refuses(spec: Any, message: str) -> None:
    assert message in refusal(ServiceAllocator(), service(**spec))


def test_a_cluster_with_two_families_gives_an_address_of_each_and_takes_the_second_back() -> None:
    allocator = ServiceAllocator(["10.0.0.0/24", "2001:db8::/112"])
    old = create(allocator, service(ipFamilyPolicy="RequireDualStack"))
    assert old["spec"]["ipFamilies"] == ["IPv4", "IPv6"]
    second = old["spec"]["clusterIPs"][1]
    assert second.startswith("2001:db8::")

    refused = deepcopy(old)
    refused["spec"]["clusterIPs"] = refused["spec"]["clusterIPs"][:1]
    with pytest.raises(ApiError, match="must be 'SingleStack' to release the secondary cluster IP"):
        allocator.begin_update(refused, deepcopy(old), dry_run=False)

    single = deepcopy(old)
    single["spec"]["ipFamilyPolicy"] = "SingleStack"
    single = update(allocator, single, old)
    assert single["spec"]["clusterIPs"] == old["spec"]["clusterIPs"][:1] and single["spec"]["ipFamilies"] == ["IPv4"]
    other = create(allocator, service("other", clusterIP=second))
    assert other["spec"]["ipFamilies"] == ["IPv6"]

    back = deepcopy(single)
    back["spec"]["ipFamilyPolicy"] = "PreferDualStack"
    back = update(allocator, back, single)
    assert len(back["spec"]["clusterIPs"]) == 2 and back["spec"]["clusterIPs"][1] != second


def test_ports_of_one_number_share_a_node_port_and_named_ones_are_kept() -> None:
    ports = [
        {"name": "t", "port": 53, "protocol": "TCP"},
        {"name": "u", "port": 53, "protocol": "UDP"},
        {"name": "w", "port": 80, "nodePort": 30080},
    ]
    spec = create(ServiceAllocator(), service(type="NodePort", ports=ports))["spec"]
    assert spec["ports"][0]["nodePort"] == spec["ports"][1]["nodePort"] >= 30086
    assert spec["ports"][2]["nodePort"] == 30080


def test_node_ports_that_are_taken_or_out_of_range_are_refused() -> None:
    allocator = ServiceAllocator()
    create(allocator, service("a", type="NodePort", ports=[{"port": 80, "nodePort": 30080}]))
    taken = service("b", type="NodePort", ports=[{"port": 80, "nodePort": 30080}])
    outside = service("b", type="NodePort", ports=[{"port": 80, "nodePort": 80}])
    assert refusal(allocator, taken).endswith(
        "spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated"
    )
    assert refusal(allocator, outside).endswith(
        "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. "
        "The range of valid ports is 30000-32767"
    )


def test_a_load_balancer_gets_node_ports_unless_told_otherwise_and_a_health_check_port() -> None:
    allocator = ServiceAllocator()
    plain = create(allocator, service("a", type="LoadBalancer", allocateLoadBalancerNodePorts=False))
    assert "nodePort" not in plain["spec"]["ports"][0]
    local = create(allocator, service("b", type="LoadBalancer", externalTrafficPolicy="Local"))
    assert local["spec"]["ports"][0]["nodePort"] and local["spec"]["healthCheckNodePort"]
    cluster = deepcopy(local)
    cluster["spec"]["externalTrafficPolicy"] = "Cluster"
    cluster = update(allocator, cluster, local)
    assert "healthCheckNodePort" not in cluster["spec"]
    freed = local["spec"]["healthCheckNodePort"]
    create(allocator, service("c", type="NodePort", ports=[{"port": 1, "nodePort": freed}]))


def test_writing_a_manifest_again_keeps_what_was_allocated() -> None:
    allocator = ServiceAllocator()
    old = create(allocator, service(type="NodePort"))
    again = update(allocator, service(type="NodePort"), old)
    assert again["spec"] == old["spec"]


def test_two_ports_of_one_name_do_not_each_get_a_port_of_their_own_when_written_again() -> None:
    allocator = ServiceAllocator()
    ports = [{"name": "a", "port": 1, "protocol": "TCP"}]
    old = create(allocator, service(type="NodePort", ports=deepcopy(ports)))
    new = service(type="NodePort", ports=deepcopy(ports) * 2)
    with pytest.raises(ApiError) as caught:
        allocator.begin_update(new, deepcopy(old), dry_run=True)
    number = old["spec"]["ports"][0]["nodePort"]
    assert (caught.value.code, caught.value.message) == (500, f"duplicate nodePort: {{TCP {number}}}")


def test_who_names_only_another_first_address_has_changed_the_addresses() -> None:
    allocator = ServiceAllocator()
    old = create(allocator, service(clusterIP="10.0.0.7"))
    new = deepcopy(old)
    new["spec"]["clusterIP"] = "10.0.0.8"
    del new["spec"]["clusterIPs"]
    allocator.begin_update(new, old, dry_run=False).rollback()
    assert new["spec"]["clusterIPs"] == ["10.0.0.8"]  # which validation refuses


def test_a_load_balancer_without_node_ports_gives_up_those_that_an_update_leaves_out() -> None:
    allocator = ServiceAllocator(["10.1.0.0/29"], (30000, 30001))
    ports = [{"name": "a", "port": 1}, {"name": "b", "port": 2}]
    old = create(allocator, service(type="LoadBalancer", ports=deepcopy(ports)))
    kept = old["spec"]["ports"][1]["nodePort"]
    new = deepcopy(old)
    new["spec"]["allocateLoadBalancerNodePorts"] = False
    del new["spec"]["ports"][0]["nodePort"]
    new = update(allocator, new, old)
    assert [port.get("nodePort") for port in new["spec"]["ports"]] == [None, kept]
    freed = old["spec"]["ports"][0]["nodePort"]
    create(allocator, service("other", type="NodePort", ports=[{"port": 1, "nodePort": freed}]))

    again = deepcopy(new)
    again["spec"]["allocateLoadBalancerNodePorts"] = True
    with pytest.raises(ApiError, match="range is full"):
        allocator.begin_update(again, deepcopy(new), dry_run=False)


def test_a_changed_type_lets_go_of_what_it_has_no_use_for() -> None:
    allocator = ServiceAllocator(["10.1.0.0/30"], (30000, 30000))
    old = create(allocator, service(type="NodePort"))
    plain = deepcopy(old)
    plain["spec"]["type"] = "ClusterIP"
    plain = update(allocator, plain, old)
    assert "nodePort" not in plain["spec"]["ports"][0] and "externalTrafficPolicy" not in plain["spec"]
    assert plain["spec"]["clusterIP"] == old["spec"]["clusterIP"]
    assert create(allocator, service("p", type="NodePort"))["spec"]["ports"][0]["nodePort"] == 30000

    named = deepcopy(plain)
    named["spec"].update(type="ExternalName", externalName="x.example.com")
    named = update(allocator, named, plain)
    assert not {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} & set(named["spec"])
    create(allocator, service("q", clusterIP=plain["spec"]["clusterIP"]))

    back = deepcopy(named)
    back["spec"].update(type="ClusterIP")
    with pytest.raises(ApiError, match="range is full"):
        allocator.begin_update(back, deepcopy(named), dry_run=False)


def test_an_update_that_fails_keeps_what_the_service_has() -> None:
    allocator = ServiceAllocator(node_ports=(30000, 30001))
    old = create(allocator, service(type="NodePort", ports=[{"port": 80, "nodePort": 30000}]))
    new = deepcopy(old)
    new["spec"]["ports"][0]["nodePort"] = 30001
    allocator.begin_update(new, deepcopy(old), dry_run=False).rollback()
    create(allocator, service("b", type="NodePort", ports=[{"port": 80, "nodePort": 30001}]))
    assert "already allocated" in refusal(
        allocator, service("c", type="NodePort", ports=[{"port": 80, "nodePort": 30000}])
    )


def test_what_existing_services_have_is_taken_from_the_start() -> None:
    old = create(ServiceAllocator(), service("a", type="NodePort", clusterIP="10.0.0.7"))
    allocator = ServiceAllocator()
    allocator.load([old])
    assert "already allocated" in refusal(allocator, service("b", clusterIP="10.0.0.7"))
    port = old["spec"]["ports"][0]["nodePort"]
    assert "already allocated" in refusal(
        allocator, service("b", type="NodePort", ports=[{"port": 1, "nodePort": port}])
    )


def test_the_recorder_is_told_what_became_of_addresses() -> None:
    told: list[Any] = []

    class Recorder:
        def taken(self, service: Object, addresses: Any) -> None:
            told.append(("taken", service["metadata"]["name"], list(addresses)))

        def released(self, addresses: Any) -> None:
            told.append(("released", list(addresses)))

        def deleted(self, service: Object) -> None:
            told.append(("deleted", service["metadata"]["name"]))

        async def settle(self) -> None:
            raise AssertionError("nobody waits here")

    allocator = ServiceAllocator(recorder=Recorder())
    create(allocator, service("dry"), dry_run=True)
    allocator.begin_create(service("failed"), dry_run=False).rollback()
    obj = create(allocator, service("a", clusterIP="10.0.0.9"))
    allocator.after_delete(obj)
    assert told == [("taken", "a", ["10.0.0.9"]), ("released", ["10.0.0.9"]), ("deleted", "a")]


def test_networks_that_cannot_serve_are_refused() -> None:
    with pytest.raises(ValueError, match="too few addresses"):
        ServiceAllocator(["10.0.0.0/31"])
    with pytest.raises(ValueError, match="64"):
        ServiceAllocator(["2001:db8::/48"])

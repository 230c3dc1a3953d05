"""Services get addresses from the networks of all ServiceCIDRs that are ready, whoever made these."""

from copy import deepcopy
from ipaddress import ip_address
from typing import Any

import pytest

from watchkeeper.apis.core.service_defaults import default_service
from watchkeeper.meta.errors import ApiError
from watchkeeper.registry.address_space import locate, record_name
from watchkeeper.registry.allocators import ServiceAllocator
from watchkeeper.registry.service_networks import ServiceNetworks

Object = dict[str, Any]
SMALL, OTHER = "10.1.0.0/30", "10.2.0.0/30"


def service(name: str, **spec: Any) -> Object:
    obj: Object = {"metadata": {"name": name, "namespace": "n", "uid": f"uid-{name}"}, "spec": spec}
    spec.setdefault("ports", [{"port": 80}])
    default_service(obj)
    return obj


def create(allocator: ServiceAllocator, name: str, *, dry_run: bool = False, **spec: Any) -> list[str]:
    obj = service(name, **spec)
    allocator.begin_create(obj, dry_run=dry_run).commit()
    found: list[str] = obj["spec"]["clusterIPs"]
    return found


def refusal(allocator: ServiceAllocator, *, dry_run: bool = False, **spec: Any) -> str:
    with pytest.raises(ApiError) as caught:
        allocator.begin_create(service("refused", **spec), dry_run=dry_run)
    return caught.value.message


def cidr(name: str, *networks: str, ready: str = "", ending: bool = False) -> Object:
    metadata: Object = {"name": name, "creationTimestamp": f"2026-01-01T00:00:{len(name):02}Z"}
    if ending:
        metadata["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    obj: Object = {"metadata": metadata, "spec": {"cidrs": list(networks)}}
    if ready:
        obj["status"] = {"conditions": [{"type": "Other", "status": "False"}, {"type": "Ready", "status": ready}]}
    return obj


def allocator_with(*cidrs: Object, configured: tuple[str, ...] = (SMALL,)) -> tuple[ServiceAllocator, ServiceNetworks]:
    allocator = ServiceAllocator(configured)
    networks = ServiceNetworks(allocator)
    networks.replace("ServiceCIDR", cidrs)
    return allocator, networks


def test_a_second_network_is_used_when_the_first_is_full_and_by_name() -> None:
    allocator, networks = allocator_with(cidr("a", SMALL))
    assert sorted(create(allocator, f"s{n}")[0] for n in range(2)) == ["10.1.0.1", "10.1.0.2"]
    assert "range is full" in refusal(allocator)
    assert refusal(allocator, clusterIP="10.2.0.1").endswith("the provided network does not match the current range")
    networks.put(cidr("second", OTHER))
    assert create(allocator, "named", clusterIP="10.2.0.1") == ["10.2.0.1"]
    assert create(allocator, "any") == ["10.2.0.2"]
    assert "range is full" in refusal(allocator)


@pytest.mark.parametrize(
    "unusable",
    [cidr("a", SMALL, ready="False"), cidr("a", SMALL, ready="Unknown"), cidr("a", SMALL, ready="True", ending=True)],
    ids=["not ready", "unknown", "ending"],
)
def test_nothing_is_given_of_networks_that_are_not_ready(unusable: Object) -> None:
    allocator, networks = allocator_with(unusable)
    assert refusal(allocator) == (
        'Internal error occurred: failed to allocate a serviceIP for Service "refused": range is full'
    )
    assert "does not match the current range" in refusal(allocator, clusterIP="10.1.0.1")
    assert refusal(allocator, dry_run=True).endswith("failed to allocate IP: allocator not ready")
    assert refusal(allocator, dry_run=True, clusterIP="10.1.0.1").endswith(
        "failed to allocate IP 10.1.0.1: allocator not ready"
    )
    assert allocator.covers("10.1.0.1") and not allocator.covers("10.1.0.3")
    networks.put(cidr("second", OTHER, ready="True"))
    assert create(allocator, "s")[0].startswith("10.2.0.")
    networks.put(cidr("a", SMALL, ready="True"))
    assert create(allocator, "named", clusterIP="10.1.0.1") == ["10.1.0.1"]


def test_networks_that_overlap_give_no_address_twice() -> None:
    allocator, networks = allocator_with(cidr("a", "10.1.0.0/29"))
    given = [create(allocator, f"s{n}")[0] for n in range(6)]
    networks.put(cidr("wide", "10.1.0.0/28"))
    assert "provided IP is already allocated" in refusal(allocator, clusterIP=given[0])
    given += [create(allocator, f"t{n}")[0] for n in range(8)]
    assert sorted(given, key=lambda ip: int(ip.rpartition(".")[2])) == [f"10.1.0.{n}" for n in range(1, 15)]
    assert "range is full" in refusal(allocator)


def test_an_address_stays_its_holders_while_no_network_has_it() -> None:
    allocator, networks = allocator_with(cidr("a", SMALL), cidr("second", OTHER))
    create(allocator, "s", clusterIP="10.2.0.1")
    networks.remove(cidr("second", OTHER))
    assert not allocator.covers("10.2.0.1")
    networks.put(cidr("again", OTHER))
    assert "provided IP is already allocated" in refusal(allocator, clusterIP="10.2.0.1")


def test_one_that_is_ready_is_enough_of_those_that_share_a_network() -> None:
    allocator, networks = allocator_with(cidr("a", SMALL, ready="True"), cidr("twin", SMALL, ready="False"))
    create(allocator, "s", clusterIP="10.1.0.1")
    networks.remove(cidr("a", SMALL))
    assert "range is full" in refusal(allocator)


def test_each_family_is_given_from_its_networks() -> None:
    allocator, networks = allocator_with(cidr("a", SMALL), configured=(SMALL, "fd00::/112"))
    assert "range is full" in refusal(allocator, ipFamilyPolicy="RequireDualStack")
    networks.put(cidr("six", "fd00:1::/127", OTHER))
    both = create(allocator, "s", ipFamilyPolicy="RequireDualStack")
    assert both[0].startswith("10.1.0.") and both[1] == "fd00:1::1"
    assert "range is full" in refusal(allocator, ipFamilyPolicy="RequireDualStack")
    # What was taken of the first family was given back.
    assert create(allocator, "t")[0].startswith("10.1.0.")


def test_who_is_refused_is_shown_what_was_asked_for() -> None:
    allocator, _ = allocator_with(cidr("a", SMALL, "fd00::/112"), configured=(SMALL, "fd00::/112"))
    message = refusal(allocator, clusterIP="fd06::1", ipFamilyPolicy="RequireDualStack")
    assert 'Invalid value: ["fd06::1",""]: failed to allocate IP fd06::1: the provided network' in message
    old = service("s", clusterIP="10.1.0.1")
    allocator.begin_create(old, dry_run=False).commit()
    new = deepcopy(old)
    new["spec"] |= {"ipFamilyPolicy": "RequireDualStack", "clusterIPs": ["10.1.0.1", "fd06::1"]}
    with pytest.raises(ApiError, match=r'Invalid value: \["10\.1\.0\.1","fd06::1"\]: failed to allocate IP fd06::1'):
        allocator.begin_update(new, old, dry_run=False)


def test_networks_of_a_family_that_the_cluster_has_not_are_of_no_use_and_so_are_those_without_addresses() -> None:
    allocator, _ = allocator_with(cidr("a", "10.3.0.0/31", "fd00::/112"), cidr("large", "10.4.0.1/32", "fd00::/48"))
    assert "range is full" in refusal(allocator)
    assert "IPv6 is not configured on this cluster" in refusal(allocator, clusterIP="fd00::5")


def test_a_dry_run_tells_of_one_network() -> None:
    allocator, _ = allocator_with(cidr("a", SMALL), cidr("second", OTHER))
    assert create(allocator, "s", dry_run=True) == ["10.1.0.0"]
    assert create(allocator, "s", dry_run=True, clusterIP="10.2.0.1") == ["10.2.0.1"]
    assert refusal(allocator, dry_run=True, clusterIP="10.9.0.1").endswith(
        "the provided IP (10.9.0.1) is not in the valid range. The range of valid IPs is 10.1.0.0/30"
    )


@pytest.mark.parametrize(
    ("text", "family", "name"),
    [
        ("10.0.0.5", "IPv4", "10.0.0.5"),
        ("010.000.0.05", "IPv4", "10.0.0.5"),
        ("::ffff:10.0.0.5", "IPv4", "10.0.0.5"),
        ("fd00::5", "IPv6", "fd00::5"),
        ("FD00:0:0::0005", "IPv6", "fd00::5"),
        ("fd00:0:0:0:1:0:0:0", "IPv6", "fd00::1:0:0:0"),
        ("::", "IPv6", "::"),
        ("fd00::10.0.0.5", "IPv6", "fd00::a00:5"),
    ],
)
def test_an_address_is_one_number_and_has_one_name_however_it_is_written(text: str, family: str, name: str) -> None:
    assert record_name(text) == record_name(name) == name
    found = locate(text)
    assert found == locate(name) and found is not None
    assert found == (family, int(ip_address(name)))


@pytest.mark.parametrize("text", ["", "None", "10.0.0", "10.0.0.256", "fd00::g", "fd00::1%eth0", "10.0.0.5/24", "\x00"])
def test_what_is_no_address_has_no_number(text: str) -> None:
    assert locate(text) is None
    assert record_name(text) == text


def test_an_address_that_has_an_ip_address_object_is_given_to_nobody() -> None:
    allocator, _ = allocator_with(cidr("a", SMALL))
    assert allocator.record("10.1.0.1") and not allocator.record("10.1.0.1")
    assert "provided IP is already allocated" in refusal(allocator, clusterIP="10.1.0.1")
    assert create(allocator, "s") == ["10.1.0.2"]
    assert "range is full" in refusal(allocator)
    allocator.unrecord("10.1.0.1")
    assert create(allocator, "named", clusterIP="10.1.0.1") == ["10.1.0.1"]
    allocator.replace_records(["10.1.0.1", "fd00::1", "none"])
    assert allocator.is_recorded("10.1.0.1") and not allocator.is_recorded("fd00::1")

"""ServiceCIDRs are ready while nobody deletes them, and stay until no address is theirs alone."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.waiting import eventually, exists

from watchkeeper.controllers.service_cidrs import FINALIZER, may_go
from watchkeeper.testing import Handle, Server
from watchkeeper.testing.handle import RequestFailed

Object = dict[str, Any]
CIDRS = "/apis/networking.k8s.io/v1/servicecidrs"
SERVICES = "/api/v1/namespaces/default/services"


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True, controllers=("namespace", "service-cidr")) as handle:
        yield handle


def cidr(name: str, *networks: str) -> Object:
    return {"metadata": {"name": name}, "spec": {"cidrs": list(networks)}}


def ready(server: Handle, name: str) -> tuple[str, str, str]:
    conditions = server.request("GET", f"{CIDRS}/{name}").get("status", {}).get("conditions") or [{}]
    found = conditions[0]
    return found.get("status", ""), found.get("reason", ""), found.get("message", "")


def test_each_is_ready_and_protected(server: Handle) -> None:
    server.request("POST", CIDRS, cidr("new", "10.5.0.0/24"))
    for name in ("new", "kubernetes"):
        assert eventually(lambda name=name: ready(server, name) == ("True", "", "Kubernetes Service CIDR is ready"))  # type: ignore[misc]
        found = server.request("GET", f"{CIDRS}/{name}")
        assert found["metadata"]["finalizers"] == [FINALIZER]
        owners = {(each["manager"], each.get("subresource", "")) for each in found["metadata"]["managedFields"]}
        assert {("service-cidr-controller", "status"), ("kube-controller-manager", "")} <= owners


def test_one_that_is_deleted_stays_while_an_address_is_its_own(server: Handle) -> None:
    server.request("POST", CIDRS, cidr("kept", "10.6.0.0/24"))
    service = {"metadata": {"name": "s"}, "spec": {"clusterIP": "10.6.0.5", "ports": [{"port": 80}]}}
    server.request("POST", SERVICES, service)
    assert eventually(lambda: FINALIZER in server.request("GET", f"{CIDRS}/kept")["metadata"].get("finalizers", ()))
    server.request("DELETE", f"{CIDRS}/kept")
    assert eventually(lambda: ready(server, "kept")[:2] == ("False", "Terminating"))
    with pytest.raises(RequestFailed, match="does not match the current range"):
        server.request(
            "POST",
            SERVICES,
            {**service, "metadata": {"name": "t"}, "spec": {**service["spec"], "clusterIP": "10.6.0.6"}},
        )
    server.request("DELETE", f"{SERVICES}/s")
    time.sleep(0.5)
    assert exists(server, f"{CIDRS}/kept")  # for ten seconds, until all know that it goes
    assert eventually(lambda: not exists(server, f"{CIDRS}/kept"))


@pytest.mark.parametrize(
    ("others", "addresses", "expected"),
    [
        ({}, [], True),
        ({}, ["10.0.0.5"], False),
        ({}, ["10.1.0.5", "fd00::5"], True),
        ({}, ["10.0.0.0", "10.0.0.255"], True),
        ({"wide": ["10.0.0.0/16"]}, ["10.0.0.5"], True),
        ({"twin": ["10.0.0.0/24"]}, ["10.0.0.5"], True),
        ({"half": ["10.0.0.0/25"]}, ["10.0.0.5"], True),
        ({"half": ["10.0.0.0/25"]}, ["10.0.0.5", "10.0.0.200"], False),
        ({"half": ["10.0.0.0/25"]}, ["10.0.0.127"], False),
        ({"six": ["fd00::/112"]}, ["10.0.0.5"], False),
    ],
)
def test_what_keeps_one(others: dict[str, list[str]], addresses: list[str], expected: bool) -> None:
    cidrs = {"own": cidr("own", "10.0.0.0/24"), **{name: cidr(name, *those) for name, those in others.items()}}
    assert may_go("own", cidrs, map(ipaddress.ip_address, addresses)) is expected


def test_one_of_two_families_goes_when_both_are_others_too() -> None:
    own = cidr("own", "10.0.0.0/24", "fd00::/112")
    six = [ipaddress.ip_address("fd00::5")]
    assert not may_go("own", {"own": own, "four": cidr("four", "10.0.0.0/16")}, six)
    assert may_go("own", {"own": own, "four": cidr("four", "10.0.0.0/16"), "six": cidr("six", "fd00::/64")}, six)

"""Where Services are: at cluster IPs, at endpoints, or at other names."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from watchkeeper.aio.http_client import ResolveError
from watchkeeper.webhook import OwnServer, ServiceReference, ServiceResolver

SERVICE = ServiceReference("default", "far", 443)


def resolver(
    spec: dict[str, Any] | None, slices: Sequence[dict[str, Any]] | None = None, own: OwnServer | None = None
) -> ServiceResolver:
    async def find(namespace: str, name: str) -> dict[str, Any] | None:
        return {"spec": spec} if spec is not None else None

    async def find_slices(namespace: str, name: str) -> Sequence[dict[str, Any]]:
        return slices or ()

    return ServiceResolver(find, find_slices if slices is not None else None, lambda: own)


def cluster_ip(**spec: Any) -> dict[str, Any]:
    return {"type": "ClusterIP", "clusterIP": "10.0.0.1", "ports": [{"port": 443, "name": "https"}], **spec}


def endpoints(address: str, *, ready: bool | None = True, family: str = "IPv4", port: int = 8443) -> dict[str, Any]:
    conditions = {} if ready is None else {"ready": ready}
    ports = [{"name": "other", "port": 1}, {"name": "https", "port": port}]
    return {"addressType": family, "ports": ports, "endpoints": [{"addresses": [address], "conditions": conditions}]}


def test_services_with_an_address_are_there_and_others_where_they_say() -> None:
    assert asyncio.run(resolver(cluster_ip()).resolve(SERVICE)) == ("10.0.0.1", 443)
    named = {"type": "ExternalName", "externalName": "else.where"}
    assert asyncio.run(resolver(named).resolve(SERVICE)) == ("else.where", 443)


def test_with_aggregator_routing_a_service_is_where_its_ready_endpoints_are() -> None:
    found = resolver(cluster_ip(), [endpoints("10.1.0.1", ready=False), endpoints("10.1.0.2", ready=None)])
    assert asyncio.run(found.resolve(SERVICE)) == ("10.1.0.2", 8443)
    headless = resolver(cluster_ip(clusterIP="None"), [endpoints("10.1.0.3")])
    assert asyncio.run(headless.resolve(SERVICE)) == ("10.1.0.3", 8443)


def test_endpoints_of_the_preferred_family_come_first() -> None:
    both = [endpoints("10.1.0.1"), endpoints("fd00::1", family="IPv6")]
    for _ in range(10):
        assert asyncio.run(resolver(cluster_ip(ipFamilies=["IPv6", "IPv4"]), both).resolve(SERVICE)) == (
            "fd00::1",
            8443,
        )


def test_the_service_of_the_server_itself_is_where_it_serves() -> None:
    found = resolver(None, own=OwnServer("127.0.0.1", 6443))
    assert asyncio.run(found.resolve(ServiceReference("default", "kubernetes", 443))) == ("127.0.0.1", 6443)


@pytest.mark.parametrize(
    ("spec", "slices", "why"),
    [
        (None, None, 'service "far" not found'),
        (cluster_ip(clusterIP="None"), None, 'cannot route to service with ClusterIP "None"'),
        (cluster_ip(ports=[]), None, 'no service port 443 found for service "far"'),
        (cluster_ip(ports=[]), [], 'no service port 443 found for service "far"'),
        (cluster_ip(), [], 'no endpoints available for service "far"'),
        (cluster_ip(), [endpoints("10.1.0.1", ready=False)], 'no endpoints available for service "far"'),
        ({"type": "ExternalName", "externalName": "a.b"}, [], 'unsupported service type "ExternalName"'),
    ],
)
def test_what_keeps_a_service_from_being_found_is_told(
    spec: dict[str, Any] | None, slices: list[dict[str, Any]] | None, why: str
) -> None:
    with pytest.raises(ResolveError) as problem:
        asyncio.run(resolver(spec, slices).resolve(SERVICE))
    assert str(problem.value) == why

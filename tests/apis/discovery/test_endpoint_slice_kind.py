"""EndpointSlices."""

import copy
from typing import Any

import pytest
from kind_writer import create, created, read, row, update


def slice_of(*addresses: str, kind: str = "IPv4", **fields: Any) -> Any:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "s"},
        "addressType": kind,
        "endpoints": [{"addresses": [address]} for address in addresses],
        **fields,
    }


def test_ports_have_names_and_protocols() -> None:
    assert read(slice_of(ports=[{"port": 80}]))["ports"] == [{"port": 80, "name": "", "protocol": "TCP"}]


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        (
            {"addressType": "MAC"},
            ['addressType: Unsupported value: "MAC": supported values: "FQDN", "IPv4", "IPv6"'],
        ),
        (
            {"ports": [{"port": 80, "protocol": ""}]},
            ['ports[0].protocol: Unsupported value: "": supported values: "SCTP", "TCP", "UDP"'],
        ),
        ({"endpoints": [{}]}, ["endpoints[0].addresses: Required value: must contain at least 1 address"]),
        (
            {"endpoints": [{"addresses": ["fd00::1"]}]},
            ['endpoints[0].addresses: Invalid value: "fd00::1": must be an IPv4 address'],
        ),
        (
            {"addressType": "IPv6", "endpoints": [{"addresses": ["FD00::1"]}]},
            ['endpoints[0].addresses[0]: Invalid value: "FD00::1": must be in canonical form ("fd00::1")'],
        ),
        (
            {"endpoints": [{"addresses": ["127.0.0.1"]}]},
            [
                'endpoints[0].addresses[0]: Invalid value: "127.0.0.1": '
                "may not be in the loopback range (127.0.0.0/8, ::1/128)"
            ],
        ),
        (
            {"addressType": "FQDN", "endpoints": [{"addresses": ["single"]}]},
            [
                'endpoints[0].addresses[0]: Invalid value: "single": '
                "should be a domain with at least two segments separated by dots"
            ],
        ),
        (
            {"endpoints": [{"addresses": ["10.0.0.1"], "hints": {"forZones": [{"name": "a"}, {"name": "a"}]}}]},
            ['endpoints[0].hints.forZones[1].name: Duplicate value: "a"'],
        ),
        ({"ports": [{"port": 80}, {"port": 81}]}, ['ports[1].name: Duplicate value: ""']),
        (
            {"endpoints": [{"addresses": ["10.0.0.1"] * 101}]},
            ["endpoints[0].addresses: Too many: 101: must have at most 100 items"],
        ),
    ],
)
def test_what_a_slice_must_say(fields: Any, errors: list[str]) -> None:
    assert create(slice_of(**fields)).errors == errors


def test_any_change_but_to_annotations_counts() -> None:
    old = created(slice_of("10.0.0.1"))
    body = copy.deepcopy(old)
    body["metadata"]["annotations"] = {"a": "b"}
    assert update(old, body).obj["metadata"]["generation"] == 1
    body["metadata"]["labels"] = {"a": "b"}
    assert update(old, body).obj["metadata"]["generation"] == 2
    body = copy.deepcopy(old)
    body["ports"] = [{"port": 80}]
    assert update(old, body).obj["metadata"]["generation"] == 2


def test_the_type_of_addresses_stays() -> None:
    old = created(slice_of())
    assert update(old, slice_of(kind="IPv6")).errors == ['addressType: Invalid value: "IPv6": field is immutable']


def test_names_as_addresses_are_deprecated() -> None:
    assert create(slice_of("a.example.com", kind="FQDN")).warnings == [
        "spec.addressType: FQDN endpoints are deprecated"
    ]
    old = created(slice_of("a.example.com", kind="FQDN"))
    assert update(old, slice_of("b.example.com", kind="FQDN")).warnings == []


def test_the_table_shows_three_of_each() -> None:
    obj = created(slice_of("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", ports=[{"port": 80}]))
    shown = row(obj)
    assert (shown["AddressType"], shown["Ports"]) == ("IPv4", "80")
    assert shown["Endpoints"] == "10.0.0.1,10.0.0.2,10.0.0.3 + 1 more..."
    empty = row(created(slice_of()))
    assert (empty["Ports"], empty["Endpoints"]) == ("<unset>", "<unset>")

"""How Services show in tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, TableSpec
from watchkeeper.apis.core import service_traits as traits

Object = dict[str, Any]


def ingress_points(status: Mapping[str, Any]) -> str:
    """The addresses or else names of a load balancer, each once, sorted and joined by commas."""
    ingresses = (status.get("loadBalancer") or {}).get("ingress") or ()
    return ",".join(sorted({point for i in ingresses if (point := i.get("ip") or i.get("hostname"))}))


def _external(service: Object) -> str:
    spec = service.get("spec") or {}
    kind = spec.get("type")
    if kind == traits.EXTERNAL_NAME:
        return spec.get("externalName") or ""
    if kind not in (traits.CLUSTER_IP, traits.NODE_PORT, traits.LOAD_BALANCER):
        return printing.UNKNOWN
    addresses = list(spec.get("externalIPs") or ())
    if kind == traits.LOAD_BALANCER:
        balancer = ingress_points(service.get("status") or {})
        return ",".join([*([balancer] if balancer else []), *addresses]) or "<pending>"
    return ",".join(addresses) or printing.NONE


def _ports(ports: Iterable[Mapping[str, Any]]) -> str:
    shown = []
    for port in ports:
        node_port = port.get("nodePort")
        number = f"{port.get('port', 0)}:{node_port}" if node_port and node_port > 0 else str(port.get("port", 0))
        shown.append(f"{number}/{port.get('protocol', '')}")
    return ",".join(shown) or printing.NONE


def _cells(service: Object, now: float) -> list[Any]:
    spec = service.get("spec") or {}
    return [
        printing.name_of(service),
        spec.get("type", ""),
        (spec.get("clusterIPs") or [printing.NONE])[0],
        _external(service),
        _ports(spec.get("ports") or ()),
        printing.age(service, now),
        printing.format_labels(spec.get("selector")),
    ]


TABLE = TableSpec(
    columns=(
        printing.NAME,
        Column("Type", "string", "How the Service is exposed."),
        Column("Cluster-IP", "string", "The address within the cluster, None for a headless Service."),
        Column("External-IP", "string", "Addresses or names that reach it from outside."),
        Column("Port(s)", "string", "The ports it serves, with their node ports and protocols."),
        printing.AGE,
        printing.SELECTOR,
    ),
    cells=_cells,
)

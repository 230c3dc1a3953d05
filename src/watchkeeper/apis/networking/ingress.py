"""Ingresses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.core.service_table import ingress_points
from watchkeeper.apis.networking.ingress_validation import (
    CLASS_ANNOTATION,
    validate_ingress,
    validate_ingress_status,
    validate_ingress_update,
)
from watchkeeper.meta.gvk import GroupKind

Object = dict[str, Any]

GROUP = "networking.k8s.io"
_SHOWN_HOSTS = 3


def _warnings(ingress: Object) -> list[str]:
    annotated = CLASS_ANNOTATION in (ingress["metadata"].get("annotations") or {})
    if annotated and (ingress.get("spec") or {}).get("ingressClassName") is None:
        return [f"annotation \"{CLASS_ANNOTATION}\" is deprecated, please use 'spec.ingressClassName' instead"]
    return []


def _hosts(rules: Sequence[Object]) -> str:
    """The first few hosts, and how many rules there are beyond those."""
    hosts: list[str] = []
    for rule in rules:
        if len(hosts) == _SHOWN_HOSTS:
            return f"{','.join(hosts)} + {len(rules) - _SHOWN_HOSTS} more..."
        if rule.get("host"):
            hosts.append(rule["host"])
    return ",".join(hosts) or "*"


def _cells(ingress: Object, now: float) -> list[Any]:
    spec = ingress.get("spec") or {}
    return [
        printing.name_of(ingress),
        spec.get("ingressClassName", printing.NONE),
        _hosts(spec.get("rules") or ()),
        ingress_points(ingress.get("status") or {}),
        "80, 443" if spec.get("tls") else "80",
        printing.age(ingress, now),
    ]


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind(GROUP, "Ingress"),
        validate=validate_ingress,
        validate_update=validate_ingress_update,
        validate_status_update=validate_ingress_status,
        warnings_on_create=_warnings,
        has_generation=True,
        table=TableSpec(
            columns=(
                printing.NAME,
                Column("Class", "string", "The IngressClass that implements it."),
                Column("Hosts", "string", "The hosts it answers for."),
                Column("Address", "string", "Where the load balancer can be reached."),
                Column("Ports", "string", "The ports that are open."),
                printing.AGE,
            ),
            cells=_cells,
        ),
    )
]

"""EndpointSlices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.discovery.endpointslice_validation import validate_slice, validate_slice_update
from watchkeeper.apis.validation.net import ip_warnings
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]

GROUP = "discovery.k8s.io"
_SHOWN = 3
_MANAGER_LABEL = "endpointslice.kubernetes.io/managed-by"
_CONTROLLERS = ("endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io")


def default_slice(endpoint_slice: Object) -> None:
    """Ports have an empty name and are TCP unless they say otherwise."""
    for port in endpoint_slice.get("ports") or ():
        if port.get("name") is None:
            port["name"] = ""
        if port.get("protocol") is None:
            port["protocol"] = "TCP"


def _drop_topology(endpoints: Iterable[Object]) -> None:
    for endpoint in endpoints:
        endpoint.pop("deprecatedTopology", None)


def _prepare_for_create(endpoint_slice: Object) -> None:
    endpoint_slice["metadata"]["generation"] = 1
    _drop_topology(endpoint_slice.get("endpoints") or ())


def _prepare_for_update(new: Object, old: Object) -> None:
    """Any change but to metadata counts, and so does one of labels."""
    meta, was = new["metadata"], old["metadata"]
    changed = any((new.get(name) or []) != (old.get(name) or []) for name in ("endpoints", "ports"))
    changed = changed or new.get("addressType") != old.get("addressType")
    if changed or (meta.get("labels") or {}) != (was.get("labels") or {}):
        meta["generation"] = (was.get("generation") or 0) + 1
    if (new.get("endpoints") or []) != (old.get("endpoints") or []):
        _drop_topology(new.get("endpoints") or ())


def _warnings(endpoint_slice: Object) -> list[str]:
    found: list[str] = []
    if (endpoint_slice["metadata"].get("labels") or {}).get(_MANAGER_LABEL) in _CONTROLLERS:
        return found
    for i, endpoint in enumerate(endpoint_slice.get("endpoints") or ()):
        for j, address in enumerate(endpoint.get("addresses") or ()):
            found += ip_warnings(address, f"endpoints[{i}].addresses[{j}]")
    return found


def _warnings_on_create(endpoint_slice: Object) -> list[str]:
    if endpoint_slice.get("addressType") == "FQDN":
        return ["spec.addressType: FQDN endpoints are deprecated", *_warnings(endpoint_slice)]
    return _warnings(endpoint_slice)


def _listed(items: Sequence[str]) -> str:
    return printing.list_with_more(items, shown=_SHOWN, total=len(items)) or printing.UNSET


def _port(port: Mapping[str, Any]) -> str:
    number = port.get("port")
    return str(number) if number is not None else port.get("name", "*")


def _cells(endpoint_slice: Object, now: float) -> list[Any]:
    endpoints = endpoint_slice.get("endpoints") or ()
    return [
        printing.name_of(endpoint_slice),
        endpoint_slice.get("addressType") or "",
        _listed([_port(port) for port in endpoint_slice.get("ports") or ()]),
        _listed([address for endpoint in endpoints for address in endpoint.get("addresses") or ()]),
        printing.age(endpoint_slice, now),
    ]


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind(GROUP, "EndpointSlice"),
        prepare_for_create=_prepare_for_create,
        prepare_for_update=_prepare_for_update,
        validate=validate_slice,
        validate_update=validate_slice_update,
        warnings_on_create=_warnings_on_create,
        warnings_on_update=lambda new, _old: _warnings(new),
        has_status=False,
        table=TableSpec(
            columns=(
                printing.NAME,
                Column("AddressType", "string", "What sort of addresses its endpoints have."),
                Column("Ports", "string", "The ports that each endpoint has."),
                Column("Endpoints", "string", "The addresses of its endpoints."),
                printing.AGE,
            ),
            cells=_cells,
        ),
    )
]
DEFAULTS = {GroupVersionKind(GROUP, "v1", "EndpointSlice"): default_slice}

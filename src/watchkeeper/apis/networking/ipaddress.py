"""IPAddresses: what Services have been allocated, one object for each address."""

from __future__ import annotations

from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.networking.ingress import GROUP
from watchkeeper.apis.networking.ingress_validation import named_reference_errors
from watchkeeper.apis.validation.internal_form import InternalForm, internal_form
from watchkeeper.apis.validation.metadata import IMMUTABLE
from watchkeeper.apis.validation.names import is_dns1123_subdomain, is_path_segment_name
from watchkeeper.apis.validation.net import validate_ip
from watchkeeper.meta.field import FieldError, invalid, required
from watchkeeper.meta.gvk import GroupKind

Object = dict[str, Any]

FAMILY_LABEL = "ipaddress.kubernetes.io/ip-family"
MANAGER_LABEL = "ipaddress.kubernetes.io/managed-by"
MANAGER = "ipallocator.k8s.io"
_PATH = "spec.parentRef"
_PARENT: InternalForm = {
    "group": ("Group", ""),
    "resource": ("Resource", ""),
    "namespace": ("Namespace", ""),
    "name": ("Name", ""),
}


def address_object(address: str, namespace: str, service: str) -> Object:
    """The object that tells that a Service has an address."""
    parent = {"group": "", "resource": "services", "namespace": namespace, "name": service}
    return {
        "kind": "IPAddress",
        "apiVersion": f"{GROUP}/v1",
        "metadata": {"name": address, "labels": {FAMILY_LABEL: ip_family(address), MANAGER_LABEL: MANAGER}},
        "spec": {"parentRef": {name: value for name, value in parent.items() if value}},
    }


def ip_family(address: str) -> str:
    """The IP family of an address."""
    return "IPv6" if ":" in address else "IPv4"


def parent_of(address: Object) -> tuple[str, str]:
    """The namespace and the name of what an address belongs to."""
    parent = (address.get("spec") or {}).get("parentRef") or {}
    return parent.get("namespace", ""), parent.get("name", "")


def tells_of_service(address: Object) -> bool:
    """Whether it belongs to a Service."""
    parent = (address.get("spec") or {}).get("parentRef") or {}
    return not parent.get("group") and parent.get("resource") == "services"


def is_managed(address: Object) -> bool:
    """Whether its label says that it was allocated."""
    return (address["metadata"].get("labels") or {}).get(MANAGER_LABEL) == MANAGER


def service_of(address: Object) -> tuple[str, str] | None:
    """The namespace and the name of the Service that it was allocated for; None unless all of it says so."""
    labels = address["metadata"].get("labels") or {}
    is_right = is_managed(address) and labels.get(FAMILY_LABEL) == ip_family(address["metadata"]["name"])
    return parent_of(address) if is_right and tells_of_service(address) else None


def _name_rule(name: str, _prefix: bool) -> list[str]:
    return [error.detail for error in validate_ip(name, "")]


def _validate(address: Object) -> list[FieldError]:
    parent = (address.get("spec") or {}).get("parentRef")
    if parent is None:
        return [required(_PATH)]
    group, namespace = parent.get("group"), parent.get("namespace")
    errors: list[FieldError] = []
    if group:
        errors += [invalid(f"{_PATH}.group", group, text) for text in is_dns1123_subdomain(group)]
    errors += named_reference_errors(parent, _PATH, ("resource", "name"))
    if namespace:
        errors += [invalid(f"{_PATH}.namespace", namespace, text) for text in is_path_segment_name(namespace)]
    return errors


def _validate_change(new: Object, old: Object) -> list[FieldError]:
    now, was = (_shown((each.get("spec") or {}).get("parentRef")) for each in (new, old))
    return [] if now == was else [invalid(_PATH, now, IMMUTABLE)]


def _shown(parent: Object | None) -> Object | None:
    return None if parent is None else internal_form(parent, _PARENT)


def _parent(address: Object) -> str:
    parent = (address.get("spec") or {}).get("parentRef")
    if parent is None:
        return printing.NONE
    resource = ".".join(filter(None, (parent.get("resource", ""), parent.get("group", "")))).lower()
    namespace = parent.get("namespace")
    return "/".join((resource, *([namespace] if namespace else []), parent.get("name", "")))


def _cells(address: Object, now: float) -> list[Any]:
    """The age has a cell, but as in the reference no column: clients leave it out."""
    return [printing.name_of(address), _parent(address), printing.age(address, now)]


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind(GROUP, "IPAddress"),
        validate=_validate,
        validate_update=lambda new, _old: _validate(new),
        validate_change=_validate_change,
        name_rule=_name_rule,
        appends_to_generate_name=False,
        has_status=False,
        table=TableSpec(
            columns=(printing.NAME, Column("ParentRef", "string", "What it belongs to.")),
            cells=_cells,
        ),
    )
]

"""The rules of a claim's status: what was allocated, for whom, and what drivers report."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from watchkeeper.apis.core.affinity_validation import validate_node_selector
from watchkeeper.apis.resource.binding_validation import validate_binding_conditions
from watchkeeper.apis.resource.claim_form import ALLOCATION
from watchkeeper.apis.resource.claim_validation import (
    MAX_CONFIGS,
    MAX_PARAMETERS,
    RequestNames,
    request_names,
    validate_configuration,
    validate_raw,
    validate_request_reference,
    validate_request_references,
)
from watchkeeper.apis.resource.lists import (
    validate_driver_name,
    validate_label,
    validate_list,
    validate_pool_name,
    validate_set,
    validate_uid,
)
from watchkeeper.apis.validation.conditions import validate_conditions
from watchkeeper.apis.validation.enums import validate_enum
from watchkeeper.apis.validation.internal_form import InternalForm, internal_form
from watchkeeper.apis.validation.metadata import IMMUTABLE
from watchkeeper.apis.validation.names import byte_length
from watchkeeper.apis.validation.net import validate_interface_address
from watchkeeper.meta.field import FieldError, forbidden, invalid, required, too_long, too_many

Object = Mapping[str, Any]

_MAX_CONSUMERS = 256
_MAX_RESULTS = 32
_MAX_CONDITIONS = 8
_MAX_ADDRESSES = 16
_NETWORK_LENGTHS = {"interfaceName": 256, "hardwareAddress": 128}
_SOURCES = ("FromClaim", "FromClass")
_DEVICE_ID: InternalForm = {
    "driver": ("Driver", ""),
    "pool": ("Pool", ""),
    "device": ("Device", ""),
    "shareID": ("ShareID", ""),
}


def device_id(device: Object) -> str:
    """What tells allocated devices apart: driver, pool, name, and the share of it if it is shared."""
    name = "/".join(device.get(field) or "" for field in ("driver", "pool", "device"))
    share = device.get("shareID")
    return f"{name}/{share}" if share else name


def allocated_devices(status: Object) -> frozenset[str]:
    """The devices that a claim got."""
    results = ((status.get("allocation") or {}).get("devices") or {}).get("results") or ()
    return frozenset(device_id(result) for result in results)


def validate_claim_status_update(new: Object, old: Object) -> list[FieldError]:
    """What is wrong with a new status of a claim, or with the change to it."""
    status, before = new.get("status") or {}, old.get("status") or {}
    consumers, allocation = status.get("reservedFor") or (), status.get("allocation")
    path = "status.reservedFor"
    errors = validate_set(consumers, _MAX_CONSUMERS, _consumer, lambda c: c.get("uid"), path)
    allocated = allocated_devices(status)
    errors += validate_set(
        status.get("devices"),
        None,
        lambda d, p: _device_status(d, p, allocated),
        device_id,
        "status.devices",
        shown=lambda d: internal_form(d, _DEVICE_ID),
    )
    if consumers and allocation is None:
        errors.append(forbidden(path, "may not be specified when `allocated` is not set"))
    elif new["metadata"].get("deletionTimestamp") and _has_new(consumers, before.get("reservedFor") or ()):
        text = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        errors.append(forbidden(path, text))
    if allocation is None:
        return errors
    if before.get("allocation") is not None:
        if allocation != before["allocation"]:
            errors.append(invalid("status.allocation", internal_form(allocation, ALLOCATION), IMMUTABLE))
        return errors
    return errors + _allocation(allocation, "status.allocation", request_names(new.get("spec") or {}))


def _has_new(consumers: Sequence[Object], before: Sequence[Object]) -> bool:
    return any(consumer not in before for consumer in consumers)


def _consumer(consumer: Object, path: str) -> list[FieldError]:
    return [required(f"{path}.{name}") for name in ("resource", "name", "uid") if not consumer.get(name)]


def _device(device: Object, path: str) -> list[FieldError]:
    errors = validate_driver_name(device.get("driver") or "", f"{path}.driver")
    errors += validate_pool_name(device.get("pool"), f"{path}.pool")
    return errors + validate_label(device.get("device"), f"{path}.device")


def _device_status(device: Object, path: str, allocated: Collection[str]) -> list[FieldError]:
    errors = _device(device, path)
    if device.get("shareID") is not None:
        errors += validate_uid(device["shareID"], f"{path}.shareID")
    if device_id(device) not in allocated:
        errors.append(invalid(path, internal_form(device, _DEVICE_ID), "must be an allocated device in the claim"))
    conditions = device.get("conditions") or ()
    if len(conditions) > _MAX_CONDITIONS:
        errors.append(too_many(f"{path}.conditions", len(conditions), _MAX_CONDITIONS))
    errors += validate_conditions(conditions, f"{path}.conditions")
    if device.get("data") is not None:
        errors += validate_raw(device["data"], f"{path}.data", MAX_PARAMETERS)
    network = device.get("networkData") or {}
    for name, limit in _NETWORK_LENGTHS.items():
        if byte_length(network.get(name) or "") > limit:
            errors.append(too_long(f"{path}.networkData.{name}", network[name], limit))
    return errors + validate_set(
        network.get("ips"), _MAX_ADDRESSES, validate_interface_address, lambda ip: ip, f"{path}.networkData.ips"
    )


def _allocation(allocation: Object, path: str, names: RequestNames) -> list[FieldError]:
    devices, at = allocation.get("devices") or {}, f"{path}.devices"
    errors = validate_list(devices.get("results"), _MAX_RESULTS, lambda r, p: _result(r, p, names), f"{at}.results")
    errors += validate_list(
        devices.get("config"), 2 * MAX_CONFIGS, lambda c, p: _allocated_config(c, p, names), f"{at}.config"
    )
    if allocation.get("nodeSelector") is not None:
        errors += validate_node_selector(allocation["nodeSelector"], f"{path}.nodeSelector")
    return errors


def _result(result: Object, path: str, names: RequestNames) -> list[FieldError]:
    errors = validate_request_reference(result.get("request") or "", f"{path}.request", names)
    errors += _device(result, path)
    errors += validate_binding_conditions(result, path)
    if result.get("shareID") is not None:
        errors += validate_uid(result["shareID"], f"{path}.shareID")
    return errors


def _allocated_config(config: Object, path: str, names: RequestNames) -> list[FieldError]:
    errors = validate_enum(config.get("source"), f"{path}.source", _SOURCES)
    errors += validate_request_references(config.get("requests"), f"{path}.requests", names)
    return errors + validate_configuration(config, path)

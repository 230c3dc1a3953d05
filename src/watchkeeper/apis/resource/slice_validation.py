"""The rules of ResourceSlices, in which drivers publish devices."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.core.affinity_validation import validate_node_selector
from watchkeeper.apis.quantities import amount
from watchkeeper.apis.resource.binding_validation import validate_binding_conditions
from watchkeeper.apis.resource.capacity_validation import validate_capacity
from watchkeeper.apis.resource.claim_form import ATTRIBUTE, NODE_TERMS
from watchkeeper.apis.resource.claim_validation import TAINT_EFFECTS
from watchkeeper.apis.resource.lists import (
    QUALIFIED_NAME_LENGTH,
    validate_driver_name,
    validate_label,
    validate_list,
    validate_map,
    validate_pool_name,
    validate_qualified_name,
    validate_set,
)
from watchkeeper.apis.validation.internal_form import internal_form
from watchkeeper.apis.validation.metadata import validate_immutable, validate_label_name
from watchkeeper.apis.validation.names import byte_length, is_dns1123_subdomain, is_label_value
from watchkeeper.apis.validation.resources import is_native_resource
from watchkeeper.meta.field import FieldError, JsonText, invalid, not_found, not_supported, required, too_long

Object = Mapping[str, Any]

_MAX_DEVICES = 128
_MAX_SPECIAL_DEVICES = 64
"""Where some device has taints, uses counters, or has attributes that are lists."""
_MAX_COUNTER_SETS = 8
_MAX_COUNTERS = 32
_MAX_CONSUMPTIONS = 2
_MAX_PROPERTIES = 32
_MAX_TAINTS = 16
_MAX_VALUE = 64
_MAX_LABEL = 63
_MAPPINGS = "nodeAllocatableResourceMappings"
_MAX_VALUES = 48
LIST_VALUES = ("bools", "ints", "strings", "versions")
"""Fields of attributes that are lists, a feature that is off: slices keep those that they had."""
_VALUES = ("bool", "int", "string", "version", *LIST_VALUES)
_PLACES = ("nodeName", "nodeSelector", "allNodes")
_NUMBER = r"(0|[1-9]\d*)"
_PRERELEASE = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_BUILD = "[0-9a-zA-Z-]+"
_version_match = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PRERELEASE}(\.{_PRERELEASE})*)?(\+{_BUILD}(\.{_BUILD})*)?", re.ASCII
).fullmatch
_FOR_NODES = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
_FOR_DEVICE = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true "
    "in the ResourceSlice spec"
)


def validate_slice_spec(spec: Object, old: Object | None) -> list[FieldError]:
    """The spec of a slice; `old` is the one that it replaces."""
    pool = spec.get("pool") or {}
    errors = validate_driver_name(spec.get("driver") or "", "spec.driver")
    errors += _pool(pool, "spec.pool")
    if old is not None:
        errors += validate_immutable(pool.get("name"), (old.get("pool") or {}).get("name"), "spec.pool.name")
        for name in ("driver", "nodeName"):
            errors += validate_immutable(spec.get(name), old.get(name), f"spec.{name}")
    errors += _where(spec)
    devices, counters = spec.get("devices"), spec.get("sharedCounters")
    if devices is not None and counters is not None:
        errors.append(invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed"))
    special = any(d.get("taints") or d.get("consumesCounters") or _has_lists(d) for d in devices or ())
    before = {d.get("name"): d for d in (old or {}).get("devices") or ()}
    errors += validate_set(
        devices,
        _MAX_SPECIAL_DEVICES if special else _MAX_DEVICES,
        lambda device, path: _device(device, before.get(device.get("name")), path, spec),
        lambda device: device.get("name") or "",
        "spec.devices",
    )
    return errors + validate_set(
        counters, _MAX_COUNTER_SETS, _counter_set, lambda each: each.get("name") or "", "spec.sharedCounters"
    )


def _pool(pool: Object, path: str) -> list[FieldError]:
    errors = validate_pool_name(pool.get("name"), f"{path}.name")
    slices, generation = pool.get("resourceSliceCount") or 0, pool.get("generation") or 0
    if slices <= 0:
        errors.append(invalid(f"{path}.resourceSliceCount", slices, "must be greater than zero"))
    if generation < 0:
        errors.append(invalid(f"{path}.generation", generation, "must be greater than or equal to zero"))
    return errors


def _places(obj: Object, path: str, unset: str, *, single_term: bool) -> tuple[list[str], list[FieldError]]:
    """Which of the fields that say where devices are is set, and what is wrong with them."""
    found: list[str] = []
    errors: list[FieldError] = []
    name, selector, everywhere = (obj.get(field) for field in _PLACES)
    if name:
        found.append("`nodeName`")
        errors += [invalid(f"{path}.nodeName", name, text) for text in is_dns1123_subdomain(name)]
    elif name is not None:
        errors.append(invalid(f"{path}.nodeName", name, unset))
    if selector is not None:
        found.append("`nodeSelector`")
        errors += validate_node_selector(selector, f"{path}.nodeSelector")
        terms = selector.get("nodeSelectorTerms")
        if single_term and len(terms or ()) != 1:
            text = "must have exactly one node selector term"
            shown = None if terms is None else [internal_form(term, NODE_TERMS) for term in terms]
            errors.append(invalid(f"{path}.nodeSelector.nodeSelectorTerms", shown, text))
    if everywhere:
        found.append("`allNodes`")
    elif everywhere is not None:
        errors.append(invalid(f"{path}.allNodes", False, "must be either unset or set to true"))
    return found, errors


def _where(spec: Object) -> list[FieldError]:
    unset = "must be either unset or set to a non-empty string"
    found, errors = _places(spec, "spec", unset, single_term=True)
    if spec.get("perDeviceNodeSelection"):
        found.append("`perDeviceNodeSelection`")
    elif spec.get("perDeviceNodeSelection") is not None:
        errors.append(invalid("spec.perDeviceNodeSelection", False, "must be either unset or set to true"))
    if not found:
        errors.append(required("spec", _FOR_NODES))
    elif len(found) > 1:
        shown = f"{{{', '.join(found)}}}"
        errors.append(invalid("spec", shown, f"{_FOR_NODES}, but multiple fields are set"))
    return errors


def _device_place(device: Object, path: str, spec: Object) -> list[FieldError]:
    if not spec.get("perDeviceNodeSelection"):
        if all(device.get(field) is None for field in _PLACES):
            return []
        text = "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in"
        return [invalid(path, None, f"{text} the ResourceSlice spec")]
    found, errors = _places(device, path, "must not be empty", single_term=False)
    if not found:
        errors.append(required(path, _FOR_DEVICE))
    elif len(found) > 1:
        errors.append(invalid(path, f"{{{', '.join(found)}}}", _FOR_DEVICE))
    return errors


def _device(device: Object, old: Object | None, path: str, spec: Object) -> list[FieldError]:
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    errors = validate_label(device.get("name"), f"{path}.name")
    properties = len(attributes) + len(capacity)
    if properties > _MAX_PROPERTIES:
        text = f"the total number of attributes and capacities must not exceed {_MAX_PROPERTIES}"
        errors.append(invalid(path, properties, text))
    if (values := sum(map(_value_count, attributes.values()))) > _MAX_VALUES:
        errors.append(invalid(path, values, f"the total number of attribute values must not exceed {_MAX_VALUES}"))
    shared = bool(device.get("allowMultipleAllocations"))
    longest, key = QUALIFIED_NAME_LENGTH, validate_qualified_name
    errors += validate_map(attributes, None, longest, key, _attribute, f"{path}.attributes")
    errors += validate_map(
        capacity, None, longest, key, lambda each, at: validate_capacity(each, at, shared=shared), f"{path}.capacity"
    )
    if old is None or old.get("taints") != device.get("taints"):
        errors += validate_list(device.get("taints"), _MAX_TAINTS, _taint, f"{path}.taints")
    errors += validate_set(
        device.get("consumesCounters"),
        _MAX_CONSUMPTIONS,
        _consumption,
        lambda each: each.get("counterSet") or "",
        f"{path}.consumesCounters",
    )
    errors += _device_place(device, path, spec)
    errors += validate_binding_conditions(device, path)
    mappings = device.get(_MAPPINGS) or {}
    return errors + [
        error
        for name in sorted(mappings)
        for error in _mapping(name, mappings[name], device.get("capacity"), f"{path}.{_MAPPINGS}[{name}]")
    ]


def _mapping(name: str, mapping: Object, capacity: Object | None, path: str) -> list[FieldError]:
    """What of a resource of nodes a device stands for."""
    errors = []
    if not is_native_resource(name):
        errors.append(invalid(path, JsonText(name), "must be a node allocatable resource name"))
    multiplier, key = mapping.get("allocationMultiplier"), mapping.get("capacityKey")
    if multiplier is None and key is None:
        return [*errors, invalid(path, "", "at least one of allocationMultiplier or capacityKey must be set")]
    if multiplier is not None and amount(multiplier) <= 0:
        errors.append(invalid(f"{path}.allocationMultiplier", multiplier, "must be positive"))
    if key == "":
        errors.append(invalid(f"{path}.capacityKey", "", "capacityKey must not be an empty string"))
    elif key is not None and key not in (capacity or {}):
        errors.append(not_found(f"{path}.capacityKey", JsonText(key)))
    return errors


def _has_lists(device: Object) -> bool:
    return any(attribute.get(name) for attribute in (device.get("attributes") or {}).values() for name in LIST_VALUES)


def _value_count(attribute: Object) -> int:
    return sum(len(attribute.get(name) or ()) for name in LIST_VALUES) or 1


def _attribute(attribute: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if (text := attribute.get("string")) is not None:
        errors += _text(text, f"{path}.string")
    if (version := attribute.get("version")) is not None:
        errors += _version(version, f"{path}.version")
    for name, rule in _LIST_RULES:
        values = attribute.get(name)
        if values is not None and not values:
            errors.append(invalid(f"{path}.{name}", [], "must not be empty if specified"))
        errors += [error for i, value in enumerate(values or ()) for error in rule(value, f"{path}.{name}[{i}]")]
    count = sum(attribute.get(name) is not None for name in _VALUES)
    if count != 1:
        shown = internal_form(attribute, ATTRIBUTE) if count else ""
        errors.append(invalid(path, shown, "exactly one value must be specified"))
    return errors


def _text(text: str, path: str) -> list[FieldError]:
    return [too_long(path, text, _MAX_VALUE)] if byte_length(text) > _MAX_VALUE else []


def _version(version: str, path: str) -> list[FieldError]:
    errors = []
    if not _version_match(version):
        errors.append(invalid(path, version, "must be a string compatible with semver.org spec 2.0.0"))
    return errors + _text(version, path)


def _taint(taint: Object, path: str) -> list[FieldError]:
    errors = validate_label_name(taint.get("key") or "", f"{path}.key")
    value, effect = taint.get("value") or "", taint.get("effect") or ""
    errors += [invalid(f"{path}.value", value, text) for text in is_label_value(value)]
    if not effect:
        errors.append(required(f"{path}.effect"))
    elif effect not in TAINT_EFFECTS:
        errors.append(not_supported(f"{path}.effect", effect, TAINT_EFFECTS))
    return errors


def _no_rule(_value: Any, _path: str) -> list[FieldError]:
    return []


_LIST_RULES = (("bools", _no_rule), ("ints", _no_rule), ("strings", _text), ("versions", _version))


def _counters(counters: Object | None, path: str) -> list[FieldError]:
    if not counters:
        return [required(path)]
    return validate_map(counters, _MAX_COUNTERS, _MAX_LABEL, validate_label, _no_rule, path)


def _set_name(name: str | None, path: str) -> list[FieldError]:
    return validate_label(name, path) if name else [required(path)]


def _counter_set(counters: Object, path: str) -> list[FieldError]:
    return _set_name(counters.get("name"), f"{path}.name") + _counters(counters.get("counters"), f"{path}.counters")


def _consumption(consumption: Object, path: str) -> list[FieldError]:
    errors = _set_name(consumption.get("counterSet"), f"{path}.counterSet")
    return errors + _counters(consumption.get("counters"), f"{path}.counters")

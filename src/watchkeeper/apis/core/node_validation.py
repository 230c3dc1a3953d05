"""The rules of Nodes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from watchkeeper.apis.core.affinity_validation import validate_taints
from watchkeeper.apis.validation.internal_form import InternalForm, internal_form
from watchkeeper.apis.validation.metadata import validate_builtin_object_meta, validate_builtin_object_meta_update
from watchkeeper.apis.validation.names import byte_length, is_config_map_key, name_is_dns_label, name_is_dns_subdomain
from watchkeeper.apis.validation.net import parse_cidr, validate_legacy_cidr
from watchkeeper.apis.validation.numbers import validate_positive
from watchkeeper.apis.validation.resources import validate_resource_quantity
from watchkeeper.meta.field import FieldError, duplicate, forbidden, go_quote, internal_error, invalid, required
from watchkeeper.runtime.json_text import JsonError, read_text
from watchkeeper.runtime.unmarshal import described

Object = Mapping[str, Any]

_AVOIDED_PODS = "scheduler.alpha.kubernetes.io/preferAvoidPods"
_ADDRESS: InternalForm = {"type": ("Type", ""), "address": ("Address", "")}
_ONE_REFERENCE = "exactly one reference subfield must be non-nil"
_MAX_FEATURE_NAME = 253
_is_feature_name = re.compile(r"[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*").fullmatch
_NO_FEATURE_NAME = (
    "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or"
    " MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
)


def validate_node(node: Object) -> list[FieldError]:
    """What is wrong with a new Node, besides its metadata. The paths of taints and swap are the reference's."""
    spec, status = node.get("spec") or {}, node.get("status") or {}
    errors = _annotation_errors(node)
    errors += validate_taints(spec.get("taints") or (), "metadata.taints")
    errors += _resource_errors(status)
    capacity = ((status.get("nodeInfo") or {}).get("swap") or {}).get("capacity")
    if capacity is not None:
        errors += validate_positive(capacity, "metadata.nodeSwapStatus.capacity")
    errors += _feature_errors(status)
    blocks = spec.get("podCIDRs") or ()
    for i, block in enumerate(blocks):
        errors += validate_legacy_cidr(block, f"spec.podCIDRs[{i}]")
    malformed = [i for i, block in enumerate(blocks) if parse_cidr(block) is None]
    if malformed and len(blocks) > 1:
        i, why = malformed[0], "invalid PodCIDRs. failed to check with dual stack with error"
        text = f"{why}:invalid CIDR[{i}]: <nil> (invalid CIDR address: {blocks[i]})"
        errors.append(internal_error("spec.podCIDRs", text))
    if len(blocks) > 1 and not _is_dual_stack(blocks):
        text = "may specify no more than one CIDR for each IP family"
        errors.append(invalid("spec.podCIDRs", list(blocks), text))
    return errors


def validate_node_update(new: Object, old: Object) -> list[FieldError]:
    """What is wrong with the new state of a Node, both as a new one and as a change."""
    errors = validate_builtin_object_meta(new["metadata"], namespaced=False) + validate_node(new)
    errors += validate_builtin_object_meta_update(new["metadata"], old["metadata"])
    return errors + validate_node_change(new, old)


def validate_node_change(new: Object, old: Object) -> list[FieldError]:
    """What is wrong with a change of a Node or of its status."""
    spec, old_spec = new.get("spec") or {}, old.get("spec") or {}
    status = new.get("status") or {}
    errors = _annotation_errors(new) + _feature_errors(status) + _resource_errors(status)
    seen: list[Object] = []
    for i, address in enumerate(status.get("addresses") or ()):
        if address in seen:
            errors.append(duplicate(f"status.addresses[{i}]", internal_form(address, _ADDRESS)))
        seen.append(address)
    errors += _block_changes(spec.get("podCIDRs") or (), old_spec.get("podCIDRs") or ())
    if old_spec.get("providerID") and old_spec["providerID"] != spec.get("providerID"):
        text = 'node updates may not change providerID except from "" to valid'
        errors.append(forbidden("spec.providerID", text))
    if spec.get("configSource") is not None:
        errors += _config_source_errors(spec["configSource"], "spec.configSource", in_spec=True)
    for name in ("assigned", "active", "lastKnownGood"):
        source = (status.get("config") or {}).get(name)
        if source is not None:
            errors += _config_source_errors(source, f"status.config.{name}", in_spec=False)
    errors += validate_taints(spec.get("taints") or (), "metadata.taints")
    if (spec.get("externalID") or "") != (old_spec.get("externalID") or ""):
        errors.append(forbidden("spec.externalID", "may not be updated"))
    return errors


def _annotation_errors(node: Object) -> list[FieldError]:
    """The annotation that tells what pods a node avoids is still read, although nobody heeds it any more."""
    text = (node["metadata"].get("annotations") or {}).get(_AVOIDED_PODS)
    if not text:
        return []
    avoided, problem = None, ""
    try:
        avoided = read_text(text)
    except JsonError as error:
        problem = str(error)
    if avoided is not None and not isinstance(avoided, dict):
        problem = f"json: cannot unmarshal {described(avoided)} into Go value of type v1.AvoidPods"
    entries = None if problem else _member(avoided, "preferAvoidPods")
    if entries is not None and not isinstance(entries, list):
        field = "AvoidPods.preferAvoidPods of type []v1.PreferAvoidPodsEntry"
        problem = f"json: cannot unmarshal {described(entries)} into Go struct field {field}"
    if problem:
        return [invalid("metadata.annotations.AvoidPods", _AVOIDED_PODS, problem)]
    errors: list[FieldError] = []
    for i, entry in enumerate(entries or ()):
        path = f"metadata.annotations.{_AVOIDED_PODS}[{i}].PodSignature"
        controller = _member(_member(entry, "podSignature"), "podController")
        if controller is None:
            errors.append(required(path))
        elif _member(controller, "controller") is not True:
            errors.append(invalid(f"{path}.PodController.Controller", False, "must point to a controller"))
    return errors


def _member(value: Any, name: str) -> Any:
    """A member of a JSON object whatever the case of its name, as Go reads it; None where there is none."""
    found = None
    for key, member in value.items() if isinstance(value, dict) else ():
        if key.lower() == name.lower():
            found = member
    return found


def _feature_errors(status: Object) -> list[FieldError]:
    """The features that a node declares are named in camel case, each once and in order."""
    path, names = "status.declaredFeatures", status.get("declaredFeatures") or ()
    errors: list[FieldError] = []
    for i, (name, following) in enumerate(zip_longest(names, names[1:])):
        if wrong := _feature_name_error(name):
            errors.append(invalid(f"{path}[{i}]", name, f"invalid feature name {go_quote(name)}: {wrong}"))
        if following is None:
            continue
        if following == name:
            errors.append(duplicate(f"{path}[{i + 1}]", following))
        elif following < name:
            errors.append(invalid(f"{path}[{i + 1}]", following, "list must be sorted alphabetically"))
    return errors


def _feature_name_error(name: str) -> str:
    if byte_length(name) > _MAX_FEATURE_NAME:
        return f"must be no more than {_MAX_FEATURE_NAME} characters"
    return "" if _is_feature_name(name) else _NO_FEATURE_NAME


def _resource_errors(status: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    for kind in ("capacity", "allocatable"):
        for name, text in (status.get(kind) or {}).items():
            errors += validate_resource_quantity(name, text, f"status.{kind}.{name}")
    return errors


def _is_dual_stack(blocks: Sequence[str]) -> bool:
    parsed = [parse_cidr(block) for block in blocks]
    return len(blocks) == 2 and {p[1].version for p in parsed if p is not None} == {4, 6}


def _block_changes(new: Sequence[str], old: Sequence[str]) -> list[FieldError]:
    change = forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid')
    if not old:
        return []
    if len(new) != len(old):
        return [change]
    return [change for now, before in zip(new, old, strict=True) if now != before]


def _config_source_errors(source: Object, path: str, *, in_spec: bool) -> list[FieldError]:
    config_map = source.get("configMap")
    if config_map is None:
        return [invalid(path, {"ConfigMap": None}, _ONE_REFERENCE)]
    at = f"{path}.configMap"
    errors: list[FieldError] = []
    for field in ("uid", "resourceVersion"):
        if in_spec and config_map.get(field):
            errors.append(forbidden(f"{at}.{field}", f"{field} must not be set in spec"))
        elif not in_spec and not config_map.get(field):
            errors.append(required(f"{at}.{field}"))
    for field, rule in (
        ("namespace", name_is_dns_label),
        ("name", name_is_dns_subdomain),
        ("kubeletConfigKey", is_config_map_key),
    ):
        value = config_map.get(field)
        if not value:
            errors.append(required(f"{at}.{field}"))
        else:
            errors += [invalid(f"{at}.{field}", value, text) for text in rule(value)]
    return errors

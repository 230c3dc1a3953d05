"""NetworkPolicies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.networking.ingress import GROUP
from watchkeeper.apis.validation.names import is_port_name, is_port_number
from watchkeeper.apis.validation.net import cidr_warnings, parse_cidr, validate_legacy_cidr
from watchkeeper.apis.validation.selectors import has_invalid_values, validate_label_selector
from watchkeeper.meta.field import FieldError, forbidden, invalid, not_supported, required
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]
Part = Mapping[str, Any]

_DIRECTIONS = (("ingress", "from"), ("egress", "to"))
_TYPES = ("Ingress", "Egress")
_PROTOCOLS = ("TCP", "UDP", "SCTP")


def default_network_policy(policy: Object) -> None:
    """Ports are TCP; a policy is about ingress, and about egress if it has rules for that."""
    spec = policy.setdefault("spec", {})
    for direction, _ in _DIRECTIONS:
        for rule in spec.get(direction) or ():
            for port in rule.get("ports") or ():
                if port.get("protocol") is None:
                    port["protocol"] = "TCP"
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _blocks(policy: Object) -> Iterator[tuple[str, Part]]:
    """The IP blocks of a policy, with their paths."""
    spec = policy.get("spec") or {}
    for direction, peers in _DIRECTIONS:
        for i, rule in enumerate(spec.get(direction) or ()):
            for j, peer in enumerate(rule.get(peers) or ()):
                if peer.get("ipBlock") is not None:
                    yield f"spec.{direction}[{i}].{peers}[{j}].ipBlock", peer["ipBlock"]


def _validate(policy: Object) -> list[FieldError]:
    return _errors(policy, lenient=False, known=())


def _validate_update(new: Object, old: Object) -> list[FieldError]:
    known = tuple(text for _, block in _blocks(old) for text in (block.get("cidr", ""), *(block.get("except") or ())))
    lenient = has_invalid_values((old.get("spec") or {}).get("podSelector"))
    return _errors(new, lenient=lenient, known=known)


def _errors(policy: Object, *, lenient: bool, known: tuple[str, ...]) -> list[FieldError]:
    """`lenient`: label values that are none are accepted, as are the blocks in `known`: the old policy has such."""
    spec = policy.get("spec") or {}
    errors = validate_label_selector(spec.get("podSelector"), "spec.podSelector", allow_invalid_values=lenient)
    for direction, peers in _DIRECTIONS:
        for i, rule in enumerate(spec.get(direction) or ()):
            path = f"spec.{direction}[{i}]"
            for j, port in enumerate(rule.get("ports") or ()):
                errors += _port_errors(port, f"{path}.ports[{j}]")
            for j, peer in enumerate(rule.get(peers) or ()):
                errors += _peer_errors(peer, f"{path}.{peers}[{j}]", lenient=lenient, known=known)
    return errors + _type_errors(spec.get("policyTypes") or [])


def _type_errors(types: Sequence[str]) -> list[FieldError]:
    if len(types) > len(_TYPES):
        return [invalid("spec.policyTypes", types, "may not specify more than two policyTypes")]
    wrong = [(i, kind) for i, kind in enumerate(types) if kind not in _TYPES]
    return [not_supported(f"spec.policyTypes[{i}]", kind, _TYPES) for i, kind in wrong]


def _port_errors(port: Part, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    protocol, first, last = port.get("protocol"), port.get("port"), port.get("endPort")
    if protocol is not None and protocol not in _PROTOCOLS:
        errors.append(not_supported(f"{path}.protocol", protocol, _PROTOCOLS))
    at = f"{path}.endPort"
    if first is None:
        if last is not None:
            errors.append(invalid(at, last, "may not be specified when `port` is not specified"))
    elif isinstance(first, str):
        if last is not None:
            errors.append(invalid(at, last, "may not be specified when `port` is non-numeric"))
        errors += [invalid(f"{path}.port", first, text) for text in is_port_name(first)]
    else:
        errors += [invalid(f"{path}.port", first, text) for text in is_port_number(first)]
        if last is not None:
            if last < first:
                errors.append(invalid(at, first, "must be greater than or equal to `port`"))
            errors += [invalid(at, last, text) for text in is_port_number(last)]
    return errors


def _peer_errors(peer: Part, path: str, *, lenient: bool, known: tuple[str, ...]) -> list[FieldError]:
    errors: list[FieldError] = []
    selectors = [name for name in ("podSelector", "namespaceSelector") if peer.get(name) is not None]
    for name in selectors:
        errors += validate_label_selector(peer[name], f"{path}.{name}", allow_invalid_values=lenient)
    block = peer.get("ipBlock")
    if block is not None:
        errors += _block_errors(block, f"{path}.ipBlock", known)
    if not selectors and block is None:
        errors.append(required(path, "must specify a peer"))
    elif selectors and block is not None:
        errors.append(forbidden(path, "may not specify both ipBlock and another peer"))
    return errors


def _block_errors(block: Part, path: str, known: tuple[str, ...]) -> list[FieldError]:
    text = block.get("cidr") or ""
    if not text:
        return [required(f"{path}.cidr")]
    errors = validate_legacy_cidr(text, f"{path}.cidr", allowed=known)
    outer = parse_cidr(text)
    if outer is None:
        return errors
    for i, part in enumerate(block.get("except") or ()):
        at = f"{path}.except[{i}]"
        errors += validate_legacy_cidr(part, at, allowed=known)
        inner = parse_cidr(part)
        if inner is None:
            continue
        network = outer[1]
        same = network.version == inner[1].version and inner[1].network_address in network
        if not same or network.prefixlen >= inner[1].prefixlen:
            errors.append(invalid(at, part, "must be a strict subset of `cidr`"))
    return errors


def _warnings(policy: Object) -> list[str]:
    found: list[str] = []
    for path, block in _blocks(policy):
        found += cidr_warnings(block.get("cidr") or "", f"{path}.cidr")
        for i, part in enumerate(block.get("except") or ()):
            found += cidr_warnings(part, f"{path}.except[{i}]")
    return found


def _cells(policy: Object, now: float) -> list[Any]:
    selector = (policy.get("spec") or {}).get("podSelector")
    return [printing.name_of(policy), printing.format_label_selector(selector), printing.age(policy, now)]


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind(GROUP, "NetworkPolicy"),
        validate=_validate,
        validate_update=_validate_update,
        warnings_on_create=_warnings,
        warnings_on_update=lambda new, _old: _warnings(new),
        has_status=False,
        has_generation=True,
        counts_empties=True,
        table=TableSpec(
            columns=(
                printing.NAME,
                Column("Pod-Selector", "string", "Which pods it is about."),
                printing.AGE,
            ),
            cells=_cells,
        ),
    )
]
DEFAULTS = {GroupVersionKind(GROUP, "v1", "NetworkPolicy"): default_network_policy}

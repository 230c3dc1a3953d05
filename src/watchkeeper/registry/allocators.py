"""What Services are allocated: cluster addresses and node ports, from ranges, without collisions.

An allocation is held while its write is under way and given back when the write does not take place. The allocators
know what is taken from the Services that exist; a server reads those once at its start.
"""

from __future__ import annotations

import ipaddress
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from watchkeeper.apis.core import service_traits as traits
from watchkeeper.apis.validation.net import parse_ip
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import FieldError, invalid
from watchkeeper.meta.gvk import GroupKind

Object = dict[str, Any]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_KIND = GroupKind("", "Service")
_EXTERNAL = ("NodePort", "LoadBalancer")
DEFAULT_NETWORK = "10.0.0.0/24"
DEFAULT_NODE_PORTS = (30000, 32767)


class Full(Exception):
    """Nothing is left in a range."""


class Taken(Exception):
    """What was asked for belongs to somebody; the message says why it cannot be had."""


def static_band(size: int) -> int:
    """How many of a range are kept for those who name what they want (KEP-3070): between 16 and 256, a sixteenth."""
    return min(max(16, size // 16), 256, size)


class Range:
    """Numbers of a range, each taken at most once. New ones come from the part above the static band first."""

    def __init__(self, first: int, last: int, band: int | None = None) -> None:
        self.first, self.last = first, last
        self._band = static_band(last - first + 1) if band is None else band
        self._taken: set[int] = set()
        self._random = random.Random()

    def __repr__(self) -> str:
        return f"<Range {self.first}-{self.last}: {len(self._taken)} taken>"

    def __contains__(self, number: int) -> bool:
        return self.first <= number <= self.last

    def take(self, number: int) -> bool:
        """Take this one; False when it is taken."""
        if number in self._taken:
            return False
        self._taken.add(number)
        return True

    def take_any(self) -> int:
        """Take one that is free. Raises Full."""
        middle = self.first + self._band
        for low, high in ((middle, self.last), (self.first, middle - 1)):
            found = self._free(low, high)
            if found is not None:
                self._taken.add(found)
                return found
        raise Full

    def _free(self, low: int, high: int) -> int | None:
        if low > high:
            return None
        start: int = self._random.randint(low, high)
        for number in (*range(start, high + 1), *range(low, start)):
            if number not in self._taken:
                return number
        return None

    def release(self, number: int) -> None:
        """Give it back; what is free already stays so."""
        self._taken.discard(number)


class Addresses:
    """The cluster addresses of one IP family."""

    def __init__(self, network: str) -> None:
        """Raises ValueError when `network` is no CIDR of at least four addresses."""
        self.network: Network = ipaddress.ip_network(network)
        if self.network.num_addresses < 4:
            raise ValueError(f"{network} has too few addresses")
        # The network's own address and, with IPv4, its broadcast address are nobody's.
        base, count = int(self.network.network_address), min(self.network.num_addresses, 1 << 20)
        last = base + count - (2 if self.network.version == 4 else 1)
        self._range = Range(base + 1, last)

    @property
    def family(self) -> str:
        """IPv4 or IPv6."""
        return f"IPv{self.network.version}"

    def take(self, text: str) -> None:
        """Take an address. Raises Taken."""
        address = parse_ip(text)
        if address is None or int(address) not in self._range or address.version != self.network.version:
            raise Taken(
                f"failed to allocate IP {text}: the provided network does not match the current range"
                if address is not None and address.version != self.network.version
                else f"failed to allocate IP {text}: the provided IP ({text}) is not in the valid range. The range of"
                f" valid IPs is {self.network}"
            )
        if not self._range.take(int(address)):
            raise Taken(f"failed to allocate IP {text}: provided IP is already allocated")

    def take_any(self) -> str:
        """Take any address. Raises Full."""
        number = self._range.take_any()
        address: Address = ipaddress.IPv4Address(number) if self.network.version == 4 else ipaddress.IPv6Address(number)
        return str(address)

    def release(self, text: str) -> None:
        """Give an address back."""
        address = parse_ip(text)
        if address is not None and address.version == self.network.version:
            self._range.release(int(address))


@dataclass(slots=True)
class ServiceTransaction:
    """What one write took and what it lets go once it took place."""

    undo: list[Callable[[], None]] = field(default_factory=list)
    after: list[Callable[[], None]] = field(default_factory=list)

    def commit(self) -> None:
        """The write took place: let go what it no longer needs."""
        for release in self.after:
            release()
        self._forget()

    def rollback(self) -> None:
        """It did not: give back what it took."""
        for release in self.undo:
            release()
        self._forget()

    def _forget(self) -> None:
        self.undo.clear()
        self.after.clear()


class ServiceAllocator:
    """Allocates for Services as they are created, changed and deleted. Implements `registry.store.Hooks`."""

    def __init__(
        self, networks: Iterable[str] = (DEFAULT_NETWORK,), node_ports: tuple[int, int] = DEFAULT_NODE_PORTS
    ) -> None:
        """`networks`: one CIDR per IP family, the preferred family first."""
        self._addresses = {a.family: a for a in map(Addresses, networks)}
        first, last = node_ports
        self._node_ports: dict[str, Range] = {}
        self._ports = (first, last)

    def __repr__(self) -> str:
        return f"<ServiceAllocator of {', '.join(str(a.network) for a in self._addresses.values())}>"

    @property
    def families(self) -> tuple[str, ...]:
        """The IP families of this cluster, the preferred one first."""
        return tuple(self._addresses)

    def load(self, services: Iterable[Object]) -> None:
        """Note what existing Services have. Called once, before the first write."""
        for service in services:
            spec = service.get("spec") or {}
            for text in _real_addresses(spec):
                for addresses in self._addresses.values():
                    try:
                        addresses.take(text)
                    except Taken:
                        continue
            for protocol, port in _node_ports(spec):
                self._port_range(protocol).take(port)

    def _port_range(self, protocol: str) -> Range:
        found = self._node_ports.get(protocol)
        if found is None:
            first, last = self._ports
            size = last - first + 1
            band = 0 if size < 32 else min(max(16, size // 32), 128)
            found = self._node_ports[protocol] = Range(first, last, band)
        return found

    # -- Hooks ------------------------------------------------------------------------------------------------

    def begin_create(self, obj: Object, *, dry_run: bool) -> ServiceTransaction:
        """Fill in families, addresses and ports of a new Service."""
        return self._begin(obj, None, dry_run=dry_run)

    def begin_update(self, obj: Object, old: Object, *, dry_run: bool) -> ServiceTransaction:
        """Fill in what a changed Service needs more, and remember what it needs no longer."""
        keep_allocated(obj, old)
        return self._begin(obj, old, dry_run=dry_run)

    def after_delete(self, obj: Object) -> None:
        """Give back all that a Service had."""
        spec = obj.get("spec") or {}
        for text in _real_addresses(spec):
            self._release_address(text)
        for protocol, port in _node_ports(spec):
            self._port_range(protocol).release(port)

    def _begin(self, obj: Object, old: Object | None, *, dry_run: bool) -> ServiceTransaction:
        transaction = ServiceTransaction()
        spec = obj.setdefault("spec", {})
        before = (old.get("spec") or {}) if old is not None else {}
        try:
            self._families(obj, spec, before)
            self._take_addresses(obj, spec, before, transaction)
            self._take_ports(obj, spec, before, transaction)
        except ApiError:
            transaction.rollback()
            raise
        if dry_run:
            # What a dry run took is free again at once; what it shows is what might have been.
            transaction.rollback()
        return transaction

    # -- families ---------------------------------------------------------------------------------------------

    def _families(self, obj: Object, spec: Object, before: Object) -> None:
        """Work out ipFamilies and ipFamilyPolicy as the reference defaults them (KEP-563)."""
        if spec.get("type") not in ("ClusterIP", *_EXTERNAL):
            return
        if spec.get("clusterIP") and not spec.get("clusterIPs"):
            spec["clusterIPs"] = [spec["clusterIP"]]
        given: list[str] = list(spec.get("ipFamilies") or ())
        addresses = [a for a in spec.get("clusterIPs") or () if a and a != "None"]
        for index, text in enumerate(addresses):
            address = parse_ip(text)
            if address is not None and index >= len(given):
                given.append(f"IPv{address.version}")
        headless = spec.get("clusterIP") == "None"
        if headless and not spec.get("selector") and not given and not before:
            # Nobody knows what endpoints a headless Service without selector is going to have.
            spec["ipFamilies"] = ["IPv4", "IPv6"] if self.families[0] == "IPv4" else ["IPv6", "IPv4"]
            spec.setdefault("ipFamilyPolicy", "RequireDualStack")
            return
        policy = spec.get("ipFamilyPolicy")
        if policy is None:
            policy = "RequireDualStack" if len(given) == 2 else "SingleStack"
        self._check_families(obj, spec, given, policy)
        if not given:
            given = [self.families[0]]
        if policy != "SingleStack" and len(given) == 1 and len(self.families) == 2:
            given += [f for f in self.families if f not in given]
        spec["ipFamilies"] = given if policy != "SingleStack" else given[:1]
        spec["ipFamilyPolicy"] = policy

    def _check_families(self, obj: Object, spec: Object, given: list[str], policy: str) -> None:
        wrong: list[FieldError] = []
        path = "spec.ipFamilies"
        headless_free = spec.get("clusterIP") == "None" and not spec.get("selector")
        for index, family in enumerate(given):
            if family in ("IPv4", "IPv6") and family not in self._addresses and not headless_free:
                wrong.append(invalid(f"{path}[{index}]", family, "not configured on this cluster"))
        if policy == "RequireDualStack" and len(self.families) < 2 and not headless_free:
            wrong.append(
                invalid("spec.ipFamilyPolicy", policy, "this cluster is not configured for dual-stack services")
            )
        if policy == "SingleStack" and len(given) > 1:
            why = "may not be set to 'SingleStack' when multiple IP families are specified"
            wrong.append(invalid("spec.ipFamilyPolicy", policy, why))
        if wrong:
            raise errors.invalid(_KIND, obj["metadata"].get("name", ""), wrong)

    # -- addresses --------------------------------------------------------------------------------------------

    def _take_addresses(self, obj: Object, spec: Object, before: Object, transaction: ServiceTransaction) -> None:
        had = set(_real_addresses(before))
        if spec.get("type") in ("ClusterIP", *_EXTERNAL) and spec.get("clusterIP") != "None":
            wanted = list(spec.get("clusterIPs") or ())
            for index, family in enumerate(spec.get("ipFamilies") or ()):
                text = wanted[index] if index < len(wanted) else ""
                if text and text in had:
                    continue
                found = self._take_address(obj, family, text, index, transaction)
                wanted[index : index + 1] = [found]
            spec["clusterIPs"] = wanted
            spec["clusterIP"] = wanted[0] if wanted else ""
        for text in had - set(_real_addresses(spec)):
            transaction.after.append(lambda text=text: self._release_address(text))  # type: ignore[misc]

    def _take_address(self, obj: Object, family: str, text: str, index: int, transaction: ServiceTransaction) -> str:
        addresses = self._addresses.get(family)
        name = obj["metadata"].get("name", "")
        if addresses is None:
            return text
        if text:
            if parse_ip(text) is None:
                return text
            try:
                addresses.take(text)
            except Taken as error:
                raise errors.invalid(_KIND, name, [invalid("spec.clusterIPs", [text], str(error))]) from error
        else:
            try:
                text = addresses.take_any()
            except Full:
                raise errors.internal_error("failed to allocate a serviceIP: range is full") from None
        transaction.undo.append(lambda: addresses.release(text))
        return text

    def _release_address(self, text: str) -> None:
        for addresses in self._addresses.values():
            addresses.release(text)

    # -- ports ------------------------------------------------------------------------------------------------

    def _take_ports(self, obj: Object, spec: Object, before: Object, transaction: ServiceTransaction) -> None:
        had = set(_node_ports(before))
        wanted = spec.get("type") in _EXTERNAL
        automatic = spec.get("type") == "NodePort" or spec.get("allocateLoadBalancerNodePorts") is not False
        by_port: dict[int, int] = {}
        for index, port in enumerate(spec.get("ports") or () if wanted else ()):
            protocol = port.get("protocol") or "TCP"
            number = port.get("nodePort") or 0
            if number and (protocol, number) in had:
                continue
            if not number and not automatic:
                continue
            if not number:
                # TCP and UDP on one port share their node port where that is free, as clients expect.
                number = by_port.get(port.get("port", 0), 0)
                if number and not self._try_port(protocol, number, transaction):
                    number = 0
                elif number:
                    port["nodePort"] = number
                    continue
            port["nodePort"] = self._take_port(obj, protocol, number, f"spec.ports[{index}].nodePort", transaction)
            by_port[port.get("port", 0)] = port["nodePort"]
        self._take_health_port(obj, spec, had, transaction)
        for protocol, number in had - set(_node_ports(spec)):
            transaction.after.append(
                lambda protocol=protocol, number=number: self._port_range(protocol).release(number)  # type: ignore[misc]
            )

    def _take_health_port(
        self, obj: Object, spec: Object, had: set[tuple[str, int]], transaction: ServiceTransaction
    ) -> None:
        if spec.get("type") != "LoadBalancer" or spec.get("externalTrafficPolicy") != "Local":
            return
        number = spec.get("healthCheckNodePort") or 0
        if number and ("TCP", number) in had:
            return
        path = "spec.healthCheckNodePort"
        spec["healthCheckNodePort"] = self._take_port(obj, "TCP", number, path, transaction)

    def _try_port(self, protocol: str, number: int, transaction: ServiceTransaction) -> bool:
        ports = self._port_range(protocol)
        if not ports.take(number):
            return False
        transaction.undo.append(lambda: ports.release(number))
        return True

    def _take_port(self, obj: Object, protocol: str, number: int, path: str, transaction: ServiceTransaction) -> int:
        ports = self._port_range(protocol)
        if number:
            wrong = ""
            if number not in ports:
                wrong = (
                    f"provided port is not in the valid range. The range of valid ports is {ports.first}-{ports.last}"
                )
            elif not ports.take(number):
                wrong = "provided port is already allocated"
            if wrong:
                name = obj["metadata"].get("name", "")
                raise errors.invalid(_KIND, name, [invalid(path, number, wrong)])
        else:
            try:
                number = ports.take_any()
            except Full:
                raise errors.internal_error("failed to allocate a nodePort: range is full") from None
        transaction.undo.append(lambda: ports.release(number))
        return number


def _real_addresses(spec: Object) -> list[str]:
    if spec.get("type") == "ExternalName":
        return []
    found = spec.get("clusterIPs") or ([spec["clusterIP"]] if spec.get("clusterIP") else [])
    return [a for a in found if a and a != "None"]


def _node_ports(spec: Object) -> list[tuple[str, int]]:
    found = [(p.get("protocol") or "TCP", p["nodePort"]) for p in spec.get("ports") or () if p.get("nodePort")]
    if spec.get("healthCheckNodePort"):
        found.append(("TCP", spec["healthCheckNodePort"]))
    return found


def keep_allocated(new: Object, old: Object) -> None:
    """What the server allocated stays with an update that does not name it."""
    spec, was = new.setdefault("spec", {}), old.get("spec") or {}
    has_addresses = traits.needs_cluster_ip(spec) and traits.needs_cluster_ip(was)
    if has_addresses and not spec.get("clusterIP") and not spec.get("clusterIPs"):
        for name in ("clusterIP", "clusterIPs"):
            if was.get(name):
                spec[name] = was[name]
    if traits.needs_node_port(spec) and traits.needs_node_port(was):
        _keep_node_ports(spec, was)
    checked = traits.needs_health_check_port(spec) and traits.needs_health_check_port(was)
    if checked and not spec.get("healthCheckNodePort") and was.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = was["healthCheckNodePort"]


def _keep_node_ports(spec: Object, was: Object) -> None:
    known = {(p.get("protocol"), p.get("port")): p.get("nodePort") for p in was.get("ports") or ()}
    used = set(traits.node_ports(spec))
    for port in spec.get("ports") or ():
        found = known.get((port.get("protocol"), port.get("port")))
        if not port.get("nodePort") and found and found not in used:
            port["nodePort"] = found

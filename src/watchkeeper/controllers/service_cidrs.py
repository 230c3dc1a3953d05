"""The ServiceCIDR controller: says which are ready, and keeps one that is deleted while it has addresses of its own.

Addresses that lie in another ServiceCIDR too are no reason to keep one. One that may go waits ten seconds more, so that
all servers know of it and give no more addresses of its networks.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock, set_or_reached
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.apis.networking.ingress import GROUP
from watchkeeper.apis.networking.ipaddress import is_managed
from watchkeeper.apis.networking.servicecidr import READY
from watchkeeper.apis.printing import parse_time
from watchkeeper.apis.validation.net import IPAddress, IPNetwork
from watchkeeper.controllers.feed import FeedSink, feed
from watchkeeper.controllers.loopback import Loopback
from watchkeeper.endpoints.scope import ServedResource
from watchkeeper.meta.errors import ApiError
from watchkeeper.registry.metadata import now_text
from watchkeeper.storage.interface import StoredObject

log = logging.getLogger(__name__)

Object = dict[str, Any]

MANAGER = "service-cidr-controller"
"""Who owns what is said of ServiceCIDRs."""
FINALIZER = "networking.k8s.io/service-cidr-finalizer"
GRACE_SECONDS = 10.0
_RETRY_SECONDS = 5.0
_PAUSE_SECONDS = 0.1
"""So long at least lies between two looks at everything."""
_IS_READY: Object = {"type": READY, "status": "True", "reason": "", "message": "Kubernetes Service CIDR is ready"}
_IS_ENDING: Object = {
    "type": READY,
    "status": "False",
    "reason": "Terminating",
    "message": "There are still IPAddresses referencing the ServiceCIDR, "
    "please remove them or create a new ServiceCIDR",
}


class ServiceCIDRController:
    """Follows ServiceCIDRs and IPAddresses, and after each change looks at all ServiceCIDRs, which are few."""

    def __init__(self, api: Loopback, clock: Clock = SYSTEM_CLOCK) -> None:
        self._api = api
        self._clock = clock
        self._tasks = TaskOwner(MANAGER)
        self._cidrs: dict[str, Object] = {}
        self._addresses: dict[str, IPAddress] = {}
        """Those that Services were given."""
        self._synced: set[str] = set()
        self._changed = asyncio.Event()
        self._next = math.inf

    def __repr__(self) -> str:
        return f"<ServiceCIDRController: {len(self._cidrs)} ServiceCIDRs, {len(self._addresses)} addresses>"

    def start(self) -> None:
        """Begin to follow and to judge."""
        follows: dict[str, tuple[dict[str, Any], Callable[[StoredObject], None]]] = {
            "servicecidrs": (self._cidrs, self._put_cidr),
            "ipaddresses": (self._addresses, self._put_address),
        }
        for resource, (known, put) in follows.items():
            self._tasks.start(
                f"feed-{resource}", feed(MANAGER, self._of(resource), self._sink(resource, known, put)).run()
            )
        self._tasks.start("judge", self._work())

    async def close(self) -> None:
        """Stop; the next one judges what is left."""
        await self._tasks.close()

    def _of(self, resource: str) -> ServedResource:
        found = self._api.served.find(GROUP, "v1", resource)
        if found is None:
            raise RuntimeError(f"{resource} are not served")
        return found

    # -- following --------------------------------------------------------------------------------------------

    def _sink(self, resource: str, known: dict[str, Any], put: Callable[[StoredObject], None]) -> FeedSink:
        def forget(stored: StoredObject) -> None:
            if known.pop(_name(stored), None) is not None and (known is self._cidrs or self._is_any_ending()):
                self._changed.set()

        def synced(items: Sequence[StoredObject]) -> None:
            for name in known.keys() - {_name(item) for item in items}:
                del known[name]
            self._synced.add(resource)
            self._changed.set()

        return FeedSink(changed=put, deleted=forget, synced=synced)

    def _put_cidr(self, stored: StoredObject) -> None:
        self._cidrs[_name(stored)] = stored.data()
        self._changed.set()

    def _put_address(self, stored: StoredObject) -> None:
        name = _name(stored)
        self._addresses.pop(name, None)
        if is_managed(stored.data()):
            try:
                self._addresses[name] = ipaddress.ip_address(name)
            except ValueError:  # stored by another program: the API refuses such names
                log.warning("the IPAddress %s is none", name)
        if self._is_any_ending():
            self._changed.set()

    def _is_any_ending(self) -> bool:
        return any(cidr["metadata"].get("deletionTimestamp") for cidr in self._cidrs.values())

    # -- judging ----------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        while True:
            await set_or_reached(self._changed, self._clock, self._next, name=MANAGER)
            self._changed.clear()
            self._next = math.inf
            if len(self._synced) < 2:
                continue
            for name, cidr in list(self._cidrs.items()):
                try:
                    await self._judge(name, cidr)
                except ApiError as error:
                    if error.reason not in ("NotFound", "Conflict"):  # of those an event tells
                        log.warning("cannot judge the ServiceCIDR %s: %s", name, error.message)
                        self._look_again(_RETRY_SECONDS)
            await self._clock.sleep(_PAUSE_SECONDS)

    def _look_again(self, seconds: float) -> None:
        self._next = min(self._next, self._clock.monotonic() + seconds)

    async def _judge(self, name: str, cidr: Object) -> None:
        metadata = cidr["metadata"]
        held = FINALIZER in (metadata.get("finalizers") or ())
        if not metadata.get("deletionTimestamp"):
            if not held:
                await self._hold(name, cidr, True)
            await self._say(name, cidr, _IS_READY)
        elif not may_go(name, self._cidrs, self._addresses.values()):
            await self._say(name, cidr, _IS_ENDING)
        elif held:
            left = GRACE_SECONDS - (self._clock.time() - parse_time(metadata["deletionTimestamp"]))
            if left > 0:
                self._look_again(left)
            else:
                await self._hold(name, cidr, False)

    async def _hold(self, name: str, cidr: Object, held: bool) -> None:
        def change(obj: Object) -> None:
            metadata = obj["metadata"]
            others = [each for each in metadata.get("finalizers") or () if each != FINALIZER]
            if held is not bool(metadata.get("deletionTimestamp")):
                metadata["finalizers"] = [*others, FINALIZER] if held else others

        await self._api.change(self._of("servicecidrs"), "", name, cidr["metadata"].get("uid", ""), change)

    async def _say(self, name: str, cidr: Object, condition: Object) -> None:
        conditions = (cidr.get("status") or {}).get("conditions") or ()
        now: Object = next((each for each in conditions if each.get("type") == READY), {})
        if all((now.get(key) or "") == value for key, value in condition.items()):
            return
        part = {"status": {"conditions": [{**condition, "lastTransitionTime": now_text()}]}}
        uid = cidr["metadata"].get("uid", "")
        await self._api.apply(self._of("servicecidrs"), "", name, uid, part, manager=MANAGER, subresource="status")


def may_go(name: str, cidrs: Mapping[str, Object], addresses: Iterable[IPAddress]) -> bool:
    """Whether a ServiceCIDR may go: others have its networks, or no address is in it alone."""
    networks = {each: list(_networks(cidr)) for each, cidr in cidrs.items()}
    others = [network for each, those in networks.items() if each != name for network in those]
    if all(any(_contains(other, own) for other in others) for own in networks[name]):
        return True
    return not any(
        any(_has(own, address) for own in networks[name]) and not any(_has(other, address) for other in others)
        for address in addresses
    )


def _networks(cidr: Object) -> Iterable[IPNetwork]:
    for text in (cidr.get("spec") or {}).get("cidrs") or ():
        try:
            yield ipaddress.ip_network(text, strict=False)
        except ValueError:  # stored by another program: the API refuses such networks
            log.warning("the ServiceCIDR %s has no network %s", cidr["metadata"]["name"], text)


def _contains(outer: IPNetwork, inner: IPNetwork) -> bool:
    return outer.version == inner.version and inner.subnet_of(outer)  # type: ignore[arg-type]


def _has(network: IPNetwork, address: IPAddress) -> bool:
    """Whether a Service may be given an address of a network."""
    if address.version != network.version or address not in network or address == network.network_address:
        return False
    return address.version == 6 or address != network.broadcast_address


def _name(stored: StoredObject) -> str:
    return stored.key.rpartition("/")[2]

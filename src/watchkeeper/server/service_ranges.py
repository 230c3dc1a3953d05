"""`--service-cluster-ip-range` and `--service-node-port-range`: what Services are given addresses and ports from."""

from __future__ import annotations

from collections.abc import Sequence

from watchkeeper.registry.address_space import configured_network, family_of
from watchkeeper.server.errors import StartupError

_LAST_PORT = 65535


def service_networks(networks: Sequence[str]) -> tuple[str, ...]:
    """One network, or one per IP family with the preferred family first, in canonical form. Raises StartupError."""
    flag = "--service-cluster-ip-range"
    if not 1 <= len(networks) <= 2:
        raise StartupError(f"{flag}: give one network, or two of different IP families, not {len(networks)}")
    found = []
    for network in networks:
        try:
            found.append(configured_network(network))
        except ValueError as error:
            raise StartupError(f"{flag}: {error}") from error
    if len(set(map(family_of, found))) < len(found):
        raise StartupError(f"{flag}: {' and '.join(networks)} are of the same IP family")
    return tuple(map(str, found))


def node_ports(text: str) -> tuple[int, int]:
    """The first and the last port of `FIRST-LAST`, `FIRST+MORE` or `PORT`. Raises StartupError."""
    first, dash, last = text.partition("-")
    first, plus, more = (first, "", "") if dash else text.partition("+")
    try:
        low = int(first)
        high = int(last) if dash else low + (int(more) if plus else 0)
    except ValueError:
        raise StartupError(f"--service-node-port-range: {text!r} is not of the form 30000-32767") from None
    if not 1 <= low <= high <= _LAST_PORT:
        raise StartupError(f"--service-node-port-range: {text} is no range of ports between 1 and {_LAST_PORT}")
    return low, high

"""The components of a control plane, as ComponentStatuses show them: the storage, and those that others run beside it.

kube-apiserver looks for the scheduler and the controller manager on its own machine, at the ports that they have by
default, and so does this server. None of its own controllers answers there.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any

from watchkeeper.aio.http_client import HttpError, JsonPoster
from watchkeeper.registry.component_statuses import Check, Health
from watchkeeper.runtime.client_tls import context_trusting_anybody

_PORTS = {"scheduler": 10259, "controller-manager": 10257}
_TIMEOUT = 20.0
_SUCCESS = range(200, 400)

StorageCheck = Callable[[], Coroutine[Any, Any, str]]
"""What is wrong with a backend, "" for nothing."""


class Components:
    """Finds out what there is to be asked."""

    def __init__(self, storage_checks: Callable[[], Mapping[str, StorageCheck]]) -> None:
        """`storage_checks` gives the health checks of the storage by name; those of backends begin with `etcd`."""
        self._storage_checks = storage_checks

    def __call__(self) -> dict[str, Check]:
        """The components by name."""
        found: dict[str, Check] = {
            name: partial(probe, f"https://127.0.0.1:{port}/healthz") for name, port in _PORTS.items()
        }
        backends = [check for name, check in self._storage_checks().items() if name.startswith("etcd")]
        found.update((f"etcd-{index}", partial(_backend, check)) for index, check in enumerate(backends))
        return found


async def _backend(check: StorageCheck) -> Health:
    wrong = await check()
    return Health(healthy=False, error=wrong) if wrong else Health(healthy=True, message="ok")


async def probe(url: str) -> Health:
    """How the component is that serves its health at a URL, whatever its certificate."""
    poster = JsonPoster(url, ssl_context=context_trusting_anybody(), max_body=10 * 1024)
    try:
        answer = await poster.get(timeout=_TIMEOUT)
    except HttpError as problem:
        return Health(healthy=False, message=str(problem))
    finally:
        poster.close()
    if answer.status not in _SUCCESS:
        return Health(healthy=False, message=f"HTTP probe failed with statuscode: {answer.status}")
    return Health(healthy=True, message=answer.body.decode(errors="replace"))

"""The ClusterRole aggregation controller: gives roles with an aggregationRule the rules of the roles it selects."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from watchkeeper.aio.backoff import Backoff
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.controllers.feed import FeedSink, feed
from watchkeeper.controllers.loopback import Loopback
from watchkeeper.endpoints.scope import ServedResource
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.labels import from_spec
from watchkeeper.storage.interface import StoredObject

log = logging.getLogger(__name__)

Object = dict[str, Any]

MANAGER = "clusterrole-aggregation-controller"
"""Who owns rules that were collected."""


class ClusterRoleAggregationController:
    """Follows ClusterRoles, and after each change looks through those that collect."""

    def __init__(self, api: Loopback) -> None:
        self._api = api
        self._tasks = TaskOwner("clusterrole-aggregation-controller")
        self._roles: dict[str, Object] = {}
        self._changed = asyncio.Event()

    def __repr__(self) -> str:
        return f"<ClusterRoleAggregationController: {len(self._roles)} roles>"

    def start(self) -> None:
        """Begin to follow and to collect."""
        sink = FeedSink(changed=self._put, deleted=self._forget, synced=self._synced)
        self._tasks.start("feed", feed("clusterrole-aggregation-controller", self._resource(), sink).run())
        self._tasks.start("collect", self._work())

    async def close(self) -> None:
        """Stop; the next one collects what is left."""
        await self._tasks.close()

    def _resource(self) -> ServedResource:
        found = self._api.served.find("rbac.authorization.k8s.io", "v1", "clusterroles")
        if found is None:
            raise RuntimeError("clusterroles are not served")
        return found

    # -- following --------------------------------------------------------------------------------------------

    def _put(self, stored: StoredObject) -> None:
        self._roles[_name(stored)] = stored.data()
        self._changed.set()

    def _forget(self, stored: StoredObject) -> None:
        self._roles.pop(_name(stored), None)
        self._changed.set()

    def _synced(self, items: Sequence[StoredObject]) -> None:
        there = {_name(item) for item in items}
        for name in self._roles.keys() - there:
            del self._roles[name]
        self._changed.set()

    # -- collecting -------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        backoff = Backoff(initial=0.2, limit=10.0)
        while True:
            await self._changed.wait()
            self._changed.clear()
            if await self._collect_all():
                backoff = Backoff(initial=0.2, limit=10.0)
            else:
                await asyncio.sleep(backoff.next())
                self._changed.set()

    async def _collect_all(self) -> bool:
        """Write the rules that differ; False when some could not be written."""
        done = True
        for name, role in list(self._roles.items()):
            try:
                rules = collected_rules(role, self._roles)
            except ValueError as error:  # stored by another program: the API refuses such selectors
                log.warning("cannot tell which roles clusterrole %s selects: %s", name, error)
                continue
            if rules is None or rules == (role.get("rules") or []):
                continue
            try:
                await self._write(name, role["metadata"].get("uid", ""), rules)
            except ApiError as error:
                if error.reason not in ("NotFound", "Conflict"):
                    log.warning("cannot collect the rules of clusterrole %s: %s", name, error.message)
                    done = False
        return done

    async def _write(self, name: str, uid: str, rules: list[Object]) -> None:
        # As in the reference, which applies no empty list: rules that others wrote stay while there are none.
        part = {"rules": rules} if rules else {}
        await self._api.apply(self._resource(), "", name, uid, part, manager=MANAGER)


def collected_rules(role: Mapping[str, Any], roles: Mapping[str, Object]) -> list[Object] | None:
    """The rules of all roles that a role selects, by name for each selector, each rule once; None if it does not.

    Raises ValueError for a selector that is none.
    """
    aggregation = role.get("aggregationRule")
    if not aggregation:
        return None
    found: list[Object] = []
    for selector in aggregation.get("clusterRoleSelectors") or ():
        for other in _selected(selector, role["metadata"]["name"], roles):
            found += [rule for rule in other.get("rules") or () if rule not in found]
    return found


def _selected(selector: Mapping[str, Any], own_name: str, roles: Mapping[str, Object]) -> Iterable[Object]:
    matches = from_spec(selector).matches
    for name in sorted(roles):
        if name != own_name and matches(roles[name]["metadata"].get("labels") or {}):
            yield roles[name]


def _name(stored: StoredObject) -> str:
    return stored.key.rpartition("/")[2]

"""Who serves which version of a group: what APIServices tell, and those that this server makes of what it serves.

Of built-in versions there is one from the start on, which may then be changed or deleted. Of custom ones there is one
as long as they are served, and it is kept as it should be (the autoregister controller of kube-aggregator).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.apis.apiregistration.apiservice import MANAGED, available
from watchkeeper.apis.apiregistration.priorities import BUILTIN, CUSTOM
from watchkeeper.apis.apiregistration.schemas import GROUP, KIND, RESOURCE
from watchkeeper.apis.catalog import ResourceInfo
from watchkeeper.endpoints.discovery import Discovery
from watchkeeper.endpoints.discovery_entries import DiscoveryVersion
from watchkeeper.endpoints.metrics import Family, Sample
from watchkeeper.endpoints.scope import ServedTable
from watchkeeper.meta.gvk import GroupResource, GroupVersion

if TYPE_CHECKING:
    from watchkeeper.server.aggregation.remote import Remote
    from watchkeeper.server.aggregation.remotes import Remotes

log = logging.getLogger(__name__)

Object = dict[str, Any]

API_SERVICES = GroupResource(GROUP, RESOURCE)
RESOURCES = {KIND: API_SERVICES}
ON_START, ALWAYS = "onstart", "true"
"""The values of the label MANAGED: put right when the server starts, or whenever it is wrong."""
_API_VERSION = f"{GROUP}/v1"


def name_of(at: GroupVersion) -> str:
    """The name of the APIService of a version."""
    return f"{at.version}.{at.group}"


def version_of(name: str) -> GroupVersion:
    """The version that an APIService of this name is about."""
    version, _, group = name.partition(".")
    return GroupVersion(group, version)


def _made(at: GroupVersion, priorities: tuple[int, int], managed: str) -> Object:
    spec = {
        **({"group": at.group} if at.group else {}),
        "version": at.version,
        "groupPriorityMinimum": priorities[0],
        "versionPriority": priorities[1],
    }
    metadata = {"name": name_of(at), "labels": {MANAGED: managed}}
    return {"apiVersion": _API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec}


def builtin_services(served: Iterable[ResourceInfo]) -> list[Object]:
    """Those of what is built in and served, but for the group of APIServices itself."""
    found: list[Object] = []
    for at in dict.fromkeys(info.gvr.group_version for info in served):
        priorities = BUILTIN.get(at)
        if priorities is not None:
            found.append(_made(at, priorities, ON_START))
    return found


def custom_service(at: GroupVersion) -> Object:
    """The one of a version of custom resources."""
    return _made(at, CUSTOM, ALWAYS)


def managed(service: Object) -> str:
    """How the server looks after one: ON_START, ALWAYS, or "" for not at all."""
    label = (service["metadata"].get("labels") or {}).get(MANAGED, "")
    return label if label in (ON_START, ALWAYS) else ""


class ApiServices:
    """All APIServices, and what discovery and the router learn from them. Implements `policy_feed.Followed`."""

    def __init__(self, served: ServedTable, discovery: Discovery, remotes: Callable[[], Remotes] | None = None) -> None:
        """`remotes` is asked for those who pass requests on when there is the first remote one."""
        self._served = served
        self._make_remotes = remotes
        self._remotes: Remotes | None = None
        self._discovery = discovery
        self._by_name: dict[str, Object] = {}
        self._by_group: dict[str, dict[str, Object]] = {}
        self._told: dict[str, bytes] = {}
        """What the aggregated form of discovery has of remote ones, by their names."""
        self._gone: set[GroupVersion] = set()
        """What there was one of, and is no more. At a start those of what is built in are made anew."""
        self.watchers: list[Callable[[str], None]] = []
        """Called with the name of one that has come, changed or gone."""

    def __repr__(self) -> str:
        return f"<ApiServices: {len(self._by_name)}, {len(self._served.remote)} remote>"

    def __iter__(self) -> Iterator[Object]:
        return iter(self._by_name.values())

    def get(self, name: str) -> Object | None:
        """One of them."""
        return self._by_name.get(name)

    def of_group(self, group: str) -> list[Object]:
        """Those of a group."""
        return list(self._by_group.get(group, {}).values())

    # -- Followed -------------------------------------------------------------------------------------------------

    def put(self, obj: Object) -> None:
        """Take in one of them."""
        groups = self._forget(obj["metadata"]["name"])
        groups.add(self._keep(obj))
        self._tell(groups, [obj["metadata"]["name"]])

    def remove(self, obj: Object) -> None:
        """Forget one of them."""
        self._tell(self._forget(obj["metadata"]["name"]), [obj["metadata"]["name"]])

    def replace(self, kind: str, objects: list[Object]) -> None:
        """Take in all of them."""
        names = dict.fromkeys([*self._by_name, *(obj["metadata"]["name"] for obj in objects)])
        groups = set(self._by_group)
        for name in list(self._by_name):
            self._forget(name)
        groups.update([self._keep(obj) for obj in objects])
        self._tell(groups, names)

    def _keep(self, obj: Object) -> str:
        """Remember one; returns its group."""
        name, at = obj["metadata"]["name"], _at(obj)
        self._by_name[name] = obj
        self._gone.discard(at)
        self._by_group.setdefault(at.group, {})[name] = obj
        return at.group

    def _forget(self, name: str) -> set[str]:
        """Forget one; returns its group, if there was one."""
        obj = self._by_name.pop(name, None)
        if obj is None:
            return set()
        at = _at(obj)
        alike = self._by_group[at.group]
        del alike[name]
        if not alike:
            del self._by_group[at.group]
        self._gone.add(at)
        return {at.group}

    def _tell(self, groups: Iterable[str], names: Iterable[str]) -> None:
        for group in groups:
            self._discovery.set_elsewhere(group, self._versions(group), self._unlisted(group))
        for name in names:
            self._route(name)
            for watcher in self.watchers:
                watcher(name)

    def _route(self, name: str) -> None:
        """Have requests for a version passed on, or answered here."""
        obj = self._by_name.get(name)
        at = version_of(name)
        if obj is not None and is_remote(obj):
            if self._remotes is None and self._make_remotes is not None:
                self._remotes = self._make_remotes()
            if self._remotes is not None:
                self._served.remote[at] = self._remotes.put(obj)
        elif self._served.remote.pop(at, None) is not None and self._remotes is not None:
            self._remotes.remove(name)
            self._told.pop(name, None)

    def tell(self, name: str, entry: bytes) -> None:
        """Take in what a remote one has, as the aggregated form of discovery tells it."""
        obj = self._by_name.get(name)
        if obj is not None and is_remote(obj) and self._told.get(name) != entry:
            self._told[name] = entry
            self._tell([version_of(name).group], ())

    def remote(self, name: str) -> Remote | None:
        """Who serves a version elsewhere."""
        return self._remotes.get(name) if self._remotes is not None else None

    async def discovery_problem(self, name: str, tasks: TaskOwner) -> str:
        """Why the server behind one does not answer, "" when it does. Raises ValueError if it cannot be asked."""
        from watchkeeper.server.aggregation.check import discovery_problem

        remote = self.remote(name)
        return await discovery_problem(remote, tasks) if remote is not None else "nobody knows where it is"

    async def close(self) -> None:
        """Pass on no more requests."""
        if self._remotes is not None:
            await self._remotes.close()

    def _unlisted(self, group: str) -> frozenset[str]:
        """The versions of a group that discovery is silent about; of custom ones there will be one again."""
        if not self._gone or self._served.is_custom_group(group):
            return frozenset()
        return frozenset(at.version for at in self._gone if at.group == group)

    def _versions(self, group: str) -> tuple[DiscoveryVersion, ...]:
        """What they tell of a group, but for those that say what is known anyway."""
        found = [each for each in self.of_group(group) if not managed(each) or is_remote(each)]
        return tuple(
            DiscoveryVersion(
                _at(each).version,
                (),
                elsewhere=True,
                remote=is_remote(each),
                entry=self._told.get(each["metadata"]["name"], b"") if is_remote(each) else b"",
                priorities=(each["spec"]["groupPriorityMinimum"], each["spec"]["versionPriority"]),
            )
            for each in found
        )

    # -- metrics --------------------------------------------------------------------------------------------------

    def collect(self) -> Iterator[Family]:
        """Which of them cannot be reached, or are not known to be."""
        samples = [
            Sample(int((available(each) or {}).get("status") != "True"), (("name", name),))
            for name, each in self._by_name.items()
        ]
        about = "Whether an APIService is unavailable."
        yield Family("aggregator_unavailable_apiservice", "gauge", about, samples)


def reconciled(stored: Object, expected: Object) -> Object | None:
    """What to store at a start in place of one that is not as it should be, None to leave it alone."""
    if not managed(stored) or stored["spec"] == expected["spec"]:
        return None
    return {**stored, "spec": expected["spec"]}


def _at(service: Object) -> GroupVersion:
    return GroupVersion(service["spec"].get("group") or "", service["spec"].get("version") or "")


def is_remote(service: Object) -> bool:
    """Whether it names a Service, behind which another server is."""
    return service["spec"].get("service") is not None

"""The controller: gives each Fleet its GameServers, and each GameServer a port.

python -m examples.fleet.controller [--kubeconfig FILE]

Several can run at a time; one of them leads.
"""

from __future__ import annotations

import argparse
import asyncio
import copy
import logging
import os
import socket
from typing import Any

from examples.fleet.kinds import GROUP_VERSION
from watchkeeper.client.controller import Controller
from watchkeeper.client.dynamic import DynamicClient
from watchkeeper.client.errors import is_reason
from watchkeeper.client.events import NORMAL, EventRecorder
from watchkeeper.client.handlers import KeyHandler, OwnerHandler
from watchkeeper.client.indexer import split_key
from watchkeeper.client.informer import Informer
from watchkeeper.client.kubeconfig import load_config
from watchkeeper.client.leader_election import LeaderElector, LeaderTimes
from watchkeeper.client.lease_lock import LeaseLock
from watchkeeper.client.rest import RestClient
from watchkeeper.meta.errors import ApiError

Object = dict[str, Any]

FIRST_PORT, PORTS = 7000, 1000


class FleetController:
    """Both reconcilers, over informers that they share."""

    def __init__(self, client: DynamicClient, fleets: Informer, servers: Informer, recorder: EventRecorder) -> None:
        self._client = client
        self._fleets = fleets
        self._servers = servers
        self._recorder = recorder
        self._given: dict[str, int] = {}
        """Ports that the informer does not show yet."""
        self._servers.indexer.add_indexers({"fleet": _fleet_of})
        informers = (fleets, servers)
        self.fleet_controller = Controller("fleets", self.reconcile_fleet, informers=informers)
        self.server_controller = Controller("game servers", self.reconcile_server, informers=informers)
        fleets.add_handler(KeyHandler(self.fleet_controller.queue.add))
        servers.add_handler(OwnerHandler(self.fleet_controller.queue.add, api_version=GROUP_VERSION, kind="Fleet"))
        servers.add_handler(KeyHandler(self.server_controller.queue.add))

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for each in (self._fleets, self._servers, self.fleet_controller, self.server_controller):
                tasks.create_task(each.run())

    # -- fleets -------------------------------------------------------------------------------------------------------

    async def reconcile_fleet(self, key: str) -> None:
        """Make what is missing, delete what is too much, and tell how many there are."""
        fleet = self._fleets.indexer.get(key)
        if fleet is None or fleet["metadata"].get("deletionTimestamp"):
            return
        client = await self._client.of_kind(GROUP_VERSION, "GameServer", namespace=fleet["metadata"]["namespace"])
        there = {s["metadata"]["name"]: s for s in self._servers.indexer.by_index("fleet", fleet["metadata"]["uid"])}
        # Names that follow from the number make it harmless that what is known may be a little old.
        wanted = [f"{fleet['metadata']['name']}-{number}" for number in range(fleet["spec"]["replicas"])]
        for name in wanted:
            if name not in there:
                try:
                    await client.create(_server(fleet, name))
                except ApiError as error:
                    if not is_reason(error, "AlreadyExists"):
                        raise
                else:
                    self._recorder.event(fleet, NORMAL, "Created", f"created server {name}")
        for name in there.keys() - set(wanted):
            try:
                await client.delete(name)
            except ApiError as error:
                if not is_reason(error, "NotFound"):
                    raise
            else:
                self._recorder.event(fleet, NORMAL, "Deleted", f"deleted server {name}")
        await self._tell(fleet, list(there.values()))

    async def _tell(self, fleet: Object, servers: list[Object]) -> None:
        ready = sum(1 for s in servers if (s.get("status") or {}).get("phase") == "Ready")
        # What others have written there stays.
        status = {**(fleet.get("status") or {}), "replicas": len(servers), "ready": ready}
        if fleet.get("status") != status:
            client = await self._client.of_kind(GROUP_VERSION, "Fleet", namespace=fleet["metadata"]["namespace"])
            new = copy.deepcopy(fleet)
            new["status"] = status
            await client.update(new, subresource="status")

    # -- game servers -------------------------------------------------------------------------------------------------

    async def reconcile_server(self, key: str) -> None:
        """Start a server that has not been started; here that takes no more than choosing a port."""
        server = self._servers.indexer.get(key)
        if server is None or (server.get("status") or {}).get("phase") == "Ready":
            self._given.pop(key, None)
            return
        namespace, name = split_key(key)
        if key not in self._given:
            taken = {(s.get("status") or {}).get("port") for s in self._servers.indexer.list()}
            taken.update(self._given.values())
            self._given[key] = next(p for p in range(FIRST_PORT, FIRST_PORT + PORTS) if p not in taken)
        status = {"phase": "Ready", "port": self._given[key]}
        client = await self._client.of_kind(GROUP_VERSION, "GameServer", namespace=namespace)
        try:
            await client.patch(name, {"status": status}, subresource="status")
        except ApiError as error:
            if not is_reason(error, "NotFound"):
                raise


def _fleet_of(server: Object) -> list[str]:
    return [owner["uid"] for owner in server["metadata"].get("ownerReferences") or () if owner.get("controller")]


def _server(fleet: Object, name: str) -> Object:
    owner = {
        "apiVersion": fleet["apiVersion"],
        "kind": fleet["kind"],
        "name": fleet["metadata"]["name"],
        "uid": fleet["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "apiVersion": GROUP_VERSION,
        "kind": "GameServer",
        "metadata": {"name": name, "ownerReferences": [owner]},
        "spec": {"map": fleet["spec"]["map"], "slots": fleet["spec"]["slots"]},
    }


async def run(client: DynamicClient, *, identity: str, times: LeaderTimes = LeaderTimes()) -> None:
    """Wait until this process leads, then work; returns when it leads no more."""
    lock = LeaseLock(client, namespace="default", name="fleet-controller", identity=identity)

    async def lead() -> None:
        fleets = Informer.of(await client.of_kind(GROUP_VERSION, "Fleet"))
        servers = Informer.of(await client.of_kind(GROUP_VERSION, "GameServer"))
        async with EventRecorder(client, "fleet-controller", instance=identity) as recorder:
            await FleetController(client, fleets, servers, recorder).run()

    await LeaderElector(lock, times=times).run(lead)


async def _main(kubeconfig: str | None) -> None:
    async with RestClient(load_config(kubeconfig)) as rest:
        await run(DynamicClient(rest), identity=f"{socket.gethostname()}-{os.getpid()}")


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description="Keeps fleets of game servers at their size.")
    parser.add_argument("--kubeconfig", help="how to reach the server (default: as kubectl finds it)")
    logging.basicConfig(level=logging.INFO)
    asyncio.run(_main(parser.parse_args().kubeconfig))


if __name__ == "__main__":
    main()

"""The Lease of a server shows that it lives, and who it is."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from watchkeeper.registry.rest import Context, CreateOptions
from watchkeeper.request.user import LOOPBACK
from watchkeeper.server.identity import ExpiredLeases, IdentityLease, server_id
from watchkeeper.server.options import ServeOptions
from watchkeeper.server.server import Server
from watchkeeper.storage.interface import ListOptions
from watchkeeper.testing.clock import ManualClock


def test_a_lease_is_made_renewed_and_taken_over_by_the_next_start(tmp_path: Path) -> None:
    async def run() -> list[Any]:
        server = Server(ServeOptions(data_dir=tmp_path, storage="memory:", port=0))
        await server.start()
        try:
            store = server.assembly.store("coordination.k8s.io", "leases")
            first = IdentityLease(store, server.assembly.ownership, "host", "https://192.0.2.7:6443")
            key = store.key("kube-system", first.name)
            found = []
            for lease in (
                first,
                first,
                IdentityLease(store, server.assembly.ownership, "host", "https://192.0.2.7:6443"),
            ):
                await lease.renew()
                found.append((await store.storage.get(key)).data())
            return found
        finally:
            await server.stop()

    made, renewed, taken = asyncio.run(run())
    assert made["metadata"]["labels"]["apiserver.kubernetes.io/identity"] == "kube-apiserver"
    assert made["metadata"]["labels"]["kubernetes.io/hostname"] == "host"
    assert made["spec"]["holderIdentity"].startswith(made["metadata"]["name"] + "_")
    assert made["spec"]["leaseDurationSeconds"] == 3600
    assert [entry["manager"] for entry in taken["metadata"]["managedFields"]] == ["kube-apiserver"]
    assert renewed["spec"]["renewTime"] > made["spec"]["renewTime"]
    assert renewed["spec"]["acquireTime"] == made["spec"]["acquireTime"]
    assert taken["spec"]["holderIdentity"] != made["spec"]["holderIdentity"]
    assert taken["metadata"]["uid"] == made["metadata"]["uid"]


def test_a_lease_is_renewed_again_and_again_until_it_is_closed(tmp_path: Path) -> None:
    async def run() -> tuple[str, str, str]:
        server = Server(ServeOptions(data_dir=tmp_path, storage="memory:", port=0))
        await server.start()
        try:
            store = server.assembly.store("coordination.k8s.io", "leases")
            lease = IdentityLease(store, server.assembly.ownership, "host", "https://192.0.2.7:6443", interval=0.02)
            key = store.key("kube-system", lease.name)

            async def renewed() -> str:
                time: str = (await store.storage.get(key)).data()["spec"]["renewTime"]
                return time

            lease.start()
            while not (await store.storage.count(f"{store.prefix}/")):
                await asyncio.sleep(0.01)
            first = await renewed()
            while (second := await renewed()) == first:
                await asyncio.sleep(0.01)
            await lease.close()
            last = await renewed()
            await asyncio.sleep(0.1)
            return first, max(second, last), await renewed()
        finally:
            await server.stop()

    first, last, afterwards = asyncio.run(run())
    assert first < last == afterwards


def test_servers_have_names_of_their_own() -> None:
    name = server_id("host", "https://192.0.2.7:6443")
    assert name == server_id("host", "https://192.0.2.7:6443")
    assert name.startswith("apiserver-")
    assert len({name, server_id("host", "https://192.0.2.7:6444"), server_id("other", "https://192.0.2.7:6443")}) == 3


LABELS = {"apiserver.kubernetes.io/identity": "kube-apiserver"}
RENEWED = "2026-01-01T00:00:00.250000Z"


def lease(name: str, namespace: str, labels: dict[str, str], spec: dict[str, Any]) -> dict[str, Any]:
    meta = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}


def test_leases_of_servers_that_are_gone_are_deleted(tmp_path: Path) -> None:
    spec = {"renewTime": RENEWED, "leaseDurationSeconds": 3600}
    leases = [
        lease("expired", "kube-system", LABELS, spec),
        lease("lives", "kube-system", LABELS, {**spec, "leaseDurationSeconds": 7200}),
        lease("never-renewed", "kube-system", LABELS, {"leaseDurationSeconds": 7200}),
        lease("endless", "kube-system", LABELS, {"renewTime": RENEWED}),
        lease("of-others", "kube-system", {}, spec),
        lease("elsewhere", "default", LABELS, spec),
    ]

    async def run() -> tuple[list[str], list[str]]:
        server = Server(ServeOptions(data_dir=tmp_path, storage="memory:", port=0))
        await server.start()
        clock = ManualClock(start=1_767_225_600.0 + 3601)
        try:
            store = server.assembly.store("coordination.k8s.io", "leases")
            for each in leases:
                ctx = Context(user=LOOPBACK, namespace=each["metadata"]["namespace"])
                await store.create(ctx, each, CreateOptions())

            async def names() -> list[str]:
                items = (await store.storage.get_list(f"{store.prefix}/", ListOptions())).items
                return sorted(item.data()["metadata"]["name"] for item in items)

            expired = ExpiredLeases(store, clock=clock)
            expired.start()
            await clock.advance(0)
            while len(await names()) == len(leases):
                await asyncio.sleep(0.01)
            await expired.collect()
            at_once = await names()
            await clock.advance(3600)
            while await names() == at_once:
                await asyncio.sleep(0.01)
            await expired.close()
            return at_once, await names()
        finally:
            await server.stop()

    at_once, after_an_hour = asyncio.run(run())
    assert at_once == ["elsewhere", "lives", "of-others"]
    assert after_an_hour == ["elsewhere", "of-others"]

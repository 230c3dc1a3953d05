"""Backends, prefixes, overrides, encryption and health, put together."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from watchkeeper.kv.errors import Unavailable
from watchkeeper.kv.interface import KV, Status
from watchkeeper.kv.memory import MemoryKV
from watchkeeper.meta.gvk import GroupResource, GroupVersionKind
from watchkeeper.storage.backend import BackendConfig, BackendError, parse_overrides
from watchkeeper.storage.cacher.cacher import Cacher
from watchkeeper.storage.codec import JsonCodec
from watchkeeper.storage.errors import StorageError
from watchkeeper.storage.factory import StorageFactory
from watchkeeper.storage.prefixes import object_key, resource_prefix
from watchkeeper.storage.store import Store
from watchkeeper.storage.value.encryption import Encryption

PODS, EVENTS, SECRETS = (GroupResource("", name) for name in ("pods", "events", "secrets"))
ETCD = BackendConfig(servers=("https://main:2379",))
CODEC = JsonCodec(GroupVersionKind("", "v1", "Thing"))


class Deaf(MemoryKV):
    async def status(self) -> Status:
        raise Unavailable("connection refused")


class Mute(MemoryKV):
    async def status(self) -> Status:
        await asyncio.sleep(60)
        raise AssertionError


def with_factory(test: Callable[[StorageFactory, dict[tuple[str, ...], KV]], Awaitable[None]], **options: Any) -> None:
    kinds = options.pop("kinds", {})

    async def run() -> None:
        opened: dict[tuple[str, ...], KV] = {}

        async def open_kv(config: BackendConfig) -> KV:
            opened[config.servers] = kinds.get(config.servers, MemoryKV)()
            return opened[config.servers]

        factory = StorageFactory(options.pop("config", ETCD), open_kv, **options)
        await factory.open()
        try:
            await test(factory, opened)
        finally:
            await factory.close()
            await factory.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("group", "resource", "prefix"),
    [
        ("", "pods", "/registry/pods"),
        ("", "services", "/registry/services/specs"),
        ("", "endpoints", "/registry/services/endpoints"),
        ("", "nodes", "/registry/minions"),
        ("", "replicationcontrollers", "/registry/controllers"),
        ("", "events", "/registry/events"),
        ("events.k8s.io", "events", "/registry/events"),
        ("networking.k8s.io", "ingresses", "/registry/ingress"),
        ("networking.k8s.io", "networkpolicies", "/registry/networkpolicies"),
        ("apps", "deployments", "/registry/deployments"),
        ("coordination.k8s.io", "leases", "/registry/leases"),
        ("rbac.authorization.k8s.io", "clusterroles", "/registry/clusterroles"),
        (
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            "/registry/apiextensions.k8s.io/customresourcedefinitions",
        ),
        ("apiregistration.k8s.io", "apiservices", "/registry/apiregistration.k8s.io/apiservices"),
        ("stable.example.com", "crontabs", "/registry/stable.example.com/crontabs"),
    ],
)
def test_resources_lie_where_kube_apiserver_puts_them(group: str, resource: str, prefix: str) -> None:
    assert resource_prefix(group, resource) == prefix
    assert object_key(prefix, "ns", "x") == f"{prefix}/ns/x"
    assert object_key(prefix, "", "x") == f"{prefix}/x"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (BackendConfig(type="etcd2"), "etcd2 is no longer a supported storage backend"),
        (BackendConfig(type="files"), "unknown storage type: files"),
        (BackendConfig(), "--etcd-servers must be specified"),
        (BackendConfig(type="sqlite"), "needs the path of a file"),
        (BackendConfig(servers=("x",), cert_file=Path("c")), "a client certificate and its key go together"),
    ],
)
def test_what_cannot_work_is_refused(config: BackendConfig, message: str) -> None:
    with pytest.raises(BackendError, match=message):
        config.check()


def test_overrides_are_read() -> None:
    assert parse_overrides(["/events#unix:///run/etcd.sock"]) == {EVENTS: ("unix:///run/etcd.sock",)}
    assert parse_overrides(["/events#https://a:1;https://b:2", "apps/deployments#http://c"]) == {
        EVENTS: ("https://a:1", "https://b:2"),
        GroupResource("apps", "deployments"): ("http://c",),
    }
    for bad in ("events#https://a", "/events", "/events#", "/events#host:1", "a/b/c#https://a", "/events#https://a#x"):
        with pytest.raises(BackendError, match="--etcd-servers-overrides invalid"):
            parse_overrides([bad])


def test_an_overridden_resource_lives_on_its_own_backend() -> None:
    async def test(factory: StorageFactory, opened: dict[tuple[str, ...], KV]) -> None:
        assert set(opened) == {ETCD.servers, ("https://events:2379",)}
        await factory.storage(EVENTS, CODEC).create("/registry/events/a/x", {"metadata": {"name": "x"}})
        await factory.storage(PODS, CODEC).create("/registry/pods/a/x", {"metadata": {"name": "x"}})
        assert (await opened[("https://events:2379",)].get(b"/registry/events/a/x")).kv is not None
        assert (await opened[ETCD.servers].get(b"/registry/events/a/x")).kv is None
        assert (await opened[ETCD.servers].get(b"/registry/pods/a/x")).kv is not None

    with_factory(test, overrides={EVENTS: ("https://events:2379",)})


def test_a_storage_is_made_once_cached_unless_told_otherwise_and_can_be_dropped() -> None:
    async def test(factory: StorageFactory, opened: dict[tuple[str, ...], KV]) -> None:
        pods = factory.storage(PODS, CODEC)
        assert isinstance(pods, Cacher)
        assert factory.storage(PODS, CODEC) is pods
        assert isinstance(factory.storage(EVENTS, CODEC), Store)
        await pods.create("/registry/pods/a/x", {"metadata": {"name": "x"}})
        await factory.drop(PODS)
        again = factory.storage(PODS, CODEC)
        assert again is not pods
        assert (await again.get("/registry/pods/a/x")).attributes.fields["metadata.name"] == "x"

    with_factory(test, uncached=[EVENTS])


def test_keys_begin_with_the_configured_prefix() -> None:
    async def test(factory: StorageFactory, opened: dict[tuple[str, ...], KV]) -> None:
        assert factory.prefix(PODS) == "/mine/pods"
        await factory.storage(PODS, CODEC).create("/mine/pods/a/x", {"metadata": {"name": "x"}})
        assert (await opened[()].get(b"/mine/pods/a/x")).kv is not None

    with_factory(test, config=BackendConfig(type="memory", prefix="/mine"))


def test_health_tells_which_backend_does_not_answer() -> None:
    async def test(factory: StorageFactory, opened: dict[tuple[str, ...], KV]) -> None:
        assert await factory.health() == {
            "etcd": "",
            "etcd-override-0": "connection refused",
            "etcd-override-1": "no answer within 0.1 s",
        }
        assert set(await factory.monitors()) == {"etcd"}

    with_factory(
        test,
        config=BackendConfig(servers=ETCD.servers, health_timeout=0.1),
        overrides={EVENTS: ("https://deaf",), PODS: ("https://mute",)},
        kinds={("https://deaf",): Deaf, ("https://mute",): Mute},
    )


def test_checks_number_the_servers_of_overrides_whatever_their_order() -> None:
    async def test(factory: StorageFactory, opened: dict[tuple[str, ...], KV]) -> None:
        assert list(factory.checks()) == ["etcd", "etcd-override-0", "etcd-override-1"]
        ready = factory.readiness_checks()
        assert list(ready) == ["etcd-readiness", "etcd-override-readiness-0", "etcd-override-readiness-1"]
        assert [await check() for check in ready.values()] == ["", "", "it is gone"]

    class Gone(MemoryKV):
        async def current_revision(self) -> int:
            raise Unavailable("it is gone")

    one, two = "https://one:2379", "https://two:2379"
    with_factory(
        test,
        overrides={PODS: (one, two), EVENTS: (two, one), SECRETS: ("https://secrets:2379",)},
        kinds={("https://secrets:2379",): Gone},
    )


def test_a_wrong_key_shows_at_start(tmp_path: Path) -> None:
    def encryption(n: int) -> Encryption:
        path = tmp_path / f"{n}.yaml"
        secret = base64.b64encode(bytes([n]) * 32).decode()
        path.write_text(
            "{apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: [{resources: [secrets],"
            f" providers: [{{aesgcm: {{keys: [{{name: key, secret: {secret}}}]}}}}]}}]}}"
        )
        return Encryption(path)

    async def test(factory: StorageFactory, opened: dict[tuple[str, ...], KV]) -> None:
        await factory.check_encryption(SECRETS, CODEC)
        await factory.storage(SECRETS, CODEC).create("/registry/secrets/a/x", {"metadata": {"name": "x"}})
        await factory.check_encryption(SECRETS, CODEC)
        factory._encryption = encryption(2)
        with pytest.raises(StorageError, match="secrets cannot be read with the keys of the encryption configuration"):
            await factory.check_encryption(SECRETS, CODEC)
        assert await factory.health() == {"etcd": ""}

    with_factory(test, encryption=encryption(1))


class Stuck(MemoryKV):
    """A store that cannot be closed, and says for which keys."""

    async def close(self) -> None:
        await super().close()
        raise Unavailable("it does not end")


def test_closing_goes_on_past_a_backend_that_fails_and_tells_of_it_in_the_end() -> None:
    elsewhere = {EVENTS: ("https://events:2379",), SECRETS: ("https://secrets:2379",)}

    async def run(stuck: list[tuple[str, ...]]) -> None:
        opened: dict[tuple[str, ...], MemoryKV] = {}

        async def open_kv(config: BackendConfig) -> KV:
            opened[config.servers] = Stuck() if config.servers in stuck else MemoryKV()
            return opened[config.servers]

        factory = StorageFactory(ETCD, open_kv, overrides=elsewhere)
        await factory.open()
        await factory.storage(PODS, CODEC).create("/registry/pods/a/x", {"metadata": {"name": "x"}})
        with pytest.raises(Unavailable if len(stuck) == 1 else ExceptionGroup):
            await factory.close()
        assert len(opened) == 3
        assert all("closed" in repr(kv) for kv in opened.values())
        await factory.close()

    asyncio.run(run([ETCD.servers]))
    asyncio.run(run([ETCD.servers, ("https://events:2379",)]))


def test_every_backend_that_answers_is_monitored_by_its_name() -> None:
    async def test(factory: StorageFactory, opened: dict[tuple[str, ...], KV]) -> None:
        await factory.storage(PODS, CODEC).create("/registry/pods/a/x", {"metadata": {"name": "x"}})
        found = await factory.monitors()
        assert set(found) == {"etcd", "etcd-override-events"}
        assert found["etcd"].revision > found["etcd-override-events"].revision
        assert found["etcd"].db_size > 0

    elsewhere = {EVENTS: ("https://events:2379",), SECRETS: ("https://secrets:2379",)}
    with_factory(test, overrides=elsewhere, kinds={("https://secrets:2379",): Deaf})

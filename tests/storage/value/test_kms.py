"""KMS v2 with a real plugin on a unix socket."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from watchkeeper.kv.memory import MemoryKV
from watchkeeper.meta.gvk import GroupResource, GroupVersionKind
from watchkeeper.storage.cacher.cacher import Cacher
from watchkeeper.storage.codec import JsonCodec
from watchkeeper.storage.errors import StorageError, Unreachable
from watchkeeper.storage.interface import ListOptions, Object
from watchkeeper.storage.store import Store
from watchkeeper.storage.value import wire
from watchkeeper.storage.value.encryption import Encryption
from watchkeeper.storage.value.interface import KeyNeeded, TransformError, with_keys
from watchkeeper.storage.value.kms import KMSTransformer
from watchkeeper.testing.clock import ManualClock
from watchkeeper.testing.kms_plugin import Plugin

SECRETS = GroupResource("", "secrets")
CONTEXT = b"/registry/secrets/a/x"
ROOT = "/registry/secrets/"


class Stage:
    def __init__(self, tmp_path: Path) -> None:
        self.clock = ManualClock()
        self.plugin = Plugin(tmp_path / "kms.sock")
        self.path = tmp_path / "encryption.yaml"
        self.path.write_text(
            "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\n"
            "resources:\n- resources: [secrets]\n"
            f"  providers:\n  - kms: {{apiVersion: v2, name: vault, endpoint: '{self.plugin.endpoint}', timeout: 1s}}\n"
            "  - identity: {}\n"
        )
        self.kv = MemoryKV()
        self.opened: list[Encryption] = []

    async def encryption(self) -> Encryption:
        made = Encryption(self.path, clock=self.clock)
        self.opened.append(made)
        await made.start()
        return made

    async def store(self) -> Store:
        transformer = (await self.encryption()).transformer(SECRETS)
        return Store(self.kv, JsonCodec(GroupVersionKind("", "v1", "Secret")), ROOT, transformer=transformer)

    def kms(self, encryption: Encryption) -> KMSTransformer:
        return encryption._generation.plugins[0]


def secret(name: str) -> Object:
    return {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": name, "namespace": "a"}, "data": {"k": "dG9w"}}


def on_stage(test: Callable[[Stage], Awaitable[None]], tmp_path: Path) -> None:
    async def run() -> None:
        stage = Stage(tmp_path)
        await stage.plugin.start()
        try:
            await asyncio.wait_for(test(stage), 30)
        finally:
            for made in stage.opened:
                await made.close()
            await stage.plugin.stop()
            await stage.kv.close()

    asyncio.run(run())


def test_values_carry_their_wrapped_seed_and_one_seed_serves_many(tmp_path: Path) -> None:
    async def test(stage: Stage) -> None:
        store = await stage.store()
        assert stage.plugin.calls == ["Status", "Encrypt"]
        for name in "xyz":
            await store.create(f"{ROOT}a/{name}", secret(name))
        raw = (await stage.kv.get(CONTEXT)).kv
        assert raw is not None
        assert raw.value.startswith(b"k8s:enc:kms:v2:vault:")
        message = wire.decode(raw.value.removeprefix(b"k8s:enc:kms:v2:vault:"))
        assert message.text(2) == "one"
        assert message.map(4) == stage.plugin.annotations
        assert message.numbers[5] == 1
        assert b"dG9w" not in raw.value
        assert len((await store.get_list(ROOT, ListOptions())).items) == 3
        assert stage.plugin.calls == ["Status", "Encrypt"]

    on_stage(test, tmp_path)


def test_another_server_asks_the_plugin_once_for_each_seed(tmp_path: Path) -> None:
    async def test(stage: Stage) -> None:
        first = await stage.store()
        for name in "xyz":
            await first.create(f"{ROOT}a/{name}", secret(name))
        second = Cacher(await stage.store())
        await second.wait_until_ready()
        assert len((await second.get_list(ROOT, ListOptions())).items) == 3
        assert stage.plugin.calls.count("Decrypt") == 1
        await first.create(f"{ROOT}a/w", secret("w"))
        assert (await second.get(f"{ROOT}a/w")).data()["data"] == {"k": "dG9w"}
        third = await stage.store()
        await third.create(f"{ROOT}a/v", secret("v"))
        assert len((await second.get_list(ROOT, ListOptions())).items) == 5
        assert stage.plugin.calls.count("Decrypt") == 2
        await second.close()

    on_stage(test, tmp_path)


def test_a_new_key_of_the_plugin_makes_a_new_seed_and_old_values_stale(tmp_path: Path) -> None:
    async def test(stage: Stage) -> None:
        made = await stage.encryption()
        transformer = made.transformer(SECRETS)
        old = transformer.to_storage(b"x", CONTEXT)
        assert transformer.from_storage(old, CONTEXT) == (b"x", False)
        stage.plugin.rotate("two")
        assert await stage.kms(made).probe() == ""
        assert transformer.from_storage(old, CONTEXT) == (b"x", True)
        new = transformer.to_storage(b"x", CONTEXT)
        assert transformer.from_storage(new, CONTEXT) == (b"x", False)
        assert wire.decode(new.removeprefix(b"k8s:enc:kms:v2:vault:")).text(2) == "two"

    on_stage(test, tmp_path)


def test_while_the_plugin_is_away_known_values_are_read_and_writing_goes_on_for_three_minutes(tmp_path: Path) -> None:
    async def test(stage: Stage) -> None:
        made = await stage.encryption()
        transformer, kms = made.transformer(SECRETS), stage.kms(made)
        stored = transformer.to_storage(b"x", CONTEXT)
        stage.plugin.fail = True
        await stage.clock.advance(170)
        assert "the vault is sealed" in await kms.probe()
        assert "the vault is sealed" in made.health()
        transformer.to_storage(b"x", CONTEXT)
        await stage.clock.advance(20)
        with pytest.raises(TransformError, match="has expired"):
            transformer.to_storage(b"x", CONTEXT)
        assert transformer.from_storage(stored, CONTEXT) == (b"x", False)
        stage.plugin.fail = False
        assert await kms.probe() == ""
        transformer.to_storage(b"x", CONTEXT)

    on_stage(test, tmp_path)


def test_a_value_with_an_unknown_seed_cannot_be_read_while_the_plugin_is_away_and_is_not_called_corrupt(
    tmp_path: Path,
) -> None:
    async def test(stage: Stage) -> None:
        first = await stage.store()
        await first.create(f"{ROOT}a/x", secret("x"))
        second = await stage.store()
        stage.plugin.fail = True
        with pytest.raises(Unreachable, match="Decrypt failed: the vault is sealed"):
            await second.get(f"{ROOT}a/x")
        stage.plugin.fail = False
        assert (await second.get(f"{ROOT}a/x")).data()["data"] == {"k": "dG9w"}

    on_stage(test, tmp_path)


def test_a_plugin_that_is_not_well_is_told_by_the_health_check(tmp_path: Path) -> None:
    async def test(stage: Stage) -> None:
        made = await stage.encryption()
        kms = stage.kms(made)
        for change, message in (
            ({"health": "tired"}, "got unexpected healthz status: tired"),
            ({"version": "v3"}, "expected KMSv2 API version v2, got v3"),
            ({"key_id": ""}, "keyID is empty"),
        ):
            before = vars(stage.plugin).copy()
            vars(stage.plugin).update(change)
            assert message in await kms.probe()
            vars(stage.plugin).update(before)
        assert await kms.probe() == ""

    on_stage(test, tmp_path)


def test_a_server_whose_plugin_was_never_there_cannot_write(tmp_path: Path) -> None:
    async def test(stage: Stage) -> None:
        stage.plugin.fail = True
        store = await stage.store()
        with pytest.raises(StorageError, match="has given no key yet"):
            await store.create(f"{ROOT}a/x", secret("x"))

    on_stage(test, tmp_path)


def test_a_broken_envelope_is_refused(tmp_path: Path) -> None:
    async def test(stage: Stage) -> None:
        transformer = (await stage.encryption()).transformer(SECRETS)
        good = transformer.to_storage(b"x", CONTEXT)
        for bad in (b"k8s:enc:kms:v2:vault:\x0a", b"k8s:enc:kms:v2:vault:", good[:30]):
            with pytest.raises(TransformError):
                await with_keys(lambda bad=bad: transformer.from_storage(bad, CONTEXT))  # type: ignore[misc]
        with pytest.raises((TransformError, KeyNeeded)):
            transformer.from_storage(good, b"/registry/secrets/a/other")

    on_stage(test, tmp_path)

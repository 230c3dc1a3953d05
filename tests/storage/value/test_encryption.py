"""EncryptionConfiguration: what it says, how it rotates keys, how it changes while the server runs."""

from __future__ import annotations

import asyncio
import base64
import logging
from pathlib import Path

import pytest

from watchkeeper.kv.memory import MemoryKV
from watchkeeper.meta.gvk import GroupResource, GroupVersionKind
from watchkeeper.storage.cacher.cacher import Cacher
from watchkeeper.storage.codec import JsonCodec
from watchkeeper.storage.errors import CorruptObject
from watchkeeper.storage.interface import ListOptions, Object
from watchkeeper.storage.store import Store
from watchkeeper.storage.value.config import ConfigError, parse_config
from watchkeeper.storage.value.encryption import Encryption
from watchkeeper.storage.value.interface import TransformError
from watchkeeper.testing.clock import ManualClock

SECRETS = GroupResource("", "secrets")
ONE, TWO = (base64.b64encode(bytes([n]) * 32).decode() for n in (1, 2))
CONTEXT = b"/registry/secrets/a/x"


def config(*providers: str, resources: str = "[secrets]") -> str:
    listed = "\n".join(f"  - {provider}" for provider in providers)
    head = "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n"
    return f"{head}- resources: {resources}\n  providers:\n{listed}\n"


def cipher(kind: str, **keys: str) -> str:
    listed = ", ".join(f"{{name: {name}, secret: {secret}}}" for name, secret in keys.items())
    return f"{kind}: {{keys: [{listed}]}}"


IDENTITY = "identity: {}"


def encryption(tmp_path: Path, text: str, **options: object) -> Encryption:
    path = tmp_path / "encryption.yaml"
    path.write_text(text)
    return Encryption(path, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["aescbc", "aesgcm", "secretbox"])
def test_values_begin_with_the_provider_and_the_name_of_the_key(kind: str, tmp_path: Path) -> None:
    made = encryption(tmp_path, config(cipher(kind, key1=ONE), IDENTITY))
    transformer = made.transformer(SECRETS)
    stored = transformer.to_storage(b"{}", CONTEXT)
    assert stored.startswith(f"k8s:enc:{kind}:v1:key1:".encode())
    assert transformer.from_storage(stored, CONTEXT) == (b"{}", False)
    assert transformer.from_storage(b"{}", CONTEXT) == (b"{}", True)
    assert made.transformer(GroupResource("", "configmaps")).to_storage(b"{}", CONTEXT) == b"{}"
    with pytest.raises(TransformError, match="identity transformer tried to read encrypted data"):
        made.transformer(GroupResource("", "configmaps")).from_storage(stored, CONTEXT)


def test_keys_rotate(tmp_path: Path) -> None:
    old = encryption(tmp_path, config(cipher("aesgcm", key1=ONE))).transformer(SECRETS)
    new = encryption(tmp_path, config(cipher("aesgcm", key2=TWO, key1=ONE))).transformer(SECRETS)
    assert new.from_storage(old.to_storage(b"x", CONTEXT), CONTEXT) == (b"x", True)
    assert new.to_storage(b"x", CONTEXT).startswith(b"k8s:enc:aesgcm:v1:key2:")
    with pytest.raises(TransformError, match="no matching key was found for the provided aesgcm transformer"):
        old.from_storage(new.to_storage(b"x", CONTEXT), CONTEXT)


def test_a_wrong_key_of_the_right_name_is_a_clear_error(tmp_path: Path) -> None:
    one = encryption(tmp_path, config(cipher("aesgcm", key=ONE))).transformer(SECRETS)
    two = encryption(tmp_path, config(cipher("aesgcm", key=TWO))).transformer(SECRETS)
    with pytest.raises(TransformError, match="the key is wrong, or the value was changed"):
        two.from_storage(one.to_storage(b"x", CONTEXT), CONTEXT)


def test_wildcards_cover_a_group_or_everything_and_the_closest_rule_counts(tmp_path: Path) -> None:
    text = config(cipher("aesgcm", exact=ONE), resources="[secrets]")
    text += config(cipher("aesgcm", core=ONE), resources="['*.']").partition("resources:\n")[2]
    text += config(cipher("aesgcm", apps=ONE), resources="['*.apps']").partition("resources:\n")[2]
    text += config(cipher("aesgcm", all=ONE), resources="['*.*']").partition("resources:\n")[2]
    made = encryption(tmp_path, text)
    for resource, name in (
        (SECRETS, "exact"),
        (GroupResource("", "pods"), "core"),
        (GroupResource("apps", "deployments"), "apps"),
        (GroupResource("example.com", "things"), "all"),
        (GroupResource("events.k8s.io", "events"), "core"),
    ):
        stored = made.transformer(resource).to_storage(b"x", CONTEXT)
        assert stored.startswith(f"k8s:enc:aesgcm:v1:{name}:".encode()), resource


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("[", "error decoding encryption provider configuration"),
        ("kind: Pod\napiVersion: v1", "expected kind EncryptionConfiguration"),
        (config(IDENTITY) + "more: 1\n", 'file: Invalid value: "more": unknown field'),
        ("apiVersion: v1\nkind: EncryptionConfig\n", "resources: Required value: at least one resources is required"),
        (config(IDENTITY, resources="[]"), "resources[0].resources: Required value"),
        (config("{}"), "provider does not contain any of the expected providers"),
        (config("{identity: {}, aescbc: {keys: []}}"), "more than one provider specified in a single element"),
        (config("aescbc: {keys: []}"), "resources[0].providers[0].aescbc.keys: Required value"),
        (config(f"aescbc: {{keys: [{{secret: {ONE}}}]}}"), "keys[0].name: Required value: name is a mandatory field"),
        (config("aescbc: {keys: [{name: a}]}"), "keys[0].secret: Required value: secret is a mandatory field"),
        (config(cipher("aescbc", a="'%%%'")), 'secret: Invalid value: "REDACTED": secrets must be base64 encoded'),
        (config(cipher("aescbc", a="c2hvcnQ=")), "got 5, expected one of [16 24 32]"),
        (config(cipher("secretbox", a="MDEyMzQ1Njc4OWFiY2RlZg==")), "got 16, expected one of [32]"),
        (config(IDENTITY, resources="[Secrets]"), "resource name should not contain capital letters"),
        (config(IDENTITY, resources="['*']"), "use '*.' to encrypt all the resources from core API group"),
        (config(IDENTITY, resources="[events.events.k8s.io]"), "Use 'events' instead in the config file"),
        (config(IDENTITY, resources="[ingresses.extensions]"), "'extensions' group has been removed"),
        (config(IDENTITY, resources="['secrets.*']"), "encrypting the same resource across groups is not supported"),
        (config(IDENTITY, resources="[serviceipallocations]"), "resources which do not have REST API/s"),
        (config(IDENTITY, resources="[secrets, secrets]"), "the same resource cannot be specified multiple times"),
        (config(IDENTITY, resources="[secrets, '*.']"), "using overlapping resources"),
        (config(IDENTITY, resources="[secrets, '*.*']"), "using overlapping resources"),
        (config(IDENTITY, resources="['*.']") + "- {resources: [pods], providers: [{identity: {}}]}\n", "is masked by"),
        (config("kms: {apiVersion: v2, name: a, endpoint: 'tcp://x'}"), 'unsupported scheme "tcp" for KMS provider'),
        (config("kms: {apiVersion: v2, name: 'a:b', endpoint: 'unix:///x'}"), "must not contain ':'"),
        (config("kms: {apiVersion: v1, name: a, endpoint: 'unix:///x'}"), "only v2 is supported"),
        (config("kms: {apiVersion: v2, name: a}"), "endpoint is a mandatory field for a kms"),
        (config("kms: {apiVersion: v2, name: a, endpoint: 'unix:///x', timeout: -1s}"), "should be a positive value"),
        (config("kms: {apiVersion: v2, name: a, endpoint: 'unix:///x', cachesize: 1}"), "cachesize is not supported"),
    ],
)
def test_a_faulty_file_is_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as e:
        encryption(tmp_path, text)
    assert message in str(e.value)


def test_all_faults_are_reported_and_no_secret_shows() -> None:
    secret = base64.b64encode(b"a short secret").decode()
    text = config(cipher("aescbc", a=secret), cipher("secretbox", b=secret), resources="[Secrets, '*']")
    with pytest.raises(ConfigError) as e:
        parse_config(text)
    assert str(e.value).count("Invalid value") == 5
    assert secret not in str(e.value)
    rules = parse_config(config(cipher("aescbc", a=ONE)))
    assert ONE not in repr(rules)
    assert repr(base64.b64decode(ONE)) not in repr(rules)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.yaml"):
        Encryption(tmp_path / "nowhere.yaml")


def test_a_changed_file_is_taken_over_and_a_faulty_one_is_not(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        clock = ManualClock()
        made = encryption(tmp_path, config(cipher("aesgcm", key1=ONE), IDENTITY), reload=True, clock=clock)
        await made.start()
        path = tmp_path / "encryption.yaml"
        transformer = made.transformer(SECRETS)
        old = transformer.to_storage(b"x", CONTEXT)
        path.write_text(config(cipher("aesgcm", key1="broken")))
        with caplog.at_level(logging.ERROR):
            await clock.advance(60)
        assert "the encryption configuration stays as it was" in caplog.text
        assert transformer.from_storage(old, CONTEXT) == (b"x", False)
        path.write_text(config(cipher("aesgcm", key2=TWO, key1=ONE), IDENTITY))
        await clock.advance(60)
        assert transformer.to_storage(b"x", CONTEXT).startswith(b"k8s:enc:aesgcm:v1:key2:")
        assert transformer.from_storage(old, CONTEXT) == (b"x", True)
        await clock.advance(60)
        await made.close()

    asyncio.run(run())


def secret(name: str, **data: str) -> Object:
    return {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": name, "namespace": "a"}, "data": data}


def open_store(kv: MemoryKV, made: Encryption) -> Store:
    codec = JsonCodec(GroupVersionKind("", "v1", "Secret"))
    return Store(kv, codec, "/registry/secrets", transformer=made.transformer(SECRETS))


def test_objects_are_encrypted_in_the_store_and_a_rewrite_renews_them(tmp_path: Path) -> None:
    async def run() -> None:
        kv = MemoryKV()
        plain = Store(kv, JsonCodec(GroupVersionKind("", "v1", "Secret")), "/registry/secrets")
        await plain.create("/registry/secrets/a/old", secret("old", k="dG9w"))
        first = Cacher(open_store(kv, encryption(tmp_path, config(cipher("aesgcm", key1=ONE), IDENTITY))))
        await first.create("/registry/secrets/a/x", secret("x", k="dG9w"))
        raw = (await kv.get(b"/registry/secrets/a/x")).kv
        assert raw is not None
        assert raw.value.startswith(b"k8s:enc:aesgcm:v1:key1:")
        assert b"dG9w" not in raw.value
        assert len((await first.get_list("/registry/secrets/", ListOptions())).items) == 2
        second = Cacher(
            open_store(
                kv, encryption(tmp_path, config(cipher("secretbox", key2=TWO), cipher("aesgcm", key1=ONE), IDENTITY))
            )
        )
        for name in ("old", "x"):
            key = f"/registry/secrets/a/{name}"
            before = await second.get(key)
            after = await second.guaranteed_update(key, lambda stored: stored.data())  # type: ignore[union-attr]
            assert after.resource_version > before.resource_version
            raw = (await kv.get(key.encode())).kv
            assert raw is not None
            assert raw.value.startswith(b"k8s:enc:secretbox:v1:key2:")
            same = await second.guaranteed_update(key, lambda stored: stored.data())  # type: ignore[union-attr]
            assert same.resource_version == after.resource_version
        third = open_store(kv, encryption(tmp_path, config(cipher("aesgcm", key3=TWO))))
        with pytest.raises(CorruptObject, match="no matching prefix found") as e:
            await third.get("/registry/secrets/a/x")
        assert e.value.key == "/registry/secrets/a/x"
        await first.close()
        await second.close()
        await kv.close()

    asyncio.run(run())

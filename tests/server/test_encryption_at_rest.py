"""Encryption at rest in a whole server: what lies in the file, rotation, reload, key management, wrong keys."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from stored_values import value
from tests.waiting import eventually

from watchkeeper.meta.gvk import GroupResource
from watchkeeper.server.errors import StartupError
from watchkeeper.storage.value.encryption import Encryption
from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle, RequestFailed
from watchkeeper.testing.kms_plugin import Plugin

ONE, TWO = (base64.b64encode(bytes([n]) * 32).decode() for n in (1, 2))
SECRETS = "/api/v1/namespaces/default/secrets"
PLAIN = base64.b64encode(b"correct horse battery staple").decode()


def cipher(kind: str, name: str, secret: str) -> str:
    return f"{{{kind}: {{keys: [{{name: {name}, secret: {secret}}}]}}}}"


def kms(plugin: Plugin) -> str:
    return f"{{kms: {{apiVersion: v2, name: vault, endpoint: '{plugin.endpoint}', timeout: 3s}}}}"


def write_config(path: Path, *providers: str, resources: str = "[secrets]") -> Path:
    path.write_text(
        "{apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: "
        f"[{{resources: {resources}, providers: [{', '.join(providers)}]}}]}}"
    )
    return path


def serving(tmp_path: Path, **options: Any) -> Server:
    return Server(storage=f"sqlite:{tmp_path / 'db'}", insecure_http=True, controllers=(), **options)


def secret(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": {"k": PLAIN}}


def stored(tmp_path: Path, key: str) -> bytes:
    return value(tmp_path / "db", key)


def health(handle: Handle, name: str) -> str:
    request = urllib.request.Request(
        f"{handle.url}/healthz/{name}", headers={"Authorization": f"Bearer {handle.token}"}
    )
    try:
        with urllib.request.urlopen(request) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        return error.read().decode()


def test_a_secret_is_not_in_clear_in_the_file_and_is_read_listed_and_watched_as_ever(tmp_path: Path) -> None:
    config = write_config(tmp_path / "config", cipher("aesgcm", "key1", ONE), "{identity: {}}")
    with serving(tmp_path, encryption_provider_config=config) as server:
        made = server.request("POST", SECRETS, secret("mine"))
        server.request(
            "POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "open"}, "data": {"k": PLAIN}}
        )
        assert server.request("GET", f"{SECRETS}/mine")["data"] == {"k": PLAIN}
        assert [item["metadata"]["name"] for item in server.request("GET", SECRETS)["items"]] == ["mine"]
        server.request("DELETE", f"{SECRETS}/mine")
        since = int(made["metadata"]["resourceVersion"]) - 1
        path = f"{SECRETS}?watch=true&timeoutSeconds=1&resourceVersion={since}"
        events = watch(server, path)
        assert [event["type"] for event in events] == ["ADDED", "DELETED"]
        assert events[1]["object"]["data"] == {"k": PLAIN}
        server.request("POST", SECRETS, secret("again"))
    assert stored(tmp_path, "/registry/secrets/default/again").startswith(b"k8s:enc:aesgcm:v1:key1:")
    everything = b"".join(p.read_bytes() for p in tmp_path.glob("db*"))
    assert everything.count(PLAIN.encode()) == everything.count(b'"name":"open"') >= 1  # that of the ConfigMap
    with serving(tmp_path, encryption_provider_config=config) as server:
        assert server.request("GET", f"{SECRETS}/again")["data"] == {"k": PLAIN}


def watch(handle: Handle, path: str) -> list[dict[str, Any]]:
    request = urllib.request.Request(handle.url + path, headers={"Authorization": f"Bearer {handle.token}"})
    with urllib.request.urlopen(request) as answer:
        return [json.loads(line) for line in answer]


def test_custom_resources_and_everything_else_are_covered_by_wildcards(tmp_path: Path) -> None:
    config = write_config(
        tmp_path / "config", cipher("secretbox", "key1", ONE), resources="['*.shop.example.com', '*.apps']"
    )
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "carts.shop.example.com"},
        "spec": {
            "group": "shop.example.com",
            "names": {"plural": "carts", "singular": "cart", "kind": "Cart", "listKind": "CartList"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                }
            ],
        },
    }
    carts = "/apis/shop.example.com/v1/namespaces/default/carts"
    with serving(tmp_path, encryption_provider_config=config) as server:
        server.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
        eventually(lambda: answers(server, carts))
        cart = {"apiVersion": "shop.example.com/v1", "kind": "Cart", "metadata": {"name": "mine"}, "spec": {"k": PLAIN}}
        server.request("POST", carts, cart)
        assert server.request("GET", f"{carts}/mine")["spec"] == {"k": PLAIN}
        server.request("POST", SECRETS, secret("open"))
    raw = stored(tmp_path, "/registry/shop.example.com/carts/default/mine")
    assert raw.startswith(b"k8s:enc:secretbox:v1:key1:")
    assert PLAIN.encode() not in raw
    assert PLAIN.encode() in stored(tmp_path, "/registry/secrets/default/open")


def answers(handle: Handle, path: str) -> bool:
    try:
        handle.request("GET", path)
    except RequestFailed:
        return False
    return True


def test_a_rewrite_that_changes_nothing_encrypts_with_the_new_key_once(tmp_path: Path) -> None:
    old = write_config(tmp_path / "old", cipher("aescbc", "key1", ONE), "{identity: {}}")
    new = write_config(tmp_path / "new", cipher("secretbox", "key2", TWO), cipher("aescbc", "key1", ONE))
    key = "/registry/secrets/default/mine"
    with serving(tmp_path, encryption_provider_config=old) as server:
        server.request("POST", SECRETS, secret("mine"))
    assert stored(tmp_path, key).startswith(b"k8s:enc:aescbc:v1:key1:")
    with serving(tmp_path, encryption_provider_config=new) as server:
        found = server.request("GET", f"{SECRETS}/mine")
        rewritten = server.request("PUT", f"{SECRETS}/mine", found)
        assert rewritten["metadata"]["resourceVersion"] != found["metadata"]["resourceVersion"]
        assert rewritten["data"] == found["data"]
        again = server.request("PUT", f"{SECRETS}/mine", rewritten)
        assert again["metadata"]["resourceVersion"] == rewritten["metadata"]["resourceVersion"]
    assert stored(tmp_path, key).startswith(b"k8s:enc:secretbox:v1:key2:")


def test_a_changed_file_takes_effect_while_the_server_runs(tmp_path: Path) -> None:
    config = write_config(tmp_path / "config", "{identity: {}}")
    with serving(
        tmp_path, encryption_provider_config=config, encryption_provider_config_automatic_reload=True
    ) as server:
        server.request("POST", SECRETS, secret("mine"))
        key = "/registry/secrets/default/mine"
        assert PLAIN.encode() in stored(tmp_path, key)
        write_config(config, cipher("aesgcm", "key1", ONE), "{identity: {}}")

        def rewritten() -> bool:
            server.request("PUT", f"{SECRETS}/mine", server.request("GET", f"{SECRETS}/mine"))
            return stored(tmp_path, key).startswith(b"k8s:enc:aesgcm:v1:key1:")

        eventually(rewritten)
        assert server.request("GET", f"{SECRETS}/mine")["data"] == {"k": PLAIN}
        assert health(server, "kms-providers") == "ok"


def test_keys_that_do_not_fit_keep_the_server_from_starting_with_one_line(tmp_path: Path) -> None:
    right = write_config(tmp_path / "right", cipher("aesgcm", "key1", ONE))
    wrong = write_config(tmp_path / "wrong", cipher("aesgcm", "key1", TWO))
    with serving(tmp_path, encryption_provider_config=right) as server:
        server.request("POST", SECRETS, secret("mine"))
    with pytest.raises(StartupError) as caught:
        serving(tmp_path, encryption_provider_config=wrong).start()
    text = str(caught.value)
    assert "secrets cannot be read with the keys of the encryption configuration" in text
    assert "/registry/secrets/default/mine" in text
    assert "\n" not in text
    assert ONE not in text
    assert TWO not in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("{kind: Secret}", "expected kind EncryptionConfiguration"),
    ],
)
def test_a_faulty_configuration_keeps_the_server_from_starting(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "config").write_text(text)
    with pytest.raises(StartupError, match=message):
        serving(tmp_path, encryption_provider_config=tmp_path / "config").start()
    with pytest.raises(StartupError, match="must be set with --encryption-provider-config"):
        serving(tmp_path, encryption_provider_config_automatic_reload=True).start()


def test_no_key_and_no_secret_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = write_config(tmp_path / "config", cipher("aesgcm", "key1", ONE), "{identity: {}}")
    with (
        caplog.at_level(logging.DEBUG),
        serving(
            tmp_path, encryption_provider_config=config, encryption_provider_config_automatic_reload=True
        ) as server,
    ):
        server.request("POST", SECRETS, secret("mine"))
        write_config(config, cipher("aesgcm", "key2", TWO))
        eventually(lambda: "the encryption configuration was reloaded" in caplog.text)
        config.write_text("{kind: Secret, key: " + TWO + "}")
        eventually(lambda: "the encryption configuration stays as it was" in caplog.text)
    for word in (ONE, TWO, PLAIN, "correct horse"):
        assert word not in caplog.text


@contextmanager
def plugin_running(socket: Path) -> Iterator[Plugin]:
    """A key management plugin on a loop of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    plugin = Plugin(socket)
    asyncio.run_coroutine_threadsafe(plugin.start(), loop).result(10)
    try:
        yield plugin
    finally:
        asyncio.run_coroutine_threadsafe(plugin.stop(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def test_a_plugin_manages_the_keys_and_its_health_shows(tmp_path: Path) -> None:
    with plugin_running(tmp_path / "kms.sock") as plugin:
        config = write_config(tmp_path / "config", kms(plugin))
        with serving(tmp_path, encryption_provider_config=config) as server:
            server.request("POST", SECRETS, secret("mine"))
            assert health(server, "kms-providers") == "ok"
        assert stored(tmp_path, "/registry/secrets/default/mine").startswith(b"k8s:enc:kms:v2:vault:")
        plugin.calls.clear()
        with serving(tmp_path, encryption_provider_config=config) as server:
            assert server.request("GET", f"{SECRETS}/mine")["data"] == {"k": PLAIN}
            assert len(server.request("GET", SECRETS)["items"]) == 1
            assert plugin.calls.count("Decrypt") == 1
        plugin.fail = True
        with serving(tmp_path, encryption_provider_config=config) as server:
            assert "the vault is sealed" in health(server, "kms-providers")
            with pytest.raises(RequestFailed) as caught:
                server.request("GET", f"{SECRETS}/mine")
            assert caught.value.status in (500, 504)


def test_values_are_bound_to_their_whole_key_as_kube_apiserver_binds_them(tmp_path: Path) -> None:
    """The vectors were made with AES-GCM by hand: key 1, a nonce of zeros, the etcd key as authenticated data."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    encryption = Encryption(write_config(tmp_path / "config", cipher("aesgcm", "key1", ONE)))
    transformer = encryption.transformer(GroupResource("", "secrets"))
    key = b"/registry/secrets/default/mine"
    sealed = AESGCM(bytes([1]) * 32).encrypt(bytes(12), b"k8s\0rest", key)
    assert transformer.from_storage(b"k8s:enc:aesgcm:v1:key1:" + bytes(12) + sealed, key) == (b"k8s\0rest", False)
    ours = transformer.to_storage(b"{}", key).removeprefix(b"k8s:enc:aesgcm:v1:key1:")
    assert AESGCM(bytes([1]) * 32).decrypt(ours[:12], ours[12:], key) == b"{}"

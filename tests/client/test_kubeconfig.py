"""Kubeconfig files, and what a pod is given."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from watchkeeper.client.errors import ConfigError
from watchkeeper.client.kubeconfig import in_cluster, load_config, load_kubeconfig
from watchkeeper.client.rest import RestClient
from watchkeeper.testing import Server


def write(path: Path, **changes: Any) -> Path:
    content = {
        "current-context": "one",
        "contexts": [
            {"name": "one", "context": {"cluster": "here", "user": "me", "namespace": "mine"}},
            {"name": "two", "context": {"cluster": "there", "user": "other"}},
        ],
        "clusters": [
            {"name": "here", "cluster": {"server": "http://127.0.0.1:1/"}},
            {"name": "there", "cluster": {"server": "http://127.0.0.1:2"}},
        ],
        "users": [
            {"name": "me", "user": {"token": "secret", "as": "you"}},
            {"name": "other", "user": {"tokenFile": "token", "username": "u", "password": "p"}},
        ],
        **changes,
    }
    path.write_text(yaml.safe_dump(content))
    return path


def test_a_context_says_which_server_and_who_asks(tmp_path: Path) -> None:
    path = write(tmp_path / "config")
    one = load_config(path)
    assert (one.url, one.token, one.namespace) == ("http://127.0.0.1:1", "secret", "mine")
    assert one.headers == {"Impersonate-User": "you"}
    two = load_config(path, "two")
    assert (two.url, two.namespace, two.basic) == ("http://127.0.0.1:2", "default", ("u", "p"))
    (tmp_path / "token").write_text("from a file\n")
    assert two.bearer_token() == "from a file"
    assert "secret" not in repr(one)


def test_files_are_merged_and_the_first_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = tmp_path / "first"
    first.write_text(yaml.safe_dump({"current-context": "two", "users": [{"name": "other", "user": {"token": "x"}}]}))
    second = write(tmp_path / "second")
    assert load_kubeconfig([first, second]).token == "x"
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'missing'}:{first}:{second}")
    assert load_config().url == "http://127.0.0.1:2"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"current-context": ""}, "no current-context"),
        ({"current-context": "three"}, "no context 'three'"),
        ({"clusters": []}, "no cluster 'here'"),
        ({"users": []}, "no user 'me'"),
        ({"clusters": [{"name": "here", "cluster": {}}]}, "no server"),
        ({"users": [{"name": "me", "user": {"exec": {"command": "x"}}}]}, "exec are not supported"),
        (
            {"clusters": [{"name": "here", "cluster": {"server": "https://x", "certificate-authority-data": "?"}}]},
            "certificate-authority-data",
        ),
        (
            {"clusters": [{"name": "here", "cluster": {"server": "https://x", "certificate-authority": "none"}}]},
            "No such file",
        ),
        (
            {
                "clusters": [
                    {
                        "name": "here",
                        "cluster": {
                            "server": "https://x",
                            "certificate-authority-data": base64.b64encode(b"x").decode(),
                        },
                    }
                ]
            },
            "cannot be used",
        ),
    ],
)
def test_what_cannot_be_used_is_told(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        load_config(write(tmp_path / "config", **changes))


def test_files_that_are_no_kubeconfig_are_told(tmp_path: Path) -> None:
    for text, words in (("[]", "no kubeconfig"), ("a: [", "config"), (None, "No such file")):
        path = tmp_path / "config"
        path.unlink(missing_ok=True)
        if text is not None:
            path.write_text(text)
        with pytest.raises(ConfigError, match=words):
            load_config(path)


def test_a_pod_is_told_by_its_environment(tmp_path: Path) -> None:
    environment = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    with pytest.raises(ConfigError, match="no service account token"):
        in_cluster(environment, tmp_path)
    (tmp_path / "token").write_text("t")
    (tmp_path / "namespace").write_text("here\n")
    config = in_cluster(environment, tmp_path)
    assert (config.url, config.bearer_token(), config.namespace) == ("https://10.0.0.1:443", "t", "here")
    assert in_cluster({**environment, "KUBERNETES_SERVICE_HOST": "fd00::1"}, tmp_path).url == "https://[fd00::1]:443"
    with pytest.raises(ConfigError, match="no pod"):
        in_cluster({}, tmp_path)


def test_a_servers_own_kubeconfig_works_over_tls_and_a_socket(tmp_path: Path) -> None:
    async def version(config: Any) -> Any:
        async with RestClient(config) as rest:
            return (await rest.request("GET", "/version"))["major"]

    with Server() as server:
        config = load_config(server.kubeconfig)
        assert config.url.startswith("https://")
        assert asyncio.run(version(config)) == "1"


@pytest.mark.parametrize("extra", [{"as-groups": ["g"]}, {"as-user-extra": {"k": ["v"]}}])
def test_impersonation_is_never_done_by_half(tmp_path: Path, extra: dict[str, object]) -> None:
    path = write(tmp_path / "config", users=[{"name": "me", "user": {"token": "t", "as": "you", **extra}}])
    with pytest.raises(ConfigError, match="impersonation with as-"):
        load_config(path)


def test_the_uid_of_whoever_is_impersonated_is_sent(tmp_path: Path) -> None:
    path = write(tmp_path / "config", users=[{"name": "me", "user": {"token": "t", "as": "you", "as-uid": "1"}}])
    assert load_config(path).headers == {"Impersonate-User": "you", "Impersonate-Uid": "1"}

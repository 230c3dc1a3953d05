"""What the options say about storage: which backends there are, what lives where, and what cannot be meant."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from stored_values import value
from tests.waiting import eventually

from watchkeeper.kv.sqlite import store
from watchkeeper.kv.sqlite.files import open_file
from watchkeeper.server.errors import StartupError
from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle

EVENT = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "e"},
    "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
}


def serving(**options: Any) -> Server:
    return Server(insecure_http=True, controllers=(), **options)


def text(server: Handle, path: str) -> str:
    request = urllib.request.Request(server.url + path, headers={"Authorization": f"Bearer {server.token}"})
    with urllib.request.urlopen(request) as answer:
        return str(answer.read().decode())


def test_a_resource_may_have_a_store_of_its_own_whoever_serves_it(tmp_path: Path) -> None:
    options = {
        "storage": f"sqlite:{tmp_path / 'main'}",
        "etcd_servers_overrides": (f"/events#sqlite:{tmp_path / 'events'}", "coordination.k8s.io/leases#memory:"),
    }
    with serving(**options) as server:
        server.request("POST", "/api/v1/namespaces/default/events", EVENT)
        assert server.request("GET", "/apis/events.k8s.io/v1/namespaces/default/events/e")["metadata"]["name"] == "e"
        lease = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}}
        server.request("POST", "/apis/coordination.k8s.io/v1/namespaces/default/leases", lease)
        checks = text(server, "/healthz?verbose")
        for name in ("etcd", "etcd-override-0", "etcd-override-1"):
            assert f"[+]{name} ok" in checks
            assert text(server, f"/healthz/{name}") == "ok"
        checks = text(server, "/readyz?verbose&exclude=etcd-readiness&exclude=etcd-override-0")
        assert "[+]etcd-readiness excluded: ok" in checks
        assert "[+]etcd-override-readiness-0 excluded with etcd-readiness: ok" in checks
        assert "[+]etcd-override-0 excluded: ok" in checks
        assert "[+]etcd-override-1 ok" in checks
        sizes = [line for line in text(server, "/metrics").splitlines() if line.startswith("apiserver_storage_size")]
        assert len(sizes) == 3
    assert b'"name":"e"' in value(tmp_path / "events", "/registry/events/default/e")
    with pytest.raises(ValueError, match="not enough values"):
        value(tmp_path / "main", "/registry/events/default/e")
    with serving(**options) as server:
        assert len(server.request("GET", "/api/v1/events")["items"]) == 1
        assert server.request("GET", "/apis/coordination.k8s.io/v1/leases")["items"] == []


def test_all_keys_begin_with_the_prefix(tmp_path: Path) -> None:
    with serving(storage=f"sqlite:{tmp_path / 'db'}", etcd_prefix="/clusters/one/") as server:
        server.request("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "c"}})
        service = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
        server.request("POST", "/api/v1/namespaces/default/services", service)
    for key in ("/configmaps/default/c", "/services/specs/default/s", "/namespaces/default"):
        assert value(tmp_path / "db", f"/clusters/one{key}").startswith(b'{"kind":')
    with serving(storage=f"sqlite:{tmp_path / 'db'}") as server:
        assert server.request("GET", "/api/v1/namespaces/default/configmaps")["items"] == []


def test_events_go_when_their_time_is_over() -> None:
    with serving(event_ttl=1.0) as server:
        events = "/api/v1/namespaces/default/events"
        server.request("POST", events, EVENT)
        server.request("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "c"}})
        eventually(lambda: not server.request("GET", events)["items"])
        assert len(server.request("GET", "/api/v1/namespaces/default/configmaps")["items"]) == 1


@pytest.mark.parametrize("options", [{"watch_cache": False}, {"watch_cache_sizes": ("configmaps#0", "events#10")}])
def test_a_server_works_without_caches(options: dict[str, Any]) -> None:
    maps = "/api/v1/namespaces/default/configmaps"
    with serving(**options) as server:
        made = server.request("POST", maps, {"metadata": {"name": "c"}, "data": {"a": "1"}})
        server.request("PUT", f"{maps}/c", {**made, "data": {"a": "2"}})
        server.request("DELETE", f"{maps}/c")
        assert server.request("GET", maps)["items"] == []
        version = int(made["metadata"]["resourceVersion"]) - 1
        lines = text(server, f"{maps}?watch=true&timeoutSeconds=1&resourceVersion={version}").splitlines()
        assert [json.loads(line)["type"] for line in lines] == ["ADDED", "MODIFIED", "DELETED"]
        caches = text(server, "/metrics")
        assert 'apiserver_watch_cache_resource_version{group="",resource="configmaps"}' not in caches


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"storage_backend": "etcd2"}, "etcd2 is no longer a supported storage backend"),
        ({"watch_cache_sizes": ("pods",)}, "invalid value of watch cache size: pods"),
        ({"watch_cache_sizes": ("pods#x",)}, "invalid size of watch cache size: pods#x"),
        ({"watch_cache_sizes": ("pods#-1",)}, "watch cache size cannot be negative: pods#-1"),
        ({"event_ttl": 0.5}, "--event-ttl 0.5 is less than a second"),
        ({"storage_backend": "files"}, "unknown storage type: files"),
        ({"storage_backend": "etcd3"}, "--storage-backend etcd3 does not go with --storage memory:"),
        ({"etcd_servers_overrides": ("events#http://h:1",)}, "--etcd-servers-overrides invalid, must be of format"),
        ({"etcd_servers_overrides": ("/events#sqlite:/proc/nowhere/db",)}, "/proc/nowhere"),
    ],
)
def test_what_cannot_be_meant_is_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(StartupError) as caught:
        serving(**options).start()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_writes_wait_for_the_disk_unless_told_otherwise(tmp_path, monkeypatch):
    levels = []

    def opened(*arguments: Any) -> Any:
        file = open_file(*arguments)
        levels.extend(file.connection.execute("PRAGMA synchronous").fetchone())
        return file

    monkeypatch.setattr(store, "open_file", opened)
    for unsafe in (False, True):
        with serving(storage=f"sqlite:{tmp_path / str(unsafe)}.db", unsafe_no_fsync=unsafe):
            pass
    assert levels == [2, 0]

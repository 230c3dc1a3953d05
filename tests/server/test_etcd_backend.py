"""etcd behind a server: how it is named, what is said when it cannot be used, and where objects lie in it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from watchkeeper.kv.etcd import EtcdConfig, open_etcd
from watchkeeper.server.arguments import serve_options
from watchkeeper.server.backend import etcd_config
from watchkeeper.server.cli import parser
from watchkeeper.server.durations import seconds
from watchkeeper.server.errors import StartupError
from watchkeeper.server.options import ServeOptions
from watchkeeper.testing.etcd import EtcdCluster, find_etcd, running_cluster
from watchkeeper.testing.etcd_shared import run, shared_cluster
from watchkeeper.testing.handle import Handle, RequestFailed
from watchkeeper.testing.server_process import ServerProcess

Object = dict[str, Any]


def needs_etcd(test: Any) -> Any:
    """Mark a test that has to be left out where there is no etcd."""
    return pytest.mark.etcd(pytest.mark.skipif(find_etcd() is None, reason="there is no etcd here")(test))


def parse(*arguments: str, **environ: str) -> ServeOptions:
    return serve_options(parser(environ).parse_args(["serve", *arguments]))


# Options


def test_options_are_those_of_kube_apiserver_and_may_stand_in_the_environment() -> None:
    given = parse(
        "--etcd-servers=https://one:2379,https://two:2379", "--etcd-compaction-interval=5m0s",
        WATCHKEEPER_ETCD_CAFILE="/ca", WATCHKEEPER_ETCD_HEALTHCHECK_TIMEOUT="1500ms",
    )  # fmt: skip
    assert given.storage == "https://one:2379,https://two:2379"
    assert given.compaction_interval == 300
    assert given.etcd_cafile == Path("/ca")
    assert given.etcd_healthcheck_timeout == 1.5
    assert parse(WATCHKEEPER_ETCD_COMPACTION_INTERVAL="60").compaction_interval == 60
    config = etcd_config(given.storage, given)
    assert [(endpoint.target, endpoint.tls) for endpoint in config.parsed()] == [("one:2379", True), ("two:2379", True)]


def test_spans_of_time_are_seconds_or_as_go_writes_them() -> None:
    given = ["0", "2.5", "1h30m", "5m0s", "250ms", " 3s "]
    assert [seconds(text) for text in given] == [0, 2.5, 5400, 300, 0.25, 3]
    for text in ("", "5x", "m", "-1", "-3s", "nan", "inf"):
        with pytest.raises(ValueError, match="no span of time"):
            seconds(text)


def test_endpoints_without_a_scheme_speak_tls_when_there_are_certificates(tmp_path: Path) -> None:
    plain = ServeOptions(data_dir=tmp_path, storage="etcd://one:1, two:2")
    assert [endpoint.tls for endpoint in etcd_config(plain.storage, plain).parsed()] == [False, False]
    secure = ServeOptions(data_dir=tmp_path, storage="etcd://one:1", etcd_cafile=Path("/ca"))
    assert [endpoint.tls for endpoint in etcd_config(secure.storage, secure).parsed()] == [True]


def test_a_password_comes_from_a_file_or_the_environment_and_is_never_shown(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        parse("--etcd-username=root", "--etcd-password=secret")
    given = parse("--etcd-username=root", WATCHKEEPER_ETCD_PASSWORD="secret")
    config = etcd_config("etcd://one:1", given)
    assert (config.username, config.password) == ("root", "secret")
    assert "secret" not in repr(given) + repr(config)
    file = tmp_path / "password"
    file.write_text("from the file\n")
    given = parse("--etcd-username=root", f"--etcd-password-file={file}", WATCHKEEPER_ETCD_PASSWORD="secret")
    assert etcd_config("etcd://one:1", given).password == "from the file"
    file.unlink()
    with pytest.raises(StartupError, match=r"--etcd-password-file .*: No such file or directory"):
        etcd_config("etcd://one:1", given)


def test_what_cannot_go_together_is_said(tmp_path: Path) -> None:
    for options, why in (
        ({"etcd_certfile": Path("/c")}, "--etcd-certfile and --etcd-keyfile go together"),
        ({"etcd_password": "p"}, "an etcd password needs --etcd-username"),
    ):
        with pytest.raises(StartupError, match=why):
            ServeOptions(data_dir=tmp_path, **options).check()  # type: ignore[arg-type]
    for url in ("etcd://", "etcd://host:port"):
        with pytest.raises(StartupError, match="--storage"):
            etcd_config(url, ServeOptions(data_dir=tmp_path))


# Starting


def start(tmp_path: Path, *arguments: str, **environ: str) -> tuple[int, str]:
    """A server that is not going to start: its exit code and the last line it says."""
    command = "import sys; from watchkeeper.server.cli import main; sys.exit(main())"
    fixed = ("serve", f"--data-dir={tmp_path}", "--port=0", "--etcd-start-timeout=1s", "--log-level=error")
    done = subprocess.run(
        [sys.executable, "-c", command, *fixed, *arguments],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    return done.returncode, done.stderr


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdCluster]:
    with running_cluster(tmp_path_factory.mktemp("etcd"), tls=True) as cluster:
        yield cluster


def test_an_etcd_that_is_not_there_is_waited_for_and_then_named(tmp_path: Path) -> None:
    code, said = start(tmp_path, "--storage=etcd://127.0.0.1:1")
    assert code == 1
    assert said.startswith("watchkeeper: etcd (127.0.0.1:1) cannot be reached within 1 s: ")
    assert "etcd 127.0.0.1:1: " in said  # and what came of the last attempt


@needs_etcd
def test_certificates_that_do_not_fit_are_said_to(secure: EtcdCluster, tmp_path: Path) -> None:
    folder = secure.certificates
    assert folder is not None
    storage = "--storage=" + secure.urls[0].replace("https", "etcd")
    client = (f"--etcd-certfile={folder / 'client.crt'}", f"--etcd-keyfile={folder / 'client.key'}")
    patient = "--etcd-start-timeout=4s"  # on a busy machine even a refusal takes a while
    code, said = start(tmp_path, patient, storage, *client, f"--etcd-cafile={folder / 'stranger.crt'}")
    assert code == 1
    assert "its certificate is of no authority that is trusted here: check the CA file" in said
    code, said = start(tmp_path, patient, storage, f"--etcd-cafile={folder / 'ca.crt'}")
    assert code == 1
    assert "wants a certificate of an authority that it trusts from this client" in said
    code, said = start(tmp_path, storage)
    assert "if it wants TLS, write https://HOST:PORT or give --etcd-cafile" in said


@needs_etcd
def test_a_password_is_used_and_a_wrong_one_refused(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> None:
    with running_cluster(tmp_path_factory.mktemp("etcd")) as cluster:
        etcdctl = cluster.program.with_name("etcdctl")
        if not etcdctl.exists():
            pytest.skip("no etcdctl beside etcd")
        for line in (
            "user add root:right",
            "user grant-role root root",
            "user add limited:right",
            "role add ours",
            "role grant-permission ours --prefix=true readwrite /registry/",
            "role grant-permission ours readwrite compact_rev_key",
            "user grant-role limited ours",
            "auth enable",
        ):
            command = [etcdctl, f"--endpoints={cluster.urls[0]}", *line.split()]
            subprocess.run(command, check=True, capture_output=True, env={"ETCDCTL_API": "3"})
        storage = cluster.urls[0].replace("http", "etcd")
        code, said = start(tmp_path, f"--storage={storage}", "--etcd-username=root", WATCHKEEPER_ETCD_PASSWORD="wrong")
        assert code == 1
        assert "authentication failed: check username and password" in said
        assert "wrong" not in said.replace("wrong user", "")
        file = tmp_path / "password"
        file.write_text("right\n")
        with ServerProcess(storage=storage, etcd_username="limited", etcd_password_file=file) as server:
            maps = "/api/v1/namespaces/default/configmaps"
            server.request("POST", maps, {"metadata": {"name": "made"}})
            assert [item["metadata"]["name"] for item in server.request("GET", maps)["items"]] == ["made"]


# Running


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with ServerProcess(storage=shared_cluster().urls[0], etcd_prefix="layout") as handle:
        yield handle


def keys_under(prefix: str) -> dict[str, Object]:
    async def read() -> dict[str, Object]:
        kv = open_etcd(EtcdConfig(shared_cluster().urls))
        found = await kv.range(prefix.encode(), prefix.encode() + b"\xff")
        await kv.close()
        return {each.key.decode(): json.loads(each.value) for each in found.kvs}

    return run(read())


@needs_etcd
def test_what_is_asked_of_etcd_is_measured(server: Handle) -> None:
    maps = "/api/v1/namespaces/default/configmaps"
    server.request("POST", maps, {"metadata": {"name": "measured"}})
    server.request("PATCH", f"{maps}/measured", {"data": {"a": "b"}})
    server.request("GET", f"{maps}/measured")
    server.request("DELETE", f"{maps}/measured")
    lines = server.request("GET", "/metrics").splitlines()
    for operation in ("create", "update", "delete"):
        labels = f'operation="{operation}",group="",resource="configmaps"'
        [total] = [line for line in lines if line.startswith(f"etcd_requests_total{{{labels}}}")]
        [count] = [line for line in lines if line.startswith(f"etcd_request_duration_seconds_count{{{labels}}}")]
        assert int(total.rpartition(" ")[2]) == int(count.rpartition(" ")[2]) >= 1
    assert not [line for line in lines if line.startswith("etcd_request_errors_total{") and "configmaps" in line]


@needs_etcd
def test_objects_lie_where_kube_apiserver_would_look_for_them(server: Handle) -> None:
    def create(path: str, kind: str, name: str, **fields: Any) -> None:
        group = path.split("/")[1:3] if path.startswith("/api/") else path.split("/")[2:4]
        version = "v1" if group[0] == "api" else "/".join(group)
        server.request("POST", path, {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields})

    default = "namespaces/default"
    create("/api/v1/nodes", "Node", "n1")
    create(f"/api/v1/{default}/pods", "Pod", "p", spec={"containers": [{"name": "c", "image": "i"}]})
    create(f"/api/v1/{default}/services", "Service", "s", spec={"ports": [{"port": 80}]})
    create(f"/api/v1/{default}/endpoints", "Endpoints", "s")
    create(f"/apis/apps/v1/{default}/controllerrevisions", "ControllerRevision", "r", revision=1, data={})
    create(f"/apis/coordination.k8s.io/v1/{default}/leases", "Lease", "l")
    names = {"plural": "wheels", "singular": "wheel", "kind": "Wheel"}
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "layout.example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    create(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "CustomResourceDefinition",
        "wheels.layout.example.com",
        spec=spec,
    )
    deadline = time.monotonic() + 10
    while True:  # the kind is served a moment later
        try:
            create(f"/apis/layout.example.com/v1/{default}/wheels", "Wheel", "w")
            break
        except RequestFailed as error:
            assert error.status == 404 and time.monotonic() < deadline, error
    found = keys_under("/layout/")
    for key, kind in {
        "/layout/minions/n1": ("v1", "Node"),
        "/layout/pods/default/p": ("v1", "Pod"),
        "/layout/services/specs/default/s": ("v1", "Service"),
        "/layout/services/endpoints/default/s": ("v1", "Endpoints"),
        "/layout/controllerrevisions/default/r": ("apps/v1", "ControllerRevision"),
        "/layout/leases/default/l": ("coordination.k8s.io/v1", "Lease"),
        "/layout/namespaces/default": ("v1", "Namespace"),
        "/layout/clusterroles/cluster-admin": ("rbac.authorization.k8s.io/v1", "ClusterRole"),
        "/layout/apiextensions.k8s.io/customresourcedefinitions/wheels.layout.example.com": (
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
        ),
        "/layout/layout.example.com/wheels/default/w": ("layout.example.com/v1", "Wheel"),
    }.items():
        assert (found[key]["apiVersion"], found[key]["kind"]) == kind
        assert "resourceVersion" not in found[key]["metadata"]


@needs_etcd
def test_health_and_metrics_tell_of_etcd(server: Handle) -> None:
    def text(path: str) -> str:
        import urllib.request

        request = urllib.request.Request(server.url + path, headers={"Authorization": f"Bearer {server.token}"})
        with urllib.request.urlopen(request, timeout=10, context=server.ssl_context()) as answer:
            body: str = answer.read().decode()
            return body

    for path in ("/healthz/etcd", "/livez/etcd", "/readyz/etcd", "/readyz/etcd-readiness"):
        assert text(path) == "ok"
    assert "[+]etcd ok\n[+]etcd-readiness ok\n" in text("/readyz?verbose")
    assert 'apiserver_storage_size_bytes{storage_cluster_id="etcd"}' in text("/metrics")

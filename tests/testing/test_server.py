"""Servers for tests start, are reachable, keep apart and leave nothing behind."""

import asyncio
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from watchkeeper.server.errors import StartupError
from watchkeeper.testing import RequestFailed, Server, ServerProcess


def test_a_server_answers_while_its_block_lasts_and_leaves_nothing():
    before = {thread.name for thread in threading.enumerate()}
    with Server() as server:
        names = {item["metadata"]["name"] for item in server.request("GET", "/api/v1/namespaces")["items"]}
        assert names == {"default", "kube-node-lease", "kube-public", "kube-system"}
        directory = server.kubeconfig.parent
        assert directory.exists()
    assert not directory.exists()
    assert {thread.name for thread in threading.enumerate()} - before == set()


def test_a_server_serves_async_tests_too():
    async def run():
        async with Server() as server:
            answer = await asyncio.to_thread(server.request, "GET", "/version")
            return answer["major"]

    assert asyncio.run(run()) == "1"


@pytest.mark.parametrize("kind", [Server, ServerProcess])
def test_a_server_has_all_that_its_handle_has_while_it_runs(kind: type[Server] | type[ServerProcess]):
    server = kind()
    with pytest.raises(RuntimeError, match="is not running"):
        _ = server.url
    handle = server.start()
    try:
        with pytest.raises(RuntimeError, match="running already"):
            server.start()
        for name in ("url", "token", "kubeconfig", "ca_pem", "env"):
            assert getattr(server, name) == getattr(handle, name)
        assert server.ssl_context().get_ca_certs()
        with server.namespace() as name:
            partial = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
            found = server.request("GET", f"/api/v1/namespaces/{name}", headers=partial)
            assert found["kind"] == "PartialObjectMetadata"
    finally:
        server.stop()
    with pytest.raises(RuntimeError, match="is not running"):
        _ = server.kubeconfig


def test_an_answer_that_is_no_json_is_text():
    with Server() as server:
        assert server.request("GET", "/livez") == "ok"
        assert "apiserver_request_total" in server.request("GET", "/metrics")
        assert server.request("GET", "/openid/v1/jwks")["keys"]
        with pytest.raises(RequestFailed) as refused:
            server.request("GET", "/nothing")
        assert (refused.value.status, refused.value.answer) == (404, "404 page not found\n")


@pytest.mark.parametrize("kind", [Server, ServerProcess])
def test_a_start_that_nobody_waits_for_any_more_leaves_nothing(kind: type[Server] | type[ServerProcess]):
    class Observed(kind):
        def start(self):
            self.started = super().start()
            return self.started

    async def run():
        server = Observed()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01), server:
                pass
        return server

    server = asyncio.run(run())
    assert not server.started.kubeconfig.parent.exists()
    with pytest.raises(RuntimeError, match="is not running"):
        _ = server.url


def test_two_servers_share_nothing_but_their_authority():
    with Server() as one, Server() as other:
        assert one.url != other.url
        assert one.token != other.token
        assert one.ca_pem == other.ca_pem
        with one.namespace() as name:
            with pytest.raises(RequestFailed) as refused:
                other.request("GET", f"/api/v1/namespaces/{name}")
            assert refused.value.status == 404


def test_a_namespace_is_new_and_is_deleted_afterwards():
    with Server() as server:
        with server.namespace("mine") as name:
            assert name.startswith("mine-")
            assert server.request("GET", f"/api/v1/namespaces/{name}")["status"] == {"phase": "Active"}
        try:
            left = server.request("GET", f"/api/v1/namespaces/{name}")
        except RequestFailed as error:
            assert error.status == 404
        else:
            assert left["status"]["phase"] == "Terminating"


def test_a_server_that_cannot_start_says_why_also_when_its_loop_is_closed_already():
    class Late(Server):
        def stop(self) -> None:
            while self._loop is not None and not self._loop.is_closed():
                time.sleep(0.001)
            if self._thread is not None:
                self._thread.join()
                self._thread = threading.Thread(target=time.sleep, args=(0.2,))  # as one that has not quite ended
                self._thread.start()
            super().stop()

    with pytest.raises(StartupError, match="unknown storage type"):
        Late(storage_backend="files").start()


def test_a_server_that_cannot_start_says_why(tmp_path: Path):
    wrong = tmp_path / "tokens.csv"
    wrong.write_text("only-a-token\n")
    with pytest.raises(Exception, match="at least 3 columns"), Server(token_auth_file=wrong):
        pass


def test_what_a_server_is_reached_by_is_known_only_while_it_runs():
    server = Server()
    with pytest.raises(RuntimeError, match="not running"):
        _ = server.url
    with server:
        assert server.env == {"KUBECONFIG": str(server.kubeconfig)}
        assert server.url in repr(server)


def test_a_watch_without_a_timeout_lasts_as_long_as_the_server_says():
    with Server(min_request_timeout=0.2) as server:
        started = time.monotonic()
        request = urllib.request.Request(server.url + "/api/v1/namespaces?watch=1&resourceVersion=0")
        request.add_header("Authorization", f"Bearer {server.token}")
        with urllib.request.urlopen(request, context=server.ssl_context(), timeout=10) as watch:
            assert len(watch.read().splitlines()) == 4
        assert 0.2 <= time.monotonic() - started < 5

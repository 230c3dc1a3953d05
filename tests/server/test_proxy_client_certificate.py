"""The certificate that other API servers are shown."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from aggregated import (
    APISERVICES,
    SERVICES,
    api_service,
    condition,
    external_service,
    front_options,
    make_folder,
)
from telling_server import telling_server
from tests.waiting import eventually

from watchkeeper.server.errors import StartupError
from watchkeeper.server.options import ServeOptions
from watchkeeper.server.server import Server as BareServer
from watchkeeper.testing import Server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path)


def test_files_that_change_are_taken_over_if_they_go_together(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("watchkeeper.server.file_watch.LOOK_SECONDS", 0.05)
    certificate, key = folder / "client.crt", folder / "client.key"
    mine = certificate.read_bytes(), key.read_bytes()
    with telling_server(folder) as far, Server(**front_options(folder)) as front:

        def shown() -> str:
            far.shown.clear()
            front.request("GET", "/apis/far.io/v1/x")
            return far.shown[-1]

        front.request("POST", SERVICES, external_service())
        front.request("POST", APISERVICES, api_service(folder, far.port))
        eventually(lambda: condition(front)[0] == "True")
        assert shown() == "root"
        key.write_bytes((folder / "server.key").read_bytes())
        time.sleep(0.3)
        assert shown() == "root"
        certificate.write_bytes((folder / "server.crt").read_bytes())
        eventually(lambda: shown() == "etcd")
        certificate.write_bytes(mine[0])
        key.write_bytes(mine[1])
        eventually(lambda: shown() == "root")


def test_a_server_does_not_start_with_files_that_do_not_go_together(folder: Path, tmp_path: Path) -> None:
    mixed = {"proxy_client_cert_file": folder / "client.crt", "proxy_client_key_file": folder / "server.key"}
    options = ServeOptions(data_dir=tmp_path / "data", storage="memory:", port=0, **mixed)
    with pytest.raises(StartupError, match="--proxy-client-cert-file"):
        asyncio.run(BareServer(options).start())


def test_one_file_is_of_no_use_without_the_other(folder: Path) -> None:
    with pytest.raises(StartupError, match="go together"):
        ServeOptions(data_dir=folder, proxy_client_cert_file=folder / "client.crt").check()

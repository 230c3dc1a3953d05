"""Which requests need no credentials, where a file says so."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from watchkeeper.server.errors import StartupError
from watchkeeper.testing import Server

FILE = """
apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
anonymous:
  enabled: true
  conditions:
  - path: /livez
"""


def test_only_the_paths_of_the_file_need_no_credentials(tmp_path: Path) -> None:
    file = tmp_path / "authentication.yaml"
    file.write_text(FILE)
    with Server(insecure_http=True, controllers=(), authentication_config=file) as server:
        told = [httpx.get(server.url + path).status_code for path in ("/livez", "/livez/ping", "/healthz", "/api")]
        assert told == [200, 401, 401, 401]
        known = {"Authorization": f"Bearer {server.token}"}
        assert httpx.get(f"{server.url}/healthz", headers=known).status_code == 200
        assert httpx.get(f"{server.url}/livez", headers={"Authorization": "Bearer x"}).status_code == 401


def test_the_file_and_the_option_that_forbids_them_do_not_go_together(tmp_path: Path) -> None:
    file = tmp_path / "authentication.yaml"
    file.write_text(FILE)
    options = {"insecure_http": True, "controllers": (), "authentication_config": file, "anonymous_auth": False}
    with pytest.raises(StartupError, match="--no-anonymous-auth cannot be given"), Server(**options):
        pass
    file.write_text("kind: Other")
    del options["anonymous_auth"]
    with pytest.raises(StartupError, match="failed to load authentication configuration from file"), Server(**options):
        pass

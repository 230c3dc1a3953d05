"""A running server forgets its history, so that a database does not grow for ever."""

from __future__ import annotations

import time
from typing import Any

import pytest

from watchkeeper.server.errors import StartupError
from watchkeeper.server.options import ServeOptions
from watchkeeper.testing import RequestFailed, Server

PATH = "/api/v1/namespaces/default/configmaps"


def test_old_revisions_are_forgotten() -> None:
    with Server(compaction_interval=0.1) as server:
        made: Any = server.request("POST", PATH, {"metadata": {"name": "a"}, "data": {"k": "0"}})
        old = made["metadata"]["resourceVersion"]
        server.request("PUT", f"{PATH}/a", {"metadata": {"name": "a"}, "data": {"k": "1"}})
        exact = f"{PATH}?resourceVersion={old}&resourceVersionMatch=Exact"
        deadline = time.monotonic() + 20
        with pytest.raises(RequestFailed, match="Expired"):
            while time.monotonic() < deadline:
                server.request("GET", exact)
                time.sleep(0.05)
        now: Any = server.request("GET", f"{PATH}/a")
        assert now["data"] == {"k": "1"}


def test_a_negative_interval_is_refused(tmp_path: Any) -> None:
    with pytest.raises(StartupError, match="--compaction-interval -1 is negative"):
        ServeOptions(data_dir=tmp_path, compaction_interval=-1).check()

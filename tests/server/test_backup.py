"""`watchkeeper db backup` while a server writes: the copy is one state of the store."""

from __future__ import annotations

import threading
from pathlib import Path

from watchkeeper.server import cli
from watchkeeper.testing import Server

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def test_a_backup_taken_under_load_holds_a_prefix_of_what_was_acknowledged(tmp_path: Path) -> None:
    acknowledged: list[str] = []
    done = threading.Event()
    with Server(storage=f"sqlite:{tmp_path / 'db'}", insecure_http=True, controllers=()) as server:

        def write() -> None:
            while not done.is_set():
                name = f"c{len(acknowledged):05}"
                server.request("POST", CONFIG_MAPS, {"metadata": {"name": name}})
                acknowledged.append(name)
                done.wait(0.005)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            bounds = []
            for n in range(2):
                before = len(acknowledged)
                assert cli.main(["db", "backup", str(tmp_path / "db"), str(tmp_path / f"copy{n}")]) == 0
                bounds.append((before, len(acknowledged) + 1))
        finally:
            done.set()
            writer.join()
    for n, (least, most) in enumerate(bounds):
        assert cli.main(["db", "check", str(tmp_path / f"copy{n}")]) == 0
        with Server(storage=f"sqlite:{tmp_path / f'copy{n}'}", insecure_http=True, controllers=()) as server:
            names = [item["metadata"]["name"] for item in server.request("GET", CONFIG_MAPS)["items"]]
        assert names == [f"c{i:05}" for i in range(len(names))]
        assert least <= len(names) <= most

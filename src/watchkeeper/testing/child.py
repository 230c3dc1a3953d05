"""The process behind `ServerProcess`: serves until its standard input is closed."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys

from watchkeeper.server.arguments import add_serve_options, serve_options
from watchkeeper.server.errors import StartupError
from watchkeeper.server.logs import configure_logging
from watchkeeper.server.options import ServeOptions
from watchkeeper.server.process import event_loop
from watchkeeper.server.server import Server
from watchkeeper.testing.directory import TemporaryDirectory


def main() -> int:
    """Serve. Returns the exit code."""
    directory = TemporaryDirectory()
    try:
        parser = argparse.ArgumentParser()
        add_serve_options(parser, {})
        parser.set_defaults(data_dir=directory.path, storage="memory:", port=0, shutdown_grace=1.0, log_level="warning")
        options = serve_options(parser.parse_args())
        configure_logging(options.log_format, options.log_level)
        with asyncio.Runner(loop_factory=event_loop) as runner:
            runner.run(_serve(options))
    except StartupError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    finally:
        directory.remove()
    return 0


async def _serve(options: ServeOptions) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    # A terminal's Ctrl-C goes to the whole process group, but it is the parent that decides when this server ends.
    loop.add_signal_handler(signal.SIGINT, lambda: None)
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    server = Server(options)
    await server.start()
    told = {
        "url": server.urls[0],
        "token": server.credentials.admin_token,
        "kubeconfig": str(server.kubeconfig),
        "ca": server.credentials.ca_pem.decode(),
    }
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()
    loop.add_reader(sys.stdin.fileno(), _on_input, stop)
    await stop.wait()
    loop.remove_reader(sys.stdin.fileno())
    await server.stop()


def _on_input(stop: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 4096):
        stop.set()


if __name__ == "__main__":
    sys.exit(main())

"""The command `watchkeeper`. Each subcommand loads what it needs when it runs, so that all of them start fast."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from watchkeeper import __version__
from watchkeeper.server.arguments import UsageError, add_data_dir, add_serve_options, serve_options
from watchkeeper.server.errors import StartupError

EXIT_FAILED = 1
EXIT_USAGE = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line. Returns the exit code: 0 done, 1 failed (one line on standard error says why), 2 usage."""
    try:
        parsed = parser(os.environ).parse_args(argv)
        run: Callable[[argparse.Namespace], int] = parsed.run
        return run(parsed)
    except (StartupError, UsageError) as error:
        print(f"watchkeeper: {error}", file=sys.stderr)
        return EXIT_USAGE if isinstance(error, UsageError) else EXIT_FAILED
    except KeyboardInterrupt:
        return EXIT_FAILED


def parser(environ: Mapping[str, str]) -> argparse.ArgumentParser:
    """The parser of all subcommands. Raises UsageError for what stands in the environment and cannot be read."""
    top = argparse.ArgumentParser(prog="watchkeeper", description="A Kubernetes-compatible API server.")
    commands = top.add_subparsers(metavar="COMMAND", required=True)

    serve = commands.add_parser("serve", help="serve the API until told to stop")
    add_serve_options(serve, environ)
    serve.set_defaults(run=_serve)

    version = commands.add_parser("version", help="print the version and which Kubernetes is served")
    version.set_defaults(run=_version)

    kubeconfig = commands.add_parser("kubeconfig", help="print the kubeconfig that a server has written")
    add_data_dir(kubeconfig, environ)
    kubeconfig.set_defaults(run=_kubeconfig)

    _add_db(commands, environ)
    return top


def _add_db(commands: argparse._SubParsersAction[argparse.ArgumentParser], environ: Mapping[str, str]) -> None:
    db = commands.add_parser("db", help="look after a SQLite database whose server is stopped")
    actions = db.add_subparsers(metavar="ACTION", required=True)
    for name, text in (
        ("info", "tell its revision, its size and what it holds"),
        ("check", "read all of it and tell what is damaged"),
        ("compact", "forget history"),
        ("vacuum", "give free room back to the file system"),
        ("backup", "copy one state of it to a new file; the server may run"),
    ):
        action = actions.add_parser(name, help=text)
        add_data_dir(action, environ)
        action.add_argument("--file", type=Path, metavar="PATH", help="the database (default: in --data-dir)")
        if name == "compact":
            action.add_argument("--revision", type=int, default=0, help="keep history from here on (default: none)")
        if name == "backup":
            action.add_argument("target", type=Path, help="the file to write")
        action.set_defaults(run=_db, action=name)


def _serve(parsed: argparse.Namespace) -> int:
    options = serve_options(parsed)
    from watchkeeper.server.process import serve

    return serve(options)


def _version(parsed: argparse.Namespace) -> int:
    from watchkeeper.server.version import version_info

    info = version_info()
    print(f"watchkeeper {__version__} (Kubernetes {info['major']}.{info['minor']}, {info['goVersion']})")
    return 0


def _kubeconfig(parsed: argparse.Namespace) -> int:
    path: Path = parsed.data_dir / "kubeconfig"
    try:
        text = path.read_text()
    except OSError as error:
        raise StartupError(f"cannot read {path}: {error.strerror}; has a server been started there?") from error
    sys.stdout.write(text)
    return 0


def _db(parsed: argparse.Namespace) -> int:
    from watchkeeper.server.database import run_action

    path = parsed.file or parsed.data_dir / "watchkeeper.db"
    return run_action(
        parsed.action, path, revision=getattr(parsed, "revision", 0), target=getattr(parsed, "target", None)
    )

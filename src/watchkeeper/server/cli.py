"""The command `watchkeeper`. Each subcommand loads what it needs when it runs, so that all of them start fast."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from watchkeeper import __version__
from watchkeeper.server.arguments import (
    add_data_dir,
    add_serve_options,
    add_storage_options,
    serve_options,
    storage_options,
)
from watchkeeper.server.errors import StartupError
from watchkeeper.server.option_parsing import UsageError
from watchkeeper.server.output import write_out

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

EXIT_FAILED = 1
EXIT_USAGE = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line. Returns the exit code: 0 done, 1 failed (one line on standard error says why), 2 usage."""
    _keep_standard_streams()
    try:
        parsed = parser(os.environ).parse_args(argv)
        run: Callable[[argparse.Namespace], int] = parsed.run
        return run(parsed)
    except (StartupError, UsageError) as error:
        print(f"watchkeeper: {error}", file=sys.stderr)
        return EXIT_USAGE if isinstance(error, UsageError) else EXIT_FAILED
    except KeyboardInterrupt:
        return EXIT_FAILED


def _keep_standard_streams() -> None:
    """Whoever has closed them means nobody to read or write there: not the files and sockets opened next, either."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def parser(environ: Mapping[str, str]) -> argparse.ArgumentParser:
    """The parser of all subcommands. Raises UsageError for what stands in the environment and cannot be read."""
    top = _Parser(prog="watchkeeper", description="A Kubernetes-compatible API server.")
    top.add_argument("--version", action=_ShowVersion, nargs=0, help="the same as the command version")
    commands = top.add_subparsers(metavar="COMMAND", required=True)

    serve = commands.add_parser(
        "serve", help="serve the API until told to stop", usage="%(prog)s [OPTION ...]", allow_abbrev=False
    )
    add_serve_options(serve, environ)
    serve.set_defaults(run=_serve)

    version = commands.add_parser("version", help="print the version and which Kubernetes is served")
    version.set_defaults(run=_version)

    kubeconfig = commands.add_parser("kubeconfig", help="print the kubeconfig that a server has written")
    add_data_dir(kubeconfig, environ)
    kubeconfig.set_defaults(run=_kubeconfig)

    _add_db(commands, environ)
    _add_transfer(commands, environ)
    _add_envtest(commands)
    return top


def _add_transfer(commands: argparse._SubParsersAction[_Parser], environ: Mapping[str, str]) -> None:
    exporting = commands.add_parser("export", help="write objects as manifests that another server takes")
    which = exporting.add_mutually_exclusive_group()
    which.add_argument(
        "-n", "--namespace", default="", metavar="NS", help="of this namespace (default: the current one)"
    )
    which.add_argument("--all", action="store_true", help="of all namespaces and of the cluster")
    text = "a .yaml or .json file, or a directory for a file each (default: standard output)"
    exporting.add_argument("-o", "--output", default="-", metavar="PATH", help=text)
    exporting.add_argument(
        "--include-secrets", action="store_true", help="secrets too; files are for their owner alone"
    )
    add_storage_options(exporting, environ)
    exporting.set_defaults(run=_export)
    importing = commands.add_parser("import", help="apply manifests to a server, in an order that works")
    importing.add_argument("paths", nargs="+", metavar="PATH", help="files and directories; - is standard input")
    importing.add_argument("--dry-run", action="store_true", help="let the server judge them, and change nothing")
    add_data_dir(importing, environ)
    importing.set_defaults(run=_import)
    for command in (exporting, importing):
        command.add_argument("--kubeconfig", type=Path, metavar="FILE", help="of the server (default: as kubectl does)")
        command.add_argument("--context", default="", metavar="NAME", help="of the kubeconfig")


def _add_envtest(commands: argparse._SubParsersAction[_Parser]) -> None:
    text = "write a kube-apiserver and an etcd for the tests of Go programs, and print where they are"
    envtest = commands.add_parser("envtest", help=text)
    text = "path for KUBEBUILDER_ASSETS, or env for lines that a shell sources (default: path)"
    envtest.add_argument("-p", "--print", choices=("path", "env"), default="path", help=text)
    text = "where to write them (default: in the user's cache)"
    envtest.add_argument("--bin-dir", type=Path, metavar="DIR", help=text)
    envtest.set_defaults(run=_envtest)


def _envtest(parsed: argparse.Namespace) -> int:
    from watchkeeper.server.envtest.assets import default_directory, shell_lines, write_assets

    assets = write_assets(parsed.bin_dir or default_directory(os.environ), os.environ)
    write_out(shell_lines(assets) if parsed.print == "env" else f"{assets[0].parent}\n")
    return 0


def _export(parsed: argparse.Namespace) -> int:
    from watchkeeper.server.transfer.command import run_export

    return run_export(parsed, storage_options(parsed))


def _import(parsed: argparse.Namespace) -> int:
    from watchkeeper.server.transfer.command import run_import

    return run_import(parsed)


def _add_db(commands: argparse._SubParsersAction[_Parser], environ: Mapping[str, str]) -> None:
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
        action.add_argument("path", nargs="?", type=Path, metavar="FILE", help="the database (default: in --data-dir)")
        action.add_argument("--file", type=Path, metavar="FILE", help="the same")
        if name == "compact":
            action.add_argument("--revision", type=int, default=0, help="keep history from here on (default: none)")
        if name == "backup":
            action.add_argument("target", type=Path, help="the file to write")
        action.set_defaults(run=_db, action=name)


def _serve(parsed: argparse.Namespace) -> int:
    options = serve_options(parsed)
    from watchkeeper.server.process import serve

    return serve(options)


class _Parser(argparse.ArgumentParser):
    """One whose help may go nowhere, as all output may. Those of subcommands are of this class, too."""

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        if file is None:
            write_out(self.format_help())
        else:
            super().print_help(file)


class _ShowVersion(argparse.Action):
    """Prints the version and ends, as other programs' --version does."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, *_: object) -> None:
        parser.exit(_version(namespace))


def _version(parsed: argparse.Namespace) -> int:
    from watchkeeper.server.version import version_info

    info = version_info()
    write_out(f"watchkeeper {__version__} (Kubernetes {info['major']}.{info['minor']}, {info['goVersion']})\n")
    return 0


def _kubeconfig(parsed: argparse.Namespace) -> int:
    path: Path = parsed.data_dir / "kubeconfig"
    try:
        text = path.read_text()
    except OSError as error:
        raise StartupError(f"cannot read {path}: {error.strerror}; has a server been started there?") from error
    write_out(text)
    return 0


def _db(parsed: argparse.Namespace) -> int:
    from watchkeeper.server.database import run_action

    path = parsed.path or parsed.file or parsed.data_dir / "watchkeeper.db"
    return run_action(
        parsed.action, path, revision=getattr(parsed, "revision", 0), target=getattr(parsed, "target", None)
    )

"""The program `kube-apiserver` of envtest: the server, told what to do by kube-apiserver's flags.

envtest asks for --help before every start, so that imports nothing that only serving takes.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from watchkeeper.server.admission_choice import SERVICE_ACCOUNT
from watchkeeper.server.arguments import add_serve_options, serve_options
from watchkeeper.server.envtest import flags
from watchkeeper.server.envtest.flags import FlagError
from watchkeeper.server.envtest.parent import POLL_SECONDS, Parent, remove_temporary
from watchkeeper.server.envtest.store import ask
from watchkeeper.server.errors import StartupError
from watchkeeper.server.option_parsing import UsageError
from watchkeeper.server.options import ServeOptions
from watchkeeper.server.output import write_out

_CERT_DIR = "/var/run/kubernetes"
"""Where kube-apiserver keeps certificates unless told otherwise."""
_OWN_FILES = "watchkeeper"
"""The directory in there of what kube-apiserver has not: an administrator's token and kubeconfig."""
_VARIABLES = ("WATCHKEEPER_CONTROLLERS", "WATCHKEEPER_LOG_FORMAT", "WATCHKEEPER_LOG_LEVEL")
"""What the environment may say of what kube-apiserver has no flags for."""


def main(argv: list[str] | None = None) -> int:
    """Run a command line. Returns the exit code: 0 done, 1 refused or failed, with one line on standard error."""
    parent = Parent()
    arguments = sys.argv[1:] if argv is None else argv
    if {"--help", "-h"}.intersection(arguments):
        write_out(usage())
        return 0
    if "--version" in arguments:
        write_out(f"Kubernetes {_version()}\n")
        return 0
    try:
        return _serve(read_options(arguments, os.environ), parent)
    except (FlagError, UsageError, StartupError) as error:
        sys.stderr.write(f"Error: {error}\n")
        return 1


def _version() -> str:
    from watchkeeper.server.version import version_info

    return version_info()["gitVersion"].partition("+")[0]


def _serve(options: ServeOptions, parent: Parent) -> int:
    from watchkeeper.server.process import serve

    try:
        return serve(options, until=lambda: _end(parent), announced=False)
    finally:
        if parent.gone:
            remove_temporary(options.data_dir.parent)
            if options.storage.startswith("sqlite:"):
                remove_temporary(Path(options.storage.removeprefix("sqlite:")).parent)


async def _end(parent: Parent) -> None:
    """Wait for the end of the parent."""
    import asyncio

    descriptor = parent.descriptor()
    if descriptor is not None:
        ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(descriptor, ended.set)
        try:
            await ended.wait()
        finally:
            asyncio.get_running_loop().remove_reader(descriptor)
    while not parent.gone:  # noqa: ASYNC110 - there is nobody to set an event
        await asyncio.sleep(POLL_SECONDS)


class _Parser(argparse.ArgumentParser):
    """One that raises FlagError for what is refused."""

    def error(self, message: str) -> NoReturn:
        raise FlagError(message.removeprefix("argument "))


def _parser(environ: Mapping[str, str]) -> _Parser:
    parser = _Parser(prog="kube-apiserver", allow_abbrev=False)
    add_serve_options(parser, {name: environ[name] for name in _VARIABLES if name in environ})
    if "WATCHKEEPER_CONTROLLERS" not in environ:
        parser.set_defaults(controllers=())
    return parser


def _of_kube_apiserver(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.Action]]:
    """Flags by their names without dashes, and the options of the server that they are."""
    for action in parser._actions:
        for option in action.option_strings:
            name = option.removeprefix("--")
            if name != option and name not in flags.NOT_FLAGS and not name.startswith("no-"):
                yield name, action


def read_options(argv: list[str], environ: Mapping[str, str]) -> ServeOptions:
    """What the server is to do. Asks the first etcd server whether it is a stand-in, which says where objects are kept.

    Raises FlagError, UsageError.
    """
    parser = _parser(environ)
    known = dict(_of_kube_apiserver(parser))
    switches = {name for name, action in known.items() if action.nargs == "?"}
    given = flags.read_flags(argv, known.keys() - switches, switches)
    cert_dir = Path(flags.last(given, flags.CERT_DIR, _CERT_DIR))
    options = serve_options(parser.parse_args(flags.server_arguments(given)))
    options = replace(options, data_dir=cert_dir / _OWN_FILES, authorization=flags.authorization(given))
    options = _with_certificates(_with_plugins(options), cert_dir)
    return _with_storage(options, flags.etcd_servers(given))


def _with_plugins(options: ServeOptions) -> ServeOptions:
    """What kube-apiserver has on unless it is turned off, and the server has not."""
    if SERVICE_ACCOUNT in (*options.enable_admission_plugins, *options.disable_admission_plugins):
        return options
    return replace(options, enable_admission_plugins=(*options.enable_admission_plugins, SERVICE_ACCOUNT))


def _with_certificates(options: ServeOptions, cert_dir: Path) -> ServeOptions:
    """The serving certificate is the one that lies there, unless another was given."""
    cert, key = cert_dir / "apiserver.crt", cert_dir / "apiserver.key"
    if options.tls_cert or options.tls_key or not (cert.exists() and key.exists()):
        return options
    return replace(options, tls_cert=cert, tls_key=key)


def _with_storage(options: ServeOptions, servers: list[str]) -> ServeOptions:
    store = ask(servers[0])
    if store is None:
        return replace(options, storage=",".join(servers))
    # What it is held to be was said of an etcd.
    return replace(
        options, storage=f"sqlite:{store.database}", storage_backend="", unsafe_no_fsync=store.unsafe_no_fsync
    )


def usage() -> str:
    """What --help prints: a line for each flag."""
    parser = _parser({})
    heeded = {name: action.help or "" for name, action in _of_kube_apiserver(parser)}
    heeded[flags.CERT_DIR] = "where apiserver.crt and apiserver.key are, if no other certificate is given"
    heeded[flags.AUTHORIZATION] = "RBAC or AlwaysAllow"
    heeded[flags.ETCD_SERVERS] = "etcd servers, or the stand-in for one"
    lines = ["Usage:\n  kube-apiserver [flags]\n\nwatchkeeper, in the place of kube-apiserver.\n\nFlags:"]
    lines += (f"      --{name}   {text.partition(' [')[0]}" for name, text in sorted(heeded.items()))
    lines.append("\nTaken, and of no effect:")
    lines += (f"      --{name}" for name in sorted(flags.WITHOUT_EFFECT))
    lines.append("\nTaken with these values only:")
    lines += (f"      --{name}   {' or '.join(values)}" for name, values in sorted(flags.ONLY.items()) if values)
    return "\n".join(lines).replace("%%", "%") + "\n"


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())

"""The command line: every option of `serve` may also stand in the environment as WATCHKEEPER_…."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from watchkeeper.server.options import DEFAULT_CONTROLLERS, DEFAULT_PORT, ServeOptions, default_data_dir
from watchkeeper.storage.compactor import DEFAULT_INTERVAL

PREFIX = "WATCHKEEPER_"
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off", ""})


class UsageError(ValueError):
    """A value in the environment that cannot be meant."""


class _Arguments:
    """Adds options whose default comes from the environment."""

    def __init__(self, parser: argparse.ArgumentParser, environ: Mapping[str, str]) -> None:
        self._parser = parser
        self._environ = environ

    def add(self, flag: str, help_text: str, *, default: Any = None, kind: Any = str, metavar: str = "") -> None:
        name = variable(flag)
        if name in self._environ:
            try:
                default = kind(self._environ[name])
            except ValueError as error:
                raise UsageError(f"{name}: {error}") from error
        self._parser.add_argument(
            flag, default=default, type=kind, metavar=metavar or None, help=f"{help_text} [{name}]"
        )

    def add_switch(self, flag: str, help_text: str, *, default: bool) -> None:
        name = variable(flag)
        given = self._environ.get(name, "").lower()
        if given not in _TRUE | _FALSE:
            raise UsageError(f"{name}: {given!r} is neither true nor false")
        if given:
            default = given in _TRUE
        action = argparse.BooleanOptionalAction
        self._parser.add_argument(flag, action=action, default=default, help=f"{help_text} [{name}]")


def variable(flag: str) -> str:
    """The environment variable of an option."""
    return PREFIX + flag.removeprefix("--").replace("-", "_").upper()


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def add_data_dir(parser: argparse.ArgumentParser, environ: Mapping[str, str]) -> None:
    """The one option that most commands share."""
    _Arguments(parser, environ).add(
        "--data-dir", "where certificates, tokens and the database are kept", default=default_data_dir(environ),
        kind=Path, metavar="DIR",
    )  # fmt: skip


def add_serve_options(parser: argparse.ArgumentParser, environ: Mapping[str, str]) -> None:
    """All options of `serve`. Raises UsageError for what stands in the environment and cannot be read."""
    add_data_dir(parser, environ)
    a = _Arguments(parser, environ)
    a.add("--storage", "sqlite:PATH, memory: or etcd://HOST:PORT,… (default: a SQLite file in --data-dir)", default="",
          metavar="URL")  # fmt: skip
    a.add("--bind", "address to serve on", default="127.0.0.1", metavar="ADDRESS")
    a.add("--port", f"port to serve on, 0 for a free one (default: {DEFAULT_PORT})", kind=int, metavar="PORT")
    a.add("--unix-socket", "serve plain HTTP on this socket; on TCP too if --port is given", kind=Path, metavar="PATH")
    a.add_switch("--insecure-http", "plain HTTP without TLS, on loopback addresses only", default=False)
    a.add("--tls-cert", "certificate to serve with (default: one of an own authority)", kind=Path, metavar="FILE")
    a.add("--tls-key", "key of --tls-cert", kind=Path, metavar="FILE")
    a.add("--client-ca", "accept client certificates of these authorities: CN is the user, O the groups", kind=Path,
          metavar="FILE")  # fmt: skip
    a.add("--admin-token", "bearer token of the administrator (default: made once and kept)", default="",
          metavar="TOKEN")  # fmt: skip
    a.add("--token-auth-file", 'further tokens, CSV: token,user,uid,"group1,group2"', kind=Path, metavar="FILE")
    a.add_switch("--anonymous-auth", "let requests without credentials be system:anonymous", default=True)
    a.add("--authorization", "RBAC or AlwaysAllow", default="RBAC", metavar="MODE")
    a.add("--kubeconfig", "where to write a kubeconfig (default: in --data-dir)", kind=Path, metavar="PATH")
    a.add("--controllers", "controllers to run, separated by commas; '' for none", default=DEFAULT_CONTROLLERS,
          kind=_names, metavar="NAMES")  # fmt: skip
    a.add("--crds", "install the CustomResourceDefinitions in a file or directory", kind=Path, metavar="DIR")
    a.add("--app", "serve kinds declared in Python, such as shop.kinds:registry", default="", metavar="MODULE:NAME")
    a.add("--max-requests-inflight", "reads worked on at a time, 0 for no limit", default=400, kind=int, metavar="N")
    a.add("--max-mutating-requests-inflight", "writes worked on at a time, 0 for no limit", default=200, kind=int,
          metavar="N")  # fmt: skip
    a.add("--request-timeout", "seconds after which a request is given up", default=60.0, kind=float, metavar="S")
    a.add("--min-request-timeout", "seconds that a watch lasts at least", default=1800.0, kind=float, metavar="S")
    a.add("--compaction-interval", "seconds of history that are kept at least, 0 to keep all", default=DEFAULT_INTERVAL,
          kind=float, metavar="S")  # fmt: skip
    a.add("--shutdown-grace", "seconds that requests get to finish when the server stops", default=10.0, kind=float,
          metavar="S")  # fmt: skip
    a.add("--log-format", "text or json", default="text", metavar="FORMAT")
    a.add("--log-level", "debug, info, warning or error", default="info", metavar="LEVEL")


def serve_options(parsed: argparse.Namespace) -> ServeOptions:
    """The options as they were given. Raises UsageError."""
    values = {name: getattr(parsed, name) for name in ServeOptions.__dataclass_fields__ if hasattr(parsed, name)}
    values["tcp"] = parsed.port is not None or parsed.unix_socket is None
    values["port"] = DEFAULT_PORT if parsed.port is None else parsed.port
    _one_of("--log-format", parsed.log_format, ("text", "json"))
    _one_of("--log-level", parsed.log_level, ("debug", "info", "warning", "error"))
    _one_of("--authorization", parsed.authorization, ("RBAC", "AlwaysAllow"))
    return ServeOptions(**values)


def _one_of(flag: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise UsageError(f"{flag} {value!r} is none of {', '.join(known)}")

"""The command line: every option of `serve` may also stand in the environment as WATCHKEEPER_…."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from watchkeeper.server import argument_groups as groups
from watchkeeper.server.audit_arguments import add_audit
from watchkeeper.server.logs import VERBOSE
from watchkeeper.server.option_parsing import Arguments, UsageError
from watchkeeper.server.options import DEFAULT_PORT, ServeOptions, default_data_dir


def _add_own_storage(a: Arguments) -> None:
    groups.add_storage(a, " (default: a SQLite file in --data-dir)")
    a.add_switch("--read-only", "write nothing to the storage, for whoever asks and by itself", default=False)
    a.add_switch("--unsafe-no-fsync", "do not wait until writes have reached the disk: SQLite files may be damaged when"
                 " the machine crashes", default=False)  # fmt: skip
    a.add_switch("--encryption-provider-config-automatic-reload", "read that file again when it changes", default=False)


_GROUPS: tuple[tuple[str, tuple[Callable[[Arguments], None], ...]], ...] = (
    ("where objects are kept", (_add_own_storage,)),
    ("where it serves", (groups.add_addresses, groups.add_tls)),
    ("who asks", (groups.add_authentication, groups.add_front_proxies, groups.add_oidc, groups.add_service_accounts)),
    ("what it serves", (groups.add_apis, groups.add_controllers, groups.add_admission)),
    ("what requests are passed on to", (groups.add_aggregation, groups.add_kubelets)),
    ("limits and caches", (groups.add_limits, groups.add_caching)),
    ("what it tells", (groups.add_metrics, groups.add_logs)),
    ("the audit log", (add_audit,)),
)
"""How `--help` shows them."""


def add_data_dir(parser: argparse.ArgumentParser, environ: Mapping[str, str]) -> None:
    """The one option that most commands share."""
    Arguments(parser, environ).add(
        "--data-dir", "where certificates, tokens and the database are kept", default=default_data_dir(environ),
        kind=Path, metavar="DIR",
    )  # fmt: skip


def add_serve_options(parser: argparse.ArgumentParser, environ: Mapping[str, str]) -> None:
    """All options of `serve`. Raises UsageError for what stands in the environment and cannot be read."""
    add_data_dir(parser, environ)
    a = Arguments(parser, environ)
    for title, parts in _GROUPS:
        group = a.group(title)
        for add in parts:
            add(group)


def add_storage_options(parser: argparse.ArgumentParser, environ: Mapping[str, str]) -> None:
    """Those that say where a store is and how it is encrypted; which store must be said, not stand in the environment.

    Raises UsageError.
    """
    add_data_dir(parser, environ)
    a = Arguments(parser, environ, given_only={"--storage"})
    groups.add_storage(a, "; unless given, a server is asked")


def storage_options(parsed: argparse.Namespace) -> ServeOptions:
    """The options of a store as they were given."""
    return ServeOptions(**{n: getattr(parsed, n) for n in ServeOptions.__dataclass_fields__ if hasattr(parsed, n)})


def serve_options(parsed: argparse.Namespace) -> ServeOptions:
    """The options as they were given. Raises UsageError."""
    values = {name: getattr(parsed, name) for name in ServeOptions.__dataclass_fields__ if hasattr(parsed, name)}
    values["tcp"] = parsed.port is not None or parsed.unix_socket is None
    values["port"] = DEFAULT_PORT if parsed.port is None else parsed.port
    _one_of("--log-format", parsed.log_format, ("text", "json"))
    _one_of("--log-level", parsed.log_level, ("debug", "info", "warning", "error"))
    if parsed.v >= VERBOSE:
        values["log_level"] = "debug"
    return ServeOptions(**values)


def _one_of(flag: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise UsageError(f"{flag} {value!r} is none of {', '.join(known)}")

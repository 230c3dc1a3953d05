"""Opens the key-value store that `--storage` names."""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from pathlib import Path

from watchkeeper.aio.backoff import Backoff
from watchkeeper.kv.errors import AccessDenied, Corrupt, KVError
from watchkeeper.kv.etcd.config import EtcdConfig
from watchkeeper.kv.interface import KV
from watchkeeper.kv.read_only import ReadOnlyKV
from watchkeeper.server.errors import StartupError
from watchkeeper.server.files import make_private_dir
from watchkeeper.server.options import ServeOptions

log = logging.getLogger(__name__)


def is_etcd(url: str) -> bool:
    """Whether a storage URL names etcd servers: `etcd://HOST:PORT,…`, `https://HOST:PORT,https://…`, `unix:///PATH`."""
    return url.startswith(("etcd://", "http://", "https://", "unix://", "unixs://"))


async def open_storage(options: ServeOptions) -> KV:
    """The store, ready for use. Raises StartupError with one line that says what is wrong.

    A SQLite file is opened in one go: nothing else runs yet. An etcd that does not answer is waited for as long as the
    options say; one that refuses this server is not.
    """
    url = options.storage_url
    kind, found, rest = url.partition(":")
    if kind == "memory" and found:
        from watchkeeper.kv.memory import MemoryKV

        return MemoryKV()
    if kind == "sqlite" and rest:
        return _open_sqlite(Path(rest), read_only=options.read_only, synced=not options.unsafe_no_fsync)
    if is_etcd(url):
        return await _open_etcd(url, options)
    raise StartupError(f"--storage {url!r} is none of sqlite:PATH, memory:, etcd://HOST:PORT,…")


def _open_sqlite(path: Path, *, read_only: bool, synced: bool) -> KV:
    from watchkeeper.kv.sqlite.schema import may_write_beside
    from watchkeeper.kv.sqlite.store import SQLiteKV

    if not read_only:
        make_private_dir(path.parent, "--storage")
    elif not path.exists() or not path.stat().st_size:
        raise StartupError(f"{path}: there is nothing to read")
    try:
        if read_only and not may_write_beside(path):
            return _CopiedKV(path)
        return SQLiteKV.open(path, synchronous="FULL" if synced else "OFF", upkeep=not read_only)
    except KVError as error:
        raise StartupError(str(error)) from error


class _CopiedKV(ReadOnlyKV):
    """A SQLite file from where nothing can be written, such as a mounted snapshot: its copy is read."""

    def __init__(self, path: Path) -> None:
        """Raises KVError."""
        from watchkeeper.kv.sqlite.maintenance import backup
        from watchkeeper.kv.sqlite.store import SQLiteKV

        self._directory = tempfile.TemporaryDirectory(prefix="watchkeeper-copy-")
        copy = Path(self._directory.name, path.name)
        try:
            backup(path, copy)
            super().__init__(SQLiteKV.open(copy, upkeep=False))
        except BaseException:
            self._directory.cleanup()
            raise

    async def close(self) -> None:
        """Close and remove the copy."""
        await super().close()
        self._directory.cleanup()


async def _open_etcd(url: str, options: ServeOptions) -> KV:
    # Standard error is for this server's own log.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from watchkeeper.kv.etcd import open_etcd

    config = etcd_config(url, options)
    try:
        kv = open_etcd(config)
    except KVError as error:
        raise StartupError(str(error)) from error
    try:
        await _until_it_answers(kv, config, options.etcd_start_timeout)
    except BaseException:
        await kv.close()
        raise
    return kv


def etcd_config(url: str, options: ServeOptions) -> EtcdConfig:
    """How to reach the etcd servers of a storage URL. Raises StartupError."""
    endpoints = tuple(part.strip() for part in url.removeprefix("etcd://").split(",") if part.strip())
    try:
        return EtcdConfig(
            endpoints,
            ca_file=options.etcd_cafile,
            cert_file=options.etcd_certfile,
            key_file=options.etcd_keyfile,
            username=options.etcd_username,
            password=_password(options),
            request_timeout=options.etcd_request_timeout,
            health_timeout=options.etcd_healthcheck_timeout,
            probe_key=f"/{options.etcd_prefix.strip('/')}/".encode(),
        )
    except ValueError as error:
        raise StartupError(f"--storage {url!r}: {error}") from error


def _password(options: ServeOptions) -> str:
    path = options.etcd_password_file
    if path is None:
        return options.etcd_password
    try:
        return path.read_text().rstrip("\r\n")
    except (OSError, ValueError) as error:
        raise StartupError(f"--etcd-password-file {path}: {getattr(error, 'strerror', None) or error}") from error


async def _until_it_answers(kv: KV, config: EtcdConfig, patience: float) -> None:
    """Ask for its state and revision until both come: that takes a leader, a quorum, and the right to read."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience
    backoff = Backoff(initial=0.1, limit=1.0)
    servers = ", ".join(config.endpoints)
    trouble: KVError | None = None
    while (left := deadline - loop.time()) > 0:
        try:
            await kv.status()  # knows its own time
            async with asyncio.timeout(left):
                await kv.current_revision()
            return
        except (AccessDenied, Corrupt) as error:
            raise StartupError(str(error)) from error
        except TimeoutError:
            break
        except KVError as error:
            if trouble is None:
                log.warning("etcd (%s) does not answer yet, waiting up to %g s", servers, patience)
            trouble = error
        await asyncio.sleep(min(backoff.next(), max(deadline - loop.time(), 0)))
    hint = ""
    if "Socket closed" in str(trouble) and not any(endpoint.tls for endpoint in config.parsed()):
        hint = "; if it wants TLS, write https://HOST:PORT or give --etcd-cafile"
    raise StartupError(f"etcd ({servers}) cannot be reached within {patience:g} s: {trouble or 'no answer'}{hint}")

"""The certificate that other API servers are shown, so that they believe what is said of a user."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable
from pathlib import Path

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.server.errors import StartupError
from watchkeeper.webhook.credentials import Credential

log = logging.getLogger(__name__)

LOOK_SECONDS = 5.0


class ClientCertificate:
    """Files that may change while the server runs; those that do not go together are not taken over."""

    def __init__(
        self, certificate: Path, key: Path, changed: Callable[[], None], *, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        """`changed` is called when others are to be shown from now on. Raises StartupError."""
        self._files = certificate, key
        self._changed = changed
        self._clock = clock
        self._tasks = TaskOwner("proxy-client-certificate")
        self._content = check(certificate, key)

    def __repr__(self) -> str:
        return f"<ClientCertificate {self._files[0]}>"

    def start(self) -> None:
        """Begin to look at the files."""
        self._tasks.start("files", self._run())

    async def close(self) -> None:
        """Look no more."""
        await self._tasks.close()

    def show(self, context: ssl.SSLContext) -> None:
        """Have a context show the certificate. Raises OSError, ssl.SSLError."""
        certificate, key = self._content
        Credential(certificate=certificate, key=key).show(context)

    async def _run(self) -> None:
        seen = self._content
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            found = await asyncio.to_thread(_contents, *self._files)
            if found in (seen, self._content):
                continue
            seen = found
            try:
                self._content = await asyncio.to_thread(check, *self._files)
            except StartupError as error:
                log.error("the client certificate for other API servers stays as it was: %s", error)
                continue
            log.info("the client certificate for other API servers was taken over from changed files")
            self._changed()


def check(certificate: Path, key: Path) -> tuple[bytes, bytes]:
    """The contents of the files. Raises StartupError for files that cannot be shown."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise StartupError(f"--proxy-client-cert-file {certificate}, --proxy-client-key-file {key}: {error}") from error
    return _contents(certificate, key)


def _contents(certificate: Path, key: Path) -> tuple[bytes, bytes]:
    try:
        return certificate.read_bytes(), key.read_bytes()
    except OSError:
        return b"", b""

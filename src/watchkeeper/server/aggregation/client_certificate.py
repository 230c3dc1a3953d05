"""The certificate that other API servers are shown, so that they believe what is said of a user."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable
from pathlib import Path

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.server.errors import StartupError
from watchkeeper.server.file_watch import Contents, FileWatch, contents_of
from watchkeeper.webhook.credentials import Credential

log = logging.getLogger(__name__)


class ClientCertificate:
    """Files that may change while the server runs; those that do not go together are not taken over."""

    def __init__(
        self, certificate: Path, key: Path, changed: Callable[[], None], *, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        """`changed` is called when others are to be shown from now on. Raises StartupError."""
        self._files = certificate, key
        self._changed = changed
        self._content = check(certificate, key)
        self._watch = FileWatch("proxy-client-certificate", self._files, self._take, seen=self._content, clock=clock)

    def __repr__(self) -> str:
        return f"<ClientCertificate {self._files[0]}>"

    def start(self) -> None:
        """Begin to look at the files."""
        self._watch.start()

    async def close(self) -> None:
        """Look no more."""
        await self._watch.close()

    def show(self, context: ssl.SSLContext) -> None:
        """Have a context show the certificate. Raises OSError, ssl.SSLError."""
        certificate, key = self._files
        Credential(certificate=self._content[certificate], key=self._content[key]).show(context)

    async def _take(self, found: Contents) -> bool:
        if found == self._content:
            return True
        try:
            self._content = await asyncio.to_thread(check, *self._files)
        except StartupError as error:
            log.error("the client certificate for other API servers stays as it was: %s", error)
            return True
        log.info("the client certificate for other API servers was taken over from changed files")
        self._changed()
        return True


def check(certificate: Path, key: Path) -> Contents:
    """The contents of the files. Raises StartupError for files that cannot be shown."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise StartupError(f"--proxy-client-cert-file {certificate}, --proxy-client-key-file {key}: {error}") from error
    return contents_of((certificate, key))

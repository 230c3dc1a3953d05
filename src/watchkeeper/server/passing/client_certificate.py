"""The certificate that this server shows to those that it passes requests on to, so that they believe who it is."""

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

Options = tuple[str, str]
"""The names of the options for the certificate and for its key."""


class ClientCertificate:
    """Files that may change while the server runs; those that do not go together are not taken over."""

    def __init__(
        self,
        options: Options,
        certificate: Path,
        key: Path,
        changed: Callable[[], None],
        *,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """`changed` is called when others are to be shown from now on. Raises StartupError."""
        self._options = options
        self._files = certificate, key
        self._changed = changed
        self._content = check(options, certificate, key)
        self._watch = FileWatch(options[0], self._files, self._take, seen=self._content, clock=clock)

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
            self._content = await asyncio.to_thread(check, self._options, *self._files)
        except StartupError as error:
            log.error("the client certificate of --%s stays as it was: %s", self._options[0], error)
            return True
        log.info("the client certificate of --%s was taken over from changed files", self._options[0])
        self._changed()
        return True


def check(options: Options, certificate: Path, key: Path) -> Contents:
    """The contents of the files. Raises StartupError for files that cannot be shown."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise StartupError(f"--{options[0]} {certificate}, --{options[1]} {key}: {error}") from error
    return contents_of((certificate, key))

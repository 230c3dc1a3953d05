"""Takes over certificates that change while a server runs, as kube-apiserver does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.server.errors import StartupError
from watchkeeper.server.file_watch import Contents, FileWatch, contents_of
from watchkeeper.server.tls import Tls, load_tls
from watchkeeper.server.tls_files import TlsFiles

log = logging.getLogger(__name__)

RENEW_SECONDS = 3600.0
"""How often a certificate of the server's own is looked at whether it ends soon."""


class TlsUpkeep:
    """Looks at the files that connections are made with. Those that there are keep what they began with."""

    def __init__(
        self,
        files: TlsFiles,
        use: Callable[[Tls], None],
        *,
        renew: Callable[[], None] | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """`use` is told what new connections are made with. `renew` writes new files where the present ones end soon.

        `renew` is called in a thread, and may raise StartupError.
        """
        self._files = files
        self._use = use
        self._renew = renew
        self._clock = clock
        self._used = contents_of(files)
        self._renewal = clock.monotonic() + RENEW_SECONDS
        self._watch = FileWatch("tls", files, self._take, seen=self._used, before=self._renew_in_time, clock=clock)

    @property
    def serving(self) -> str:
        """The certificates that the connections that come now are shown."""
        return self._used_text(self._files.cert)

    @property
    def client_authorities(self) -> str:
        """Who signs client certificates, as the connections that come now are told; "" for nobody."""
        return self._used_text(self._files.client_ca)

    @property
    def proxy_authorities(self) -> str:
        """Who signs the certificates of front proxies, likewise."""
        return self._used_text(self._files.proxy_ca)

    def start(self) -> None:
        """Begin to look."""
        self._watch.start()

    async def close(self) -> None:
        """Look no more."""
        await self._watch.close()

    async def _renew_in_time(self) -> None:
        if self._renew is None or self._clock.monotonic() < self._renewal:
            return
        self._renewal = self._clock.monotonic() + RENEW_SECONDS
        try:
            await asyncio.to_thread(self._renew)
        except StartupError as error:
            log.error("the serving certificate cannot be renewed: %s", error)

    async def _take(self, found: Contents) -> bool:
        if found == self._used:
            return True
        try:
            tls = load_tls(self._files)
        except StartupError as error:
            log.error("certificates stay as they were: %s", error)
            return True
        self._used = found
        self._use(tls)
        log.info("certificates were taken over from changed files")
        return True

    def _used_text(self, path: Path | None) -> str:
        return self._used[path].decode(errors="replace") if path is not None else ""

"""Who kubelets are believed to be, and what they are shown: files that may change while the server runs."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable
from pathlib import Path

from watchkeeper.runtime.client_tls import context_trusting, context_trusting_anybody
from watchkeeper.server.backends.settings import SHOWN, KubeletSettings
from watchkeeper.server.errors import StartupError
from watchkeeper.server.file_watch import Contents, FileWatch
from watchkeeper.server.passing.client_certificate import ClientCertificate, check

log = logging.getLogger(__name__)


class KubeletTrust:
    """Makes the TLS contexts of connections to kubelets. What files hold that are of no use is not taken over."""

    def __init__(self, settings: KubeletSettings, changed: Callable[[], None]) -> None:
        """`changed` is called when new connections have to have new contexts. Raises StartupError."""
        self._changed = changed
        self._authority = settings.authority
        self._bundle = b""
        self._watch: FileWatch | None = None
        self._certificate: ClientCertificate | None = None
        if settings.certificate is not None and settings.key is not None:
            self._certificate = ClientCertificate(SHOWN, settings.certificate, settings.key, changed)
        if settings.authority is not None:
            self._bundle = read_authority(settings.authority)
            seen = {settings.authority: self._bundle}
            self._watch = FileWatch("kubelet-certificate-authority", seen, self._take, seen=seen)

    def __repr__(self) -> str:
        return f"<KubeletTrust in {self._authority or 'anybody'}>"

    def start(self) -> None:
        """Begin to look at the files."""
        if self._certificate is not None:
            self._certificate.start()
        if self._watch is not None:
            self._watch.start()

    async def close(self) -> None:
        """Look no more."""
        if self._certificate is not None:
            await self._certificate.close()
        if self._watch is not None:
            await self._watch.close()

    def context(self) -> ssl.SSLContext:
        """For kubelets. Raises OSError, ValueError."""
        return self._shown(context_trusting(self._bundle) if self._bundle else context_trusting_anybody())

    def unverified_context(self) -> ssl.SSLContext:
        """For kubelets whoever they are. Raises OSError, ValueError."""
        return self._shown(context_trusting_anybody())

    def _shown(self, context: ssl.SSLContext) -> ssl.SSLContext:
        if self._certificate is not None:
            self._certificate.show(context)
        return context

    async def _take(self, found: Contents) -> bool:
        assert self._authority is not None
        bundle = found.get(self._authority, b"")
        try:
            await asyncio.to_thread(_check_bundle, bundle)
        except ValueError as error:
            log.error("--kubelet-certificate-authority %s stays as it was: %s", self._authority, error)
            return True
        self._bundle = bundle
        log.info("--kubelet-certificate-authority was taken over from a changed file")
        self._changed()
        return True


def check_files(settings: KubeletSettings) -> None:
    """Raise StartupError for files that are of no use."""
    if settings.certificate is not None and settings.key is not None:
        check(SHOWN, settings.certificate, settings.key)
    if settings.authority is not None:
        read_authority(settings.authority)


def read_authority(path: Path) -> bytes:
    """The authorities in a file. Raises StartupError."""
    try:
        bundle = path.read_bytes()
        _check_bundle(bundle)
    except (OSError, ValueError) as error:
        raise StartupError(f"--kubelet-certificate-authority {path}: {error}") from error
    return bundle


def _check_bundle(bundle: bytes) -> None:
    if not bundle.strip():
        raise ValueError("there is no certificate in it")
    context_trusting(bundle)

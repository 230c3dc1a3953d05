"""A webhook that a kubeconfig names, as the files of kube-apiserver's options do: where it is, and who asks there."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from watchkeeper.aio.backoff import Backoff
from watchkeeper.aio.http_client import HttpAnswer, HttpError, JsonPoster, trusting
from watchkeeper.meta.errors import ApiError
from watchkeeper.runtime.x509 import authorities
from watchkeeper.runtime.yaml import load_yaml
from watchkeeper.webhook.credentials import Credential, content_of, credential_of, entries_of, source_of, text_of
from watchkeeper.webhook.status import error_of

TIMEOUT_SECONDS = 30.0
ATTEMPTS = 5
"""How often a backend is asked that is overloaded, broken, or breaks off."""
_FACTOR = 1.5
_JITTER = 0.2
_ASKED = 10
"""How often a backend is asked again because it says when."""
_PASSING = frozenset({429, 500, 504})


class BackendError(Exception):
    """No usable answer came; the message is what Go's client says."""

    def __init__(self, message: str, *, passing: bool, failure: ApiError | None = None) -> None:
        super().__init__(message)
        self.failure = failure
        """What the backend has answered."""
        self.passing = passing
        """Whether it may be another one next time."""


class Backend:
    """Posts to what the current context of a kubeconfig names. Connections are kept and used again."""

    def __init__(self, path: Path) -> None:
        """Raises OSError, ValueError for a file that names nothing that can be asked."""
        path.stat()
        data = load_yaml(path.read_bytes())
        if not isinstance(data, dict):
            raise ValueError("it is no kubeconfig")
        context = entries_of(data, "context").get(text_of(data, "current-context"), {})
        cluster = entries_of(data, "cluster").get(text_of(context, "cluster"), {})
        user = entries_of(data, "user").get(text_of(context, "user"))
        self.url = text_of(cluster, "server")
        if not self.url:
            raise ValueError("invalid configuration: no configuration has been provided")
        credential = credential_of(user, path) if user is not None else Credential()
        self._poster = JsonPoster(
            self.url,
            ssl_context=_context(cluster, path, credential),
            server_name=text_of(cluster, "tls-server-name") or None,
            headers=credential.request_headers,
        )

    def __repr__(self) -> str:
        return f"<Backend of {self._poster!r}>"

    async def post(self, body: bytes) -> bytes:
        """The body of an answer; a backend that says when is asked again then. Raises BackendError."""
        for _ in range(_ASKED):
            answer = await self._send(body)
            wait = answer.headers.get("retry-after", "")
            if (answer.status != 429 and answer.status < 500) or not (wait.isascii() and wait.isdigit()):
                break
            await asyncio.sleep(min(float(wait), TIMEOUT_SECONDS))
        if 200 <= answer.status < 300:
            return answer.body
        failure: ApiError = error_of(answer)
        passing = failure.code in _PASSING or "retry-after" in answer.headers
        raise BackendError(failure.message, passing=passing, failure=failure)

    async def post_patiently(self, body: bytes, first_wait: float, *, always: bool = False) -> bytes:
        """The same, if need be by several attempts, with longer and longer waits between. Raises BackendError.

        `always`: not only after failures that are known to pass.
        """
        backoff = Backoff(initial=first_wait, limit=float("inf"), factor=_FACTOR, jitter=_JITTER)
        for left in reversed(range(ATTEMPTS)):
            try:
                return await self.post(body)
            except BackendError as error:
                if not (error.passing or always) or not left:
                    raise
            await asyncio.sleep(backoff.next())
        raise AssertionError("the last attempt ends it")

    def close(self) -> None:
        """Close idle connections."""
        self._poster.close()

    async def _send(self, body: bytes) -> HttpAnswer:
        try:
            return await self._poster.post(body, timeout=TIMEOUT_SECONDS)
        except (HttpError, OSError) as error:
            raise BackendError(str(error), passing="connection reset by peer" in str(error)) from error


def _context(cluster: Mapping[str, Any], path: Path, credential: Credential) -> ssl.SSLContext:
    source = source_of(cluster, "certificate-authority", path)
    if source is not None:
        context = trusting(b"".join(authorities(content_of(source))))
    else:
        context = ssl.create_default_context()
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    credential.show(context)
    return context

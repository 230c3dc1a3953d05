"""How a running test server is reached."""

from __future__ import annotations

import json
import secrets
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_REQUEST_SECONDS = 30.0
_MERGE_PATCH = "application/merge-patch+json"


class RequestFailed(Exception):
    """The server refused; `status` is the HTTP code, `answer` the Status that it sent, or whatever else it said."""

    def __init__(self, method: str, path: str, status: int, body: str) -> None:
        super().__init__(f"{method} {path}: {status}: {body}")
        self.status = status
        self.answer: Any = _parsed(body)


@dataclass(frozen=True, slots=True)
class Handle:
    """Everything that a client needs to know."""

    url: str
    token: str = field(repr=False)
    """A bearer token of group system:masters."""
    kubeconfig: Path
    ca_pem: str = field(repr=False)
    """The authority of the server's certificate."""

    @property
    def env(self) -> dict[str, str]:
        """What to add to the environment of kubectl and of client libraries."""
        return {"KUBECONFIG": str(self.kubeconfig)}

    def ssl_context(self) -> ssl.SSLContext:
        """A client's TLS context that trusts the server."""
        return ssl.create_default_context(cadata=self.ca_pem)

    def request(self, method: str, path: str, body: Any = None, *, headers: Mapping[str, str] | None = None) -> Any:
        """Send one request as the administrator; returns the answer: what its JSON holds, or its text.

        Raises RequestFailed. A PATCH is a JSON merge patch unless `headers` have another Content-Type.
        """
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method)
        request.add_header("Authorization", f"Bearer {self.token}")
        request.add_header("Content-Type", _MERGE_PATCH if method == "PATCH" else "application/json")
        for name, value in (headers or {}).items():
            request.add_header(name, value)
        context = self.ssl_context() if self.url.startswith("https") else None
        try:
            with urllib.request.urlopen(request, timeout=_REQUEST_SECONDS, context=context) as answer:
                found = answer.read().decode()
                return json.loads(found) if answer.headers.get_content_type().endswith("json") else found
        except urllib.error.HTTPError as error:
            raise RequestFailed(method, path, error.code, error.read().decode(errors="replace")) from None

    @contextmanager
    def namespace(self, prefix: str = "test") -> Iterator[str]:
        """A new, empty namespace; it is deleted afterwards, with what is in it, without waiting for that."""
        name = f"{prefix}-{secrets.token_hex(4)}"
        manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        self.request("POST", "/api/v1/namespaces", manifest)
        try:
            yield name
        finally:
            try:
                self.request("DELETE", f"/api/v1/namespaces/{name}")
            except RequestFailed as error:
                if error.status not in (404, 409):
                    raise


def _parsed(body: str) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body

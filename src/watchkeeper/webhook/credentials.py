"""What webhooks are shown by whom they are called: users of a kubeconfig, named after the hosts that they are for."""

from __future__ import annotations

import base64
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from watchkeeper.meta.field import go_quote
from watchkeeper.runtime.yaml import load_yaml
from watchkeeper.webhook.client_config import ClientConfig

_HTTPS = "443"


@dataclass(frozen=True, slots=True)
class Credential:
    """What one user of a kubeconfig shows. Files are read when a connection's client is made."""

    token: str = field(default="", repr=False)
    token_file: Path | None = None
    basic: tuple[str, str] | None = field(default=None, repr=False)
    certificate: bytes | Path | None = field(default=None, repr=False)
    key: bytes | Path | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)

    def request_headers(self) -> dict[str, str]:
        """What each request says. Raises OSError."""
        headers = dict(self.headers)
        token = self.token_file.read_text().strip() if self.token_file is not None else self.token
        if token:
            headers["Authorization"] = f"Bearer {token}"
        elif self.basic is not None:
            headers["Authorization"] = f"Basic {base64.b64encode(':'.join(self.basic).encode()).decode()}"
        return headers

    def show(self, context: ssl.SSLContext) -> None:
        """Have a context show the certificate, if there is one. Raises OSError, ssl.SSLError."""
        if self.certificate is None or self.key is None:
            return
        with tempfile.NamedTemporaryFile() as file:  # `ssl` takes certificates from files only
            file.write(content_of(self.certificate) + b"\n" + content_of(self.key))
            file.flush()
            context.load_cert_chain(file.name)


class WebhookCredentials:
    """The users of a kubeconfig."""

    def __init__(self, users: Mapping[str, Credential], default: str = "") -> None:
        """`default` is the user of the current context, "" for none."""
        self._users = dict(users)
        self._default = default

    def __repr__(self) -> str:
        return f"<WebhookCredentials of {len(self._users)} users>"

    def find(self, config: ClientConfig) -> Credential | None:
        """Who to be to a webhook: by host and port, by host alone for port 443, with `*.` for any first labels, `*`."""
        host, port = config.host_port
        for name in (f"{host}:{port}", *((host,) if port == _HTTPS else ())):
            labels = name.split(".")
            for nickname in (name, *(f"*.{'.'.join(labels[i:])}" for i in range(1, len(labels)))):
                if nickname in self._users:
                    return self._users[nickname]
        return self._users.get("*") or self._users.get(self._default)


def read_credentials(path: Path) -> WebhookCredentials:
    """Read a kubeconfig. Raises OSError, ValueError."""
    try:
        data = load_yaml(path.read_bytes())
        if not isinstance(data, dict):
            raise ValueError("it is no kubeconfig")
        users = {name: credential_of(user, path) for name, user in entries_of(data, "user").items()}
        context = entries_of(data, "context").get(text_of(data, "current-context"), {})
        return WebhookCredentials(users, text_of(context, "user"))
    except ValueError as error:
        raise ValueError(f"error loading config file {str(path)!r}: {error}") from error


def entries_of(data: Mapping[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    """What stands in a list of the file, by name. Raises ValueError."""
    given = data.get(f"{kind}s") or []
    found: dict[str, dict[str, Any]] = {}
    for entry in given if isinstance(given, list) else [given]:
        if not isinstance(entry, dict) or not isinstance(entry.get(kind) or {}, dict):
            raise ValueError(f"{kind}s is no list of named objects")
        name = text_of(entry, "name")
        if name in found:
            raise ValueError(f"duplicate name {go_quote(name)} in list of {kind}s")
        found[name] = entry.get(kind) or {}
    return found


def text_of(fields: Mapping[str, Any], key: str) -> str:
    """What stands in a field, "" for nothing. Raises ValueError."""
    value = fields.get(key)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{key} is no string")
    return value or ""


def credential_of(user: Mapping[str, Any], path: Path) -> Credential:
    """What a user in the kubeconfig at a path shows. Raises ValueError."""
    for unsupported in ("exec", "auth-provider"):
        if user.get(unsupported):
            raise ValueError(f"credentials by {unsupported} are not supported; use a token or a certificate")
    name = text_of(user, "username")
    file, impersonated = text_of(user, "tokenFile"), text_of(user, "as")
    return Credential(
        token=text_of(user, "token"),
        token_file=path.parent / file if file else None,
        basic=(name, text_of(user, "password")) if name else None,
        certificate=source_of(user, "client-certificate", path),
        key=source_of(user, "client-key", path),
        headers={"Impersonate-User": impersonated} if impersonated else {},
    )


def source_of(user: Mapping[str, Any], key: str, path: Path) -> bytes | Path | None:
    """What a field holds as base64, or the file that it names. Raises ValueError."""
    if data := text_of(user, f"{key}-data"):
        return base64.b64decode(data, validate=True)
    file = text_of(user, key)
    return path.parent / file if file else None


def content_of(source: bytes | Path) -> bytes:
    """The bytes themselves. Raises OSError."""
    return source if isinstance(source, bytes) else source.read_bytes()

"""Where extension servers learn whose certificates to accept: a ConfigMap that kube-apiserver keeps, too.

It lists the authorities of all servers on the same store, and those that a server has trusted before, until they end;
and whom front proxies may name in which headers.
"""

from __future__ import annotations

import functools
import json
import ssl
import time
from dataclasses import dataclass
from typing import Any

from watchkeeper.runtime.json_text import read_text
from watchkeeper.runtime.x509 import authorities

Object = dict[str, Any]

FILE = "client-ca-file"
PROXY_FILE = "requestheader-client-ca-file"
_LISTS = (
    "requestheader-username-headers",
    "requestheader-uid-headers",
    "requestheader-group-headers",
    "requestheader-extra-headers-prefix",
    "requestheader-allowed-names",
)
_LEFT_OUT_EMPTY = "requestheader-uid-headers"
_SLACK_SECONDS = 300.0
"""So long after its end an authority is still listed, because clocks differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """Whom a server trusts: authorities in PEM, "" for none, and the headers and names of front proxies."""

    clients: str = ""
    proxies: str = ""
    names: tuple[str, ...] = ()
    uids: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    extra_prefixes: tuple[str, ...] = ()
    allowed_names: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.clients or self.proxies)


def trust(trusted: Trust) -> Object:
    """The ConfigMap of a server."""
    ours: dict[str, str] = {}
    if trusted.proxies:
        values = trusted.names, trusted.uids, trusted.groups, trusted.extra_prefixes, trusted.allowed_names
        ours = {key: _listed(value) for key, value in zip(_LISTS, values, strict=True)}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "extension-apiserver-authentication", "namespace": "kube-system"},
        "data": _merged({}, {FILE: trusted.clients, PROXY_FILE: trusted.proxies, **ours}),
    }


def reconciled(stored: Object, expected: Object) -> Object | None:
    """The stored ConfigMap with what another trusts, None if it has it all and nothing else."""
    data = stored.get("data") or {}
    wanted = _merged(data, expected.get("data") or {})
    return None if wanted == data else {**stored, "data": wanted}


def _merged(ours: dict[str, str], theirs: dict[str, str]) -> dict[str, str]:
    clients, proxies = (combined(ours.get(key) or "", theirs.get(key) or "") for key in (FILE, PROXY_FILE))
    found = {FILE: clients} if clients else {}
    if proxies:
        found[PROXY_FILE] = proxies
        for key in _LISTS:
            values = dict.fromkeys((*_values(ours.get(key)), *_values(theirs.get(key))))
            if values or key != _LEFT_OUT_EMPTY:
                found[key] = _listed(values)
    return found


def _listed(values: Any) -> str:
    """A list in JSON as Go writes it."""
    text = json.dumps(list(values), ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _values(text: str | None) -> list[str]:
    """The values of a list; none where it is no list of texts."""
    try:
        found = read_text(text or "[]")
    except ValueError:
        return []
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def combined(ours: str, theirs: str) -> str:
    """The certificates of two PEM texts, each once; neither those that have ended nor what is no certificate."""
    if not ours and not theirs:
        return ""
    since = time.time() - _SLACK_SECONDS
    found = dict.fromkeys((*_certificates(ours), *_certificates(theirs)))
    return "".join(ssl.DER_cert_to_PEM_cert(der) for der, until in found if until > since)


@functools.lru_cache(maxsize=8)
def _certificates(text: str) -> tuple[tuple[bytes, float], ...]:
    """Certificates in DER and until when they are good."""
    # Loaded only here: a server without such authorities needs none of it.
    from cryptography import x509

    found = authorities(text.encode())
    return tuple((der, x509.load_der_x509_certificate(der).not_valid_after_utc.timestamp()) for der in found)

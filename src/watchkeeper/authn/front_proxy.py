"""Users whom a front proxy names in headers: it has authenticated them, and shows a certificate of its own."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import unquote

from watchkeeper.authn.groups import with_authenticated
from watchkeeper.request.exchange import Exchange, PeerCertificate
from watchkeeper.request.request import Request
from watchkeeper.request.user import ANONYMOUS, User

_bad_escape = re.compile("%(?![0-9A-Fa-f]{2})").search


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyHeaders:
    """Which headers tell what of a user; names and prefixes in lower case."""

    names: tuple[bytes, ...] = ()
    uids: tuple[bytes, ...] = ()
    groups: tuple[bytes, ...] = ()
    extra_prefixes: tuple[bytes, ...] = ()

    def user(self, headers: Iterable[tuple[bytes, bytes]]) -> User | None:
        """The user that headers name, without `system:authenticated`; None when they name nobody."""
        values: dict[bytes, list[str]] = {}
        for header, raw in headers:
            values.setdefault(header, []).append(raw.decode(errors="replace"))
        name = _first(values, self.names)
        if not name:
            return None
        groups = [value for header in self.groups for value in values.get(header, ()) if value]
        extra: dict[str, tuple[str, ...]] = {}
        for prefix in self.extra_prefixes:
            for header, found in values.items():
                if header.startswith(prefix):
                    key = _unescaped(header[len(prefix) :].decode("latin-1"))
                    extra[key] = (*extra.get(key, ()), *found)
        return User(name, uid=_first(values, self.uids), groups=tuple(groups), extra=extra)

    def are(self, header: bytes) -> bool:
        """Whether a header is one of these."""
        return (
            header in self.names
            or header in self.uids
            or header in self.groups
            or header.startswith(self.extra_prefixes)
        )


def proxy_headers(
    names: Iterable[str], uids: Iterable[str], groups: Iterable[str], extra_prefixes: Iterable[str]
) -> ProxyHeaders:
    """The headers that options name."""
    return ProxyHeaders(
        names=_lower(names), uids=_lower(uids), groups=_lower(groups), extra_prefixes=_lower(extra_prefixes)
    )


class Authenticator(Protocol):
    """Whoever is asked when no proxy vouches for a user."""

    def authenticate(self, request: Request) -> User | Awaitable[User | None] | None:
        """The user, None when the credentials are wrong or missing where they are needed."""
        ...


class BehindProxy:
    """Believes a front proxy, and asks another authenticator when none has sent the request.

    Whoever shows a certificate that nobody accepts, and nothing better, is not anonymous but refused.
    """

    def __init__(
        self, others: Authenticator, headers: ProxyHeaders, allowed_names: Iterable[str] = (), *, clients: bool
    ) -> None:
        """`allowed_names`: what a proxy's certificate may be called, none for anything.

        `clients` says whether certificates may be those of clients, too.
        """
        self._others = others
        self._headers = headers
        self._allowed = frozenset(allowed_names)
        self._clients = clients

    def __repr__(self) -> str:
        return f"<BehindProxy before {self._others!r}>"

    def authenticate(self, request: Request) -> User | Awaitable[User | None] | None:
        """The user, None when the credentials are wrong or missing where they are needed."""
        exchange: Exchange | None = request.scope.get("exchange")
        certificate = exchange.peer_certificate() if exchange is not None else None
        if certificate is not None and self._is_proxy(certificate):
            user = self._headers.user(request.scope["headers"])
            if user is not None:
                request.drop_headers(self._headers.are)
                return with_authenticated(user)
        refused = certificate is not None and not (
            self._is_proxy(certificate) and (certificate.is_client or not self._clients)
        )
        found = self._others.authenticate(request)
        if isinstance(found, Awaitable):
            return self._settled(request, found)
        return self._judged(request, found, refused=refused)

    def _is_proxy(self, certificate: PeerCertificate) -> bool:
        return certificate.is_proxy and (not self._allowed or certificate.common_name in self._allowed)

    async def _settled(self, request: Request, pending: Awaitable[User | None]) -> User | None:
        return self._judged(request, await pending, refused=False)

    def _judged(self, request: Request, user: User | None, *, refused: bool) -> User | None:
        if refused and user is ANONYMOUS:
            return None
        if user is not None:
            request.drop_headers(self._headers.are)
        return user


def _lower(names: Iterable[str]) -> tuple[bytes, ...]:
    return tuple(name.lower().encode() for name in names)


def _first(values: dict[bytes, list[str]], names: Iterable[bytes]) -> str:
    """The first value of the first header that has one."""
    return next((values[name][0] for name in names if name in values and values[name][0]), "")


def _unescaped(key: str) -> str:
    return key if _bad_escape(key) else unquote(key)

"""Which certificate a client is shown: the one for the name that it asks for."""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from watchkeeper.aio.certificate_names import is_address
from watchkeeper.apis.validation.names import is_dns1123_subdomain

if TYPE_CHECKING:
    from cryptography.x509 import Certificate


@dataclass(frozen=True, slots=True)
class Candidate:
    """A certificate, made ready to be shown."""

    context: ssl.SSLContext
    certificate: Certificate
    names: tuple[str, ...] = ()
    """What clients may call the server that it is for; none: what it says itself."""


class Choice:
    """Chooses among certificates as kube-apiserver does.

    A name counts before a wildcard, a name that is given before one that a certificate has, and an earlier certificate
    before a later one. Clients that name nobody are told apart by the address that they have dialed.
    """

    def __init__(self, main: Candidate, others: Sequence[Candidate]) -> None:
        self._main = main
        self._others = tuple(others)
        self._by_name: dict[str, Candidate] = {}
        for other in reversed(self._others):
            if not other.names:
                self._by_name.update((name, other) for name in _own_names(other.certificate))
        for other in reversed(self._others):
            self._by_name.update((name, other) for name in other.names)

    def context(self, name: str, address: str) -> ssl.SSLContext:
        """What to go on with; `name` is "" where the client says none."""
        return self._candidate(name.lower(), address).context

    def _candidate(self, name: str, address: str) -> Candidate:
        if not name:
            return self._by_name.get(address, self._main)
        found = self._by_name.get(name) or self._by_name.get(_wildcard(name))
        if found is not None:
            return found
        everybody = (self._main, *self._others)
        return next((each for each in everybody if _is_for(each.certificate, name)), self._main)


def choose_by_name(context: ssl.SSLContext, choice: Choice) -> None:
    """Let a context go on with another's certificate where the client asks for it."""

    def chosen(connection: ssl.SSLSocket | ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        address = connection.getsockname()[0] if isinstance(connection, ssl.SSLSocket) and not name else ""
        other = choice.context(name or "", address)
        if other is not context:
            connection.context = other

    context.sni_callback = chosen


def read_certificate(path: Path) -> Certificate:
    """The first certificate in a file. Raises OSError, ValueError."""
    from cryptography import x509

    return x509.load_pem_x509_certificate(path.read_bytes())


def _own_names(certificate: Certificate) -> Iterable[str]:
    """The names that a certificate has, without addresses: clients name none."""
    from cryptography.x509.oid import NameOID

    for attribute in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[-1:]:
        name = attribute.value
        if isinstance(name, str) and not is_address(name) and _is_domain(name):
            yield name
    yield from _dns_names(certificate)


def _dns_names(certificate: Certificate) -> list[str]:
    from cryptography import x509

    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return []
    return names.get_values_for_type(x509.DNSName)


def _is_for(certificate: Certificate, name: str) -> bool:
    """Whether clients that dial a name take a certificate."""
    return not {name, _wildcard(name)}.isdisjoint(each.lower() for each in _dns_names(certificate))


def _wildcard(name: str) -> str:
    return "*" + name[name.index(".") :] if "." in name else "*"


def _is_domain(name: str) -> bool:
    return name == "*" or not is_dns1123_subdomain(name.removeprefix("*."))

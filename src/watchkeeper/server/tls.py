"""How TLS is spoken."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from watchkeeper.runtime.x509 import authorities
from watchkeeper.server.errors import StartupError
from watchkeeper.server.http.peer import Authorities
from watchkeeper.server.openssl import prefer_fast_ciphers
from watchkeeper.server.tls_authorities import name_authorities
from watchkeeper.server.tls_files import NamedPair, TlsFiles
from watchkeeper.server.tls_names import Candidate, Choice, choose_by_name, read_certificate
from watchkeeper.server.tls_protocol import DEFAULT_PROTOCOL, TlsProtocol
from watchkeeper.server.tls_verification import let_unverified_in


@dataclass(frozen=True, slots=True)
class Tls:
    """What connections are made with."""

    context: ssl.SSLContext
    authorities: Authorities | None = None
    """Who has signed which certificates; None where clients are asked for none."""


def load_tls(files: TlsFiles) -> Tls:
    """Read all files. Raises StartupError when one is missing or wrong."""
    pairs = [NamedPair(files.cert, files.key), *files.named]
    accepting = (files.client_ca, files.proxy_ca)
    contexts = [server_context(pair.cert, pair.key, *accepting, files.protocol) for pair in pairs]
    accepted = _accepted(files)
    if accepted is not None:
        for context in contexts:
            let_unverified_in(context, accepted)
    if files.named:
        main, *others = [
            _candidate(context, pair.cert, pair.names) for context, pair in zip(contexts, pairs, strict=True)
        ]
        choose_by_name(contexts[0], Choice(main, others))
    return Tls(contexts[0], accepted)


def _accepted(files: TlsFiles) -> Authorities | None:
    """The authorities of clients and proxies, if there are any."""
    if files.client_ca is None and files.proxy_ca is None:
        return None
    clients, proxies = (
        _authorities(path) if path is not None else frozenset[bytes]() for path in (files.client_ca, files.proxy_ca)
    )
    return Authorities(clients, proxies)


def server_context(
    cert: Path,
    key: Path,
    client_ca: Path | None = None,
    proxy_ca: Path | None = None,
    protocol: TlsProtocol = DEFAULT_PROTOCOL,
) -> ssl.SSLContext:
    """A context for TLS 1.2 and 1.3, or what else the protocol says.

    With authorities clients may show certificates, which must then hold.

    Whatever certificate is in the files of authorities is one, be it a root or not.

    Raises StartupError when a file is missing or wrong.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = protocol.minimum
    try:
        context.set_ciphers(protocol.ciphers)
    except ssl.SSLError as error:
        raise StartupError(f"OpenSSL speaks none of {protocol.ciphers}") from error
    prefer_fast_ciphers(context)
    context.set_alpn_protocols(["http/1.1"])
    # One ticket per handshake lets a client resume; more would only cost bytes.
    context.num_tickets = 1
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    try:
        context.load_cert_chain(cert, key)
    except (OSError, ssl.SSLError) as error:
        raise StartupError(f"cannot use the certificate {cert} with the key {key}: {_why(error)}") from error
    accepted = [(path, of) for path, of in ((client_ca, "client"), (proxy_ca, "front proxy")) if path is not None]
    for path, of in accepted:
        context.verify_mode = ssl.CERT_OPTIONAL
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        try:
            context.load_verify_locations(path)
        except (OSError, ssl.SSLError) as error:
            raise StartupError(f"cannot use the {of} authorities in {path}: {_why(error)}") from error
    if accepted:
        name_authorities(context, [path for path, _ in accepted])
    return context


def _candidate(context: ssl.SSLContext, cert: Path, names: tuple[str, ...] = ()) -> Candidate:
    try:
        return Candidate(context, read_certificate(cert), names)
    except (OSError, ValueError) as error:
        raise StartupError(f"cannot use the certificate {cert}: {error}") from error


def _authorities(path: Path) -> frozenset[bytes]:
    try:
        return frozenset(authorities(path.read_bytes()))
    except OSError as error:
        raise StartupError(f"cannot use the authorities in {path}: {_why(error)}") from error


def _why(error: OSError) -> str:
    return error.strerror or str(error)

"""Connections to other servers, and why they do not come about in the words of Go's client."""

from __future__ import annotations

import asyncio
import ssl

from watchkeeper.aio.certificate_names import MISMATCHES, name_problem
from watchkeeper.aio.dial import addresses_of, dial_text
from watchkeeper.aio.keep_alive import keep_alive
from watchkeeper.aio.wire import Wire

_PLAIN_HTTP = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"})
"""What OpenSSL calls it when the other side does not speak TLS."""


_ALERTS = {
    "SSLV3_ALERT_BAD_CERTIFICATE": "bad certificate",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "expired certificate",
    "SSLV3_ALERT_CERTIFICATE_REVOKED": "revoked certificate",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "unknown certificate",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "handshake failure",
    "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE": "unsupported certificate",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "certificate required",
    "TLSV1_ALERT_ACCESS_DENIED": "access denied",
    "TLSV1_ALERT_DECRYPT_ERROR": "error decrypting message",
    "TLSV1_ALERT_INTERNAL_ERROR": "internal error",
    "TLSV1_ALERT_PROTOCOL_VERSION": "protocol version not supported",
    "TLSV1_ALERT_UNKNOWN_CA": "unknown certificate authority",
    "TLSV1_UNRECOGNIZED_NAME": "unrecognized name",
}
"""What Go calls the alerts of the other side, by what OpenSSL does."""
_MAX_PORT = 65535


class DialError(Exception):
    """There is no connection; the message tells why."""


class NoTls(DialError):
    """The other side does not speak TLS."""


async def connect(host: str, port: int, context: ssl.SSLContext | None, server_name: str | None) -> Wire:
    """Connect, with TLS if there is a context for it; the certificate must name `server_name`. Raises DialError."""
    if port > _MAX_PORT:  # which a loop takes modulo 65536, or has no words for
        raise DialError(f"dial tcp: address {port}: invalid port")
    try:
        loop = asyncio.get_running_loop()
        transport, wire = await loop.create_connection(Wire, host, port)
        if context is not None:
            wire.securing()
            try:
                secured = await loop.start_tls(transport, wire, context, server_hostname=server_name)
            except BaseException:
                transport.abort()
                raise
            assert secured is not None
            wire.secured(secured)
        # A watch may be silent for long, and has to end when nobody is there any more.
        keep_alive(transport.get_extra_info("socket"))
        return wire
    except ssl.SSLCertVerificationError as problem:
        why = await _certificate_problem(problem, host, port, context, server_name or host)
        raise DialError(f"tls: failed to verify certificate: x509: {why}") from problem
    except ssl.SSLError as problem:
        if problem.reason in _PLAIN_HTTP:
            raise NoTls("http: server gave HTTP response to HTTPS client") from problem
        raise DialError(os_text(problem)) from problem
    except ConnectionResetError as problem:
        raise DialError(os_text(problem)) from problem
    except OSError as problem:
        raise DialError(dial_text(await _tried(host), port, problem)) from problem
    except ValueError as problem:
        # No name that anybody could have.
        raise DialError(f"dial tcp: lookup {host}: no such host") from problem


async def connect_unix(path: str) -> Wire:
    """Connect to a socket in the file system. Raises DialError."""
    try:
        return (await asyncio.get_running_loop().create_unix_connection(Wire, path))[1]
    except OSError as problem:
        raise DialError(f"dial unix {path}: connect: {os_text(problem)}") from problem


async def _tried(host: str) -> str:
    """The address that was tried first; the name itself where it has none."""
    try:
        return (await addresses_of(host))[0]
    except ValueError:
        return host


async def _certificate_problem(
    problem: ssl.SSLCertVerificationError, host: str, port: int, context: ssl.SSLContext | None, wanted: str
) -> str:
    assert context is not None
    if problem.verify_code in MISMATCHES:
        return await name_problem(host, port, wanted, context)
    text = problem.verify_message or str(problem)
    if "self-signed" in text or "self signed" in text or "unable to get" in text:
        return "certificate signed by unknown authority"
    if "expired" in text:
        return "certificate has expired or is not yet valid"
    return text


def os_text(problem: OSError) -> str:
    """What Go says of an error of the system, as far as it says otherwise."""
    if isinstance(problem, ssl.SSLError):
        return f"remote error: tls: {_ALERTS.get(problem.reason, problem.reason or problem)}"
    if isinstance(problem, ConnectionResetError):
        return "read: connection reset by peer"
    return (problem.strerror or str(problem) or "EOF").lower()

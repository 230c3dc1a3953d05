"""etcd's and gRPC's errors in the words of `kv.errors`, and what may be done about each."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass

import grpc
from grpc.aio import AioRpcError

from watchkeeper.kv.errors import (
    AccessDenied,
    Compacted,
    Corrupt,
    FutureRevision,
    KVError,
    LeaseNotFound,
    Timeout,
    Unavailable,
    ValueTooLarge,
)
from watchkeeper.kv.limits import not_sent


class Remedy(enum.Enum):
    """What may be done after a call has failed."""

    NONE = "none"
    """Another attempt would fail alike."""

    ELSEWHERE = "elsewhere"
    """Nothing was done; another member, or a later attempt, may do it."""

    IF_HARMLESS = "if harmless"
    """It may have been done; only what changes nothing may be tried again."""

    AUTHENTICATE = "authenticate"
    """Nothing was done; a new token is needed."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed call: what to raise, and what may be done instead."""

    error: KVError
    remedy: Remedy


_OUT_OF_ROOM = (
    "compact, defragment, raise --quota-backend-bytes if need be, and disarm the alarm with `etcdctl alarm disarm`"
)

_NO_CONNECTION = "failed to connect to all addresses"

_NOT_SENT = (
    _NO_CONNECTION,
    "Connection refused",
    "DNS resolution failed",
    "Name resolution",
    "errors resolving",
    "address lookup failed",
    "empty address list",
    "no leader",
    "raft proposal dropped",
    "not capable",
    "not supported for learner",
    "too many requests",
)
"""Answers that mean the request was not taken on, by what they contain."""

_DENIED = {
    "authentication failed": "authentication failed: check username and password",
    "user name is empty": "authentication is enabled: a username and password, or a client certificate, are needed",
    "permission denied": "this user may not do that: grant its role the keys",
    "permission is not granted": "this user may not do that: grant its role the keys",
    "invalid auth management": "this user may not do that: grant its role the keys",
}


_TLS = {
    "CERTIFICATE_VERIFY_FAILED": "its certificate is of no authority that is trusted here: check the CA file",
    "Hostname Verification": "its certificate is for another name",
    "is not in peer certificate": "its certificate is for another name",
    "ALERT_BAD_CERTIFICATE": "it wants a certificate of an authority that it trusts from this client",
    "ALERT_CERTIFICATE": "it wants a certificate of an authority that it trusts from this client",
    "ALERT_UNKNOWN_CA": "it does not trust the authority of this client's certificate",
    "TSI_DATA_CORRUPTED": "it ended the connection; perhaps it wants a certificate of an authority that it trusts from"
    " this client",
    "Handshake read failed": "it does not speak TLS",
}
"""What fails before anything can be said, by what the message contains. Another member may do better."""


_SIZE = re.compile(r"\((\d+) vs\. \d+\)")
"""How large a message was that is over a limit."""


def classify(error: AioRpcError, endpoint: str) -> Failure:
    """Judge a failed call to `endpoint`."""
    return classify_text(error.code(), error.details() or "", endpoint)


def classify_text(code: grpc.StatusCode, details: str, endpoint: str) -> Failure:
    """Judge a failure by its status code and message."""
    if "has been compacted" in details:
        return Failure(Compacted(), Remedy.NONE)
    if "future revision" in details:
        return Failure(FutureRevision(), Remedy.NONE)
    if "lease not found" in details:
        return Failure(LeaseNotFound(details), Remedy.NONE)
    if "request is too large" in details:
        return Failure(ValueTooLarge(details), Remedy.NONE)
    if "larger than max" in details:
        size = _SIZE.search(details)
        return Failure(ValueTooLarge(details).saying(not_sent(int(size[1]) if size else 0)), Remedy.NONE)
    if "database space exceeded" in details:
        error = Unavailable(f"etcd {endpoint} is out of room ({details}): {_OUT_OF_ROOM}")
        return Failure(error.saying(details), Remedy.NONE)
    if "invalid auth token" in details or "revision of auth store is old" in details:
        return Failure(AccessDenied(f"etcd {endpoint}: {details}"), Remedy.AUTHENTICATE)
    for part, meaning in _DENIED.items():
        if part in details:
            # Without a name we may have been right a moment ago: authentication can be turned on at any time.
            remedy = Remedy.AUTHENTICATE if "user name is empty" in details else Remedy.NONE
            return Failure(AccessDenied(f"etcd {endpoint}: {meaning} ({details})").saying(details), remedy)
    if code is grpc.StatusCode.DATA_LOSS or "corrupt" in details:
        return Failure(Corrupt(f"etcd {endpoint}: {details}; replace the corrupt member"), Remedy.NONE)
    for part, meaning in _TLS.items():
        if part in details and _NO_CONNECTION in details:
            return Failure(AccessDenied(f"etcd {endpoint}: {meaning} ({details})"), Remedy.ELSEWHERE)
    if any(part in details for part in _NOT_SENT):
        return Failure(Unavailable(f"etcd {endpoint}: {details}"), Remedy.ELSEWHERE)
    if code is grpc.StatusCode.DEADLINE_EXCEEDED or "timed out" in details:
        return Failure(Timeout(f"etcd {endpoint}: no answer in time ({details})"), Remedy.IF_HARMLESS)
    if code is grpc.StatusCode.UNAUTHENTICATED:
        return Failure(AccessDenied(f"etcd {endpoint}: {details}"), Remedy.AUTHENTICATE)
    if code is grpc.StatusCode.PERMISSION_DENIED:
        return Failure(AccessDenied(f"etcd {endpoint}: {details}").saying(details), Remedy.NONE)
    if code in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.UNIMPLEMENTED):
        return Failure(KVError(f"etcd {endpoint} does not accept this: {details}").saying(details), Remedy.NONE)
    return Failure(Unavailable(f"etcd {endpoint}: {details or code.name}"), Remedy.IF_HARMLESS)

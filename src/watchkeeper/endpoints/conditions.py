"""What a client has already: conditions on documents that have an ETag and a date, as Go's net/http judges them."""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime

from watchkeeper.request.request import Request

_NOT_MODIFIED, _FAILED = 304, 412
_ETAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"').match
_SPACES = " \t\r\n"


_CONDITIONS = (b"if-match", b"if-none-match", b"if-modified-since", b"if-unmodified-since")


def is_conditional(request: Request) -> bool:
    """Whether a client sets conditions at all."""
    return any(request.header(name) for name in _CONDITIONS)


def judge(request: Request, etag: str, modified: float) -> int | None:
    """The status of an answer without a body, None where the document is to be sent.

    `modified` is in seconds since the epoch; dates have no fractions of them.
    """
    reading = request.method in ("GET", "HEAD")
    wanted, had = request.header(b"if-match"), request.header(b"if-none-match")
    if wanted:
        if not _lists(wanted, etag, weak=False):
            return _FAILED
    elif (limit := _date(request, b"if-unmodified-since")) is not None and int(modified) > limit:
        return _FAILED
    if had:
        if _lists(had, etag, weak=True):
            return _NOT_MODIFIED if reading else _FAILED
        return None
    since = _date(request, b"if-modified-since") if reading else None
    return _NOT_MODIFIED if since is not None and int(modified) <= since else None


def _lists(header: str, etag: str, *, weak: bool) -> bool:
    """Whether a list of tags has the one, or is `*`. What is malformed ends it."""
    rest = header.strip(_SPACES)
    while rest:
        if rest.startswith("*"):
            return True
        if not rest.startswith(","):
            found = _ETAG(rest)
            if found is None:
                return False
            if (found[0].removeprefix("W/") if weak else found[0]) == etag:
                return True
            rest = rest[found.end() :].lstrip(_SPACES)
        rest = rest.removeprefix(",").lstrip(_SPACES)
    return False


def _date(request: Request, name: bytes) -> float | None:
    text = request.header(name)
    if not text:
        return None
    try:
        return parsedate_to_datetime(text).timestamp()
    except ValueError:
        return None

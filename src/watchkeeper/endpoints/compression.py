"""Gzip for large answers, fast rather than tight: with ISA-L when the package `isal` is there, else with zlib.

ISA-L takes a sixth of zlib's time at its fastest and packs tighter; `pip install watchkeeper[fast]` brings it. Both
free the interpreter while they work.
"""

from __future__ import annotations

import functools
import zlib
from typing import Any, Protocol

GZIP_THRESHOLD = 128 * 1024
"""Bytes; smaller answers are not worth compressing (apiserver's defaultGzipThresholdBytes)."""
GZIP_HEADERS = ((b"content-encoding", b"gzip"), (b"vary", b"Accept-Encoding"))
_LEVEL = 1
_GZIP = zlib.MAX_WBITS | 16


class Compressor(Protocol):
    """Takes an answer piece by piece."""

    def compress(self, data: bytes, /) -> bytes:
        """What is ready to go out."""
        ...

    def flush(self) -> bytes:
        """The rest."""
        ...


@functools.cache
def _library() -> Any:
    try:
        from isal import isal_zlib
    except ImportError:
        return zlib
    return isal_zlib


def gzip_compressor() -> Compressor:
    """A compressor for one answer."""
    found: Compressor = _library().compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    return found


def gzip(data: bytes) -> bytes:
    """A whole answer, compressed."""
    packed: bytes = _library().compress(data, _LEVEL, _GZIP)
    return packed


def takes_gzip(accepted: str) -> bool:
    """Whether an Accept-Encoding names gzip, as it is and without a weight: `gzip;q=0` refuses it."""
    return "gzip" in accepted and any(name.strip() == "gzip" for name in accepted.split(","))


def weighs_gzip(accepted: str) -> bool:
    """Whether an Accept-Encoding gives gzip a weight above 0, as the documents that weights are read for have it."""
    for clause in accepted.split(","):
        name, *params = (part.strip() for part in clause.split(";"))
        if name.lower() == "gzip":
            return all(_weight(param.removeprefix("q=")) > 0 for param in params if param.startswith("q="))
    return False


def prefers_gzip(accepted: str) -> bool:
    """Whether an Accept-Encoding gives gzip more weight than no compression, as the library of Prometheus reads it."""
    weights = {"identity": -1.0, "gzip": -1.0}
    for clause in accepted.split(","):
        name, *params = (part.strip() for part in clause.split(";"))
        weight = next((_weight(param.removeprefix("q=")) for param in params if param.startswith("q=")), 1.0)
        for each in weights:
            if name in ("*", each):
                weights[each] = max(weights[each], weight)
    return weights["gzip"] > max(weights["identity"], 0.0)


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0

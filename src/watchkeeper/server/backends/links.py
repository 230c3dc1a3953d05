"""Where pages and answers behind a proxy point to, as seen from before it."""

from __future__ import annotations

import posixpath
import re
from urllib.parse import unquote, urlsplit

from watchkeeper.server.passing.headers import escaped_path

_bad_escape = re.compile(r"%(?![0-9A-Fa-f]{2})").search
_control = re.compile(r"[\x00-\x1f\x7f]").search


class Links:
    """Leads what stands for a path on the backend through the proxy."""

    def __init__(self, prefix: str, backend: str, asked: str) -> None:
        """`prefix` is the path of the proxy, not escaped.

        `backend` is whom the request is passed on to, `asked` whom the client asked: hosts, with a port if it is told.
        """
        self._prefix = prefix
        self._backend = backend
        self._asked = asked

    def __repr__(self) -> str:
        return f"<Links to {self._backend} by {self._prefix}>"

    def moved(self, link: str) -> str:
        """A link as it has to be for the client. Raises ValueError for one that Go's net/url does not read."""
        if _control(link):
            raise ValueError(f'parse "{link}": net/url: invalid control character in URL')
        parts = urlsplit(link)
        host = parts.netloc.rpartition("@")[2]
        if (bad := _bad_escape(parts.path)) is not None:
            raise ValueError(f'parse "{link}": invalid URL escape "{parts.path[bad.start() : bad.start() + 3]}"')
        path = unquote(parts.path, errors="surrogateescape")
        if not path.startswith("/") or host not in ("", self._backend, self._asked):
            return link
        begins = f"{parts.scheme}://{parts.netloc}" if host and host == self._asked else ""
        ends = link[len(link.partition("?")[0].partition("#")[0]) :]
        if path.startswith(self._prefix):
            return f"{begins}{parts.path}{ends}"
        there = posixpath.normpath(f"{self._prefix}/{path.lstrip('/')}")
        if path.endswith("/"):
            there += "/"
        return f"{begins}{_escaped(there)}{ends}"


def _escaped(path: str) -> str:
    return escaped_path(path) if path.isascii() else escaped_path_of_bytes(path.encode("utf-8", "surrogateescape"))


def escaped_path_of_bytes(path: bytes) -> str:
    """The same for a path that may be no UTF-8."""
    return "".join(
        chr(each) if each < 0x80 and escaped_path(chr(each)) == chr(each) else f"%{each:02X}" for each in path
    )

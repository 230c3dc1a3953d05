"""Bearer tokens that do not change while the server runs: the administrator's, and those of a token file."""

from __future__ import annotations

import csv
import hashlib
import logging
from collections.abc import Mapping
from pathlib import Path

from watchkeeper.request.user import User

log = logging.getLogger(__name__)


class TokenFileError(ValueError):
    """A token file that cannot be read; the message names the file and the line."""


def token_digest(token: str) -> bytes:
    """What a token is known by: how long a look-up by digest takes tells nobody anything about the token."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


class StaticTokens:
    """Users by token. Only digests are kept."""

    __slots__ = ("_users",)

    def __init__(self, users: Mapping[str, User]) -> None:
        self._users = {token_digest(token): user for token, user in users.items()}

    def __repr__(self) -> str:
        return f"<StaticTokens of {len(self._users)} users>"

    def authenticate_token(self, token: str) -> User | None:
        """The user whose token it is, None when it is nobody's."""
        return self._users.get(token_digest(token))


def read_token_file(path: Path) -> dict[str, User]:
    """Read kube-apiserver's CSV format: token, user name, uid and, optionally, quoted groups separated by commas.

    Empty tokens are skipped, the last of two equal ones holds; both are logged. Raises TokenFileError, OSError.
    """
    users: dict[str, User] = {}
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.reader(file, skipinitialspace=True, strict=True)
        try:
            for number, record in enumerate(reader, 1):
                if record:
                    _add_record(users, record, path, number)
        except csv.Error as error:
            raise TokenFileError(f"token file {path}, line {reader.line_num}: {error}") from error
    return users


def _add_record(users: dict[str, User], record: list[str], path: Path, number: int) -> None:
    if len(record) < 3:
        found = len(record)
        raise TokenFileError(
            f"token file {path} must have at least 3 columns (token, user name, user uid), record {number} has {found}"
        )
    token, name, uid, *rest = record
    if not token:
        log.warning("token file %s: record %d has an empty token and is skipped", path, number)
        return
    if token in users:
        log.warning("token file %s: record %d repeats a token; the later record holds", path, number)
    groups = tuple(rest[0].split(",")) if rest else ()
    users[token] = User(name, uid=uid, groups=groups)

"""The administrator's bearer token."""

from __future__ import annotations

import secrets
from pathlib import Path

from watchkeeper.request.user import SYSTEM_MASTERS, User
from watchkeeper.server.errors import StartupError
from watchkeeper.server.files import write_private

FILE = "admin.token"
ADMIN = User("kubernetes-admin", groups=(SYSTEM_MASTERS,))


def admin_token(directory: Path, given: str = "") -> str:
    """The token that was given, else the one kept in the directory, else a new one that is kept there from now on."""
    if given:
        return given
    path = directory / FILE
    try:
        kept = path.read_text("ascii").strip()
    except FileNotFoundError:
        kept = ""
    except (OSError, UnicodeDecodeError) as error:
        raise StartupError(f"cannot read {path}: {error}") from error
    if kept:
        return kept
    token = secrets.token_hex(32)  # no dash in front, which command lines would take for an option
    write_private(path, token.encode() + b"\n")
    return token

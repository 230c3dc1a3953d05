"""What keeps a server from starting."""

from __future__ import annotations


class StartupError(Exception):
    """The server cannot start; the message is one line that says why and what helps."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))  # parsers, such as that of YAML, tell more than a line

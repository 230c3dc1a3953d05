"""What keeps a server from starting."""

from __future__ import annotations


class StartupError(Exception):
    """The server cannot start; the message is one line that says why and what helps."""

    def __init__(self, message: str) -> None:
        # Parsers, such as that of YAML, tell more than a line.
        super().__init__(" ".join(line.strip() for line in message.strip().splitlines()))

"""No encryption."""

from __future__ import annotations

from watchkeeper.storage.value.interface import TransformError

ENCRYPTED = b"k8s:enc:"
"""What every encrypted value begins with, and no JSON or protobuf does."""


class Identity:
    """Leaves values as they are, and refuses encrypted ones: they are somebody else's to read."""

    needs_keys = False

    def __repr__(self) -> str:
        return "<Identity>"

    def from_storage(self, value: bytes, context: bytes) -> tuple[bytes, bool]:
        """The value, if it is not encrypted."""
        if value.startswith(ENCRYPTED):
            raise TransformError("identity transformer tried to read encrypted data")
        return value, False

    def to_storage(self, value: bytes, context: bytes) -> bytes:
        """The value."""
        return value

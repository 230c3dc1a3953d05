"""Conflicts: fields that an applier would change although others own them, and how a client is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from watchkeeper.meta.errors import ApiError
from watchkeeper.runtime.managedfields.entries import ManagerId
from watchkeeper.runtime.managedfields.path import Path, path_text


class Conflict(NamedTuple):
    """One field that somebody else owns."""

    manager: ManagerId
    path: Path


class Conflicts(Exception):
    """An apply that was not forced met fields of others."""

    def __init__(self, conflicts: Sequence[Conflict]) -> None:
        super().__init__(f"{len(conflicts)} conflicts")
        self.conflicts = tuple(conflicts)

    def to_api_error(self) -> ApiError:
        """The 409 with one cause for each field, in the words of the reference."""
        causes = [
            {
                "reason": "FieldManagerConflict",
                "message": f"conflict with {conflict.manager.described()}",
                "field": path_text(conflict.path),
            }
            for conflict in self.conflicts
        ]
        return ApiError(409, "Conflict", self._message(), details={"causes": causes})

    def _message(self) -> str:
        if len(self.conflicts) == 1:
            manager, path = self.conflicts[0]
            return f"Apply failed with 1 conflict: conflict with {manager.described()}: {path_text(path)}"
        lines: list[str] = []
        for manager in sorted({c.manager for c in self.conflicts}, key=ManagerId.text):
            lines.append(f"conflicts with {manager.described()}:")
            lines += (f"- {path_text(c.path)}" for c in self.conflicts if c.manager == manager)
        return f"Apply failed with {len(self.conflicts)} conflicts: " + "\n".join(lines)

"""Copies of JSON values."""

from __future__ import annotations

from typing import Any


def copied(value: Any) -> Any:
    """A value that shares no object or list with the one given; their members and order are the same."""
    if isinstance(value, dict):
        return {name: copied(member) for name, member in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value

"""The rules of file paths within volumes and containers."""

from __future__ import annotations

from watchkeeper.meta.field import FieldError, invalid

FILE_MODE = "must be a number between 0 and 0777 (octal), both inclusive"


def has_backsteps(path: str) -> bool:
    """Whether a path goes up a directory."""
    return ".." in path and ".." in path.split("/")


def validate_no_backsteps(value: str, path: str) -> list[FieldError]:
    """A path may not go up."""
    return [invalid(path, value, "must not contain '..'")] if has_backsteps(value) else []


def validate_local_descending_path(value: str, path: str) -> list[FieldError]:
    """A path must be relative and may not go up."""
    errors: list[FieldError] = []
    if value.startswith("/"):
        errors.append(invalid(path, value, "must be a relative path"))
    return errors + validate_no_backsteps(value, path)


def validate_local_non_reserved_path(value: str, path: str) -> list[FieldError]:
    """A path must also not start with two dots, which are reserved for the bookkeeping of volumes."""
    errors = validate_local_descending_path(value, path)
    if value.startswith("..") and not value.startswith("../"):
        errors.append(invalid(path, value, "must not start with '..'"))
    return errors


def validate_file_mode(mode: int | None, path: str) -> list[FieldError]:
    """Permission bits, if there are any."""
    if mode is None or 0 <= mode <= 0o777:
        return []
    return [invalid(path, mode, FILE_MODE)]

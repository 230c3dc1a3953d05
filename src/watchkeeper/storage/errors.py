"""What storage can refuse. A closed tree; the registry translates it into API errors at one place."""

from __future__ import annotations

from collections.abc import Sequence


class StorageError(Exception):
    """Any failure of storage. `key` is the object's key, "" when it is about none in particular."""

    def __init__(self, message: str, key: str = "") -> None:
        super().__init__(message)
        self.key = key


class KeyExists(StorageError):
    """Create found the key taken."""


class KeyNotFound(StorageError):
    """There is no such key."""


class ResourceVersionConflict(StorageError):
    """The object changed again and again while it was being updated, or is not at the version asked for."""


class PreconditionFailed(StorageError):
    """A uid or resourceVersion precondition does not hold on the latest state. The message is for the client."""


class InvalidRequest(StorageError):
    """The options make no sense: a malformed resource version, continue token, … The message is for the client."""


class InvalidResourceVersion(InvalidRequest):
    """A resource version that is no number; `fault` says so without telling what asks for one."""

    def __init__(self, fault: str) -> None:
        super().__init__(f"invalid resource version: {fault}")
        self.fault = fault


class TooLargeResourceVersion(StorageError):
    """The version asked for has not been reached in time. Ask again after `retry_after` seconds, 0 if nobody knows."""

    def __init__(self, requested: int, current: int, retry_after: int = 1) -> None:
        super().__init__(f"Too large resource version: {requested}, current: {current}")
        self.requested, self.current, self.retry_after = requested, current, retry_after


class Expired(StorageError):
    """The version asked for is compacted. `continue_token` goes on, inconsistently, where an expired list stopped."""

    def __init__(self, message: str, continue_token: str = "") -> None:
        super().__init__(message)
        self.continue_token = continue_token


class NotReady(StorageError):
    """A cache is still starting and the request would be costly without it; try again after `retry_after` seconds."""

    def __init__(self, message: str, retry_after: int = 1) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Unreachable(StorageError):
    """The key-value store does not answer."""


class Refused(Unreachable):
    """The key-value store answers, but refuses, and will again. The message is what it said, and for the client."""


class ReadOnly(StorageError):
    """The key-value store was opened for reading only."""


class StorageTimeout(StorageError):
    """The deadline passed; a write may or may not have taken effect."""


class CorruptObject(StorageError):
    """What is stored under `key` cannot be decrypted or decoded.

    `cause` says what is wrong with it, `fault` also of which of the two kinds that is; the message names the key too.
    """

    def __init__(self, cause: str, key: str = "", *, revision: int = 0, decrypted: bool = True) -> None:
        """`decrypted`: what could not be read is the object, not its encryption."""
        what = "object not decodable" if decrypted else "data from the storage is not transformable"
        self.fault = f"{what} revision={revision}: {cause}"
        super().__init__(
            f"StorageError: corrupt object, Code: 7, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {self.fault}",
            key,
        )
        self.cause, self.revision, self.decrypted = cause, revision, decrypted


class NotOfItsKind(CorruptObject):
    """An object is not what its kind is now: its version is gone, or a resource in it is none. Only `cause` is told."""


class CorruptDeletion(CorruptObject):
    """An object went that could not be read, so nobody can be shown what it was."""

    def __init__(self, last: CorruptObject) -> None:
        super().__init__(last.cause, last.key, revision=last.revision, decrypted=last.decrypted)
        self.args = (f"saw a DELETED event, but object data is corrupt - {last.fault}",)


class CorruptObjects(StorageError):
    """A list met objects that cannot be decrypted or decoded. `errors` are up to a hundred of them, in key order."""

    def __init__(self, errors: Sequence[CorruptObject], *, truncated: bool = False) -> None:
        more = " and more" if truncated else ""
        super().__init__(f"unable to decrypt or decode {len(errors)}{more} objects: " + "; ".join(map(str, errors)))
        self.errors, self.truncated = tuple(errors), truncated


class ObjectTooLarge(StorageError):
    """The encoded object is over the key-value store's limit; `said`: its own words, if it has some."""

    def __init__(self, message: str, key: str = "", *, said: str = "") -> None:
        super().__init__(message, key)
        self.said = said

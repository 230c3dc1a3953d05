"""Errors of the key-value store as errors of storage: translated here and nowhere else."""

from __future__ import annotations

from watchkeeper.kv import errors as kv
from watchkeeper.storage import errors

LIST_EXPIRED = "The resourceVersion for the provided list is too old."
WATCH_EXPIRED = "The resourceVersion for the provided watch is too old."
CONTINUE_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


def translate(error: kv.KVError, key: str = "", *, expired: str = LIST_EXPIRED) -> errors.StorageError:
    """The storage error for a failed operation on `key`. `expired` words what is said of compacted revisions."""
    if isinstance(error, kv.ValueTooLarge):
        return errors.ObjectTooLarge(f"the object is too large to be stored: {error}", key, said=error.said)
    if error.said:
        return errors.Refused(error.said, key)
    match error:
        case kv.Compacted():
            return errors.Expired(expired)
        case kv.ReadOnly():
            return errors.ReadOnly(str(error), key)
        case kv.Timeout():
            return errors.StorageTimeout(f"request to the key-value store did not complete in time: {error}", key)
        case kv.Unavailable() | kv.Closed():
            return errors.Unreachable(f"the key-value store is unavailable: {error}", key)
        case kv.Corrupt():
            return errors.CorruptObject(
                f"the key-value store cannot read back what it holds: {error}", key, decrypted=False
            )
    return errors.StorageError(str(error), key)

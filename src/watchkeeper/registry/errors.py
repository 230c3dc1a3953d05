"""Storage errors as API errors: the one place where they are translated."""

from __future__ import annotations

from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.storage import errors as storage

OPTIMISTIC_LOCK_ERROR = "the object has been modified; please apply your changes to the latest version and try again"


STORE_READ_ERROR = "StorageReadError"
"""The reason of errors that tell of objects which cannot be decrypted or decoded."""


_NOT_CACHED = frozenset({GroupResource("", "events"), GroupResource("events.k8s.io", "events")})
"""What the reference reads from its database."""


def to_api_error(error: storage.StorageError, resource: GroupResource, name: str, verb: str) -> ApiError:
    """What a client is told about a storage error met while doing `verb` on an object (name "" for collections)."""
    match error:
        case storage.KeyNotFound():
            return errors.not_found(resource, name)
        case storage.KeyExists():
            return errors.already_exists(resource, name)
        case storage.ResourceVersionConflict():
            return errors.conflict(resource, name, OPTIMISTIC_LOCK_ERROR)
        case storage.PreconditionFailed():
            why = f"StorageError: invalid object, Code: 4, Key: {error.key}, ResourceVersion: 0"
            return errors.conflict(resource, name, f"{why}, AdditionalErrorMsg: {error}")
        case storage.InvalidResourceVersion() if verb == "watch" or (verb == "get" and resource not in _NOT_CACHED):
            # Only who gets past the cache is told whose fault it is: the reference has no better words here.
            return ApiError(500, "", error.fault)
        case storage.InvalidRequest():
            return errors.bad_request(str(error))
        case storage.TooLargeResourceVersion():
            # A database says at once how far it is, and not when it will be further.
            wait = 0 if resource in _NOT_CACHED and verb != "watch" else error.retry_after
            return errors.too_large_resource_version(error.requested, error.current, wait)
        case storage.Expired():
            expired = errors.resource_expired(str(error))
            if error.continue_token:
                expired.continue_token = error.continue_token
            return expired
        case storage.NotReady():
            return errors.too_many_requests(str(error), error.retry_after)
        case storage.ObjectTooLarge():
            return errors.ObjectTooLarge(error.said) if error.said else errors.ObjectTooLarge()
        case storage.ReadOnly():
            return errors.forbidden(resource, name, str(error))
        case storage.Refused():
            return ApiError(500, "", str(error))
        case storage.StorageTimeout() if verb != "list":
            # A write may have taken place, so nobody is told to try again.
            return errors.timeout("request did not complete within requested timeout - context deadline exceeded")
        case storage.StorageTimeout() | storage.Unreachable():
            return errors.server_timeout(resource, verb, 2)
        case storage.CorruptDeletion():
            return ApiError(500, STORE_READ_ERROR, str(error))
        case storage.NotOfItsKind():
            return ApiError(500, "", error.cause)
        case storage.CorruptObject():
            return errors.internal_error(str(error))
        case storage.CorruptObjects():
            first = error.errors[0] if error.errors else None
            if isinstance(first, storage.NotOfItsKind):
                return ApiError(500, "", first.cause)
            return _unreadable(error, resource)
    return errors.internal_error(str(error))


def _unreadable(error: storage.CorruptObjects, resource: GroupResource) -> ApiError:
    """What a list answers that met broken objects: one cause for each of them."""
    causes = [{"reason": "UnexpectedServerResponse", "message": str(each), "field": each.key} for each in error.errors]
    if error.truncated:
        causes.append({"reason": "FieldValueTooMany", "message": "too many errors, the list is truncated"})
    details = {"name": "list", "group": resource.group, "kind": resource.resource, "causes": causes}
    return ApiError(
        500,
        STORE_READ_ERROR,
        f"failed to read one or more {resource} from the storage",
        details={name: value for name, value in details.items() if value},
    )

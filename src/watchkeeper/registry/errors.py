"""Storage errors as API errors: the one place where they are translated."""

from __future__ import annotations

from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.storage import errors as storage

OPTIMISTIC_LOCK_ERROR = "the object has been modified; please apply your changes to the latest version and try again"


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
            return errors.conflict(resource, name, str(error))
        case storage.InvalidRequest():
            return errors.bad_request(str(error))
        case storage.TooLargeResourceVersion():
            return errors.too_large_resource_version(error.requested, error.current, error.retry_after)
        case storage.Expired():
            expired = errors.resource_expired(str(error))
            if error.continue_token:
                expired.continue_token = error.continue_token
            return expired
        case storage.NotReady():
            return errors.too_many_requests(str(error), error.retry_after)
        case storage.ObjectTooLarge():
            return errors.request_entity_too_large(str(error))
        case storage.StorageTimeout() | storage.Unreachable():
            return errors.server_timeout(resource, verb, 2)
        case storage.CorruptObject():
            return errors.internal_error(str(error))
    return errors.internal_error(str(error))

"""API errors: a Status, its HTTP code, and the constructors that give the reference's words.

Whatever goes wrong above the storage layer ends as one of these; the endpoints write them out unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from watchkeeper.meta.field import FieldError, aggregate, go_quote
from watchkeeper.meta.gvk import GroupKind, GroupResource


class ApiError(Exception):
    """A failure with the Status that tells a client about it."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: dict[str, Any] | None = None,
        headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.headers = tuple(headers)
        """Further response headers, such as Retry-After."""
        self.continue_token = ""
        """For a list whose version is gone: where to go on, told in the Status' metadata."""
        self.metadata: dict[str, Any] = {}
        """What else is told there: a webhook's Status may say something."""
        self.outcome = "Failure"
        """The `status` of the Status."""
        self.faults: tuple[FieldError, ...] = ()
        """Of an invalid object: what is wrong with it."""

    def status(self) -> dict[str, Any]:
        """The metav1.Status to send."""
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {"continue": self.continue_token} if self.continue_token else self.metadata,
            "status": self.outcome,
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body


def _details(name: str = "", group: str = "", kind: str = "", **more: Any) -> dict[str, Any]:
    details: dict[str, Any] = {}
    if name:
        details["name"] = name
    if group:
        details["group"] = group
    if kind:
        details["kind"] = kind
    details.update({k: v for k, v in more.items() if v})
    return details


def not_found(resource: GroupResource, name: str) -> ApiError:
    """404: there is no such object."""
    return ApiError(
        404,
        "NotFound",
        f"{resource} {go_quote(name)} not found",
        details=_details(name, resource.group, resource.resource),
    )


def already_exists(resource: GroupResource, name: str) -> ApiError:
    """409: the name is taken."""
    return ApiError(
        409,
        "AlreadyExists",
        f"{resource} {go_quote(name)} already exists",
        details=_details(name, resource.group, resource.resource),
    )


def generate_name_conflict(resource: GroupResource, name: str) -> ApiError:
    """409: several generated names were all taken."""
    return ApiError(
        409,
        "AlreadyExists",
        f"{resource} {go_quote(name)} already exists, the server was not able to generate a unique name for the object",
        details=_details(name, resource.group, resource.resource, retryAfterSeconds=1),
        headers=[(b"retry-after", b"1")],
    )


def conflict(resource: GroupResource, name: str, why: str) -> ApiError:
    """409: the object is not in the state the request relied on."""
    return ApiError(
        409,
        "Conflict",
        f"Operation cannot be fulfilled on {resource} {go_quote(name)}: {why}",
        details=_details(name, resource.group, resource.resource),
    )


def invalid(kind: GroupKind, name: str, errors: Sequence[FieldError]) -> ApiError:
    """422: the object breaks rules; one cause for each."""
    causes = [e.cause() for e in errors]
    error = ApiError(
        422,
        "Invalid",
        f"{kind} {go_quote(name)} is invalid: {aggregate(errors)}" if errors else f"{kind} {go_quote(name)} is invalid",
        details=_details(name, kind.group, kind.kind, causes=causes),
    )
    error.faults = tuple(errors)
    return error


def bad_request(message: str) -> ApiError:
    """400: the request cannot be understood."""
    return ApiError(400, "BadRequest", message)


def unauthorized(message: str = "Unauthorized") -> ApiError:
    """401: nobody knows who is asking."""
    return ApiError(401, "Unauthorized", message)


def forbidden(resource: GroupResource, name: str, why: str) -> ApiError:
    """403: refused to this user, or at all."""
    if not resource.resource:
        message = f"forbidden: {why}"
    elif name:
        message = f"{resource} {go_quote(name)} is forbidden: {why}"
    else:
        message = f"{resource} is forbidden: {why}"
    return ApiError(403, "Forbidden", message, details=_details(name, resource.group, resource.resource))


def method_not_supported(resource: GroupResource, action: str) -> ApiError:
    """405: the resource has no such verb."""
    return ApiError(
        405,
        "MethodNotAllowed",
        f'{action} is not supported on resources of kind "{resource}"',
        details=_details("", resource.group, resource.resource),
    )


def gone(message: str) -> ApiError:
    """410: what was asked for existed once."""
    return ApiError(410, "Gone", message)


def resource_expired(message: str) -> ApiError:
    """410: the resource version is no longer kept; list again."""
    return ApiError(410, "Expired", message)


def request_entity_too_large(message: str) -> ApiError:
    """413: the body is over the limit."""
    return ApiError(413, "RequestEntityTooLarge", f"Request entity too large: {message}")


class ObjectTooLarge(ApiError):
    """500: the encoded object is larger than the store takes, in the words that clients know from etcd."""

    def __init__(self, message: str = "etcdserver: request is too large") -> None:
        super().__init__(500, "", message)


def unsupported_media_type(message: str) -> ApiError:
    """415: the body's type is not one the kind takes."""
    return ApiError(415, "UnsupportedMediaType", message)


def not_acceptable(message: str) -> ApiError:
    """406: no representation the client accepts."""
    return ApiError(406, "NotAcceptable", message)


def too_many_requests(message: str, retry_after: int) -> ApiError:
    """429: come back after `retry_after` seconds."""
    return ApiError(
        429,
        "TooManyRequests",
        message,
        details=_details(retryAfterSeconds=retry_after),
        headers=[(b"retry-after", str(retry_after).encode())],
    )


def internal_error(message: str) -> ApiError:
    """500: a fault of the server."""
    return ApiError(
        500,
        "InternalError",
        f"Internal error occurred: {message}",
        details={"causes": [{"message": message}]},
    )


def service_unavailable(message: str) -> ApiError:
    """503: not now."""
    return ApiError(503, "ServiceUnavailable", message)


def timeout(message: str, retry_after: int = 0) -> ApiError:
    """504: the time for this request is over."""
    headers = [(b"retry-after", str(retry_after).encode())] if retry_after else []
    return ApiError(
        504, "Timeout", f"Timeout: {message}", details=_details(retryAfterSeconds=retry_after), headers=headers
    )


def server_timeout(resource: GroupResource, operation: str, retry_after: int) -> ApiError:
    """500: the operation could not be completed in time; try again."""
    return ApiError(
        500,
        "ServerTimeout",
        f"The {operation} operation against {resource} could not be completed at this time, please try again.",
        details=_details(operation, resource.group, resource.resource, retryAfterSeconds=retry_after),
        headers=[(b"retry-after", str(retry_after).encode())],
    )


def too_large_resource_version(requested: int, current: int, retry_after: int) -> ApiError:
    """504: the version asked for has not been seen yet."""
    message = f"Too large resource version: {requested}, current: {current}"
    error = timeout(message, retry_after)
    assert error.details is not None
    error.details["causes"] = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    return error

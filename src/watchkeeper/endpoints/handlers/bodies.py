"""Bodies, read: objects, patches, applied configurations, delete options."""

from __future__ import annotations

from typing import Any

import orjson

from watchkeeper.apis.protobuf import object_in
from watchkeeper.endpoints.negotiation import PROTOBUF, YAML
from watchkeeper.endpoints.params import WriteParams
from watchkeeper.endpoints.scope import Scope
from watchkeeper.meta.errors import ApiError, bad_request
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.request.request import Request
from watchkeeper.runtime.codec import check_strict, check_version, decode_body, decode_options, unrecognized
from watchkeeper.runtime.protobuf import ProtobufError, read_envelope
from watchkeeper.runtime.raw_json import mark, mark_as_written, sorted_text
from watchkeeper.runtime.strict import warnings_of
from watchkeeper.runtime.utf8 import text_of

Object = dict[str, Any]

DELETE_OPTIONS = GroupVersionKind("", "v1", "DeleteOptions")


_CUSTOM_SCALE_REFUSED = (
    'no kind is registered for the type v1.Scale in scheme "pkg/apiserver/customresource_handler.go:781"'
)
"""All that the reference says of a Scale that does not decode, as it looks for the name among the custom kinds."""


def read_object(request: Request, scope: Scope, body: bytes, media_type: str, params: WriteParams) -> Object:
    """The object that a POST or PUT carries, decoded and defaulted at the scope's version.

    Raises a 400 for what does not decode, and for unknown or repeated fields when fieldValidation is Strict; with Warn
    they become warnings.
    """
    try:
        return _read_object(request, scope, body, media_type, params)
    except ApiError:
        if scope.kind.builtin and scope.of_custom:
            raise bad_request(_CUSTOM_SCALE_REFUSED) from None
        raise


def _read_object(request: Request, scope: Scope, body: bytes, media_type: str, params: WriteParams) -> Object:
    strict = params.field_validation != "Ignore" and media_type != PROTOBUF
    if media_type == PROTOBUF:
        try:
            envelope = read_envelope(body)
        except ProtobufError as error:
            raise unrecognized(scope.kind, body, str(error) if body else "empty data") from None
        gvk = scope.kind.gvk
        try:
            body = as_text(envelope, gvk)
        except ProtobufError as error:
            text = f'{gvk.kind} in version "{gvk.version}" cannot be handled as a {gvk.kind}: {error}'
            raise bad_request(text) from None
    decoded = decode_body(scope.services.scheme, scope.kind, body, yaml=media_type == YAML, strict=strict)
    if decoded.errors:
        if params.field_validation == "Strict":
            check_strict(decoded, scope.kind)
        for text in warnings_of(decoded.errors):
            request.warn(text)
    check_version(decoded, scope.kind)
    if request.observer is not None:
        request.observer.decoded(decoded.obj)
    if scope.raw_paths:
        if media_type == YAML:
            mark(decoded.obj, scope.raw_paths, sorted_text)
        else:
            mark_as_written(decoded.obj, scope.raw_paths, text_of(body))
    return decoded.obj


def read_delete_options(body: bytes, media_type: str, scope: Scope) -> Object:
    """DeleteOptions as sent with a DELETE, whatever group and version they say they are of. Raises a 400."""
    kind = scope.services.scheme.kind(DELETE_OPTIONS)
    if media_type == PROTOBUF:
        try:
            body = as_text(read_envelope(body), DELETE_OPTIONS)
        except ProtobufError as error:
            raise bad_request(str(error)) from None
    return decode_options(kind, body, yaml=media_type == YAML)


def as_text(envelope: tuple[str, str, bytes], expected: GroupVersionKind) -> bytes:
    """An object in protobuf as JSON; what it does not say of its kind and version is taken to be as expected.

    Of another kind that does not decode no more is told than which it is. Raises ProtobufError.
    """
    api_version, kind, message = envelope
    kind, api_version = kind or expected.kind, api_version or expected.api_version
    try:
        return orjson.dumps(object_in(api_version, kind, message))
    except (ProtobufError, orjson.JSONEncodeError) as error:
        if (api_version, kind) == (expected.api_version, expected.kind):
            raise ProtobufError(str(error)) from None
        return orjson.dumps({"kind": kind, "apiVersion": api_version})

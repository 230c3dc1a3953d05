"""Bodies, read: objects, patches, applied configurations, delete options."""

from __future__ import annotations

from typing import Any

from watchkeeper.endpoints.negotiation import YAML
from watchkeeper.endpoints.params import WriteParams
from watchkeeper.endpoints.scope import Scope
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.request.request import Request
from watchkeeper.runtime.codec import check_strict, check_version, decode_body
from watchkeeper.runtime.strict import warnings_of

Object = dict[str, Any]

DELETE_OPTIONS = GroupVersionKind("", "v1", "DeleteOptions")


def read_object(request: Request, scope: Scope, body: bytes, media_type: str, params: WriteParams) -> Object:
    """The object that a POST or PUT carries, decoded and defaulted at the scope's version.

    Raises a 400 for what does not decode, and for unknown or repeated fields when fieldValidation is Strict; with Warn
    they become warnings.
    """
    strict = params.field_validation != "Ignore"
    decoded = decode_body(scope.services.scheme, scope.kind, body, yaml=media_type == YAML, strict=strict)
    if decoded.errors:
        if params.field_validation == "Strict":
            check_strict(decoded, scope.kind)
        for text in warnings_of(decoded.errors):
            request.warn(text)
    check_version(decoded, scope.kind)
    return decoded.obj


def read_delete_options(body: bytes, media_type: str, scope: Scope) -> Object:
    """DeleteOptions as sent with a DELETE: of the group asked or of meta.k8s.io. Raises a 400."""
    kind = scope.services.scheme.kind(DELETE_OPTIONS)
    decoded = decode_body(scope.services.scheme, kind, body, yaml=media_type == YAML)
    return decoded.obj

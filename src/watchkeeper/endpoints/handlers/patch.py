"""PATCH: JSON patch, JSON merge patch, strategic merge patch, and server-side apply."""

from __future__ import annotations

from typing import Any

import orjson

from watchkeeper.admission.interface import Operation
from watchkeeper.endpoints.handlers import patches
from watchkeeper.endpoints.handlers.common import context
from watchkeeper.endpoints.handlers.storing import store_update
from watchkeeper.endpoints.handlers.update import check_name
from watchkeeper.endpoints.handlers.write import Admission, expected_namespace, manager_of
from watchkeeper.endpoints.negotiation import negotiate
from watchkeeper.endpoints.params import WriteParams, read_write_params
from watchkeeper.endpoints.render import finish, renderer_for
from watchkeeper.endpoints.response import Response
from watchkeeper.endpoints.scope import APPLY_PATCH, STRATEGIC_PATCH, Scope
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import invalid
from watchkeeper.meta.gvk import GroupKind
from watchkeeper.registry.metadata import ensure_namespace, metadata_of
from watchkeeper.registry.rest import UpdateOptions
from watchkeeper.request.request import Request
from watchkeeper.runtime.patch import StrategicPatch
from watchkeeper.runtime.scheme import DecodeError
from watchkeeper.runtime.strict import in_path_order, strict_text, warnings_of
from watchkeeper.storage.interface import StoredObject

Object = dict[str, Any]


async def patch(request: Request, scope: Scope) -> Response:
    """Apply a patch to the current state, again and again until no other writer interferes."""
    patch_type = request.header(b"content-type").partition(";")[0]
    if patch_type not in scope.patch_types:
        raise _unsupported(scope)
    accepted = negotiate(request)
    body = await request.body(scope.services.max_body_bytes)
    apply = patch_type == APPLY_PATCH
    params = read_write_params(request, "PatchOptions", apply=apply)
    admission = Admission(request, scope, params)
    patcher: _Patch = (_Apply if apply else _Merge)(request, scope, params, admission, body, patch_type)
    options = UpdateOptions(
        dry_run=params.dry_run,
        force_allow_create=apply and not scope.subresource,
        validate_create=admission.validate_create(authorize=True),
        validate_update=admission.validate_update(),
    )
    ctx, name = context(request, scope), request.info.name
    if apply:
        result, created = await scope.store.update(ctx, name, patcher, options)
    else:
        result, created = await store_update(scope, ctx, name, patcher, options)
    renderer = renderer_for(scope, accepted, request.param("includeObject"))
    return finish(renderer.one(result), accepted, 201 if created else 200)


def _unsupported(scope: Scope) -> ApiError:
    if not scope.kind.builtin:
        words = "the body of the request was in an unknown format - accepted media types include"
        return errors.unsupported_media_type(f"{words}: {', '.join(scope.patch_types)}")
    error = errors.unsupported_media_type("415: Unsupported Media Type")
    error.details = {}
    return error


class _Patch:
    """A patch as a function of the current state."""

    uid: str | None = None

    def __init__(
        self,
        request: Request,
        scope: Scope,
        params: WriteParams,
        admission: Admission,
        body: bytes,
        patch_type: str,
    ) -> None:
        self.request = request
        self.scope = scope
        self.params = params
        self.admission = admission
        self.body = body
        self.manager = manager_of(request, params)
        self.prepare(patch_type)

    def prepare(self, patch_type: str) -> None:
        """Parse the patch, once."""

    def patched(self, current: StoredObject) -> tuple[Object, Object]:
        """(live, new), both at the hub version and not sharing parts that anybody writes to."""
        raise NotImplementedError

    def new_object(self) -> Object:
        """What the patch makes of nothing."""
        raise errors.not_found(self.scope.info.group_resource, self.request.info.name)

    async def __call__(self, current: StoredObject | None) -> Object:
        """The new state at the hub version, admitted."""
        scope, name = self.scope, self.request.info.name
        live: Object | None
        if current is None:
            live, obj = None, self.new_object()
            uid = metadata_of(obj).get("uid")
            if uid:
                why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                raise errors.conflict(scope.info.group_resource, name, why)
        else:
            live, obj = self.patched(current)
        meta = metadata_of(obj)
        ensure_namespace(meta, expected_namespace(self.request, scope))
        check_name(meta, name)
        operation = Operation.UPDATE if current is not None else Operation.CREATE
        return await self.admission.mutate(operation, obj, live)


class _Merge(_Patch):
    """The three patches that say how to change an object."""

    def prepare(self, patch_type: str) -> None:
        """Parse and check the patch document."""
        self._in_order = sorted if patch_type == STRATEGIC_PATCH else in_path_order
        """How unknown fields are reported: a strategic outcome by their texts, others as their text has them."""
        self.document, self.strict_errors = patches.read_patch(
            self.body, patch_type, self.scope, strict=self.params.field_validation != "Ignore"
        )

    def patched(self, current: StoredObject) -> tuple[Object, Object]:
        """Patch the object at the request's version, decode and default the outcome, and note who changed what."""
        scope = self.scope
        scheme = scope.services.scheme
        live = current.data()
        base = current.data()
        versioned = base if scope.is_hub else scheme.convert(base, scope.kind.gvk)
        changed = self.document.apply(versioned)
        new = self._decoded(changed)
        if not scope.is_hub:
            new = scheme.to_hub(new)
        if scope.field_manager is not None:
            new = scope.field_manager.update(live, new, self.manager)
        return live, new

    def _check_kind(self, changed: Any) -> None:
        """A patch may take kind and apiVersion away, but not change them."""
        gvk = self.scope.kind.gvk
        if not isinstance(changed, dict):
            raise _invalid_outcome(orjson.dumps(changed), f"json: cannot unmarshal into Go value of type {gvk.kind}")
        if not self.scope.kind.builtin:
            return  # validation knows better words
        kind, version = changed.get("kind") or gvk.kind, changed.get("apiVersion") or gvk.api_version
        if kind != gvk.kind or version != gvk.api_version:
            text = f'no kind "{kind}" is registered for version "{version}"'
            raise _invalid_outcome(orjson.dumps(changed), text)

    def _decoded(self, changed: Object) -> Object:
        kind = self.scope.kind
        checked = self.params.field_validation != "Ignore"
        unknown: list[str] | None = [] if checked else None
        self._check_kind(changed)
        outcome = orjson.dumps(changed)  # decoding changes it, and errors show it as it was
        try:
            obj = kind.decode(changed, unknown)
        except DecodeError as error:
            raise self._refused(outcome, str(error)) from error
        if checked and (unknown or self.strict_errors):
            found = [*self.strict_errors, *self._in_order(unknown or [])]
            if self.params.field_validation == "Strict":
                raise self._refused(outcome, strict_text(found), strict=True)
            for text in found:
                self.request.warn(text)
        if kind.builtin or not obj.get("kind"):
            obj["kind"], obj["apiVersion"] = kind.gvk.kind, kind.gvk.api_version
        if kind.default is not None:
            kind.default(obj)
        return obj

    def _refused(self, outcome: bytes, message: str, *, strict: bool = False) -> ApiError:
        """The error about an outcome that the kind cannot hold, or that has what strictness forbids."""
        if isinstance(self.document, StrategicPatch):
            shown, reason = self.document.refusal(orjson.loads(outcome))
            return _invalid_outcome(shown.encode(), message if strict else reason or message)
        return _invalid_outcome(outcome, message)


class _Apply(_Patch):
    """Server-side apply."""

    def prepare(self, patch_type: str) -> None:
        """Parse the applied configuration."""
        self.applied, self.strict_errors = patches.read_applied(
            self.body, strict=self.params.field_validation != "Ignore"
        )

    def _apply(self, live: Object | None) -> Object:
        manager = self.scope.field_manager
        if manager is None:
            raise _unsupported(self.scope)
        force = bool(self.params.force)
        merged = manager.apply(live, patches.copy_json(self.applied), self.params.field_manager, force=force)
        if self.strict_errors:
            if self.params.field_validation == "Strict":
                raise errors.bad_request(f"error strict decoding YAML: {self.strict_errors[0]}")
            for found in warnings_of(self.strict_errors):
                self.request.warn(found)
        return merged

    def new_object(self) -> Object:
        """The configuration itself, owned by its applier."""
        return self._apply(None)

    def patched(self, current: StoredObject) -> tuple[Object, Object]:
        """The live object with the configuration merged in."""
        live = current.data()
        return live, self._apply(current.data())


def _invalid_outcome(outcome: bytes, message: str) -> ApiError:
    return errors.invalid(GroupKind("", ""), "", [invalid("patch", outcome.decode(), message)])

"""PATCH: JSON patch, JSON merge patch, strategic merge patch, and server-side apply."""

from __future__ import annotations

import re
from typing import Any

from watchkeeper.admission.interface import Operation
from watchkeeper.endpoints.handlers import patches
from watchkeeper.endpoints.handlers.common import context, recorded
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
from watchkeeper.meta.field import go_json, in_key_order, invalid
from watchkeeper.meta.gvk import GroupKind
from watchkeeper.registry.metadata import ensure_namespace, metadata_of
from watchkeeper.registry.rest import LiveUpdate, UpdateOptions
from watchkeeper.request.request import Request
from watchkeeper.runtime.codec import check_said_kind, wrong_kind
from watchkeeper.runtime.go_order import in_go_order
from watchkeeper.runtime.managedfields.field_set import all_ordered
from watchkeeper.runtime.patch import JsonPatch, StrategicPatch, outcome_in_order, outcome_text
from watchkeeper.runtime.patch.unstructured import mismatch
from watchkeeper.runtime.raw_json import mark, patched_text, sorted_text, unmark
from watchkeeper.runtime.schema import Schema
from watchkeeper.runtime.scheme import DecodeError
from watchkeeper.runtime.strict import in_path_order, strict_text, warnings_of
from watchkeeper.storage.interface import StoredObject

_SCALE_SCHEME = "k8s.io/client-go/scale/util.go:146"
"""How the reference names the scheme that has nothing but Scales, for those of custom resources."""

Object = dict[str, Any]
_TOP_LEVEL = re.compile(r'[.\["]')
"""What ends the first name of a path."""
_POLICY = GroupKind("admissionregistration.k8s.io", "ValidatingAdmissionPolicy")


async def patch(request: Request, scope: Scope) -> Response:
    """Apply a patch to the current state, again and again until no other writer interferes."""
    patch_type = request.header(b"content-type").strip(" \t").partition(";")[0]
    if patch_type not in scope.patch_types:
        raise _unsupported(scope)
    if len(request.info.parts) < 2:  # of custom resources only: other collections cannot be patched at all
        raise errors.bad_request("name must be provided")
    accepted = negotiate(request, protobuf=scope.in_protobuf, tables=scope.tables)
    body = await request.body(scope.services.max_body_bytes)
    apply = patch_type == APPLY_PATCH
    params = read_write_params(request, "PatchOptions", apply=apply)
    admission = Admission(request, scope, params)
    patcher: _Patch = (_Apply if apply else _Merge)(request, scope, params, admission, body, patch_type)
    options = UpdateOptions(
        dry_run=params.dry_run,
        force_allow_create=apply and _creates(scope),
        validate_create=admission.validate_create(authorize=True),
        validate_update=admission.validate_update(),
        complete=admission.complete,
    )
    ctx, name = context(request, scope), request.info.name
    if apply:
        result, created = await scope.store.update(ctx, name, patcher, options)
    else:
        result, created = await store_update(scope, ctx, name, patcher, options)
    renderer = renderer_for(scope, accepted, request.param("includeObject"))
    return finish(renderer.one(result), accepted, 201 if created else 200)


def _creates(scope: Scope) -> bool:
    """Whether an apply creates what is not there. kube-apiserver lets one policy's status do that, as an oversight."""
    return not scope.subresource or (scope.subresource == "status" and scope.kind.gvk.group_kind == _POLICY)


def _unsupported(scope: Scope) -> ApiError:
    if STRATEGIC_PATCH not in scope.patch_types:
        words = "the body of the request was in an unknown format - accepted media types include"
        return errors.unsupported_media_type(f"{words}: {', '.join(scope.patch_types)}")
    error = errors.unsupported_media_type("415: Unsupported Media Type")
    error.details = {}
    return error


class _Patch(LiveUpdate):
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
        self.patch_type = patch_type
        self._prepared = False

    def prepare(self) -> None:
        """Parse the patch. Called once, when an object is there that it is for: nobody reads it otherwise."""

    def patched(self, current: StoredObject) -> tuple[Object, Object]:
        """(live, new), both at the hub version and not sharing parts that anybody writes to (`shares_parts`)."""
        raise NotImplementedError

    def new_object(self) -> Object:
        """What the patch makes of nothing."""
        raise errors.not_found(self.scope.info.group_resource, self.request.info.name)

    async def __call__(self, current: StoredObject | None) -> Object:
        """The new state at the hub version, admitted."""
        scope, name = self.scope, self.request.info.name
        live: Object | None
        if not self._prepared and (current is not None or self.patch_type == APPLY_PATCH):
            self.prepare()
            self._prepared = True
        if current is None:
            live, obj = None, await recorded(scope, self.new_object)
            uid = metadata_of(obj).get("uid")
            if uid:
                why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                raise errors.conflict(scope.info.group_resource, name, why)
        else:
            stored = current
            live, obj = await recorded(scope, lambda: self.patched(stored))
        self.live = live
        meta = metadata_of(obj)
        ensure_namespace(meta, expected_namespace(self.request, scope))
        check_name(meta, name)
        operation = Operation.UPDATE if current is not None else Operation.CREATE
        return await self.admission.mutate(operation, obj, live)


class _Merge(_Patch):
    """The three patches that say how to change an object."""

    def prepare(self) -> None:
        """Parse and check the patch document."""
        self.document, self.strict_errors = self._read()

    def _read(self) -> tuple[patches.Patch, list[str]]:
        strict = self.params.field_validation != "Ignore"
        return patches.read_patch(self.body, self.patch_type, self.scope, strict=strict)

    def patched(self, current: StoredObject) -> tuple[Object, Object]:
        """Patch the object at the request's version, decode and default the outcome, and note who changed what."""
        scope = self.scope
        live = current.data()
        new = self._beside(live, current) if scope.shares_parts else self._apart(current)
        if scope.raw_paths:
            strategic = isinstance(self.document, StrategicPatch)
            mark(new, scope.raw_paths, sorted_text if strategic else patched_text(live, scope.raw_paths))
        if scope.field_manager is not None:
            new = scope.field_manager.update(live, new, self.manager)
        if scope.shares_parts:
            patches.own_parts(new, live)  # now only, because comparing is faster while they are shared
        return live, new

    def _apart(self, current: StoredObject) -> Object:
        """The new state, sharing nothing with any other."""
        scope = self.scope
        changed = self.document.apply(self._versioned(current))
        self._check_kind(changed, current)
        new = self._completed(self._decoded(changed, current), current)
        return new if scope.is_hub else scope.services.scheme.to_hub(new)

    def _versioned(self, current: StoredObject) -> Object:
        """The current state at the version of the request, to be changed freely."""
        scope, obj = self.scope, current.data()
        unmark(obj, scope.raw_paths)
        return obj if scope.is_hub else scope.services.scheme.convert(obj, scope.kind.gvk)

    def _beside(self, live: Object, current: StoredObject) -> Object:
        """The new state, sharing with `live` what the patch leaves alone, which is not decoded again if it was once."""
        changed = patches.patched_beside(self.document, live)
        self._check_kind(changed, current)
        if current.settled and self.scope.kind.builtin:  # the schema of a custom resource may have changed since
            new = self._decoded_in_part(changed, live, current)
        else:
            new = self._completed(self._decoded(changed, current), current)
        patches.own_metadata(new, live)
        return new

    def _decoded_in_part(self, changed: Object, live: Object, current: StoredObject) -> Object:
        part = {name: value for name, value in changed.items() if name not in live or value is not live[name]}
        names = tuple(part)
        only_metadata = names in ((), ("metadata",)) and len(changed) == len(live)
        decoded = self._decoded(part, current)
        for name in names:
            if name not in decoded:
                del changed[name]
        for name, value in decoded.items():
            # What decoding fills in for lack of it may be among what it was not shown.
            if name in names or name not in changed:
                changed[name] = value
        if not only_metadata:
            return self._completed(changed, current)
        if part and self.scope.kind.specs is not None:
            self.scope.kind.specs.default_rest(changed)
        return changed

    def _check_kind(self, changed: Any, current: StoredObject) -> None:
        """A patch may take the kind away, but not change it, nor the version; of custom objects it may do neither."""
        expected = self.scope.kind
        gvk = expected.gvk
        if isinstance(changed, dict):
            if not expected.builtin:
                self._check_said_kind(changed)
                return  # validation knows better words for other kinds
            if changed.get("kind") == gvk.kind and changed.get("apiVersion") == gvk.api_version:
                return
            if self.patch_type == STRATEGIC_PATCH:
                self._check_texts(changed, current)
            elif changed.get("apiVersion") in (None, "") and not self.scope.of_custom:
                self._refuse_unversioned(changed, current)
            if changed.get("kind") in (None, gvk.kind) and changed.get("apiVersion") in (None, gvk.api_version):
                return
        alone = _SCALE_SCHEME if self.scope.of_custom else ""
        if why := wrong_kind(self.scope.services.scheme, expected, changed, alone=alone):
            raise _invalid_outcome(self._outcome(current), why)

    def _refuse_unversioned(self, changed: Object, current: StoredObject) -> None:
        """Without a version an outcome is taken for kube-apiserver's internal form, whose fields have other names."""
        if changed.get("kind") not in (None, "", self.scope.kind.gvk.kind):
            return
        unknown = [f'unknown field "{name}"' for name in sorted(changed) if name not in ("kind", "apiVersion")]
        found = [*self.strict_errors, *unknown]
        if self.params.field_validation == "Strict" and found:
            raise _invalid_outcome(self._outcome(current), strict_text(found))
        if self.params.field_validation != "Ignore":
            for text in found:
                self.request.warn(text)
        check_name({}, self.request.info.name)

    def _check_texts(self, changed: Object, current: StoredObject) -> None:
        """A strategic outcome is copied into its type, whose kind and version are texts."""
        for name in ("kind", "apiVersion"):
            field = self.scope.kind.schema.fields.get(name)
            if field is not None and (why := mismatch(field.schema, changed.get(name))):
                raise self._refused(current, why)

    @staticmethod
    def _check_said_kind(changed: Object) -> None:
        kind, api_version = changed.get("kind"), changed.get("apiVersion")
        if kind.__class__ is str and api_version.__class__ is str and kind and api_version.count("/") == 1:
            return
        outcome = _json_of(changed)
        try:
            check_said_kind(changed, outcome.decode())
        except ValueError as error:
            raise _invalid_outcome(outcome, str(error)) from None

    def _decoded(self, changed: Object, current: StoredObject) -> Object:
        checked = self.params.field_validation != "Ignore"
        unknown: list[str] | None = [] if checked else None
        strangers = self._fields_of_no_version(changed) if checked else []
        try:
            obj = self.scope.kind.decode(changed, unknown)
        except DecodeError as error:
            obj = self._restored(current, unknown, error)
        if checked and (unknown or strangers or self.strict_errors):
            found = [*self.strict_errors, *(strangers or self._unknown(unknown, current))]
            if self.params.field_validation == "Strict":
                raise self._refused(current, strict_text(found))
            for text in found:
                self.request.warn(text)
        return obj

    def _fields_of_no_version(self, changed: Object) -> list[str]:
        """What is told of a custom object that a patch moves to a version which is not there: it has no fields."""
        gvk = self.scope.kind.gvk
        said = changed.get("apiVersion")
        if self.scope.kind.builtin or said == gvk.api_version or changed.get("kind") != gvk.kind:
            return []
        if not isinstance(said, str) or said.rpartition("/")[0] != gvk.group:
            return []
        return [f'unknown field "{name}"' for name in sorted(changed) if name not in ("apiVersion", "kind", "metadata")]

    def _unknown(self, found: list[str] | None, current: StoredObject) -> list[str]:
        """How unknown fields are reported: those of a strategic outcome have a way of their own."""
        if not found:
            return []
        if isinstance(self.document, StrategicPatch):
            return self.document.unknown_fields(self.document.apply(self._versioned(current)))
        if len(found) < 2 or not isinstance(self.document, JsonPatch):
            return in_path_order(found)
        ordered: list[str] = []
        self.scope.kind.decode(self._in_order(current), ordered)
        return ordered

    def _restored(self, current: StoredObject, unknown: list[str] | None, error: DecodeError) -> Object:
        """The whole outcome, which did not decode as it is, decoded after a strategic patch converted its values."""
        if not isinstance(self.document, StrategicPatch):
            raise self._refused(current, self._why(current, error)) from error
        if unknown:
            unknown.clear()
        try:
            return self.scope.kind.decode(self.document.restored(self._in_order(current)), unknown)
        except DecodeError as why:
            raise self._refused(current, str(why)) from why

    def _outcome(self, current: StoredObject) -> bytes:
        """What the patch makes of the current state, for errors, as the reference's libraries write it."""
        return outcome_text(self._in_order(current)).encode()

    def _in_order(self, current: StoredObject) -> Any:
        """The same as a value whose members are in order: worked out anew, because decoding changes it."""
        before, kind = self._versioned(current), self.scope.kind
        if isinstance(self.document, StrategicPatch):
            document, _ = self._read()
            return in_key_order(document.apply(before))
        before = _as_go_has_it(before, kind.schema) if kind.builtin else in_key_order(before)
        return outcome_in_order(type(self.document).as_written(self.body), before)

    def _completed(self, obj: Object, current: StoredObject) -> Object:
        """The object with its kind and with defaults."""
        kind = self.scope.kind
        if kind.builtin or not obj.get("kind"):
            obj["kind"], obj["apiVersion"] = kind.gvk.kind, kind.gvk.api_version
        if kind.default is not None:
            try:
                kind.default(obj)
            except DecodeError as error:
                if isinstance(self.document, StrategicPatch):
                    raise ApiError(500, "", str(error)) from error
                raise self._refused(current, str(error)) from error
        return obj

    def _refused(self, current: StoredObject, message: str) -> ApiError:
        """The error about an outcome that the kind cannot hold, or that has what strictness forbids."""
        if isinstance(self.document, StrategicPatch):
            return _invalid_outcome(self.document.shown(self._versioned(current)).encode(), message)
        return _invalid_outcome(self._outcome(current), message)

    def _why(self, current: StoredObject, error: DecodeError) -> str:
        """What is wrong with an outcome that did not decode, with numbers as they are written."""
        try:
            self.scope.kind.decode(self._in_order(current), None)
        except DecodeError as found:
            return str(found)
        return str(error)


class _Apply(_Patch):
    """Server-side apply."""

    def prepare(self) -> None:
        """Parse the applied configuration."""
        self.applied, self.strict_errors = patches.read_applied(
            self.body, strict=self.params.field_validation != "Ignore"
        )

    def _apply(self, live: Object | None) -> Object:
        manager = self.scope.field_manager
        if manager is None:
            raise _unsupported(self.scope)
        force = bool(self.params.force)
        unknown: list[str] | None = [] if self.scope.of_custom else None
        merged = manager.apply(
            live, patches.copy_json(self.applied), self.params.field_manager, force=force, unknown=unknown
        )
        self.outgrown = frozenset(_TOP_LEVEL.split(text.partition('"')[2], 1)[0] for text in unknown or ())
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
        return current.data(), self._apply(current.data())


def _as_go_has_it(obj: Object, schema: Schema) -> Object:
    """An object of a built-in kind in the order in which Go writes it, the record of owners in the order of paths."""
    found: Object = in_go_order(obj, schema)
    for entry in (found.get("metadata") or {}).get("managedFields") or ():
        if isinstance(fields := entry.get("fieldsV1"), dict):
            entry["fieldsV1"] = all_ordered(fields)
    return found


def _json_of(outcome: Any) -> bytes:
    """An outcome as the reference's libraries write what they have patched: sorted, and fit to stand in HTML."""
    return go_json(outcome).encode()


def _invalid_outcome(outcome: bytes, message: str) -> ApiError:
    return errors.invalid(GroupKind("", ""), "", [invalid("patch", outcome.decode(), message)])

"""POST: a new object, or a request on a subresource that takes one (binding, eviction, token)."""

from __future__ import annotations

from typing import Any

from watchkeeper.admission.interface import Operation
from watchkeeper.endpoints.handlers.bodies import read_object
from watchkeeper.endpoints.handlers.common import context, recorded
from watchkeeper.endpoints.handlers.write import Admission, dedup_owner_references, expected_namespace, manager_of
from watchkeeper.endpoints.negotiation import negotiate, require_body_type
from watchkeeper.endpoints.params import WriteParams, read_write_params
from watchkeeper.endpoints.render import finish, renderer_for
from watchkeeper.endpoints.response import Response
from watchkeeper.endpoints.scope import FieldManager, Scope
from watchkeeper.meta.errors import ObjectTooLarge
from watchkeeper.registry.metadata import ensure_namespace, metadata_of, wipe_system_fields
from watchkeeper.registry.rest import CreateOptions, Result
from watchkeeper.request.request import Request

Object = dict[str, Any]


async def create(request: Request, scope: Scope) -> Response:
    """Decode, default, admit, validate and store a new object."""
    accepted = negotiate(request, protobuf=scope.in_protobuf, tables=scope.tables)
    media_type = require_body_type(request, protobuf=scope.kind.builtin)
    body = await request.body(scope.services.max_body_bytes)
    params = read_write_params(request, "CreateOptions")
    obj = read_object(request, scope, body, media_type, params)
    if not scope.is_hub:
        obj = scope.services.scheme.to_hub(obj)
    meta = metadata_of(obj)
    wipe_system_fields(meta)
    ensure_namespace(meta, expected_namespace(request, scope))
    dedup_owner_references(request, obj)
    result = await _store(request, scope, params, obj)
    renderer = renderer_for(scope, accepted, request.param("includeObject"))
    return finish(renderer.one(result), accepted, 201)


async def _store(request: Request, scope: Scope, params: WriteParams, obj: Object) -> Result:
    if scope.field_manager is not None:
        obj = await _owned(scope, scope.field_manager, obj, manager_of(request, params))
    admission = Admission(request, scope, params, name=obj["metadata"].get("name") or "")
    obj = await admission.mutate(Operation.CREATE, obj, None)
    ctx = context(request, scope)
    options = CreateOptions(dry_run=params.dry_run, validate=admission.validate_create(), complete=admission.complete)
    try:
        created: Result = await scope.store.create(ctx, obj, options)
    except ObjectTooLarge:
        # managedFields may be what makes it too large; the object matters more.
        if "managedFields" not in obj["metadata"]:
            raise
        del obj["metadata"]["managedFields"]
        created = await scope.store.create(ctx, obj, options)
    return created


async def _owned(scope: Scope, owners: FieldManager, obj: Object, manager: str) -> Object:
    if not scope.of_custom:
        return owners.update(None, obj, manager)
    return await recorded(scope, lambda: owners.update(None, dict(obj, metadata=dict(obj["metadata"])), manager))


async def create_named(request: Request, scope: Scope) -> Response:
    """POST on a subresource of something that exists."""
    accepted = negotiate(request, protobuf=scope.in_protobuf, tables=scope.tables)
    media_type = require_body_type(request, protobuf=scope.kind.builtin)
    body = await request.body(scope.services.max_body_bytes)
    params = read_write_params(request, "CreateOptions")
    obj = read_object(request, scope, body, media_type, params)
    meta = obj.get("metadata")
    if isinstance(meta, dict):
        ensure_namespace(meta, expected_namespace(request, scope))
        dedup_owner_references(request, obj)
    if scope.field_manager is not None:
        obj = scope.field_manager.update(None, obj, manager_of(request, params))
    admission = Admission(request, scope, params)
    obj = await admission.mutate(Operation.CREATE, obj, None)
    options = CreateOptions(dry_run=params.dry_run, validate=admission.validate_create(), complete=admission.complete)
    result = await scope.store.create_named(context(request, scope), request.info.name, obj, options)
    return finish(renderer_for(scope, accepted).one(result), accepted, 201)

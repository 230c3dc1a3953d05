"""PUT: replace an object, or create it where that is allowed."""

from __future__ import annotations

from typing import Any

from watchkeeper.admission.interface import Operation
from watchkeeper.endpoints.handlers.bodies import read_object
from watchkeeper.endpoints.handlers.common import context, recorded
from watchkeeper.endpoints.handlers.storing import store_update
from watchkeeper.endpoints.handlers.write import Admission, dedup_owner_references, expected_namespace, manager_of
from watchkeeper.endpoints.negotiation import negotiate, require_body_type
from watchkeeper.endpoints.params import read_write_params
from watchkeeper.endpoints.render import finish, renderer_for
from watchkeeper.endpoints.response import Response
from watchkeeper.endpoints.scope import Scope
from watchkeeper.meta import errors
from watchkeeper.registry.metadata import ensure_namespace, metadata_of
from watchkeeper.registry.rest import LiveUpdate, UpdateOptions
from watchkeeper.request.request import Request
from watchkeeper.storage.interface import StoredObject

Object = dict[str, Any]


async def update(request: Request, scope: Scope) -> Response:
    """Decode, default, admit, validate and store a new state."""
    accepted = negotiate(request, protobuf=scope.in_protobuf, tables=scope.tables)
    body = await request.body(scope.services.max_body_bytes)
    params = read_write_params(request, "UpdateOptions")
    media_type = require_body_type(request, protobuf=scope.kind.builtin)
    obj = read_object(request, scope, body, media_type, params)
    if not scope.is_hub:
        obj = scope.services.scheme.to_hub(obj)
    meta = metadata_of(obj)
    ensure_namespace(meta, expected_namespace(request, scope))
    check_name(meta, request.info.name)
    dedup_owner_references(request, obj)
    admission = Admission(request, scope, params)
    replacement = _Replacement(obj, admission, manager_of(request, params), scope)
    options = UpdateOptions(
        dry_run=params.dry_run,
        validate_create=admission.validate_create(authorize=True),
        validate_update=admission.validate_update(),
        complete=admission.complete,
    )
    result, created = await store_update(scope, context(request, scope), request.info.name, replacement, options)
    renderer = renderer_for(scope, accepted, request.param("includeObject"))
    return finish(renderer.one(result), accepted, 201 if created else 200)


def check_name(meta: Object, name: str) -> None:
    """The object must be the one that the path names. Raises a 400."""
    found = meta.get("name") or ""
    if not found:
        raise errors.bad_request(
            f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )
    if found != name:
        raise errors.bad_request(f"the name of the object ({found}) does not match the name on the URL ({name})")


class _Replacement(LiveUpdate):
    """What a PUT makes of the current state: the body, with ownership and admission worked out against that state."""

    def __init__(self, obj: Object, admission: Admission, manager: str, scope: Scope) -> None:
        self.obj = obj
        self.admission = admission
        self.manager = manager
        self.scope = scope
        self.uid: str | None = obj["metadata"].get("uid") or None

    async def __call__(self, current: StoredObject | None) -> Object:
        """The new state. Called again, it begins from the body anew."""
        self.live = live = current.data() if current is not None else None
        obj = await recorded(self.scope, lambda: self._owned(live))
        operation = Operation.UPDATE if current is not None else Operation.CREATE
        return await self.admission.mutate(operation, obj, live)

    def _owned(self, live: Object | None) -> Object:
        obj = self.obj.copy()
        obj["metadata"] = obj["metadata"].copy()
        manager = self.scope.field_manager
        return obj if manager is None else manager.update(live, obj, self.manager)

"""DELETE of one object and of collections."""

from __future__ import annotations

from typing import Any

import orjson

from watchkeeper.endpoints.handlers import bodies
from watchkeeper.endpoints.handlers.common import context, list_options, predicate
from watchkeeper.endpoints.handlers.list import list_response
from watchkeeper.endpoints.handlers.write import Admission, authorize_unsafe_delete
from watchkeeper.endpoints.negotiation import negotiate, require_body_type
from watchkeeper.endpoints.params import (
    WriteParams,
    delete_options_from_query,
    read_list_params,
)
from watchkeeper.endpoints.render import finish, renderer_for
from watchkeeper.endpoints.response import Response
from watchkeeper.endpoints.scope import Scope
from watchkeeper.registry.delete_options import IGNORE_READ_ERRORS, check_unsafe, read_delete_options
from watchkeeper.registry.rest import DeleteOptions
from watchkeeper.request.request import Request


async def delete(request: Request, scope: Scope) -> Response:
    """Delete one object, or begin to.

    The option to remove what cannot be read means nothing for what can be: kube-apiserver 1.36 has it switched off.
    """
    accepted = negotiate(request, protobuf=scope.in_protobuf)
    options = await _options(request, scope)
    if options.ignore_store_read_error:
        options.ignore_store_read_error = await scope.store.is_unreadable(context(request, scope), request.info.name)
    if options.ignore_store_read_error:
        check_unsafe(options)
        request.annotate("apiserver.k8s.io/unsafe-delete-ignore-read-error", "")
        await authorize_unsafe_delete(request, scope)
    admission = Admission(request, scope, WriteParams(dry_run=options.dry_run))
    options.validate = admission.validate_delete(lambda: _as_json(options))
    result, gone = await scope.store.delete(context(request, scope), request.info.name, options)
    status = 202 if not gone and options.orphan_dependents is False else 200
    return finish(renderer_for(scope, accepted, request.param("includeObject")).one(result), accepted, status)


async def delete_collection(request: Request, scope: Scope) -> Response:
    """Delete all selected objects and tell which they were."""
    accepted = negotiate(request, protobuf=scope.in_protobuf)
    params = read_list_params(request, watch=False)
    selected = list_options(params, predicate(request, scope, params))
    options = await _options(request, scope)
    options.ignore_store_read_error = False
    admission = Admission(request, scope, WriteParams(dry_run=options.dry_run))
    options.validate = admission.validate_delete(lambda: _as_json(options))
    result = await scope.store.delete_collection(context(request, scope), options, selected)
    renderer = renderer_for(scope, accepted, request.param("includeObject"))
    return await list_response(request, renderer, accepted, result)


async def _options(request: Request, scope: Scope) -> DeleteOptions:
    body = await request.body(scope.services.max_body_bytes)
    if not body:
        return delete_options_from_query(request)
    media_type = require_body_type(request, protobuf=True)
    return read_delete_options(bodies.read_delete_options(body, media_type, scope))


def _as_json(options: DeleteOptions) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", **options.as_mapping()}
    if options.settled_grace is not None:
        found["gracePeriodSeconds"] = options.settled_grace
    preconditions = {
        k: v for k, v in (("uid", options.uid), ("resourceVersion", options.resource_version)) if v is not None
    }
    if preconditions or options.has_preconditions:
        found["preconditions"] = preconditions
    if options.dry_run:
        found["dryRun"] = ["All"]
    if options.ignore_store_read_error:
        found[IGNORE_READ_ERRORS] = True
    parsed: dict[str, Any] = orjson.loads(orjson.dumps(found))
    return parsed

"""Subresources that connect to a node: log, exec, attach, portforward, proxy."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from watchkeeper.admission.interface import Attributes, Operation
from watchkeeper.apis.core.connect_options import connect_options, connect_params
from watchkeeper.endpoints.handlers.common import context
from watchkeeper.endpoints.negotiation import ACCEPTED, PLAIN, Accepted, negotiate, require_named
from watchkeeper.endpoints.response import Response
from watchkeeper.endpoints.scope import Scope
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.registry.rest import ConnectRequest, SlashMissing
from watchkeeper.request.request import Request

_PROXY = "proxy"
_IN_PATH = "/:@!$&'()*+,;=~"
_LOG_FORMS = ("text/plain", *ACCEPTED)
"""What a client may name to get a log, though it has to accept one that an object could be written in, too."""


async def connect(request: Request, scope: Scope) -> Response:
    """Hand the request to the resource, whatever its method, if admission lets it pass."""
    info = request.info
    params: Mapping[str, list[str]] = request.params
    kind = _options_kind(scope)
    form = _log_form(request) if kind is None else PLAIN
    if kind is not None:
        params = await _admit(request, scope, kind)
    path = next(iter(params.get("path", ())), "") if scope.subresource == _PROXY else ""
    asked = ConnectRequest(info.name, path, params, request.query, request.method, upgrade=_is_upgrade(request))
    try:
        backend = await scope.store.connect(context(request, scope), asked)
    except SlashMissing:
        query = f"?{request.query}" if request.query else ""
        return Response(301, headers=((b"location", f"{quote(request.path, safe=_IN_PATH)}/{query}".encode()),))
    _refuse_transform(form)
    if backend is None:
        return Response(204, headers=())
    return await scope.services.pass_on(request, backend)


def _log_form(request: Request) -> Accepted:
    """How a log is wanted, which is read as objects are. Raises a 406."""
    if header := request.header(b"accept"):
        require_named(header, _LOG_FORMS)
    return negotiate(request, protobuf=True, tables=False, named=False)


def _refuse_transform(accepted: Accepted) -> None:
    """A log has no metadata."""
    if accepted.target == "PartialObjectMetadataList":
        raise errors.not_acceptable(
            "you requested PartialObjectMetadataList, but the requested object is not a list (*rest.LocationStreamer)"
        )
    if accepted.target:
        raise ApiError(500, "", "object does not implement the Object interfaces")


def _options_kind(scope: Scope) -> GroupVersionKind | None:
    """What the options of a connection are; None for a log, which is only read."""
    kinds = (sub.kind for sub in scope.info.subresources if sub.name == scope.subresource)
    kind = next(kinds, None)
    return None if kind is None or kind == scope.info.kind else kind


async def _admit(request: Request, scope: Scope, kind: GroupVersionKind) -> Mapping[str, list[str]]:
    """Ask all of admission; returns the parameters as it has left them. Raises ApiError."""
    info = request.info
    if request.params.get("dryRun"):
        raise errors.bad_request("dryRun is not supported")
    params = request.params
    if scope.subresource == _PROXY:
        params = {**params, "path": [_path(request)]}
    try:
        options = connect_options(kind.kind, params)
    except ValueError as problem:
        raise errors.bad_request(str(problem)) from None
    if options is None:
        return params
    attributes = Attributes(
        operation=Operation.CONNECT,
        kind=kind,
        resource=scope.info.gvr,
        subresource=scope.subresource,
        namespace=info.namespace,
        name=info.name,
        user=request.user,
        obj=options,
        options=None,
        warn=request.warn,
        annotate=request.annotate,
        versions=scope.versions,
    )
    await scope.services.admission.judge(attributes)
    return params if attributes.obj is options or attributes.obj is None else connect_params(attributes.obj)


def _is_upgrade(request: Request) -> bool:
    return "upgrade" in request.header(b"connection").lower()


def _path(request: Request) -> str:
    """The path below the proxy, with the slashes that the request has."""
    path = "/".join(request.info.parts[3:])
    if path and not path.startswith("/"):
        path = f"/{path}"
    return f"{path}/" if request.path.endswith("/") and not path.endswith("/") else path

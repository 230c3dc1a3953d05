"""From a resource request to its scope and handler. Paths are data: the table of what is served decides."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from watchkeeper.endpoints.deprecation import DeprecatedRequests
from watchkeeper.endpoints.handlers.connect import connect
from watchkeeper.endpoints.handlers.create import create, create_named
from watchkeeper.endpoints.handlers.delete import delete, delete_collection
from watchkeeper.endpoints.handlers.get import get
from watchkeeper.endpoints.handlers.list import list_collection
from watchkeeper.endpoints.handlers.patch import patch
from watchkeeper.endpoints.handlers.update import update
from watchkeeper.endpoints.handlers.watch import watch
from watchkeeper.endpoints.response import Response, text_response
from watchkeeper.endpoints.scope import Scope, ServedResource, ServedTable
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.request.info import RequestInfo
from watchkeeper.request.request import Request

Handler = Callable[[Request, Scope], "Response | Awaitable[Response]"]
Handled = Response | Awaitable[Response]

_OBJECT: dict[str, tuple[str, Handler]] = {
    "GET": ("get", get),
    "PUT": ("update", update),
    "PATCH": ("patch", patch),
    "DELETE": ("delete", delete),
}
_COLLECTION: dict[str, tuple[str, Handler]] = {
    "GET": ("list", list_collection),
    "POST": ("create", create),
    "DELETE": ("deletecollection", delete_collection),
}
_SUBRESOURCE: dict[str, tuple[str, Handler]] = {
    "GET": ("get", get),
    "PUT": ("update", update),
    "PATCH": ("patch", patch),
    "POST": ("create", create_named),
    "DELETE": ("delete", delete),
}
_STREAMS = frozenset({"GET", "POST"})
_CONNECT = {"log": frozenset({"GET"}), "exec": _STREAMS, "attach": _STREAMS, "portforward": _STREAMS}
"""The methods of subresources that connect to a node; others, proxies, take any."""
_CUSTOM_SUBRESOURCE: dict[str, Handler] = {"get": get, "update": update, "patch": patch}
_CUSTOM: dict[str, Handler] = {
    **_CUSTOM_SUBRESOURCE,
    "list": list_collection,
    "watch": watch,
    "create": create,
    "delete": delete,
    "deletecollection": delete_collection,
}


class Router:
    """Finds who answers a resource request."""

    def __init__(self, served: ServedTable) -> None:
        self.served = served
        self.deprecated = DeprecatedRequests()
        """Which deprecated versions clients use."""

    def route(self, request: Request) -> Handled:
        """Answer a resource request, or begin to. Raises the 404 and 405 of the reference."""
        info = request.info
        found = self.served.find(info.group, info.version, info.resource)
        if not info.group and info.api_prefix == "apis":
            return self._unknown(info)
        if found is None or (len(info.parts) > 3 and not found.custom and not self._takes_path(found, info)):
            return self._unknown(info)
        if found.info.namespaced != bool(info.namespace) and not (
            self._collection_of_all(found, request) or self._names_no_namespace(found, request)
        ):
            return self._misplaced(found, request)
        if found.custom:
            return self._custom(found, request)
        if info.deprecated_watch:
            return self._old_watch(found, request)
        if info.verb == "proxy":  # a form of paths that led somewhere once
            raise not_found()
        if info.subresource:
            return self._subresource(found, request)
        if info.name and len(info.parts) > 1:
            return self._object(found, request)
        return self._collection(found, request)

    def _custom(self, found: ServedResource, request: Request) -> Handled:
        """What is asked of a custom resource: the verb alone decides, whether or not the path names an object.

        Paths under /watch/ have the verb `watch` with any method.
        """
        info, scope = request.info, found.scope
        handlers = _CUSTOM
        request.warn(found.warning)
        if info.subresource:
            sub = found.subresources.get(info.subresource)
            if sub is None:
                raise errors.not_found(found.info.group_resource, info.name)
            scope, handlers = sub, _CUSTOM_SUBRESOURCE
        handler = handlers.get(info.verb)
        if handler is None:
            raise errors.method_not_supported(found.info.group_resource, info.verb)
        self._warn(found, request)  # Paths that lead nowhere do not count as used.
        if info.verb == "update" and len(info.parts) < 2:
            raise errors.bad_request("name must be provided")
        return handler(request, scope)

    def _old_watch(self, found: ServedResource, request: Request) -> Handled:
        """A path under /watch/, which can only be got, with `watch` or without it."""
        if request.info.subresource or "watch" not in found.scope.verbs:
            raise not_found()
        if request.method != "GET":
            raise method_not_allowed()
        self._warn(found, request)
        return watch(request, found.scope)

    @staticmethod
    def _takes_path(found: ServedResource, info: RequestInfo) -> bool:
        """Whether a path may go on behind a subresource: behind a proxy."""
        scope = found.subresources.get(info.subresource)
        return scope is not None and "connect" in scope.verbs and scope.subresource not in _CONNECT

    def _unknown(self, info: RequestInfo) -> Response:
        nameless = not info.group and info.api_prefix == "apis"
        if nameless or not self.served.has_group(info.group) or self.served.is_custom_group(info.group):
            return text_response(404, "404 page not found\n")
        raise not_found()

    @staticmethod
    def _collection_of_all(found: ServedResource, request: Request) -> bool:
        """Whether it asks for the objects of all namespaces, or for a namespace itself, whose path looks namespaced."""
        info = request.info
        if found.custom and found.info.namespaced:
            return info.verb in ("list", "watch")
        if found.info.namespaced:
            return request.method == "GET" and len(info.parts) == 1 and "list" in found.scope.verbs
        if found.info.gvr.resource != "namespaces" or found.info.gvr.group:
            return False
        # Namespaces are not in one.
        return "/namespaces/" not in f"{info.path.partition('/namespaces/')[2]}/"

    @staticmethod
    def _names_no_namespace(found: ServedResource, request: Request) -> bool:
        """Whether a path has a place for a namespace that is empty. Whoever needs one then refuses the request."""
        if found.custom or not found.info.namespaced or "/namespaces//" not in request.info.path:
            return False
        if request.info.verb == "deletecollection":
            raise errors.bad_request("Namespace parameter required.")
        return True

    @staticmethod
    def _misplaced(found: ServedResource, request: Request) -> Response:
        if found.custom:
            return text_response(404, "404 page not found\n")
        if found.info.namespaced and len(request.info.parts) == 1 and "list" in found.scope.verbs:
            raise method_not_allowed()
        raise not_found()

    def _object(self, found: ServedResource, request: Request) -> Handled:
        entry = _OBJECT.get(request.method)
        if entry is None or entry[0] not in found.scope.verbs:
            raise method_not_allowed() if _has_objects(found) else not_found()
        self._warn(found, request)
        return entry[1](request, found.scope)

    def _collection(self, found: ServedResource, request: Request) -> Handled:
        entry = _COLLECTION.get(request.method)
        scope = found.scope
        if entry is None or (entry[0] not in scope.verbs):
            raise method_not_allowed()
        self._warn(found, request)
        if request.info.verb == "watch" and request.method == "GET":
            return watch(request, scope)
        return entry[1](request, scope)

    def _warn(self, found: ServedResource, request: Request, of_kind: str = "") -> None:
        """Tell who uses a deprecated version, if need be of a subresource's own kind; not who is refused the method."""
        if text := of_kind or found.warning:
            self.deprecated.note(request, text, custom=found.custom)

    def _subresource(self, found: ServedResource, request: Request) -> Handled:
        scope = found.subresources.get(request.info.subresource)
        if scope is None:
            raise not_found()
        if "connect" in scope.verbs:
            if request.method not in _CONNECT.get(scope.subresource, (request.method,)):
                raise method_not_allowed()
            return connect(request, scope)
        entry = _SUBRESOURCE.get(request.method)
        if entry is None or entry[0] not in scope.verbs:
            raise method_not_allowed()
        self._warn(found, request, scope.kind.warning)
        return entry[1](request, scope)


def _has_objects(found: ServedResource) -> bool:
    """Whether anything can be done with one object by name; reviews, which are only created, have no such path."""
    return any(verb in found.scope.verbs for verb, _ in _OBJECT.values())


def not_found() -> ApiError:
    """404 for a path of a known group that leads nowhere."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", details={})


def method_not_allowed() -> ApiError:
    """405 for a path that knows other methods."""
    message = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", message, details={})

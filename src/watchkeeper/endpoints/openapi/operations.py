"""Operations on resources: their parameters, bodies, answers, and the extensions that say what they do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from watchkeeper.endpoints.openapi.definitions import PATCH_NAME, gvk_entry
from watchkeeper.endpoints.openapi.dialect import ANYTHING, Dialect, Media
from watchkeeper.meta.gvk import GroupVersionKind

STATUS_NAME = "io.k8s.apimachinery.pkg.apis.meta.v1.Status"
DELETE_OPTIONS_NAME = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
WATCH_EVENT_NAME = "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent"
RESOURCE_LIST_NAME = "io.k8s.apimachinery.pkg.apis.meta.v1.APIResourceList"

_LIST = {
    "allowWatchBookmarks": "boolean",
    "continue": "string",
    "fieldSelector": "string",
    "labelSelector": "string",
    "limit": "integer",
    "resourceVersion": "string",
    "resourceVersionMatch": "string",
    "sendInitialEvents": "boolean",
    "shardSelector": "string",
    "timeoutSeconds": "integer",
    "watch": "boolean",
}
_READ_CUSTOM = {"resourceVersion": "string"}
_WRITE = {"dryRun": "string", "fieldManager": "string", "fieldValidation": "string"}
_DELETE = {
    "dryRun": "string",
    "gracePeriodSeconds": "integer",
    "ignoreStoreReadErrorWithClusterBreakingPotential": "boolean",
    "orphanDependents": "boolean",
    "propagationPolicy": "string",
}


@dataclass(frozen=True, slots=True)
class Subject:
    """What operations are about: a resource or a subresource."""

    gvk: GroupVersionKind
    """The kind of its bodies."""
    definition: str
    """The definition of its kind; "" for plain text."""
    list_definition: str
    tag: str
    """Such as apps_v1."""
    id_group: str
    """The group and version within an operation's id, such as AppsV1."""
    id_kind: str
    """The kind and subresource within an operation's id, such as DeploymentScale."""
    media: Media
    deleted: str
    """The definition that a DELETE answers with."""
    connect_options: Mapping[str, str] = field(default_factory=dict)
    """Of subresources that lead elsewhere: their parameters and the JSON types of these."""
    custom: bool = False


class Operations:
    """Makes operations in one dialect. Their parameters are whole; `item` takes out what those of a path share."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect

    def item(self, operations: Mapping[str, dict[str, Any]], shared: list[dict[str, Any]]) -> dict[str, Any]:
        """A path with its operations by method. What all of them take is said once, with what is in the path."""
        first, *others = [operation.pop("parameters") for operation in operations.values()]
        common = [p for p in first if p["in"] != "body" and all(p in others_have for others_have in others)]
        for operation, parameters in zip(operations.values(), [first, *others], strict=True):
            if own := [p for p in parameters if p not in common]:
                operation["parameters"] = own
        shared = sorted([*common, *shared], key=lambda p: (p["name"], p["in"]))
        return {**operations, "parameters": shared} if shared else dict(operations)

    def listing(self, subject: Subject, scope: str) -> dict[str, Any]:
        """GET on a collection. `scope` is "Namespaced", "" or "ForAllNamespaces"."""
        everywhere = scope == "ForAllNamespaces"
        name = f"{subject.id_kind}{scope}" if everywhere else f"{scope}{subject.id_kind}"
        operation = self._operation(subject, "list", f"list{subject.id_group}{name}", _LIST)
        self._dialect.add_responses(operation, subject.list_definition, (200,), subject.media.lists)
        return operation

    def watching(self, subject: Subject, scope: str, *, named: bool = False) -> dict[str, Any]:
        """GET on the old path of a watch, on a collection or on one object."""
        listed = "" if named else "List"
        everywhere = scope == "ForAllNamespaces"
        name = f"{subject.id_kind}{listed}{scope}" if everywhere else f"{scope}{subject.id_kind}{listed}"
        action = "watch" if named else "watchlist"
        operation = self._operation(subject, action, f"watch{subject.id_group}{name}", _LIST)
        self._dialect.add_responses(operation, WATCH_EVENT_NAME, (200,), subject.media.lists)
        return operation

    def create(self, subject: Subject, scope: str) -> dict[str, Any]:
        """POST."""
        operation = self._operation(subject, "post", f"create{subject.id_group}{scope}{subject.id_kind}", _WRITE)
        self._dialect.add_body(operation, subject.definition, subject.media.bodies, required=True)
        self._dialect.add_responses(operation, subject.definition, (200, 201, 202), subject.media.answers)
        return operation

    def delete_collection(self, subject: Subject, scope: str) -> dict[str, Any]:
        """DELETE on a collection."""
        name = f"delete{subject.id_group}Collection{scope}{subject.id_kind}"
        kept = {k: v for k, v in _LIST.items() if subject.custom or k not in ("allowWatchBookmarks", "watch")}
        parameters = kept if subject.custom else kept | _DELETE
        operation = self._operation(subject, "deletecollection", name, dict(sorted(parameters.items())))
        if not subject.custom:
            self._dialect.add_body(operation, DELETE_OPTIONS_NAME, subject.media.bodies, required=False)
        self._dialect.add_responses(operation, STATUS_NAME, (200,), subject.media.answers)
        return operation

    def read(self, subject: Subject, scope: str) -> dict[str, Any]:
        """GET on one object."""
        parameters = subject.connect_options or (_READ_CUSTOM if subject.custom else {})
        operation = self._operation(subject, "get", f"read{subject.id_group}{scope}{subject.id_kind}", parameters)
        types = subject.media.answers if subject.definition else ("text/plain", *subject.media.answers)
        self._dialect.add_responses(operation, subject.definition, (200,), types)
        return operation

    def replace(self, subject: Subject, scope: str) -> dict[str, Any]:
        """PUT."""
        operation = self._operation(subject, "put", f"replace{subject.id_group}{scope}{subject.id_kind}", _WRITE)
        self._dialect.add_body(operation, subject.definition, subject.media.bodies, required=True)
        self._dialect.add_responses(operation, subject.definition, (200, 201), subject.media.answers)
        return operation

    def patch(self, subject: Subject, scope: str) -> dict[str, Any]:
        """PATCH."""
        parameters = {**_WRITE, "force": "boolean"}
        operation = self._operation(subject, "patch", f"patch{subject.id_group}{scope}{subject.id_kind}", parameters)
        self._dialect.add_body(operation, PATCH_NAME, subject.media.patches, required=True)
        codes = (200,) if subject.custom else (200, 201)
        self._dialect.add_responses(operation, subject.definition, codes, subject.media.answers)
        return operation

    def delete(self, subject: Subject, scope: str) -> dict[str, Any]:
        """DELETE on one object."""
        operation = self._operation(subject, "delete", f"delete{subject.id_group}{scope}{subject.id_kind}", _DELETE)
        self._dialect.add_body(operation, DELETE_OPTIONS_NAME, subject.media.bodies, required=False)
        self._dialect.add_responses(operation, subject.deleted, (200, 202), subject.media.answers)
        return operation

    def connect(self, subject: Subject, scope: str, method: str) -> dict[str, Any]:
        """Any method on a subresource that passes a connection on."""
        name = f"connect{subject.id_group}{method.title()}{scope}{subject.id_kind}"
        operation = self._operation(subject, "connect", name, subject.connect_options)
        self._dialect.add_responses(operation, "", (200,), ANYTHING)
        return operation

    def plain(self, tag: str, operation_id: str, name: str, types: tuple[str, ...]) -> dict[str, Any]:
        """GET on a path that is no resource, with an answer of a definition ("" for text)."""
        operation: dict[str, Any] = {"operationId": operation_id, "tags": [tag]}
        if self._dialect is Dialect.V2:
            operation["schemes"] = ["https"]
            if name:
                operation["consumes"] = list(types)
        self._dialect.add_responses(operation, name, (200,), types)
        return operation

    def path_parameters(self, *, namespaced: bool, named: bool, pretty: bool = True) -> list[dict[str, Any]]:
        """The parameters that all operations of a path share."""
        found = []
        if named:
            found.append(self.path_parameter("name"))
        if namespaced:
            found.append(self.path_parameter("namespace"))
        return [*found, self._dialect.parameter("pretty", "string", "query")] if pretty else found

    def path_parameter(self, name: str) -> dict[str, Any]:
        """A part of a path."""
        return self._dialect.parameter(name, "string", "path")

    def _operation(
        self, subject: Subject, action: str, operation_id: str, parameters: Mapping[str, str]
    ) -> dict[str, Any]:
        operation: dict[str, Any] = {
            "operationId": operation_id,
            "tags": [subject.tag],
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": gvk_entry(subject.gvk),
            "parameters": [self._dialect.parameter(name, kind, "query") for name, kind in parameters.items()],
        }
        if self._dialect is Dialect.V2:
            operation["schemes"] = ["https"]
            operation["consumes"] = list(ANYTHING if action == "connect" else subject.media.bodies)
        return operation

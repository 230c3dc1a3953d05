"""Operations on resources: their parameters, bodies, answers, and the extensions that say what they do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from watchkeeper.endpoints.openapi.definitions import PATCH_NAME, gvk_entry
from watchkeeper.endpoints.openapi.dialect import JSON, WATCH, Dialect
from watchkeeper.meta.gvk import GroupVersionKind

STATUS_NAME = "io.k8s.apimachinery.pkg.apis.meta.v1.Status"
DELETE_OPTIONS_NAME = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"

_LIST = {
    "allowWatchBookmarks": "boolean",
    "continue": "string",
    "fieldSelector": "string",
    "labelSelector": "string",
    "limit": "integer",
    "resourceVersion": "string",
    "resourceVersionMatch": "string",
    "sendInitialEvents": "boolean",
    "timeoutSeconds": "integer",
    "watch": "boolean",
}
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
    patch_types: tuple[str, ...]


class Operations:
    """Makes operations in one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect

    def listing(self, subject: Subject, scope: str) -> dict[str, Any]:
        """GET on a collection. `scope` is "Namespaced", "" or "ForAllNamespaces"."""
        everywhere = scope == "ForAllNamespaces"
        name = f"{subject.id_kind}{scope}" if everywhere else f"{scope}{subject.id_kind}"
        operation = self._operation(subject, "list", f"list{subject.id_group}{name}", {} if everywhere else _LIST)
        self._dialect.add_responses(operation, subject.list_definition, (200,), WATCH)
        return operation

    def listing_parameters(self) -> list[dict[str, Any]]:
        """The parameters of a list, for paths that have nothing but one."""
        return self._parameters(_LIST)

    def create(self, subject: Subject, scope: str) -> dict[str, Any]:
        """POST."""
        operation = self._operation(subject, "post", f"create{subject.id_group}{scope}{subject.id_kind}", _WRITE)
        self._dialect.add_body(operation, subject.definition, ("application/json",), required=True)
        self._dialect.add_responses(operation, subject.definition, (200, 201, 202), JSON)
        return operation

    def delete_collection(self, subject: Subject, scope: str) -> dict[str, Any]:
        """DELETE on a collection."""
        name = f"delete{subject.id_group}Collection{scope}{subject.id_kind}"
        parameters = {k: v for k, v in _LIST.items() if k not in ("allowWatchBookmarks", "watch")} | _DELETE
        operation = self._operation(subject, "deletecollection", name, dict(sorted(parameters.items())))
        self._dialect.add_body(operation, DELETE_OPTIONS_NAME, ("application/json",), required=False)
        self._dialect.add_responses(operation, STATUS_NAME, (200,), JSON)
        return operation

    def read(self, subject: Subject, scope: str) -> dict[str, Any]:
        """GET on one object."""
        operation = self._operation(subject, "get", f"read{subject.id_group}{scope}{subject.id_kind}", {})
        types = JSON if subject.definition else ("text/plain", *JSON)
        self._dialect.add_responses(operation, subject.definition, (200,), types)
        return operation

    def replace(self, subject: Subject, scope: str) -> dict[str, Any]:
        """PUT."""
        operation = self._operation(subject, "put", f"replace{subject.id_group}{scope}{subject.id_kind}", _WRITE)
        self._dialect.add_body(operation, subject.definition, ("application/json",), required=True)
        self._dialect.add_responses(operation, subject.definition, (200, 201), JSON)
        return operation

    def patch(self, subject: Subject, scope: str) -> dict[str, Any]:
        """PATCH."""
        parameters = {**_WRITE, "force": "boolean"}
        operation = self._operation(subject, "patch", f"patch{subject.id_group}{scope}{subject.id_kind}", parameters)
        self._dialect.add_body(operation, PATCH_NAME, subject.patch_types, required=True)
        self._dialect.add_responses(operation, subject.definition, (200, 201), JSON)
        return operation

    def delete(self, subject: Subject, scope: str) -> dict[str, Any]:
        """DELETE on one object."""
        operation = self._operation(subject, "delete", f"delete{subject.id_group}{scope}{subject.id_kind}", _DELETE)
        self._dialect.add_body(operation, DELETE_OPTIONS_NAME, ("application/json",), required=False)
        self._dialect.add_responses(operation, STATUS_NAME, (200, 202), JSON)
        return operation

    def connect(self, subject: Subject, scope: str, method: str) -> dict[str, Any]:
        """Any method on a subresource that passes a connection on."""
        name = f"connect{subject.id_group}{method.title()}{scope}{subject.id_kind}"
        operation = self._operation(subject, "connect", name, {})
        self._dialect.add_responses(operation, "", (200,), ("*/*",))
        return operation

    def path_parameters(self, *, namespaced: bool, named: bool) -> list[dict[str, Any]]:
        """The parameters that all operations of a path share."""
        found = []
        if named:
            found.append(self._dialect.parameter("name", "string", "path"))
        if namespaced:
            found.append(self._dialect.parameter("namespace", "string", "path"))
        return [*found, self._dialect.parameter("pretty", "string", "query")]

    def path_parameter(self, name: str) -> dict[str, Any]:
        """A further part of a path."""
        return self._dialect.parameter(name, "string", "path")

    def _parameters(self, parameters: Mapping[str, str]) -> list[dict[str, Any]]:
        return [self._dialect.parameter(name, kind, "query") for name, kind in parameters.items()]

    def _operation(
        self, subject: Subject, action: str, operation_id: str, parameters: Mapping[str, str]
    ) -> dict[str, Any]:
        operation: dict[str, Any] = {
            "operationId": operation_id,
            "tags": [subject.tag],
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": gvk_entry(subject.gvk),
            "parameters": self._parameters(parameters),
        }
        if self._dialect is Dialect.V2:
            operation["schemes"] = ["https"]
        return operation

"""The `request` variable: an AdmissionRequest without uid and objects, and the user in it."""

from __future__ import annotations

from typing import Any

from watchkeeper.admission.interface import Attributes
from watchkeeper.meta.gvk import GroupVersionKind, GroupVersionResource
from watchkeeper.meta.object_meta import object_meta_without
from watchkeeper.request.user import User

Object = dict[str, Any]


def request_value(attributes: Attributes, resource: GroupVersionResource, kind: GroupVersionKind) -> Object:
    """What expressions see as `request`, for a request that matched as one for `resource` with objects of `kind`.

    Texts that are empty are absent, as in JSON.
    """
    found: Object = {
        "kind": _kind(kind),
        "resource": _resource(resource),
        "requestKind": _kind(attributes.kind),
        "requestResource": _resource(attributes.resource),
        "operation": str(attributes.operation),
        "userInfo": _user(attributes.user),
        "dryRun": attributes.dry_run,
        "options": None if attributes.options is None else dict(attributes.options),
    }
    optional = {
        "subResource": attributes.subresource,
        "requestSubResource": attributes.subresource,
        "name": attributes.name,
        "namespace": attributes.namespace,
    }
    found.update((key, value) for key, value in optional.items() if value)
    return found


def _kind(kind: GroupVersionKind) -> Object:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _resource(resource: GroupVersionResource) -> Object:
    return {"group": resource.group, "version": resource.version, "resource": resource.resource}


def _user(user: User) -> Object:
    found: Object = {}
    if user.name:
        found["username"] = user.name
    if user.uid:
        found["uid"] = user.uid
    if user.groups:
        found["groups"] = list(user.groups)
    if user.extra:
        found["extra"] = {key: list(values) for key, values in user.extra.items()}
    return found


_SHOWN = object_meta_without("selfLink", "ownerReferences", "managedFields")


def namespace_value(namespace: Object | None) -> Object | None:
    """What expressions see as `namespaceObject`: a Namespace without owners and managed fields."""
    if namespace is None:
        return None
    metadata = namespace["metadata"]
    return {
        "metadata": {key: metadata[key] for key in _SHOWN if key in metadata},
        "spec": namespace.get("spec") or {},
        "status": namespace.get("status") or {},
    }

"""The AdmissionReview that a webhook is sent."""

from __future__ import annotations

from typing import Any

import orjson

from watchkeeper.admission.interface import Attributes
from watchkeeper.admission.matching import Match
from watchkeeper.admission.versioned import Versioned
from watchkeeper.meta.gvk import GroupVersionKind, GroupVersionResource
from watchkeeper.request.user import User

Object = dict[str, Any]

GROUP = "admission.k8s.io"
KIND = "AdmissionReview"


def review_request(attributes: Attributes, match: Match, versioned: Versioned, uid: str, version: str) -> bytes:
    """A request in a review of a version, as JSON. Texts that are empty are left out, objects that are not there null.

    v1 and v1beta1 have the same fields.
    """
    a = attributes
    request: Object = {
        "uid": uid,
        "kind": _kind(match.kind),
        "resource": _resource(match.resource),
        "requestKind": _kind(a.kind),
        "requestResource": _resource(a.resource),
    }
    if a.subresource:
        request["subResource"] = request["requestSubResource"] = a.subresource
    if a.name:
        request["name"] = a.name
    if a.namespace:
        request["namespace"] = a.namespace
    request["operation"] = str(a.operation)
    request["userInfo"] = _user(a.user)
    request["object"] = versioned.obj
    request["oldObject"] = versioned.old
    request["dryRun"] = a.dry_run
    request["options"] = None if a.options is None else dict(a.options)
    return orjson.dumps({"kind": KIND, "apiVersion": f"{GROUP}/{version}", "request": request})


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

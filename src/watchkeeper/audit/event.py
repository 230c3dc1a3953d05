"""audit.k8s.io/v1 Event: what is told of a request."""

from __future__ import annotations

import time
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from watchkeeper.apis.protobuf import shown_object_of
from watchkeeper.audit.policy import Decision, Level, Stage
from watchkeeper.request.request import Request
from watchkeeper.request.user import User
from watchkeeper.runtime.scheme import DecodeError
from watchkeeper.runtime.yaml import YamlError, load_yaml

Object = dict[str, Any]
_MAX_USER_AGENT = 1024
_GZIP_MAGIC = b"\x1f\x8b"
_PROTOBUF_MAGIC = b"k8s\x00"
_KNOWN_AT_THE_END = frozenset({"k8s.io/deprecated", "k8s.io/removed-release"})
"""Annotations that the beginning of a watch is told of without."""


class Entry:
    """What is known of one request so far. `line` puts it into words at each stage of the request."""

    def __init__(self, request: Request, decision: Decision, audit_id: str) -> None:
        """Begin when it is known who asks, and before they may turn into somebody else."""
        self._request = request
        self.decision = decision
        self.audit_id = audit_id
        self._user = request.user
        self._received = _micro_time(time.time())
        self._reference = _reference(request)
        self._code = 0
        self._status: Object = {}
        self._request_object: Any = None
        self._response_object: Any = None

    def attempted(self, message: str) -> None:
        """Note in which ways somebody tried to say who they are, in vain."""
        self._status["message"] = message

    def requested(self, body: bytes) -> None:
        """Note the body of the request. One that cannot be read is left out: its request fails."""
        found = _decoded(body)
        if isinstance(found, dict) and self._reference is not None and self._request.method != "DELETE":
            metadata = found.get("metadata")
            if isinstance(metadata, dict):
                _complete(self._reference, metadata)
        if self.decision.level >= Level.REQUEST:
            self._request_object = self._cleaned(found)

    def decoded(self, obj: Object) -> None:
        """Note what the body means instead of what it says."""
        self._request_object = self._cleaned(orjson.loads(orjson.dumps(obj)))

    def responded(self, code: int, body: bytes = b"") -> None:
        """Note the answer. Of a stream only the status code is known."""
        self._code = code
        if not body or (code < 400 and self.decision.level < Level.REQUEST_RESPONSE):
            return
        # Only this server's own answers are unpacked: what a client sends could unpack to anything.
        found = _decoded(zlib.decompress(body, zlib.MAX_WBITS | 16) if body.startswith(_GZIP_MAGIC) else body)
        if not isinstance(found, dict):
            return
        if found.get("kind") == "Status" and found.get("apiVersion") == "v1":
            for name in ("status", "message", "reason", "details"):
                if name in found:
                    self._status.setdefault(name, found[name])
        if self.decision.level >= Level.REQUEST_RESPONSE:
            self._response_object = self._cleaned(found)

    def panicked(self) -> None:
        """Note that the server has failed."""
        self._code = 500
        self._status = {"status": "Failure", "reason": "InternalError", "message": "APIServer panic'd"}

    def line(self, stage: Stage) -> bytes:
        """The Event of a stage as a line of JSON."""
        request = self._request
        event: Object = {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": self.decision.level.text,
            "auditID": self.audit_id,
            "stage": stage,
            "requestURI": request.uri,
            "verb": request.info.verb,
            "user": _user_info(self._user),
        }
        if request.user is not self._user:
            event["impersonatedUser"] = _user_info(request.user)
        if request.impersonation:
            event["authenticationMetadata"] = {"impersonationConstraint": request.impersonation}
        if sources := _source_ips(request):
            event["sourceIPs"] = sources
        if agent := request.header(b"user-agent"):
            event["userAgent"] = agent if len(agent) <= _MAX_USER_AGENT else agent[:_MAX_USER_AGENT] + "...TRUNCATED"
        if self._reference is not None:
            event["objectRef"] = self._reference
        if self._code:
            event["responseStatus"] = {"metadata": {}, **self._status, "code": self._code}
        if self._request_object is not None:
            event["requestObject"] = self._request_object
        if self._response_object is not None:
            event["responseObject"] = self._response_object
        event["requestReceivedTimestamp"] = self._received
        event["stageTimestamp"] = _micro_time(time.time())
        annotations = dict(request.audit)
        if self.decision.level >= Level.REQUEST:
            annotations |= request.audit_details
        if stage is Stage.RESPONSE_STARTED:
            annotations = {key: value for key, value in annotations.items() if key not in _KNOWN_AT_THE_END}
        if annotations:
            event["annotations"] = annotations
        return orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE)

    def _cleaned(self, found: Any) -> Any:
        """Without managedFields, where the policy leaves them out."""
        if not self.decision.omit_managed_fields or not isinstance(found, dict):
            return found
        if isinstance(items := found.get("items"), list):
            return {**found, "items": [_without_managed_fields(item) for item in items]}
        if found.get("kind") == "Table" and isinstance(rows := found.get("rows"), list):
            cleaned = [{**row, "object": _without_managed_fields(row.get("object"))} for row in rows]
            return {**found, "rows": cleaned}
        return _without_managed_fields(found)


def _without_managed_fields(found: Any) -> Any:
    if not isinstance(found, dict) or not isinstance(metadata := found.get("metadata"), dict):
        return found
    return {**found, "metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}


def _reference(request: Request) -> Object | None:
    info = request.info
    if not info.is_resource:
        return None
    fields = {
        "resource": info.resource,
        "namespace": info.namespace,
        "name": info.name,
        "apiGroup": info.group,
        "apiVersion": info.version,
        "subresource": info.subresource,
    }
    return {name: value for name, value in fields.items() if value}


def _complete(reference: Object, metadata: Mapping[str, Any]) -> None:
    for name in ("namespace", "name", "uid", "resourceVersion"):
        value = metadata.get(name)
        if value and isinstance(value, str):
            reference.setdefault(name, value)


def _user_info(user: User) -> Object:
    fields: Object = {"username": user.name, "uid": user.uid, "groups": list(user.groups)}
    fields["extra"] = {key: list(values) for key, values in user.extra.items()}
    return {name: value for name, value in fields.items() if value}


def _source_ips(request: Request) -> list[str]:
    """Who forwarded it, as they say, and the peer, which alone is certain."""
    sources = [source.strip() for source in request.header(b"x-forwarded-for").split(",") if source.strip()]
    if not sources and (real := request.header(b"x-real-ip").strip()):
        sources = [real]
    client = request.scope.get("client")
    if client and client[0] not in sources[-1:]:
        sources.append(client[0])
    return sources


def _decoded(body: bytes) -> Any:
    """What a body says, None when it cannot be read."""
    if not body:
        return None
    if body.startswith(_PROTOBUF_MAGIC):
        try:
            return shown_object_of(body)
        except (ValueError, DecodeError):
            return None
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        return load_yaml(body)
    except (YamlError, RecursionError):
        return None


def _micro_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

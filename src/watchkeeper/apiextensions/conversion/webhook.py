"""Conversion by a webhook: ConversionReview, over HTTPS, as apiextensions-apiserver has it."""

from __future__ import annotations

import uuid
from functools import cache
from typing import Any

import orjson

from watchkeeper.apis.schema_data import schema_data
from watchkeeper.apis.validation.metadata import validate_annotations, validate_labels
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import aggregate, go_json, go_quote
from watchkeeper.meta.gvk import GroupVersion, GroupVersionKind
from watchkeeper.runtime.json_text import with_digits
from watchkeeper.runtime.schema import Field, Schema, SchemaType
from watchkeeper.runtime.scheme import gvk_of
from watchkeeper.runtime.unmarshal import described
from watchkeeper.webhook import ClientConfig, Clients, WebhookError, read_review

Object = dict[str, Any]

TIMEOUT = 30
"""Seconds that a webhook has."""
_GROUP = "apiextensions.k8s.io"
_KIND = "ConversionReview"
_KNOWN = ("v1", "v1beta1")
_TIMED_OUT = "context deadline exceeded"
_NO_RESPONSE: Object = {"uid": "", "convertedObjects": None, "result": {"metadata": {}}}
"""The empty response that a request carries."""
_STATUS = "io.k8s.apimachinery.pkg.apis.meta.v1.Status"
_GO_TYPES = {str: "string", bool: "bool", int: "int64", float: "float64", list: "[]interface {}", type(None): "<nil>"}


class WebhookConverter:
    """Asks a webhook. An object that is at the wanted version already is not sent."""

    is_local = False

    def __init__(self, webhook: Object, clients: Clients | None = None) -> None:
        """`webhook` is spec.conversion.webhook of the definition; without `clients` it has some of its own."""
        self._versions: list[str] = webhook.get("conversionReviewVersions") or []
        self._config = ClientConfig.of(webhook.get("clientConfig") or {})
        self._own = Clients() if clients is None else None
        self._clients = clients or self._own or Clients()

    def convert_nowait(self, obj: Object, to: GroupVersion) -> Object:
        """Not possible: somebody else has to be asked."""
        raise RuntimeError("a webhook takes time")

    async def convert(self, obj: Object, to: GroupVersion) -> Object:
        """Convert an object by a request of its own, as the reference does. Raises ApiError."""
        if obj.get("apiVersion") == str(to):
            return obj
        kind = gvk_of(obj)
        uid = str(uuid.uuid4())
        version = self._review_version()
        review = {
            "kind": _KIND,
            "apiVersion": f"{_GROUP}/{version}",
            "request": {"uid": uid, "desiredAPIVersion": str(to), "objects": [obj]},
            "response": _NO_RESPONSE,
        }
        try:
            content = await self._clients.get(self._config).post(with_digits(orjson.dumps(review)), timeout=TIMEOUT)
            expected = GroupVersionKind(_GROUP, version, _KIND)
            converted = _converted_objects(read_review(content, expected, _schema(version)), expected, uid)
        except (WebhookError, _Refused) as problem:
            why = str(problem)
            if why.startswith("Post ") and why.endswith(_TIMED_OUT):
                why += " (Client.Timeout exceeded while awaiting headers)"
            raise _failure(f"conversion webhook for {kind} failed: {why}") from problem
        if len(converted) != 1:
            raise _failure(f"conversion webhook for {kind} returned {len(converted)} objects, expected 1")
        (new,) = converted
        _check(kind, obj, new, to)
        found: Object = new
        return found

    def close(self) -> None:
        """Close idle connections that are nobody else's."""
        if self._own is not None:
            self._own.close()

    def _review_version(self) -> str:
        for version in self._versions:
            if version in _KNOWN:
                return version
        raise _failure("no supported conversion review versions")


class _Refused(Exception):
    """The webhook gave no usable answer."""


def _failure(message: str) -> ApiError:
    return ApiError(500, "", message)


@cache
def _schema(version: str) -> Schema:
    """What of a review is read."""
    text = Schema(SchemaType.STRING, go_type="string")
    anything = Schema(SchemaType.ANY, go_type="runtime.RawExtension")
    response = Schema(
        SchemaType.STRUCT,
        go_type=f"{version}.ConversionResponse",
        fields={
            "uid": Field("uid", Schema(SchemaType.STRING, go_type="types.UID")),
            "convertedObjects": Field(
                "convertedObjects", Schema(SchemaType.LIST, go_type="[]runtime.RawExtension", element=anything)
            ),
            "result": Field("result", schema_data().definitions[_STATUS]),
        },
    )
    return Schema(
        SchemaType.STRUCT,
        go_type=f"{version}.ConversionReview",
        fields={
            "kind": Field("kind", text),
            "apiVersion": Field("apiVersion", text),
            "response": Field("response", response, pointer=True),
        },
    )


def _converted_objects(review: Object, expected: GroupVersionKind, uid: str) -> list[Any]:
    found = gvk_of(review)
    if expected.version == "v1" and found != expected:
        raise _Refused(f"expected webhook response of {expected}, got {found}")
    response: Object | None = review.get("response")
    if response is None:
        raise _Refused("no response provided")
    if expected.version == "v1" and response.get("uid") != uid:
        raise _Refused(f"expected response.uid={go_quote(uid)}, got {go_quote(response.get('uid') or '')}")
    result = response.get("result") or {}
    if result.get("status") != "Success":
        message = result.get("message")
        raise _Refused(message or f"response.result.status was '{result.get('status') or ''}', not 'Success'")
    converted: list[Any] = response.get("convertedObjects") or []
    return converted


def _check(kind: GroupVersionKind, original: Object, new: Any, to: GroupVersion) -> None:
    """Refuse what is no conversion, and give it back the metadata that no conversion may touch."""
    words = f"conversion webhook for {kind} returned invalid"
    _require_object(new)
    found = gvk_of(new)
    if found.group_version != to:
        text = f"invalid groupVersion (expected {to}, received {found.group_version})"
        raise _failure(f"{words} object at index 0: {text}")
    if found.kind != original.get("kind"):
        text = f"invalid kind (expected {original.get('kind')}, received {found.kind})"
        raise _failure(f"{words} object at index 0: {text}")
    try:
        _same_identity(original, new)
    except _Refused as problem:
        raise _failure(f"{words} object: {problem}") from problem
    try:
        _restore_metadata(original, new)
    except _Refused as problem:
        raise _failure(f"{words} metadata: {problem}") from problem


def _require_object(new: Any) -> None:
    """Refuse what cannot be read as an object, as the decoder of one does."""
    if new is None:
        raise _failure("unexpected end of JSON input")
    if not isinstance(new, dict):
        raise _failure(f"json: cannot unmarshal {described(new)} into Go value of type map[string]interface {{}}")
    if not isinstance(new.get("kind"), str) or not new["kind"] or not _is_version(new.get("apiVersion")):
        raise _failure(f"Object 'Kind' is missing in '{go_json(new)}'")
    if not isinstance(new.get("apiVersion"), str):
        new["apiVersion"] = ""


def _is_version(said: Any) -> bool:
    """Whether it reads as a group and version; what is no text is as good as none."""
    try:
        GroupVersion.parse(said if isinstance(said, str) else "")
    except ValueError:
        return False
    return True


def _same_identity(original: Object, new: Object) -> None:
    before, after = original.get("metadata") or {}, new.get("metadata")
    after = after if isinstance(after, dict) else {}
    for key, word in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        a, b = before.get(key) or "", after.get(key)
        b = b if isinstance(b, str) else ""
        if a != b:
            raise _Refused(f"must have the same {word}: {a} != {b}")


def _restore_metadata(original: Object, new: Object) -> None:
    """Only labels and annotations are the webhook's to change."""
    if "metadata" not in new:
        raise _Refused("missing metadata in converted object")
    answered = new["metadata"]
    if not isinstance(answered, dict):
        raise _Refused(f"invalid metadata of type {_go_type(answered)} in converted object")
    restored = dict(original.get("metadata") or {})
    new["metadata"] = restored
    for key in ("labels", "annotations"):
        value = answered.get(key)
        if value is None:
            restored.pop(key, None)
            continue
        if not isinstance(value, dict):
            raise _Refused(f"invalid metadata.{key} of type {_go_type(value)} in converted object")
        for name, text in value.items():
            if not isinstance(text, str):
                where = f"metadata.{key}[{name}]"
                raise _Refused(f"{where} must be a string, but is {_go_type(text)} in converted object")
        if value != restored.get(key):
            wrong = (
                validate_labels(value, "metadata.labels")
                if key == "labels"
                else validate_annotations(value, "metadata.annotation")
            )
            if wrong:
                raise _Refused(aggregate(wrong))
        restored[key] = value


def _go_type(value: Any) -> str:
    return _GO_TYPES.get(type(value), "map[string]interface {}")

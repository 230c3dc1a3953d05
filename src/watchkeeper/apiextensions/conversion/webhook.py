"""Conversion by a webhook: ConversionReview, over HTTPS, as apiextensions-apiserver has it."""

from __future__ import annotations

import base64
import ssl
import uuid
from collections.abc import Sequence
from typing import Any

import orjson

from watchkeeper.aio.http_client import HttpAnswer, HttpError, JsonPoster
from watchkeeper.apis.validation.metadata import validate_annotations, validate_labels
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import aggregate, go_quote
from watchkeeper.meta.gvk import GroupVersion, GroupVersionKind
from watchkeeper.runtime.scheme import gvk_of

Object = dict[str, Any]

TIMEOUT = 30.0
"""Seconds that a webhook has."""
_GROUP = "apiextensions.k8s.io"
_KNOWN = ("v1", "v1beta1")
_GO_TYPES = {str: "string", bool: "bool", int: "int64", float: "float64", list: "[]interface {}", type(None): "<nil>"}


class WebhookConverter:
    """Asks a webhook. Objects that are at the wanted version already are not sent."""

    is_local = False

    def __init__(self, webhook: Object) -> None:
        """`webhook` is spec.conversion.webhook of the definition."""
        self._versions: list[str] = webhook.get("conversionReviewVersions") or []
        self._config: Object = webhook.get("clientConfig") or {}
        self._poster: JsonPoster | None = None

    def convert_nowait(self, objects: Sequence[Object], to: GroupVersion) -> list[Object]:
        """Not possible: somebody else has to be asked."""
        raise RuntimeError("a webhook takes time")

    async def convert(self, objects: Sequence[Object], to: GroupVersion) -> list[Object]:
        """Convert all objects by one request. Raises ApiError."""
        wanted = str(to)
        outcome = list(objects)
        foreign = [i for i, obj in enumerate(objects) if obj.get("apiVersion") != wanted]
        if not foreign:
            return outcome
        sent = [objects[i] for i in foreign]
        kind = gvk_of(sent[0])
        uid = str(uuid.uuid4())
        version = self._review_version()
        review = {
            "kind": "ConversionReview",
            "apiVersion": f"{_GROUP}/{version}",
            "request": {"uid": uid, "desiredAPIVersion": wanted, "objects": sent},
        }
        try:
            answer = await self._ask(orjson.dumps(review))
            converted = _converted_objects(answer, version, uid)
        except _Refused as problem:
            raise _failure(f"conversion webhook for {kind} failed: {problem}") from problem
        if len(converted) != len(sent):
            text = f"returned {len(converted)} objects, expected {len(sent)}"
            raise _failure(f"conversion webhook for {kind} {text}")
        for at, (i, new) in enumerate(zip(foreign, converted, strict=True)):
            _check(kind, at, objects[i], new, to)
            outcome[i] = new
        return outcome

    def close(self) -> None:
        """Close idle connections."""
        if self._poster is not None:
            self._poster.close()
            self._poster = None

    def _review_version(self) -> str:
        for version in self._versions:
            if version in _KNOWN:
                return version
        raise _failure("no supported conversion review versions")

    async def _ask(self, body: bytes) -> Object:
        try:
            if self._poster is None:
                self._poster = _poster_for(self._config)
            answer = await self._poster.post(body, timeout=TIMEOUT)
        except HttpError as problem:
            raise _Refused(str(problem)) from problem
        if not 200 <= answer.status < 300:
            raise _Refused(_status_text(answer))
        try:
            review = orjson.loads(answer.body)
        except ValueError as problem:
            raise _Refused(f"couldn't get version/kind; json parse error: {problem}") from problem
        if not isinstance(review, dict):
            raise _Refused("couldn't get version/kind; json parse error: the answer is no object")
        return review


class _Refused(Exception):
    """The webhook gave no usable answer."""


def _failure(message: str) -> ApiError:
    return ApiError(500, "", message)


def _poster_for(config: Object) -> JsonPoster:
    """Raises _Refused for what cannot be reached from here."""
    service = config.get("service")
    if service is not None:
        where = f"{service.get('namespace')}/{service.get('name')}"
        raise _Refused(
            f"the webhook is behind service {where}, which this server has no network to reach; "
            "give it a clientConfig.url instead"
        )
    context = ssl.create_default_context()
    bundle = base64.b64decode(config.get("caBundle") or "").strip()
    if bundle:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            context.load_verify_locations(cadata=bundle.decode("ascii", "replace"))
        except ssl.SSLError as problem:
            raise _Refused(f"unable to load root certificates: {problem}") from problem
    url = config.get("url") or ""
    try:
        return JsonPoster(f"{url}?timeout={int(TIMEOUT)}s", ssl_context=context)
    except ValueError as problem:
        raise _Refused(str(problem)) from problem


def _status_text(answer: HttpAnswer) -> str:
    """What Go's REST client makes of an HTTP error."""
    match answer.status:
        case 401:
            return "the server has asked for the client to provide credentials"
        case 404:
            return "the server could not find the requested resource"
        case 405:
            return "the server does not allow this method on the requested resource"
        case 429:
            return "the server has received too many requests and has asked us to try again later"
        case 503:
            return "the server is currently unable to handle the request"
        case 504:
            words = "the server was unable to return a response in the time allotted"
            return f"{words}, but may still be processing the request"
        case 500:
            shown = go_quote(answer.body.decode(errors="replace").strip() or "unknown")
            return f"an error on the server ({shown}) has prevented the request from succeeding"
    return f"the server responded with the status code {answer.status} but did not return more information"


def _converted_objects(review: Object, version: str, uid: str) -> list[Any]:
    expected = GroupVersionKind(_GROUP, version, "ConversionReview")
    found = gvk_of(review)
    if version == "v1" and found != expected:
        raise _Refused(f"expected webhook response of {expected}, got {found}")
    response = review.get("response")
    if not isinstance(response, dict):
        raise _Refused("no response provided")
    if version == "v1" and response.get("uid") != uid:
        raise _Refused(f"expected response.uid={go_quote(uid)}, got {go_quote(str(response.get('uid') or ''))}")
    result = response.get("result") or {}
    if result.get("status") != "Success":
        message = result.get("message")
        raise _Refused(message or f"response.result.status was '{result.get('status') or ''}', not 'Success'")
    converted: list[Any] = response.get("convertedObjects") or []
    return converted


def _check(kind: GroupVersionKind, at: int, original: Object, new: Any, to: GroupVersion) -> None:
    """Refuse what is no conversion, and give it back the metadata that no conversion may touch."""
    words = f"conversion webhook for {kind} returned invalid"
    if not isinstance(new, dict) or not isinstance(new.get("kind"), str):
        raise _failure(f"{words} converted object at index {at}: Object 'Kind' is missing")
    found = gvk_of(new)
    if found.group_version != to:
        text = f"invalid groupVersion (expected {to}, received {found.group_version})"
        raise _failure(f"{words} converted object at index {at}: {text}")
    if found.kind != original.get("kind"):
        text = f"invalid kind (expected {original.get('kind')}, received {found.kind})"
        raise _failure(f"{words} converted object at index {at}: {text}")
    try:
        _same_identity(original, new)
    except _Refused as problem:
        raise _failure(f"{words} converted object at index {at}: {problem}") from problem
    try:
        _restore_metadata(original, new)
    except _Refused as problem:
        raise _failure(f"{words} metadata in object at index {at}: {problem}") from problem


def _same_identity(original: Object, new: Object) -> None:
    before, after = original.get("metadata") or {}, new.get("metadata")
    after = after if isinstance(after, dict) else {}
    for key, word in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        a, b = before.get(key) or "", after.get(key) or ""
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

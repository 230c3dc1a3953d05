"""The ImagePolicyWebhook plugin: a backend judges the images of Pods."""

from __future__ import annotations

import json
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import orjson

from watchkeeper.admission.interface import Attributes, BasePlugin, Operation
from watchkeeper.admission.refusal import forbidden
from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.meta.go_durations import format_duration
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.runtime.unmarshal import described
from watchkeeper.runtime.yaml_reader import read_yaml
from watchkeeper.webhook.backend import BackendError

Object = dict[str, Any]

log = logging.getLogger(__name__)

_PODS = GroupResource("", "pods")
_VERSION = "imagepolicy.k8s.io/v1alpha1"
_PREFIX = "imagepolicywebhook.image-policy.k8s.io/"
_PASSED_ON = ".image-policy.k8s.io/"
_EPHEMERAL = "ephemeralcontainers"
_MAX_REMEMBERED = 1024
_NANOSECONDS = 10**9
_STATUS: tuple[tuple[str, type, str], ...] = (
    ("allowed", bool, "bool"),
    ("reason", str, "string"),
    ("auditAnnotations", dict, "map[string]string"),
)


@dataclass(frozen=True, slots=True)
class ImagePolicy:
    """How a backend is asked. Times in seconds."""

    kubeconfig: Path
    allow_ttl: float
    deny_ttl: float
    retry_backoff: float
    default_allow: bool
    """Whether Pods pass while the backend does not answer."""


class Judge(Protocol):
    """A backend that can be asked."""

    async def post_patiently(self, body: bytes, first_wait: float) -> bytes:
        """Its answer. Raises BackendError."""
        ...


def parse_policy(data: str | Mapping[str, Any]) -> ImagePolicy:
    """Read a file, or an object from one. Raises ValueError."""
    found = read_yaml(data.encode()) if isinstance(data, str) else data
    given = (found or {}).get("imagePolicy") if isinstance(found, Mapping | None) else None
    if not isinstance(found, Mapping | None) or not isinstance(given, Mapping | None):
        raise ValueError("json: cannot unmarshal into Go value of type imagepolicy.AdmissionConfig")
    given = given or {}
    for name, kinds, wanted in (
        ("kubeConfigFile", str, "string"),
        ("allowTTL", int, "time.Duration"),
        ("denyTTL", int, "time.Duration"),
        ("retryBackoff", int, "time.Duration"),
        ("defaultAllow", bool, "bool"),
    ):
        value = given.get(name)
        if value is not None and (not isinstance(value, kinds) or isinstance(value, bool) is not (kinds is bool)):
            where = f"Go struct field imagePolicyWebhookConfig.imagePolicy.{name} of type {wanted}"
            raise ValueError(f"json: cannot unmarshal {described(value)} into {where}")
    backoff = _seconds(given.get("retryBackoff") or 0, 10**6, 1, 300 * _NANOSECONDS, 0.5)
    allow = _seconds(given.get("allowTTL") or 0, _NANOSECONDS, _NANOSECONDS, 1800 * _NANOSECONDS, 300.0)
    deny = _seconds(given.get("denyTTL") or 0, _NANOSECONDS, _NANOSECONDS, 1800 * _NANOSECONDS, 30.0)
    return ImagePolicy(Path(given.get("kubeConfigFile") or ""), allow, deny, backoff, bool(given.get("defaultAllow")))


def _seconds(value: int, scale: int, least: int, most: int, default: float) -> float:
    if value == -1:
        return 0.0
    if value == 0:
        return default
    value *= scale
    if not least <= value <= most:
        shown = [format_duration(each) for each in (least, most, value)]
        raise ValueError(f"valid value is between {shown[0]} and {shown[1]}, got {shown[2]}")
    return value / _NANOSECONDS


class ImagePolicyWebhook(BasePlugin):
    """Asks about the images of each Pod that is created or changed, and remembers answers for a while."""

    name = "ImagePolicyWebhook"
    operations = frozenset({Operation.CREATE, Operation.UPDATE})
    resources = frozenset({_PODS})

    def __init__(self, backend: Judge, policy: ImagePolicy, clock: Clock = SYSTEM_CLOCK) -> None:
        self._backend = backend
        self._policy = policy
        self._clock = clock
        self._remembered: OrderedDict[bytes, tuple[float, Object]] = OrderedDict()

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Refuse a Pod with an image that the backend refuses."""
        if attributes.subresource not in ("", _EPHEMERAL):
            return None
        return self._judge(attributes, _spec(attributes))

    async def _judge(self, attributes: Attributes, spec: Object) -> None:
        key = json.dumps(spec, separators=(",", ":"), sort_keys=True).encode()
        status = self._recall(key)
        if status is None:
            try:
                status = await self._ask(spec)
            except BackendError as error:
                log.info("the backend for images cannot be asked: %s", error)
                if not self._policy.default_allow:
                    if error.failure is not None and error.failure.reason == "Forbidden":
                        raise error.failure from error
                    raise forbidden(attributes, str(error)) from error
                attributes.annotate(f"{_PREFIX}failed-open", "true")
                return
            self._remember(key, status)
        for name, value in (status.get("auditAnnotations") or {}).items():
            attributes.annotate(f"{_PREFIX}{name}", value or "")
        if not status.get("allowed"):
            reason = status.get("reason") or ""
            told = f"image policy webhook backend denied one or more images: {reason}"
            raise forbidden(attributes, told if reason else "one or more images rejected by webhook backend")

    async def _ask(self, spec: Object) -> Object:
        review = {"kind": "ImageReview", "apiVersion": _VERSION, "metadata": {}, "spec": spec}
        body = orjson.dumps({**review, "status": {"allowed": False}}) + b"\n"
        answer = await self._backend.post_patiently(body, self._policy.retry_backoff)
        try:
            found = orjson.loads(answer)
        except ValueError as error:
            raise BackendError(f"the backend's answer cannot be read: {error}", passing=False) from error
        status = found.get("status") if isinstance(found, dict) else None
        if not isinstance(found, dict) or not isinstance(status, dict | None):
            raise BackendError("the backend's answer is no ImageReview", passing=False)
        kind, version = found.get("kind", "ImageReview"), found.get("apiVersion", _VERSION)
        if (kind, version) != ("ImageReview", _VERSION):
            raise BackendError(f'no kind "{kind}" is registered for version "{version}"', passing=False)
        status = status or {}
        for name, field_kind, wanted in _STATUS:
            if not isinstance(status.get(name), field_kind | None):
                where = f"Go struct field ImageReviewStatus.status.{name} of type {wanted}"
                raise BackendError(f"json: cannot unmarshal {described(status[name])} into {where}", passing=False)
        for value in (status.get("auditAnnotations") or {}).values():
            if not isinstance(value, str | None):
                where = "Go struct field ImageReviewStatus.status.auditAnnotations of type string"
                raise BackendError(f"json: cannot unmarshal {described(value)} into {where}", passing=False)
        return status

    def _recall(self, key: bytes) -> Object | None:
        found = self._remembered.get(key)
        if found is None:
            return None
        if found[0] <= self._clock.monotonic():
            del self._remembered[key]
            return None
        self._remembered.move_to_end(key)
        return found[1]

    def _remember(self, key: bytes, status: Object) -> None:
        seconds = self._policy.allow_ttl if status.get("allowed") else self._policy.deny_ttl
        if not seconds:
            return
        self._remembered[key] = self._clock.monotonic() + seconds, status
        self._remembered.move_to_end(key)
        while len(self._remembered) > _MAX_REMEMBERED:
            self._remembered.popitem(last=False)


def _spec(attributes: Attributes) -> Object:
    """What the backend is told of a Pod."""
    assert attributes.obj is not None
    pod = attributes.obj["spec"]
    kinds = ("ephemeralContainers",) if attributes.subresource else ("containers", "initContainers")
    images = [{"image": each["image"]} if each.get("image") else {} for kind in kinds for each in pod.get(kind) or ()]
    annotations = attributes.obj["metadata"].get("annotations") or {}
    told = {key: value for key, value in sorted(annotations.items()) if _PASSED_ON in key}
    spec: Object = {"containers": images} if images else {}
    if told:
        spec["annotations"] = told
    if attributes.namespace:
        spec["namespace"] = attributes.namespace
    return spec

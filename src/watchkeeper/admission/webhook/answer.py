"""The AdmissionReview that a webhook answers: read, and checked as far as its version promises."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from watchkeeper.admission.webhook.request import GROUP, KIND
from watchkeeper.apis.schema_data import schema_data
from watchkeeper.meta.field import go_quote
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.schema import Field, Schema, SchemaType
from watchkeeper.runtime.scheme import gvk_of
from watchkeeper.webhook import read_review

Object = dict[str, Any]

JSON_PATCH = "JSONPatch"
_STATUS = "io.k8s.apimachinery.pkg.apis.meta.v1.Status"


class InvalidAnswer(Exception):
    """A review that is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a webhook says."""

    allowed: bool
    status: Object | None
    """Why not; a metav1.Status."""
    patch: bytes
    patch_type: str
    warnings: Sequence[str]
    annotations: Mapping[str, str]
    """For the audit log."""


def read_answer(body: bytes, uid: str, version: str, *, mutating: bool) -> Answer:
    """The answer to the request `uid` in a review of a version.

    Raises WebhookError for what cannot be decoded, InvalidAnswer for what v1 asks for and is not there.
    """
    kind = GroupVersionKind(GROUP, version, KIND)
    review = read_review(body, kind, _schema(version))
    response: Object | None = review.get("response")
    if response is None:
        raise InvalidAnswer("webhook response was absent")
    patch = b64decode(response.get("patch") or "")
    patch_type: str | None = response.get("patchType")
    if version == "v1":
        _check_identity(response, uid, gvk_of(review), kind)
        _check_patch(patch, patch_type, mutating=mutating)
    elif not mutating:
        patch, patch_type = b"", None
    else:
        # v1beta1 knows one type of patches and does not insist on its name.
        patch_type = JSON_PATCH if patch else None
    return Answer(
        allowed=bool(response.get("allowed")),
        status=response.get("status"),
        patch=patch,
        patch_type=patch_type or "",
        warnings=response.get("warnings") or (),
        annotations=response.get("auditAnnotations") or {},
    )


def _check_identity(response: Object, uid: str, found: GroupVersionKind, kind: GroupVersionKind) -> None:
    answered = response.get("uid") or ""
    if answered != uid:
        raise InvalidAnswer(f"expected response.uid={go_quote(uid)}, got {go_quote(answered)}")
    if found != kind:
        raise InvalidAnswer(f"expected webhook response of {kind}, got {found}")


def _check_patch(patch: bytes, patch_type: str | None, *, mutating: bool) -> None:
    if not mutating:
        if patch:
            raise InvalidAnswer("validating webhook may not return response.patch")
        if patch_type is not None:
            raise InvalidAnswer("validating webhook may not return response.patchType")
        return
    if patch and patch_type is None:
        raise InvalidAnswer("webhook returned response.patch but not response.patchType")
    if not patch and patch_type is not None:
        raise InvalidAnswer("webhook returned response.patchType but not response.patch")
    if patch_type == "":
        raise InvalidAnswer('webhook returned invalid response.patchType of ""')


@cache
def _schema(version: str) -> Schema:
    """What of a review is read."""
    text = Schema(SchemaType.STRING, go_type="string")
    texts = Schema(SchemaType.MAP, go_type="map[string]string", element=text)
    response = Schema(
        SchemaType.STRUCT,
        go_type=f"{version}.AdmissionResponse",
        fields=_fields(
            Field("uid", Schema(SchemaType.STRING, go_type="types.UID")),
            Field("allowed", Schema(SchemaType.BOOLEAN, go_type="bool")),
            Field("status", schema_data().definitions[_STATUS], pointer=True),
            Field("patch", Schema(SchemaType.STRING, go_type="[]uint8", format="byte")),
            Field("patchType", Schema(SchemaType.STRING, go_type=f"{version}.PatchType"), pointer=True),
            Field("auditAnnotations", texts),
            Field("warnings", Schema(SchemaType.LIST, go_type="[]string", element=text)),
        ),
    )
    return Schema(
        SchemaType.STRUCT,
        go_type=f"{version}.AdmissionReview",
        fields=_fields(
            Field("kind", text),
            Field("apiVersion", text),
            Field("response", response, pointer=True),
        ),
    )


def _fields(*fields: Field) -> dict[str, Field]:
    return {field.name: field for field in fields}

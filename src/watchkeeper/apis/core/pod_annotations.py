"""The rules of annotations that mean something for a Pod, and of those that older fields came from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.core.toleration_annotation import TOLERATIONS, validate_toleration_annotation
from watchkeeper.apis.core.windows_validation import each_container
from watchkeeper.apis.validation.paths import validate_local_descending_path
from watchkeeper.meta.field import FieldError, forbidden, go_quote, invalid

Object = Mapping[str, Any]
Annotations = Mapping[str, str]

MIRROR_POD = "kubernetes.io/config.mirror"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
APPARMOR_CONTAINER = "container.apparmor.security.beta.kubernetes.io/"
_LOCALHOST = "localhost/"
_INT32 = 2**31
_plain_int = re.compile("-?(0|[1-9][0-9]*)").fullmatch


def validate_pod_annotations(
    annotations: Annotations, spec: Object, path: str, *, check_cost: bool = True
) -> list[FieldError]:
    """Annotations of a Pod or a template, at `path`."""
    errors: list[FieldError] = []
    if not annotations:
        return errors
    if MIRROR_POD in annotations and not spec.get("nodeName"):
        text = "must set spec.nodeName if mirror pod annotation is set"
        errors.append(invalid(f"{path}[{MIRROR_POD}]", annotations[MIRROR_POD], text))
    if annotations.get(TOLERATIONS):
        errors += validate_toleration_annotation(annotations[TOLERATIONS], path)
    if check_cost and DELETION_COST in annotations and not is_deletion_cost(annotations[DELETION_COST]):
        errors.append(invalid(f"{path}[{DELETION_COST}]", annotations[DELETION_COST], "must be a 32bit integer"))
    for key, value in annotations.items():
        if key == SECCOMP_POD or key.startswith(SECCOMP_CONTAINER):
            errors += _seccomp_errors(value, f"{path}.{key}")
    for key, value in annotations.items():
        if key.startswith(APPARMOR_CONTAINER):
            errors += _apparmor_errors(key, value, spec, f"{path}[{key}]")
    return errors


def is_deletion_cost(text: str) -> bool:
    """Whether a text is a whole number of 32 bits."""
    return _plain_int(text) is not None and -_INT32 <= int(text) < _INT32


def _seccomp_errors(profile: str, path: str) -> list[FieldError]:
    if profile in ("runtime/default", "docker/default", "unconfined"):
        return []
    if profile.startswith(_LOCALHOST):
        return validate_local_descending_path(profile.removeprefix(_LOCALHOST), path)
    return [invalid(path, profile, "must be a valid seccomp profile")]


def _apparmor_errors(key: str, profile: str, spec: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    name = key.removeprefix(APPARMOR_CONTAINER)
    if not any(container.get("name") == name for container, _ in each_container(spec, "")):
        errors.append(invalid(path, name, "container not found"))
    if profile not in ("", "runtime/default", "unconfined") and not profile.startswith(_LOCALHOST):
        errors.append(invalid(path, profile, f"invalid AppArmor profile name: {go_quote(profile)}"))
    return errors


def validate_annotation_changes(new: Annotations, old: Annotations, path: str) -> list[FieldError]:
    """What an update may not do to annotations that are fixed at creation."""
    if new == old:
        return []
    errors: list[FieldError] = []
    for key, value in old.items():
        if new.get(key) != value:
            if key.startswith(APPARMOR_CONTAINER):
                errors.append(forbidden(f"{path}[{key}]", "may not remove or update AppArmor annotations"))
            if key == MIRROR_POD:
                errors.append(forbidden(f"{path}[{key}]", "may not remove or update mirror pod annotation"))
    for key in new.keys() - old.keys():
        if key.startswith(APPARMOR_CONTAINER):
            errors.append(forbidden(f"{path}[{key}]", "may not add AppArmor annotations"))
        if key == MIRROR_POD:
            errors.append(forbidden(f"{path}[{key}]", "may not add mirror pod annotation"))
    return errors


def validate_profiles_match(annotations: Annotations, spec: Object, path: str) -> list[FieldError]:
    """Where both an annotation and a field name a seccomp or AppArmor profile, they must agree."""
    if not any(key.startswith((SECCOMP_CONTAINER, APPARMOR_CONTAINER)) or key == SECCOMP_POD for key in annotations):
        return []
    errors: list[FieldError] = []
    pod = spec.get("securityContext") or {}
    if SECCOMP_POD in annotations and pod.get("seccompProfile"):
        at = f"{path}.securityContext.seccompProfile"
        errors += _mismatch("seccomp", annotations[SECCOMP_POD], pod["seccompProfile"], at)
    containers = list(each_container(spec, path))
    for container, at in containers:
        profile = (container.get("securityContext") or {}).get("seccompProfile")
        annotation = annotations.get(SECCOMP_CONTAINER + (container.get("name") or ""))
        if profile and annotation is not None:
            errors += _mismatch("seccomp", annotation, profile, f"{at}.securityContext.seccompProfile")
    if (spec.get("os") or {}).get("name") == "windows":
        return errors
    for container, at in containers:
        own = (container.get("securityContext") or {}).get("appArmorProfile") or pod.get("appArmorProfile")
        annotation = annotations.get(APPARMOR_CONTAINER + (container.get("name") or ""))
        if own and annotation is not None:
            errors += _mismatch("apparmor", annotation, own, f"{at}.securityContext.appArmorProfile")
    return errors


def _mismatch(kind: str, annotation: str, profile: Object, path: str) -> list[FieldError]:
    differs = forbidden(f"{path}.type", f"{kind} type in annotation and field must match")
    match profile.get("type"):
        case "Unconfined":
            return [] if annotation == "unconfined" else [differs]
        case "RuntimeDefault":
            names = ("runtime/default", "docker/default") if kind == "seccomp" else ("runtime/default",)
            return [] if annotation in names else [differs]
        case "Localhost":
            if not annotation.startswith(_LOCALHOST):
                return [differs]
            if profile.get("localhostProfile") != annotation.removeprefix(_LOCALHOST):
                text = f"{kind} profile in annotation and field must match"
                return [forbidden(f"{path}.localhostProfile", text)]
    return []

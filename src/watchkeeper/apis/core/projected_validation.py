"""The rules of projected volumes: several sources in one directory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.core.downward_validation import validate_downward_file
from watchkeeper.apis.core.volume_sources import validate_key_to_path
from watchkeeper.apis.validation.paths import validate_file_mode, validate_local_non_reserved_path
from watchkeeper.apis.validation.selectors import validate_label_selector
from watchkeeper.apis.validation.signers import (
    is_kubernetes_signer,
    signer_of_trust_bundle,
    trust_bundle_name_errors,
    validate_signer_name,
)
from watchkeeper.meta.field import FieldError, forbidden, invalid, not_supported, required

Source = Mapping[str, Any]

_KEY_TYPES = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
_DAY = 24 * 60 * 60
_KINDS = ("secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate")


class _Files:
    """The paths that sources have taken within the volume at `path`."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._taken: set[str] = set()

    def take(self, file: str, shown: str | None = None) -> list[FieldError]:
        """Claim a file; an error if another source has it. `shown` is the error's value, if not the file."""
        if file not in self._taken:
            self._taken.add(file)
            return []
        return [invalid(self._path, file if shown is None else shown, "conflicting duplicate paths")]


def validate_projected(source: Source, path: str, *, allow_non_local_token_path: bool = False) -> list[FieldError]:
    """A projected volume. The flag is for updates of pods that already break the rule."""
    errors = validate_file_mode(source.get("defaultMode"), f"{path}.defaultMode")
    files = _Files(path)
    for i, projection in enumerate(source.get("sources") or ()):
        at = f"{path}.sources[{i}]"
        present = [kind for kind in _KINDS if projection.get(kind) is not None]
        for kind in present:
            value = projection[kind]
            if kind in ("secret", "configMap"):
                errors += _keys(value, f"{at}.{kind}", files)
            elif kind == "downwardAPI":
                errors += _downward(value, f"{at}.{kind}", files)
            elif kind == "serviceAccountToken":
                errors += _token(value, f"{at}.{kind}", path, allow_non_local_token_path)
            elif kind == "clusterTrustBundle":
                errors += _trust_bundle(value, f"{at}.{kind}", files)
            else:
                errors += _pod_certificate(value, f"{at}.{kind}", files)
        if len(present) > 1:
            errors.append(forbidden(at, "may not specify more than 1 volume type per source"))
    return errors


def _keys(value: Source, path: str, files: _Files) -> list[FieldError]:
    name = value.get("name") or ""
    errors = [] if name else [required(f"{path}.name")]
    for i, item in enumerate(value.get("items") or ()):
        errors += validate_key_to_path(item, f"{path}.items[{i}]")
        if item.get("path"):
            errors += files.take(item["path"], name)
    return errors


def _downward(value: Source, path: str, files: _Files) -> list[FieldError]:
    errors: list[FieldError] = []
    for item in value.get("items") or ():
        errors += validate_downward_file(item, path)
        if item.get("path"):
            errors += files.take(item["path"])
    return errors


def _token(value: Source, path: str, volume: str, allow_non_local: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    seconds = value.get("expirationSeconds") or 0
    at = f"{path}.expirationSeconds"
    if seconds < 10 * 60:
        errors.append(invalid(at, seconds, "may not specify a duration less than 10 minutes"))
    if seconds > 1 << 32:
        errors.append(invalid(at, seconds, "may not specify a duration larger than 2^32 seconds"))
    if not value.get("path"):
        errors.append(required(f"{volume}.path"))
    elif not allow_non_local:
        errors += validate_local_non_reserved_path(value["path"], f"{volume}.path")
    return errors


def _trust_bundle(value: Source, path: str, files: _Files) -> list[FieldError]:
    errors: list[FieldError] = []
    name, signer = value.get("name"), value.get("signerName")
    if name is not None and signer is not None:
        errors.append(invalid(path, dict(value), "only one of name and signerName may be used"))
    elif name is not None:
        if not name:
            errors.append(required(f"{path}.name", "must be a valid object name"))
        wrong = trust_bundle_name_errors(signer_of_trust_bundle(name), name)
        errors += [invalid(f"{path}.name", name, f"not a valid clustertrustbundlename: {text}") for text in wrong]
        if value.get("labelSelector") is not None:
            text = "labelSelector must be unset if name is specified"
            errors.append(invalid(f"{path}.labelSelector", value["labelSelector"], text))
    elif signer is not None:
        if not signer:
            errors.append(required(f"{path}.signerName", "must be a valid signer name"))
        errors += validate_signer_name(signer, f"{path}.signerName")
        errors += validate_label_selector(value.get("labelSelector"), f"{path}.labelSelector")
    else:
        errors.append(required(path, "either name or signerName must be specified"))
    file = value.get("path") or ""
    if not file:
        errors.append(required(f"{path}.path"))
    errors += validate_local_non_reserved_path(file, f"{path}.path")
    return errors + files.take(file)


def _pod_certificate(value: Source, path: str, files: _Files) -> list[FieldError]:
    signer = value.get("signerName") or ""
    errors = validate_signer_name(signer, f"{path}.signerName")
    key_type = value.get("keyType") or ""
    if key_type not in _KEY_TYPES:
        errors.append(not_supported(f"{path}.keyType", key_type, _KEY_TYPES))
    seconds = value.get("maxExpirationSeconds")
    if seconds is not None:
        at, limit = f"{path}.maxExpirationSeconds", _DAY if is_kubernetes_signer(signer) else 91 * _DAY
        if seconds < 3600:
            errors.append(invalid(at, seconds, "if provided, maxExpirationSeconds must be >= 3600"))
        if seconds > limit:
            errors.append(invalid(at, seconds, f"if provided, maxExpirationSeconds must be <= {limit}"))
    given = [name for name in ("credentialBundlePath", "keyPath", "certificateChainPath") if value.get(name)]
    for name in given:
        errors += validate_local_non_reserved_path(value[name], f"{path}.{name}")
        errors += files.take(value[name])
    if not given:
        text = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"
        errors.append(required(path, text))
    return errors

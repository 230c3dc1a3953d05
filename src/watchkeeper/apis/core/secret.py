"""Secrets."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.certificates.key_pair import key_pair_fault
from watchkeeper.apis.core.configmap import MAX_BYTES, decoded_size, validate_keys, validate_unchanged
from watchkeeper.apis.validation.metadata import validate_immutable
from watchkeeper.meta.field import FieldError, invalid, required, too_long
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind
from watchkeeper.runtime.json_syntax import syntax_error
from watchkeeper.runtime.unmarshal import described

Object = dict[str, Any]
Data = Mapping[str, str]

OPAQUE = "Opaque"
SERVICE_ACCOUNT_TOKEN = "kubernetes.io/service-account-token"
_TLS = "kubernetes.io/tls"
_SERVICE_ACCOUNT_NAME = "kubernetes.io/service-account.name"


def default_secret(obj: Object) -> None:
    """Without a type it is opaque. stringData is folded into data here already, so that managers own the data."""
    fold_string_data(obj)
    if not obj.get("type"):
        obj["type"] = OPAQUE


def fold_string_data(obj: Object) -> None:
    """stringData is a way to write: it goes into data, encoded, and is never stored."""
    texts = obj.pop("stringData", None)
    if texts:
        data = dict(obj.get("data") or {})
        for key, text in texts.items():
            data[key] = base64.b64encode(text.encode()).decode()
        obj["data"] = data


def _service_account_token(obj: Object, _data: Data) -> list[FieldError]:
    annotations = obj["metadata"].get("annotations") or {}
    if annotations.get(_SERVICE_ACCOUNT_NAME):
        return []
    return [required(f"metadata.annotations[{_SERVICE_ACCOUNT_NAME}]")]


def _json_under(key: str) -> Callable[[Object, Data], list[FieldError]]:
    def check(_obj: Object, data: Data) -> list[FieldError]:
        if key not in data:
            return [required(f"data[{key}]")]
        problem = _map_problem(base64.b64decode(data[key]))
        return [] if problem is None else [invalid(f"data[{key}]", "<secret contents redacted>", problem)]

    return check


def _map_problem(text: bytes) -> str | None:
    """What is wrong with a text that must be a JSON object, in the words of Go's encoding/json."""
    problem = syntax_error(text)
    if problem is not None:
        return problem
    try:
        found = json.loads(text.decode(errors="replace"), parse_int=float)  # int refuses thousands of digits
    except RecursionError:
        return "exceeded max depth"
    if isinstance(found, dict | None):
        return None
    return f"json: cannot unmarshal {described(found)} into Go value of type map[string]interface {{}}"


def _basic_auth(_obj: Object, data: Data) -> list[FieldError]:
    if "username" in data or "password" in data:
        return []
    return [required("data[username]"), required("data[password]")]


def _ssh_auth(_obj: Object, data: Data) -> list[FieldError]:
    return [] if data.get("ssh-privatekey") else [required("data[ssh-privatekey]")]


def _tls(_obj: Object, data: Data) -> list[FieldError]:
    return [required(f"data[{key}]") for key in ("tls.crt", "tls.key") if key not in data]


_BY_TYPE: dict[str, Callable[[Object, Data], list[FieldError]]] = {
    SERVICE_ACCOUNT_TOKEN: _service_account_token,
    "kubernetes.io/dockercfg": _json_under(".dockercfg"),
    "kubernetes.io/dockerconfigjson": _json_under(".dockerconfigjson"),
    "kubernetes.io/basic-auth": _basic_auth,
    "kubernetes.io/ssh-auth": _ssh_auth,
    _TLS: _tls,
}


def _validate(obj: Object) -> list[FieldError]:
    data: Data = obj.get("data") or {}
    errors = validate_keys(data, "data")
    if decoded_size(data.values()) > MAX_BYTES:
        errors.append(too_long("data", "", MAX_BYTES))
    check = _BY_TYPE.get(obj.get("type", ""))
    return errors + check(obj, data) if check is not None else errors


def _warnings(obj: Object) -> list[str]:
    """A certificate that does not go with its key."""
    if obj.get("type") != _TLS:
        return []
    data = obj.get("data") or {}
    certificate, key = (base64.b64decode(data.get(name) or "") for name in ("tls.crt", "tls.key"))
    fault = key_pair_fault(certificate, key)
    return [fault] if fault else []


def _prepare_for_update(new: Object, old: Object) -> None:
    """An update that leaves the type out keeps it."""
    fold_string_data(new)
    if not new.get("type"):
        new["type"] = old.get("type", OPAQUE)


def _validate_change(new: Object, old: Object) -> list[FieldError]:
    return validate_immutable(new.get("type"), old.get("type"), "type") + validate_unchanged(new, old, ("data",))


def _cells(obj: Object, now: float) -> list[Any]:
    return [printing.name_of(obj), obj.get("type", ""), len(obj.get("data") or ()), printing.age(obj, now)]


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind("", "Secret"),
        prepare_for_create=fold_string_data,
        prepare_for_update=_prepare_for_update,
        validate=_validate,
        validate_update=lambda new, _old: _validate(new),
        validate_change=_validate_change,
        warnings_on_create=_warnings,
        warnings_on_update=lambda new, _old: _warnings(new),
        selectable_fields=lambda obj: {"type": obj.get("type", "")},
        selectable_labels=("type",),
        unsupported_field_label=lambda label: f"field label not supported: {label}",
        has_status=False,
        table=TableSpec(
            columns=(
                printing.NAME,
                Column("Type", "string", "What the Secret is for."),
                Column("Data", "string", "How many entries the Secret holds."),
                printing.AGE,
            ),
            cells=_cells,
        ),
    )
]
DEFAULTS = {GroupVersionKind("", "v1", "Secret"): default_secret}

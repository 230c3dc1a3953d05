"""The rules of object metadata, on create and on update."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.apis.validation.names import (
    NameRule,
    byte_length,
    is_dns1123_label,
    is_label_value,
    is_path_segment_name,
    is_qualified_name,
    name_is_dns_subdomain,
)
from watchkeeper.meta.field import (
    FieldError,
    forbidden,
    go_quote,
    in_declared_order,
    invalid,
    required,
    too_long,
)
from watchkeeper.runtime.with_empties import equal_as_stored

IMMUTABLE = "field is immutable"
NEGATIVE = "must be greater than or equal to 0"
TOTAL_ANNOTATION_BYTES = 256 * 1024
FINALIZER_ORPHAN = "orphan"
FINALIZER_FOREGROUND = "foregroundDeletion"
_STANDARD_FINALIZERS = frozenset(("kubernetes", FINALIZER_ORPHAN, FINALIZER_FOREGROUND))
_OWNER_FIELDS = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
_OPERATIONS = ("Apply", "Update")
_FIELD_MANAGER_MAX = 128
_SUBRESOURCE_MAX = 256
_IMMUTABLE_FIELDS = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_TEXT_FIELDS = frozenset(("name", "namespace", "uid"))

Meta = Mapping[str, Any]


def validate_object_meta(
    meta: Meta, *, namespaced: bool, name_rule: NameRule | None = None, path: str = "metadata"
) -> list[FieldError]:
    """What is wrong with the metadata of a new object of any kind; `name_rule` None means a DNS subdomain."""
    rule = name_rule or name_is_dns_subdomain
    errors: list[FieldError] = []
    prefix = meta.get("generateName")
    if prefix:
        errors += [invalid(f"{path}.generateName", prefix, text) for text in rule(prefix, True)]
    name = meta.get("name")
    if not name:
        errors.append(required(f"{path}.name", "name or generateName is required"))
    else:
        errors += [invalid(f"{path}.name", name, text) for text in rule(name, False)]
    namespace = meta.get("namespace") or ""
    if namespaced:
        if not namespace:
            errors.append(required(f"{path}.namespace"))
        else:
            errors += [invalid(f"{path}.namespace", namespace, text) for text in is_dns1123_label(namespace)]
    elif namespace:
        errors.append(forbidden(f"{path}.namespace", "not allowed on this type"))
    generation = meta.get("generation") or 0
    if generation < 0:
        errors.append(invalid(f"{path}.generation", generation, NEGATIVE))
    errors += _common_errors(meta, path)
    finalizers = meta.get("finalizers")
    if finalizers:
        errors += validate_finalizers(finalizers, f"{path}.finalizers")
    return errors + _record_errors(meta, path)


def validate_builtin_object_meta(
    meta: Meta, *, namespaced: bool, name_rule: NameRule | None = None, path: str = "metadata"
) -> list[FieldError]:
    """The same for built-in kinds, whose finalizers must also be standard or qualified."""
    errors = validate_object_meta(meta, namespaced=namespaced, name_rule=name_rule, path=path)
    finalizers = meta.get("finalizers")
    if finalizers:
        errors += validate_kube_finalizers(finalizers, f"{path}.finalizers")
    return errors


def validate_sound_object_meta(meta: Meta, path: str = "metadata") -> list[FieldError]:
    """What `validate_builtin_object_meta` can find where `validate_updated_object_meta` finds nothing.

    For kinds whose names are DNS subdomains, and objects whose own name is known to be one.
    """
    errors: list[FieldError] = []
    prefix, finalizers = meta.get("generateName"), meta.get("finalizers")
    if prefix:
        errors += [invalid(f"{path}.generateName", prefix, text) for text in name_is_dns_subdomain(prefix, True)]
    if finalizers:
        errors += validate_kube_finalizers(finalizers, f"{path}.finalizers")
    return errors


def validate_object_meta_update(new: Meta, old: Meta, path: str = "metadata") -> list[FieldError]:
    """What is wrong with changed metadata, for any kind (ValidateObjectMetaAccessorUpdate)."""
    return _change_errors(new, old, path) + _common_errors(new, path) + _record_errors(new, path)


def validate_updated_object_meta(new: Meta, old: Meta, path: str = "metadata") -> list[FieldError]:
    """What every update is checked for, whatever the kind checks itself: the metadata as such, and its change.

    The name and the namespace, which are those of the object that there is, are not judged again. What is wrong with
    metadata as such shows as two causes with one message.
    """
    common, record = _common_errors(new, path), _record_errors(new, path)
    errors: list[FieldError] = []
    prefix = new.get("generateName")
    if prefix:
        errors += [invalid(f"{path}.generateName", prefix, text) for text in is_path_segment_name(prefix, True)]
    errors += common
    finalizers = new.get("finalizers")
    if finalizers:
        errors += validate_finalizers(finalizers, f"{path}.finalizers")
    return errors + record + _change_errors(new, old, path) + common + record


def _change_errors(new: Meta, old: Meta, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if old.get("deletionTimestamp") is not None:
        errors += _no_new_finalizers(new, old, f"{path}.finalizers")
    if not new.get("resourceVersion"):
        errors.append(invalid(f"{path}.resourceVersion", "", "must be specified for an update"))
    generation = new.get("generation") or 0
    if generation < (old.get("generation") or 0):
        errors.append(invalid(f"{path}.generation", generation, "must not be decremented"))
    for name in _IMMUTABLE_FIELDS:
        value, before = new.get(name), old.get(name)
        if value is before or value == before:
            continue
        if name in _TEXT_FIELDS:
            value, before = value or "", before or ""
        if value != before:
            errors.append(invalid(f"{path}.{name}", value, IMMUTABLE))
    return errors


def validate_builtin_object_meta_update(new: Meta, old: Meta, path: str = "metadata") -> list[FieldError]:
    """The same for built-in kinds.

    The reference applies the rules of `validate_updated_object_meta` to every update, and those of this function in the
    kind's own validation: an error then shows as several causes with one message.
    """
    errors = validate_object_meta_update(new, old, path)
    finalizers = new.get("finalizers")
    if finalizers:
        errors += validate_kube_finalizers(finalizers, f"{path}.finalizers")
    return errors


def _common_errors(meta: Meta, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    labels = meta.get("labels")
    if labels:
        errors += validate_labels(labels, f"{path}.labels")
    annotations = meta.get("annotations")
    if annotations:
        errors += validate_annotations(annotations, f"{path}.annotations")
    owners = meta.get("ownerReferences")
    if owners:
        errors += validate_owner_references(owners, f"{path}.ownerReferences")
    return errors


def _record_errors(meta: Meta, path: str) -> list[FieldError]:
    managed = meta.get("managedFields")
    return validate_managed_fields(managed, f"{path}.managedFields") if managed else []


def validate_label_name(name: str, path: str) -> list[FieldError]:
    """A label key."""
    return [invalid(path, name, text) for text in is_qualified_name(name)]


def validate_labels(labels: Mapping[str, str], path: str) -> list[FieldError]:
    """Label keys and values; errors name the map, not the key."""
    errors: list[FieldError] = []
    for key, value in labels.items():
        if wrong := is_qualified_name(key):
            errors += [invalid(path, key, text) for text in wrong]
        if wrong := is_label_value(value):
            errors += [invalid(path, value, text) for text in wrong]
    return errors


def validate_annotations(annotations: Mapping[str, str], path: str) -> list[FieldError]:
    """Annotation keys, regardless of case, and the size of all of them together (256 KiB)."""
    errors: list[FieldError] = []
    total = 0
    for key, value in annotations.items():
        if wrong := is_qualified_name(key.lower()):
            errors += [invalid(path, key, text) for text in wrong]
        total += byte_length(key) + byte_length(value)
    if total > TOTAL_ANNOTATION_BYTES:
        errors.append(too_long(path, "", TOTAL_ANNOTATION_BYTES))
    return errors


def validate_owner_references(owners: Sequence[Mapping[str, Any]], path: str) -> list[FieldError]:
    """Owner references must be complete, not name Events, and have at most one controller."""
    errors: list[FieldError] = []
    first = ""
    for owner in owners:
        errors += _owner_reference_errors(owner, path)
        if owner.get("controller"):
            current = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if first:
                text = (
                    "Only one reference can have Controller set to true. "
                    f'Found "true" in references for {first} and {current}'
                )
                errors.append(invalid(path, [_in_field_order(o) for o in owners], text))
            else:
                first = current
    return errors


def _in_field_order(owner: Mapping[str, Any]) -> dict[str, Any]:
    shown = {name: owner.get(name, "") for name in _OWNER_FIELDS[:4]}
    shown.update((name, owner[name]) for name in _OWNER_FIELDS[4:] if name in owner)
    return shown


def _owner_reference_errors(owner: Mapping[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    api_version = owner.get("apiVersion") or ""
    group, slash, version = api_version.partition("/")
    if not slash:
        group, version = "", group
    if not version or "/" in version:
        errors.append(invalid(f"{path}.apiVersion", api_version, "version must not be empty"))
    empty = [name for name in ("kind", "name", "uid") if not owner.get(name)]
    errors += [invalid(f"{path}.{name}", "", "must not be empty") for name in empty]
    if owner.get("kind") == "Event" and not group and version == "v1":
        text = "/v1, Kind=Event is disallowed from being an owner"
        errors.append(invalid(path, _in_field_order(owner), text))
    return errors


def validate_finalizers(finalizers: Sequence[str], path: str) -> list[FieldError]:
    """Finalizers are qualified names; orphan and foregroundDeletion exclude each other."""
    errors: list[FieldError] = []
    for finalizer in finalizers:
        errors += [invalid(path, finalizer, text) for text in is_qualified_name(finalizer)]
    if FINALIZER_ORPHAN in finalizers and FINALIZER_FOREGROUND in finalizers:
        text = f"finalizer {FINALIZER_ORPHAN} and {FINALIZER_FOREGROUND} cannot be both set"
        errors.append(invalid(path, list(finalizers), text))
    return errors


def validate_kube_finalizers(finalizers: Sequence[str], path: str) -> list[FieldError]:
    """Built-in kinds take a standard finalizer or one with a domain."""
    return [error for i, name in enumerate(finalizers) for error in _not_standard(name, f"{path}[{i}]")]


def validate_kube_finalizer(finalizer: str, path: str) -> list[FieldError]:
    """One that stands elsewhere than in metadata: a qualified name, and standard or with a domain."""
    errors = [invalid(path, finalizer, text) for text in is_qualified_name(finalizer)]
    return errors + _not_standard(finalizer, path)


def _not_standard(finalizer: str, path: str) -> list[FieldError]:
    if "/" in finalizer or finalizer in _STANDARD_FINALIZERS:
        return []
    return [invalid(path, finalizer, "name is neither a standard finalizer name nor is it fully qualified")]


def _no_new_finalizers(new: Meta, old: Meta, path: str) -> list[FieldError]:
    extra = sorted(set(new.get("finalizers") or ()) - set(old.get("finalizers") or ()))
    if not extra:
        return []
    shown = ", ".join(go_quote(finalizer) for finalizer in extra)
    text = "no new finalizers can be added if the object is being deleted, found new finalizers []string{" + shown + "}"
    return [forbidden(path, text)]


def validate_field_manager(manager: str, path: str) -> list[FieldError]:
    """A field manager's name: at most 128 bytes, printable."""
    errors: list[FieldError] = []
    if byte_length(manager) > _FIELD_MANAGER_MAX:
        errors.append(too_long(path, "", _FIELD_MANAGER_MAX))
    if not manager.isprintable():
        for i, ch in enumerate(manager):
            if not ch.isprintable():
                at = byte_length(manager[:i])
                errors.append(invalid(path, manager, f"invalid character U+{ord(ch):04X} (at position {at})"))
    return errors


def validate_managed_fields(entries: Sequence[Mapping[str, Any]], path: str) -> list[FieldError]:
    """The form of managedFields entries; their content is the field manager's business."""
    errors: list[FieldError] = []
    for i, entry in enumerate(entries):
        if _is_plain_entry(entry):
            continue
        operation = entry.get("operation") or ""
        if operation not in _OPERATIONS:
            errors.append(invalid(f"{path}[{i}].operation", operation, "must be `Apply` or `Update`"))
        fields_type = entry.get("fieldsType") or ""
        if fields_type and fields_type != "FieldsV1":
            errors.append(invalid(f"{path}[{i}].fieldsType", fields_type, "must be `FieldsV1`"))
        errors += validate_field_manager(entry.get("manager") or "", f"{path}[{i}].manager")
        if byte_length(entry.get("subresource") or "") > _SUBRESOURCE_MAX:
            errors.append(too_long(f"{path}[{i}].subresource", "", _SUBRESOURCE_MAX))
    return errors


def _is_plain_entry(entry: Mapping[str, Any]) -> bool:
    """Whether an entry is as nearly all are, so that nothing can be wrong with its form."""
    get = entry.get
    manager = get("manager") or ""
    return (
        get("operation") in _OPERATIONS
        and get("fieldsType") == "FieldsV1"
        and not get("subresource")
        and len(manager) <= _FIELD_MANAGER_MAX
        and manager.isascii()
        and manager.isprintable()
    )


def validate_immutable(new: Any, old: Any, path: str) -> list[FieldError]:
    """The value may not differ from the old one. Empty and absent maps and lists are the same."""
    if (not new and not old and _is_empty(new) and _is_empty(old)) or equal_as_stored(new, old):
        return []
    return [invalid(path, in_declared_order(new), IMMUTABLE)]


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, (dict, list)) and not value)

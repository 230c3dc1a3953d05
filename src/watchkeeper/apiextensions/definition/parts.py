"""Names, subresources, printer columns and selectable fields of a definition."""

from __future__ import annotations

from typing import Any

from watchkeeper.apiextensions.schema.field_path import FieldPathError, valid_field_path
from watchkeeper.apiextensions.schema.structural import Structural
from watchkeeper.apis.validation.names import is_dns1035_label
from watchkeeper.meta.field import FieldError, duplicate, invalid, required, too_many

Object = dict[str, Any]

MAX_SELECTABLE_FIELDS = 8
COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")


def name_errors(names: Object, path: str) -> list[FieldError]:
    """What is wrong with the names of a resource; missing ones are somebody else's matter."""
    errors: list[FieldError] = []

    def check(where: str, value: str) -> None:
        wrong = is_dns1035_label(value)
        if wrong:
            errors.append(invalid(f"{path}.{where}", value, ",".join(wrong)))

    for key in ("plural", "singular"):
        if names.get(key):
            check(key, names[key])
    for key in ("kind", "listKind"):
        value = names.get(key) or ""
        wrong = is_dns1035_label(value.lower()) if value else ()
        if wrong:
            text = f"may have mixed case, but should otherwise match: {','.join(wrong)}"
            errors.append(invalid(f"{path}.{key}", value, text))
    for i, name in enumerate(names.get("shortNames") or ()):
        check(f"shortNames[{i}]", name)
    if names.get("kind") and names["kind"] == names.get("listKind"):
        errors.append(invalid(f"{path}.listKind", names["listKind"], "kind and listKind may not be the same"))
    for i, name in enumerate(names.get("categories") or ()):
        check(f"categories[{i}]", name)
    return errors


def subresource_errors(subresources: Object | None, path: str) -> list[FieldError]:
    """What is wrong with the paths of the scale subresource."""
    scale = (subresources or {}).get("scale")
    if scale is None:
        return []
    errors: list[FieldError] = []
    for key, root in (("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")):
        value = scale.get(key) or ""
        if not value:
            errors.append(required(f"{path}.scale.{key}"))
        else:
            errors += _path_errors(value, (root,), f"{path}.scale.{key}", f"should be a json path under {root[:-1]}")
    selector = scale.get("labelSelectorPath")
    if selector:
        where, text = f"{path}.scale.labelSelectorPath", "should be a json path under either .spec or .status"
        errors += _path_errors(selector, (".spec.", ".status."), where, text)
    return errors


def _path_errors(value: str, roots: tuple[str, ...], where: str, text: str) -> list[FieldError]:
    if not value.startswith("."):
        return [_not_simple(value, where)]
    return [] if value.startswith(roots) else [invalid(where, value, text)]


def _not_simple(value: str, where: str) -> FieldError:
    return invalid(where, value, "must be a simple json path starting with .")


def column_errors(column: Object, path: str) -> list[FieldError]:
    """What is wrong with a printer column."""
    errors: list[FieldError] = []
    if not column.get("name"):
        errors.append(required(f"{path}.name"))
    kind, form, source = column.get("type") or "", column.get("format") or "", column.get("jsonPath") or ""
    text = f"must be one of {','.join(COLUMN_TYPES)}"
    if not kind:
        errors.append(required(f"{path}.type", text))
    elif kind not in COLUMN_TYPES:
        errors.append(invalid(f"{path}.type", kind, text))
    if form and form not in COLUMN_FORMATS:
        errors.append(invalid(f"{path}.format", form, f"must be one of {','.join(COLUMN_FORMATS)}"))
    if not source:
        errors.append(required(f"{path}.JSONPath"))
    elif not source.startswith("."):
        errors.append(_not_simple(source, f"{path}.JSONPath"))
    return errors


def selectable_field_errors(
    fields: list[Object], schema: Structural, path: str, *, allow_too_many: bool
) -> list[FieldError]:
    """What is wrong with the fields that selectors may name."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, entry in enumerate(fields):
        where, text = f"{path}[{i}].jsonPath", entry.get("jsonPath") or ""
        if not text:
            errors.append(required(where))
            continue
        try:
            found, node = valid_field_path(text, schema, allow_brackets=False)
        except FieldPathError as problem:
            errors.append(invalid(where, text, f"is an invalid path: {problem}"))
            continue
        if found.split(".", 1)[0].split("[", 1)[0] == "metadata":
            errors.append(invalid(where, text, "must not point to fields in metadata"))
        if node.type not in ("string", "boolean", "integer"):
            words = "must point to a field of type string, boolean or integer"
            detail = f"{words}. Enum string fields and strings with formats are allowed."
            errors.append(invalid(where, text, detail))
        if found in seen:
            errors.append(duplicate(where, text))
        seen.add(found)
    if len(seen) > MAX_SELECTABLE_FIELDS and not allow_too_many:
        errors.append(too_many(path, len(seen), MAX_SELECTABLE_FIELDS))
    return errors

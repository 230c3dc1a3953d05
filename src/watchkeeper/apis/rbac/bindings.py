"""RoleBindings and ClusterRoleBindings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.rbac.roles import GROUP
from watchkeeper.apis.validation.internal_form import InternalForm, internal_form
from watchkeeper.apis.validation.names import is_path_segment_name, name_is_dns_subdomain, name_of_rbac
from watchkeeper.meta.field import FieldError, invalid, not_supported, required
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]


def default_binding(binding: Object) -> None:
    """Subjects and the role are of this group unless they say otherwise."""
    role = binding.setdefault("roleRef", {})
    if not role.get("apiGroup"):
        role["apiGroup"] = GROUP
    for subject in binding.get("subjects") or ():
        if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = GROUP


_ROLE: InternalForm = {"apiGroup": ("APIGroup", ""), "kind": ("Kind", ""), "name": ("Name", "")}


def _role_errors(role: Mapping[str, Any], kinds: Sequence[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    if role.get("apiGroup") != GROUP:
        errors.append(not_supported("roleRef.apiGroup", role.get("apiGroup", ""), [GROUP], plain=True))
    if role.get("kind") not in kinds:
        errors.append(not_supported("roleRef.kind", role.get("kind", ""), kinds, plain=True))
    name = role.get("name", "")
    if not name:
        return [*errors, required("roleRef.name")]
    return errors + [invalid("roleRef.name", name, text) for text in is_path_segment_name(name)]


def _subject_errors(subject: Mapping[str, Any], path: str, *, namespaced: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    kind, name, group = subject.get("kind", ""), subject.get("name", ""), subject.get("apiGroup", "")
    if not name:
        errors.append(required(f"{path}.name"))
    if kind == "ServiceAccount":
        if name:
            errors += [invalid(f"{path}.name", name, text) for text in name_is_dns_subdomain(name)]
        if group:
            errors.append(not_supported(f"{path}.apiGroup", group, [""], plain=True))
        if not namespaced and not subject.get("namespace"):
            errors.append(required(f"{path}.namespace"))
    elif kind in ("User", "Group"):
        if group != GROUP:
            errors.append(not_supported(f"{path}.apiGroup", group, [GROUP], plain=True))
    else:
        errors.append(not_supported(f"{path}.kind", kind, ["ServiceAccount", "User", "Group"], plain=True))
    return errors


def _errors(binding: Object, *, namespaced: bool) -> list[FieldError]:
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    errors = _role_errors(binding.get("roleRef") or {}, kinds)
    for index, subject in enumerate(binding.get("subjects") or ()):
        errors += _subject_errors(subject, f"subjects[{index}]", namespaced=namespaced)
    return errors


def _change_errors(new: Object, old: Object) -> list[FieldError]:
    """The role stays what it is."""
    role = internal_form(new.get("roleRef"), _ROLE)
    if role == internal_form(old.get("roleRef"), _ROLE):
        return []
    return [invalid("roleRef", role, "cannot change roleRef")]


def _cells(binding: Object, now: float) -> list[Any]:
    subjects = binding.get("subjects") or ()
    role = binding.get("roleRef") or {}
    users = [s.get("name", "") for s in subjects if s.get("kind") == "User"]
    groups = [s.get("name", "") for s in subjects if s.get("kind") == "Group"]
    accounts = [f"{s.get('namespace', '')}/{s['name']}" for s in subjects if s.get("kind") == "ServiceAccount"]
    return [
        printing.name_of(binding),
        f"{role.get('kind', '')}/{role.get('name', '')}",
        printing.age(binding, now),
        ", ".join(users),
        ", ".join(groups),
        ", ".join(accounts),
    ]


_TABLE = TableSpec(
    columns=(
        printing.NAME,
        Column("Role", "string", "The role that is granted."),
        printing.AGE,
        Column("Users", "string", "The users it is granted to.", priority=1),
        Column("Groups", "string", "The groups it is granted to.", priority=1),
        Column("ServiceAccounts", "string", "The service accounts it is granted to.", priority=1),
    ),
    cells=_cells,
)


def _behavior(kind: str, *, namespaced: bool) -> KindBehavior:
    return KindBehavior(
        kind=GroupKind(GROUP, kind),
        validate=lambda obj: _errors(obj, namespaced=namespaced),
        validate_update=lambda new, _old: _errors(new, namespaced=namespaced),
        validate_change=_change_errors,
        name_rule=name_of_rbac,
        allow_create_on_update=True,
        has_status=False,
        table=_TABLE,
    )


BEHAVIORS = [_behavior("RoleBinding", namespaced=True), _behavior("ClusterRoleBinding", namespaced=False)]
DEFAULTS = {GroupVersionKind(GROUP, "v1", b.kind.kind): default_binding for b in BEHAVIORS}

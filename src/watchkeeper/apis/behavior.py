"""What code a kind may have beyond its schema: the hooks that the generic registry calls.

Every hook works on plain dicts at the kind's hub version, decoded and normalized. A kind without a hook behaves as the
generic strategy does: namespaced objects with metadata rules, generation when the spec changes, status kept on main
updates and everything but status kept on status updates where the kind has a status subresource.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from watchkeeper.meta.field import FieldError
from watchkeeper.meta.gvk import GroupKind

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a server-side table (metav1.TableColumnDefinition)."""

    name: str
    type: str
    description: str
    format: str = ""
    priority: int = 0

    def definition(self) -> dict[str, Any]:
        """The entry in `columnDefinitions`."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


@dataclass(frozen=True, slots=True)
class TableSpec:
    """How a kind prints. `cells` returns one value for each column; `now` is the time in seconds since the epoch."""

    columns: tuple[Column, ...]
    cells: Callable[[Object, float], list[Any]]
    conditions: Callable[[Object], list[dict[str, Any]] | None] | None = None
    """The row's conditions, such as Completed for a finished Pod."""
    order: Callable[[Object], Any] | None = None
    """By what the rows of a list are sorted; None: as the list is."""


def _no_errors(*_objects: Object) -> list[FieldError]:
    return []


def _no_warnings(*_objects: Object) -> list[str]:
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class KindBehavior:
    """The hooks of one kind. The kind is named without version: hooks run at the hub version only."""

    kind: GroupKind
    prepare_for_create: Callable[[Object], None] | None = None
    """Change a new object, in place, before validation: clear status, set the initial phase, normalize."""
    complete_new: Callable[[Object], None] | None = None
    """Change a new object, in place, once admission has found it valid: what it shows as soon as it is stored."""
    prepare_for_update: Callable[[Object, Object], None] | None = None
    """(new, old): carry over in `new` what an update may not touch. Generic generation and status rules run besides."""
    prepare_for_status_update: Callable[[Object, Object], None] | None = None
    """(new, old) on the status subresource, after the generic rule has restored all but status and allowed metadata."""
    validate: Callable[[Object], list[FieldError]] = _no_errors
    """All that is wrong with a new object, besides its metadata, in the reference's order."""
    validate_update: Callable[[Object, Object], list[FieldError]] = _no_errors
    """(new, old): all that is wrong with the new state or the change, besides metadata rules."""
    validate_change: Callable[[Object, Object], list[FieldError]] = _no_errors
    """(new, old): what is wrong with the change alone, of kinds that the reference judges twice: as new objects, and
    for what has changed, either of them with the metadata ahead. `validate_update` leaves it out."""
    validate_metadata_update: Callable[[Object, Object], list[FieldError]] | None = None
    """(new, old): what `validate_update` can find when nothing but metadata was changed of an old state that was found
    valid as a whole, and the rules of all kinds find nothing wrong with the new metadata. None: `validate_update` is
    asked in any case."""
    shares_parts: bool = False
    """Whether hooks and defaults change nothing below the second level of an object (`spec.FIELD`) that the old state
    has as well, so that a new state may share with the old what a patch leaves alone."""
    validate_status_update: Callable[[Object, Object], list[FieldError]] | None = None
    warnings_as_sent: Callable[[Object], list[str]] | None = None
    """Warnings about a new object before it is prepared: its writer hears of them even when it turns out invalid."""
    warnings_on_create: Callable[[Object], list[str]] = _no_warnings
    warnings_on_update: Callable[[Object, Object], list[str]] = _no_warnings
    warnings_on_status_update: Callable[[Object], list[str]] = _no_warnings
    """What writers of a status are told about it; they hear nothing of the spec."""
    name_rule: Callable[[str, bool], list[str]] | None = None
    """(name, prefix) -> what is wrong with a name; `prefix` for generateName. None: a DNS subdomain (RFC 1123)."""
    name_rule_of: Callable[[Object], Callable[[str, bool], list[str]]] | None = None
    """The `name_rule` of an object, for kinds whose names depend on what else is in it."""
    appends_to_generate_name: bool = True
    """Whether something is put behind a generateName to make a name of it."""
    selectable_fields: Callable[[Object], Mapping[str, str]] | None = None
    """Field label -> value, besides metadata.name and metadata.namespace."""
    selectable_labels: tuple[str, ...] = ()
    """The labels that `selectable_fields` knows; others are refused."""
    unsupported_field_label: Callable[[str], str] | None = None
    """The words in which this kind refuses a field label; None: the generic wording."""
    trigger_field: str = ""
    """A field label that the watch cache indexes, such as spec.nodeName."""
    allow_create_on_update: bool = False
    allow_unconditional_update: bool = True
    has_status: bool = True
    """Whether writes through the main resource leave status alone (only where a status subresource exists)."""
    qualified_finalizers: bool = True
    """Whether finalizers must be standard ones or qualified by a domain and a path, as those of compiled-in kinds."""
    has_generation: bool = False
    """Whether metadata.generation counts changes of the spec."""
    counts_empties: bool = False
    """Whether it is a change of the spec when an empty list or map is sent where there was none."""
    grace_period: Callable[[Object, Mapping[str, Any]], int | None] | None = None
    """(object, DeleteOptions) -> seconds of graceful deletion; None deletes at once."""
    finalizers_on_delete: Callable[[Object, Mapping[str, Any]], Sequence[str]] | None = None
    default_propagation: str = "Background"
    """Of Background and Orphan: what deletion does to dependents when nobody says."""
    table: TableSpec | None = None
    status_has_table: bool = True
    """Whether the status, asked for by itself, is shown in a table, too."""
    annotations_of_fields: tuple[str, ...] = ()
    """Annotations in which a version carries what the internal type has a field for: whole objects show them, their
    metadata alone does not."""
    fill_blank: Callable[[Object], None] | None = None
    """Change an object that nobody has set anything of, in place, to what bookmarks and rehearsed deletions show: the
    internal type has values where a version has none."""
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PartHooks:
    """How a kind updates through a subresource of its own, such as a Pod's ephemeralcontainers.

    A kind names them in `extra["subresources"]`, by subresource.
    """

    prepare: Callable[[Object, Object], None]
    """(new, old): keep all of the old state but the part the subresource stands for."""
    validate: Callable[[Object, Object], list[FieldError]]
    """(new, old): all that is wrong, in the reference's order, besides the generic metadata rules."""


class Behaviors:
    """The behavior of every kind that has one."""

    def __init__(self, behaviors: Sequence[KindBehavior] = ()) -> None:
        self._by_kind = {b.kind: b for b in behaviors}

    def including(self, behaviors: Sequence[KindBehavior]) -> Behaviors:
        """These and others, in place of those of the same kinds."""
        return Behaviors([*self._by_kind.values(), *behaviors])

    def of(self, kind: GroupKind) -> KindBehavior:
        """The behavior of a kind; the generic one when it has none of its own."""
        found = self._by_kind.get(kind)
        return found if found is not None else KindBehavior(kind=kind)

"""Whether a definition gets the names that it asks for. A group's names belong to who had them first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from watchkeeper.apiextensions.definition.conditions import (
    ESTABLISHED,
    NAMES_ACCEPTED,
    condition,
    find_condition,
)
from watchkeeper.meta.field import go_quote

Object = dict[str, Any]

_ORDER = ("plural", "singular", "shortNames", "kind", "listKind", "categories")


@dataclass(frozen=True, slots=True)
class TakenNames:
    """The names that definitions of a group have been given."""

    resources: set[str] = field(default_factory=set)
    kinds: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, accepted: Iterable[Object]) -> TakenNames:
        """Of several status.acceptedNames."""
        taken = cls()
        for names in accepted:
            taken.resources.update((names.get("plural") or "", names.get("singular") or ""))
            taken.resources.update(names.get("shortNames") or ())
            taken.kinds.update((names.get("kind") or "", names.get("listKind") or ""))
        return taken


@dataclass(frozen=True, slots=True)
class NamesDecision:
    """The names to be accepted, and the conditions that tell of it."""

    accepted: Object
    conditions: tuple[Object, Object]


def decide_names(definition: Object, taken: TakenNames) -> NamesDecision | None:
    """What names a definition gets; None when it has what it asks for already."""
    asked: Object = (definition.get("spec") or {}).get("names") or {}
    accepted: Object = (definition.get("status") or {}).get("acceptedNames") or {}
    if _same(asked, accepted):
        return None
    new = dict(accepted)
    found: Object | None = None

    def settle(key: str, reason: str, used: set[str]) -> None:
        nonlocal found
        wanted, have = asked.get(key) or "", accepted.get(key) or ""
        if wanted != have and wanted in used:
            found = condition(NAMES_ACCEPTED, "False", reason, f"{go_quote(wanted)} is already in use")
        else:
            new[key] = wanted

    settle("plural", "PluralConflict", taken.resources)
    settle("singular", "SingularConflict", taken.resources)
    short_names, own = asked.get("shortNames") or [], set(accepted.get("shortNames") or ())
    if short_names != (accepted.get("shortNames") or []):
        wrong = [f"{go_quote(n)} is already in use" for n in short_names if n not in own and n in taken.resources]
        if wrong:
            text = wrong[0] if len(wrong) == 1 else f"[{', '.join(dict.fromkeys(wrong))}]"
            found = condition(NAMES_ACCEPTED, "False", "ShortNamesConflict", text)
        else:
            new["shortNames"] = short_names
    settle("kind", "KindConflict", taken.kinds)
    settle("listKind", "ListKindConflict", taken.kinds)
    new["categories"] = asked.get("categories")
    if found is None:
        found = condition(NAMES_ACCEPTED, "True", "NoConflicts", "no conflicts found")
    return NamesDecision(_ordered(new), (found, _established(definition, found)))


def _same(a: Object, b: Object) -> bool:
    return all((a.get(key) or None) == (b.get(key) or None) for key in _ORDER)


def _ordered(names: Object) -> Object:
    kept = {key: names[key] for key in _ORDER if names.get(key)}
    kept.setdefault("plural", "")
    kept.setdefault("kind", "")
    return kept


def _established(definition: Object, names_accepted: Object) -> Object:
    """Not established as long as names are missing; what was established once stays so."""
    old = find_condition(definition, ESTABLISHED)
    if old is not None and old.get("status") == "True":
        return old
    if names_accepted["status"] == "True":
        return condition(ESTABLISHED, "False", "Installing", "the initial names have been accepted")
    if old is not None:
        return old
    return condition(ESTABLISHED, "False", "NotAccepted", "not all names are accepted")

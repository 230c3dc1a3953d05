"""What a change of an object means to somebody who sees only what a selector selects."""

from __future__ import annotations

from watchkeeper.storage.interface import EventType, StoredObject
from watchkeeper.storage.predicate import SelectionPredicate


def selects(predicate: SelectionPredicate | None, stored: StoredObject | None) -> bool:
    """Whether there is an object and it is selected; a predicate of None selects everything."""
    if stored is None:
        return False
    if predicate is None:
        return True
    attributes = stored.attributes
    return predicate.matches(attributes.labels, attributes.fields)


def outcome(
    predicate: SelectionPredicate | None, current: StoredObject | None, previous: StoredObject | None
) -> EventType | None:
    """The event to show for a change from `previous` to `current` (None: absent), if any.

    Entering the selection is ADDED, leaving it DELETED: then the previous state is shown, at the change's version.
    """
    now = selects(predicate, current)
    before = selects(predicate, previous)
    if now:
        return EventType.MODIFIED if before else EventType.ADDED
    return EventType.DELETED if before else None

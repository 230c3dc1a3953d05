"""What a write believes to be stored, and how sure it is of it."""

from __future__ import annotations

from watchkeeper.storage.codec import JsonCodec, splice
from watchkeeper.storage.errors import PreconditionFailed
from watchkeeper.storage.interface import Preconditions, StoredObject
from watchkeeper.values import value

_SPLICED = len('"resourceVersion":"",')


@value()
class State:
    """One object as it was read from the store, or as a cache suggests that it is.

    `stored` is None when the key does not exist (`revision` 0), or when nobody looked inside. `value` is the encoding
    as the store holds it, decrypted; None for a suggestion. `stale`: the stored form should be renewed in any case.
    `current`: read from the store for this operation.
    """

    stored: StoredObject | None
    revision: int
    value: bytes | None
    stale: bool
    current: bool

    @classmethod
    def suggested(cls, stored: StoredObject) -> State:
        """What a cache knows; it may be out of date."""
        return cls(stored, stored.resource_version, None, stale=False, current=False)

    def holds(self, codec: JsonCodec, body: bytes) -> bool:
        """Whether the stored bytes are those of an encoding (without head), as far as is known."""
        if self.value is not None:
            head = codec.head
            return len(self.value) == len(head) + len(body) and self.value == head + body
        if self.stored is None or len(self.stored.tail) != len(body) + _SPLICED + len(str(self.revision)):
            return False  # nearly always so, and cheaply known
        return self.stored.tail == splice(body, self.revision)


def check_preconditions(key: str, state: State, preconditions: Preconditions | None) -> None:
    """Raise PreconditionFailed, in the reference's words, unless the state is as it is required to be."""
    if preconditions is not None:
        check_stored(key, state.stored, preconditions)


def check_stored(key: str, stored: StoredObject | None, preconditions: Preconditions) -> None:
    """Raise PreconditionFailed unless the object of a key, None when there is none, is as it is required to be."""
    if preconditions.uid is not None:
        uid = stored.attributes.uid if stored is not None else ""
        if uid != preconditions.uid:
            raise PreconditionFailed(
                f"Precondition failed: UID in precondition: {preconditions.uid}, UID in object meta: {uid}", key
            )
    if preconditions.resource_version is not None:
        version = str(stored.resource_version) if stored is not None else ""
        if version != preconditions.resource_version:
            raise PreconditionFailed(
                f"Precondition failed: ResourceVersion in precondition: {preconditions.resource_version}, "
                f"ResourceVersion in object meta: {version}",
                key,
            )

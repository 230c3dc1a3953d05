"""Cases about deleting."""

# ruff: noqa: D103  (the names are the sentences)

from __future__ import annotations

from watchkeeper.storage.errors import KeyNotFound, PreconditionFailed
from watchkeeper.storage.interface import DeleteOptions, Preconditions, StoredObject
from watchkeeper.testing.cases import collector
from watchkeeper.testing.storage_suite.rig import Rig, key, raises, set_spec

CASES, case = collector()


def refuse_unless(field: str) -> DeleteOptions:
    """Options of a deletion that is allowed only if a field of the spec is set."""
    return DeleteOptions(validate=validator(field))


def validator(field: str, seen: list[StoredObject] | None = None):  # type: ignore[no-untyped-def]
    """A validation that requires a field of the spec."""

    def validate(stored: StoredObject) -> None:
        if seen is not None:
            seen.append(stored)
        if not stored.data()["spec"].get(field):
            raise ValueError(f"{field} is not set")

    return validate


@case
async def a_deletion_returns_the_last_state_at_the_version_of_the_deletion(rig: Rig) -> None:
    stored = await rig.create("x", color="red")
    deleted = await rig.storage.delete(key("x"))
    assert deleted.resource_version == await rig.kv.current_revision() > stored.resource_version
    assert deleted.data()["spec"] == {"color": "red"}
    assert deleted.data()["metadata"]["resourceVersion"] == str(deleted.resource_version)
    with raises(KeyNotFound):
        await rig.storage.get(key("x"))


@case
async def an_absent_object_cannot_be_deleted(rig: Rig) -> None:
    with raises(KeyNotFound):
        await rig.storage.delete(key("x"))
    await rig.create("x")
    await rig.storage.delete(key("x"))
    with raises(KeyNotFound):
        await rig.storage.delete(key("x"))


@case
async def a_deleted_name_can_be_taken_again(rig: Rig) -> None:
    first = await rig.create("x", n=1)
    await rig.storage.delete(key("x"))
    second = await rig.create("x", n=2)
    assert second.resource_version > first.resource_version + 1
    assert (await rig.storage.get(key("x"))).data()["spec"] == {"n": 2}


@case
async def a_deletion_requires_the_uid_it_is_given(rig: Rig) -> None:
    await rig.create("x")
    with raises(PreconditionFailed) as e:
        await rig.storage.delete(key("x"), DeleteOptions(preconditions=Preconditions(uid="wrong")))
    assert str(e.value) == "Precondition failed: UID in precondition: wrong, UID in object meta: uid-a-x"
    await rig.storage.delete(key("x"), DeleteOptions(preconditions=Preconditions(uid="uid-a-x")))


@case
async def a_deletion_requires_the_version_it_is_given(rig: Rig) -> None:
    first = await rig.create("x", n=1)
    second = await rig.change("x", n=2)
    with raises(PreconditionFailed):
        await rig.storage.delete(
            key("x"), DeleteOptions(preconditions=Preconditions(resource_version=str(first.resource_version)))
        )
    await rig.storage.delete(
        key("x"), DeleteOptions(preconditions=Preconditions(resource_version=str(second.resource_version)))
    )


@case
async def a_validation_can_refuse_a_deletion(rig: Rig) -> None:
    await rig.create("x")
    with raises(ValueError, match="doomed is not set"):
        await rig.storage.delete(key("x"), refuse_unless("doomed"))
    assert (await rig.storage.get(key("x"))).key == key("x")


@case
async def a_validation_may_wait(rig: Rig) -> None:
    await rig.create("x")

    async def validate(stored: StoredObject) -> None:
        raise ValueError("thought about it")

    with raises(ValueError, match="thought about it"):
        await rig.storage.delete(key("x"), DeleteOptions(validate=validate))


@case
async def a_suggestion_that_is_right_is_deleted(rig: Rig) -> None:
    stored = await rig.create("x", n=1)
    deleted = await rig.storage.delete(key("x"), DeleteOptions(suggestion=stored))
    assert deleted.data()["spec"] == {"n": 1}


@case
async def an_outdated_suggestion_does_not_keep_the_latest_state_from_being_deleted(rig: Rig) -> None:
    outdated = await rig.create("x", n=1)
    await rig.other.guaranteed_update(key("x"), set_spec(n=2))
    deleted = await rig.storage.delete(key("x"), DeleteOptions(suggestion=outdated))
    assert deleted.data()["spec"] == {"n": 2}


@case
async def a_suggestion_of_an_object_deleted_since_is_not_found(rig: Rig) -> None:
    outdated = await rig.create("x")
    await rig.other.delete(key("x"))
    with raises(KeyNotFound):
        await rig.storage.delete(key("x"), DeleteOptions(suggestion=outdated))


@case
async def a_validation_that_fails_on_an_outdated_suggestion_is_made_on_the_latest_state(rig: Rig) -> None:
    outdated = await rig.create("x")
    await rig.other.guaranteed_update(key("x"), set_spec(doomed=True))
    seen: list[StoredObject] = []
    deleted = await rig.storage.delete(key("x"), DeleteOptions(suggestion=outdated, validate=validator("doomed", seen)))
    assert deleted.data()["spec"] == {"doomed": True}
    assert seen[-1].data()["spec"] == {"doomed": True}


@case
async def a_validation_that_only_an_outdated_suggestion_passes_refuses(rig: Rig) -> None:
    outdated = await rig.create("x", doomed=True)
    await rig.other.guaranteed_update(key("x"), set_spec(doomed=False))
    with raises(ValueError, match="doomed is not set"):
        await rig.storage.delete(key("x"), DeleteOptions(suggestion=outdated, validate=validator("doomed")))
    assert (await rig.storage.get(key("x"))).data()["spec"] == {"doomed": False}


@case
async def a_precondition_that_only_an_outdated_suggestion_passes_refuses(rig: Rig) -> None:
    outdated = await rig.create("x")
    await rig.other.guaranteed_update(key("x"), set_spec(n=1))
    required = Preconditions(resource_version=str(outdated.resource_version))
    with raises(PreconditionFailed):
        await rig.storage.delete(key("x"), DeleteOptions(suggestion=outdated, preconditions=required))


@case
async def a_precondition_that_only_the_latest_state_passes_deletes(rig: Rig) -> None:
    outdated = await rig.create("x")
    latest = await rig.other.guaranteed_update(key("x"), set_spec(n=1))
    required = Preconditions(resource_version=str(latest.resource_version))
    deleted = await rig.storage.delete(key("x"), DeleteOptions(suggestion=outdated, preconditions=required))
    assert deleted.data()["spec"] == {"n": 1}


@case
async def a_writer_that_interferes_makes_the_validation_happen_again(rig: Rig) -> None:
    await rig.create("x", n=1)
    seen: list[int] = []

    async def validate(stored: StoredObject) -> None:
        seen.append(stored.data()["spec"]["n"])
        if len(seen) == 1:
            await rig.other.guaranteed_update(key("x"), set_spec(n=2))

    deleted = await rig.storage.delete(key("x"), DeleteOptions(validate=validate))
    assert seen == [1, 2]
    assert deleted.data()["spec"] == {"n": 2}

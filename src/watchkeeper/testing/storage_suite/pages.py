"""Cases about lists in pages."""

# ruff: noqa: D103  (the names are the sentences)

from __future__ import annotations

import base64
import json

from watchkeeper.storage.errors import Expired, InvalidRequest
from watchkeeper.storage.interface import ListOptions, ListResult, Match
from watchkeeper.storage.predicate import EVERYTHING, SelectionPredicate
from watchkeeper.testing.cases import collector
from watchkeeper.testing.storage_suite.rig import ROOT, Rig, by, key, names, raises, set_labels

CASES, case = collector()


async def pages(
    rig: Rig, limit: int, predicate: SelectionPredicate = EVERYTHING, prefix: str = ROOT
) -> list[ListResult]:
    """All pages of a list."""
    found = [await rig.storage.get_list(prefix, ListOptions(limit=limit, predicate=predicate))]
    while found[-1].continue_token:
        options = ListOptions(limit=limit, predicate=predicate, continue_token=found[-1].continue_token)
        found.append(await rig.storage.get_list(prefix, options))
    return found


async def following(rig: Rig, page: ListResult, limit: int = 2, selector: str = "", prefix: str = ROOT) -> ListResult:
    """The page behind `page`."""
    options = ListOptions(limit=limit, continue_token=page.continue_token, predicate=by(selector))
    return await rig.storage.get_list(prefix, options)


def token(**content: object) -> str:
    """A continue token."""
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")


def content(text: str) -> dict[str, object]:
    """What a continue token says."""
    found: dict[str, object] = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    return found


@case
async def pages_follow_each_other_and_say_how_many_objects_remain(rig: Rig) -> None:
    for name in "ecabd":
        await rig.create(name)
    found = await pages(rig, 2)
    assert [names(page.items) for page in found] == [["a", "b"], ["c", "d"], ["e"]]
    assert [page.remaining for page in found] == [3, 1, None]
    assert len({page.resource_version for page in found}) == 1


@case
async def a_token_has_the_format_that_other_servers_read(rig: Rig) -> None:
    for name in "abc":
        await rig.create(name, "ns")
    page = await rig.storage.get_list(ROOT, ListOptions(limit=1))
    assert content(page.continue_token) == {
        "v": "meta.k8s.io/v1",
        "rv": page.resource_version,
        "start": "ns/a\0",
    }
    page = await rig.storage.get_list(f"{ROOT}ns/", ListOptions(limit=1))
    assert content(page.continue_token)["start"] == "a\0"
    made = token(v="meta.k8s.io/v1", rv=page.resource_version, start="ns/b")
    assert names((await rig.storage.get_list(ROOT, ListOptions(continue_token=made))).items) == ["b", "c"]


@case
async def the_last_page_has_no_token_even_when_it_is_full(rig: Rig) -> None:
    for name in "abcd":
        await rig.create(name)
    assert [names(page.items) for page in await pages(rig, 2)] == [["a", "b"], ["c", "d"]]
    assert [names(page.items) for page in await pages(rig, 4)] == [["a", "b", "c", "d"]]
    assert [names(page.items) for page in await pages(rig, 5)] == [["a", "b", "c", "d"]]


@case
async def no_limit_and_a_negative_one_mean_everything(rig: Rig) -> None:
    for name in "abc":
        await rig.create(name)
    for limit in (0, -1):
        result = await rig.storage.get_list(ROOT, ListOptions(limit=limit))
        assert (names(result.items), result.continue_token, result.remaining) == (["a", "b", "c"], "", None)


@case
async def the_rest_can_be_had_without_a_limit(rig: Rig) -> None:
    for name in "abcde":
        await rig.create(name)
    first = await rig.storage.get_list(ROOT, ListOptions(limit=2))
    rest = await following(rig, first, limit=0)
    assert names(rest.items) == ["c", "d", "e"]
    assert (rest.continue_token, rest.remaining) == ("", None)
    assert rest.resource_version == first.resource_version


@case
async def pages_with_a_selector_are_full_and_do_not_say_how_many_remain(rig: Rig) -> None:
    for i, name in enumerate("abcdefgh"):
        await rig.create(name, labels={"app": "xy"[i % 2]})
    first = await rig.storage.get_list(ROOT, ListOptions(limit=2, predicate=by("app=x")))
    assert (names(first.items), first.remaining) == (["a", "c"], None)
    second = await following(rig, first, selector="app=x")
    assert (names(second.items), second.remaining) == (["e", "g"], None)
    found = await pages(rig, 3, by("app=x"))
    assert [name for page in found for name in names(page.items)] == ["a", "c", "e", "g"]
    assert found[-1].continue_token == ""


@case
async def a_rare_object_is_found_by_one_page(rig: Rig) -> None:
    for i in range(200):
        await rig.create(f"x{i:03}", labels={"rare": "yes"} if i == 150 else None)
    page = await rig.storage.get_list(ROOT, ListOptions(limit=1, predicate=by("rare=yes")))
    assert names(page.items) == ["x150"]
    page = await rig.storage.get_list(ROOT, ListOptions(limit=1, predicate=by("", "metadata.name=x199")))
    assert names(page.items) == ["x199"]
    assert page.continue_token == ""


@case
async def pages_show_one_state_while_objects_come_change_and_go(rig: Rig) -> None:
    for name in "abcdefgh":
        await rig.create(name, labels={"app": "x"})
    first = await rig.storage.get_list(ROOT, ListOptions(limit=2))
    await rig.create("b0")
    await rig.change("c", n=1)
    await rig.storage.delete(key("d"))
    await rig.create("d0")
    await rig.storage.guaranteed_update(key("e"), set_labels(app="y"))
    await rig.create("i")
    second = await following(rig, first)
    assert names(second.items) == ["c", "d"]
    assert second.items[0].data()["spec"] == {}
    assert second.remaining == 4
    await rig.storage.delete(key("g"))
    third = await following(rig, second, limit=3)
    assert names(third.items) == ["e", "f", "g"]
    assert third.items[0].attributes.labels == {"app": "x"}
    assert third.remaining == 1
    last = await following(rig, third)
    assert names(last.items) == ["h"]
    assert {page.resource_version for page in (second, third, last)} == {first.resource_version}
    assert names((await rig.storage.get_list(ROOT, ListOptions())).items) == [
        "a",
        "b",
        "b0",
        "c",
        "d0",
        "e",
        "f",
        "h",
        "i",
    ]


@case
async def an_object_created_at_the_very_next_key_is_not_in_the_next_page(rig: Rig) -> None:
    for name in ("a", "c"):
        await rig.create(name)
    first = await rig.storage.get_list(ROOT, ListOptions(limit=1))
    assert names(first.items) == ["a"]
    await rig.create("a-")
    await rig.create("a0")
    assert names((await following(rig, first)).items) == ["c"]


@case
async def the_next_page_shows_an_object_deleted_and_created_again_as_it_was(rig: Rig) -> None:
    for name in "abc":
        await rig.create(name, generation=1)
    first = await rig.storage.get_list(ROOT, ListOptions(limit=1))
    await rig.storage.delete(key("b"))
    await rig.create("b", generation=2)
    second = await following(rig, first)
    assert names(second.items) == ["b", "c"]
    assert second.items[0].data()["spec"] == {"generation": 1}


@case
async def objects_relabeled_between_pages_stay_where_they_were(rig: Rig) -> None:
    for i, name in enumerate("abcdefgh"):
        await rig.create(name, labels={"app": "xy"[i % 2]})
    first = await rig.storage.get_list(ROOT, ListOptions(limit=1, predicate=by("app=x")))
    for name in "cd":
        await rig.storage.guaranteed_update(key(name), set_labels(app="y" if name == "c" else "x"))
    second = await following(rig, first, selector="app=x")
    third = await following(rig, second, selector="app=x")
    assert names(first.items + second.items + third.items) == ["a", "c", "e", "g"]


@case
async def pages_of_a_namespace_stay_in_it(rig: Rig) -> None:
    for name in "abc":
        await rig.create(name, "n")
        await rig.create(name, "n-m")
        await rig.create(name, "o")
    found = await pages(rig, 2, prefix=f"{ROOT}n/")
    assert [[stored.key for stored in page.items] for page in found] == [
        [key("a", "n"), key("b", "n")],
        [key("c", "n")],
    ]
    assert [page.remaining for page in found] == [1, None]


@case
async def pages_can_begin_at_an_exact_version(rig: Rig) -> None:
    for name in "abc":
        await rig.create(name)
    then = str((await rig.create("d")).resource_version)
    await rig.storage.delete(key("a"))
    await rig.create("e")
    for match in (Match.EXACT, Match.UNSET):
        first = await rig.storage.get_list(ROOT, ListOptions(limit=3, resource_version=then, match=match))
        assert (names(first.items), first.remaining) == (["a", "b", "c"], 1)
        assert names((await following(rig, first)).items) == ["d"]


@case
async def a_limit_at_any_version_never_cuts_off_without_a_token(rig: Rig) -> None:
    for name in "abc":
        await rig.create(name)
    await rig.settle()
    for match in (Match.UNSET, Match.NOT_OLDER_THAN):
        result = await rig.storage.get_list(ROOT, ListOptions(limit=2, resource_version="0", match=match))
        while result.continue_token:
            rest = await following(rig, result)
            result = ListResult(result.items + rest.items, rest.resource_version, rest.continue_token)
        assert names(result.items) == ["a", "b", "c"]


@case
async def a_token_with_a_version_is_refused(rig: Rig) -> None:
    for name in "abc":
        await rig.create(name)
    page = await rig.storage.get_list(ROOT, ListOptions(limit=1))
    options = ListOptions(limit=1, continue_token=page.continue_token, resource_version=str(page.resource_version))
    with raises(InvalidRequest) as e:
        await rig.storage.get_list(ROOT, options)
    assert str(e.value) == "specifying resource version is not allowed when using continue"


@case
async def broken_tokens_are_refused(rig: Rig) -> None:
    good = {"v": "meta.k8s.io/v1", "rv": 1, "start": "a/x"}
    for bad, why in (
        ("not base64!", ""),
        (base64.urlsafe_b64encode(b"not json").decode().rstrip("="), ""),
        (token(**{**good, "v": "v9"}), "server does not recognize this encoded version v9"),
        (token(**{**good, "rv": 0}), "incorrect encoded start resourceVersion (version meta.k8s.io/v1)"),
        (token(**{**good, "start": ""}), "encoded start key empty (version meta.k8s.io/v1)"),
        (token(**{**good, "start": "../secrets/a/x"}), "../secrets/a/x"),
        (token(**{**good, "start": "a/../../secrets"}), "a/../../secrets"),
        (token(**{**good, "start": "a//x"}), "a//x"),
        (token(**{**good, "rv": "1"}), ""),
    ):
        with raises(InvalidRequest) as e:
            await rig.storage.get_list(ROOT, ListOptions(limit=1, continue_token=bad))
        assert str(e.value).startswith("invalid continue token: continue key is not valid"), bad
        assert str(e.value).endswith(why), bad


@case
async def an_expired_token_comes_with_one_that_goes_on_inconsistently(rig: Rig) -> None:
    for name in "abcd":
        await rig.create(name)
    first = await rig.storage.get_list(ROOT, ListOptions(limit=2))
    await rig.storage.delete(key("d"))
    await rig.create("e")
    await rig.compact()
    try:
        rest = await following(rig, first)
    except Expired as e:
        assert str(e).startswith("The provided continue parameter is too old to display a consistent list result.")
        assert str(e).endswith("between the time the first chunk was returned and now may show up in the list.")
        assert content(e.continue_token)["rv"] == -1
        fresh = await rig.storage.get_list(ROOT, ListOptions(limit=1, continue_token=e.continue_token))
        assert names(fresh.items) == ["c"]
        assert fresh.resource_version > first.resource_version
        assert names((await following(rig, fresh)).items) == ["e"]
    else:
        assert rig.cached, "a compacted version cannot be read from the store"
        assert names(rest.items) == ["c", "d"]


@case
async def a_token_of_revision_minus_one_goes_on_at_the_latest_version(rig: Rig) -> None:
    for name in "abc":
        await rig.create(name)
    made = token(v="meta.k8s.io/v1", rv=-1, start="a/a\0")
    stored = await rig.other.create(
        key("d"), {**(await rig.storage.get(key("c"))).data(), "metadata": {"name": "d", "namespace": "a"}}
    )
    result = await rig.storage.get_list(ROOT, ListOptions(limit=2, continue_token=made))
    assert (names(result.items), result.remaining) == (["b", "c"], 1)
    assert result.resource_version >= stored.resource_version
    assert names((await following(rig, result)).items) == ["d"]

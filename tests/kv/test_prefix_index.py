"""Finding who follows a key."""

from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.kv.prefix_index import PrefixIndex

short = st.text(alphabet="ab/", max_size=5).map(str.encode)


@given(st.lists(short, max_size=12), st.lists(short, max_size=8), st.lists(st.integers(0, 11), max_size=6))
def test_exactly_the_items_whose_prefix_a_key_has_are_found(
    prefixes: list[bytes], keys: list[bytes], removed: list[int]
) -> None:
    index: PrefixIndex[int] = PrefixIndex()
    items = dict(enumerate(prefixes))
    for item, prefix in items.items():
        index.add(prefix, item)
    for key in keys:
        assert sorted(index.matching(key)) == [item for item, prefix in items.items() if key.startswith(prefix)]
    for item in removed:
        if item in items:
            index.remove(items[item], item)
            index.remove(items.pop(item), item)
    for key in keys:
        assert sorted(index.matching(key)) == [item for item, prefix in items.items() if key.startswith(prefix)]
    assert len(index) == len(items) and sorted(index.all()) == sorted(items)


def test_removing_what_is_not_there_is_fine() -> None:
    index: PrefixIndex[str] = PrefixIndex()
    index.remove(b"/a", "x")
    index.add(b"/a", "x")
    index.remove(b"/a", "y")
    assert index.matching(b"/a/b") == ("x",)

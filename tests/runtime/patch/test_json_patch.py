from __future__ import annotations

import copy
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchkeeper.meta.errors import ApiError
from watchkeeper.runtime.patch import JsonPatch, PatchError

GENERIC = "the server rejected our request due to an error in our request"


def apply(document: Any, *operations: Any) -> Any:
    before = copy.deepcopy(document)
    outcome = JsonPatch(orjson.dumps(list(operations))).apply(document)
    assert document == before, "the document that was given has changed"
    return outcome


def refused(document: Any, *operations: Any) -> ApiError:
    with pytest.raises(ApiError) as raised:
        apply(document, *operations)
    return raised.value


def test_operations_run_in_order_each_on_what_the_one_before_left() -> None:
    outcome = apply(
        {"data": {"k": "1", "gone": "x", "old": "o"}},
        {"op": "test", "path": "/data/k", "value": "1"},
        {"op": "add", "path": "/data/new", "value": "n"},
        {"op": "replace", "path": "/data/k", "value": "2"},
        {"op": "remove", "path": "/data/gone"},
        {"op": "copy", "from": "/data/k", "path": "/data/copied"},
        {"op": "move", "from": "/data/old", "path": "/data/moved"},
        {"op": "test", "path": "/data/copied", "value": "2"},
    )
    assert outcome == {"data": {"k": "2", "new": "n", "copied": "2", "moved": "o"}}


def test_what_is_moved_is_not_shared_with_the_document_before() -> None:
    before: dict[str, Any] = {"a": {"list": [{"x": 1}]}, "b": {}}
    outcome = apply(before, {"op": "move", "from": "/a/list", "path": "/b/list"})
    outcome["b"]["list"][0]["x"] = 2
    assert before == {"a": {"list": [{"x": 1}]}, "b": {}}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/data/k", "value": "2"},
        {"op": "test", "path": "/n", "value": True},
        {"op": "remove", "path": "/data/none"},
        {"op": "add", "path": "/none/x", "value": "1"},
        {"op": "replace", "path": "/none/x", "value": "1"},
        {"op": "add", "path": "/data/k/below", "value": "1"},
        {"op": "drop", "path": "/data/k"},
        {"op": "add", "value": "1"},
        {"path": "/data/k", "value": "1"},
        {"op": "remove", "path": "data"},
        {"op": "remove", "path": ""},
        {"op": "add", "path": "", "value": {}},
        {"op": "move", "from": "/data/none", "path": "/data/x"},
        {"op": "move", "path": "/data/x"},
        {"op": "copy", "path": "/data/x"},
        {"op": "copy", "from": "", "path": "/data/x"},
        {"op": "add", "path": "/list/3", "value": 9},
        {"op": "add", "path": "/list/-4", "value": 9},
        {"op": "add", "path": "/list/x", "value": 9},
        {"op": "replace", "path": "/list/2", "value": 9},
        {"op": "replace", "path": "/list/-", "value": 9},
        {"op": "remove", "path": "/list/-3"},
        None,
    ],
)
def test_a_patch_that_does_not_apply_is_refused_without_saying_why(operation: Any) -> None:
    error = refused({"data": {"k": "1"}, "list": [1, 2], "n": 1}, operation)
    assert (error.code, error.reason, error.message, error.details) == (422, "Invalid", GENERIC, {})


def test_nothing_of_a_patch_is_applied_when_a_part_does_not() -> None:
    document = {"data": {"k": "1"}}
    refused(document, {"op": "add", "path": "/data/x", "value": "1"}, {"op": "remove", "path": "/none"})
    assert document == {"data": {"k": "1"}}


def test_the_leniencies_of_the_reference() -> None:
    assert apply({"a": {}}, {"op": "replace", "path": "/a/new", "value": 1}) == {"a": {"new": 1}}
    assert apply({"a": {}}, {"op": "copy", "from": "/a/none", "path": "/a/x"}) == {"a": {"x": None}}
    assert apply({"a": {}}, {"op": "add", "path": "/a/x"}) == {"a": {"x": None}}
    assert apply({"a": {}}, {"op": "test", "path": "/a/none", "value": None}) == {"a": {}}
    assert apply({"a": 1}, {"op": "add", "path": "ignored/b", "value": 2}) == {"a": 1, "b": 2}
    refused({"a": 1}, {"op": "replace", "path": "", "value": "text"})
    refused({"a": 1}, {"op": "replace", "path": "", "value": None})


def test_positions_in_lists() -> None:
    assert apply([1, 2], {"op": "add", "path": "/-", "value": 3}) == [1, 2, 3]
    assert apply([1, 2], {"op": "add", "path": "/1", "value": 3}) == [1, 3, 2]
    assert apply([1, 2], {"op": "add", "path": "/2", "value": 3}) == [1, 2, 3]
    assert apply([1, 2], {"op": "add", "path": "/-1", "value": 3}) == [1, 2, 3]
    assert apply([1, 2], {"op": "replace", "path": "/-1", "value": 3}) == [1, 3]
    assert apply([1, 2], {"op": "remove", "path": "/0"}) == [2]


def test_escapes_stand_for_slashes_and_tildes() -> None:
    outcome = apply(
        {"a/b": 1, "c~d": 2, "~1": 3},
        {"op": "replace", "path": "/a~1b", "value": 10},
        {"op": "replace", "path": "/c~0d", "value": 20},
        {"op": "replace", "path": "/~01", "value": 30},
    )
    assert outcome == {"a/b": 10, "c~d": 20, "~1": 30}


@pytest.mark.parametrize(("found", "tested"), [(2, 2.0), (2.0, 2), (1, True), (0, False), ([1], [1.0])])
def test_values_that_are_written_differently_are_not_the_same(found: Any, tested: Any) -> None:
    assert apply({"a": found}, {"op": "test", "path": "/a", "value": found}) == {"a": found}
    with pytest.raises(ApiError):
        apply({"a": found}, {"op": "test", "path": "/a", "value": tested})


def test_the_whole_document_can_be_replaced_and_tested() -> None:
    assert apply({"a": 1}, {"op": "replace", "path": "", "value": {"b": 2}}) == {"b": 2}
    assert apply({"a": 1}, {"op": "test", "path": "", "value": {"a": 1}}) == {"a": 1}
    assert refused({"a": 1}, {"op": "test", "path": "", "value": {"a": 2}}).code == 422


def test_a_copy_is_a_copy() -> None:
    outcome = apply(
        {"a": {"x": [1]}},
        {"op": "copy", "from": "/a", "path": "/b"},
        {"op": "add", "path": "/b/x/-", "value": 2},
    )
    assert outcome == {"a": {"x": [1]}, "b": {"x": [1, 2]}}


def test_numbers_keep_their_digits() -> None:
    big = 2**63 - 1
    outcome = apply({"n": big, "f": 1.0}, {"op": "add", "path": "/m", "value": -(2**63)})
    assert outcome == {"n": big, "f": 1.0, "m": -(2**63)}
    assert isinstance(outcome["f"], float)


@pytest.mark.parametrize("body", [b"{", b"{}", b'"x"', b'["remove"]', b'[{"op": 1}]', b'[{"op": "add", "path": 1}]'])
def test_a_body_that_is_no_list_of_operations_is_a_bad_request(body: bytes) -> None:
    with pytest.raises(ApiError) as raised:
        JsonPatch(body)
    assert raised.value.code == 400
    assert raised.value.message.startswith("error decoding patch: ")


def test_a_number_beyond_all_floats_is_told_of_as_a_value() -> None:
    with pytest.raises(ApiError) as raised:
        JsonPatch(b'[{"op":"add","path":"/a","value":1e400}]')
    assert raised.value.message == (
        "error decoding patch: json: cannot unmarshal number 1e400 into Go struct field jsonPatchOp.value of type "
        "float64"
    )


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"a":1e400}', "cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        (b"1e400", "cannot unmarshal number into Go value of type []handlers.jsonPatchOp"),
        (b"[1e400]", "cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        (b'[{"op":1e400}]', "cannot unmarshal number into Go struct field jsonPatchOp.op of type string"),
        (b'[{"value":[{"a":1e400}]},1]', "cannot unmarshal number 1e400 into Go struct field jsonPatchOp.value"),
    ],
)
def test_the_first_fault_beside_a_number_beyond_all_floats_counts(body: bytes, words: str) -> None:
    with pytest.raises(ApiError) as raised:
        JsonPatch(body)
    assert words in raised.value.message


def test_a_number_beyond_all_floats_does_not_matter_in_what_nobody_reads() -> None:
    patch = JsonPatch(b'[{"op":"add","path":"/a","value":1.5,"odd":1e400}]')
    assert patch.apply({}) == {"a": 1.5}


def test_null_is_a_patch_without_operations() -> None:
    assert JsonPatch(b"null").apply({"a": 1}) == {"a": 1}


def test_too_many_operations_are_too_much() -> None:
    operation = {"op": "test", "path": "/a", "value": 1}
    assert JsonPatch(orjson.dumps([operation] * 10_000)).apply({"a": 1}) == {"a": 1}
    with pytest.raises(ApiError) as raised:
        JsonPatch(orjson.dumps([operation] * 10_001))
    assert raised.value.code == 413
    assert "The allowed maximum operations in a JSON patch is 10000, got 10001" in raised.value.message


def test_copies_cannot_grow_without_bounds() -> None:
    doubling = [{"op": "copy", "from": "/a", "path": f"/a/x{i}"} for i in range(30)]
    assert refused({"a": {"text": "x" * 1000}}, *doubling).code == 422


def test_repeated_members_of_operations_are_strict_errors_where_they_stand() -> None:
    text = b'[{"op":"add","path":"/x","value":{"a":[{"b":1,"b":2}],"a":3},"op":"add","why":1}]'
    assert JsonPatch(text).strict_errors() == [
        'json patch duplicate field "[0].value.a[0].b"',
        'json patch duplicate field "[0].value.a"',
        'json patch duplicate field "[0].op"',
        'json patch unknown field "[0].why"',
        'duplicate field "x.a[0].b"',
        'duplicate field "x.a"',
    ]


def test_unknown_members_of_operations_are_strict_errors() -> None:
    patch = JsonPatch(b'[{"op": "test", "path": "/a", "value": 1, "why": "x"}]')
    assert patch.strict_errors() == ['json patch unknown field "[0].why"']


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab/~", max_size=2), inner, max_size=3),
    max_leaves=8,
)


def paths_of(value: Any, prefix: str = "") -> list[str]:
    found = [prefix] if prefix else []
    if isinstance(value, dict):
        for key, inner in value.items():
            found += paths_of(inner, f"{prefix}/{key.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            found += paths_of(inner, f"{prefix}/{index}")
    return found


@settings(max_examples=50, deadline=None)
@given(document=st.dictionaries(st.text("ab/~", max_size=2), JSON, min_size=1, max_size=3), data=st.data())
def test_removing_and_adding_again_restores(document: dict[str, Any], data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(paths_of(document)))
    outcome = apply(
        document,
        {"op": "copy", "from": path, "path": "/kept"},
        {"op": "remove", "path": path},
        {"op": "copy", "from": "/kept", "path": path},
        {"op": "remove", "path": "/kept"},
    )
    assert outcome == document


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        (
            {"op": "add", "path": "/no/x", "value": 1},
            'add operation does not apply: doc is missing path: "/no/x": missing value',
        ),
        ({"op": "add"}, "add operation failed to decode path: missing value"),
        (
            {"op": "add", "path": "/l/9", "value": 1},
            "error in add for path: '/l/9': Unable to access invalid index: 9: invalid index referenced",
        ),
        (
            {"op": "add", "path": "/l/x", "value": 1},
            "error in add for path: '/l/x': value was not a proper array index: 'x': strconv.Atoi: parsing \"x\": "
            "invalid syntax",
        ),
        (
            {"op": "add", "path": "/l/" + "9" * 5000, "value": 1},
            f"error in add for path: '/l/{'9' * 5000}': value was not a proper array index: '{'9' * 5000}': "
            f'strconv.Atoi: parsing "{"9" * 5000}": value out of range',
        ),
        (
            {"op": "add", "path": "/l/-" + "0" * 5000 + "9", "value": 1},
            f"error in add for path: '/l/-{'0' * 5000}9': Unable to access invalid index: -9: invalid index referenced",
        ),
        (
            {"op": "remove", "path": "/m/no"},
            "error in remove for path: '/m/no': Unable to remove nonexistent key: no: missing value",
        ),
        (
            {"op": "replace", "path": "/no/x"},
            "replace operation does not apply: doc is missing path: /no/x: missing value",
        ),
        (
            {"op": "replace", "path": "/l/7"},
            "replace operation does not apply: doc is missing key: /l/7: missing value",
        ),
        ({"op": "test", "path": "/m/k", "value": "x"}, "testing value /m/k failed: test failed"),
        (
            {"op": "move", "from": "/m/no", "path": "/m/x"},
            "error in move for path: 'no': Unable to remove nonexistent key: no: missing value",
        ),
        (
            {"op": "move", "path": "/m/x"},
            "move operation failed to decode from: operation, missing from field: missing value",
        ),
        (
            {"op": "copy", "from": "/no/x", "path": "/m/x"},
            "copy operation does not apply: doc is missing from path: /no/x: missing value",
        ),
        ({"op": "drop"}, "Unexpected kind: drop"),
        ({}, "Unexpected kind: unknown"),
    ],
)
def test_what_keeps_a_webhooks_patch_from_applying_is_told(operation: Any, said: str) -> None:
    patch = JsonPatch.of_webhook(orjson.dumps([operation]))
    with pytest.raises(PatchError) as raised:
        patch.result({"m": {"k": "v"}, "l": [1]})
    assert str(raised.value) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"{}", "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
        (b'["x"]', "json: cannot unmarshal string into Go value of type jsonpatch.Operation"),
        (b"[", "unexpected end of JSON input"),
    ],
)
def test_what_is_no_patch_of_a_webhook_is_told(text: bytes, said: str) -> None:
    with pytest.raises(PatchError) as raised:
        JsonPatch.of_webhook(text)
    assert str(raised.value) == said


def test_a_webhooks_patch_may_be_long_and_null_is_none() -> None:
    assert JsonPatch.of_webhook(b"null").operations == []
    operations = [{"op": "add", "path": "/k", "value": i} for i in range(10_001)]
    assert JsonPatch.of_webhook(orjson.dumps(operations)).result({}) == {"k": 10_000}


@pytest.mark.parametrize(
    ("stored", "equal", "unequal"),
    [
        (1.5, ["1.5"], ["1.50", "15e-1"]),
        (2, ["2"], ["2.0", "2e0"]),
        (1e20, ["100000000000000000000"], ["1e20", "1e+20"]),
        ("a&b", [r'"a\u0026b"'], ['"a&b"']),
        ("é", ['"é"'], [r'"\u00e9"']),
        ("a/b", ['"a/b"'], [r'"a\/b"']),
        ({"k": "<", "é": [1]}, [r'{"\u00e9":[ 1 ], "k" : "\u003c"}'], ['{"k":"<","é":[1]}']),
    ],
)
def test_a_test_compares_texts_as_go_writes_them(stored: Any, equal: list[str], unequal: list[str]) -> None:
    for text, found in [(text, True) for text in equal] + [(text, False) for text in unequal]:
        patch = JsonPatch(f'[{{"op":"test","path":"/v","value":{text}}}]'.encode())
        if found:
            assert patch.apply({"v": stored}) == {"v": stored}
        else:
            with pytest.raises(ApiError):
                patch.apply({"v": stored})


def test_members_that_a_value_sets_twice_are_told_in_the_operation_and_in_the_object() -> None:
    patch = JsonPatch(b'[{"op":"add","path":"/spec/list/0","value":{"a":1,"a":2}},{"op":"test","path":"","value":{}}]')
    assert patch.strict_errors() == [
        'json patch duplicate field "[0].value.a"',
        'duplicate field "spec.list[0].a"',
    ]


def test_strict_errors_are_told_once_and_not_without_end() -> None:
    text = b'[{"op":"test","op":"test","op":"test","path":"","value":{}}]'
    assert JsonPatch(text).strict_errors() == ['json patch duplicate field "[0].op"']
    patch = JsonPatch(orjson.dumps([{"op": "test", **{f"x{i}": 1 for i in range(150)}}]))
    assert len(patch.strict_errors()) == 100


def test_strict_errors_stand_in_the_order_of_the_text_and_not_within_what_means_nothing() -> None:
    body = b'[{"op":"add","path":"/a","value":{"b":1,"b":{"c":1,"c":2}},"x":{"y":1,"y":2},"x":3}]'
    assert [text for text in JsonPatch(body).strict_errors() if text.startswith("json patch")] == [
        'json patch duplicate field "[0].value.b"',
        'json patch duplicate field "[0].value.b.c"',
        'json patch unknown field "[0].x"',
    ]


def test_the_first_member_of_a_wrong_type_is_named() -> None:
    with pytest.raises(ApiError, match=r"number into Go struct field jsonPatchOp\.from of type string"):
        JsonPatch(b'[{"from":1,"op":[]}]')

"""What is remembered of objects that are alike never shows in what becomes of them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchkeeper.apis.builtin import builtin_scheme
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.alike import MARK, Memo, Specs
from watchkeeper.runtime.codec import decode_body
from watchkeeper.runtime.managedfields import FieldManager, excluding

Object = dict[str, Any]
POD = GroupVersionKind("", "v1", "Pod")


def test_what_was_added_is_found_by_equal_parts_only() -> None:
    memo: Memo[str] = Memo()
    key = memo.key({"a": 1}, None)
    assert key is not None
    assert memo.get(key) is None
    memo.add(key, "one")
    assert memo.get(memo.key({"a": 1}, None) or b"") == "one"
    for other in ({"a": True}, {"a": 1.0}, {"a": "1"}, {"a": 1, "b": 2}):
        assert memo.get(memo.key(other, None) or b"") is None


def test_no_more_is_kept_than_the_newest_parts() -> None:
    memo: Memo[int] = Memo()
    keys = [memo.key(i) for i in range(300)]
    assert None in keys or len(set(keys)) == 300
    for i in range(300):
        memo.add(b"%d" % i, i)
    assert repr(memo) == "<Memo of 256>"
    assert memo.get(b"0") is None
    assert memo.get(b"299") == 299


def test_where_nothing_is_alike_few_parts_are_looked_up() -> None:
    memo: Memo[int] = Memo()
    looked_up = 0
    for i in range(1000):
        key = memo.key(i)
        if key is not None:
            looked_up += 1
            assert memo.get(key) is None
            memo.add(key, i)
    assert 80 < looked_up < 110
    again = memo.key(999) or memo.key(999) or b""  # sooner or later one is looked up, and then they all are
    while not again:
        again = memo.key(999) or b""
    memo.add(again, 1)
    assert memo.get(again) == 1
    assert all(memo.key(i) is not None for i in range(20))


@pytest.mark.parametrize("part", ["x" * 20_000, "\ud800", 2**70])
def test_large_and_odd_parts_are_not_remembered(part: Any) -> None:
    assert Memo[int]().key(part) is None


CHANGES: list[tuple[str, Any]] = [
    ("", None),
    ("containers.0.image", "other:1"),
    ("containers.0.image", 7),
    ("containers.0.env.0.value", ""),
    ("containers.0.env.0.unknown", "x"),
    ("containers.0.ports.0.containerPort", "8080"),
    ("containers.0.ports.0.protocol", None),
    ("containers.0.resources", {"limits": {"cpu": "0.5", "memory": "1024Ki"}}),
    ("containers", None),
    ("initContainers", [{"name": "first", "image": "i"}]),
    ("hostNetwork", True),
    ("nodeName", ""),
    ("unknown", {"a": 1}),
    ("volumes.0.emptyDir", {"sizeLimit": "1.5Gi"}),
    ("serviceAccountName", "me"),
    ("tolerations", [{"key": "a", "tolerationSeconds": 2**40}]),
]
METADATA: list[Object] = [
    {"name": "a", "namespace": "n"},
    {"name": "b", "namespace": "n", "labels": {"x": "y"}, "unknown": 1},
    {"name": 5},
    {"name": "c", "managedFields": []},
    {"name": "d", "annotations": {"k": "v"}, "finalizers": ["kubernetes"]},
    {"name": "e", "labels": {"x": ""}, "annotations": None},
    {"name": "f", "labels": {"x": None, "z": "y"}, "generation": 4, "uid": "u"},
    {"name": "g", "labels": {}, "annotations": {}},
    {"generateName": "h-", "finalizers": ["kubernetes", "orphan"], "creationTimestamp": None},
    {"generateName": "", "labels": ["x"]},
    *(
        {"name": uid, "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": uid}]}
        for uid in ("i", "j")
    ),
]


def pod(change: int, metadata: int, extra: bool) -> Object:
    spec: Object = {
        "containers": [
            {
                "name": "main",
                "image": "img",
                "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                "ports": [{"containerPort": 80}],
            }
        ],
        "volumes": [{"name": "v", "emptyDir": {}}],
    }
    path, value = CHANGES[change]
    if path:
        at: Any = spec
        *way, last = path.split(".")
        for step in way:
            at = at[int(step)] if step.isdigit() else at[step]
        at[last] = value
    obj: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": METADATA[metadata], "spec": spec}
    if extra:
        obj["status"] = {"podIP": "10.0.0.1"}
    return obj


def made(scheme: Any, manager: FieldManager, body: bytes) -> Any:
    """What a create makes of a body: the object with its record, or the refusal; and the strict errors."""
    kind = scheme.kind(POD)
    try:
        decoded = decode_body(scheme, kind, body, strict=True)
    except ApiError as error:
        return error.message
    new = manager.update(None, decoded.obj, "me")
    outcome = copy.deepcopy(new), decoded.errors
    # Whoever gets an object may do with it what they want.
    new["spec"].pop("volumes", None)
    for container in new["spec"].get("containers") or ():
        container["image"] = "changed"
    return outcome


def compact(obj: Object) -> bytes:
    return json.dumps(obj, separators=(",", ":")).encode()


SPELLINGS: list[Callable[[Object], bytes]] = [
    lambda obj: json.dumps(obj).encode(),
    compact,
    lambda obj: json.dumps(obj, indent=1).encode(),
    lambda obj: compact(dict(reversed(obj.items()))),
    lambda obj: compact(obj).replace(b'"spec"', b'"sp\\u0065c"'),
    lambda obj: compact(obj)[:-1] + b',"spec":' + compact(obj["spec"]) + b"}",
    lambda obj: compact(obj)[:-1] + b',"spec":"a known spec"}',
    lambda obj: compact(obj)[:-1] + b',"spec":{}}',
    lambda obj: b'{"spec":1,' + compact(obj)[1:],
    lambda obj: compact({"status": {"spec": obj["spec"]}, **obj, "unknown": {"spec": obj["spec"]}}),
    lambda obj: compact({"unknown": {"spec": obj["spec"]}, **obj, "spec": "a known spec"}),
    lambda obj: compact({"unknown": {"spec": obj["spec"]}, **obj, "spec": "a known spec"}).replace(
        b'"a known', b'"a \\u006bnown'
    ),
    lambda obj: compact({**obj, "spec": "a known spec"}),
    lambda obj: compact({**obj, "kind": "PodTemplate"}),
    lambda obj: compact({**obj, "apiVersion": "v2"}),
    lambda obj: compact({**obj, "kind": "Pod", "status": {"hostIP": "\u00e4", "phase": obj["spec"]}}),
    lambda obj: compact(obj)[:-1],
    lambda obj: compact(obj) + b"}",
    lambda obj: compact(obj).replace(b'"name":"main"', b'"name":"main","name":"main"'),
    lambda obj: compact(obj).replace(b'"name":"main"', b'"name":"\xc3\xa4"'),
    lambda obj: compact(obj).replace(b'"name":"main"', b'"name":"\xff"'),
    lambda obj: b"[" + compact(obj) + b"]",
]
"""Bodies as clients may write them, soundly or not."""


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, len(CHANGES) - 1),
            st.integers(0, len(METADATA) - 1),
            st.booleans(),
            st.integers(0, len(SPELLINGS) - 1),
        ),
        min_size=2,
        max_size=12,
    )
)
def test_bodies_become_the_same_whether_or_not_some_like_them_were_seen(
    chosen: list[tuple[int, int, bool, int]],
) -> None:
    remembering, forgetting = builtin_scheme(), builtin_scheme()
    forgetting.kind(POD).specs = None
    assert remembering.kind(POD).specs is not None

    def manager(scheme: Any) -> FieldManager:
        return FieldManager(
            scheme, scheme.kind(POD), filters={"v1": excluding("status")}, now=lambda: "2026-01-01T00:00:00Z"
        )

    first, second = manager(remembering), manager(forgetting)
    for change, metadata, extra, spelling in [*chosen, *chosen, *chosen]:
        body = SPELLINGS[spelling](pod(change, metadata, extra))
        assert made(remembering, first, body) == made(forgetting, second, body)


@pytest.mark.parametrize("spelling", SPELLINGS[:2])
def test_a_spec_is_recognized_by_its_bytes_from_the_third_body_on(spelling: Callable[[Object], bytes]) -> None:
    scheme = builtin_scheme()
    specs = scheme.kind(POD).specs
    assert specs is not None
    for number in range(2):
        assert specs.recognize(spelling(pod(0, 1, False))) is None, number
        decode_body(scheme, scheme.kind(POD), spelling(pod(0, 0, False)), strict=True)
    for extra in (False, True):
        body = spelling(pod(0, 1, extra))
        found = specs.recognize(body)
        assert found is not None
        assert json.loads(found.rest) == {**json.loads(body), "spec": MARK}
    assert specs.recognize(spelling(pod(1, 1, False))) is None
    assert specs.recognize(b"{}") is None


def test_spellings_that_never_come_again_are_learned_more_and_more_rarely() -> None:
    specs = Specs(lambda _: None)
    key = specs.key({"a": 1}) or b""
    specs.add(key, {"a": 1})
    known = specs.find(key)
    assert known is not None
    for number in range(200):
        specs.learn(b'{"spec":{"a":%b1}}' % (b" " * number), key, known)
    learned = sum(specs.recognize(b'{"spec":{"a":%b1}}' % (b" " * number)) is not None for number in range(200))
    assert learned == 8
    specs.learn(b'{"spec":{"a":2}}', key, known)
    specs.learn(b'{"spec":{"a"', key, known)
    specs.learn(b"{}", key, known)
    assert specs.recognize(b'{"spec":{"a":2}}') is None

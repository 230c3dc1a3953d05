"""What is shown of new objects and stored with their first change only."""

from __future__ import annotations

from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.storage.filling_codec import FillingCodec

CLAIM = GroupVersionKind("", "v1", "PersistentVolumeClaim")


def codec() -> FillingCodec:
    return FillingCodec(CLAIM, None, stored=b'"status":{}}', shown=b'"status":{"phase":"Pending"}}')


def test_a_new_object_is_stored_without_what_its_readers_see() -> None:
    claim = {"metadata": {"name": "c"}, "spec": {}, "status": {"phase": "Pending"}}
    found = codec()
    body = found.body_of_new(claim)
    assert body == b'"metadata":{"name":"c"},"spec":{},"status":{}}'
    for shown in (found.wrap("/c", body, 7), found.stored("/c", found.head + body, 7)):
        assert shown.data()["status"] == {"phase": "Pending"}
        assert shown.tail == found.wrap("/c", found.body(claim), 7).tail


def test_what_is_more_than_new_is_stored_as_it_is() -> None:
    found = codec()
    for status in ({"phase": "Bound"}, {"capacity": {}, "phase": "Pending"}):
        claim = {"metadata": {"name": "c"}, "status": status}
        assert found.body_of_new(claim) == found.body(claim)
        assert found.stored("/c", found.encode(claim), 7).data()["status"] == status

"""Metadata on its own."""

from watchkeeper.registry.table import partial_metadata


def test_metadata_alone_goes_without_what_stands_for_fields() -> None:
    obj = {"metadata": {"name": "a", "annotations": {"field": "1", "note": "x"}}, "spec": {}}
    assert partial_metadata(obj, without=("field",)) == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"name": "a", "annotations": {"note": "x"}},
    }
    bare = partial_metadata(obj, without=("field", "note"))
    assert bare["metadata"] == {"name": "a"}
    assert obj["metadata"]["annotations"] == {"field": "1", "note": "x"}

"""What is said of objects that would be made in a namespace that is ending."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from watchkeeper.testing import Handle, Server
from watchkeeper.testing.handle import RequestFailed


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True, controllers=()) as running:
        running.request("POST", "/api/v1/namespaces", {"metadata": {"name": "ending"}})
        running.request("DELETE", "/api/v1/namespaces/ending")
        yield running


@pytest.mark.parametrize(("field", "value"), [("name", "one"), ("generateName", "some-")])
def test_the_object_is_named_or_what_its_name_would_be_made_from(server: Handle, field: str, value: str) -> None:
    with pytest.raises(RequestFailed) as refused:
        server.request("POST", "/api/v1/namespaces/ending/configmaps", {"metadata": {field: value}})
    why = "unable to create new content in namespace ending because it is being terminated"
    assert refused.value.answer["message"] == f'configmaps "{value}" is forbidden: {why}'
    cause = {
        "reason": "NamespaceTerminating",
        "message": "namespace ending is being terminated",
        "field": "metadata.namespace",
    }
    assert refused.value.answer["details"] == {"name": value, "kind": "configmaps", "causes": [cause]}

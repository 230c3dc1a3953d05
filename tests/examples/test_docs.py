"""What the documentation shows works as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from watchkeeper.testing import Server
from watchkeeper.testing.handle import RequestFailed

DOCS = Path(__file__).parents[2] / "docs"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def blocks(name: str) -> list[str]:
    """The Python in a document."""
    return re.findall(r"```python\n(.*?)```", (DOCS / name).read_text(), re.DOTALL)


def declared(source: str) -> Any:
    """The registry that a piece of Python declares."""
    scope: dict[str, Any] = {"__name__": "shop"}
    exec(compile(source, "docs/kinds.md", "exec", dont_inherit=True), scope)
    return scope["registry"]


@pytest.mark.parametrize("number", range(3), ids=["dataclass", "msgspec", "pydantic"])
def test_a_class_of_ten_lines_is_a_kind_that_is_served(number: int) -> None:
    source = blocks("kinds.md")[number]
    assert len([line for line in source.splitlines() if line.strip()]) <= 10
    path = "/apis/shop.example.com/v1/namespaces/default/shirts"
    with Server(insecure_http=True, app=declared(source)) as server:

        def shirt(name: str, **spec: Any) -> dict[str, Any]:
            return {
                "apiVersion": "shop.example.com/v1",
                "kind": "Shirt",
                "metadata": {"name": name},
                "spec": spec,
                "status": {"sold": 1},
            }

        created = server.request("POST", path, shirt("a", size="M", color="red"))
        assert created["spec"] == {"size": "M", "count": 1}
        assert "status" not in created
        created["status"] = {"sold": 2}
        assert server.request("PUT", f"{path}/a/status", created)["status"] == {"sold": 2}
        for wrong, words in (
            (shirt("b", size="XL"), 'spec.size: Unsupported value: \\"XL\\": supported values: '),
            (shirt("b", size="L", count=0), "spec.count in body should be greater than or equal to 1"),
            (shirt("b"), "spec.size: Required value"),
        ):
            with pytest.raises(RequestFailed) as refused:
                server.request("POST", path, wrong)
            assert (refused.value.status, words in str(refused.value)) == (422, True), str(refused.value)
        table = server.request("GET", path, headers={"Accept": TABLE})
        assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Size"]
        assert [row["cells"] for row in table["rows"]] == [["a", "M"]]
        document = server.request("GET", "/openapi/v3/apis/shop.example.com/v1")
        spec = document["components"]["schemas"]["com.example.shop.v1.Shirt"]["properties"]["spec"]
        assert spec["required"] == ["size"]


def test_the_controller_of_the_documentation_compiles() -> None:
    for source in (*blocks("client.md"), *blocks("kinds.md")):
        compile(source, "docs", "exec")

"""Which form of answer an Accept header chooses, and what it takes for a body's type to be understood."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from watchkeeper.endpoints.negotiation import JSON, PROTOBUF, YAML, Accepted, content_type, negotiate
from watchkeeper.meta.errors import ApiError
from watchkeeper.request.request import Request

TABLE = "as=Table;v=v1;g=meta.k8s.io"


async def _no_message(*_: Any) -> Any:
    await asyncio.sleep(0)


def request(**headers: str) -> Request:
    sent = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"method": "GET", "path": "/api/v1/pods", "query_string": b"", "headers": sent}
    return Request(scope, _no_message, _no_message)


def chosen(header: str, *, builtin: bool = True) -> Accepted:
    return negotiate(request(accept=header), protobuf=builtin)


@pytest.mark.parametrize(
    ("header", "media_type"),
    [
        ("application/yaml;q=0.2, application/json;q=0.1", YAML),
        ("application/json;q=0.1, application/yaml;q=0.2", YAML),
        ("*/*, application/yaml;q=0.1", YAML),
        ("*/*;q=0.9, application/yaml;q=0.1", YAML),
        ("application/*, application/yaml;q=0.1", YAML),
        ("application/json;q=x, application/yaml;q=0.1", YAML),
        ("application/json;q=, application/yaml;q=0.1", JSON),
        ("text/plain, application/yaml;sv=v1, */*", YAML),
        ("text/plain, application/yaml;sv=v2, */*", JSON),
        ("application/yaml;sv=", YAML),
        ("application/yaml;stream=watch, application/json", JSON),
        (f"{PROTOBUF};{TABLE}, application/json", JSON),
        (f"{PROTOBUF}, application/json", PROTOBUF),
        ("application/json/x, application/yaml", YAML),
        ("application/yaml;q=0", YAML),
    ],
)
def test_the_header_chooses_the_form(header: str, media_type: str) -> None:
    assert chosen(header).media_type == media_type


def test_a_quoted_parameter_is_not_the_one_that_is_meant() -> None:
    assert chosen(f"application/json;{TABLE}").target == "Table"
    with pytest.raises(ApiError, match="only the following media types are accepted"):
        chosen('application/json;as="Table";v=v1;g=meta.k8s.io')


def test_where_no_objects_are_served_no_version_of_the_server_is_known() -> None:
    with pytest.raises(ApiError, match="only the following media types are accepted"):
        negotiate(request(accept="application/json;sv=v1"), protobuf=True, transforms=False)


@pytest.mark.parametrize("header", ["application/*", "*", "text/plain", "Application/JSON"])
def test_paths_of_built_in_kinds_have_to_be_asked_for_a_type_that_there_is(header: str) -> None:
    with pytest.raises(ApiError, match="Available representations: application/json, application/yaml") as refused:
        chosen(header)
    assert (refused.value.code, refused.value.details) == (406, {})


def test_what_can_be_watched_says_so_where_nothing_is_acceptable() -> None:
    streams = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
    with pytest.raises(ApiError, match=f"application/vnd.kubernetes.protobuf, {streams}$"):
        negotiate(request(accept="text/plain"), protobuf=True, streams=True)


def test_paths_of_custom_resources_know_ranges() -> None:
    assert chosen("application/*", builtin=False).media_type == JSON
    assert chosen("*", builtin=False).media_type == JSON
    with pytest.raises(ApiError, match="only the following media types are accepted"):
        chosen("text/plain", builtin=False)


@pytest.mark.parametrize(
    ("header", "media_type"),
    [
        ("Application/JSON; charset=UTF-8", JSON),
        ('application/yaml;a="b;c";', YAML),
        ("application/json; charset", ""),
        ("application/json; charset=", ""),
        ("application/json x", ""),
        ("json", ""),
    ],
)
def test_the_type_of_a_body_is_well_formed(header: str, media_type: str) -> None:
    assert content_type(request(content_type=header)) == media_type

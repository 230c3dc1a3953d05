"""Names that begin with, or are, domains."""

import pytest

from watchkeeper.apis.validation.domains import (
    validate_domain_name,
    validate_domain_prefixed_path,
    validate_fully_qualified_name,
)
from watchkeeper.meta.field import FieldError


def words(errors: list[FieldError]) -> list[str]:
    return [error.body() for error in errors]


@pytest.mark.parametrize(
    ("name", "errors"),
    [
        ("a.example.com", []),
        ("", ["Required value"]),
        (
            "example.com",
            ['Invalid value: "example.com": should be a domain with at least three segments separated by dots'],
        ),
    ],
)
def test_a_fully_qualified_name_has_three_segments(name: str, errors: list[str]) -> None:
    assert words(validate_fully_qualified_name(name, "name")) == errors


@pytest.mark.parametrize(
    ("name", "errors"),
    [
        ("example.com", []),
        ("example.com.", []),
        ("", ["Required value"]),
        ("com", ['Invalid value: "com": should be a domain with at least two segments separated by dots']),
    ],
)
def test_a_domain_name_has_two_segments(name: str, errors: list[str]) -> None:
    assert words(validate_domain_name(name, "name")) == errors


@pytest.mark.parametrize("value", ["", "example.com", "/path", "example.com/", "Example.com/x"])
def test_a_prefixed_path_has_a_domain_and_a_path(value: str) -> None:
    assert len(validate_domain_prefixed_path(value, "path")) == 1
    assert validate_domain_prefixed_path("example.com/a/b:c", "path") == []

from __future__ import annotations

import pytest

from watchkeeper.apis.validation import names

SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


@pytest.mark.parametrize("name", ["a", "a-b.c", "0.1", "a" * 63 + "." + "b" * 63])
def test_subdomains_are_labels_joined_by_dots(name: str) -> None:
    assert not names.is_dns1123_subdomain(name)


@pytest.mark.parametrize("name", ["A", "a_b", "-a", "a..b", "", "a."])
def test_other_names_are_no_subdomains(name: str) -> None:
    assert list(names.is_dns1123_subdomain(name)) == [SUBDOMAIN]


def test_a_long_subdomain_is_told_its_limit_first() -> None:
    assert list(names.is_dns1123_subdomain("a" * 254)) == ["must be no more than 253 characters"]
    assert list(names.is_dns1123_subdomain("A" * 254)) == ["must be no more than 253 characters", SUBDOMAIN]


def test_labels_have_no_dots_and_up_to_63_characters() -> None:
    assert list(names.is_dns1123_label("a.b")) == ["must not contain dots"]
    assert list(names.is_dns1123_label("a_b")) == [LABEL]
    assert list(names.is_dns1123_label("a" * 64)) == ["must be no more than 63 characters"]


@pytest.mark.parametrize("key", ["a", "example.com/a_B.c", "A1"])
def test_label_keys_may_have_a_domain(key: str) -> None:
    assert not names.is_qualified_name(key)


@pytest.mark.parametrize(
    ("key", "part"),
    [("/a", "prefix part"), ("example.com/", "name part"), ("a/b/c", "a valid label key"), ("-a", "name part")],
)
def test_wrong_label_keys_are_told_what_part_is_wrong(key: str, part: str) -> None:
    texts = names.is_qualified_name(key)
    assert texts
    assert any(text.startswith(part) for text in texts)


@pytest.mark.parametrize(
    ("value", "valid"), [("", True), ("a", True), ("a_b.c-d", True), ("a b", False), ("a" * 64, False), ("-a", False)]
)
def test_label_values(value: str, valid: bool) -> None:
    assert (not names.is_label_value(value)) == valid


def test_a_prefix_for_generated_names_may_end_in_a_dash() -> None:
    assert names.name_is_dns_subdomain("job-", True) == []
    assert names.name_is_dns_subdomain("job-", False) == [SUBDOMAIN]


def test_path_segments_exclude_what_paths_are_made_of() -> None:
    assert names.is_path_segment_name("..") == ["may not be '..'"]
    assert names.is_path_segment_name("a/b%c") == ["may not contain '/'", "may not contain '%'"]
    assert names.is_path_segment_name("Any:Thing") == []
    assert names.is_path_segment_name("..", True) == []
    assert names.name_of_rbac("..", True) == ["may not be '..'"]


def test_prefixes_of_long_names_only_have_to_fit_into_paths() -> None:
    assert names.name_is_long_name("A b", True) == []
    assert names.name_is_long_name("a/", True) == ["may not contain '/'"]


def test_port_names_need_a_letter_and_single_hyphens() -> None:
    assert not names.is_port_name("http-8080")
    assert names.is_port_name("8080") == ("must contain at least one letter (a-z)",)
    assert names.is_port_name("a--b") == ("must not contain consecutive hyphens",)
    assert names.is_port_name("a" * 16) == ("must be no more than 15 characters",)

"""The selectors of access reviews: raw or parsed, and complete."""

from typing import Any

import pytest

from watchkeeper.authz.review_selectors import ignored_selectors, validate_selectors


def errors_of(**asked: Any) -> list[str]:
    return [f"{error.field}: {error.body()}" for error in validate_selectors(asked, "spec.resourceAttributes")]


@pytest.mark.parametrize(
    ("selector", "errors"),
    [
        ({"rawSelector": "a=b"}, []),
        ({"requirements": [{"key": "a", "operator": "In", "values": ["b"]}]}, []),
        ({"requirements": [{"key": "a", "operator": "Fuzzy"}]}, []),
        (
            {},
            [
                "requirements: Required value: "
                "when spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required"
            ],
        ),
        (
            {"rawSelector": "a=b", "requirements": [{"operator": "In"}]},
            [
                'rawSelector: Invalid value: "a=b": may not specified at the same time as requirements',
                "requirements[0].key: Required value: must be specified",
                "requirements[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
            ],
        ),
        (
            {"requirements": [{"key": "a", "operator": "Exists", "values": ["b"]}]},
            ["requirements[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"],
        ),
    ],
)
def test_a_field_selector_is_raw_or_parsed(selector: Any, errors: list[str]) -> None:
    path = "spec.resourceAttributes.fieldSelector"
    assert errors_of(fieldSelector=selector) == [f"{path}.{error}" for error in errors]


def test_a_label_selector_follows_the_rules_of_labels() -> None:
    (error,) = errors_of(labelSelector={"requirements": [{"key": "a b", "operator": "Exists"}]})
    assert error.startswith('spec.resourceAttributes.labelSelector.requirements[0].key: Invalid value: "a b"')


def test_a_question_without_selectors_is_fine() -> None:
    assert errors_of(verb="list") == []


@pytest.mark.parametrize(
    ("selector", "fields", "labels"),
    [
        ({"rawSelector": "a=b"}, "", ""),
        ({"rawSelector": "a in (b"}, "ignored", "ignored"),
        ({"rawSelector": "a in (b)"}, "ignored", ""),
        ({"requirements": [{"key": "a", "operator": "NotIn", "values": ["b"]}]}, "", ""),
        ({"requirements": [{"key": "a", "operator": "NotIn", "values": ["b", "c"]}]}, "ignored", ""),
        ({"requirements": [{"key": "a", "operator": "Exists"}]}, "ignored", ""),
        ({"requirements": [{"key": "a", "operator": "Fuzzy"}]}, "ignored", "ignored"),
        (
            {"requirements": [{"key": "a", "operator": "In", "values": ["b"]}, {"key": "a", "operator": "Fuzzy"}]},
            "partially ignored",
            "partially ignored",
        ),
    ],
)
def test_what_no_authorizer_is_asked_of_is_told(selector: Any, fields: str, labels: str) -> None:
    path = "spec.resourceAttributes"
    told = ignored_selectors({"fieldSelector": selector, "labelSelector": selector}, path)
    each = (("fieldSelector", fields), ("labelSelector", labels))
    assert told == [f"{path}.{name} {extent} due to parse error" for name, extent in each if extent]

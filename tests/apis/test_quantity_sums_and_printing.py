from __future__ import annotations

from typing import Any

import pytest

from watchkeeper.apis import printing, quantities


@pytest.mark.parametrize(
    ("first", "second", "total"),
    [("1", "500m", "1500m"), ("1Gi", "1Gi", "2Gi"), ("100m", "900m", "1"), ("1k", "1", "1001")],
)
def test_sums_keep_the_form_of_the_first(first: str, second: str, total: str) -> None:
    assert quantities.add(first, second) == total


def test_quantities_compare_by_amount() -> None:
    assert quantities.compare("1Gi", "1024Mi") == 0
    assert quantities.compare("1", "999m") > 0
    assert quantities.whole_value("1500m") == 2


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (-5, "<invalid>"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (599, "9m59s"),
        (600, "10m"),
        (3 * 3600 + 5 * 60, "3h5m"),
        (8 * 3600 + 60, "8h"),
        (48 * 3600, "2d"),
        (49 * 3600, "2d1h"),
        (8 * 86400, "8d"),
        (365 * 86400 * 2, "2y"),
        (365 * 86400 * 2 + 5 * 86400, "2y5d"),
        (365 * 86400 * 9, "9y"),
    ],
)
def test_durations_are_short(seconds: float, text: str) -> None:
    assert printing.human_duration(seconds) == text


def test_selectors_are_written_as_queries() -> None:
    selector = {
        "matchLabels": {"b": "1", "a": "2"},
        "matchExpressions": [
            {"key": "c", "operator": "In", "values": ["y", "x"]},
            {"key": "d", "operator": "DoesNotExist"},
        ],
    }
    assert printing.selector_text(selector) == "a=2,b=1,c in (x,y),!d"
    assert printing.format_label_selector({}) == "<none>"
    with pytest.raises(ValueError, match="not a valid label selector operator"):
        printing.selector_text({"matchExpressions": [{"key": "a", "operator": "Like"}]})


@pytest.mark.parametrize(
    ("selector", "fault"),
    [
        ({"matchLabels": {"a": "/b"}}, r'^values\[0\]\[a\]: Invalid value: "/b": a valid label must be'),
        ({"matchLabels": {"x/y/z": "b"}}, r'^key: Invalid value: "x/y/z"'),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["b", "/"]}]}, r"^values\[1\]\[a\]: "),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn"}]}, "values set can't be empty"),
        ({"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}, "values set must be empty"),
    ],
)
def test_a_selector_that_no_labels_could_match_has_no_text(selector: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        printing.selector_text(selector)
    assert printing.format_label_selector(selector) == "<error>"


def test_what_was_never_made_has_no_age() -> None:
    assert printing.age({"metadata": {}}, 0.0) == "<unknown>"
    assert printing.age({"metadata": {"creationTimestamp": "1970-01-01T00:00:00Z"}}, 90.0) == "90s"


def test_labels_are_in_the_order_of_their_texts() -> None:
    labels = {"istio": "ingress", "istio.io/rev": "canary", "app": "a"}
    assert printing.format_labels(labels) == "app=a,istio.io/rev=canary,istio=ingress"
    assert printing.format_labels({}) == printing.format_labels(None) == "<none>"

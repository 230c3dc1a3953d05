"""Labels of which only some values are told, and metrics that are not told of."""

from __future__ import annotations

from pathlib import Path

import pytest

from watchkeeper.aio.histogram import Histogram
from watchkeeper.endpoints.metrics import Family, Sample, histogram_samples
from watchkeeper.server.errors import StartupError
from watchkeeper.server.metrics.shaping import shaping
from watchkeeper.server.metrics.text import render


def told(*families: Family, allowed: tuple[str, ...] = (), disabled: tuple[str, ...] = ()) -> list[str]:
    text = render(shaping(allowed, None, disabled).shaped(families)).decode()
    return [line for line in text.splitlines() if not line.startswith("#")]


def labeled(*values: str) -> list[Sample]:
    return [Sample(index + 1, (("a", value), ("b", "x"))) for index, value in enumerate(values)]


def test_other_values_are_added_up_as_unexpected() -> None:
    counts = Family("c_total", "counter", "", labeled("one", "two", "three"))
    assert told(counts, allowed=('"c_total,a=one"',)) == [
        'c_total{a="one",b="x"} 1',
        'c_total{a="unexpected",b="x"} 5',
        "cardinality_enforcement_unexpected_categorizations_total 5",
    ]
    assert told(counts) == ['c_total{a="one",b="x"} 1', 'c_total{a="two",b="x"} 2', 'c_total{a="three",b="x"} 3']


def test_several_labels_stand_in_a_line_of_csv() -> None:
    counts = Family("c_total", "counter", "", labeled("one", "two"))
    assert told(counts, allowed=('"c_total,a=one,two","c_total,b=y"',)) == [
        'c_total{a="one",b="unexpected"} 1',
        'c_total{a="two",b="unexpected"} 2',
        "cardinality_enforcement_unexpected_categorizations_total 3",
    ]


def test_of_gauges_the_last_counts_and_histograms_are_added_up() -> None:
    gauge = Family("g", "gauge", "", labeled("one", "two"))
    assert told(gauge, allowed=('"g,a=x"',))[1] == 'g{a="unexpected",b="x"} 2'
    histogram = Histogram((1.0,))
    histogram.observe(0.5)
    samples = [*histogram_samples(histogram, (("a", "one"),)), *histogram_samples(histogram, (("a", "two"),))]
    assert told(Family("h", "histogram", "", samples), allowed=('"h,a=x"',)) == [
        "cardinality_enforcement_unexpected_categorizations_total 2",
        'h_bucket{a="unexpected",le="1"} 2',
        'h_bucket{a="unexpected",le="+Inf"} 2',
        'h_sum{a="unexpected"} 1',
        'h_count{a="unexpected"} 2',
    ]


def test_metrics_can_be_left_out() -> None:
    assert told(Family("x", "gauge", "", [Sample(1)]), Family("y", "gauge", "", [Sample(1)]), disabled=("x",)) == [
        "y 1"
    ]


def test_a_file_may_say_so_too(tmp_path: Path) -> None:
    file = tmp_path / "allowed.yaml"
    file.write_text('"c_total,a": "one,two"\n"c_total,b": ""\n')
    shaped = shaping((), file, ()).shaped([Family("c_total", "counter", "", labeled("one", "three"))])
    assert [sample.labels for sample in shaped[0].samples] == [
        (("a", "one"), ("b", "unexpected")),
        (("a", "unexpected"), ("b", "unexpected")),
    ]


@pytest.mark.parametrize(
    ("allowed", "text", "disabled", "why"),
    [
        (("x",), None, (), "--allow-metric-labels: x must be formatted as key=value"),
        (("x=y",), None, (), "--allow-metric-labels: 'x' must have the format metricName,labelName"),
        ((), "a: 5", (), "maps no texts to texts"),
        ((), "a: [", (), "failed to parse allow list manifest: yaml: "),
        ((), "1x,y: z", (), "'1x,y' must have the format metricName,labelName"),
        ((), None, ("a-b",), "--disabled-metrics: must be fully qualified metric names"),
    ],
)
def test_what_says_nothing_keeps_a_server_from_starting(
    tmp_path: Path, allowed: tuple[str, ...], text: str | None, disabled: tuple[str, ...], why: str
) -> None:
    file = None
    if text is not None:
        file = tmp_path / "allowed.yaml"
        file.write_text(text)
    with pytest.raises(StartupError) as refused:
        shaping(allowed, file, disabled)
    assert why in str(refused.value)

"""Metrics as Prometheus reads them."""

import math

from watchkeeper.aio.histogram import Histogram
from watchkeeper.endpoints.metrics import Family, Sample, counter, gauge, histogram_samples
from watchkeeper.server.metrics import process
from watchkeeper.server.metrics.text import render


def test_families_are_sorted_and_those_of_one_name_put_together():
    text = render(
        [
            counter("b_total", "Things.", {(("kind", "x"),): 1}),
            gauge("a", "Level.", {(): 0.5}),
            counter("b_total", "Things.", {(("kind", "y"),): 2}),
        ]
    ).decode()
    assert text.splitlines() == [
        "# HELP a Level.",
        "# TYPE a gauge",
        "a 0.5",
        "# HELP b_total Things.",
        "# TYPE b_total counter",
        'b_total{kind="x"} 1',
        'b_total{kind="y"} 2',
    ]


def test_labels_and_numbers_are_written_so_that_they_can_be_read_back():
    values = [(1e6, "1000000"), (math.inf, "+Inf"), (-math.inf, "-Inf"), (math.nan, "NaN"), (0.1, "0.1")]
    for value, written in values:
        sample = Sample(value, (("l", 'a"\\\nb'),))
        assert f'x{{l="a\\"\\\\\\nb"}} {written}' in render([Family("x", "gauge", "", [sample])]).decode()


def test_a_histogram_is_cumulative():
    histogram = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 9.0):
        histogram.observe(value)
    samples = [(s.suffix, dict(s.labels).get("le"), s.value) for s in histogram_samples(histogram)]
    assert samples == [
        ("_bucket", "1", 2),
        ("_bucket", "2", 3),
        ("_bucket", "+Inf", 4),
        ("_sum", None, 12.0),
        ("_count", None, 4),
    ]


def test_the_process_tells_of_itself():
    names = {family.name for family in process.collect()}
    assert {"process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds"} <= names

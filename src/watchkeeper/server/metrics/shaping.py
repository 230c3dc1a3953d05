"""Which metrics are told of, and which values of their labels: what there would be too much of."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from watchkeeper.endpoints.metrics import Family, Labels, Sample
from watchkeeper.runtime.yaml import YamlError
from watchkeeper.runtime.yaml_reader import read_yaml
from watchkeeper.server.errors import StartupError

UNEXPECTED = "unexpected"
_NAME = re.compile("[a-zA-Z_:][a-zA-Z0-9_:]*")
_KEY = re.compile(f"{_NAME.pattern},[a-zA-Z_][a-zA-Z0-9_]*")
_COUNTED = "cardinality_enforcement_unexpected_categorizations_total"

Allowed = Mapping[str, Mapping[str, frozenset[str]]]
"""By metric and label, the values that are told as they are."""


class Shaping:
    """What is done to families before they are told."""

    def __init__(self, allowed: Allowed, disabled: Iterable[str] = ()) -> None:
        self._allowed = allowed
        self._disabled = frozenset(disabled)

    def __repr__(self) -> str:
        return f"<Shaping: labels of {', '.join(self._allowed) or 'nothing'}, without {len(self._disabled)} metrics>"

    def shaped(self, families: Iterable[Family]) -> list[Family]:
        """Families without those that are disabled, and with one value for all that is not expected of a label."""
        unexpected = 0.0
        found = []
        for family in families:
            if family.name in self._disabled:
                continue
            labels = self._allowed.get(family.name)
            if labels is not None:
                limited, counted = _limited(family, labels)
                unexpected += counted
                found.append(limited)
            else:
                found.append(family)
        if self._allowed and _COUNTED not in self._disabled:
            found.append(Family(_COUNTED, "counter", "How often labels had unexpected values.", [Sample(unexpected)]))
        return found


def _limited(family: Family, labels: Mapping[str, frozenset[str]]) -> tuple[Family, float]:
    """Series that become the same are added up, but for gauges, of which the last counts."""
    sums: dict[tuple[str, Labels], float] = {}
    unexpected = 0.0
    for sample in family.samples:
        shown = tuple(
            (name, value if name not in labels or value in labels[name] else UNEXPECTED)
            for name, value in sample.labels
        )
        if shown != tuple(sample.labels) and sample.suffix in ("", "_count"):
            unexpected += 1 if family.kind == "gauge" else sample.value
        key = sample.suffix, shown
        sums[key] = sample.value + (sums.get(key, 0) if family.kind != "gauge" else 0)
    samples = [Sample(value, shown, suffix) for (suffix, shown), value in sums.items()]
    return Family(family.name, family.kind, family.help, samples), unexpected


def shaping(allowed: Iterable[str], manifest: Path | None, disabled: Iterable[str]) -> Shaping:
    """What `--allow-metric-labels`, or else the file of its manifest, and `--disabled-metrics` say.

    Raises StartupError.
    """
    names = tuple(disabled)
    for name in names:
        if not _NAME.fullmatch(name):
            why = f'must be fully qualified metric names matching "^{_NAME.pattern}$", got "{name}"'
            raise StartupError(f"--disabled-metrics: {why}")
    texts = tuple(allowed)
    given = _pairs(texts) if texts else _manifest(manifest) if manifest is not None else {}
    where = "--allow-metric-labels" if texts else "--allow-metric-labels-manifest"
    found: dict[str, dict[str, frozenset[str]]] = {}
    for key, values in given.items():
        if not _KEY.fullmatch(key):
            raise StartupError(f"{where}: {key!r} must have the format metricName,labelName")
        metric, label = key.split(",")
        found.setdefault(metric, {})[label] = frozenset(values.split(","))
    return Shaping(found, names)


def _pairs(texts: Iterable[str]) -> dict[str, str]:
    found = {}
    for text in texts:
        pairs = [text.strip('"')] if text.count("=") == 1 else next(csv.reader([text]), [])
        for pair in pairs:
            key, equals, values = pair.partition("=")
            if not equals:
                raise StartupError(f"--allow-metric-labels: {pair} must be formatted as key=value")
            found[key] = values
    return found


def _manifest(path: Path) -> dict[str, str]:
    where = f"--allow-metric-labels-manifest {path}"
    try:
        found = read_yaml(path.read_bytes())
    except OSError as error:
        raise StartupError(f"{where}: failed to read allow list manifest: {error}") from error
    except YamlError as error:
        raise StartupError(f"{where}: failed to parse allow list manifest: {error}") from error
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
        raise StartupError(f"{where}: failed to parse allow list manifest: it maps no texts to texts")
    return found

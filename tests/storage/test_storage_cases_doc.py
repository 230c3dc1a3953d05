"""The table of cases names only cases and files that exist."""

from __future__ import annotations

import re
from pathlib import Path

from watchkeeper.testing import storage_suite, watch_suite
from watchkeeper.testing.storage_suite import case_name

ROOT = Path(__file__).resolve().parents[2]


def test_every_case_and_file_in_the_table_exists() -> None:
    text = (ROOT / "docs" / "storage-cases.md").read_text()
    tables = text[text.index("## Store tests") :]
    known = {case_name(case) for case in storage_suite.CASES + watch_suite.CASES}
    for name in re.findall(r"`([^`]+)`", tables):
        assert name in known or (ROOT / name).exists(), name
    assert len(known) >= 160
    assert len(known) == len(storage_suite.CASES + watch_suite.CASES)

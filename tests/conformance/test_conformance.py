"""No scenario that has ever passed fails again."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"


@pytest.mark.timeout(540)
def test_every_listed_conformance_scenario_passes():
    if not (SHARED / "conformance").is_dir():
        pytest.skip(f"no conformance scenarios in {SHARED}")
    command = [sys.executable, str(ROOT / "tools" / "conformance.py"), "check", "--shared", str(SHARED)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]

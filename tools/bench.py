"""Run the load test against a fresh server and compare with the recorded figures of the reference.

    python tools/bench.py [--only WORKLOAD]… [--seconds 5] [--storage URL]

The load test lives beside the repository (--shared) and needs `wrk`. Without either, it says so and does nothing.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from fresh_server import fresh_server

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "bench-out"


def main() -> int:
    """Run. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    parser.add_argument("--storage", default="", help="the server's storage (default: a SQLite file)")
    args, passed_on = parser.parse_known_args()
    script = args.shared / "bench" / "loadtest.py"
    if not script.exists():
        print(f"SKIPPED: there is no {script.resolve()}")
        return 0
    if shutil.which("wrk") is None:
        print("SKIPPED: the load test needs wrk (Debian: apt-get install wrk)")
        return 0
    with fresh_server(args.storage) as server:
        command = [sys.executable, str(script), "--server", server.url, "--token", server.token]
        command += ["--pid", str(server.pid), *passed_on]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        ready = server.seconds_to_ready
    if done.returncode:
        return done.returncode
    found = json.loads(done.stdout)
    OUT.mkdir(exist_ok=True)
    target = OUT / time.strftime("%Y%m%d-%H%M%S.json")
    target.write_text(json.dumps(found, indent=1) + "\n")
    reference = json.loads((args.shared / "bench" / "reference.json").read_text())
    print(f"ready after {ready:.2f} s; all figures in {target.relative_to(ROOT)}\n")
    compare(found, reference)
    return 0


def compare(found: dict[str, Any], reference: dict[str, Any]) -> None:
    """Print the CPU time per operation beside the reference's, scaled by how fast the two machines are."""
    scale = found.get("calibration_cpu_ms", 1) / reference.get("calibration_cpu_ms", 1)
    print(f"{'workload':32} {'CPU ms/op':>12} {'reference':>12} {'times less':>12}   (machine factor {scale:.2f})")
    for name, mine in _workloads(found).items():
        theirs = _workloads(reference).get(name)
        line = f"{name:32} {mine:12.4f}"
        if theirs:
            line += f" {theirs * scale:12.4f} {theirs * scale / mine if mine else 0:12.1f}"
        print(line)


def _workloads(figures: dict[str, Any]) -> dict[str, float]:
    flat: dict[str, float] = {}
    for name, value in figures.items():
        if isinstance(value, dict) and "cpu_ms_per_op" in value:
            flat[name] = float(value["cpu_ms_per_op"])
    return flat


if __name__ == "__main__":
    sys.exit(main())

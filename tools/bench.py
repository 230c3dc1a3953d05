"""Run the load test against a fresh server and compare with the recorded figures of the reference.

    python tools/bench.py [--only WORKLOAD]… [--seconds 5] [--storage URL]
    python tools/bench.py --rounds 5 [--objects 3000] [--seconds 4]

The load test lives beside the repository (--shared) and needs `wrk`. Without either, it says so and does nothing.

With --rounds each workload runs by itself so many times, with a calibration right before and after it; only rounds in
which the machine kept its speed count, and of them the median: virtual machines change their speed within seconds.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
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
    parser.add_argument("--rounds", type=int, default=0, help="run each workload by itself so many times")
    parser.add_argument("--objects", default="3000")
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
        command += ["--pid", str(server.pid), "--objects", args.objects, *passed_on]
        if args.rounds:
            reference = json.loads((args.shared / "bench" / "reference.json").read_text())
            return compare_rounds(command, args.rounds, reference)
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
    """Print the CPU time per operation beside the reference's, scaled by how fast the two machines are.

    Lists and watch-lists are shown for as much as the reference had: a faster server has created more by then.
    """
    scale = found.get("calibration_cpu_ms", 1) / reference.get("calibration_cpu_ms", 1)
    print(f"{'workload':32} {'CPU ms/op':>12} {'reference':>12} {'times less':>12}   (machine factor {scale:.2f})")
    for name, mine in _workloads(found).items():
        theirs = _workloads(reference).get(name)
        mine *= _share(name, found, reference)
        line = f"{name:32} {mine:12.4f}"
        if theirs:
            line += f" {theirs * scale:12.4f} {theirs * scale / mine if mine else 0:12.1f}"
        print(line)


ROWS = (
    *("create", "get", "patch", "lease-patch", "list-all-cached", "list-all-consistent", "list-label-1pct"),
    *("list-node", "pages-500", "watch-list", "watch-fanout", "watch-per-node"),
)


_STEADY = 1.12
"""By how much the speed before and after a round may differ for the round to count."""


def compare_rounds(command: list[str], rounds: int, reference: dict[str, Any]) -> int:
    """Fill the server, run each workload by itself, and print medians at the speed of the reference's machine."""
    subprocess.run([*command, "--only", "fill"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    theirs = _workloads(reference)
    print(f"{'workload':20} {'CPU ms/op, scaled':>18} {'from':>9} {'to':>9} {'reference':>10}   MB, events or ops")
    for name in ROWS:
        scaled: list[float] = []
        size = ""
        for attempt in range(rounds * 3):
            found = _run(command, name)
            before, after = found["calibration_cpu_ms"], _run(command, "nothing")["calibration_cpu_ms"]
            steady = max(before, after) < min(before, after) * _STEADY
            if steady or (not scaled and attempt == rounds * 3 - 1):
                mine = found[name]["cpu_ms_per_op"] * _share(name, found, reference)
                scaled.append(mine * reference["calibration_cpu_ms"] * 2 / (before + after))
            size = next(
                (f"{found[name][key]} {key}" for key in ("mb", "events", "ops", "items") if key in found[name]), ""
            )
            if len(scaled) == rounds:
                break
        median = statistics.median(scaled)
        print(
            f"{name:20} {median:18.4f} {min(scaled):9.4f} {max(scaled):9.4f} {theirs.get(name, 0):10.4f}   {size}",
            flush=True,
        )
    return 0


def _share(name: str, found: dict[str, Any], reference: dict[str, Any]) -> float:
    """How much of what was listed here the reference had."""
    for key in ("mb", "events"):
        if name in reference and key in found[name] and key in reference[name]:
            return float(reference[name][key] / found[name][key])
    return 1.0


def _run(command: list[str], workload: str) -> dict[str, Any]:
    done = subprocess.run([*command, "--only", workload], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _workloads(figures: dict[str, Any]) -> dict[str, float]:
    flat: dict[str, float] = {}
    for name, value in figures.items():
        if isinstance(value, dict) and "cpu_ms_per_op" in value:
            flat[name] = float(value["cpu_ms_per_op"])
    return flat


if __name__ == "__main__":
    sys.exit(main())

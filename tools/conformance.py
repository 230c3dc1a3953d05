"""Replay the conformance scenarios against a fresh server, and hold them to the list of those that pass.

    python tools/conformance.py check [--only AREA/]…      a listed scenario that fails is a failure
    python tools/conformance.py update                     write the list anew; it only grows unless --force

The scenarios live beside the repository (--shared). Where they are not, both say so and do nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from fresh_server import fresh_server

ROOT = Path(__file__).resolve().parent.parent
PASSING = ROOT / "tests" / "conformance" / "passing.txt"

SECOND_CHANCES = 12
"""More failures than this are no matter of timing."""

Differences = dict[str, list[str]]


def main() -> int:
    """Run. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["check", "update"])
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    parser.add_argument("--only", action="append", default=[], help="scenario id or prefix; repeatable")
    parser.add_argument("--storage", default="memory:", help="the server's storage (default: memory:)")
    parser.add_argument("--force", action="store_true", help="let the list shrink")
    parser.add_argument("--verbose", action="store_true", help="print every difference")
    parser.add_argument("--jobs", type=int, default=4)
    args = parser.parse_args()
    if not (args.shared / "conformance").is_dir():
        print(f"SKIPPED: no scenarios in {args.shared.resolve()}/conformance, nothing was compared")
        return 0
    outcome = replay(args.shared, args.storage, args.only, args.jobs)
    report(outcome, verbose=args.verbose)
    if args.action == "update":
        return update(outcome, partial=bool(args.only), force=args.force)
    return check(outcome, args.only)


def replay(shared: Path, storage: str, only: Sequence[str], jobs: int) -> Differences:
    """What each scenario found otherwise than recorded. A listed one that fails is given a second chance by itself."""
    options = ["--min-request-timeout", "1800"]
    with fresh_server(storage, options) as server:
        outcome = _run(shared, server.url, server.token, only, jobs)
        failed = sorted(name for name in listed() if outcome.get(name))
        if failed and len(failed) <= SECOND_CHANCES:
            again = _run(shared, server.url, server.token, failed, 1)
            for name in failed:
                if name in again and not again[name]:
                    print(f"passed only at the second attempt: {name}")
                    outcome[name] = []
    return outcome


def _run(shared: Path, url: str, token: str, only: Sequence[str], jobs: int) -> Differences:
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "out.json"
        command = [sys.executable, "-m", "conformance", "run", "--server", url, "--token", token]
        command += ["--json", str(out), "--jobs", str(jobs)]
        for prefix in only:
            command += ["--only", prefix]
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, cwd=shared, env=environment, capture_output=True, text=True, check=False)
        if not out.exists():
            raise RuntimeError(f"the scenarios could not be replayed:\n{done.stdout}{done.stderr}")
        found: Differences = json.loads(out.read_text())
        return found


def listed() -> set[str]:
    """The scenarios that have to pass."""
    if not PASSING.exists():
        return set()
    return {line for line in PASSING.read_text().splitlines() if line and not line.startswith("#")}


def report(outcome: Differences, *, verbose: bool) -> None:
    """Print what fails and how much passes per area."""
    for name, found in sorted(outcome.items()):
        if found:
            print(f"FAIL {name}")
            shown = found if verbose else found[:3]
            print("".join(f"     {line}\n" for line in shown), end="")
    total, good = Counter[str](), Counter[str]()
    for name, found in outcome.items():
        area = name.split("/")[0]
        total[area] += 1
        good[area] += not found
    print()
    for area in sorted(total):
        print(f"{area:28} {good[area]:4} of {total[area]:4}")
    print(f"{sum(good.values())} passed, {sum(total.values()) - sum(good.values())} failed")


def check(outcome: Differences, only: Sequence[str]) -> int:
    """Compare with the list."""
    wanted = {name for name in listed() if not only or name.startswith(tuple(only))}
    lost = sorted(name for name in wanted if outcome.get(name, ["it is gone"]))
    gained = sorted(name for name, found in outcome.items() if not found and name not in wanted)
    for name in lost:
        print(f"LOST {name}: it is listed in {PASSING.relative_to(ROOT)} and does not pass")
    if gained:
        print(f"{len(gained)} pass that are not listed yet; `make conformance-update` lists them")
    return 1 if lost else 0


def update(outcome: Differences, *, partial: bool, force: bool) -> int:
    """Write the list."""
    before = listed()
    now = {name for name, found in outcome.items() if not found}
    lost = sorted(name for name in before - now if not partial or name in outcome)
    if lost and not force:
        for name in lost:
            print(f"LOST {name}")
        print("these passed before: mend them, or say --force")
        return 1
    kept = now | (before - set(lost)) if partial or not force else now
    PASSING.parent.mkdir(parents=True, exist_ok=True)
    lines = ["# Scenarios that pass and have to go on passing; written by `make conformance-update`.", *sorted(kept)]
    PASSING.write_text("\n".join(lines) + "\n")
    print(f"{len(kept)} listed ({len(kept - before)} more, {len(before - kept)} fewer)")
    return 0


if __name__ == "__main__":
    sys.exit(main())

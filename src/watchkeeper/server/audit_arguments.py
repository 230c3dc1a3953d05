"""The options of the audit log."""

from __future__ import annotations

from pathlib import Path

from watchkeeper.server.durations import seconds
from watchkeeper.server.option_parsing import Arguments


def add_audit(a: Arguments) -> None:
    """The audit log."""
    a.add("--audit-policy-file", "an audit.k8s.io/v1 Policy: which requests are told of", kind=Path, metavar="FILE")
    a.add("--audit-log-path", "where they are told of, - for standard output", default="", metavar="FILE")
    a.add("--audit-log-mode", "batch to write when there is time, blocking to do so before the answer, blocking-strict"
          " to refuse what cannot be told of", default="blocking", metavar="MODE")  # fmt: skip
    a.add("--audit-log-format", "json, or legacy for lines of text that tell less", default="json", metavar="FORMAT")
    a.add_switch("--audit-log-compress", "compress older files", default=False)
    a.add("--audit-log-maxsize", "megabytes after which a new file is begun, 0 for never", default=100, kind=int,
          metavar="MB")  # fmt: skip
    a.add("--audit-log-maxbackup", "how many older files are kept, 0 for all", default=100, kind=int, metavar="N")
    a.add("--audit-log-maxage", "how many days older files are kept, 0 for ever", default=366, kind=int, metavar="DAYS")
    a.add("--audit-webhook-config-file", "a kubeconfig that says where they are sent", kind=Path, metavar="FILE")
    a.add("--audit-webhook-mode", "the same as --audit-log-mode", default="batch", metavar="MODE")
    a.add("--audit-webhook-initial-backoff", "after how long what could not be sent is sent again", default=10.0,
          kind=seconds, metavar="S", alias="--audit-webhook-batch-initial-backoff")  # fmt: skip
    _add_batches(a)
    _add_truncation(a)


def _add_batches(a: Arguments) -> None:
    for plugin, size, wait, throttle, qps, burst in (
        ("log", 1, 0.0, False, 0.0, 0),
        ("webhook", 400, 30.0, True, 10.0, 15),
    ):
        flag = f"--audit-{plugin}-batch"
        done = "written" if plugin == "log" else "sent"
        a.add(f"{flag}-buffer-size", "how many may wait in mode batch", default=10_000, kind=int, metavar="N")
        a.add(f"{flag}-max-size", f"how many are {done} at a time", default=size, kind=int, metavar="N")
        a.add(f"{flag}-max-wait", "how long they wait for others", default=wait, kind=seconds, metavar="S")
        a.add_switch(f"{flag}-throttle-enable", f"so many batches are {done} a second only", default=throttle)
        a.add(f"{flag}-throttle-qps", "how many", default=qps, kind=float, metavar="N")
        a.add(f"{flag}-throttle-burst", "how many at once before that", default=burst, kind=int, metavar="N")


def _add_truncation(a: Arguments) -> None:
    for plugin in ("log", "webhook"):
        flag = f"--audit-{plugin}"
        a.add(f"{flag}-version", "version of the events", default="audit.k8s.io/v1", metavar="VERSION")
        a.add_switch(f"{flag}-truncate-enabled", "take the objects out of events that are too large", default=False)
        a.add(f"{flag}-truncate-max-event-size", "how many bytes an event may have then", default=100 * 1024, kind=int,
              metavar="BYTES")  # fmt: skip
        a.add(f"{flag}-truncate-max-batch-size", "how many bytes are written at a time then", kind=int,
              default=10 * 1024 * 1024, metavar="BYTES")  # fmt: skip

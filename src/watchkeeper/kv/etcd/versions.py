"""What can be trusted of which version of etcd."""

from __future__ import annotations

FIRST_TO_REFUSE_STATUS = "3.6.0"
"""Earlier versions tell their status, and so their version, to everybody."""


def parse_version(text: str) -> tuple[int, int, int]:
    """`3.5.16` and the like; whatever is not a number there counts as 0. Suffixes (`-rc.0`, `+git`) are ignored."""
    numbers = [0, 0, 0]
    for index, part in enumerate(text.split("-")[0].split("+")[0].split(".")[:3]):
        if part.isdigit():
            numbers[index] = int(part)
    return numbers[0], numbers[1], numbers[2]


def tells_progress_on_demand(version: str) -> bool:
    """Whether a watch that is asked for its progress gives a true answer.

    Before 3.4.31 and 3.5.13 the answer could overtake events that were still on their way.
    """
    parsed = parse_version(version)
    if parsed[:2] == (3, 4):
        return parsed >= (3, 4, 31)
    if parsed[:2] == (3, 5):
        return parsed >= (3, 5, 13)
    return parsed >= (3, 6, 0)


def keeps_what_it_acknowledges_alone(version: str) -> bool:
    """Whether a cluster of one member has on its disk what it has acknowledged, when it crashes right after that.

    Before 3.4.21 and 3.5.5 it might not (https://github.com/etcd-io/etcd/issues/14370); several members always did.
    """
    parsed = parse_version(version)
    if parsed[:2] == (3, 5):
        return parsed >= (3, 5, 5)
    return parsed >= (3, 4, 21)

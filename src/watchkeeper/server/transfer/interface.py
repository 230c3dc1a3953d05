"""Where exported objects come from."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Protocol

Object = dict[str, Any]


def tell(text: str) -> None:
    """Say something to the operator, on standard error: standard output may be what is exported."""
    sys.stderr.write(f"{text}\n")


def counted(number: int, what: str) -> str:
    """A number of things, such as `1 object` or `2 objects`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


class TransferError(Exception):
    """It cannot be done at all. The message is one line for the operator."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Objects that are there and cannot be had, and why."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Unserved:
    """Keys of something that is no resource of this server: a kind of old days, or one whose definition is gone."""

    place: str
    count: int


class Source(Protocol):
    """All objects of a cluster, or a namespace and those in it."""

    def objects(self, namespace: str) -> AsyncIterator[Object | Unreadable | Unserved]:
        """Objects with kind and apiVersion; "" for all of all namespaces and of the cluster.

        Raises TransferError when nothing can be had at all.
        """
        ...

"""Arithmetic on resource lists: quantities by resource (apiserver's quota package)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from watchkeeper.runtime.quantity import Quantity

Amounts = dict[str, Quantity]
ZERO = Quantity.parse("0")
ONE = Quantity.parse("1")


def read(resources: Mapping[str, str] | None) -> Amounts:
    """The amounts of a resource list as objects have it."""
    return {name: Quantity.parse(text) for name, text in (resources or {}).items()}


def write(amounts: Amounts) -> dict[str, str]:
    """A resource list as objects have it."""
    return {name: str(amount) for name, amount in amounts.items()}


def add(a: Amounts, b: Amounts) -> Amounts:
    """The sum."""
    found = dict(a)
    for name, amount in b.items():
        present = found.get(name)
        found[name] = amount if present is None else present + amount
    return found


def increase(new: Amounts, old: Amounts) -> Amounts:
    """How much more `new` is than `old`; zero for what is less."""
    found = dict.fromkeys(old, ZERO)
    for name, amount in new.items():
        previous = old.get(name)
        more = amount if previous is None else amount - previous
        found[name] = more if more.sign > 0 else ZERO
    return found


def masked(amounts: Amounts, names: Collection[str]) -> Amounts:
    """Only the named ones."""
    return {name: amount for name, amount in amounts.items() if name in names}


def without_zeros(amounts: Amounts) -> Amounts:
    """Only those that are something."""
    return {name: amount for name, amount in amounts.items() if amount}


def equal(a: Amounts, b: Amounts) -> bool:
    """Whether both are the same, however they are written."""
    return a == b


def exceeded(used: Amounts, hard: Amounts) -> list[str]:
    """The resources of which more is used than there may be."""
    return [name for name, limit in hard.items() if name in used and used[name] > limit]


def shown(amounts: Amounts) -> str:
    """As errors show them."""
    return ",".join(f"{name}={amounts[name]}" for name in sorted(amounts))


def names_shown(names: Iterable[str]) -> str:
    """Names of resources as errors show them."""
    return ",".join(sorted(names))

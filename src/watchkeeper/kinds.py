"""Declare kinds of your own in Python; `watchkeeper serve --app module:registry` serves them.

    from dataclasses import dataclass
    from watchkeeper.kinds import Column, Registry

    registry = Registry()

    @registry.kind("shop.example.com/v1", columns=[Column("Amount", ".spec.amount", "integer")])
    @dataclass
    class Order:
        item: str
        amount: int = 1

Classes may be dataclasses, msgspec.Structs or pydantic models; see `Registry.kind` for all that can be said.
"""

from watchkeeper.apiextensions.declared.hooks import Problem, Strategy
from watchkeeper.apiextensions.declared.registry import Column, DeclaredKind, Registry
from watchkeeper.meta.field import FieldError, forbidden, invalid, required

__all__ = [
    "Column",
    "DeclaredKind",
    "FieldError",
    "Problem",
    "Registry",
    "Strategy",
    "forbidden",
    "invalid",
    "required",
]

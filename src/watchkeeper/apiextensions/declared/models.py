"""What a class says of objects: its schema, and what is wrong with data for it.

One seam, three implementations: dataclasses, msgspec structs and pydantic models. The libraries are imported only for
classes that are theirs.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import sys
from typing import Any, Literal, Protocol, get_args, get_origin, get_type_hints

from watchkeeper.apiextensions.declared.json_schema import to_structural

Json = Any


class ModelError(ValueError):
    """Data that are not an instance of the class; `problems` are (path below the data, what is wrong)."""

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{path}: {text}" if path else text for path, text in problems))
        self.problems = problems


class Model(Protocol):
    """A class of data."""

    def schema(self) -> Json:
        """The structural schema of its data."""
        ...

    def load(self, data: Json) -> Any:
        """An instance made of data that the schema allows. Raises ModelError."""
        ...


def model_of(cls: type) -> Model:
    """The model that a class is. Raises TypeError for a class that is none."""
    if hasattr(cls, "model_json_schema"):
        return _PydanticModel(cls)
    if hasattr(cls, "__struct_fields__"):
        return _MsgspecModel(cls)
    if dataclasses.is_dataclass(cls):
        from watchkeeper.apiextensions.declared.dataclass_model import DataclassModel

        return DataclassModel(cls)
    raise TypeError(f"{cls.__name__} is no dataclass, msgspec.Struct or pydantic.BaseModel")


def described(cls: type) -> str:
    """What the docstring of a class says; the one that dataclasses write for themselves says nothing."""
    text = inspect.cleandoc(cls.__doc__ or "")
    return "" if text.startswith(f"{cls.__name__}(") else text


class _PydanticModel:
    def __init__(self, cls: Any) -> None:
        self._cls = cls

    def schema(self) -> Json:
        return to_structural(self._cls.model_json_schema(by_alias=True))

    def load(self, data: Json) -> Any:
        error = sys.modules["pydantic"].ValidationError
        try:
            return self._cls.model_validate(data)
        except error as problem:
            raise ModelError([(_path(e["loc"]), _pydantic_text(e)) for e in problem.errors()]) from problem


def _path(steps: tuple[Any, ...]) -> str:
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text


def _pydantic_text(problem: dict[str, Any]) -> str:
    text: str = problem["msg"]
    return text.removeprefix("Value error, ")


class _MsgspecModel:
    def __init__(self, cls: Any) -> None:
        self._cls = cls
        self._msgspec = sys.modules["msgspec"]

    def schema(self) -> Json:
        import msgspec.json

        schema = msgspec.json.schema(self._cls)
        _put_in_order(schema, _choices(self._cls))
        return to_structural(schema)

    def load(self, data: Json) -> Any:
        try:
            return self._msgspec.convert(data, self._cls)
        except self._msgspec.ValidationError as problem:
            text, _, where = str(problem).partition(" - at `")
            raise ModelError([(where.rstrip("`").removeprefix("$").removeprefix("."), text)]) from problem


def _choices(cls: Any) -> dict[frozenset[Any], list[Any]]:
    """The values of all Literals and enumerations that a class leads to, in their order; msgspec sorts them."""
    found: dict[frozenset[Any], list[Any]] = {}
    seen: set[Any] = set()
    waiting: list[Any] = [cls]
    while waiting:
        kind = waiting.pop()
        values: list[Any] = []
        if get_origin(kind) is Literal:
            values = list(get_args(kind))
        elif isinstance(kind, type) and kind not in seen:
            seen.add(kind)
            if issubclass(kind, enum.Enum):
                values = [member.value for member in kind]
            elif getattr(kind, "__annotations__", None):
                waiting += get_type_hints(kind).values()
        else:
            waiting += get_args(kind)
        if values:
            found.setdefault(frozenset(values), values)
    return found


def _put_in_order(schema: Any, choices: dict[frozenset[Any], list[Any]]) -> None:
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        _put_in_order(part, choices)
    listed = schema.get("enum") if isinstance(schema, dict) else None
    if isinstance(listed, list) and all(isinstance(value, str | int) for value in listed):
        schema["enum"] = choices.get(frozenset(listed), listed)

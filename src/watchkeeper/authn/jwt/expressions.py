"""Expressions over the claims of a token, and over the user that they make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from watchkeeper.cel import types
from watchkeeper.cel.ast import Call, Ident, Literal, Select, walk
from watchkeeper.cel.environment import Environment, FieldDef, StructDef, base_environment
from watchkeeper.cel.program import Program
from watchkeeper.cel.source import CompileError
from watchkeeper.cel.values import CostLimitExceeded, EvalError
from watchkeeper.request.user import User

CLAIMS, USER = "claims", "user"
_INDEXES = frozenset({"_[_]", "_[?_]", "_?._"})
_ESCAPES = (("__dot__", "."), ("__dash__", "-"), ("__slash__", "/"), ("__underscores__", "__"))


class ExpressionError(Exception):
    """An expression that does not compile, or gives what it must not. The message is the reference's."""


class Expression:
    """An expression, ready to be evaluated."""

    def __init__(self, source: str, variable: str, *, is_condition: bool) -> None:
        """Raises ExpressionError."""
        self.source = source
        self._variable = variable
        try:
            self._program: Program = _environment(variable).compile(source)
        except CompileError as problem:
            raise ExpressionError(f"compilation failed: {problem}") from problem
        if is_condition and not self._program.type.same(types.BOOL):
            raise ExpressionError("must evaluate to bool")
        _unescape(self._program)

    def __repr__(self) -> str:
        return f"<Expression {self.source!r}>"

    def evaluate(self, value: Any) -> Any:
        """What comes of it for these claims, or this user. Raises ExpressionError."""
        try:
            return self._program.evaluate({self._variable: value})[0]
        except (EvalError, CostLimitExceeded) as problem:
            raise ExpressionError(f"expression '{self.source}' resulted in error: {problem}") from problem

    def reads_claim(self, name: str) -> bool:
        """Whether the expression names a claim."""
        for node in walk(self._program.node):
            match node:
                case Select(operand=Ident(name="claims"), field=field) if field == name:
                    return True
                case Call(function="_?._", args=[Ident(name="claims"), Literal(value=field)]) if field == name:
                    return True
        return False


def user_value(user: User) -> dict[str, Any]:
    """A user as expressions see it."""
    extra = {key: list(values) for key, values in user.extra.items()}
    return {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}


def texts_of(value: Any) -> list[str]:
    """The texts that an expression gives, without empty ones. Raises ExpressionError."""
    if value is None:
        return []
    values: Iterable[Any] = [value] if isinstance(value, str) else value
    if not isinstance(values, list | tuple) or not all(isinstance(each, str) for each in values):
        raise ExpressionError("expression must return a string or a list of strings")
    return [each for each in values if each]


@cache
def _environment(variable: str) -> Environment:
    if variable == CLAIMS:
        return base_environment().extend({CLAIMS: types.map_of(types.STRING, types.ANY)})
    texts = types.list_of(types.STRING)
    fields: Mapping[str, types.Type] = {
        "username": types.STRING,
        "uid": types.STRING,
        "groups": texts,
        "extra": types.map_of(types.STRING, texts),
    }
    struct = StructDef("kubernetes.UserInfo", {name: FieldDef(name, t) for name, t in fields.items()})
    return base_environment().extend({USER: types.struct(struct.name)}, [struct])


def _unescape(program: Program) -> None:
    """Let `claims.foo__dot__bar` stand for the claim `foo.bar`."""
    for node in walk(program.node):
        match node:
            case Select():
                node.field = _unescaped(node.field)
            case Call() if node.function in _INDEXES and isinstance(node.operands[-1], Literal):
                key = node.operands[-1]
                if isinstance(key.value, str):
                    key.value = _unescaped(key.value)


def _unescaped(name: str) -> str:
    if "__" not in name:
        return name
    found, rest = "", name
    while rest:
        for escape, sign in _ESCAPES:
            if rest.startswith(escape):
                found, rest = found + sign, rest[len(escape) :]
                break
        else:
            if rest.startswith("__"):
                return name
            found, rest = found + rest[0], rest[1:]
    return found

"""Macros: calls that stand for loops, presence tests and optional bindings, expanded while parsing."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

from watchkeeper.cel.ast import ACCUMULATOR, Call, Comprehension, Expr, Ident, ListExpr, Literal, Macro, MapExpr, Select

Expander = Callable[[Call], Expr]
UNUSED = "#unused"


class MacroError(Exception):
    """A macro that is used wrongly, at a place in the source."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset


def expand(call: Call, *, binds: bool = False) -> Expr:
    """What a call stands for; the call itself when it is no macro. `binds`: cel.bind is one. Raises MacroError."""
    macro = _MACROS.get((call.function, len(call.args), call.target is not None))
    if macro is None:
        return _cel_bind(call) if binds else call
    return macro(call) or call


def _cel_bind(call: Call) -> Expr:
    target = call.target
    if call.function != "bind" or len(call.args) != 3 or not isinstance(target, Ident) or target.name != "cel":
        return call
    name, value, result = call.args
    if not isinstance(name, Ident):
        raise MacroError(name.offset, "cel.bind() variable names must be simple identifiers")
    return _bind(call, name.name, value, result)


def _has(call: Call) -> Expr:
    arg = call.args[0]
    if not isinstance(arg, Select) or arg.test_only:
        raise MacroError(arg.offset, "invalid argument to has() macro")
    return Select(arg.operand, arg.field, True, offset=call.offset)


def _variable(node: Expr) -> str:
    if not isinstance(node, Ident):
        raise MacroError(node.offset, "argument must be a simple name")
    if node.name in (ACCUMULATOR, "__result__"):
        raise MacroError(node.offset, "iteration variable overwrites accumulator variable")
    return node.name


def _two_variables(call: Call) -> tuple[str, str]:
    first, second = _variable(call.args[0]), _variable(call.args[1])
    if first == second:
        raise MacroError(call.args[1].offset, f"duplicate variable name: {first}")
    return first, second


class _Builder:
    """Builds the parts of a loop at one place."""

    def __init__(self, call: Call, var: str, var2: str = "") -> None:
        assert call.target is not None
        self.call, self.var, self.var2 = call, var, var2
        self.at = call.offset

    def accu(self) -> Expr:
        return Ident(ACCUMULATOR, offset=self.at)

    def op(self, function: str, *args: Expr) -> Expr:
        return Call(function, list(args), offset=self.at)

    def const(self, value: object) -> Expr:
        return Literal(value, offset=self.at)

    def loop(self, init: Expr, condition: Expr, step: Expr, result: Expr, macro: Macro) -> Expr:
        assert self.call.target is not None
        return Comprehension(
            self.call.target, self.var, self.var2, ACCUMULATOR, init, condition, step, result, macro, offset=self.at
        )

    def all(self, predicate: Expr) -> Expr:
        going_on = self.op("@not_strictly_false", self.accu())
        step = self.op("_&&_", self.accu(), predicate)
        return self.loop(self.const(True), going_on, step, self.accu(), Macro("all", predicate))

    def exists(self, predicate: Expr) -> Expr:
        going_on = self.op("@not_strictly_false", self.op("!_", self.accu()))
        step = self.op("_||_", self.accu(), predicate)
        return self.loop(self.const(False), going_on, step, self.accu(), Macro("exists", predicate))

    def exists_one(self, predicate: Expr) -> Expr:
        more = self.op("_+_", self.accu(), self.const(1))
        step = self.op("_?_:_", predicate, more, self.accu())
        result = self.op("_==_", self.accu(), self.const(1))
        return self.loop(self.const(0), self.const(True), step, result, Macro("exists_one", predicate))

    def map_list(self, predicate: Expr | None, transform: Expr, name: str = "map") -> Expr:
        step = self.op("_+_", self.accu(), ListExpr([transform], offset=self.at))
        if predicate is not None:
            step = self.op("_?_:_", predicate, step, self.accu())
        empty = ListExpr([], offset=self.at)
        return self.loop(empty, self.const(True), step, self.accu(), Macro(name, predicate, transform))

    def map_map(self, predicate: Expr | None, insert: list[Expr], macro: Macro) -> Expr:
        step = self.op("cel.@mapInsert", self.accu(), *insert)
        if predicate is not None:
            step = self.op("_?_:_", predicate, step, self.accu())
        return self.loop(MapExpr([], offset=self.at), self.const(True), step, self.accu(), macro)


def _all(call: Call) -> Expr:
    return _Builder(call, _variable(call.args[0])).all(call.args[1])


def _exists(call: Call) -> Expr:
    return _Builder(call, _variable(call.args[0])).exists(call.args[1])


def _exists_one(call: Call) -> Expr:
    return _Builder(call, _variable(call.args[0])).exists_one(call.args[1])


def _map(call: Call) -> Expr:
    *predicate, transform = call.args[1:]
    return _Builder(call, _variable(call.args[0])).map_list(predicate[0] if predicate else None, transform)


def _filter(call: Call) -> Expr:
    name = _variable(call.args[0])
    item = Ident(name, offset=call.args[0].offset)
    return _Builder(call, name).map_list(call.args[1], item, "filter")


def _all_two(call: Call) -> Expr:
    return _Builder(call, *_two_variables(call)).all(call.args[2])


def _exists_two(call: Call) -> Expr:
    return _Builder(call, *_two_variables(call)).exists(call.args[2])


def _exists_one_two(call: Call) -> Expr:
    return _Builder(call, *_two_variables(call)).exists_one(call.args[2])


def _transform_list(call: Call) -> Expr:
    *predicate, transform = call.args[2:]
    return _Builder(call, *_two_variables(call)).map_list(predicate[0] if predicate else None, transform)


def _transform_map(call: Call) -> Expr:
    first, second = _two_variables(call)
    *predicate, transform = call.args[2:]
    condition = predicate[0] if predicate else None
    key = Ident(first, offset=call.offset)
    macro = Macro("transformMap", condition, transform)
    return _Builder(call, first, second).map_map(condition, [key, transform], macro)


def _transform_map_entry(call: Call) -> Expr:
    *predicate, transform = call.args[2:]
    condition = predicate[0] if predicate else None
    macro = Macro("transformMapEntry", condition, transform)
    return _Builder(call, *_two_variables(call)).map_map(condition, [transform], macro)


def _bind(call: Call, name: str, init: Expr, result: Expr) -> Expr:
    at = call.offset
    return Comprehension(
        ListExpr([], offset=at),
        UNUSED,
        "",
        name,
        init,
        Literal(False, offset=at),
        Ident(name, offset=at),
        result,
        Macro("bind"),
        offset=at,
    )


def _optional_binding(call: Call, wrap: Callable[[Expr], Expr]) -> Expr:
    name, target, at = _variable(call.args[0]), call.target, call.offset
    assert target is not None
    value = Call("value", [], deepcopy(target), offset=at)
    return Call(
        "_?_:_",
        [
            Call("hasValue", [], target, offset=at),
            wrap(_bind(call, name, value, call.args[1])),
            Call("optional.none", [], offset=at),
        ],
        offset=at,
    )


def _opt_map(call: Call) -> Expr:
    return _optional_binding(call, lambda inner: Call("optional.of", [inner], offset=call.offset))


def _opt_flat_map(call: Call) -> Expr:
    return _optional_binding(call, lambda inner: inner)


def _sort_by(call: Call) -> Expr:
    target, at = call.target, call.offset
    assert target is not None
    if not isinstance(target, Select | Ident | ListExpr | Comprehension | Call):
        raise MacroError(
            at, "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        )
    name, list_name = _variable(call.args[0]), "@__sortBy_input__"
    source = Ident(list_name, offset=at)
    keyed = Call(call.function, [call.args[0], call.args[1]], source, offset=at)
    keys = _Builder(keyed, name).map_list(None, call.args[1])
    sort = Call("@sortByAssociatedKeys", [keys], Ident(list_name, offset=at), offset=at)
    return _bind(call, list_name, target, sort)


_MACROS: dict[tuple[str, int, bool], Expander] = {
    ("has", 1, False): _has,
    ("all", 2, True): _all,
    ("exists", 2, True): _exists,
    ("exists_one", 2, True): _exists_one,
    ("map", 2, True): _map,
    ("map", 3, True): _map,
    ("filter", 2, True): _filter,
    ("all", 3, True): _all_two,
    ("exists", 3, True): _exists_two,
    ("exists_one", 3, True): _exists_one_two,
    ("existsOne", 3, True): _exists_one_two,
    ("transformList", 3, True): _transform_list,
    ("transformList", 4, True): _transform_list,
    ("transformMap", 3, True): _transform_map,
    ("transformMap", 4, True): _transform_map,
    ("transformMapEntry", 3, True): _transform_map_entry,
    ("transformMapEntry", 4, True): _transform_map_entry,
    ("optMap", 2, True): _opt_map,
    ("optFlatMap", 2, True): _opt_flat_map,
    ("sortBy", 2, True): _sort_by,
}

"""Evaluates a checked expression exactly: errors that do not matter are absorbed, and every step is paid for.

The compiler in `codegen` makes something much faster of the same expression; it hands over to this one whenever
anything goes wrong on the way, or when the cost of an evaluation has to be known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from watchkeeper.cel import operators as op
from watchkeeper.cel.ast import Call, Comprehension, Expr, Ident, ListExpr, Literal, MapExpr, Select, StructExpr
from watchkeeper.cel.costs import LIST, MAP, SELECT, STRUCT, call_cost
from watchkeeper.cel.decls import Function, Overload
from watchkeeper.cel.refusals import go_type, no_overload
from watchkeeper.cel.types import Kind, contains_dyn
from watchkeeper.cel.values import CostLimitExceeded, EvalError, NoSuchOverload, Optional, runtime_type


class Activation:
    """The variables of one evaluation, and what it has cost so far."""

    __slots__ = ("cost", "limit", "variables")

    def __init__(self, variables: dict[str, Any], limit: int) -> None:
        self.variables = variables
        self.limit = limit
        self.cost = 0

    def pay(self, amount: int) -> None:
        """Add to the cost. Raises CostLimitExceeded."""
        self.cost += amount
        if self.cost > self.limit:
            raise CostLimitExceeded


Evaluate = Callable[[Activation], Any]
FieldReader = Callable[[Any], Any]
"""Takes a structure and returns the value of one field. Raises EvalError."""


class Structures:
    """How values of structures are read: by the type of the operand and the field's name in expressions."""

    def reader(self, struct_name: str, field: str) -> FieldReader:
        """Reads a field."""
        return lambda operand: op.select(operand, field)

    def tester(self, struct_name: str, field: str) -> FieldReader:
        """Tells whether a field is there."""
        return lambda operand: op.has_field(operand, field)

    def build(self, struct_name: str, fields: dict[str, Any]) -> Any:
        """Make a structure. Raises EvalError where expressions may not make any."""
        raise EvalError(f"unknown type: {struct_name}")


class Interpreter:
    """Turns expressions into closures over an Activation."""

    def __init__(self, functions: Mapping[str, Function], structures: Structures) -> None:
        self.functions = functions
        self.structures = structures

    def plan(self, node: Expr) -> Evaluate:
        """A function that evaluates the expression. It raises EvalError and CostLimitExceeded."""
        match node:
            case Literal():
                value = node.value
                return lambda _: value
            case Ident():
                return self._plan_ident(node)
            case Select():
                return self._plan_select(node)
            case Call():
                return self._plan_call(node)
            case ListExpr():
                return self._plan_list(node)
            case MapExpr():
                return self._plan_map(node)
            case StructExpr():
                return self._plan_struct(node)
            case Comprehension():
                return self._plan_loop(node)

    def _plan_ident(self, node: Ident) -> Evaluate:
        if node.constant is not ...:
            constant = node.constant
            return lambda _: constant
        name = node.name

        def run(a: Activation) -> Any:
            a.pay(SELECT)
            try:
                value = a.variables[name]
            except KeyError:
                raise EvalError(f"no such attribute(s): {name}") from None
            if isinstance(value, EvalError):
                raise value  # what a loop has accumulated so far
            return value

        return run

    def _plan_select(self, node: Select) -> Evaluate:
        operand = self.plan(node.operand)
        if node.field == "":
            return operand
        target = node.operand.type
        if target.kind is Kind.OPAQUE and target.params and target.params[0].kind is Kind.STRUCT:
            return self._plan_chained_select(operand, target.params[0].name, node)
        if target.kind is Kind.STRUCT:
            read = self.structures.reader(target.name, node.field)
            test = self.structures.tester(target.name, node.field)
        else:
            field = node.field
            read, test = (lambda v: op.select(v, field)), (lambda v: op.has_field(v, field))
        if node.test_only:
            return lambda a: test(operand(a))

        def run(a: Activation) -> Any:
            value = operand(a)
            a.pay(SELECT)
            return read(value)

        return run

    def _plan_call(self, node: Call) -> Evaluate:
        special = self._SPECIAL.get(node.function)
        if special is not None:
            return special(self, node)
        operands = [self.plan(o) for o in node.operands]
        function = node.function
        overloads = [self.functions[function].by_id(o) for o in node.overloads]
        dynamic = len(overloads) > 1 or any(contains_dyn(o.type) for o in node.operands)
        if not dynamic:
            chosen = overloads[0]

            def run_one(a: Activation) -> Any:
                args = [o(a) for o in operands]
                result = _invoke(chosen, args)
                a.pay(call_cost(function, chosen.id, args, result))
                return result

            return run_one
        operator = op.BINARY.get(function)
        if operator is not None:
            return self._plan_operator(node, operator, operands)
        candidates = [o for o in self.functions[function].overloads if o.member == (node.target is not None)]

        def run_dynamic(a: Activation) -> Any:
            args = [o(a) for o in operands]
            found = _dispatch(function, candidates, args)
            result = _invoke(found, args)
            a.pay(call_cost(function, found.id, args, result))
            return result

        return run_dynamic

    def _plan_operator(self, node: Call, operator: Callable[[Any, Any], Any], operands: list[Evaluate]) -> Evaluate:
        first, second = operands
        function, first_overload = node.function, node.overloads[0]

        def run(a: Activation) -> Any:
            args = [first(a), second(a)]
            try:
                result = operator(*args)
            except NoSuchOverload:
                raise no_overload(function, [runtime_type(arg) for arg in args]) from None
            a.pay(call_cost(function, _operator_overload(first_overload, args), args, result))
            return result

        return run

    def _plan_and(self, node: Call) -> Evaluate:
        return self._plan_logical(node, False)

    def _plan_or(self, node: Call) -> Evaluate:
        return self._plan_logical(node, True)

    def _plan_logical(self, node: Call, decisive: bool) -> Evaluate:
        """Either side may decide alone; an error of one counts only when the other does not decide."""
        first, second = self.plan(node.args[0]), self.plan(node.args[1])

        def run(a: Activation) -> Any:
            error: EvalError | None = None
            for side in (first, second):
                try:
                    if op.truth(side(a)) is decisive:
                        return decisive
                except EvalError as problem:
                    error = error or problem
            if error is not None:
                raise error
            return not decisive

        return run

    def _plan_conditional(self, node: Call) -> Evaluate:
        condition, yes, no = (self.plan(a) for a in node.args)
        return lambda a: yes(a) if op.truth(condition(a)) else no(a)

    def _plan_not_strictly_false(self, node: Call) -> Evaluate:
        operand = self.plan(node.args[0])

        def run(a: Activation) -> bool:
            try:
                value = operand(a)
            except EvalError:
                value = True
            a.pay(1)
            return value is not False

        return run

    def _plan_chained_select(self, operand: Evaluate, struct_name: str, node: Select) -> Evaluate:
        """A field of a structure that may not be there."""
        read, test = self._field_access(True, struct_name, node.field)
        if node.test_only:
            return lambda a: (found := operand(a)).present and test(found.value)

        def run(a: Activation) -> Optional:
            found: Optional = operand(a)
            a.pay(SELECT)
            if not found.present:
                return found
            return Optional(read(found.value)) if test(found.value) else Optional(present=False)

        return run

    def _plan_optional_select(self, node: Call) -> Evaluate:
        operand, field = self.plan(node.args[0]), node.args[1]
        assert isinstance(field, Literal)
        name = field.value
        inner = node.args[0].type
        if inner.kind is Kind.OPAQUE and inner.params:
            inner = inner.params[0]
        read, test = self._field_access(inner.kind is Kind.STRUCT, inner.name, name)

        def run(a: Activation) -> Optional:
            value = operand(a)
            a.pay(SELECT)
            if isinstance(value, Optional):
                if not value.present:
                    return value
                value = value.value
            return Optional(read(value)) if test(value) else Optional(present=False)

        return run

    def _field_access(self, is_struct: bool, struct_name: str, field: str) -> tuple[FieldReader, FieldReader]:
        if is_struct:
            return self.structures.reader(struct_name, field), self.structures.tester(struct_name, field)
        return (lambda v: op.select(v, field)), (lambda v: op.has_field(v, field))

    def _plan_or_value(self, node: Call) -> Evaluate:
        return self._plan_fallback(node, True)

    def _plan_or_optional(self, node: Call) -> Evaluate:
        return self._plan_fallback(node, False)

    def _plan_fallback(self, node: Call, unwrap: bool) -> Evaluate:
        assert node.target is not None
        target, fallback = self.plan(node.target), self.plan(node.args[0])

        def run(a: Activation) -> Any:
            value = target(a)
            if not isinstance(value, Optional):
                raise NoSuchOverload
            a.pay(1)
            if value.present:
                return value.value if unwrap else value
            return fallback(a)

        return run

    _SPECIAL: dict[str, Callable[[Interpreter, Call], Evaluate]] = {
        "_&&_": _plan_and,
        "_||_": _plan_or,
        "_?_:_": _plan_conditional,
        "@not_strictly_false": _plan_not_strictly_false,
        "_?._": _plan_optional_select,
        "orValue": _plan_or_value,
        "or": _plan_or_optional,
    }

    def _plan_list(self, node: ListExpr) -> Evaluate:
        elements = [(self.plan(e), i in node.optional) for i, e in enumerate(node.elements)]

        def run(a: Activation) -> list[Any]:
            out: list[Any] = []
            for element, optional in elements:
                value = element(a)
                if not optional:
                    out.append(value)
                elif _optional(value).present:
                    out.append(value.value)
            a.pay(LIST)
            return out

        return run

    def _plan_map(self, node: MapExpr) -> Evaluate:
        entries = [(self.plan(e.key), self.plan(e.value), e.optional) for e in node.entries]

        def run(a: Activation) -> dict[Any, Any]:
            out: dict[Any, Any] = {}
            for key_of, value_of, optional in entries:
                key, value = op.key_of(key_of(a)), value_of(a)
                if optional:
                    if not _optional(value).present:
                        continue
                    value = value.value
                out[key] = value
            a.pay(MAP)
            return out

        return run

    def _plan_struct(self, node: StructExpr) -> Evaluate:
        fields = [(f.name, self.plan(f.value), f.optional) for f in node.fields]
        name = node.name

        def run(a: Activation) -> Any:
            values: dict[str, Any] = {}
            for field, value_of, optional in fields:
                value = value_of(a)
                if optional:
                    if not _optional(value).present:
                        continue
                    value = value.value
                values[field] = value
            a.pay(STRUCT)
            return self.structures.build(name, values)

        return run

    def _plan_loop(self, node: Comprehension) -> Evaluate:
        items, init, result = self.plan(node.range), self.plan(node.init), self.plan(node.result)
        condition, step = self.plan(node.condition), self.plan(node.step)
        var, var2, accu = node.var, node.var2, node.accu

        def run(a: Activation) -> Any:
            over = _iterate(items(a), bool(var2))
            outer = a.variables
            inner = dict(outer)
            accumulated: Any = init(a)
            a.variables = inner
            try:
                for first, second in over:
                    inner[accu] = accumulated
                    inner[var] = first
                    if var2:
                        inner[var2] = second
                    if condition(a) is False:
                        break
                    try:
                        accumulated = step(a)
                    except EvalError as problem:
                        accumulated = problem
                inner[accu] = accumulated
                return result(a)
            finally:
                a.variables = outer

        return run


def _operator_overload(overload_id: str, args: list[Any]) -> str:
    """The overload that an operator had for these values, as far as its cost is concerned."""
    word = overload_id.partition("_")[0]
    if word == "in":
        return "in_list" if isinstance(args[1], list) else "in_map"
    if word in ("add", "less", "greater") and isinstance(args[0], str | bytes):
        return f"{'add' if word == 'add' else 'less'}_{'string' if isinstance(args[0], str) else 'bytes'}"
    return overload_id


def _iterate(value: Any, two: bool) -> Any:
    if isinstance(value, list):
        return enumerate(value) if two else ((v, None) for v in value)
    if isinstance(value, dict):
        return value.items() if two else ((k, None) for k in value)
    raise EvalError(f"got '{go_type(runtime_type(value))}', expected iterable type")


def _optional(value: Any) -> Optional:
    if not isinstance(value, Optional):
        raise EvalError(f"cannot initialize optional entry from non-optional value {value}")
    return value


def _dispatch(function: str, candidates: list[Overload], args: list[Any]) -> Overload:
    for candidate in candidates:
        if candidate.takes(args):
            return candidate
    raise no_overload(function, [runtime_type(a) for a in args])


def _invoke(overload: Overload, args: list[Any]) -> Any:
    try:
        return overload.run(*args)
    except EvalError:
        raise
    except (TypeError, AttributeError, KeyError, IndexError):
        raise NoSuchOverload from None

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
from watchkeeper.cel.folding import base_cost, constant_of, is_attribute, is_conditional, searched_list
from watchkeeper.cel.maps import map_from
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
        found = constant_of(node)
        if found is not None:
            value = found[0]
            return lambda _: value
        match node:
            case Literal():
                raise AssertionError(node)
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
        if node.field == "":
            return self.plan(node.operand)
        operand = self._plan_container(node.operand)
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

    def _plan_container(self, node: Expr) -> Evaluate:
        """What a field or an item is taken of."""
        operand = self.plan(node)
        if is_attribute(node) or is_conditional(node):
            return operand

        def run(a: Activation) -> Any:
            value = operand(a)
            a.pay(SELECT)
            return value

        return run

    def _plan_unpaid(self, node: Expr) -> Evaluate:
        """What is looked up on behalf of another expression."""
        operand, cost = self.plan(node), base_cost(node)
        if not cost:
            return operand

        def run(a: Activation) -> Any:
            a.cost -= cost
            return operand(a)

        return run

    def _plan_call(self, node: Call) -> Evaluate:
        special = self._SPECIAL.get(node.function)
        if special is not None:
            return special(self, node)
        if node.function in _INDEXING:
            return self._plan_index(node)
        operands = [self.plan(o) for o in node.operands]
        function = node.function
        if (items := searched_list(node)) is not None:
            return _plan_search(operands[0], items)
        overloads = [self.functions[function].by_id(o) for o in node.overloads]
        known = node.overloads[0] if len(overloads) == 1 else ""
        dynamic = not known or any(contains_dyn(o.type) for o in node.operands)
        operator = op.BINARY.get(function)
        if operator is not None and (dynamic or function in _EQUALITY):
            return self._plan_operator(node, operator, operands)
        candidates = [o for o in self.functions[function].overloads if o.member == (node.target is not None)]

        def run(a: Activation) -> Any:
            args = _arguments(a, operands, function, known)
            try:
                chosen = _dispatch(function, candidates, args) if dynamic else overloads[0]
                result = _invoke(chosen, args)
            except EvalError as problem:
                _pay_failed(a, function, known, args, problem)
                raise
            a.pay(call_cost(function, known, args, result))
            return result

        return run

    def _plan_operator(self, node: Call, operator: Callable[[Any, Any], Any], operands: list[Evaluate]) -> Evaluate:
        function = node.function
        known = _EQUALITY.get(function) or (node.overloads[0] if len(node.overloads) == 1 else "")

        def run(a: Activation) -> Any:
            args = _arguments(a, operands, function, known)
            try:
                result = operator(*args)
            except EvalError as problem:
                _pay_failed(a, function, known, args, problem)
                if problem.__class__ is NoSuchOverload and not str(problem).startswith("no such overload:"):
                    raise no_overload(function, [runtime_type(arg) for arg in args]) from None
                raise
            a.pay(call_cost(function, known, args, result))
            return result

        return run

    def _plan_index(self, node: Call) -> Evaluate:
        container, key = self._plan_container(node.args[0]), self._plan_unpaid(node.args[1])
        function, optional = node.function, node.function == "_[?_]"
        operator = op.BINARY[function]

        def run(a: Activation) -> Any:
            args = [container(a), key(a)]
            if not optional:
                a.pay(SELECT)
            try:
                result = operator(*args)
            except NoSuchOverload:
                raise no_overload(function, [runtime_type(arg) for arg in args]) from None
            if optional and result.present:
                a.pay(SELECT)
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
        condition = self.plan(node.args[0])
        yes, no = (self._plan_unpaid(a) for a in node.args[1:])
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
            if not found.present:
                return found
            return _select_present(a, found.value, read, test)

        return run

    def _plan_optional_select(self, node: Call) -> Evaluate:
        operand, field = self._plan_container(node.args[0]), node.args[1]
        assert isinstance(field, Literal)
        name = field.value
        inner = node.args[0].type
        if inner.kind is Kind.OPAQUE and inner.params:
            inner = inner.params[0]
        read, test = self._field_access(inner.kind is Kind.STRUCT, inner.name, name)

        def run(a: Activation) -> Optional:
            value = operand(a)
            if isinstance(value, Optional):
                if not value.present:
                    return value
                value = value.value
            return _select_present(a, value, read, test)

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
            a.pay(LIST)
            for element, optional in elements:
                value = element(a)
                if not optional:
                    out.append(value)
                elif _optional(value).present:
                    out.append(value.value)
            return out

        return run

    def _plan_map(self, node: MapExpr) -> Evaluate:
        entries = [(self.plan(e.key), self.plan(e.value), e.optional) for e in node.entries]

        def run(a: Activation) -> dict[Any, Any]:
            out: list[tuple[Any, Any]] = []
            a.pay(MAP)
            for key_of, value_of, optional in entries:
                key, value = key_of(a), value_of(a)
                if optional:
                    if not _optional(value).present:
                        continue
                    value = value.value
                out.append((key, value))
            return map_from(out)

        return run

    def _plan_struct(self, node: StructExpr) -> Evaluate:
        fields = [(f.name, self.plan(f.value), f.optional) for f in node.fields]
        name = node.name

        def run(a: Activation) -> Any:
            values: dict[str, Any] = {}
            a.pay(STRUCT)
            for field, value_of, optional in fields:
                value = value_of(a)
                if optional:
                    if not _optional(value).present:
                        continue
                    value = value.value
                values[field] = value
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


_EQUALITY = {"_==_": "equals", "_!=_": "not_equals"}
_INDEXING = ("_[_]", "_[?_]")


def _plan_search(operand: Evaluate, items: list[Any]) -> Evaluate:
    """Whether a value is in a constant list; in an empty one there is none, whatever the value."""
    if not items:
        return lambda _: False
    return lambda a: op.contains(operand(a), items)


def _select_present(a: Activation, value: Any, read: FieldReader, test: FieldReader) -> Optional:
    if not test(value):
        return Optional(present=False)
    a.pay(SELECT)
    return Optional(read(value))


def _arguments(a: Activation, operands: list[Evaluate], function: str, overload_id: str) -> list[Any]:
    """The arguments of a call. One that is an error fails the call; of two, both are worked out before."""
    args: list[Any] = []
    error: EvalError | None = None
    for operand in operands:
        try:
            args.append(operand(a))
        except EvalError as problem:
            args.append(problem)
            error = error or problem
            if len(operands) > 2:
                break
    if error is None:
        return args
    if len(args) == len(operands):
        _pay_failed(a, function, overload_id, args, error)
    raise error


def _pay_failed(a: Activation, function: str, overload_id: str, args: list[Any], problem: EvalError) -> None:
    """A call that comes to an error costs what it would cost otherwise."""
    try:
        cost = call_cost(function, overload_id, args, problem)
    except (AttributeError, TypeError):
        cost = 1
    a.pay(cost)


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

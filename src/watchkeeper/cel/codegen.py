"""Writes a checked expression as the source of a Python function.

The function is only right where evaluation succeeds: exceptions of any kind mean that the interpreter has to be asked.
That leaves it free to use Python's own operators wherever the static types make them mean the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from watchkeeper.cel import operators as op
from watchkeeper.cel.ast import Call, Comprehension, Expr, Ident, ListExpr, Literal, MapExpr, Select, StructExpr
from watchkeeper.cel.regex import RegexError, compile_pattern
from watchkeeper.cel.types import Kind, Type, contains_dyn
from watchkeeper.cel.values import Optional

if TYPE_CHECKING:
    from watchkeeper.cel.environment import Environment

_COMPARISONS = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_SCALARS = frozenset(
    (
        Kind.BOOL,
        Kind.INT,
        Kind.UINT,
        Kind.DOUBLE,
        Kind.STRING,
        Kind.BYTES,
        Kind.TIMESTAMP,
        Kind.DURATION,
        Kind.NULL,
    )
)
_NUMBERS = frozenset((Kind.INT, Kind.UINT, Kind.DOUBLE))


class _Unsupported(Exception):
    """This expression is left to the interpreter."""


def compile_expression(node: Expr, environment: Environment, parameters: Sequence[str]) -> Callable[..., Any] | None:
    """The function, or None when the expression is left to the interpreter."""
    writer = _Writer(environment)
    for name in parameters:
        writer.names[name] = name
    try:
        body = writer.write(node)
    except _Unsupported:
        return None
    source = f"def evaluate({', '.join(parameters)}):\n    return {body}\n"
    try:
        exec(compile(source, "<cel>", "exec"), writer.constants)
    except (SyntaxError, RecursionError, MemoryError):
        return None  # nested deeper than Python's own compiler goes
    function: Callable[..., Any] = writer.constants["evaluate"]
    return function


class _Writer:
    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        # Not by their own names: Python 3.14 compiles what is in `all(…)` twice, so 2^n times in n of them.
        builtins = {"every": all, "some": any, "sum": sum, "enumerate": enumerate}
        self.constants: dict[str, Any] = {"__builtins__": builtins}
        self.names: dict[str, str] = {}
        self.count = 0
        self.in_loop = False

    def constant(self, value: Any, word: str = "k") -> str:
        """A name under which the function finds a value."""
        for name, known in self.constants.items():
            if known is value and name != "__builtins__":
                return name
        self.count += 1
        name = f"_{word}{self.count}"
        self.constants[name] = value
        return name

    def write(self, node: Expr) -> str:
        match node:
            case Literal():
                return self.literal(node.value)
            case Ident():
                return self.ident(node)
            case Select():
                return self.select(node)
            case Call():
                return self.call(node)
            case ListExpr():
                if node.optional:
                    raise _Unsupported
                return f"[{', '.join(map(self.write, node.elements))}]"
            case MapExpr():
                return self.map_literal(node)
            case Comprehension():
                return self.loop(node)
            case StructExpr():
                raise _Unsupported

    def truth(self, node: Expr) -> str:
        """The source of something that is a bool for sure."""
        text = self.write(node)
        return text if node.type.kind is Kind.BOOL else f"{self.constant(op.truth)}({text})"

    def literal(self, value: Any) -> str:
        if value is None or value.__class__ in (bool, int, str, bytes):
            return f"({value!r})" if value.__class__ is int and value < 0 else repr(value)
        return self.constant(value)

    def ident(self, node: Ident) -> str:
        if node.constant is not ...:
            return self.constant(node.constant)
        found = self.names.get(node.name)
        if found is None:
            raise _Unsupported
        return found

    def select(self, node: Select) -> str:
        operand = self.write(node.operand)
        if node.field == "":
            return operand
        target = node.operand.type
        key, convert = node.field, None
        if target.kind is Kind.STRUCT:
            found = self.environment.field_def(target.name, node.field)
            if found is None:
                raise _Unsupported
            key, convert = found.key, found.convert
            if node.test_only:
                if found.strict and convert is not None:
                    return f"{self.constant(self.environment.tester(target.name, node.field))}({operand})"
                return f"({key!r} in {operand})" if found.holds_null else f"({operand}.get({key!r}) is not None)"
            if found.nullable:
                text = f"{self.constant(op.select_set)}({operand}, {key!r})"
                return f"{self.constant(convert)}({text})" if convert is not None else text
        elif target.kind is Kind.OPAQUE and target.params and target.params[0].kind is Kind.STRUCT:
            found = self.environment.field_def(target.params[0].name, node.field)
            if found is None or node.test_only:
                raise _Unsupported
            return f"{self.constant(_chained_reader(found.key, found.convert), 'o')}({operand})"
        elif target.kind is not Kind.MAP:
            function = op.has_field if node.test_only else op.select
            return f"{self.constant(function)}({operand}, {key!r})"
        if node.test_only:
            return f"({key!r} in {operand})"
        text = f"{operand}[{key!r}]"
        return f"{self.constant(convert)}({text})" if convert is not None else text

    def call(self, node: Call) -> str:
        special = self._SPECIAL.get(node.function)
        if special is not None:
            return special(self, node)
        if node.function in _COMPARISONS and self.ordered(node):
            return f"({self.write(node.args[0])} {_COMPARISONS[node.function]} {self.write(node.args[1])})"
        if node.function in op.BINARY:
            first, second = map(self.write, node.args)
            return f"{self.constant(op.BINARY[node.function])}({first}, {second})"
        return self.function_call(node)

    def function_call(self, node: Call) -> str:
        overloads = [self.environment.functions[node.function].by_id(o) for o in node.overloads]
        runs = {id(o.run): o.run for o in overloads}
        if len(runs) != 1:
            raise _Unsupported
        operands = node.operands
        if any(contains_dyn(o.type) for o in operands) and node.function not in ("dyn", "type", "size"):
            dispatched = self.environment.functions[node.function].overloads
            if len({id(o.run) for o in dispatched}) != 1:
                raise _Unsupported
        run = next(iter(runs.values()))
        if node.function == "dyn":
            return self.write(operands[0])
        if node.function == "matches":
            return self.matches(node)
        return f"{self.constant(run, 'f')}({', '.join(map(self.write, operands))})"

    def matches(self, node: Call) -> str:
        text, pattern = node.operands
        if isinstance(pattern, Literal) and text.type.kind is Kind.STRING:
            try:
                compiled = compile_pattern(pattern.value)
            except RegexError:
                raise _Unsupported from None
            return f"{self.constant(compiled.search, 'm')}({self.write(text)})"
        run = self.environment.functions["matches"].overloads[0].run
        return f"{self.constant(run)}({self.write(text)}, {self.write(pattern)})"

    def ordered(self, node: Call) -> bool:
        first, second = (a.type.kind for a in node.args)
        return first in _SCALARS and (first is second or (first in _NUMBERS and second in _NUMBERS))

    def conjunction(self, node: Call) -> str:
        return f"({self.truth(node.args[0])} and {self.truth(node.args[1])})"

    def disjunction(self, node: Call) -> str:
        return f"({self.truth(node.args[0])} or {self.truth(node.args[1])})"

    def negation(self, node: Call) -> str:
        return f"(not {self.truth(node.args[0])})"

    def conditional(self, node: Call) -> str:
        condition, yes, no = node.args
        return f"({self.write(yes)} if {self.truth(condition)} else {self.write(no)})"

    def equality(self, node: Call) -> str:
        first, second = node.args
        symbol = "==" if node.function == "_==_" else "!="
        if self.plainly_equal(first.type, second.type):
            return f"({self.write(first)} {symbol} {self.write(second)})"
        texts = []
        for side in (first, second):
            deepen = self.environment.deepen(side.type)
            text = self.write(side)
            texts.append(f"{self.constant(deepen)}({text})" if deepen is not None else text)
        prefix = "" if symbol == "==" else "not "
        return f"({prefix}{self.constant(op.equals)}({', '.join(texts)}))"

    def plainly_equal(self, a: Type, b: Type) -> bool:
        """Whether Python's == means what CEL's does for values of these types."""
        if a.kind in _NUMBERS and b.kind in _NUMBERS:
            return True
        return a.kind is b.kind and a.kind in _SCALARS

    def membership(self, node: Call) -> str:
        item, container = node.args
        if container.type.kind in (Kind.LIST, Kind.MAP):
            held = container.type.params[0]
            if item.type.kind is held.kind and held.kind in _SCALARS and held.kind is not Kind.BOOL:
                return f"({self.write(item)} in {self.write(container)})"
        return f"{self.constant(op.contains)}({self.write(item)}, {self.write(container)})"

    def indexing(self, node: Call) -> str:
        container, at = node.args
        if container.type.kind is Kind.MAP and at.type.kind is Kind.STRING:
            return f"{self.write(container)}[{self.write(at)}]"
        return f"{self.constant(op.index)}({self.write(container)}, {self.write(at)})"

    def size(self, node: Call) -> str:
        operand = node.operands[0]
        if operand.type.kind in (Kind.STRING, Kind.BYTES, Kind.LIST, Kind.MAP):
            return f"{self.constant(len)}({self.write(operand)})"
        return self.function_call(node)

    def optional_select(self, node: Call) -> str:
        operand, name = node.args
        target = operand.type
        if not isinstance(name, Literal):
            raise _Unsupported
        if target.kind is Kind.STRUCT:
            found = self.environment.field_def(target.name, name.value)
            if found is None:
                raise _Unsupported
            read = _optional_reader(found.key, found.convert)
            return f"{self.constant(read, 'o')}({self.write(operand)})"
        inner = target.params[0] if target.kind is Kind.OPAQUE and target.params else target
        if inner.kind is Kind.STRUCT:
            found = self.environment.field_def(inner.name, name.value)
            if found is None:
                raise _Unsupported
            chained = _chained_reader(found.key, found.convert)
            return f"{self.constant(chained, 'o')}({self.write(operand)})"
        return f"{self.constant(op.select_optional)}({self.write(operand)}, {name.value!r})"

    def or_value(self, node: Call) -> str:
        assert node.target is not None
        self.count += 1
        temporary = f"_t{self.count}"
        target = self.write(node.target)
        return f"({temporary}.value if ({temporary} := {target}).present else {self.write(node.args[0])})"

    def map_literal(self, node: MapExpr) -> str:
        if any(e.optional or e.key.type.kind is not Kind.STRING for e in node.entries):
            raise _Unsupported
        keys = [e.key.value if isinstance(e.key, Literal) else None for e in node.entries]
        if None in keys or len(set(keys)) != len(keys):
            raise _Unsupported
        return "{" + ", ".join(f"{self.write(e.key)}: {self.write(e.value)}" for e in node.entries) + "}"

    def loop(self, node: Comprehension) -> str:
        macro = node.macro
        if macro.name == "bind" or macro.name.startswith("transformMap"):
            raise _Unsupported
        outermost, self.in_loop = not self.in_loop, True
        if outermost and _has_walrus(node):
            raise _Unsupported
        over = self.over(node)
        outer = dict(self.names)
        targets = []
        for name in (node.var, node.var2) if node.var2 else (node.var,):
            self.count += 1
            self.names[name] = f"v{self.count}"
            targets.append(self.names[name])
        target = ", ".join(targets)
        where = f"for {target} in {over}"
        predicate = self.truth(macro.predicate) if macro.predicate is not None else ""
        transform = self.write(macro.transform) if macro.transform is not None else ""
        self.names = outer
        self.in_loop = not outermost
        match macro.name:
            case "all" | "exists":
                return f"{'every' if macro.name == 'all' else 'some'}({predicate} {where})"
            case "exists_one":
                return f"(sum({predicate} {where}) == 1)"
            case "map" | "filter":
                return f"[{transform} {where}{f' if {predicate}' if predicate else ''}]"
        raise _Unsupported

    def over(self, node: Comprehension) -> str:
        text = self.write(node.range)
        kind = node.range.type.kind
        if kind not in (Kind.LIST, Kind.MAP):
            raise _Unsupported
        if not node.var2:
            return text
        return f"enumerate({text})" if kind is Kind.LIST else f"{text}.items()"

    _SPECIAL: dict[str, Callable[[_Writer, Call], str]] = {
        "_&&_": conjunction,
        "_||_": disjunction,
        "!_": negation,
        "_?_:_": conditional,
        "_==_": equality,
        "_!=_": equality,
        "@in": membership,
        "_[_]": indexing,
        "size": size,
        "_?._": optional_select,
        "orValue": or_value,
    }


def _has_walrus(node: Comprehension) -> bool:
    """Temporaries cannot be bound where a loop's range is evaluated, so such loops are left to the interpreter."""
    from watchkeeper.cel.ast import walk

    return any(isinstance(n, Call) and n.function == "orValue" for n in walk(node))


def _optional_reader(key: str, convert: Callable[[Any], Any] | None) -> Callable[[Any], Optional]:
    def read(operand: Any) -> Optional:
        value = operand.get(key)
        if value is None:
            return Optional(present=False)
        return Optional(convert(value) if convert is not None else value)

    return read


def _chained_reader(key: str, convert: Callable[[Any], Any] | None) -> Callable[[Any], Optional]:
    read = _optional_reader(key, convert)

    def chained(operand: Any) -> Optional:
        return read(operand.value) if operand.present else operand

    return chained

"""The type checker: finds the type of every part of an expression, or says what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping as AbstractMapping
from dataclasses import dataclass
from typing import Any, Protocol

from watchkeeper.cel import messages, types
from watchkeeper.cel.ast import Call, Comprehension, Expr, Ident, ListExpr, Literal, MapExpr, Select, StructExpr
from watchkeeper.cel.decls import Function
from watchkeeper.cel.inference import Mapping, most_general, substitute
from watchkeeper.cel.parser import qualified_name
from watchkeeper.cel.source import CompileError, Issue
from watchkeeper.cel.types import Kind, Type, is_dyn, is_dyn_or_error, optional_of, unwrap_optional
from watchkeeper.cel.values import Uint


@dataclass(frozen=True, slots=True)
class Declared:
    """A name that an expression may use: a variable, or with `constant` a value such as a type."""

    type: Type
    constant: Any = ...


class Declarations(Protocol):
    """What names mean."""

    functions: AbstractMapping[str, Function]

    def find(self, name: str) -> Declared | None:
        """A variable or constant; None when there is none of that name."""
        ...

    def fields(self, struct_name: str) -> AbstractMapping[str, Type] | None:
        """The fields of a structure by their names in expressions; None when there is no such structure."""
        ...


def check(source: str, node: Expr, declarations: Declarations) -> Type:
    """Note types and overloads on all nodes; returns the type of the whole. Raises CompileError."""
    checker = _Checker(declarations)
    checker.check(node)
    if checker.issues:
        raise CompileError(source, checker.issues)
    checker.settle()
    return node.type


class _Checker:
    def __init__(self, declarations: Declarations) -> None:
        self.declarations = declarations
        self.issues: list[Issue] = []
        self.known = Mapping()
        self.scopes: list[dict[str, Type]] = []
        self.fresh = 0
        self.nodes: list[Expr] = []

    def settle(self) -> None:
        """Replace what is left of type parameters."""
        for node in self.nodes:
            node.type = substitute(self.known, node.type, True)

    def report(self, offset: int, message: str) -> None:
        self.issues.append(Issue(offset, message))

    def mismatch(self, node: Expr, expected: Type, actual: Type) -> None:
        self.report(node.offset, f"expected type '{expected}' but found '{actual}'")

    def assignable(self, a: Type, b: Type) -> bool:
        return self.known.assign([b], [a])

    def new_parameter(self) -> Type:
        self.fresh += 1
        return types.param(f"_var{self.fresh - 1}")

    def check(self, node: Expr) -> Type:
        match node:
            case Literal():
                node.type = _literal_type(node.value)
            case Ident():
                self.check_ident(node)
            case Select():
                self.check_select(node)
            case Call():
                self.check_call(node)
            case ListExpr():
                self.check_list(node)
            case MapExpr():
                self.check_map(node)
            case StructExpr():
                self.check_struct(node)
            case Comprehension():
                self.check_comprehension(node)
        self.nodes.append(node)
        return node.type

    def lookup(self, name: str) -> Declared | None:
        for scope in reversed(self.scopes):
            if name in scope:
                return Declared(scope[name])
        return self.declarations.find(name)

    def check_ident(self, node: Ident) -> None:
        found = self.lookup(node.name)
        if found is None:
            self.report(node.offset, f"undeclared reference to '{node.name}' (in container '')")
            node.type = types.ERROR
            return
        node.type, node.constant = found.type, found.constant

    def check_select(self, node: Select) -> None:
        name = qualified_name(node)
        shadowed = any(name.partition(".")[0] in scope for scope in self.scopes)
        found = self.declarations.find(name) if name and not shadowed else None
        if found is not None:
            node.type = found.type
            node.operand = Ident(name, found.constant, offset=node.offset, type=found.type)
            node.field = ""
            return
        result = self.field_type(node, node.operand, node.field, False)
        node.type = types.BOOL if node.test_only else substitute(self.known, result)

    def field_type(self, node: Expr, operand: Expr, field: str, optional: bool) -> Type:
        self.check(operand)
        target, was_optional = unwrap_optional(substitute(self.known, operand.type))
        result = types.ERROR
        match target.kind:
            case Kind.MAP:
                result = target.params[1]
            case Kind.STRUCT:
                result = self.struct_field(node.offset, target.name, field)
            case Kind.PARAM:
                self.assignable(types.DYN, target)
                result = types.DYN
            case _:
                if not is_dyn_or_error(target):
                    self.report(node.offset, f"type '{target}' does not support field selection")
                result = types.DYN
        return optional_of(result) if optional or was_optional else result

    def struct_field(self, offset: int, struct_name: str, field: str) -> Type:
        fields = self.declarations.fields(struct_name)
        if fields is None:
            self.report(offset, f"unexpected failed resolution of '{struct_name}'")
            return types.ERROR
        found = fields.get(field)
        if found is None:
            self.report(offset, f"undefined field '{field}'")
            return types.ERROR
        return found

    def check_call(self, node: Call) -> None:
        if node.function == "_?._":
            result = self.field_type(node, node.args[0], _text(node.args[1]), True)
            self.check(node.args[1])
            node.type = substitute(self.known, result)
            node.overloads = ["select_optional_field"]
            return
        for arg in node.args:
            self.check(arg)
        if node.target is not None:
            prefix = qualified_name(node.target)
            qualified = f"{prefix}.{node.function}" if prefix else ""
            if qualified in self.declarations.functions:
                node.function, node.target = qualified, None
            else:
                self.check(node.target)
        function = self.declarations.functions.get(node.function)
        if function is None:
            self.report(node.offset, f"undeclared reference to '{node.function}' (in container '')")
            node.type = types.ERROR
            return
        self.resolve(node, function)

    def resolve(self, node: Call, function: Function) -> None:
        given = [operand.type for operand in node.operands]
        if function.name in ("_&&_", "_||_"):
            self.resolve_logical(node, function)
            return
        result: Type | None = None
        for candidate in function.overloads:
            if candidate.member != (node.target is not None):
                continue
            renaming = Mapping()
            for name in sorted({p.name for t in (*candidate.args, candidate.result) for p in _parameters(t)}):
                renaming.bind(types.param(name), self.new_parameter())
            wanted = [substitute(renaming, t) for t in candidate.args]
            if not self.known.assign(wanted, given):
                continue
            node.overloads.append(candidate.id)
            candidate_result = substitute(self.known, substitute(renaming, candidate.result))
            if result is None:
                result = candidate_result
            elif not is_dyn(result) and not candidate_result.same(result):
                result = types.DYN
        if result is None:
            shown = [substitute(self.known, t, True) for t in given]
            text = types.signature(shown, node.target is not None)
            self.report(node.offset, f"found no matching overload for '{function.name}' applied to '{text}'")
            node.type = types.ERROR
            return
        node.type = result

    def resolve_logical(self, node: Call, function: Function) -> None:
        node.overloads = [function.overloads[0].id]
        node.type = types.BOOL
        for arg in node.args:
            if not self.assignable(arg.type, types.BOOL):
                self.mismatch(arg, types.BOOL, substitute(self.known, arg.type, True))
                node.type = types.ERROR

    def optional_value(self, node: Expr) -> Type:
        inner, optional = unwrap_optional(node.type)
        if not optional and not is_dyn(inner):
            self.mismatch(node, optional_of(inner), inner)
        return inner

    def join(self, previous: Type | None, current: Type) -> Type:
        if previous is None:
            return current
        if self.assignable(previous, current):
            return most_general(previous, current)
        return types.DYN  # `validators` refuses mixed literals where they are not wanted

    def check_list(self, node: ListExpr) -> None:
        element: Type | None = None
        for i, item in enumerate(node.elements):
            item_type = self.check(item)
            if i in node.optional:
                item_type = self.optional_value(item)
            element = self.join(element, item_type)
        node.type = types.list_of(element if element is not None else self.new_parameter())

    def check_map(self, node: MapExpr) -> None:
        key: Type | None = None
        value: Type | None = None
        for entry in node.entries:
            key = self.join(key, self.check(entry.key))
            value_type = self.check(entry.value)
            if entry.optional:
                value_type = self.optional_value(entry.value)
            value = self.join(value, value_type)
        node.type = types.map_of(key or self.new_parameter(), value or self.new_parameter())

    def check_struct(self, node: StructExpr) -> None:
        fields = self.declarations.fields(node.name)
        if fields is None:  # what stands in it is not looked at
            self.report(node.offset, f"undeclared reference to '{node.name}' (in container '')")
            node.type = types.ERROR
            return
        node.type = messages.TYPES.get(node.name) or types.struct(node.name)
        for f in node.fields:
            value_type = self.check(f.value)
            if f.optional:
                value_type = self.optional_value(f.value)
            wanted = self.struct_field(f.offset, node.name, f.name)
            if not self.assignable(wanted, value_type):
                text = f"expected type of field '{f.name}' is '{wanted}' but provided type is '{value_type}'"
                self.report(f.offset, text)

    def check_comprehension(self, node: Comprehension) -> None:
        range_type = substitute(self.known, self.check(node.range))
        accu_type = self.check(node.init)
        var, var2 = self.loop_variables(node.range, range_type, bool(node.var2))
        self.scopes.append({node.accu: accu_type})
        self.scopes.append({node.var: var, node.var2: var2} if node.var2 else {node.var: var})
        for part, wanted in ((node.condition, types.BOOL), (node.step, accu_type)):
            self.check(part)
            if not self.assignable(wanted, part.type):
                self.mismatch(part, substitute(self.known, wanted), substitute(self.known, part.type))
        self.scopes.pop()
        self.check(node.result)
        self.scopes.pop()
        node.type = substitute(self.known, node.result.type)

    def loop_variables(self, node: Expr, range_type: Type, two: bool) -> tuple[Type, Type]:
        match range_type.kind:
            case Kind.LIST:
                item = range_type.params[0]
                return (types.INT, item) if two else (item, item)
            case Kind.MAP:
                return range_type.params[0], range_type.params[1]
            case Kind.DYN | Kind.ANY | Kind.ERROR | Kind.PARAM:
                self.assignable(types.DYN, range_type)
                return types.DYN, types.DYN
        text = f"expression of type '{range_type}' cannot be range of a comprehension (must be list, map, or dynamic)"
        self.report(node.offset, text)
        return types.ERROR, types.ERROR


def _parameters(t: Type) -> list[Type]:
    if t.kind is Kind.PARAM:
        return [t]
    return [p for inner in t.params for p in _parameters(inner)]


def _text(node: Expr) -> str:
    return node.value if isinstance(node, Literal) and isinstance(node.value, str) else ""


def _literal_type(value: Any) -> Type:
    match value:
        case None:
            return types.NULL
        case bool():
            return types.BOOL
        case Uint():
            return types.UINT
        case int():
            return types.INT
        case float():
            return types.DOUBLE
        case str():
            return types.STRING
        case _:
            return types.BYTES

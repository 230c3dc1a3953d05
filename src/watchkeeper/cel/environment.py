"""What an expression may use: functions, variables, structures; and how expressions are compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Self

from watchkeeper.cel import messages, types
from watchkeeper.cel import operators as op
from watchkeeper.cel.checker import Declared, check
from watchkeeper.cel.decls import Function, Overload, collect
from watchkeeper.cel.folding import check_qualifiers
from watchkeeper.cel.interpreter import FieldReader, Structures
from watchkeeper.cel.parser import parse
from watchkeeper.cel.program import Program
from watchkeeper.cel.recursion import room
from watchkeeper.cel.types import Type, type_of
from watchkeeper.cel.validators import check_constants, check_patterns, validate
from watchkeeper.cel.values import EvalError, TypeValue

Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class FieldDef:
    """A field of a structure: its key in the data, its type, and what makes a value of the data.

    `nullable`: the data may have null there, which counts as absent. `holds_null`: it counts as a value, as in maps.
    `strict`: who asks whether the field is there learns of a value that does not fit.
    """

    key: str
    type: Type
    convert: Convert | None = None
    nullable: bool = False
    holds_null: bool = False
    strict: bool = False


@dataclass(slots=True)
class StructDef:
    """A structure that data have, by the names that expressions use for its fields.

    `deep` turns a whole structure into one whose parts compare as the schema says; None when they do as they are.
    """

    name: str
    fields: dict[str, FieldDef] = field(default_factory=dict)
    deep: Convert | None = None


class Environment(Structures):
    """Declarations. Immutable; `extend` makes another one that shares what is common."""

    binds = False
    """Whether expressions may name values with cel.bind."""

    def __init__(
        self,
        functions: Mapping[str, Function],
        variables: Mapping[str, Type] | None = None,
        structs: Mapping[str, StructDef] | None = None,
        constants: Mapping[str, Declared] | None = None,
    ) -> None:
        self.functions = functions
        self.variables = dict(variables or {})
        self.structs = dict(structs or {})
        self._constants = constants if constants is not None else _TYPE_NAMES
        self._field_types: dict[str, dict[str, Type]] = {}

    def extend(
        self,
        variables: Mapping[str, Type],
        structs: Iterable[StructDef] = (),
        overloads: Iterable[tuple[str, Overload]] = (),
    ) -> Self:
        """The same with more variables, structures and functions."""
        functions = self.functions
        if overloads := list(overloads):
            functions = dict(functions)
            for name, function in collect(overloads).items():
                known = functions.get(name)
                functions[name] = Function(
                    name, [*known.overloads, *function.overloads] if known else function.overloads
                )
        return type(self)(
            functions,
            {**self.variables, **variables},
            {**self.structs, **{s.name: s for s in structs}},
            self._constants,
        )

    def find(self, name: str) -> Declared | None:
        """A variable, or the name of a type."""
        variable = self.variables.get(name)
        return Declared(variable) if variable is not None else self._constants.get(name)

    def fields(self, struct_name: str) -> Mapping[str, Type] | None:
        """The types of a structure's fields."""
        found = self._field_types.get(struct_name)
        if found is None and struct_name in self.structs:
            definition = self.structs[struct_name]
            found = self._field_types[struct_name] = {name: f.type for name, f in definition.fields.items()}
        return found if found is not None else messages.FIELDS.get(struct_name)

    def field_def(self, struct_name: str, field: str) -> FieldDef | None:
        """A field of a structure; None when values have to be asked."""
        definition = self.structs.get(struct_name)
        return definition.fields.get(field) if definition is not None else None

    def reader(self, struct_name: str, field: str) -> FieldReader:
        """Reads a field out of a dict."""
        found = self.field_def(struct_name, field)
        if found is None:
            return super().reader(struct_name, field)
        key, convert = found.key, found.convert
        select = op.select if found.holds_null else op.select_set

        def read(operand: Any) -> Any:
            value = select(operand, key)
            return convert(value) if convert is not None else value

        return read

    def tester(self, struct_name: str, field: str) -> FieldReader:
        """Tells whether a dict has a field."""
        found = self.field_def(struct_name, field)
        if found is None:
            return super().tester(struct_name, field)
        key = found.key
        has = op.has_field if found.holds_null else op.has_set_field
        if not found.strict or found.convert is None:
            return lambda operand: has(operand, key)
        convert = found.convert

        def test(operand: Any) -> Any:
            there = has(operand, key)
            if there:
                convert(operand[key])
            return there

        return test

    def deepen(self, t: Type) -> Convert | None:
        """What has to be done to a value of a type before it is compared; None for nothing."""
        definition = self.structs.get(t.name) if t.kind is types.Kind.STRUCT else None
        if definition is not None:
            return definition.deep
        if t.kind is types.Kind.LIST:
            inner = self.deepen(t.params[0])
            if inner is not None:
                return lambda items: [inner(i) for i in items]
        return None

    def build(self, struct_name: str, fields: dict[str, Any]) -> Any:
        """Make a dict of a structure, and of a message of protobuf what it stands for."""
        definition = self.structs.get(struct_name)
        if definition is None:
            if struct_name in messages.FIELDS:
                return messages.build(struct_name, fields)
            raise EvalError(f"unknown type: {struct_name}")
        return {definition.fields[name].key: value for name, value in fields.items()}

    def compile(self, source: str, judge: Callable[[Type], None] | None = None) -> Program:
        """Parse, check and prepare an expression. Raises CompileError.

        `judge` is told the type of the result and may raise: what it says goes before what instantiation would.
        """
        with room():
            node = parse(source, binds=self.binds)
            check(source, node, self)
            validate(source, node)
            if judge is not None:
                judge(node.type)
            check_patterns(node)
            check_constants(node)
            check_qualifiers(node)
        return Program(source, node, self)


_TYPE_NAMES: dict[str, Declared] = {
    name: Declared(type_of(t), TypeValue(t))
    for name, t in {
        "bool": types.BOOL,
        "bytes": types.BYTES,
        "double": types.DOUBLE,
        "int": types.INT,
        "uint": types.UINT,
        "string": types.STRING,
        "list": types.list_of(types.DYN),
        "map": types.map_of(types.DYN, types.DYN),
        "null_type": types.NULL,
        "type": types.TYPE,
        "dyn": types.DYN,
        "google.protobuf.Timestamp": types.TIMESTAMP,
        "google.protobuf.Duration": types.DURATION,
        "google.protobuf.Empty": messages.TYPES["google.protobuf.Empty"],
        "optional_type": types.optional_of(types.DYN),
        "net.IP": types.opaque("net.IP"),
        "net.CIDR": types.opaque("net.CIDR"),
        "kubernetes.Quantity": types.struct("kubernetes.Quantity"),
        "kubernetes.URL": types.struct("kubernetes.URL"),
        "kubernetes.Semver": types.struct("kubernetes.Semver"),
        "kubernetes.NamedFormat": types.struct("kubernetes.NamedFormat"),
    }.items()
} | {"google.protobuf.NullValue.NULL_VALUE": Declared(types.INT, 0)}


@cache
def base_environment() -> Environment:
    """The functions of CEL and of Kubernetes' libraries, and no variables."""
    from watchkeeper.cel import stdlib
    from watchkeeper.cel.library import authorization, lists, network, optionals, quantities, semver, strings, texts

    declared: list[tuple[str, Overload]] = []
    for module in (stdlib, strings, lists, optionals, texts, quantities, network, semver, authorization):
        declared += module.declarations()
    return Environment(collect(declared))

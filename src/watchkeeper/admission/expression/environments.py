"""The environments of expressions: what is declared depends on what the expression is for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from watchkeeper.admission.expression import declarations
from watchkeeper.admission.expression.compiled import JSON_PATCH, OBJECT
from watchkeeper.admission.expression.patch_values import ObjectValue, PatchOperation
from watchkeeper.admission.expression.variables import VARIABLES, Variables
from watchkeeper.cel import types
from watchkeeper.cel.environment import Environment, base_environment
from watchkeeper.cel.interpreter import FieldReader
from watchkeeper.cel.library import authorization
from watchkeeper.cel.library.texts import json_patch_declarations
from watchkeeper.cel.types import Type


class _OperationFields(dict[str, Type]):
    """Every name is a field of an operation, but those that mean nothing have a type that no value is of."""

    def get(self, key: str, default: Any = None) -> Any:
        """The field."""
        return super().get(key, _NAMELESS)


_NAMELESS = types.struct("")
_OPERATION_FIELDS = _OperationFields(
    {"op": types.STRING, "path": types.STRING, "from": types.STRING, "value": types.DYN}
)


class _AnyFields(dict[str, Type]):
    """Every name is a field, of any type."""

    def get(self, key: str, default: Any = None) -> Any:
        """The field."""
        return types.DYN


_ANY_FIELDS = _AnyFields()


class AdmissionEnvironment(Environment):
    """Knows composed variables besides what other environments know."""

    def reader(self, struct_name: str, field: str) -> FieldReader:
        """Variables are computed when they are first read."""
        if struct_name == VARIABLES.name:
            return lambda operand: _variables(operand).get(field)
        return super().reader(struct_name, field)

    def tester(self, struct_name: str, field: str) -> FieldReader:
        """A variable that compiles is there, once it has been computed."""
        if struct_name == VARIABLES.name:
            return lambda operand: _variables(operand).has(field)
        return super().tester(struct_name, field)


class PatchEnvironment(AdmissionEnvironment):
    """Knows the types that patches are written with: Object and all below it, and JSONPatch."""

    def fields(self, struct_name: str) -> Mapping[str, Type] | None:
        """Objects have whatever fields they are given."""
        if struct_name == JSON_PATCH.name:
            return _OPERATION_FIELDS
        if is_object_type(struct_name):
            return _ANY_FIELDS
        return super().fields(struct_name)

    def build(self, struct_name: str, fields: dict[str, Any]) -> Any:
        """Make an object or an operation."""
        if struct_name == JSON_PATCH.name:
            return PatchOperation(fields)
        if is_object_type(struct_name):
            return ObjectValue(struct_name, fields)
        return super().build(struct_name, fields)

    def reader(self, struct_name: str, field: str) -> FieldReader:
        """What was made here can also be read."""
        if struct_name == JSON_PATCH.name or is_object_type(struct_name):
            return lambda operand: operand.get(field)
        return super().reader(struct_name, field)

    def tester(self, struct_name: str, field: str) -> FieldReader:
        """Whether a field was given."""
        if struct_name == JSON_PATCH.name or is_object_type(struct_name):
            return lambda operand: operand.has(field)
        return super().tester(struct_name, field)


def is_object_type(name: str) -> bool:
    """Whether a type is Object, or one of those below that are named by the fields leading to them."""
    return name == OBJECT.name or name.startswith(f"{OBJECT.name}.")


def _variables(operand: Any) -> Variables:
    assert isinstance(operand, Variables)
    return operand


@cache
def environment(*, params: bool, authorizer: bool, patches: bool) -> AdmissionEnvironment:
    """With the request's variables, and those asked for."""
    declared = {
        "object": types.DYN,
        "oldObject": types.DYN,
        "namespaceObject": declarations.NAMESPACE,
        "request": declarations.REQUEST,
    }
    if params:
        declared["params"] = types.DYN
    if authorizer:
        declared["authorizer"] = authorization.AUTHORIZER
        declared["authorizer.requestResource"] = authorization.RESOURCE_CHECK
    kind = PatchEnvironment if patches else AdmissionEnvironment
    functions = json_patch_declarations() if patches else ()
    return kind(base_environment().functions).extend(declared, declarations.STRUCTS, functions)

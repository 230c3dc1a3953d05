"""Messages of protobuf in expressions stand for values."""

import re

import pytest

from watchkeeper.cel import types as t
from watchkeeper.cel.environment import base_environment
from watchkeeper.cel.source import CompileError
from watchkeeper.cel.values import EvalError

ENV = base_environment().extend({"n": t.INT})


@pytest.mark.parametrize(
    "source",
    [
        "Value{} == null && Value{string_value: 'a'} + 'a' == 'aa' && Value{number_value: 1.0} + 1.0 == 2.0",
        "Value{struct_value: {'a': 1}}.a == 1.0 && type(Value{list_value: [1]}[0]) == double",
        "Value{null_value: google.protobuf.NullValue.NULL_VALUE} == null && type(Value{}) == null_type",
        "Struct{fields: {'a': 1}} == {'a': 1.0} && Struct{}.size() == 0 && !has(Struct{}.fields)",
        "ListValue{values: [dyn(1u), dyn('a')]}.size() == 2 && ListValue{values: [1]} + [2] == [1, 2]",
        "ListValue{values: [9007199254740993, 9007199254740991]} == [dyn('9007199254740993'), dyn(9007199254740991)]",
        "ListValue{values: [dyn(duration('1s')), dyn(b'a')]} == ['1s', 'YQ==']",
        "Duration{seconds: 1, nanos: -5} == duration('0.999999995s') && Duration{} == duration('0s')",
        "string(Duration{seconds: 315576000001}) == '9223372036.854776s'",
        "Timestamp{seconds: n, nanos: -1} < timestamp(1) && Timestamp{nanos: 2000000000} == timestamp(2)",
        "StringValue{} == '' && StringValue{value: 'a', value: 'b'} + 'c' == 'bc' && BytesValue{} == b''",
        "Int64Value{value: n} + 1 == 2 && Int32Value{} == 0 && -Int64Value{value: n} == -1 && !(Int64Value{} == null)",
        "UInt32Value{value: 1u} == 1u && UInt64Value{} == 0u && !BoolValue{} && [Int64Value{value: 1}, 2] == [1, 2]",
        "DoubleValue{value: 1.5} == 1.5 && FloatValue{value: 1.1} == 1.100000023841858",
        "string(FloatValue{value: 1e300}) == '+Inf' && StringValue{?value: optional.none()} == ''",
        "Empty{} == Empty{} && type(Empty{}) == google.protobuf.Empty",
    ],
)
def test_a_message_is_the_value_that_it_stands_for(source: str) -> None:
    assert ENV.compile(qualified(source)).evaluate({"n": 1})[0] is True


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("Duration{nanos: 2147483648}", "Duration.nanos value type: integer overflow"),
        ("UInt32Value{value: 4294967296u}", "UInt32Value.value value type: unsigned integer overflow"),
        (
            "Int64Value{value: dyn('a')}",
            "Int64Value.value value type: unsupported native conversion from string to 'int64'",
        ),
        (
            "Int64Value{value: dyn(null)}",
            "Int64Value.value value type: type conversion error from 'null_type' to 'int64'",
        ),
        (
            "Struct{fields: {'a': type(1)}}",
            "Struct.fields value type: type conversion not supported for 'type'",
        ),
        (
            "Struct{fields: {dyn(1): 'x'}}",
            "Struct.fields value type: unsupported type conversion from 'int' to string",
        ),
        (
            "Value{null_value: dyn(null)}",
            "Value.null_value value type: type conversion error from 'null_type' to 'protoreflect.EnumNumber'",
        ),
    ],
)
def test_a_field_tells_which_values_it_does_not_take(source: str, message: str) -> None:
    with pytest.raises(EvalError) as caught:
        ENV.compile(qualified(source)).evaluate({"n": 1})
    assert str(caught.value) == f"field type conversion error for google.protobuf.{message}"


def test_a_list_of_values_takes_lists() -> None:
    with pytest.raises(EvalError, match=r"^unsupported field type for google\.protobuf\.ListValue\.values: int$"):
        ENV.compile("google.protobuf.ListValue{values: dyn(1)} == []").evaluate({"n": 1})


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("Value{number_value: 1}", "expected type of field 'number_value' is 'double' but provided type is 'int'"),
        ("Value{x: 1}", "undefined field 'x'"),
        ("StringValue{value: 'a'}.value", "type 'wrapper(string)' does not support field selection"),
        ("Int64Value{value: 1} + 1u", "found no matching overload for '_+_' applied to '(wrapper(int), uint)'"),
        ("FieldMask{}", "undeclared reference to 'google.protobuf.FieldMask' (in container '')"),
    ],
)
def test_messages_are_checked_before_they_are_made(source: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        ENV.compile(qualified(source))
    assert message in str(caught.value)


def test_making_a_message_costs_what_making_a_structure_costs() -> None:
    assert ENV.compile("google.protobuf.Int64Value{value: n} == 1").evaluate({"n": 1})[1] == 42


def qualified(source: str) -> str:
    """An expression with the whole names of messages."""
    return re.sub(r"(?<![\w.])([A-Z]\w+)(?=\{)", r"google.protobuf.\1", source)

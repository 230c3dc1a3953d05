import orjson
import pytest

from watchkeeper.runtime.json_syntax import syntax_error
from watchkeeper.runtime.json_text import JsonError, read_json, with_digits

END = "unexpected end of JSON input"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", END),
        ("{", END),
        ('{"a":', END),
        ('"abc', END),
        ('"\\u12', "invalid character ' ' in \\u hexadecimal character escape"),
        ('"\\', "invalid character ' ' in string escape code"),
        ("-", "invalid character ' ' in numeric literal"),
        ("1.", "invalid character ' ' after decimal point in numeric literal"),
        ("1e+", "invalid character ' ' in exponent of numeric literal"),
        ("tru", "invalid character ' ' in literal true (expecting 'e')"),
        ('{"a":nul', "invalid character ' ' in literal null (expecting 'l')"),
        ("{bad", "invalid character 'b' looking for beginning of object key string"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        ("[1 2]", "invalid character '2' after array element"),
        ('{"a":1} x', "invalid character 'x' after top-level value"),
        ("01", "invalid character '1' after top-level value"),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ("1ex", "invalid character 'x' in exponent of numeric literal"),
        ("-a", "invalid character 'a' in numeric literal"),
        ('"a\\x"', "invalid character 'x' in string escape code"),
        ('"\\u12g"', "invalid character 'g' in \\u hexadecimal character escape"),
        ('"\x01"', "invalid character '\\x01' in string literal"),
        ("trux", "invalid character 'x' in literal true (expecting 'e')"),
        ("{'a':1}", "invalid character '\\'' looking for beginning of object key string"),
    ],
)
def test_syntax_errors_are_told_in_the_words_of_the_reference(text: str, message: str) -> None:
    assert syntax_error(text.encode()) == message
    with pytest.raises(JsonError) as raised:
        read_json(text.encode())
    assert str(raised.value) == message


def test_well_formed_text_has_no_syntax_error() -> None:
    text = b' {"a":[1,-2.5e+3,true,false,null,"\\u00e4\\n",{}],"b":[]} '
    assert syntax_error(text) is None
    assert read_json(text) == {"a": [1, -2500.0, True, False, None, "ä\n", {}], "b": []}


def test_numbers_beyond_64_bits_become_floats() -> None:
    assert read_json(b"[9223372036854775807, 123456789012345678901]") == [9223372036854775807, 1.2345678901234568e20]


def test_a_number_beyond_all_floats_is_refused() -> None:
    with pytest.raises(JsonError, match="cannot unmarshal number 1e400"):
        read_json(b'{"a":1e400}')


def test_half_a_surrogate_pair_and_broken_utf8_become_replacement_characters() -> None:
    assert read_json(b'["\\ud800x", "\xff"]') == ["\ufffdx", "\ufffd"]


def test_nesting_is_bounded() -> None:
    with pytest.raises(JsonError, match="exceeded max depth"):
        read_json(b"[" * 20_000 + b"]" * 20_000)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12345678901234567890.0, "12345678901234567000"),
        (2.0**63, "9223372036854776000"),
        (-1e20, "-100000000000000000000"),
        (1e21, "1e+21"),
        (1e16, "10000000000000000"),
        (2.0, "2"),
        (-0.0, "0"),
        (2.5, "2.5"),
        (1.05, "1.05"),
        ("1.0", '"1.0"'),
        ("1.0,", '"1.0,"'),
        ({"1.0]": 3.0}, '{"1.0]":3}'),
        ("1e+19", '"1e+19"'),
        ('\\"1e+19', r'"\\\"1e+19"'),
    ],
)
def test_whole_floats_are_written_with_the_digits_that_go_writes(value: object, text: str) -> None:
    assert with_digits(orjson.dumps([value, "+"])).decode() == f'[{text},"+"]'


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        (b"\xff", "\ufffd"),
        (b"\xe2\x82", "\ufffd\ufffd"),
        (b"\xf0\x90\x80", "\ufffd\ufffd\ufffd"),
        (b"\xe2(", "\ufffd("),
        (b"\xe2\x82\xac", "€"),
    ],
)
def test_each_byte_that_is_part_of_no_character_is_replaced(sent: bytes, text: str) -> None:
    assert read_json(b'{"a":"x' + sent + b'y"}') == {"a": f"x{text}y"}

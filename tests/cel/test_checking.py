"""What the parser and the type checker refuse, and in which words."""

import pytest

from watchkeeper.cel import types as t
from watchkeeper.cel.environment import FieldDef, StructDef, base_environment
from watchkeeper.cel.source import CompileError

ENV = base_environment().extend(
    {"self": t.struct("selfType"), "m": t.map_of(t.STRING, t.INT), "l": t.list_of(t.STRING)},
    [StructDef("selfType", {"size": FieldDef("size", t.INT), "n__dash__m": FieldDef("n-m", t.STRING)})],
)
OPERANDS = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)


ARGUMENTS = OPERANDS.replace("'('", "'(', ')'")
INDICES = OPERANDS.replace("'!'", "'!', '?'")
FIELDS = "{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}"


@pytest.mark.parametrize(
    ("source", "issues"),
    [
        ("", [f"1:0: mismatched input '<EOF>' expecting {OPERANDS}"]),
        ("a b c", ["1:3: mismatched input 'b' expecting <EOF>"]),
        ("not a", ["1:5: extraneous input 'a' expecting <EOF>"]),
        ("|| a", [f"1:1: extraneous input '||' expecting {OPERANDS}"]),
        ("in self", [f"1:1: extraneous input 'in' expecting {OPERANDS}"]),
        ("a ?? b", [f"1:4: extraneous input '?' expecting {OPERANDS}", "1:7: mismatched input '<EOF>' expecting ':'"]),
        ("a ? b", ["1:6: mismatched input '<EOF>' expecting ':'"]),
        ("!", [f"1:2: extraneous input '<EOF>' expecting {OPERANDS}"]),
        ("[1,2", ["1:5: mismatched input '<EOF>' expecting {']', ','}"]),
        ("[1,,2]", ["1:4: mismatched input ',' expecting ']'"]),
        ("{1:2,,}", ["1:6: extraneous input ',' expecting '}'"]),
        ("{'a'", ["1:5: mismatched input '<EOF>' expecting ':'"]),
        ("a[1", ["1:4: missing ']' at '<EOF>'"]),
        ("T{1: 2}", [f"1:3: mismatched input '1' expecting {FIELDS}"]),
        ("a..b", ["1:3: no viable alternative at input '..'"]),
        ("a.", ["1:3: no viable alternative at input '.'"]),
        ("self.true == 1", ["1:6: mismatched input 'true' expecting IDENTIFIER"]),
        (
            "self.in",
            ["1:6: no viable alternative at input '.in'", f"1:8: mismatched input '<EOF>' expecting {OPERANDS}"],
        ),
        (
            "a.in == b",
            ["1:3: no viable alternative at input '.in'", f"1:6: extraneous input '==' expecting {OPERANDS}"],
        ),
        ("a.in[0]", ["1:3: no viable alternative at input '.in'"]),
        (
            "a.null && b.false",
            [
                "1:3: mismatched input 'null' expecting IDENTIFIER",
                "1:13: mismatched input 'false' expecting IDENTIFIER",
            ],
        ),
        ("a.(b)", ["1:3: no viable alternative at input '.('"]),
        ("a.?true", ["1:4: mismatched input 'true' expecting {IDENTIFIER, ESC_IDENTIFIER}"]),
        ("f(1,)", [f"1:5: mismatched input ')' expecting {OPERANDS}"]),
        ("f(,)", [f"1:3: extraneous input ',' expecting {ARGUMENTS}"]),
        ("a[]", [f"1:3: mismatched input ']' expecting {INDICES}"]),
        ("[a b]", ["1:4: extraneous input 'b' expecting {']', ','}"]),
        ("[1,", ["1:4: missing ']' at '<EOF>'"]),
        ("{a b}", ["1:4: missing ':' at 'b'"]),
        ("a ? b c", ["1:7: missing ':' at 'c'"]),
        ("-", ["1:2: no viable alternative at input '-'", f"1:2: mismatched input '<EOF>' expecting {OPERANDS}"]),
        ("--", ["1:3: no viable alternative at input '-'", f"1:3: mismatched input '<EOF>' expecting {OPERANDS}"]),
        ("!-a", ["1:3: no viable alternative at input '-a'"]),
        ("self.`a-b` == a.?`c`", ["1:6: unsupported syntax: '`'", "1:18: unsupported syntax: '`'"]),
        ("has(self.`a-b`)", ["1:10: unsupported syntax: '`'"]),
        (
            "*",
            [f"1:1: mismatched input '*' expecting {OPERANDS}", f"1:2: mismatched input '<EOF>' expecting {OPERANDS}"],
        ),
        ("(", [f"1:2: mismatched input '<EOF>' expecting {OPERANDS}"]),
        ("..", ["1:2: no viable alternative at input '..'"]),
        ("a/../b", ["1:4: no viable alternative at input '..'"]),
        ("a?.", ["1:4: no viable alternative at input '.'"]),
        (
            "a.b[*]",
            [f"1:5: mismatched input '*' expecting {INDICES}", f"1:6: mismatched input ']' expecting {OPERANDS}"],
        ),
        (
            "a[*].b",
            [f"1:3: mismatched input '*' expecting {INDICES}", f"1:4: extraneous input ']' expecting {OPERANDS}"],
        ),
        ("{{x}}", ["1:4: mismatched input '}' expecting ':'", "1:5: mismatched input '}' expecting ':'"]),
        ("if a then b", ["1:1: reserved identifier: if", "1:4: mismatched input 'a' expecting <EOF>"]),
        ("a = 1", ["1:3: token recognition error at: '= '", "1:5: extraneous input '1' expecting <EOF>"]),
        ("a === b", ["1:5: token recognition error at: '= '"]),
        ("'x", ["1:1: token recognition error at: ''x'", f"1:3: mismatched input '<EOF>' expecting {OPERANDS}"]),
        ("'''x", ["1:3: token recognition error at: ''x'"]),
        (r"'a\qb'", [r"1:1: token recognition error at: ''a\q'", "1:6: token recognition error at: '''"]),
        (
            r"'\u12'",
            [r"1:1: token recognition error at: ''\u12''", f"1:7: mismatched input '<EOF>' expecting {OPERANDS}"],
        ),
        (
            r"b'\400'",
            [
                r"1:2: token recognition error at: ''\4'",
                "1:5: extraneous input '00' expecting <EOF>",
                "1:7: token recognition error at: '''",
            ],
        ),
    ],
)
def test_syntax_errors_are_those_of_a_parser_that_goes_on_behind_them(source: str, issues: list[str]) -> None:
    with pytest.raises(CompileError) as caught:
        ENV.compile(source)
    found = [text.partition("\n")[0] for text in str(caught.value).split("ERROR: <input>:")[1:]]
    assert [text.replace("Syntax error: ", "", 1) for text in found] == issues


@pytest.mark.parametrize("source", [r"'\ud800'", r"'\U00110000'"])
def test_a_code_point_that_is_none_is_told_at_its_string(source: str) -> None:
    with pytest.raises(CompileError) as caught:
        ENV.compile(f"1 == {source}")
    assert "ERROR: <input>:1:6: invalid unicode code point" in str(caught.value)


@pytest.mark.parametrize(
    ("source", "place", "message"),
    [
        ("self.size >", 12, f"Syntax error: mismatched input '<EOF>' expecting {OPERANDS}"),
        ("(1", 3, "Syntax error: missing ')' at '<EOF>'"),
        ("1 2", 3, "Syntax error: extraneous input '2' expecting <EOF>"),
        ("for", 1, "reserved identifier: for"),
        ("self.nothing == 1", 5, "undefined field 'nothing'"),
        ("nothing == 1", 1, "undeclared reference to 'nothing' (in container '')"),
        ("Nothing{x: nothing}", 8, "undeclared reference to 'Nothing' (in container '')"),
        ("1 + 'x'", 3, "found no matching overload for '_+_' applied to '(int, string)'"),
        ("self.size == 'x'", 11, "found no matching overload for '_==_' applied to '(int, string)'"),
        ("'a'.foo()", 8, "undeclared reference to 'foo' (in container '')"),
        ("l.startsWith('a')", 13, "found no matching overload for 'startsWith' applied to 'list(string).(string)'"),
        ("l.x", 2, "type 'list(string)' does not support field selection"),
        ("l.all(1, true)", 7, "argument must be a simple name"),
        ("has(1)", 5, "invalid argument to has() macro"),
        ("m.all(x, x)", 10, "expected type 'bool' but found 'string'"),
        ("1.all(x, true)", 1, ""),
        ("[1, 'a']", 5, "expected type 'int' but found 'string'"),
        ("'a'.matches('(')", 13, "invalid matches argument"),
        ("duration('x') == duration('1s')", 10, "invalid duration argument"),
        ("duration(5) == duration('5s')", 10, "invalid duration argument"),
        (
            "'%d'.format(['a'])",
            14,
            "error during formatting: decimal clause can only be used on integers, was given string",
        ),
        (
            "'%s'.format([[1, {ip('::1'): 2}]])",
            21,
            "error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, "
            "lists, types, durations, and timestamps, was given net.IP",
        ),
        (
            "'%.9999999999999999999f'.format([1.0])",
            32,
            "could not parse formatting clause: error while parsing precision: error while converting precision to "
            'integer: strconv.Atoi: parsing "9999999999999999999": value out of range',
        ),
        ("'%d'.format([1, 2])", 12, "too many arguments supplied to string.format (expected 1, got 2)"),
        ("true && 1", 9, "expected type 'bool' but found 'int'"),
    ],
)
def test_a_wrong_expression_is_refused_at_its_place(source: str, place: int, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        ENV.compile(source)
    first = str(caught.value).split("\n")
    if message:
        assert first[0] == f"ERROR: <input>:1:{place}: {message}"
        assert first[1] == f" | {source}"
        assert first[2] == f" | {'.' * (place - 1)}^"


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("self.size", "int"),
        ("self.n__dash__m", "string"),
        ("[1, 2]", "list(int)"),
        ("[]", "list(dyn)"),
        ("{'a': [1.5]}", "map(string, list(double))"),
        ("l.map(x, size(x))", "list(int)"),
        ("m.?a", "optional_type(int)"),
        ("type(l)", "type(list(string))"),
        ("timestamp('2024-01-01T00:00:00Z') - timestamp('2024-01-01T00:00:00Z')", "duration"),
        ("true ? dyn(1) : 2", "dyn"),
    ],
)
def test_the_type_of_an_expression_is_inferred(source: str, kind: str) -> None:
    assert str(ENV.compile(source).type) == kind


def test_every_line_of_the_source_is_counted() -> None:
    with pytest.raises(CompileError) as caught:
        ENV.compile("self.size > 1 &&\n  self.nope")
    assert str(caught.value) == "ERROR: <input>:2:7: undefined field 'nope'\n |   self.nope\n | ......^"


@pytest.mark.parametrize(
    ("source", "lines", "place"),
    [
        ("*" * 30, 32, 31),
        ("*" * 9000, 32, 31),
        ("a.b[*]&&" * 40 + "a", 32, 125),
        (".. && " * 40 + "a", 17, 91),
        ("{a} && " * 35 + "a", 16, 108),
    ],
)
def test_the_parser_gives_up_after_thirty_recoveries_however_long_an_expression_is(
    source: str, lines: int, place: int
) -> None:
    with pytest.raises(CompileError) as caught:
        ENV.compile(source)
    told = [line for line in str(caught.value).split("\n") if line.startswith("ERROR: ")]
    assert len(told) == lines
    assert f"ERROR: <input>:1:{place}: Syntax error: error recovery attempt limit exceeded: 30" in told


def nested(opening: str, inner: str, closing: str, times: int) -> str:
    return opening * times + inner + closing * times


CHAINS = {
    "brackets": (lambda n: nested("(", "true", ")", n), 249),
    "calls": (lambda n: nested("int(", "1", ")", n), 249),
    "conditions": (lambda n: nested("true ? true : ", "false", "", n), 249),
    "sums": (lambda n: nested("1 + (", "1", ")", n), 124),
    "products": (lambda n: nested("1 + 2 * (", "1", ")", n), 83),
    "comparisons": (lambda n: nested("true == (", "true", ")", n), 124),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_an_expression_may_nest_as_deep_as_cel_go_takes_it(chain: str) -> None:
    make, most = CHAINS[chain]
    ENV.compile(make(most))
    with pytest.raises(CompileError) as refused:
        ENV.compile(make(most + 1))
    assert str(refused.value) == "ERROR: <input>:-1:0: expression recursion limit exceeded: 250"


FLAT = {
    "sums": (lambda n: " + ".join(["1"] * (n + 1)), 250),
    "comparisons": (lambda n: " == ".join(["true"] * (n + 1)), 250),
    "indices": (lambda n: "l" + "[0]" * n, 250),
    "methods": (lambda n: "l[0]" + ".lowerAscii()" * n, 249),
    "selections": (lambda n: "dyn(self)" + ".a" * n, 250),
    "in arguments": (lambda n: "'a'.startsWith(l[0]" + ".lowerAscii()" * n + ")", 248),
}


@pytest.mark.parametrize("chain", FLAT)
def test_as_many_operators_may_stand_in_each_other(chain: str) -> None:
    make, most = FLAT[chain]
    if chain == "indices":
        with pytest.raises(CompileError, match="no matching overload"):
            ENV.compile(make(most))
    else:
        ENV.compile(make(most))
    with pytest.raises(CompileError) as refused:
        ENV.compile(make(most + 1))
    assert str(refused.value) == "ERROR: <input>:-1:0: max recursion depth exceeded"


def test_any_number_of_terms_may_be_joined_by_logical_operators() -> None:
    for operator in ("&&", "||"):
        program = ENV.compile(f" {operator} ".join(["self.size == 1"] * 4000))
        assert program.evaluate({"self": {"size": 1}})[0] is True
        assert program.estimate(lambda path: None).high > 4000

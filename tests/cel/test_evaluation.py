"""Expressions and their values, by the interpreter and by the compiled function."""

import ipaddress
from collections.abc import Iterator

import pytest

from watchkeeper.cel import ast
from watchkeeper.cel import operators as op
from watchkeeper.cel import types as t
from watchkeeper.cel.environment import base_environment
from watchkeeper.cel.maps import KeyedMap
from watchkeeper.cel.source import CompileError, InstantiationError
from watchkeeper.cel.values import CostLimitExceeded, EvalError, Uint
from watchkeeper.meta.addresses import AddressError, parse_address

DATA = {
    "self": {"min": 1, "max": 5, "labels": {"ab": "1"}, "ports": [{"name": "main", "port": 1}, {"name": "b"}]},
    "m": {"a": 1},
    "l": ["x", "y"],
}
ENV = base_environment().extend(
    {"self": t.DYN, "m": t.map_of(t.STRING, t.INT), "l": t.list_of(t.STRING)},
)

TRUE = [
    "url('//x/y#z').getHost() == 'x' && url('/x').getHost() == '' && quantity('-') == quantity('0')",
    "self.min <= self.max && self.max % 2 == 1",
    "1 + 2 * 3 == 7 && -7 / 2 == -3 && -5 % 3 == -2",
    "self.ports.exists_one(p, p.name == 'main')",
    "!has(self.box) && has(self.labels.ab) && 'ab' in self.labels",
    "l.all(x, x.matches('^[a-z]$')) && l.exists(x, x == 'y')",
    "[1, 2, 3].map(x, x * 2) == [2, 4, 6] && [1, 2, 3].filter(x, x > 1).size() == 2",
    "[1, 2, 3].map(x, x > 1, x * 2) == [4, 6]",
    "[1, 2].transformList(i, v, i * v) == [0, 2] && {'a': 1}.transformMap(k, v, v + 1) == {'a': 2}",
    "l.all(i, v, i < 2 && v != '') && {'a': 1}.exists(k, v, k == 'a' && v == 1)",
    "'%s is %d, not %.1f or %x'.format(['a', 3, 2.55, 255]) == 'a is 3, not 2.5 or ff'",
    "'a-b-c'.split('-') == ['a', 'b', 'c'] && ['a', 'b'].join('+') == 'a+b'",
    "'tacocat'.indexOf('c') == 2 && 'tacocat'.lastIndexOf('c') == 4 && 'tacocat'.substring(2, 4) == 'co'",
    "'ÀB'.lowerAscii() == 'Àb' && ' x '.trim() == 'x' && 'aXbX'.replace('X', '', 1) == 'abX'",
    "'abc 123'.find('[0-9]+') == '123' && 'a1b2'.findAll('[0-9]') == ['1', '2']",
    "duration('1h30m').getMinutes() == 90 && timestamp('2024-02-29T10:00:00Z').getDayOfYear() == 59",
    "timestamp('2024-01-01T00:00:00+01:00') + duration('1h') == timestamp('2024-01-01T00:00:00Z')",
    "timestamp('2023-07-04T00:00:00Z').getHours('America/New_York') == 20",
    "quantity('1Gi').isGreaterThan(quantity('1G')) && quantity('500m').add(quantity('1.5')) == quantity('2')",
    "timestamp('2024-02-29T23:30:00Z').getHours('25:00') == 0",
    "timestamp('2024-02-29T23:30:00Z').getDate('-100:30') == 25 && timestamp(0).getMinutes('+1:-15') == 45",
    "timestamp('0001-01-01T00:00:00Z').getFullYear('-01:00') == 0",
    "timestamp('0001-01-01T00:00:00Z').getDayOfYear('-01:00') == 365",
    "timestamp('9999-12-31T23:30:00Z').getFullYear('Asia/Tokyo') == 10000",
    "timestamp('9999-12-31T23:30:00Z').getDayOfWeek('01:00') == 6",
    "double('1_0e1_0') == 1e11 && double('0x_1.8P1') == 3.0 && double('-Inf') < 0.0",
    "url('https://h?a=%zz&b=1;c=2&d+e=f%20g&&h').getQuery() == {'d e': ['f g'], 'h': ['']}",
    "string(duration('9223372036.854775807s')) == '9223372036.854776s' && string(duration('-1ns')) == '-0.000000001s'",
    "!quantity('9223372036854775807').isInteger() && quantity('999999999999999999').asInteger() == 999999999999999999",
    "!quantity('1e19').isInteger() && quantity('9e18').isInteger() && !quantity('1.0').isInteger()",
    "quantity('1000m').isInteger() == false && quantity('9e18').add(quantity('9e18')).isInteger() == false",
    "quantity('1e-12') == quantity('1n') && quantity('16Ei') == quantity('9223372036854775807')",
    "quantity('0.3').asApproximateFloat() == 3.0 * 0.1 && string(quantity('1e999').asApproximateFloat()) == '+Inf'",
    "string(quantity('1e999').add(quantity('1')).asApproximateFloat()) == '+Inf'",
    "sign(quantity('-3')) == -1 && sign(quantity('0')) == 0 && sign(quantity('1m')) == 1",
    "cidr('10.0.0.0/8').containsIP('10.1.1.1') && !cidr('10.0.0.0/8').containsCIDR('11.0.0.0/16')",
    "isIP('::1') && !isIP('01.2.3.4') && ip('10.0.0.1').family() == 4 && !ip.isCanonical('2001:DB8::1')",
    "semver('1.2.3-rc.1').isLessThan(semver('1.2.3')) && isSemver('v1.0', true) && !isSemver('1.0')",
    "url('https://user@h.example:80/x%20y?q=1&q=2').getQuery() == {'q': ['1', '2']} && !isURL('../x')",
    "format.dns1123Label().validate('A').hasValue() && !format.named('nope').hasValue()",
    "m.?z.orValue(7) == 7 && m[?'a'].value() == 1 && optional.of(1).optMap(x, x + 1).value() == 2",
    "[3, 1, 2].sort() == [1, 2, 3] && [3, 1, 2].sortBy(x, -x) == [3, 2, 1] && [1, 2, 2].distinct() == [1, 2]",
    "sets.contains([1, 2, 3], [2]) && sets.equivalent([1, 1], [1]) && !sets.intersects([1], [2])",
    "[1, 2, 3].sum() == 6 && ['b', 'a'].min() == 'a' && [1, 2].isSorted() && ['a', 'b'].indexOf('b') == 1",
    "type(1) == int && type('a') != int && dyn(1) == 1.0 && 1u == dyn(1)",
    "string(1.5e30) == '1.5e+30' && string(0.25) == '0.25' && int('-12') == -12 && double('1e3') == 1000.0",
    "b'abc' == bytes('abc') && '\\u00e9'.size() == 1 && bytes('\\u00e9').size() == 2",
    "1 / 0 == 1 || true",
    "[0, 1].exists(x, 1 / x == 1)",
    "url('http://a/b?x=1#c').getEscapedPath() == '/b' && url('http://a/b?x=1#c').getQuery() == {'x': ['1']}",
    "!isURL('http://#%blah$#@')",
    "url('http://a/b c%2F').getEscapedPath() == '/b%20c/' && url('http://a/b%2Fc!').getEscapedPath() == '/b%2Fc!'",
    "'%.8e'.format([1234.5]) == '1.234500×10⁰³' && '%.15e'.format([1.0]) == '  1.000000×10⁰⁰'",  # noqa: RUF001
    "'%.256f'.format([1.0]) == '1' && '%.258f'.format([1.125]) == '1.125' && '%.999999999f'.format([1.0]).size() < 999",
    "'%e'.format([3.14]) == '3.140000×10⁰⁰'",  # noqa: RUF001
    "string(timestamp('2011-08-18T19:03:37.01+01:00')) == '2011-08-18T19:03:37.01+01:00'",
    "string(timestamp('2011-08-18T23:30:00-08:30') + duration('1h')) == '2011-08-19T00:30:00-08:30'",
    "timestamp('2011-08-18T19:03:37+01:00').getHours() == 18",
    "!optional.ofNonZeroValue(timestamp('0001-01-01T00:00:00Z')).hasValue()",
    "optional.ofNonZeroValue(timestamp(0)).hasValue() && !optional.ofNonZeroValue(duration('0s')).hasValue()",
]


@pytest.mark.parametrize("source", TRUE)
def test_an_expression_is_true_in_both_evaluators(source: str) -> None:
    program = ENV.compile(source)
    value, cost = program.evaluate(dict(DATA))
    assert value is True
    assert 0 <= cost <= program.estimate(lambda path: None).high
    function = program.compiled(list(DATA))
    if function is not None:
        try:
            assert function(*DATA.values()) is True
        except Exception:
            assert "/" in source  # errors that one side of || absorbs are the interpreter's business


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("dyn([1.0, 2.5]).sum()", 3.5),
        ("dyn([duration('1s')]).sum()", 10**9),
        ("dyn([]).sum()", 0),
        ("dyn([1, 2]).flatten()", [1, 2]),
    ],
)
def test_the_first_item_of_a_list_decides_which_overload_takes_it(source: str, value: object) -> None:
    assert ENV.compile(source).evaluate(dict(DATA))[0] == value


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("self.nope", "no such key: nope"),
        ("m.b", "no such key: b"),
        ("l[5] == 'x'", "index out of bounds: 5"),
        ("1 / 0", "division by zero"),
        ("1 % 0", "modulus by zero"),
        ("9223372036854775807 + 1", "integer overflow"),
        ("0u - 1u", "unsigned integer overflow"),
        ("int('x' + 'y')", "type conversion error from 'string' to 'int'"),
        ("duration('x' + 'y')", "type conversion error from 'string' to 'google.protobuf.Duration'"),
        ("duration(self.min)", "type conversion error from 'int' to 'google.protobuf.Duration'"),
        ("bool('x' + 'y')", "type conversion error from 'string' to 'bool'"),
        ("self.min + 'a'", "no such overload"),
        ("dyn(null) + 1", "no such overload: _+_"),
        ("dyn(null) < 1", "no such overload: _<_"),
        ("size(self.min)", "no such overload: size"),
        ("dyn('a').getFullYear()", "no such overload: getFullYear(string)"),
        ("string(self.ports)", "no such overload: string(list)"),
        ("int(self.labels.?x.orValue(null))", "no such overload: int(null_type)"),
        ("self.min.all(x, x)", "got 'types.Int', expected iterable type"),
        ("dyn(null).x", "no such key: x"),
        ("self.min.x", "no such key: x"),
        ("self.min['x']", "no such key: x"),
        ("self.ports.name", "unsupported index type 'string' in list"),
        ("self.ports.?name", "unsupported index type 'string' in list"),
        ("self.ports['name']", "unsupported index type 'string' in list"),
        ("self.ports[1.5]", "unsupported index value 1.5 in list"),
        ("[0, 1].all(x, 1 / x == 1)", "division by zero"),
        ("optional.none().value()", "optional.none() dereference"),
        ("quantity('1Ki1')", "unable to parse quantity's suffix"),
        (
            "ip('1.2.3.400')",
            'IP Address "1.2.3.400" parse error during conversion from string: ParseAddr("1.2.3.400"): '
            "IPv4 field has value >255",
        ),
        (
            "cidr('1.2.3.4/33')",
            "network address parse error during conversion from string: network address parse error during conversion "
            'from string: netip.ParsePrefix("1.2.3.4/33"): prefix length out of range',
        ),
        ("'%s'.format([dyn([optional.of(1)])])", "error during formatting: no formatting function for optional_type"),
        ("'%s'.format([dyn({'a': ip('::1')})])", "error during formatting: no formatting function for net.IP"),
        ("cidr('1.0.0.0/8').containsIP('x')", "no such overload"),
        ("timestamp(0).getHours('x:00')", 'strconv.Atoi: parsing "x": invalid syntax'),
        (
            "timestamp(0).getHours('9223372036854775808:00')",
            'strconv.Atoi: parsing "9223372036854775808": value out of range',
        ),
        ("timestamp(0).getHours('../UTC')", "time: invalid location name"),
        ("timestamp(0).getHours('utc/x')", "unknown time zone utc/x"),
        ("duration('9223372036s') + duration('9223372036s')", "integer overflow"),
        ("timestamp('9999-01-01T00:00:00Z') - timestamp('0001-01-01T00:00:00Z')", "integer overflow"),
        ("'abc'.substring(3, 1)", "invalid substring range. start: 3, end: 1"),
        ("[1].slice(0, 2)", "cannot slice(0, 2), list is length 1"),
        (
            "quantity('x')",
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
    ],
)
def test_an_error_says_what_went_wrong(source: str, message: str) -> None:
    program = ENV.compile(source)
    with pytest.raises(EvalError) as caught:
        program.evaluate(dict(DATA))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("source", "cost"),
    [
        ("double(5) < 10.0", 1),
        ("duration('1h') == duration('60m')", 1),
        ("[5, 1, 2, 3].reverse() == [3, 2, 1, 5]", 16),
        ("lists.range(0) == []", 11),
        ("[].sortBy(e, e) == []", 14),
        ("dyn([1, 2, 3, 4]).flatten() == [1, 2, 3, 4]", 16),
        ("{'a': 1} == m", 2),
        ("l[0] in ['x', 'y']", 2),
        ("l[3] in []", 0),
        ("m.exists_one(k, m[k] == 1)", 8),
        ("m.exists_one(k, m[k] == 2)", 6),
        ("m.a == 1 ? m.a : m.b", 4),
        ("optional.of('a').or(optional.of('a')).hasValue()", 2),
        ("m.?b == optional.none()", 3),
        ("m.?a.orValue(2) == 1", 3),
        ("l.all(x, x == 'x' || m.b == 1) || true", 15),
        ("{'a': m}.a.a == 1", 35),
    ],
)
def test_what_is_constant_or_looked_up_for_another_expression_costs_nothing(source: str, cost: int) -> None:
    assert ENV.compile(source).evaluate(dict(DATA))[1] == cost


def test_evaluation_stops_when_it_costs_too_much() -> None:
    program = ENV.compile("l.all(x, l.all(y, l.all(z, x + y + z != '')))")
    big = {**DATA, "l": ["abc"] * 60}
    with pytest.raises(CostLimitExceeded, match="operation cancelled: actual cost limit exceeded"):
        program.evaluate(big)
    value, _ = program.evaluate({**DATA, "l": ["abc"] * 3})
    assert value is True


def test_numbers_of_different_types_compare_by_value_but_booleans_do_not() -> None:
    assert op.equals(1, 1.0)
    assert op.equals(Uint(1), 1)
    assert not op.equals(True, 1)
    assert not op.equals([True], [1])
    assert not op.has_key(KeyedMap([(1, "a")]), True)
    assert op.has_key(KeyedMap([(True, "a")]), True)


def test_a_variable_of_a_loop_hides_one_of_the_environment() -> None:
    env = base_environment().extend({"y.z": t.INT, "y": t.INT})
    assert env.compile("[{'z': 0}].exists(y, y.z == 0)").evaluate({"y.z": 42, "y": 1})[0] is True


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("int('x') == 1", "type conversion error from 'string' to 'int'"),
        ("uint(-1) == 1u", "unsigned integer overflow"),
        ("string(b'\\xff') == ''", "invalid UTF-8 in bytes, cannot convert to string"),
        ("double('1__0') == 1.0", "type conversion error from 'string' to 'double'"),
        ("double('+nan') == 1.0", "type conversion error from 'string' to 'double'"),
        ("double('0x1.8') == 1.0", "type conversion error from 'string' to 'double'"),
        ("bool(string('x'))", "type conversion error from 'string' to 'bool'"),
    ],
)
def test_a_constant_that_cannot_be_converted_makes_no_program(source: str, problem: str) -> None:
    with pytest.raises(InstantiationError) as caught:
        ENV.compile(source)
    assert str(caught.value) == problem


def test_what_is_no_map_has_no_fields() -> None:
    source = "has(self.min.x) || self.min.?x.hasValue() || self.min[?'x'].hasValue() || self.ports[?9].hasValue()"
    assert ENV.compile(source).evaluate(dict(DATA))[0] is False


@pytest.mark.parametrize(
    "source",
    [
        "{dyn(1): 'a', dyn(true): 'b', dyn(1u): 'c'}.size() == 3 && {1: 'a', 1: 'b'} == {1: 'b'}",
        "{dyn(1): 'a', dyn(true): 'b'}[dyn(true)] == 'b' && {dyn(1): 'a', dyn(true): 'b'}[dyn(1.0)] == 'a'",
        "{dyn(1u): 'a', dyn(true): 'b'}[dyn(1)] == 'a' && !(dyn(true) in {1: 'a'}) && !(dyn(1) in {'1': 'a'})",
        "!({dyn(1): 'a'} == {dyn(true): 'a'}) && {1: 'a'} == dyn({1u: 'a'})",
        "!({dyn(1): 'a'} == {dyn(1.0): 'a'}) && {dyn(1.0): 'a'} == {dyn(1): 'a'}",
        "dyn(1.0) in {dyn(1.0): 'a'} && !(dyn(1) in {dyn(1.0): 'a'}) && dyn(null) in {dyn(null): 'a'}",
        "!(dyn([1]) in {dyn([1]): 2}) && [dyn([1])].map(x, x in {x: 2})[0] && {dyn(1.5): 1}.map(k, k) == [1.5]",
        "{dyn(1): 'a', dyn(true): 'b'}.exists(k, v, type(k) == bool && v == 'b') && !has(dyn({true: 1}).x)",
        "{dyn('x'): 1, dyn(1): 2}.x == 1 && {?dyn(1): optional.of('a'), ?dyn(true): optional.none()}.size() == 1",
        "[dyn(1), dyn(true)].transformMapEntry(i, v, {v: i}).size() == 2 && !{1: 'a'}[?dyn(true)].hasValue()",
        "'%s'.format([{dyn(1): 'a', dyn(true): {'x': 1}}]) == '{1:\"a\", true:{\"x\":1}}'",
    ],
)
def test_keys_of_several_types_are_told_apart(source: str) -> None:
    assert ENV.compile(source).evaluate(dict(DATA))[0] is True


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{dyn(1): 2}[[dyn(null)][0]]", "invalid qualifier type: types.Null"),
        ("{dyn(1): 2}[[dyn([1])][0]]", "invalid qualifier type: *types.baseList"),
        ("[1][[dyn(duration('1s'))][0]]", "invalid qualifier type: types.Duration"),
        ("{true: 1}[[dyn(1.0)][0]]", "no such key: 1"),
        ("{1: 'a'}[[dyn(9007199254740992.0)][0]]", "no such key: 9.007199254740992e+15"),
        ("{'a': 1, 'b': 2}.transformMapEntry(k, v, {v > 0: k})", "insert failed: key true already exists"),
        (
            "'%s'.format([{1.5: 'a'}])",
            "error during formatting: no formatting function for map key of type double",
        ),
    ],
)
def test_what_is_no_key_of_a_map_is_told_as_the_reference_tells_it(source: str, message: str) -> None:
    with pytest.raises(EvalError) as caught:
        ENV.compile(source).evaluate(dict(DATA))
    assert str(caught.value) == message


def test_a_constant_that_nothing_can_be_looked_up_by_makes_no_program() -> None:
    with pytest.raises(InstantiationError, match=r"invalid qualifier type: types\.Null"):
        ENV.compile("{dyn(1): 2}[dyn(null)] == 2")


def test_the_last_value_of_a_repeated_key_counts() -> None:
    assert ENV.compile("{self.min: 1, self.min: 2} == {self.min: 2}").evaluate(dict(DATA))[0] is True


def test_exists_one_takes_one_variable_or_two_and_its_other_name_only_two() -> None:
    assert ENV.compile("[5, 6].exists_one(i, v, i == 1)").evaluate(dict(DATA))[0] is True
    assert ENV.compile("[5, 6].existsOne(i, v, v == 5)").evaluate(dict(DATA))[0] is True
    with pytest.raises(CompileError, match="undeclared reference to 'existsOne'"):
        ENV.compile("[5].existsOne(v, v == 5)")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("abc", "unable to parse IP"),
        ("1.2.3", "IPv4 address too short"),
        ("1.2.3.4.5", "IPv4 address too long"),
        ("01.2.3.4", "IPv4 field has octet with leading zero"),
        ("1..3.4", 'IPv4 field must have at least one digit (at ".3.4")'),
        ("1.2.3.x", 'unexpected character (at "x")'),
        ("1%eth0", "missing IPv6 address"),
        ("fe80:::1", 'each colon-separated field must have at least one digit (at ":1")'),
        ("g::1", 'each colon-separated field must have at least one digit (at "g::1")'),
        ("12345::", 'each group must have 4 or less digits (at "12345::")'),
        ("1::2::3", 'multiple :: in address (at ":3")'),
        ("1:2:3", "address string too short"),
        ("1:2:3:4:5:6:7:8:9", 'trailing garbage after address (at "9")'),
        ("1:2:3:4:5:6:7:8::", "the :: must expand to at least one field of zeros"),
        ("1:", 'colon must be followed by more characters (at ":")'),
        ("::1%", "zone must be a non-empty string"),
        ("1:1.2.3.4", 'embedded IPv4 address must replace the final 2 fields of the address (at "1.2.3.4")'),
    ],
)
def test_what_is_no_address_is_told_as_go_tells_it(text: str, why: str) -> None:
    with pytest.raises(AddressError) as caught:
        parse_address(text)
    assert str(caught.value) == f'ParseAddr("{text}"): {why}'


@pytest.mark.parametrize("text", ["::", "::1", "1::", "fe80::1:2", "::1.2.3.4", "1:2:3:4:5:6:7:8", "10.0.0.255"])
def test_addresses_are_read_as_python_reads_them(text: str) -> None:
    assert parse_address(text) == (ipaddress.ip_address(text), "")


def test_loops_within_loops_are_looked_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = 0

    def counted(node: ast.Expr) -> Iterator[ast.Expr]:
        nonlocal looked_at
        for found in walk(node):
            looked_at += 1
            yield found

    walk = ast.walk
    program = ENV.compile("[1].all(x, " * 100 + "true" + ")" * 100)
    monkeypatch.setattr(ast, "walk", counted)
    program.compiled(list(DATA))
    assert 100 < looked_at < 2000


def test_a_loop_next_to_one_in_a_loop_may_not_hold_a_temporary() -> None:
    program = ENV.compile("[1].exists(x, [x].exists(y, y == 1)) && [1].all(x, self.?box.orValue(x) == x)")
    assert program.evaluate(dict(DATA))[0] is True
    assert program.compiled(list(DATA)) is None

"""Regular expressions: RE2 syntax, Go's refusals, and no pattern that takes forever."""

import asyncio
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchkeeper.cel.regex import RegexError, TooCostly, compile_given, compile_pattern
from watchkeeper.cel.regex.automaton import Automaton
from watchkeeper.cel.regex.backtracking import safe_length
from watchkeeper.cel.regex.parser import parse
from watchkeeper.cel.regex.program import Program
from watchkeeper.cel.regex.threads import Threads
from watchkeeper.cel.regex.translate import to_python
from watchkeeper.cel.regex.unicode_classes import unicode_class
from watchkeeper.cel.regex.work import MAX_VISITS, TURN, Allowance

DNS = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"


def automaton(pattern: str) -> Automaton:
    return Automaton(Program(parse(pattern), counters=True))


def spans(pattern: str, text: str) -> tuple[int, int] | None:
    return Threads(parse(pattern)).find(text, 0, Allowance(len(text)))


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("a$", "a\n", False),
        ("(?m)a$", "a\nb", True),
        ("^b", "a\nb", False),
        (r"\d+", "٣", False),
        (r"\bfoo\b", "a foo.", True),
        (r"(?i)^ab[c-e]$", "ABD", True),
        (r"\pL", "é", True),
        (r"\p{Greek}", "a", False),
        ("[[:alpha:]]+", "12x", True),
        ("[^[:^digit:]]", "5", True),
        (r"\Qa.b\E", "a.b", True),
        (r"\x{e9}", "é", True),
        (".", "\n", False),
        ("(?s).", "\n", True),
        ("a{2,3}?$", "aaaa", True),
        ("{", "{", True),
        (DNS, "foo.example.com", True),
        (DNS, "foo..com", False),
        (r"^\z", "", True),
    ],
)
def test_a_pattern_means_what_it_means_in_go(pattern: str, text: str, found: bool) -> None:
    assert compile_pattern(pattern).search(text) is found
    assert automaton(pattern).search(text) is found
    assert (spans(pattern, text) is not None) is found


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(", "missing closing ): `(`"),
        ("a)", "unexpected ): `a)`"),
        ("[a", "missing closing ]: `[a`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        (r"\y", r"invalid escape sequence: `\y`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?P<n", "invalid named capture: `(?P<n`"),
        ("\\", "trailing backslash at end of expression: ``"),
        ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
    ],
)
def test_what_go_refuses_is_refused_in_its_words(pattern: str, message: str) -> None:
    with pytest.raises(RegexError) as caught:
        compile_pattern(pattern)
    assert str(caught.value) == f"error parsing regexp: {message}"


def test_nested_repetition_takes_linear_time() -> None:
    started = time.perf_counter()
    assert not compile_pattern("^(a+)+$").search("a" * 5000 + "b")
    assert not compile_pattern("(x|x)*y").search("x" * 5000)
    assert time.perf_counter() - started < 1


def test_all_matches_are_found_as_go_finds_them() -> None:
    assert list(compile_pattern("a*").find_all("baaac")) == ["", "aaa", ""]
    assert compile_pattern("b+").find("abbc") == "bb"
    assert compile_pattern("x").find("abc") is None


ATOMS = st.sampled_from(["a", "b", "[ab]", ".", "(?:ab|b)", "(?:a|b)", "(a)", "(?i:A)", "^", "$", r"\b"])
COUNTS = st.sampled_from(["", "*", "+", "?", "{1,2}", "{2}", "{2,}", "{0,3}", "*?", "+?", "??", "{1,3}?"])
PATTERNS = st.lists(st.tuples(ATOMS, COUNTS), max_size=5).map(
    lambda parts: "".join(atom if atom in "^$" or atom == r"\b" else atom + count for atom, count in parts)
)
NESTED = st.tuples(PATTERNS, st.sampled_from(["*", "+", "{2,3}", "{1,}"]), PATTERNS).map(
    lambda parts: f"(?:{parts[0]}b){parts[1]}{parts[2]}"
)


@settings(max_examples=300, deadline=None)
@given(PATTERNS | NESTED, st.text("abA \n", max_size=8))
def test_all_matchers_agree_with_the_backtracking_one(pattern: str, text: str) -> None:
    node = parse(pattern)
    found = re.search(to_python(node), text)
    assert automaton(pattern).search(text) is (found is not None)
    assert spans(pattern, text) == (found.span() if found is not None else None)


HOSTILE = [
    ("x*x*x*x*x*y", "x" * 4000, False),
    (".*.*.*.*=", "x" * 20_000, False),
    ("(x+x+)+y", "x" * 4000, False),
    ("^(a+)+$", "a" * 5000 + "b", False),
    ("(x|x)*y", "x" * 5000, False),
    ("(a|b)*a(a|b){500}$", "ab" * 3000, False),
    ("((a{0,30}){0,30})*c", "a" * 3000, False),
    (r"(([a-z]+\.){1,30}x){1,30}$", "ab.cd.ef." * 100, False),
    ("(.*)(.*)(.*)(.*)(.*)[^a]$", "a" * 5000, False),
    (DNS, "foo.example.com" * 16, True),
]


@pytest.mark.parametrize(("pattern", "text", "found"), HOSTILE, ids=[pattern for pattern, _, _ in HOSTILE])
def test_what_would_take_a_backtracking_matcher_for_ever_takes_its_share(pattern: str, text: str, found: bool) -> None:
    started = time.process_time()
    assert compile_pattern(pattern).search(text) is found
    assert (compile_pattern(pattern).find(text) is not None) is found
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("(ab){1000}" * 8 + "c", "ab" * 20_000), ("a{1000}" * 19, "a" * 30_000), ("(ab|ba){900}c", "abba" * 9000)],
)
def test_a_search_that_takes_too_long_is_given_up(pattern: str, text: str) -> None:
    started = time.process_time()
    with pytest.raises(TooCostly):
        compile_pattern(pattern).search(text)
    assert not compile_pattern(pattern).accepts(text)
    assert time.process_time() - started < 3


def test_finding_all_matches_is_bounded_too_and_says_so() -> None:
    with pytest.raises(TooCostly):
        list(compile_pattern("(a|b)*a(a|b){300}").find_all("ab" * 3000))
    assert list(compile_pattern("(a+)+b").find_all("ab" * 300)) == ["ab"] * 300


@pytest.mark.parametrize("pattern", ["(ab){1000}" * 30, "a" * 30_000, "x" * 100_000, "((a{10}b){30}c?){3}" * 120])
def test_a_pattern_that_is_too_large_is_refused_in_the_words_of_go(pattern: str) -> None:
    with pytest.raises(RegexError, match=r"^error parsing regexp: expression too large: `"):
        compile_pattern(pattern)


@pytest.mark.parametrize("nested", ["(" * 300 + "a*" + ")*" * 300, "(" * 2000 + "a" + ")" * 2000])
def test_a_pattern_that_nests_too_deeply_is_refused_in_the_words_of_go(nested: str) -> None:
    with pytest.raises(RegexError, match=r"^error parsing regexp: expression nests too deeply: `"):
        compile_pattern(nested)


def test_a_turn_of_the_loop_has_an_allowance_of_which_the_next_one_knows_nothing() -> None:
    pattern, text = compile_pattern("(ab|ba){900}c"), "abba" * 9000

    async def body() -> None:
        given = TURN.visits()
        assert given == MAX_VISITS
        for _ in range(10):
            assert not pattern.accepts(text)
        assert TURN.visits() < given
        assert compile_pattern(DNS).search("foo.example.com"), "what takes little is done all the same"
        await asyncio.sleep(0)
        assert TURN.visits() == given

    asyncio.run(body())


def test_counts_of_characters_are_kept_as_one_instruction() -> None:
    program = Program(parse("^.{0,1000},(?:a|b){3,}$"), counters=True)
    assert len(program.instructions) == 5
    for text, found in (("x" * 1000 + ",abab", True), ("x" * 1001 + ",aaa", False), ("x" * 500 + ",ab", False)):
        assert compile_pattern("^.{0,1000},(?:a|b){3,}$").search(text) is found


def test_short_texts_go_to_the_backtracking_matcher_as_far_as_that_is_safe() -> None:
    safe = {p: safe_length(parse(p)) for p in ("^[a-z]*$", "^[a-z]+-[a-z]+$", "[a-z]*x", "(a*)*", "^(a|b)*$")}
    assert safe["^[a-z]*$"] > 10_000
    assert 253 <= safe["^[a-z]+-[a-z]+$"] < 1000
    assert safe["[a-z]*x"] < 1000
    assert safe["(a*)*"] < 20
    assert safe["^(a|b)*$"] > 10_000


def test_classes_of_unicode_have_the_characters_that_they_should() -> None:
    for name, inside, outside in (("Lu", "AÉ", "aé1"), ("L", "aéß", "1 "), ("Greek", "αΩ", "aж"), ("Han", "漢", "あ")):
        for text, expected in ((inside, True), (outside, False)):
            assert all(compile_pattern(rf"\p{{{name}}}").search(ch) is expected for ch in text), (name, text)
    assert unicode_class("Klingon") is None


@pytest.mark.parametrize(
    ("name", "inside", "outside"),
    [
        ("Letter", "aÉ漢", "1 "),
        ("uppercase letter", "AÉ", "aé"),
        ("Upper-Case_Letter", "AÉ", "aé"),
        ("lu", "A", "a"),
        ("LC", "aAǅ", "漢1"),
        ("punct", "!,", "a$"),
        ("digit", "1٣", "a½"),
        ("cntrl", "\x00\x7f", "a"),
        ("Cn", "\U0003ffff", "a\ue000"),
        ("C", "\U0003ffff\ue000\x00", "a"),
        ("Assigned", "a\ue000", "\U0003ffff"),
        ("ASCII", "a~", "é"),
        ("any", "aé\U0003ffff", ""),
        (" Greek ", "αΩ", "a"),
        ("Latin", "aÉª\uff21", "\u03b11"),
        ("Common", "1 -", "a\u03b1"),
        ("Han", "漢々", "あ"),
    ],
)
def test_classes_of_unicode_are_found_by_any_spelling(name: str, inside: str, outside: str) -> None:
    pattern, others = compile_pattern(rf"\p{{{name}}}"), compile_pattern(rf"\P{{{name}}}")
    for text, expected in ((inside, True), (outside, False)):
        assert all(pattern.search(ch) is expected for ch in text)
        assert all(others.search(ch) is not expected for ch in text)


@pytest.mark.parametrize(
    "name", ["Klingon", "Old_Italic", "olditalic", "Garay", "SignWriting", "Grek", "Script=Greek", ""]
)
def test_other_names_are_no_classes_of_unicode(name: str) -> None:
    with pytest.raises(RegexError, match="invalid character class range"):
        compile_pattern(rf"\p{{{name}}}")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^\\ *a", "  a"),
        ("\\\n", "\n"),
        ("\\\x01\\_\\-\\/", "\x01_-/"),
        (r"\x{00000000041}", "A"),
        ("(?P<n>a)(?P<n>b)(?<n>c)", "abc"),
        (r"a*(?i)*B", "aab"),
        ("a(?i)B", "ab"),
    ],
)
def test_what_go_takes_matches(pattern: str, text: str) -> None:
    assert compile_pattern(pattern).search(text)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"\x{ 4}", r"invalid escape sequence: `\x{ `"),
        (r"\x{+4}", r"invalid escape sequence: `\x{+`"),
        (r"\x{4g}", r"invalid escape sequence: `\x{4g`"),
        (r"[\x{4g}]", r"invalid escape sequence: `\x{4g`"),
        (r"\x{110000}", r"invalid escape sequence: `\x{110000`"),
        (r"\x{}", r"invalid escape sequence: `\x{}`"),
        (r"\x4", r"invalid escape sequence: `\x4`"),
        (r"\é", r"invalid escape sequence: `\é`"),
        ("{3,2}", "invalid repeat count: `{3,2}`"),
        ("x{3,2}?", "invalid repeat count: `{3,2}`"),
        ("{2}", "missing argument to repetition operator: `{2}`"),
        ("(?i)**", "missing argument to repetition operator: `*`"),
        ("(?P<", "invalid or unsupported Perl syntax: `(?P`"),
        ("(?P<n", "invalid named capture: `(?P<n`"),
        ("(?P<n>a)(?P<n>b", "missing closing ): `(?P<n>a)(?P<n>b`"),
    ],
)
def test_where_go_stops_reading_is_where_its_words_end(pattern: str, why: str) -> None:
    with pytest.raises(RegexError) as raised:
        compile_pattern(pattern)
    assert str(raised.value) == f"error parsing regexp: {why}"


def test_a_turn_of_the_loop_has_time_for_so_many_patterns_that_come_with_objects() -> None:
    async def body() -> None:
        known = compile_given("known[0-9]")
        with pytest.raises(TooCostly):
            for number in range(1000):
                compile_given(f"{number}-" + "abcdefghij" * 500)
        assert compile_given("known[0-9]") is known
        assert compile_pattern("of-a-schema[0-9]").search("of-a-schema1"), "those of schemas are compiled all the same"
        await asyncio.sleep(0)
        assert compile_given("another[0-9]").search("another1")

    asyncio.run(body())


def test_a_loop_that_was_closed_in_its_turn_keeps_nothing_from_others() -> None:
    async def body() -> None:
        TURN.spend(10 * MAX_VISITS)
        assert TURN.is_spent

    loop = asyncio.new_event_loop()
    try:
        # The callbacks of the turn are never run.
        coroutine = body()
        loop.call_soon(lambda: asyncio.ensure_future(coroutine, loop=loop))
        loop.call_soon(loop.stop)
        loop.run_forever()
        loop.call_soon(loop.stop)
        loop.run_forever()
    finally:
        loop.close()
    assert not TURN.is_spent
    assert TURN.visits() == MAX_VISITS

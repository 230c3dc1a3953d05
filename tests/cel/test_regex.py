"""Regular expressions: RE2 syntax, Go's refusals, and no pattern that takes forever."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchkeeper.cel.regex import RegexError, compile_pattern
from watchkeeper.cel.regex.automaton import Automaton
from watchkeeper.cel.regex.parser import parse
from watchkeeper.cel.regex.translate import to_python

DNS = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"


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
    assert Automaton(parse(pattern)).search(text) is found


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


ATOMS = st.sampled_from(["a", "b", "[ab]", ".", "(?:ab|b)", "(a)", "^", "$", r"\b"])
PATTERNS = st.lists(st.tuples(ATOMS, st.sampled_from(["", "*", "+", "?", "{1,2}"])), max_size=5).map(
    lambda parts: "".join(atom if atom in "^$" or atom == r"\b" else atom + count for atom, count in parts)
)


@settings(max_examples=300, deadline=None)
@given(PATTERNS, st.text("ab \n", max_size=6))
def test_the_automaton_agrees_with_the_backtracking_matcher(pattern: str, text: str) -> None:
    node = parse(pattern)
    assert Automaton(node).search(text) is (re.search(to_python(node), text) is not None)

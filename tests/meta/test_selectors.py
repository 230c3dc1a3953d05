"""Label and field selectors: what they match and how they are refused."""

from __future__ import annotations

import pytest

from watchkeeper.meta import fields, labels
from watchkeeper.meta.labels import SelectorError

OBJECTS: dict[str, dict[str, str]] = {
    "bare": {},
    "empty": {"app": ""},
    "web1": {"app": "web", "tier": "front", "n": "5"},
    "web2": {"app": "web", "tier": "back", "n": "10"},
    "db": {"app": "db", "n": "ten", "example.com/team": "a"},
}


def picked(selector: str) -> list[str]:
    parsed = labels.parse(selector)
    return [name for name, found in OBJECTS.items() if parsed.matches(found)]


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("", ["bare", "empty", "web1", "web2", "db"]),
        ("app=web", ["web1", "web2"]),
        ("\0,,", ["bare", "empty", "web1", "web2", "db"]),
        ("app=\0", ["empty"]),
        ("app\0=web\0\0(", ["web1", "web2"]),
        ("app==web", ["web1", "web2"]),
        ("app!=web", ["bare", "empty", "db"]),
        ("app=", ["empty"]),
        ("app!=", ["bare", "web1", "web2", "db"]),
        ("app in (web,db)", ["web1", "web2", "db"]),
        ("app notin (web,db)", ["bare", "empty"]),
        ("app", ["empty", "web1", "web2", "db"]),
        ("!app", ["bare"]),
        ("app in (,db)", ["empty", "db"]),
        ("app in (db,)", ["empty", "db"]),
        ("tier in ()", []),
        ("tier notin ()", ["bare", "empty", "web1", "web2", "db"]),
        ("n>5", ["web2"]),
        ("n<10", ["web1"]),
        ("n > 4 , n < 6", ["web1"]),
        (" app = web , tier = back ", ["web2"]),
        ("app=web,app=db", []),
        ("app,!n", ["empty"]),
        ("example.com/team=a", ["db"]),
        ("app in (in,notin)", []),
    ],
)
def test_a_label_selector_picks(selector: str, names: list[str]) -> None:
    assert picked(selector) == names


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("=x", "found '=', expected: !, identifier, or 'end of string'"),
        ("a in", "unable to parse requirement: found '' expected: '('"),
        ("a in (x", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (x,", "unable to parse requirement: found '', expected: ',', or identifier"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a=(x)", "unable to parse requirement: found '(', expected: identifier"),
        ("a in x", "unable to parse requirement: found 'x' expected: '('"),
        ("a,", "found '', expected: identifier after ','"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("a>=1", "unable to parse requirement: found '=', expected: identifier"),
        (
            "n>ten",
            'unable to parse requirement: values[0]: Invalid value: "ten": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        (
            "a=" + "v" * 64,
            f'unable to parse requirement: values[0][a]: Invalid value: "{"v" * 64}": must be no more than 63 bytes',
        ),
    ],
)
def test_a_label_selector_is_refused(selector: str, message: str) -> None:
    with pytest.raises(SelectorError) as e:
        labels.parse(selector)
    assert str(e.value) == message


def test_requirements_are_sorted_by_key_and_print_so_that_they_can_be_read_again() -> None:
    text = "a,b!=x,c in (y,z),d notin (w),e=1,f>3,!g"
    selector = labels.parse("!g,f>3,e=1,d notin (w),c in (z,y),b!=x,a")
    assert str(selector) == text
    assert labels.parse(text) == selector


def test_an_index_can_ask_for_equalities() -> None:
    selector = labels.parse("a=1,b in (2),c in (3,4),d!=5")
    assert selector.equalities() == {"a": "1", "b": "2"}
    assert (selector.exact("b"), selector.exact("c"), selector.exact("x")) == ("2", None, None)


def test_a_label_selector_of_a_spec_combines_labels_and_expressions() -> None:
    spec = {
        "matchLabels": {"app": "web"},
        "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["back"]}],
    }
    selector = labels.from_spec(spec)
    assert [name for name, found in OBJECTS.items() if selector.matches(found)] == ["web1"]
    assert labels.from_spec({}).is_empty()
    assert not any(labels.from_spec(None).matches(found) for found in OBJECTS.values())
    with pytest.raises(SelectorError, match='"Like" is not a valid label selector operator'):
        labels.from_spec({"matchExpressions": [{"key": "a", "operator": "Like"}]})


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ("", True),
        ("metadata.name=a", True),
        ("metadata.name==a", True),
        ("metadata.name!=a", False),
        ("metadata.name=a,metadata.name=b", False),
        ("metadata.name=a,spec.nodeName=", True),
        ("spec.nodeName!=", False),
        (r"metadata.name!=a\,b\=c", True),
        (",metadata.name=a,", True),
    ],
)
def test_a_field_selector_matches(selector: str, matches: bool) -> None:
    assert fields.parse(selector).matches({"metadata.name": "a"}) is matches


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        ("metadata.name in (a,b)", "invalid selector: 'metadata.name in (a,b)'; can't understand 'b)'"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        (r"a=b\c", r"invalid field selector: invalid escape sequence: \c"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_a_field_selector_is_refused(selector: str, message: str) -> None:
    with pytest.raises(SelectorError) as e:
        fields.parse(selector)
    assert str(e.value) == message


def test_a_transform_renames_drops_and_refuses_fields() -> None:
    def transform(label: str, value: str) -> tuple[str, str]:
        if label == "old":
            return "new", value
        if label == "void":
            return "", ""
        raise ValueError(f"field label not supported: {label}")

    assert str(fields.parse("void=x,old!=1", transform)) == "new!=1"
    with pytest.raises(ValueError, match="field label not supported: other"):
        fields.parse("old=1,other=2", transform)


def test_a_value_survives_escaping() -> None:
    value = r"a,b=c\d"
    assert fields.parse(f"f={fields.escape(value)}").exact("f") == value


@pytest.mark.parametrize("text", ["=", "==", "!=", "=,!="])
def test_a_field_term_of_two_empty_texts_asks_nothing(text: str) -> None:
    assert fields.parse(text).is_empty()
    assert str(fields.parse(f"{text},metadata.name=a")) == "metadata.name=a"

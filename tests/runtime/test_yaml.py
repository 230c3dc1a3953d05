import pytest

from watchkeeper.runtime.yaml import YamlError, dump_yaml, load_yaml, repeated_text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("y", True),
        ("off", False),
        ("2024-01-01", "2024-01-01"),
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        ("~", None),
        ("", None),
        ("0x10", 16),
        ("010", 8),
        ("1_000", 1000),
        ("1e3", 1000),
        ("1.5", 1.5),
        ("12:30:45", "12:30:45"),
        ('"yes"', "yes"),
        ("'1'", "1"),
        ("!!str 5", "5"),
        ("!!binary aGk=", "hi"),
        ("99999999999999999999", 1e20),
    ],
)
def test_plain_scalars_mean_what_the_reference_takes_them_for(text: str, value: object) -> None:
    found = load_yaml(f"a: {text}\n".encode())["a"]
    assert found == value
    assert type(found) is type(value)


def test_keys_become_texts_and_are_sorted() -> None:
    assert list(load_yaml(b"b: 1\n1: 2\ntrue: 3\na: 4\n")) == ["1", "a", "b", "true"]


def test_aliases_and_merges_are_copies() -> None:
    found = load_yaml(b"a: &x {p: 1, q: 2}\nb: *x\nc: {<<: *x, q: 3}\n")
    assert found == {"a": {"p": 1, "q": 2}, "b": {"p": 1, "q": 2}, "c": {"p": 1, "q": 3}}
    assert found["a"] is not found["b"]


def test_only_the_first_document_counts() -> None:
    assert load_yaml(b"%YAML 1.1\n---\na: 1\n...\n%YAML 1.2\n---\nb: 1\n") == {"a": 1}
    assert load_yaml(b"a: 1\n---\nb: 2\n") == {"a": 1}
    assert load_yaml(b"") is None


def test_fields_set_twice_are_told_with_their_lines_and_the_last_counts() -> None:
    lines: list[str] = []
    assert load_yaml(b"data:\n  k: '1'\n  k: '2'\n", lines) == {"data": {"k": "2"}}
    assert lines == ['line 3: key "k" already set in map']
    assert repeated_text(lines) == 'yaml: unmarshal errors:\n  line 3: key "k" already set in map'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a: {k: [\n", "yaml: line 1: did not find expected node content"),
        (b"a: [", "yaml: line 1: did not find expected node content"),
        (b"- a\nb: c", "yaml: line 1: did not find expected '-' indicator"),
        (b"a: 1\n b: 2", "yaml: line 2: mapping values are not allowed in this context"),
        (b"a:\n  b: {c: 1\n", "yaml: line 2: did not find expected ',' or '}'"),
        (b"a:\n  b: [1\nd: e\n", "yaml: line 2: did not find expected ',' or ']'"),
        (b'a:\n  b: "x\n  y\n', "yaml: line 4: found unexpected end of stream"),
        (b"a:\n  b: c\n\td: e\n", "yaml: line 3: found a tab character that violates indentation"),
        (b"a:\n  b: >-\n    x\n   y\n", "yaml: line 3: did not find expected key"),
        (b"a: &x [*x]", "yaml: anchor 'x' value contains itself"),
        (b"a: *y", "yaml: unknown anchor 'y' referenced"),
        (b"%YAML 1.2\n---\na: 1\n", "yaml: found incompatible YAML document"),
        (b"# c\n%YAML 1.0\n---\na: 1\n", "yaml: line 1: found incompatible YAML document"),
        (b"a: .nan", "json: unsupported value: NaN"),
        (b"? [1, a, null]\n: 2", 'yaml: invalid map key: []interface {}{1, "a", interface {}(nil)}'),
        (b"? {a: 1e3}\n: 2", 'yaml: invalid map key: map[interface {}]interface {}{"a":1000}'),
        (b"~: x", 'unsupported map key of type: %!s(<nil>), key: <nil>, value: "x"'),
        (b"~:", "unsupported map key of type: %!s(<nil>), key: <nil>, value: <nil>"),
        (b"a:\n  k: '\n  b: 1\n", "yaml: line 4: found unexpected end of stream"),
        (b"a:\n  b: 1\n\t\n", "yaml: line 3: found a tab character that violates indentation"),
        (b"a:\n  - b\n  c: d\n", "yaml: line 2: did not find expected '-' indicator"),
        (b"a: #x\nb\n", "yaml: line 3: could not find expected ':'"),
        (b"? [1]\n: 2", "yaml: invalid map key: []interface {}{1}"),
        (
            b"x: {? [a, 2.5, yes, ~, {b: [c]}] : d}",
            'yaml: invalid map key: []interface {}{"a", 2.5, true, interface {}(nil), '
            'map[interface {}]interface {}{"b":[]interface {}{"c"}}}',
        ),
        (b"~: c", 'unsupported map key of type: %!s(<nil>), key: <nil>, value: "c"'),
    ],
)
def test_what_is_no_yaml_is_refused(text: bytes, message: str) -> None:
    with pytest.raises(YamlError) as raised:
        load_yaml(text)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a: .nan\nb: c: d", "yaml: line 2: mapping values are not allowed in this context"),
        (b"? [1]\n: 2\nb: *x", "yaml: unknown anchor 'x' referenced"),
        (b"a: .nan\n~: 1", "unsupported map key of type: %!s(<nil>), key: <nil>, value: 1"),
        (b"a: .inf\n~: 1\nb: !!int x", "yaml: cannot decode !!str `x` as a !!int"),
        (b"~: 1\na: !!binary x", "yaml: !!binary value contains invalid base64 data"),
        (b"a: {~: 1}\n~: 2", "unsupported map key of type: %!s(<nil>), key: <nil>, value: 2"),
        (b"~: 2\na: {<<: 1}", "yaml: map merge requires map or sequence of maps as the value"),
    ],
)
def test_of_several_faults_the_one_that_is_found_first_is_told(text: bytes, message: str) -> None:
    with pytest.raises(YamlError) as raised:
        load_yaml(text)
    assert str(raised.value) == message


def test_aliases_cannot_blow_up_a_document() -> None:
    levels = [b"a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    levels += [b"a%d: &a%d [%s]" % (i, i, b",".join([b"*a%d" % (i - 1)] * 10)) for i in range(1, 10)]
    with pytest.raises(YamlError, match="excessive aliasing"):
        load_yaml(b"\n".join(levels))


def test_nesting_is_bounded() -> None:
    with pytest.raises(YamlError, match="exceeded max"):
        load_yaml(b"[" * 100_000)
    deep = b"".join(b" " * i + b"a:\n" for i in range(1100))
    with pytest.raises(YamlError, match="exceeded max"):
        load_yaml(deep)


def test_what_is_written_reads_back_the_same() -> None:
    value = {
        "texts": ["yes", "y", "n", "1", "1e3", "0x1", "~", "", "2024-01-01", "a: b", "two\nlines\n", "é", "null"],
        "others": [None, True, 1, 1.5, [], {}, {"n": {"y": ["x"]}}],
    }
    assert load_yaml(dump_yaml(value)) == value


def test_what_is_written_has_the_form_of_the_reference() -> None:
    value = {
        "text": "one\ntwo\n",
        "number": "12",
        "a10": "true",
        "a9": "y",
        "date": "2024-01-01",
        "time": "12:30:45",
        "empty": "",
        "list": [1, 1.5, 2.0, 1234567.5, None, {"b": True, "a": {}}],
        "odd": "a: b",
        "0.0.0.0/0": "=",
        "words": "word " * 30,
    }
    assert dump_yaml(value).decode() == (
        "0.0.0.0/0: =\n"
        'a9: "y"\n'
        'a10: "true"\n'
        'date: "2024-01-01"\n'
        'empty: ""\n'
        "list:\n"
        "- 1\n"
        "- 1.5\n"
        "- 2\n"
        "- 1.2345675e+06\n"
        "- null\n"
        "- a: {}\n"
        "  b: true\n"
        'number: "12"\n'
        "odd: 'a: b'\n"
        "text: |\n"
        "  one\n"
        "  two\n"
        'time: "12:30:45"\n'
        "words: 'word word word word word word word word word word word word word word word\n"
        "  word word word word word word word word word word word word word word word '\n"
    )


def test_json_is_read_as_the_yaml_that_it_is() -> None:
    text = b'{"b": [1.0, 1.5, {"y": null, "x": "yes"}], "a": "2024-01-01", "c": 1e3}'
    found = load_yaml(text)
    assert found == {"a": "2024-01-01", "b": [1, 1.5, {"x": "yes", "y": None}], "c": 1000}
    assert [type(each) for each in (found["b"][0], found["c"])] == [int, int]
    assert list(found) == ["a", "b", "c"]
    assert list(found["b"][2]) == ["x", "y"]


def test_a_field_set_twice_is_told_with_the_line_where_its_value_begins() -> None:
    lines: list[str] = []
    load_yaml(b"data: {}\ndata:\n\n  a: 1\n  b: {c: 1,\n    c: 2}\n  b:\n  - x\n  - y\n", lines)
    assert lines == [
        'line 6: key "c" already set in map',
        'line 8: key "b" already set in map',
        'line 4: key "data" already set in map',
    ]


def test_json_that_sets_a_field_twice_is_told_with_its_line() -> None:
    lines: list[str] = []
    assert load_yaml(b'{"a": 1,\n "a": 2}', lines) == {"a": 2}
    assert lines == ['line 2: key "a" already set in map']


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"k": "a\n\n"}, b"k: |+\n  a\n\n"),
        ({"k": "a\n\n", "z": 1}, b"k: |+\n  a\n\nz: 1\n"),
        ({"k": "...\n"}, b"k: |\n  ...\n"),
        ({"k": "a\n..."}, b"k: |-\n  a\n  ...\n"),
        ("...\n", b"|\n  ...\n"),
        ("abc", b"abc\n"),
        (["a\n\n"], b"- |+\n  a\n\n"),
    ],
)
def test_no_mark_ends_a_document_as_in_go(value: object, expected: bytes) -> None:
    assert dump_yaml(value) == expected
    assert load_yaml(expected) == value

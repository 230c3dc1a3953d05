"""Reads the facts of published Go API types: JSON names, pointers, omission rules, markers, registered kinds.

Only what a line says in itself is read: struct fields with their tags, `+marker` comments, constants of named string
types, and `AddKnownTypes` lists. Nothing is executed or type-checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_STRUCT = re.compile(r"^type (\w+) struct ?\{(\}?)$")
_NAMED = re.compile(r"^type (\w+) (?:= )?([\w.\[\]*]+)$")
_CONST = re.compile(r'^\t(\w+)\s+(\w+)\s+= "(.*)"$')
_UNTYPED_CONST = re.compile(r'^(?:\t|const )(\w+)\s+= "(.*)"$')
_FIELD = re.compile(r"^\t(?:(\w+)\s+)?(\S+)\s+`([^`]*)`")
_IMPORT = re.compile(r'^(?:import )?\s*(?:(\w+) )?"([\w./-]+)"$')
_JSON_TAG = re.compile(r'json:"([^"]*)"')
_MARKER = re.compile(r"^\s*// ?\+([\w:]+)(?:=(.*))?$")
_KNOWN = re.compile(r"&(\w+)\{\},?")


@dataclass
class GoField:
    """A struct field. `json` is "" for embedded structs, whose fields belong to the outer one."""

    json: str
    type: str
    omitempty: bool
    omitzero: bool
    markers: dict[str, list[str]]


@dataclass
class GoPackage:
    """What one package declares. Types are expressions with full package paths, such as `[]k8s.io/api/core/v1.Pod`."""

    path: str
    structs: dict[str, list[GoField]] = field(default_factory=dict)
    struct_markers: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)
    named_markers: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    constants: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """Named type -> (constant, value)."""
    kinds: list[str] = field(default_factory=list)
    group: str = ""

    @property
    def name(self) -> str:
        """The package's own name, as error messages of the JSON decoder show it."""
        return self.path.rpartition("/")[2]


_BASIC = re.compile(r"string|bool|byte|u?int(?:8|16|32|64)?|float(?:32|64)|interface\{\}")


def _qualify(expression: str, package: str, imports: dict[str, str]) -> str:
    """Give every type name its package path."""
    for prefix in ("*", "[]"):
        if expression.startswith(prefix):
            return prefix + _qualify(expression[len(prefix) :], package, imports)
    if expression.startswith("map["):
        key, _, value = expression[4:].partition("]")
        return f"map[{_qualify(key, package, imports)}]{_qualify(value, package, imports)}"
    if _BASIC.fullmatch(expression):
        return expression
    alias, dot, name = expression.partition(".")
    return f"{imports[alias]}.{name}" if dot else f"{package}.{expression}"


def _imports(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in lines:
        if line.startswith(("type ", "func ")):
            break
        if match := _IMPORT.match(line):
            found[match[1] or match[2].rpartition("/")[2]] = match[2]
    return found


def _field(line: str, markers: dict[str, list[str]], package: str, imports: dict[str, str]) -> GoField | None:
    match = _FIELD.match(line)
    tag = _JSON_TAG.search(match[3]) if match else None
    if match is None or tag is None:
        return None
    name, *options = tag[1].split(",")
    if name == "-":
        return None
    embedded = "inline" in options or (match[1] is None and not name)
    return GoField(
        json="" if embedded else name,
        type=_qualify(match[2], package, imports),
        omitempty="omitempty" in options,
        omitzero="omitzero" in options,
        markers=markers,
    )


class _FileReader:
    """Reads one file into a package, line by line."""

    def __init__(self, package: GoPackage, lines: list[str]) -> None:
        self._package = package
        self._imports = _imports(lines)
        self._markers: dict[str, list[str]] = {}
        self._struct: list[GoField] | None = None
        self._plain_constants: dict[str, str] = {}

    def read(self, line: str) -> None:
        """Take the next line in."""
        if match := _MARKER.match(line):
            self._markers.setdefault(match[1], []).append((match[2] or "").strip())
            return
        if line.lstrip().startswith("//"):
            return
        if self._struct is not None:
            self._in_struct(line)
        elif line.strip():
            self._top_level(line)
        # A blank line ends the comment of a type, but within a struct only a field ends the comment of a field.
        if self._struct is None:
            self._markers = {}

    def _in_struct(self, line: str) -> None:
        if line == "}":
            self._struct = None
        elif line.strip() and self._struct is not None:
            found = _field(line, self._markers, self._package.path, self._imports)
            if found is not None:
                self._struct.append(found)
            self._markers = {}

    def _top_level(self, line: str) -> None:
        package = self._package
        if match := _STRUCT.match(line):
            package.struct_markers[match[1]] = self._markers
            fields = package.structs.setdefault(match[1], [])
            self._struct = None if match[2] else fields
            self._markers = {}
        elif match := _NAMED.match(line):
            package.named[match[1]] = _qualify(match[2], package.path, self._imports)
            package.named_markers[match[1]] = self._markers
        elif match := _CONST.match(line):
            package.constants.setdefault(match[2], []).append((match[1], match[3]))
        elif (match := _UNTYPED_CONST.match(line)) and match[1] == "GroupName":
            package.group = match[2]


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.glob("*.go")):
        if not path.name.endswith("_test.go") and not path.name.startswith(
            ("zz_generated", "generated", "types_swagger")
        ):
            yield path


def read_package(folder: Path, path: str) -> GoPackage:
    """Read the sources in `folder` as the package `path`."""
    package = GoPackage(path)
    for source in _files(folder):
        lines = source.read_text().splitlines()
        reader = _FileReader(package, lines)
        for line in lines:
            reader.read(line)
        if source.name == "register.go":
            package.kinds += _KNOWN.findall("\n".join(lines))
    return package

"""Semantic versions."""

from __future__ import annotations

import re
from typing import Any

from watchkeeper.cel.decls import Overload, overload
from watchkeeper.cel.library.parsing import can
from watchkeeper.cel.types import struct
from watchkeeper.cel.values import EvalError, NoSuchOverload, register_value_type
from watchkeeper.meta.field import go_quote

_IDENTIFIER = re.compile(r"[0-9A-Za-z-]+")


class Semver:
    """A version; build metadata does not count in comparisons."""

    __slots__ = ("build", "major", "minor", "patch", "pre")

    def __init__(self, major: int, minor: int, patch: int, pre: tuple[int | str, ...], build: tuple[str, ...]) -> None:
        self.major, self.minor, self.patch, self.pre, self.build = major, minor, patch, pre, build

    def compare(self, other: Semver) -> int:
        """-1, 0 or 1 by precedence."""
        mine, theirs = (self.major, self.minor, self.patch), (other.major, other.minor, other.patch)
        if mine != theirs:
            return -1 if mine < theirs else 1
        if not self.pre or not other.pre:
            return (not self.pre) - (not other.pre)
        for a, b in zip(self.pre, other.pre, strict=False):
            if a == b:
                continue
            if isinstance(a, int) and isinstance(b, int):
                return -1 if a < b else 1
            if isinstance(a, int) or isinstance(b, int):
                return -1 if isinstance(a, int) else 1
            return -1 if a < b else 1
        return (len(self.pre) > len(other.pre)) - (len(self.pre) < len(other.pre))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self.compare(other) == 0

    def __hash__(self) -> int:
        return hash((self.major, self.minor, self.patch, self.pre))


register_value_type(Semver, struct("kubernetes.Semver"))


def _number(text: str, word: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise EvalError(f"Invalid character(s) found in {word} number {go_quote(text)}")
    if len(text) > 1 and text[0] == "0":
        raise EvalError(f"{word.capitalize()} number must not contain leading zeroes {go_quote(text)}")
    return int(text)


def parse(text: Any, normalize: bool = False) -> Semver:
    """Read a version. `normalize` takes `v1`, `1.2` and leading zeros too. Raises EvalError."""
    if not isinstance(text, str):
        raise NoSuchOverload
    if normalize:
        text = _normalized(text)
    if not text:
        raise EvalError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise EvalError("No Major.Minor.Patch elements found")
    rest, plus, build_text = parts[2].partition("+")
    patch, dash, pre_text = rest.partition("-")
    numbers = [_number(t, w) for t, w in zip((parts[0], parts[1], patch), ("major", "minor", "patch"), strict=True)]
    pre = tuple(_prerelease(p) for p in pre_text.split(".")) if dash else ()
    build = tuple(build_text.split(".")) if plus else ()
    for part in build:
        if not part:
            raise EvalError("Build meta data is empty")
        if not _IDENTIFIER.fullmatch(part):
            raise EvalError(f"Invalid character(s) found in build meta data {go_quote(part)}")
    return Semver(numbers[0], numbers[1], numbers[2], pre, build)


def _prerelease(text: str) -> int | str:
    if not text:
        raise EvalError("Prerelease is empty")
    if text.isascii() and text.isdigit():
        if len(text) > 1 and text[0] == "0":
            raise EvalError(f"Numeric PreRelease version must not contain leading zeroes {go_quote(text)}")
        return int(text)
    if not _IDENTIFIER.fullmatch(text):
        raise EvalError(f"Invalid character(s) found in prerelease {go_quote(text)}")
    return text


def _normalized(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    for i, part in enumerate(parts):
        if len(part) > 1:
            part = part.lstrip("0")
            parts[i] = part if part[:1].isdigit() else f"0{part}"
    if len(parts) < 3:
        if any(ch in parts[-1] for ch in "+-"):
            raise EvalError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def declarations() -> list[tuple[str, Overload]]:
    """All overloads of the library."""
    s = "kubernetes.Semver"
    return [
        overload("string_to_semver", f"::semver(string) -> {s}", parse),
        overload("string_bool_to_semver", f"::semver(string, bool) -> {s}", parse),
        overload("is_semver_string", "::isSemver(string) -> bool", can(parse)),
        overload("is_semver_string_bool", "::isSemver(string, bool) -> bool", can(parse)),
        overload("semver_is_greater_than", f"{s}.isGreaterThan({s}) -> bool", lambda a, b: a.compare(b) > 0),
        overload("semver_is_less_than", f"{s}.isLessThan({s}) -> bool", lambda a, b: a.compare(b) < 0),
        overload("semver_compare_to", f"{s}.compareTo({s}) -> int", lambda a, b: a.compare(b)),
        overload("semver_major", f"{s}.major() -> int", lambda v: v.major),
        overload("semver_minor", f"{s}.minor() -> int", lambda v: v.minor),
        overload("semver_patch", f"{s}.patch() -> int", lambda v: v.patch),
    ]

"""Where in a source text something is wrong, as messages show it."""

from __future__ import annotations

from dataclasses import dataclass

MAX_SNIPPET = 16384
MAX_ISSUES = 100
NOWHERE = -1
"""The offset of what is wrong with a source as a whole."""


@dataclass(frozen=True, slots=True)
class Issue:
    """One thing that is wrong at one place; `offset` counts characters."""

    offset: int
    message: str


class CompileError(Exception):
    """An expression that cannot be compiled. The message shows each place with its line of source."""

    stage = "compilation"
    """What it is that failed, as messages call it."""

    def __init__(self, source: str, issues: list[Issue]) -> None:
        super().__init__(display(source, issues))
        self.issues = issues


class InstantiationError(CompileError):
    """An expression that is sound, but has a constant that no program can be made of."""

    stage = "instantiation"

    def __init__(self, problem: str) -> None:
        Exception.__init__(self, problem)
        self.issues = []


class UnwantedTypeError(Exception):
    """An expression that is sound, but whose result is not of a type that is wanted."""


def display(source: str, issues: list[Issue]) -> str:
    """All issues in the order of their places, each with its line and a mark below."""
    ordered = sorted(issues[:MAX_ISSUES], key=lambda i: i.offset)
    texts = [_show(source, issue) for issue in ordered]
    if len(issues) > MAX_ISSUES:
        texts.append(f"{len(issues) - MAX_ISSUES} more errors were truncated")
    return "\n".join(texts)


def _show(source: str, issue: Issue) -> str:
    if issue.offset == NOWHERE:
        return f"ERROR: <input>:-1:0: {issue.message}"
    if not source:
        return f"ERROR: <input>:1:0: {issue.message}"
    before = source[: issue.offset]
    line_number = before.count("\n") + 1
    column = issue.offset - (before.rfind("\n") + 1)
    text = f"ERROR: <input>:{line_number}:{column + 1}: {issue.message}"
    lines = source.split("\n")
    line = lines[line_number - 1] if line_number <= len(lines) else ""
    if len(line.encode()) <= MAX_SNIPPET:
        line = line.replace("\t", " ")
        dots = "".join("\uff0e" if ord(c) > 127 else "." for c in line[:column])
        mark = "\uff3e" if column < len(line) and ord(line[column]) > 127 else "^"
        text += f"\n | {line}\n | {dots}{mark}"
    return text

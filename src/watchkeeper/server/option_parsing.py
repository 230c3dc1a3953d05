"""Options of a command line, each of which may also stand in the environment as WATCHKEEPER_…."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from watchkeeper.meta.field import go_bool
from watchkeeper.server.tls_files import NamedPair, named_pair

PREFIX = "WATCHKEEPER_"
_NO = "--no-"
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off", ""})


class UsageError(ValueError):
    """A value in the environment that cannot be meant."""


class Arguments:
    """Adds options whose default comes from the environment."""

    def __init__(
        self, parser: argparse._ActionsContainer, environ: Mapping[str, str], *, given_only: Collection[str] = ()
    ) -> None:
        """`given_only` are the flags that the environment cannot stand for."""
        self._parser = parser
        self._environ = environ
        self._given_only = given_only

    def group(self, title: str) -> Arguments:
        """What adds options that `--help` shows under a title."""
        return Arguments(self._parser.add_argument_group(title), self._environ, given_only=self._given_only)

    def add(
        self,
        flag: str,
        help_text: str,
        *,
        default: Any = None,
        kind: Any = str,
        metavar: str = "",
        alias: str = "",
        action: Any = "store",
    ) -> None:
        """An option with a value of a kind. Raises UsageError for what stands in the environment and is none."""
        flags = (flag, alias) if alias else (flag,)
        if default and "(default" not in help_text:
            help_text += f" (default: {_spelled(default).replace('%', '%%')})"
        if flag not in self._given_only:
            variables = [variable(each) for each in flags]
            help_text += f" [{', '.join(variables)}]"
            for name in reversed(variables):
                default = self._from_environment(name, kind, default)
        self._parser.add_argument(
            *flags, default=default, type=_told(kind), metavar=metavar or None, help=help_text, action=action
        )

    def _from_environment(self, name: str, kind: Any, default: Any) -> Any:
        if name not in self._environ:
            return default
        try:
            return kind(self._environ[name])
        except ValueError as error:
            why = f"{self._environ[name]!r} is no number" if kind in (int, float) else error
            raise UsageError(f"{name}: {why}") from error

    def add_secret(self, option: str) -> None:
        """What may stand in the environment only: command lines are for everybody to see."""
        self._parser.set_defaults(**{option: self._environ.get(PREFIX + option.upper(), "")})

    def add_switch(self, flag: str, help_text: str, *, default: bool) -> None:
        """An option that is on or off. Raises UsageError for what stands in the environment and is neither."""
        name = variable(flag)
        help_text += f" (default: {'yes' if default else 'no'})"
        given = self._environ.get(name, "").lower()
        if given not in _TRUE | _FALSE:
            raise UsageError(f"{name}: {given!r} is neither true nor false")
        if given:
            default = given in _TRUE
        self._parser.add_argument(flag, action=Switch, default=default, help=f"{help_text} [{name}]")


class Switch(argparse.Action):
    """`--flag` and `--no-flag`, and `--flag=true` and `--flag=false` as kube-apiserver has it."""

    def __init__(self, option_strings: Sequence[str], dest: str, default: bool, help: str) -> None:
        flags = [form for flag in option_strings for form in (flag, _NO + flag.removeprefix("--"))]
        super().__init__(flags, dest, nargs="?", default=default, help=help, metavar="true|false")

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        """Switch it."""
        on = True if values is None else go_bool(values)
        if on is None:
            parser.error(f"argument {option}: {values!r} is neither true nor false")
        setattr(namespace, self.dest, on != (option or "").startswith(_NO))


class Collected(argparse.Action):
    """Of an option that may be given several times, what all of them say; the environment does not count then."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        """Add what is said once more."""
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, values if before is self.default else (*before, *values))


def _told(kind: Any) -> Any:
    """A type whose errors are told in its own words."""
    if isinstance(kind, type):
        return kind

    def convert(text: str) -> Any:
        try:
            return kind(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return convert


def variable(flag: str) -> str:
    """The environment variable of an option."""
    return PREFIX + flag.removeprefix("--").replace("-", "_").upper()


def _spelled(default: object) -> str:
    """A default as it would be written on the command line."""
    match default:
        case tuple():
            return ",".join(default)
        case float():
            return f"{default:g}"
    return str(default)


def names(text: str) -> tuple[str, ...]:
    """Names with commas between."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def values(text: str) -> tuple[str, ...]:
    """Values as they are, which may be wrong."""
    return tuple(text.split(",")) if text else ()


def one_text(text: str) -> tuple[str, ...]:
    """One of several texts, each given by itself."""
    return (text,) if text else ()


def paths(text: str) -> tuple[Path, ...]:
    """Paths with commas between."""
    return tuple(map(Path, names(text)))


def required_claim(text: str) -> tuple[str, ...]:
    """A claim and its value. Raises ValueError for what is none."""
    if "=" not in text:
        raise ValueError(f"malformed pair, expect string=string: {text}")
    return (text,)


def named_pairs(text: str) -> tuple[NamedPair, ...]:
    """Pairs of certificate and key, with names. Raises ValueError for what is none."""
    return tuple(map(named_pair, text.split(";")))

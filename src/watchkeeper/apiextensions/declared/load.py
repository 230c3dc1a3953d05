"""Finds what `watchkeeper serve` is to serve besides: applications, and files with definitions."""

from __future__ import annotations

import importlib
import re
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import watchkeeper
from watchkeeper.apiextensions.declared.registry import Registry
from watchkeeper.apiextensions.definition.model import KIND
from watchkeeper.runtime.yaml import YamlError, load_yaml

Object = dict[str, Any]

_SUFFIXES = frozenset({".yaml", ".yml", ".json"})
_PACKAGE = Path(watchkeeper.__file__).parent
_DOCUMENT = re.compile(rb"^---(?:[ \t].*)?$", re.MULTILINE)


class LoadError(ValueError):
    """Something that was named cannot be had; the message says what and why."""


def load_app(reference: str) -> Registry:
    """The Registry at `module:attribute`, looked for in the working directory first. Raises LoadError."""
    module_name, _, attribute = reference.partition(":")
    if not module_name or not attribute:
        raise LoadError(f"{reference!r} is no reference such as module:registry")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise LoadError(f"{reference}: {_what_went_wrong(error)}") from error
    found = getattr(module, attribute, None)
    if not isinstance(found, Registry):
        what = "nothing" if found is None else f"a {type(found).__name__}"
        raise LoadError(f"{reference} is {what}, not a watchkeeper.kinds.Registry")
    return found


def _what_went_wrong(error: Exception) -> str:
    """In one line: what was raised, and by which line of the application."""
    said = str(error).partition("\n")[0]
    name = type(error).__name__
    text = said if isinstance(error, ImportError) else f"{name}: {said}" if said else name
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).is_file() and not _is_ours(f)]
    if isinstance(error, SyntaxError) or not frames:
        return text
    return f"{text} ({frames[-1].filename}, line {frames[-1].lineno})"


def _is_ours(frame: traceback.FrameSummary) -> bool:
    """Whether a line is watchkeeper's or the import system's."""
    file = Path(frame.filename)
    return file.is_relative_to(_PACKAGE) or file == Path(importlib.__file__)


def load_definitions(path: Path) -> list[Object]:
    """All CustomResourceDefinitions in a file, or in the files of a directory, by name; other kinds are passed over.

    Files are YAML, with any number of documents, or JSON. Raises LoadError.
    """
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.suffix in _SUFFIXES and p.is_file())
    elif path.exists():
        files = [path]
    else:
        raise LoadError(f"{path} does not exist")
    return [definition for file in files for definition in _definitions(file)]


def _definitions(file: Path) -> Iterator[Object]:
    try:
        documents = _DOCUMENT.split(file.read_bytes())
    except OSError as error:
        raise LoadError(f"{file}: {error.strerror}") from error
    for document in documents:
        if not document.strip():
            continue
        try:
            found = load_yaml(document)
        except YamlError as error:
            raise LoadError(f"{file}: {error}") from error
        yield from _in_lists(found)


def _in_lists(found: Any) -> Iterator[Object]:
    if not isinstance(found, dict):
        return
    if found.get("kind") == KIND:
        yield found
    elif str(found.get("kind") or "").endswith("List"):
        for item in found.get("items") or ():
            yield from _in_lists(item)

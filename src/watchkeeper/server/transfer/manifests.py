"""Manifests in files: YAML or JSON, all in one or each in its own."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from watchkeeper.runtime.yaml import YamlError, dump_yaml, load_yaml
from watchkeeper.server.transfer.interface import Object, TransferError
from watchkeeper.server.transfer.order import group_kind, place

SUFFIXES = (".yaml", ".yml", ".json")
_DOCUMENT = re.compile(rb"^---(?:[ \t].*)?$", re.MULTILINE)
_PRIVATE, _PUBLIC = 0o600, 0o666


def write_manifests(objects: Iterable[Object], target: str, *, private: bool) -> int:
    """Write objects, in the order in which they can be applied, to a file, a directory, or "-" (standard output).

    A target with the suffix of a manifest is one file. `private`: for the eyes of their owner alone. Returns how many
    were written. Raises TransferError.
    """
    ordered = sorted(objects, key=place)
    try:
        if target == "-":
            sys.stdout.write(_text(ordered, ".yaml"))
        elif target.endswith(SUFFIXES):
            _write(Path(target), _text(ordered, Path(target).suffix), private=private)
        else:
            _write_each(ordered, Path(target), private=private)
    except OSError as error:
        raise TransferError(f"{error.filename or target}: {error.strerror}") from error
    return len(ordered)


def _write_each(objects: Sequence[Object], directory: Path, *, private: bool) -> None:
    for obj in objects:
        meta = obj["metadata"]
        group, kind = group_kind(obj)
        where = directory / "namespaces" / meta["namespace"] if meta.get("namespace") else directory / "cluster"
        where /= f"{kind.lower()}.{group}" if group else kind.lower()
        where.mkdir(parents=True, exist_ok=True, mode=0o700 if private else 0o777)
        # Names of roles may hold colons; none may hold a slash.
        _write(where / f"{meta['name']}.yaml", _text([obj], ".yaml"), private=private)


def _write(path: Path, text: str, *, private: bool) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _PRIVATE if private else _PUBLIC)
    with os.fdopen(descriptor, "w") as file:
        if private:
            os.fchmod(descriptor, _PRIVATE)  # it may have been there
        file.write(text)


def _text(objects: Sequence[Object], suffix: str) -> str:
    if suffix == ".json":
        found = objects[0] if len(objects) == 1 else {"apiVersion": "v1", "kind": "List", "items": objects}
        return json.dumps(found, indent=2, ensure_ascii=False) + "\n"
    return "---\n".join(dump_yaml(obj).decode() for obj in objects)


def read_manifests(paths: Iterable[str]) -> list[Object]:
    """The objects in files and directories ("-" is standard input), in the order in which they can be applied.

    Raises TransferError, naming the file.
    """
    found: list[Object] = []
    for path in paths:
        if path == "-":
            found += _objects(sys.stdin.buffer.read(), "standard input")
            continue
        try:
            for file in _files(Path(path)):
                found += _objects(file.read_bytes(), str(file))
        except OSError as error:
            raise TransferError(f"{error.filename or path}: {error.strerror}") from error
    return sorted(found, key=place)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file())


def _objects(data: bytes, where: str) -> Iterator[Object]:
    for document in _DOCUMENT.split(data):
        try:
            found = load_yaml(document) if document.strip() else None
        except YamlError as error:
            raise TransferError(f"{where}: {error}") from error
        if found is None:
            continue
        if not isinstance(found, dict) or not found.get("kind") or not found.get("apiVersion"):
            raise TransferError(f"{where}: not everything in it is an object with apiVersion and kind")
        is_list = str(found["kind"]).endswith("List") and "items" in found
        for obj in (found["items"] or ()) if is_list else (found,):
            if not isinstance(obj, dict) or not (obj.get("metadata") or {}).get("name"):
                raise TransferError(f"{where}: an object in it has no name")
            yield obj

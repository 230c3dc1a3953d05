"""Manifests in files: YAML or JSON, all in one or each in its own."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from watchkeeper.apis.validation.names import is_path_segment_name
from watchkeeper.runtime.yaml import YamlError, dump_yaml, load_yaml
from watchkeeper.server.output import write_out
from watchkeeper.server.transfer.interface import Object, TransferError, counted, tell
from watchkeeper.server.transfer.order import group_kind, place

SUFFIXES = (".yaml", ".yml", ".json")
_DOCUMENT = re.compile(rb"^---(?:[ \t].*)?\r?$", re.MULTILINE)
_PRIVATE, _PUBLIC = 0o600, 0o666


def write_manifests(objects: Iterable[Object], target: str, *, private: bool) -> int:
    """Write objects, in the order in which they can be applied, to a file, a directory, or "-" (standard output).

    A target with the suffix of a manifest is one file, and so is what is there and no directory. `private`: for the
    eyes of their owner alone. Returns how many were written. Raises TransferError.
    """
    ordered = sorted(objects, key=place)
    try:
        if target == "-":
            write_out(_text(ordered, ".yaml"))
        elif target.endswith(SUFFIXES) or _is_no_directory(Path(target)):
            _write(Path(target), _text(ordered, Path(target).suffix), private=private)
        else:
            _write_each(ordered, Path(target), private=private)
    except OSError as error:
        raise TransferError(f"{error.filename or target}: {error.strerror}") from error
    return len(ordered)


def _is_no_directory(path: Path) -> bool:
    return path.exists() and not path.is_dir()


def _write_each(objects: Sequence[Object], directory: Path, *, private: bool) -> None:
    # All places are known before anything is written.
    places = {directory / _place_of(obj): obj for obj in objects}
    for path, obj in places.items():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700 if private else 0o777)
        _write(path, _text([obj], ".yaml"), private=private)
    others = sum(path not in places for path in _files(directory)) if directory.is_dir() else 0
    if others:
        tell(f"watchkeeper: {directory} has {counted(others, 'other manifest')}, which an import would apply, too")


def _place_of(obj: Object) -> Path:
    meta = obj["metadata"]
    group, kind = group_kind(obj)
    namespace = meta.get("namespace")
    where = Path("namespaces", _segment(namespace)) if namespace else Path("cluster")
    return where / _segment(f"{kind.lower()}.{group}" if group else kind.lower()) / f"{_segment(meta['name'])}.yaml"


def _segment(name: str) -> str:
    """What can be a part of a path, as whatever an API server lets be stored can; another source may give anything."""
    if not name or is_path_segment_name(name) or "\0" in name:
        raise TransferError(f"{name!r} cannot be the name of a file or directory")
    return name


def _write(path: Path, text: str, *, private: bool) -> None:
    """Write a file, which is there with all that was to be in it, or as it was."""
    replaced = path.resolve()
    is_open_already = path.is_relative_to("/dev") or path.is_relative_to("/proc")
    if is_open_already or _is_special(path) or not os.access(replaced.parent, os.W_OK | os.X_OK):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _PRIVATE if private else _PUBLIC)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            if private and stat.S_ISREG(os.fstat(descriptor).st_mode):
                os.fchmod(descriptor, _PRIVATE)  # it may have been there; a device stays everybody's
            file.write(text)
        return
    path = replaced
    partial = path.with_name(f".{path.name[:200]}.{os.getpid()}")
    # What is there, from an export that was killed or from somebody else, has its own mode or leads elsewhere.
    partial.unlink(missing_ok=True)
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE if private else _PUBLIC)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            if not private and path.exists():
                os.fchmod(descriptor, stat.S_IMODE(path.stat().st_mode))
            file.write(text)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file()


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
        if not isinstance(found, dict) or not _is_text(found.get("kind")) or not _is_text(found.get("apiVersion")):
            raise TransferError(f"{where}: not everything in it is an object with apiVersion and kind")
        items = found.get("items") if found["kind"].endswith("List") else None
        for obj in items if isinstance(items, list) else (found,):
            metadata = obj.get("metadata") if isinstance(obj, dict) else None
            if not isinstance(metadata, dict) or not _is_text(metadata.get("name")):
                raise TransferError(f"{where}: an object in it has no name")
            for key in ("name", "namespace"):
                value = metadata.get(key) or ""
                if not isinstance(value, str) or is_path_segment_name(value):
                    raise TransferError(f"{where}: {value!r} cannot be the {key} of an object")
            yield obj


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""

"""Reduces the published protobuf descriptions of the Kubernetes API to field numbers and types.

Writes `src/watchkeeper/apis/data/protobuf.json.gz` from the `generated.proto` files of one Kubernetes release:

    python tools/reduce_protobuf.py DIR…

where each DIR holds a checked-out k8s.io module (api, apimachinery, apiextensions-apiserver). The file is one JSON
object from the full name of a message to its fields, `{number: [name in JSON, type, how often]}`; the name is "" for a
field whose own fields stand in its place in JSON, as those of an embedded Go struct do.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path

from watchkeeper.apis.schema_data import schema_data

OUTPUT = Path(__file__).parent.parent / "src/watchkeeper/apis/data/protobuf.json.gz"
STABLE = re.compile(r"\.v\d+$")
MACHINERY = "k8s.io.apimachinery."

PACKAGE = re.compile(r"^package (\S+);", re.MULTILINE)
MESSAGE = re.compile(r"^message (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(
    r"^ +(?:(?P<label>optional|repeated|required) (?P<type>\S+)|map<string, (?P<value>\S+)>)"
    r" (?P<name>\w+) = (?P<number>\d+)",
    re.MULTILINE,
)
SCALARS = frozenset({"string", "bytes", "bool", "int32", "int64", "uint32", "uint64", "double", "float"})

Fields = dict[str, list[str]]


def main() -> None:
    """Read the directories named on the command line and write the file."""
    messages: dict[str, Fields] = {}
    for directory in sys.argv[1:]:
        for path in sorted(Path(directory).rglob("generated.proto")):
            messages |= _messages(path.read_text())
    OUTPUT.write_bytes(gzip.compress(json.dumps(messages, separators=(",", ":"), sort_keys=True).encode(), mtime=0))
    print(f"{len(messages)} messages, {OUTPUT.stat().st_size} bytes")


def _messages(text: str) -> dict[str, Fields]:
    found = PACKAGE.search(text)
    if found is None:
        return {}
    package = found[1]
    if not package.startswith(MACHINERY) and not STABLE.search(package):
        return {}
    return {f"{package}.{name}": _fields(package, name, body) for name, body in MESSAGE.findall(text)}


def _fields(package: str, message: str, body: str) -> Fields:
    definition = schema_data().definitions.get(_definition_name(f"{package}.{message}"))
    fields: Fields = {}
    for match in FIELD.finditer(body):
        kind = _full_name(package, match["type"] or match["value"])
        often = "map" if match["value"] else "list" if match["label"] == "repeated" else ""
        name = match["name"]
        if definition is not None and definition.fields:
            known = {_letters(field): field for field in definition.fields}
            name = known.get(_letters(name), "" if kind not in SCALARS and not often else name)
        fields[match["number"]] = [name, kind, often]
    return fields


def _full_name(package: str, name: str) -> str:
    if name in SCALARS:
        return name
    return name.removeprefix(".") if "." in name else f"{package}.{name}"


def _definition_name(message: str) -> str:
    return "io." + message.replace("k8s.io.", "k8s.", 1).replace("_", "-")


def _letters(name: str) -> str:
    """What the names of a field in protobuf and in JSON have in common, as uID and uid."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


if __name__ == "__main__":
    main()

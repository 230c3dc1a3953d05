"""Reduces the protobuf descriptions of versions that are only stored any more to where they differ from v1.

Writes `src/watchkeeper/apis/data/protobuf_old.json.gz` from a checked-out k8s.io/api module:

    python tools/reduce_old_protobuf.py DIR

The file is as that of `reduce_protobuf.py`, and holds the messages of the kinds in `apis/stored_versions.py` whose
fields have other numbers, names or types than those of the version that is served. What is alike is spoken of by the
name of the message at that version. Names in JSON are those of the tags in `types.go`.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path

from reduce_protobuf import FIELD, MESSAGE, Fields, _full_name

from watchkeeper.apis.protobuf import messages
from watchkeeper.apis.schema_data import schema_data
from watchkeeper.apis.stored_versions import CURRENT, message_name

OUTPUT = Path(__file__).parent.parent / "src/watchkeeper/apis/data/protobuf_old.json.gz"
API = "k8s.io.api."
STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
TAGS = re.compile(r'json:"(?P<json>[^",]*)[^`]*protobuf:"\w+,(?P<number>\d+),')


class OldMessages:
    """The messages of old versions, as they are."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: dict[str, Fields] = {}

    def fields(self, message: str) -> Fields:
        """The fields of a message; a package is read when it is first asked for."""
        if message not in self._known:
            self._read(message.rpartition(".")[0])
        return self._known[message]

    def _read(self, package: str) -> None:
        folder = self._root / package.removeprefix(API).replace(".", "/")
        names = _json_names((folder / "types.go").read_text())
        for message, body in MESSAGE.findall((folder / "generated.proto").read_text()):
            fields = self._known[f"{package}.{message}"] = {}
            for found in FIELD.finditer(body):
                kind = _full_name(package, found["type"] or found["value"])
                often = "map" if found["value"] else "list" if found["label"] == "repeated" else ""
                fields[found["number"]] = [names.get((message, found["number"]), found["name"]), kind, often]


def _json_names(text: str) -> dict[tuple[str, str], str]:
    """The name in JSON of (struct, number)."""
    return {
        (struct, tags["number"]): tags["json"] for struct, body in STRUCT.findall(text) for tags in TAGS.finditer(body)
    }


def differing_messages(old: OldMessages, message: str, served: str) -> dict[str, Fields]:
    """A message and those that it holds, as far as they differ from those of the served version."""
    found: dict[str, Fields] = {}
    _differing(old, message, served, found)
    return found


def _differing(old: OldMessages, message: str, served: str, differing: dict[str, Fields]) -> bool:
    """Whether a message has anything that the served one has not; then it is put into `differing`."""
    if message in differing:
        return True
    fields = {number: list(field) for number, field in old.fields(message).items()}
    package, served_package = message.rpartition(".")[0], served.rpartition(".")[0]
    theirs = messages().get(served, {})
    for number, field in fields.items():
        name = field[1]
        if not name.startswith(package + "."):
            continue
        at_v1 = theirs[int(number)][1] if int(number) in theirs and theirs[int(number)][0] == field[0] else ""
        if not at_v1.startswith(API):
            at_v1 = f"{served_package}.{name.rpartition('.')[2]}"
        if not _differing(old, name, at_v1, differing):
            field[1] = at_v1
    if all(tuple(field) == tuple(theirs.get(int(number), ())) for number, field in fields.items()):
        return False
    differing[message] = fields
    return True


def main() -> None:
    """Read the directory named on the command line and write the file."""
    old = OldMessages(Path(sys.argv[1]))
    differing: dict[str, Fields] = {}
    for gvk, current in CURRENT.items():
        if gvk.group == "apiregistration.k8s.io":
            continue
        served = "k8s.io." + schema_data().kinds[current].name.removeprefix("io.k8s.")
        found = differing_messages(old, message_name(gvk), served)
        if found:
            print(f"{gvk.api_version} {gvk.kind}")
        differing |= found
    OUTPUT.write_bytes(gzip.compress(json.dumps(differing, separators=(",", ":"), sort_keys=True).encode(), mtime=0))
    print(f"{len(differing)} messages, {OUTPUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()

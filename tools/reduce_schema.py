"""Reduces published descriptions of the Kubernetes API to the facts that the server needs, without prose.

Writes `src/watchkeeper/apis/data/schemas.json.gz` from four published sources, all of one Kubernetes release:

    kubectl get --raw /api  -H 'Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' …
    python tools/reduce_schema.py \\
        --definitions …/kubernetes_validate/kubernetes-json-schema/v1.36.0-local/_definitions.json \\
        --source k8s.io/api=DIR --source k8s.io/apimachinery=DIR --source k8s.io/apiextensions-apiserver=DIR \\
        --discovery api.json --discovery apis.json

The definitions say what is required, how lists merge and what is atomic; the Go types say what the JSON Schema cannot:
which fields are pointers, when the encoder leaves them out, how errors name them, and what their defaults and
permitted values are; discovery says what is served. Only stable versions of groups are kept.

The file is one JSON object:

    types      [type, …]; fields, items and kinds name a type by its index; a variant is a struct that one field
               treats unlike the rest, such as an atomic whole
    kinds      [[group, version, kind, type], …]
    resources  [resource, …] in the order of discovery
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from pathlib import Path
from typing import Any

from gotypes import GoField, GoPackage, read_package

STABLE = re.compile(r"^v\d+$")
OUTPUT = Path(__file__).parent.parent / "src/watchkeeper/apis/data/schemas.json.gz"

META = "k8s.io/apimachinery/pkg/apis/meta/v1"
EXTENSIONS = "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

# Types that encode themselves: what they are in JSON.
SPECIAL: dict[str, dict[str, Any]] = {
    f"{META}.Time": {"type": "string", "format": "date-time"},
    f"{META}.MicroTime": {"type": "string", "format": "micro-time"},
    f"{META}.FieldsV1": {"type": "any", "format": "fields"},
    "k8s.io/apimachinery/pkg/api/resource.Quantity": {"type": "string", "format": "quantity"},
    "k8s.io/apimachinery/pkg/util/intstr.IntOrString": {"type": "int-or-string"},
    "k8s.io/apimachinery/pkg/runtime.RawExtension": {"type": "any", "format": "object"},
    f"{EXTENSIONS}.JSON": {"type": "any", "format": "json"},
    f"{EXTENSIONS}.JSONSchemaPropsOrArray": {"type": "any", "format": "schema-or-array"},
    f"{EXTENSIONS}.JSONSchemaPropsOrBool": {"type": "any", "format": "schema-or-bool"},
    f"{EXTENSIONS}.JSONSchemaPropsOrStringArray": {"type": "any", "format": "schema-or-strings"},
}

SCALARS: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int": {"type": "integer", "format": "int"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "uint32": {"type": "integer", "format": "uint32"},
    "uint64": {"type": "integer", "format": "uint64"},
    "float32": {"type": "number", "format": "float"},
    "float64": {"type": "number", "format": "double"},
    "interface{}": {"type": "any"},
}

POINTER, REQUIRED, OMIT_ZERO, OMIT_NEVER = 1, 2, 4, 8


def definition_name(qualified: str) -> str:
    """`k8s.io/api/core/v1.Pod` -> `io.k8s.api.core.v1.Pod`."""
    domain, _, rest = qualified.partition("/")
    return ".".join(reversed(domain.split("."))) + "." + rest.replace("/", ".")


class Reducer:
    """Builds the table of types, starting from kinds."""

    def __init__(self, sources: dict[str, Path], definitions: dict[str, Any]) -> None:
        self._sources = sources
        self._definitions = definitions
        self._packages: dict[str, GoPackage] = {}
        self._index: dict[str, int] = {}
        self.types: list[dict[str, Any]] = []

    def package(self, path: str) -> GoPackage:
        """The package at an import path, read at its first use. Raises KeyError for modules that were not given."""
        if path not in self._packages:
            module = next((m for m in self._sources if path.startswith(m + "/")), None)
            if module is None:
                raise KeyError(path)
            self._packages[path] = read_package(self._sources[module] / path[len(module) + 1 :], path)
        return self._packages[path]

    def type_of(self, expression: str, **facts: Any) -> int:
        """The index of the type that a Go type expression means, with further facts about this use of it."""
        if expression.startswith("*"):
            return self.type_of(expression[1:], **facts)
        key = expression + json.dumps(facts, sort_keys=True)
        if key not in self._index:
            entry: dict[str, Any] = {}
            self._index[key] = len(self.types)
            self.types.append(entry)
            self._describe(entry, expression, facts)
        return self._index[key]

    def _describe(self, entry: dict[str, Any], expression: str, facts: dict[str, Any]) -> None:
        entry["go"] = self._go_name(expression)
        underlying = expression
        path, _, name = expression.rpartition(".") if not expression.startswith(("[", "map[")) else ("", "", "")
        if expression in SPECIAL:
            entry.update(SPECIAL[expression])
            entry["name"] = definition_name(expression)
            if entry.get("format", "").startswith("schema-or-"):
                entry["of"] = self.type_of(f"{EXTENSIONS}.JSONSchemaProps")
            return
        if "/" in path:
            package = self.package(path)
            if name in package.structs:
                self._describe_struct(entry, expression, package, name, facts)
                return
            underlying = package.named[name]
            while "/" in underlying and not underlying.startswith(("[", "map[")):
                base, _, base_name = underlying.rpartition(".")
                if base_name in self.package(base).structs:
                    self._describe_struct(entry, expression, self.package(base), base_name, facts)
                    return
                underlying = self.package(base).named[base_name]
            if "enum" in package.named_markers.get(name, {}):
                entry["enum"] = sorted({value for _, value in package.constants.get(name, [])})
        self._describe_underlying(entry, underlying, facts)

    def _describe_underlying(self, entry: dict[str, Any], underlying: str, facts: dict[str, Any]) -> None:
        if underlying == "[]byte":
            entry.update(type="string", format="byte")
        elif underlying.startswith("[]"):
            entry.update(type="list", of=self.type_of(underlying[2:]), **facts)
            if underlying.startswith("[]*"):
                entry["pointers"] = True
        elif underlying.startswith("map["):
            value = underlying.partition("]")[2]
            entry.update(type="map", of=self.type_of(value), **facts)
            if value.startswith("*"):
                entry["pointers"] = True
        else:
            entry.update(SCALARS[underlying])

    def _describe_struct(
        self, entry: dict[str, Any], expression: str, package: GoPackage, name: str, facts: dict[str, Any]
    ) -> None:
        entry.update(type="struct", name=definition_name(expression), **facts)
        if facts:
            entry["variant"] = True
        definition = self._definitions.get(entry["name"], {})
        markers = package.struct_markers.get(name, {})
        if definition.get("x-kubernetes-map-type") == "atomic" or markers.get("structType") == ["atomic"]:
            entry.setdefault("atomic", True)
        required = set(definition["required"]) if "required" in definition else None
        if required is None and definition:
            required = set()
        entry["fields"] = self._fields(package, name, definition.get("properties", {}), required)

    def _fields(
        self, package: GoPackage, name: str, properties: dict[str, Any], required: set[str] | None
    ) -> list[list[Any]]:
        fields: list[list[Any]] = []
        for each in package.structs[name]:
            if each.json:
                fields.append(self._field(each, properties.get(each.json), required))
            else:
                path, _, embedded = each.type.lstrip("*").rpartition(".")
                fields += self._fields(self.package(path), embedded, properties, required)
        return fields

    def _field(self, each: GoField, published: dict[str, Any] | None, required: set[str] | None) -> list[Any]:
        prop = published if published is not None else _from_markers(each)
        flags = 0
        if each.type.startswith("*"):
            flags |= POINTER
        if each.json in required if required is not None else not (each.omitempty or "optional" in each.markers):
            flags |= REQUIRED
        if each.omitzero:
            flags |= OMIT_ZERO
        elif not each.omitempty:
            flags |= OMIT_NEVER
        entry: list[Any] = [each.json, self.type_of(each.type, **self._use(each, prop)), flags]
        more: dict[str, Any] = {}
        if "default" in each.markers and (default := self._default(each)) is not ...:
            more["default"] = default
        if "x-kubernetes-patch-strategy" in prop:
            more["strategy"] = prop["x-kubernetes-patch-strategy"]
        if "x-kubernetes-patch-merge-key" in prop:
            more["mergeKey"] = prop["x-kubernetes-patch-merge-key"]
        return [*entry, more] if more else entry

    def _use(self, each: GoField, prop: dict[str, Any]) -> dict[str, Any]:
        facts: dict[str, Any] = {}
        if "x-kubernetes-list-type" in prop:
            facts["list"] = prop["x-kubernetes-list-type"]
            if keys := prop.get("x-kubernetes-list-map-keys"):
                facts["keys"] = keys
        bare = each.type.lstrip("*")
        if prop.get("x-kubernetes-map-type") == "atomic":
            facts["atomic"] = True
        elif prop.get("x-kubernetes-map-type") == "granular" and not bare.startswith("map["):
            facts["atomic"] = False  # whatever the type says
        is_container = bare.startswith(("[]", "map[")) or facts
        return facts if is_container and bare != "[]byte" else {}

    def _default(self, each: GoField) -> Any:
        text = each.markers["default"][0]
        if match := re.match(r"ref\((.*)\)", text):
            path, _, name = match[1].rpartition(".")
            path = path or each.type.lstrip("*").rpartition(".")[0]
            for constants in self.package(path).constants.values():
                for constant, value in constants:
                    if constant == name:
                        return value
            raise KeyError(text)
        return json.loads(text)

    @staticmethod
    def _go_name(expression: str) -> str:
        """The type as Go prints it: the last part of the package path and the name, and no aliases."""
        name = re.sub(r"[\w.-]+(?:/[\w.-]+)*/(?=\w+\.)", "", expression)
        return re.sub(r"\bbyte\b", "uint8", name).replace("interface{}", "interface {}")


def _from_markers(each: GoField) -> dict[str, Any]:
    """What the published definition would say of a field, for types that have none."""
    names = {
        "listType": "x-kubernetes-list-type",
        "mapType": "x-kubernetes-map-type",
        "structType": "x-kubernetes-map-type",
        "patchStrategy": "x-kubernetes-patch-strategy",
        "patchMergeKey": "x-kubernetes-patch-merge-key",
    }
    prop: dict[str, Any] = {names[k]: v[0] for k, v in each.markers.items() if k in names}
    if "listMapKey" in each.markers:
        prop["x-kubernetes-list-map-keys"] = each.markers["listMapKey"]
    return prop


def _go_packages(sources: dict[str, Path]) -> list[str]:
    """The import paths of all packages that declare a stable version of a group, and of the shared meta types."""
    api = sources["k8s.io/api"]
    folders = [each.parent for each in sorted(api.glob("*/v*/register.go")) if STABLE.match(each.parent.name)]
    return [META, EXTENSIONS, *(f"k8s.io/api/{folder.relative_to(api)}" for folder in folders)]


UNSERVED_GROUPS = frozenset({"apidiscovery.k8s.io", "imagepolicy.k8s.io", "extensions"})
UNVERSIONED = ("Status", "APIVersions", "APIGroupList", "APIGroup", "APIResourceList")
OPTIONS = ("ListOptions", "GetOptions", "DeleteOptions", "CreateOptions", "UpdateOptions", "PatchOptions", "WatchEvent")
META_KINDS = ("Table", "TableOptions", "PartialObjectMetadata", "PartialObjectMetadataList")


def kinds_of(reducer: Reducer, sources: dict[str, Path]) -> list[list[Any]]:
    """All registered kinds of stable versions, with the shared ones that every version has."""
    found: list[list[Any]] = []
    for path in _go_packages(sources):
        package = reducer.package(path)
        version = package.name
        if package.group in UNSERVED_GROUPS:
            continue
        kinds = META_KINDS if path == META else package.kinds
        found += [[package.group, version, kind, reducer.type_of(f"{path}.{kind}")] for kind in kinds]
        found += [[package.group, version, kind, reducer.type_of(f"{META}.{kind}")] for kind in OPTIONS]
    found += [["", "v1", kind, reducer.type_of(f"{META}.{kind}")] for kind in UNVERSIONED]
    return found


def resources_of(documents: list[dict[str, Any]], kinds: list[list[Any]]) -> list[dict[str, Any]]:
    """What discovery says is served, for groups and versions whose kinds are known."""
    known = {(group, version) for group, version, _, _ in kinds}
    found: list[dict[str, Any]] = []
    for item in (i for document in documents for i in document["items"]):
        group = item["metadata"].get("name", "")
        for served in item["versions"]:
            if (group, served["version"]) in known:
                found += [_resource(group, served["version"], each) for each in served["resources"]]
    return found


def _resource(group: str, version: str, each: dict[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "group": group,
        "version": version,
        "resource": each["resource"],
        "kind": each["responseKind"]["kind"],
        "singular": each["singularResource"],
        "namespaced": each["scope"] == "Namespaced",
        "verbs": each["verbs"],
    }
    for ours, theirs in (("shortNames", "shortNames"), ("categories", "categories")):
        if each.get(theirs):
            entry[ours] = each[theirs]
    if each.get("subresources"):
        entry["subresources"] = [
            [
                sub["subresource"],
                sub["responseKind"]["group"] if sub["responseKind"]["version"] else group,
                sub["responseKind"]["version"] or version,
                sub["responseKind"]["kind"],
                sub["verbs"],
            ]
            for sub in each["subresources"]
        ]
    return entry


def main() -> None:
    """Read the sources named on the command line and write the data file."""
    parser = argparse.ArgumentParser(description="Reduce published API descriptions to the server's data file.")
    parser.add_argument("--definitions", type=Path, required=True, help="JSON Schema definitions of the release")
    parser.add_argument("--source", action="append", required=True, metavar="MODULE=DIR", help="a Go module's sources")
    parser.add_argument("--discovery", action="append", type=Path, required=True, help="aggregated discovery documents")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    args = parser.parse_args()
    sources = {module: Path(folder) for module, _, folder in (s.partition("=") for s in args.source)}
    loaded = json.loads(args.definitions.read_text())
    reducer = Reducer(sources, loaded.get("$defs") or loaded["definitions"])
    kinds = kinds_of(reducer, sources)
    resources = resources_of([json.loads(path.read_text()) for path in args.discovery], kinds)
    data = {"types": reducer.types, "kinds": kinds, "resources": resources}
    text = json.dumps(data, separators=(",", ":")).encode()
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_bytes(gzip.compress(text, 9, mtime=0))
    print(f"{len(reducer.types)} types, {len(kinds)} kinds, {len(resources)} resources: {args.output}")


if __name__ == "__main__":
    main()

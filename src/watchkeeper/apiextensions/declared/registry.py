"""Declares kinds.

    registry = Registry()

    @registry.kind("shop.example.com/v1", short_names=["ord"])
    @dataclass
    class Order:
        item: str
        amount: int = 1

`watchkeeper serve --app module:registry` serves Orders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import orjson

from watchkeeper.apiextensions.declared.models import Model, described, model_of
from watchkeeper.apiextensions.serving.defined import Defined, read_defined
from watchkeeper.apiextensions.serving.hooks import Hooks
from watchkeeper.meta.gvk import GroupVersion

Object = dict[str, Any]
_DEFINITION = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"
T = TypeVar("T", bound=type)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of what `kubectl get` shows; `path` is a JSON path such as `.spec.amount`."""

    name: str
    path: str
    type: str = "string"
    """string, integer, number, boolean or date."""
    description: str = ""
    priority: int = 0
    """Above 0: only with `-o wide`."""

    def definition(self) -> Object:
        """The entry in additionalPrinterColumns."""
        return {
            "name": self.name,
            "jsonPath": self.path,
            "type": self.type,
            "description": self.description,
            "priority": self.priority,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredKind:
    """A kind that a class stands for."""

    definition: Object
    """A CustomResourceDefinition that says the same."""
    model: Model
    strategy: Any = None

    @property
    def defined(self) -> Defined:
        """As serving sees it."""
        return read_defined(self.definition)

    def hooks(self) -> Hooks:
        """What the class and its strategy do with objects."""
        from watchkeeper.apiextensions.declared.hooks import hooks_of

        return hooks_of(self.model, self.strategy)


@dataclass(slots=True)
class Registry:
    """The kinds of one application."""

    kinds: list[DeclaredKind] = field(default_factory=list)

    def __iter__(self) -> Iterator[DeclaredKind]:
        return iter(self.kinds)

    def kind(
        self,
        api_version: str,
        *,
        plural: str = "",
        kind: str = "",
        namespaced: bool = True,
        status: type | bool = False,
        short_names: Sequence[str] = (),
        categories: Sequence[str] = (),
        columns: Sequence[Column] = (),
        selectable_fields: Sequence[str] = (),
        scale: Object | None = None,
        strategy: Any = None,
    ) -> Callable[[T], T]:
        """Serve a dataclass, msgspec.Struct or pydantic model as the spec of a kind.

        `status`: a class of the same sort, or True for any content; it is written through its own subresource. `scale`
        has specReplicasPath and statusReplicasPath. `strategy`: an object with any of the methods of `Strategy`.
        """
        if not isinstance(api_version, str):
            raise TypeError('kind() takes an apiVersion: @registry.kind("shop.example.com/v1")')
        version = GroupVersion.parse(api_version)
        if not version.group:
            raise ValueError(f"{api_version!r} names no group, such as shop.example.com/v1")

        def declare(cls: T) -> T:
            name = kind or cls.__name__
            resource = plural or _plural(name.lower())
            spec = model_of(cls).schema()
            if not spec.get("required") and any("default" in each for each in spec.get("properties", {}).values()):
                spec.setdefault("default", {})
            properties: Object = {"spec": spec}
            subresources: Object = {}
            if status:
                subresources["status"] = {}
                properties["status"] = _free() if status is True else model_of(status).schema()
            if scale is not None:
                subresources["scale"] = scale
            schema: Object = {"type": "object", "description": described(cls), "properties": properties}
            if spec.get("required"):
                schema["required"] = ["spec"]
            entry: Object = {
                "name": version.version,
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": schema},
                "subresources": subresources,
                "additionalPrinterColumns": [column.definition() for column in columns],
                "selectableFields": [{"jsonPath": path} for path in selectable_fields],
            }
            names = {
                "kind": name,
                "plural": resource,
                "singular": name.lower(),
                "listKind": f"{name}List",
                "shortNames": list(short_names),
                "categories": list(categories),
            }
            definition = _definition(version.group, names, "Namespaced" if namespaced else "Cluster", entry)
            _check(definition)
            self._check_new(definition)
            self.kinds.append(DeclaredKind(definition=definition, model=model_of(cls), strategy=strategy))
            return cls

        return declare

    def _check_new(self, definition: Object) -> None:
        """Raises ValueError for a name that another kind of the group has."""
        name, spec = definition["metadata"]["name"], definition["spec"]
        for other in self.kinds:
            theirs = other.definition["spec"]
            if other.definition["metadata"]["name"] == name:
                raise ValueError(
                    f"{name} is declared already, in version {theirs['versions'][0]['name']}: a kind has one"
                )
            if theirs["group"] == spec["group"] and theirs["names"]["kind"] == spec["names"]["kind"]:
                raise ValueError(
                    f"{name}: {other.definition['metadata']['name']} is of the kind {spec['names']['kind']}, too"
                )


def _free() -> Object:
    return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def _plural(word: str) -> str:
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return f"{word}es"
    if word.endswith("y") and word[-2:-1] not in ("a", "e", "i", "o", "u", ""):
        return f"{word[:-1]}ies"
    return f"{word}s"


def _definition(group: str, names: Object, scope: str, entry: Object) -> Object:
    name = f"{names['plural']}.{group}"
    true = [{"type": kind, "status": "True"} for kind in ("NamesAccepted", "Established")]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name, "uid": f"declared-{name}"},
        "spec": {
            "group": group,
            "names": names,
            "scope": scope,
            "versions": [entry],
            "conversion": {"strategy": "None"},
        },
        "status": {"acceptedNames": names, "storedVersions": [entry["name"]], "conditions": true},
    }


def _check(definition: Object) -> None:
    """Raises ValueError for a kind that could not be defined otherwise either."""
    from watchkeeper.apiextensions.definition.validation import definition_errors
    from watchkeeper.apis.schema_data import schema_data
    from watchkeeper.runtime.unmarshal import unmarshal

    found: list[str] = []
    # A keyword that nobody knows would hold nobody to anything.
    unmarshal(schema_data().definitions[_DEFINITION], orjson.loads(orjson.dumps(definition)), found)
    found = found or [str(error) for error in definition_errors(definition)]
    if found:
        raise ValueError(f"{definition['metadata']['name']}: {'; '.join(found)}")

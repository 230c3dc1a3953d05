"""What other API servers' documents add to that of v2: the paths of their versions, and the definitions that these use.

Definitions that are the same as others of that name are told once, others get another name (kube-openapi's aggregator).
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

import orjson

from watchkeeper.endpoints.openapi.custom import LARGE_SCHEMA
from watchkeeper.endpoints.openapi.dialect import Dialect
from watchkeeper.endpoints.openapi.parts import Part
from watchkeeper.meta.gvk import GroupVersion

Object = dict[str, Any]
_GVK = "x-kubernetes-group-version-kind"
_references = re.compile(rb'"\$ref":"#/definitions/([^"]+)"')
_PARAMETERS = "#/parameters/"


def version_spec(body: bytes, at: GroupVersion) -> bytes:
    """The paths and definitions of a version in a document, in JSON. Raises ValueError for what is no document.

    Only definitions that nothing but other paths use are left out, as in the reference.
    """
    document: Any = orjson.loads(body)
    try:
        return _version_spec(document, at)
    except (AttributeError, TypeError, ValueError, RecursionError):  # TypeError is what JSON too deep to write raises
        raise ValueError("it is no OpenAPI document") from None


def _version_spec(document: Any, at: GroupVersion) -> bytes:
    paths = {path: item for path, item in (document.get("paths") or {}).items() if isinstance(item, dict)}
    definitions: Object = dict(document.get("definitions") or {})
    parameters: Object = dict(document.get("parameters") or {})
    if not all(isinstance(each, dict) for each in definitions.values()):
        raise ValueError("a definition is no object")
    prefix = f"/apis/{at}/"
    kept = {path: item for path, item in paths.items() if path.startswith(prefix)}
    used, all_used = _used(kept, definitions), _used(paths, definitions)
    found = {name: value for name, value in definitions.items() if name in used or name not in all_used}
    kept = {path: _with_parameters(item, parameters) for path, item in kept.items()}
    return orjson.dumps({"paths": kept, "definitions": found})


def _used(paths: Object, definitions: Object) -> set[str]:
    """The definitions that are referred to from paths, or from others that are."""
    found: set[str] = set()
    left = _references.findall(orjson.dumps(paths))
    while left:
        name = left.pop().decode()
        if name not in found:
            found.add(name)
            if name in definitions:
                left += _references.findall(orjson.dumps(definitions[name]))
    return found


def _with_parameters(item: Object, parameters: Object) -> Object:
    """A path with its parameters where others are referred to."""

    def spelled(of: Any) -> Any:
        if not isinstance(of, dict) or not isinstance(of.get("parameters"), list):
            return of
        return {**of, "parameters": [_spelled(each, parameters) for each in of["parameters"]]}

    whole: Object = spelled({key: spelled(value) for key, value in item.items()})
    return whole


def _spelled(parameter: Any, parameters: Object) -> Any:
    reference = parameter.get("$ref") if isinstance(parameter, dict) else None
    if isinstance(reference, str) and reference.startswith(_PARAMETERS):
        return parameters.get(reference.removeprefix(_PARAMETERS), parameter)
    return parameter


class RemoteSpecs:
    """The parts of all remote versions."""

    def __init__(self, builtin: Callable[[str], Object | None], others: Callable[[], Collection[str]]) -> None:
        """`builtin` gives the definitions of what is built in, `others` the names of those that may not be taken."""
        self._builtin = builtin
        self._others = others
        self._specs: dict[GroupVersion, bytes] = {}

    def __repr__(self) -> str:
        return f"<RemoteSpecs of {len(self._specs)} versions>"

    def put(self, at: GroupVersion, spec: bytes | None) -> bool:
        """Take in what `version_spec` made; whether it is new."""
        if self._specs.get(at) == spec:
            return False
        if spec is None:
            del self._specs[at]
        else:
            self._specs[at] = spec
        return True

    def parts(self, local: Collection[GroupVersion]) -> list[Part]:
        """What the document has of versions that are not `local`, too."""
        if not self._specs:
            return []
        merged = _Merged({at: self._specs[at] for at in sorted(self._specs) if at not in local}, self._existing)
        return [
            Part(
                hashlib.sha256(spec).hexdigest(),
                functools.partial(merged.make, at),
                is_large=sum(map(len, merged.specs.values())) > LARGE_SCHEMA,
            )
            for at, spec in merged.specs.items()
        ]

    def _existing(self, name: str) -> Object | None:
        """A definition of this server, None when there is none of that name; of custom kinds one that is like none."""
        return self._builtin(name) or ({} if name in self._others() else None)


class _Merged:
    """All remote versions at a time, each after those before it."""

    def __init__(self, specs: Mapping[GroupVersion, bytes], existing: Callable[[str], Object | None]) -> None:
        self.specs = specs
        self._existing = existing

    def make(self, at: GroupVersion, _dialect: Dialect) -> tuple[Object, Object]:
        """The paths and definitions of a version."""
        return self._made[at]

    @functools.cached_property
    def _made(self) -> dict[GroupVersion, tuple[Object, Object]]:
        told: Object = {}
        return {at: self._merge(spec, told) for at, spec in self.specs.items()}

    def _merge(self, spec: bytes, told: Object) -> tuple[Object, Object]:
        """The paths of a version and its definitions that are not `told` yet, which are added there."""
        names = _names(orjson.loads(spec)["definitions"], lambda name: told.get(name) or self._existing(name))

        def renamed(match: re.Match[bytes]) -> bytes:
            name = match[1].decode()
            return f'"$ref":"#/definitions/{names.get(name, name)}"'.encode()

        whole = orjson.loads(_references.sub(renamed, spec))
        definitions = {names[name]: value for name, value in sorted(whole["definitions"].items())}
        new = {n: v for n, v in definitions.items() if n not in told and self._existing(n) is None}
        told |= new
        return dict(sorted(whole["paths"].items())), new


def _names(definitions: Object, existing: Callable[[str], Object | None]) -> dict[str, str]:
    """What definitions are to be called beside those that exist."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name, value in sorted(definitions.items()):
        number, free = 1, name
        while (other := existing(free)) is not None and not _alike(other, value):
            number += 1
            free = f"{name}_v{number}"
        if other is None:
            while free in taken or (free != name and free in definitions):
                number += 1
                free = f"{name}_v{number}"
            taken.add(free)
        found[name] = free
    return found


def _alike(one: Object, other: Object) -> bool:
    """Whether definitions say the same, but for the kinds that they are of."""
    first, second = ({k: v for k, v in each.items() if k != _GVK} for each in (one, other))
    return orjson.dumps(first, option=orjson.OPT_SORT_KEYS) == orjson.dumps(second, option=orjson.OPT_SORT_KEYS)

"""The scale subresource of a custom resource: autoscaling/v1 Scale at paths that the definition names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from watchkeeper.meta import errors
from watchkeeper.meta.field import FieldError, invalid
from watchkeeper.registry.derived import DerivedObject
from watchkeeper.registry.rest import Context, UpdatedObject, UpdateOptions
from watchkeeper.registry.store import Store
from watchkeeper.runtime.managedfields import Path, ScaleRecord
from watchkeeper.runtime.patch.strategic import go_value
from watchkeeper.runtime.scheme import Decoder
from watchkeeper.storage.interface import StoredObject

Object = dict[str, Any]

_MAX = 2**31 - 1
_UNSET = -(2**31)
"""What a Scale says about replicas that are nowhere in the object."""
_GO_TYPES = {str: "string", bool: "bool", float: "float64", int: "int64", list: "[]interface {}", type(None): "<nil>"}


class AccessError(ValueError):
    """A path that leads to something of another type."""


def _go_type(value: Any) -> str:
    return _GO_TYPES.get(type(value), "map[string]interface {}")


def _nested(obj: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """The value at a path, `...` when there is none. Raises AccessError."""
    value: Any = obj
    for i, name in enumerate(path, 1):
        if value.__class__ is not dict:
            if value is None:
                return ...
            text = f"{go_value(value)} is of the type {_go_type(value)}, expected map[string]interface{{}}"
            raise AccessError(f".{'.'.join(path[:i])} accessor error: {text}")
        if name not in value:
            return ...
        value = value[name]
    return value


def _typed(obj: Mapping[str, Any], path: tuple[str, ...], kind: type, name: str) -> Any:
    value = _nested(obj, path)
    if value is not ... and value.__class__ is not kind:
        text = f"{go_value(value)} is of the type {_go_type(value)}, expected {name}"
        raise AccessError(f".{'.'.join(path)} accessor error: {text}")
    return value


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """Where an object keeps what its Scale shows."""

    spec: str
    status: str
    selector: str

    @classmethod
    def of(cls, scale: Mapping[str, Any] | None) -> ScalePaths | None:
        """The paths that a definition's subresources.scale names."""
        if scale is None:
            return None
        paths = (scale.get(key) or "" for key in ("specReplicasPath", "statusReplicasPath", "labelSelectorPath"))
        return cls(*paths)

    def replicas_path(self) -> Path:
        """Where the replicas asked for are, as owners record it."""
        return tuple(f"f:{name}" for name in _split(self.spec))

    def spec_errors(self, obj: Object) -> list[FieldError]:
        """What is wrong with the replicas asked for."""
        return _replica_errors(obj, self.spec)

    def status_errors(self, obj: Object) -> list[FieldError]:
        """What is wrong with the replicas there are, and with the selector."""
        found = _replica_errors(obj, self.status)
        if self.selector:
            try:
                _typed(obj, _split(self.selector), str, "string")
            except AccessError as problem:
                found.append(invalid(self.selector, "", str(problem)))
        return found

    def scale_of(self, obj: Object) -> tuple[Object, bool]:
        """The Scale of an object, and whether replicas are asked for at all. Raises AccessError."""
        asked = _typed(obj, _split(self.spec), int, "int64")
        present = _typed(obj, _split(self.status), int, "int64")
        selector = _typed(obj, _split(self.selector), str, "string") if self.selector else ...
        meta = obj["metadata"]
        kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        scale: Object = {
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": {key: meta[key] for key in kept if key in meta},
            "spec": {"replicas": 0 if asked is ... else _int32(asked)},
            "status": {"replicas": 0 if present is ... else _int32(present)},
        }
        if selector is not ...:
            scale["status"]["selector"] = selector
        return scale, asked is not ...

    def set_replicas(self, obj: Object, replicas: int) -> None:
        """Ask for replicas, in place. Raises AccessError."""
        *parents, last = _split(self.spec)
        value: Any = obj
        for i, name in enumerate(parents):
            value = value.setdefault(name, {})
            if value.__class__ is not dict:
                where = "." + ".".join(parents[: i + 1])
                raise AccessError(f"value cannot be set because {where} is not a map[string]interface{{}}")
        value[last] = replicas


def _split(path: str) -> tuple[str, ...]:
    return tuple(path.removeprefix(".").split("."))


def _int32(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def _replica_errors(obj: Object, path: str) -> list[FieldError]:
    try:
        replicas = _typed(obj, _split(path), int, "int64")
    except AccessError as problem:
        return [invalid(path, 0, str(problem))]
    if replicas is ...:
        return []
    if replicas < 0:
        return [invalid(path, replicas, "should be a non-negative integer")]
    if replicas > _MAX:
        return [invalid(path, replicas, f"should be less than or equal to {_MAX}")]
    return []


class CustomScaleStore:
    """Reads and writes Scales of one custom resource."""

    def __init__(
        self,
        store: Store,
        paths: ScalePaths,
        encode: Decoder,
        version: str,
        replicas: Mapping[str, Path | None],
        prune: Callable[[Object], None],
    ) -> None:
        """`encode` makes a Scale what its type's encoder writes; `prune` drops what the schema does not name.

        `version` is the object's apiVersion; `replicas` says for each version where owners record the replicas.
        """
        self._store = store
        self._paths = paths
        self._encode = encode
        self._version = version
        self._replicas = replicas
        self._prune = prune

    def get_nowait(self, ctx: Context, name: str, resource_version: str) -> StoredObject | None:
        """Never at once: the Scale has to be made."""
        return None

    async def get(self, ctx: Context, name: str, resource_version: str) -> Object:
        """The Scale."""
        found = await self._store.get(ctx, name, resource_version)
        try:
            scale, is_set = self._paths.scale_of(found.data())
        except AccessError as problem:
            raise errors.internal_error(str(problem)) from problem
        if not is_set:
            raise errors.internal_error(f'the spec replicas field "{self._paths.spec}" does not exist')
        return self._encode(scale, None)

    async def update(
        self, ctx: Context, name: str, updated: UpdatedObject, options: UpdateOptions
    ) -> tuple[Object, bool]:
        """Change the number of replicas asked for. Raises what is wrong with the object then."""
        change = _ScaleChange(self, updated)
        validate = options.validate_update

        async def validate_scales(obj: Object, old: Object) -> None:
            # What the object has become is judged, not what was sent: that may say nothing but a number.
            assert validate is not None
            await validate(self._judged_scale(obj), self._judged_scale(old))

        judged = UpdateOptions(dry_run=options.dry_run, validate_update=validate_scales if validate else None)
        result, _ = await self._store.update(ctx, name, change, judged)
        obj = result.data() if isinstance(result, StoredObject) else result
        try:
            scale, _ = self._paths.scale_of(obj)
        except AccessError as problem:
            raise errors.bad_request(str(problem)) from problem
        return self._encode(scale, None), False

    def _judged_scale(self, obj: Object) -> Object:
        try:
            return self._encode(self._paths.scale_of(obj)[0], None)
        except AccessError as problem:
            raise errors.internal_error(str(problem)) from problem


class _ScaleChange:
    def __init__(self, scales: CustomScaleStore, updated: UpdatedObject) -> None:
        self._scales = scales
        self._paths = scales._paths
        self._encode = scales._encode
        self._updated = updated
        self.uid: str | None = updated.uid

    async def __call__(self, current: StoredObject | None) -> Object:
        assert current is not None
        obj = current.data()
        scales = self._scales
        record = ScaleRecord(obj["metadata"].get("managedFields"), scales._version, scales._replicas)
        try:
            old, is_set = self._paths.scale_of(obj)
            if not is_set:
                old["spec"]["replicas"] = _UNSET
            if entries := record.to_scale():
                old["metadata"]["managedFields"] = entries
            new = await self._updated(DerivedObject(current, self._encode(old, None)))
            replicas = (new.get("spec") or {}).get("replicas") or 0
            if replicas == _UNSET:
                raise errors.bad_request(f'the spec replicas field "{self._paths.spec}" cannot be empty')
            self._paths.set_replicas(obj, replicas)
            # The path may lead to a field that the schema does not name any more.
            scales._prune(obj)
        except AccessError as problem:
            raise errors.internal_error(str(problem)) from problem
        metadata: Object = new.get("metadata") or {}
        if asked := metadata.get("resourceVersion"):
            obj["metadata"]["resourceVersion"] = asked
        if entries := record.to_object(metadata.get("managedFields")):
            obj["metadata"]["managedFields"] = entries
        else:
            obj["metadata"].pop("managedFields", None)
        return obj

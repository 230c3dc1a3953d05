"""One version of a custom resource: its schema, compiled at first need into what requests run."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import orjson

from watchkeeper.apiextensions.schema.correlation import Correlation
from watchkeeper.apiextensions.schema.defaulting import Fill, compile_defaulter
from watchkeeper.apiextensions.schema.embedded import compile_coercer, compile_embedded_check, decode_metadata
from watchkeeper.apiextensions.schema.lists import compile_list_check
from watchkeeper.apiextensions.schema.normalize import Walk, compile_normalizer
from watchkeeper.apiextensions.schema.quick import compile_check
from watchkeeper.apiextensions.schema.rule_set import RuleSet
from watchkeeper.apiextensions.schema.rules import compile_rules
from watchkeeper.apiextensions.schema.settled_defaults import settle_defaults
from watchkeeper.apiextensions.schema.stored_metadata import readable_metadata
from watchkeeper.apiextensions.schema.structural import NotStructural, Structural, read_structural
from watchkeeper.apiextensions.schema.validator import Validator
from watchkeeper.apiextensions.serving.hooks import Hooks
from watchkeeper.apiextensions.serving.scale import ScalePaths
from watchkeeper.meta.field import ErrorType, FieldError, go_quote, invalid
from watchkeeper.meta.gvk import GroupVersionKind

Object = dict[str, Any]
Warn = Callable[[str], None]

_BLOCKING = frozenset(
    {ErrorType.NOT_SUPPORTED, ErrorType.REQUIRED, ErrorType.TOO_LONG, ErrorType.TOO_MANY, ErrorType.TYPE_INVALID}
)
_NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


class CompiledVersion:
    """What a version's schema makes of objects.

    Nothing is compiled, nor the schema parsed, before a request needs it. `keep_unknown` is for definitions of old that
    preserve unknown fields everywhere.
    """

    def __init__(
        self,
        gvk: GroupVersionKind,
        schema_json: bytes | None,
        *,
        has_status: bool = False,
        scale: ScalePaths | None = None,
        keep_unknown: bool = False,
        hooks: Hooks = Hooks(),
    ) -> None:
        self.gvk = gvk
        self.schema_json = schema_json
        self.has_status = has_status
        self.scale = scale
        self.hooks = hooks
        self._keep_unknown = keep_unknown

    def __repr__(self) -> str:
        return f"<CompiledVersion {self.gvk.api_version} {self.gvk.kind}>"

    # -- the schema, compiled ---------------------------------------------------------------------------------

    @functools.cached_property
    def root(self) -> Structural | None:
        """The structural schema; None when there is none."""
        if self.schema_json is None:
            return None
        try:
            root = read_structural(orjson.loads(self.schema_json))
        except NotStructural:
            return None
        if self._keep_unknown:
            root.preserve = True
        else:
            settle_defaults(root)
        return root

    @functools.cached_property
    def _normalize(self) -> Walk:
        return self._normalizer()

    @functools.cached_property
    def _normalize_changed(self) -> Walk:
        return self._normalizer(keeps_nulls=True)

    def _normalizer(self, *, keeps_nulls: bool = False) -> Walk:
        if self.root is None and self._keep_unknown:
            return compile_normalizer(Structural(source={}, type="object", preserve=True), keeps_nulls=keeps_nulls)
        return compile_normalizer(self.root, keeps_nulls=keeps_nulls)

    @functools.cached_property
    def _fill(self) -> Fill | None:
        return compile_defaulter(self.root)

    @functools.cached_property
    def _coerce(self) -> Callable[[Any, list[str] | None, str], None] | None:
        return compile_coercer(self.root)

    @functools.cached_property
    def _drop_malformed(self) -> Callable[[Any, list[str] | None, str], None] | None:
        return compile_coercer(self.root, lenient=True)

    @functools.cached_property
    def _is_valid(self) -> Callable[[Any], bool]:
        return compile_check(self.root) if self.root is not None else lambda _value: True

    @functools.cached_property
    def _validator(self) -> Validator | None:
        return Validator(self.root) if self.root is not None else None

    @functools.cached_property
    def _status(self) -> tuple[Callable[[Any], bool], Validator] | None:
        node = self.root.properties.get("status") if self.root is not None else None
        return (compile_check(node), Validator(node)) if node is not None else None

    @functools.cached_property
    def _embedded_errors(self) -> Callable[[Any, str], list[FieldError]] | None:
        return compile_embedded_check(self.root)

    @functools.cached_property
    def _list_errors(self) -> Callable[[Any, str], list[FieldError]] | None:
        return compile_list_check(self.root)

    @functools.cached_property
    def _rules(self) -> RuleSet | None:
        found = compile_rules(self.root) if self.root is not None else None
        return RuleSet(found) if found is not None else None

    @functools.cached_property
    def _strict_rules(self) -> RuleSet:
        """The rules for objects that are from the time of another schema."""
        found = compile_rules(self.root, strict=True) if self.root is not None else None
        assert found is not None
        return RuleSet(found)

    # -- decoding ---------------------------------------------------------------------------------------------

    def decode(self, obj: Object, unknown: list[str] | None) -> Object:
        """A `runtime.scheme.Decoder`: prunes and normalizes, in place. Raises DecodeError."""
        return self._decoded(obj, unknown, self._normalize)

    def decode_changed(self, obj: Object) -> Object:
        """The same for what admission has changed: its nulls are looked at as they are. Raises DecodeError."""
        return self._decoded(obj, None, self._normalize_changed)

    def _decoded(self, obj: Object, unknown: list[str] | None, normalize: Walk) -> Object:
        if obj.get("metadata", self) is not self:
            found: list[str] | None = [] if unknown is not None else None
            obj["metadata"] = decode_metadata(obj["metadata"], found, "metadata")
            if found and unknown is not None:
                unknown += [f"unknown field {go_quote(path)}" for path in found]
        self._prune(obj, unknown, normalize)
        return obj

    def prune(self, obj: Object, unknown: list[str] | None = None) -> None:
        """Drop what the schema does not name, and nulls, in place; metadata of the object itself is left alone."""
        self._prune(obj, unknown, self._normalize)

    def _prune(self, obj: Object, unknown: list[str] | None, normalize: Walk) -> None:
        paths: list[str] | None = [] if unknown is not None else None
        normalize(obj, paths, "")
        if paths:
            paths.sort()
        coerce = self._coerce
        if coerce is not None:
            coerce(obj, paths, "")
        if paths and unknown is not None:
            unknown += [f"unknown field {go_quote(path)}" for path in paths]

    def default(self, obj: Object) -> None:
        """Fill in defaults, in place."""
        self.fill_in(obj)
        if self.hooks.default is not None:
            self.hooks.default(obj)

    @property
    def fills_in(self) -> bool:
        """Whether there are any defaults."""
        return self._fill is not None or self.hooks.default is not None

    def fill_in(self, obj: Object) -> None:
        """Fill in the defaults of the schema, in place."""
        fill = self._fill
        if fill is not None:
            fill(obj)

    def on_read(self, obj: Object) -> Object:
        """What an object read from storage shows: the schema of today, defaults included.

        Its metadata may be older than any check of it.
        """
        obj["metadata"] = metadata = readable_metadata(obj.get("metadata") or {})
        metadata.setdefault("generation", 1)
        self._normalize(obj, None, "")
        if self._drop_malformed is not None:
            self._drop_malformed(obj, None, "")
        self.default(obj)
        return obj

    # -- validation -------------------------------------------------------------------------------------------

    def type_errors(self, obj: Object) -> list[FieldError]:
        """Whether the object says that it is of this kind and version."""
        errors: list[FieldError] = []
        gvk = self.gvk
        if obj.get("kind") != gvk.kind:
            errors.append(invalid("kind", obj.get("kind") or "", f"must be {gvk.kind}"))
        if obj.get("apiVersion") != gvk.api_version:
            errors.append(invalid("apiVersion", obj.get("apiVersion") or "", f"must be {gvk.api_version}"))
        return errors

    def errors_of_new(self, obj: Object, errors: list[FieldError]) -> list[FieldError]:
        """All that the schema holds against a new object, behind the errors given."""
        if not self._is_valid(obj):
            assert self._validator is not None
            errors += self._validator.errors(obj)
        if self.scale is not None:
            errors += self.scale.spec_errors(obj)
            errors += self.scale.status_errors(obj)
        if self._embedded_errors is not None:
            errors += self._embedded_errors(obj, "")
        if self._list_errors is not None:
            errors += self._list_errors(obj, "")
        if self._rules is not None:
            errors += self._rule_errors(self._rules, obj, None, None, errors)
        return errors

    def errors_of_update(self, obj: Object, old: Object, errors: list[FieldError], warn: Warn) -> list[FieldError]:
        """The same for a changed object. What has not changed is not held against it."""
        correlation = Correlation(self.root, obj, old)
        valid = self._is_valid(obj)
        if not valid:
            assert self._validator is not None
            errors += self._validator.errors(obj, "", correlation)
        if self.scale is not None:
            errors += self.scale.spec_errors(obj)
            errors += self.scale.status_errors(obj)
        if self._embedded_errors is not None:
            errors += self._embedded_errors(obj, "")
        errors += self._new_list_errors(obj, old)
        if self._rules is not None:
            rules = self._rules_of_update(self._rules, old, valid=valid)
            errors += self._rule_errors(rules, obj, old, correlation, errors, warn)
        return errors

    def errors_of_status(self, obj: Object, old: Object, errors: list[FieldError], warn: Warn) -> list[FieldError]:
        """The same for an object of which only status has changed."""
        correlation = Correlation(self.root, obj, old)
        if self._status is not None and "status" in obj:
            is_valid, validator = self._status
            if not is_valid(obj["status"]):
                errors += validator.errors(obj["status"], "status", correlation.key("status"))
        if self.scale is not None:
            errors += self.scale.status_errors(obj)
        errors += self._new_list_errors(obj, old)
        if self._rules is not None:
            rules = self._rules_of_update(self._rules, old, valid=self._is_valid(obj))
            errors += self._rule_errors(rules, obj, old, correlation, errors, warn)
        return errors

    def _new_list_errors(self, obj: Object, old: Object) -> list[FieldError]:
        check = self._list_errors
        if check is None:
            return []
        found = check(obj, "")
        return [] if found and check(old, "") else found

    def _rules_of_update(self, rules: RuleSet, old: Object, *, valid: bool) -> RuleSet:
        """Those to run: what is not held against an update may be of other types than the schema says.

        `valid`: whether the new state fits the schema.
        """
        return rules if valid and (not rules.look_back or self._is_valid(old)) else self._strict_rules

    @staticmethod
    def _rule_errors(
        rules: RuleSet,
        obj: Object,
        old: Object | None,
        correlation: Correlation | None,
        errors: list[FieldError],
        warn: Warn | None = None,
    ) -> list[FieldError]:
        if any(error.type in _BLOCKING for error in errors):
            return [invalid("<nil>", None, _NOT_CHECKED)]
        return rules.errors(obj, old, correlation=correlation, warn=warn)

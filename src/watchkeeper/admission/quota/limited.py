"""Resources of which nothing may be used where no quota says how much."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from watchkeeper.admission.interface import Attributes
from watchkeeper.admission.quota.amounts import Amounts
from watchkeeper.admission.quota.evaluator import Evaluator, Object, ScopeSelector
from watchkeeper.admission.refusal import forbidden
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import FieldError, required
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.meta.labels import SelectorError
from watchkeeper.runtime.config_file import ConfigFileError, parse_config

_SCOPE = {"scopeName": str, "operator": str, "values": [str]}
_FIELDS = {"limitedResources": [{"apiGroup": str, "resource": str, "matchContains": [str], "matchScopes": [_SCOPE]}]}
_KINDS = {
    "Configuration": ("resourcequota.admission.k8s.io/v1beta1", "resourcequota.admission.k8s.io/v1alpha1"),
    "ResourceQuotaConfiguration": ("apiserver.config.k8s.io/v1",),
}


@dataclass(frozen=True, slots=True)
class LimitedResource:
    """What must be covered by a quota: names that contain a text, and objects in a scope."""

    resource: GroupResource
    contains: tuple[str, ...] = ()
    scopes: tuple[ScopeSelector, ...] = ()


def parse_limited(data: str | Mapping[str, Any]) -> tuple[list[LimitedResource], list[FieldError]]:
    """Read a file, or an object from one, and what is wrong with its values. Raises ConfigFileError."""
    problems: list[ConfigFileError] = []
    for kind, versions in _KINDS.items():
        try:
            found = parse_config(data, kind, dict.fromkeys(versions, _FIELDS))
            break
        except ConfigFileError as error:
            problems.append(error)
    else:
        raise next((each for each in problems if "is registered" not in str(each)), problems[0])
    limited: list[LimitedResource] = []
    faults: list[FieldError] = []
    for i, each in enumerate(found.get("limitedResources") or ()):
        resource = GroupResource(each.get("apiGroup") or "", each.get("resource") or "")
        if not resource.resource:
            faults.append(required(f"limitedResources[{i}].resource"))
        texts = tuple(each.get("matchContains") or ())
        limited.append(LimitedResource(resource, texts, tuple(each.get("matchScopes") or ())))
    return limited, faults


class Demand:
    """What quotas have to cover for one request to pass."""

    def __init__(
        self, limited: Sequence[LimitedResource], attributes: Attributes, evaluator: Evaluator, usage: Amounts
    ) -> None:
        self._attributes = attributes
        self._evaluator = evaluator
        obj = attributes.obj
        assert obj is not None
        about = attributes.resource.group_resource
        texts = [text for each in limited if each.resource == about for text in each.contains]
        self._names = {
            name for name, amount in usage.items() if amount.sign > 0 and any(text in name for text in texts)
        }
        self._scopes = [scope for each in limited for scope in each.scopes if self._is_in(scope, obj)]

    def check(self, hard: Iterable[Amounts], scopes: Iterable[ScopeSelector]) -> None:
        """Compare with quotas about the object, and with the scopes of all.

        Raises a 403 where a name is not limited, a 500 where a scope is not.
        """
        covered = {name for each in hard for name in self._evaluator.matching(each)}
        if missing := self._names - covered:
            raise forbidden(self._attributes, f"insufficient quota to consume: {','.join(sorted(missing))}")
        if not self._scopes:
            return
        obj = self._attributes.obj
        assert obj is not None
        names = {scope["scopeName"] for scope in scopes if self._is_in(scope, obj)}
        if uncovered := [scope for scope in self._scopes if scope.get("scopeName") not in names]:
            shown = " ".join(_shown(scope) for scope in uncovered)
            raise ApiError(500, "", f"insufficient quota to match these scopes: [{shown}]")

    def _is_in(self, scope: ScopeSelector, obj: Object) -> bool:
        try:
            return self._evaluator.in_scope(scope, obj)
        except SelectorError:
            return False


def _shown(scope: ScopeSelector) -> str:
    return f"{{{scope.get('scopeName') or ''} {scope.get('operator') or ''} [{' '.join(scope.get('values') or ())}]}}"

"""A ResourceQuota as requests are charged to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from watchkeeper.admission.quota import amounts
from watchkeeper.admission.quota.amounts import Amounts
from watchkeeper.admission.quota.evaluator import Evaluator, Object, ScopeSelector
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.labels import SelectorError


@dataclass(frozen=True, slots=True)
class Quota:
    """What there may be and what there is, as `status` tells."""

    obj: Object
    name: str
    hard: Amounts
    used: Amounts

    @classmethod
    def read(cls, obj: Mapping[str, Any]) -> Quota:
        """Of a ResourceQuota as it is stored."""
        status = obj.get("status") or {}
        return cls(obj, obj["metadata"]["name"], amounts.read(status.get("hard")), amounts.read(status.get("used")))

    def using(self, used: Amounts) -> Quota:
        """The same with more, or less, in use."""
        return replace(self, used=used)

    def covers(self, evaluator: Evaluator, obj: Object) -> bool:
        """Whether an object counts: some of the quota's resources are about it, and it is in all of its scopes.

        Raises a 500 for a scope that cannot be understood.
        """
        inside = [self._is_in(selector, evaluator, obj) for selector in scopes_of(self.obj)]
        return all(inside) and bool(evaluator.matching(self.hard))

    def _is_in(self, selector: ScopeSelector, evaluator: Evaluator, obj: Object) -> bool:
        try:
            return evaluator.in_scope(selector, obj)
        except SelectorError as error:
            values = " ".join(selector.get("values") or ())
            scope = f"{{{selector['scopeName']} {selector.get('operator') or ''} [{values}]}}"
            why = f"error on matching scope {scope}: failed to parse and convert selector: {error}"
            raise ApiError(500, "", f"error matching scopes of quota {self.name}, err: {why}") from error

    def written(self) -> dict[str, Any]:
        """The ResourceQuota with what is now in use."""
        status = {**(self.obj.get("status") or {}), "used": amounts.write(self.used)}
        return {**self.obj, "metadata": dict(self.obj["metadata"]), "status": status}


def scopes_of(quota: Mapping[str, Any]) -> Sequence[ScopeSelector]:
    """All scopes of a quota, however they are written."""
    spec = quota.get("spec") or {}
    plain = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()]
    return [*plain, *((spec.get("scopeSelector") or {}).get("matchExpressions") or ())]

"""Documents about paths that are no resources: /api/, /apis/, those of groups, /version/ and the keys of tokens."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from watchkeeper.endpoints.openapi.definitions import VERSION_NAME
from watchkeeper.endpoints.openapi.dialect import BUILTIN, Dialect
from watchkeeper.endpoints.openapi.operations import Operations
from watchkeeper.endpoints.openapi.parts import Part
from watchkeeper.endpoints.openapi.paths import group_tag, title

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_JSON = ("application/json",)
_Facts = tuple[str, str, str, tuple[str, ...]]
"""A tag, the id of the operation, the definition of the answer ("" for text), and its media types."""
_FACTS: dict[str, _Facts] = {
    ".well-known/openid-configuration": ("WellKnown", "getServiceAccountIssuerOpenIDConfiguration", "", _JSON),
    "api": ("core", "getCoreAPIVersions", f"{_META}APIVersions", BUILTIN.answers),
    "apis": ("apis", "getAPIVersions", f"{_META}APIGroupList", BUILTIN.answers),
    "openid/v1/jwks": ("openid", "getServiceAccountIssuerOpenIDKeyset", "", ("application/jwk-set+json",)),
    "version": ("version", "getCodeVersion", VERSION_NAME, _JSON),
}
DEFINITIONS = frozenset(facts[2] for facts in _FACTS.values() if facts[2]) | {f"{_META}APIGroup"}
"""What they answer with."""


def plain_facts(groups: Iterable[str]) -> dict[str, _Facts]:
    """All such paths, without slashes at their ends, where these groups are served."""
    of_groups: dict[str, _Facts] = {}
    for group in groups:
        tag = group_tag(group)
        of_groups[f"apis/{group}"] = (tag, f"get{title(tag)}APIGroup", f"{_META}APIGroup", BUILTIN.answers)
    return {**_FACTS, **of_groups}


def plain_part(path: str, facts: _Facts) -> Part:
    """What one of them adds to documents."""

    def make(dialect: Dialect) -> tuple[dict[str, Any], dict[str, Any]]:
        return {f"/{path}/": {"get": Operations(dialect).plain(*facts)}}, {}

    return Part(hashlib.sha256(repr((path, facts)).encode()).hexdigest(), make)

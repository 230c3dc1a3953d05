"""Names that are kept for configurations which kube-apiserver reads from files."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

_SUFFIX = ".static.k8s.io"
_WARNING = (
    f'metadata.name: names ending with "{_SUFFIX}" are reserved for static manifest-based configurations and '
    "cannot be managed via the API"
)


def static_name_warnings(configuration: Object, _old: Object | None = None) -> list[str]:
    """What is said on every write of a policy, a binding or a webhook configuration with such a name."""
    return [_WARNING] if (configuration["metadata"].get("name") or "").endswith(_SUFFIX) else []

"""What is wrong with new Pods, and what to warn of: found out once for all Pods that are alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.core.pod_validation import validate_pod
from watchkeeper.apis.core.pod_warnings import warnings_for_pod
from watchkeeper.meta.field import FieldError
from watchkeeper.runtime.alike import Memo

Object = Mapping[str, Any]


class NewPods:
    """Judges new Pods besides their metadata.

    The Pods of a workload have the same spec and annotations, and so the same faults; those that have none are
    remembered, with the warnings about them.
    """

    def __init__(self) -> None:
        self._sound: Memo[tuple[str, ...]] = Memo()
        self._last: tuple[Object, tuple[str, ...]] | None = None

    def validate(self, pod: Object) -> list[FieldError]:
        """All that is wrong."""
        self._last = None
        key = self._key(pod)
        warnings = self._sound.get(key) if key is not None else None
        if warnings is None:
            found = validate_pod(pod)
            if found or key is None:
                return found
            warnings = tuple(warnings_for_pod(pod))
            self._sound.add(key, warnings)
        self._last = (pod, warnings)
        return []

    def warnings(self, pod: Object) -> list[str]:
        """What to warn of in a Pod that was found valid."""
        last, self._last = self._last, None
        return list(last[1]) if last is not None and last[0] is pod else warnings_for_pod(pod)

    def _key(self, pod: Object) -> bytes | None:
        """What faults and warnings depend on; None for a Pod of which that is more than its spec and annotations."""
        spec: Object = pod.get("spec") or {}
        if "resourceClaims" in spec or any("ephemeral" in volume for volume in spec.get("volumes") or ()):
            return None  # these make names of the Pod's
        return self._sound.key(spec, pod["metadata"].get("annotations"))

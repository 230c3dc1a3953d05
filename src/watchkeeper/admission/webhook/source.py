"""The webhooks of all configurations of one kind that are stored."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from watchkeeper.admission.webhook.hook import Hook

Object = dict[str, Any]


class HookSource:
    """Told of configurations as they come and go; `hooks` is what there is, in the order in which it is asked."""

    def __init__(self) -> None:
        self.hooks: tuple[Hook, ...] = ()
        """Configurations by name, and each one's webhooks in its order."""
        self._configurations: dict[str, tuple[str, tuple[Hook, ...]]] = {}

    def __repr__(self) -> str:
        return f"<HookSource: {len(self.hooks)} webhooks in {len(self._configurations)} configurations>"

    def put(self, configuration: Object) -> None:
        """Take a configuration, new or changed. One that is known at this version already changes nothing."""
        if self._take(configuration):
            self._collect()

    def remove(self, configuration: Object) -> None:
        """Forget a configuration."""
        if self._configurations.pop(configuration["metadata"]["name"], None) is not None:
            self._collect()

    def replace(self, configurations: Iterable[Object]) -> None:
        """Take these configurations in the place of all there are."""
        present = {c["metadata"]["name"]: c for c in configurations}
        for name in self._configurations.keys() - present.keys():
            del self._configurations[name]
        for configuration in present.values():
            self._take(configuration)
        self._collect()

    def _take(self, configuration: Object) -> bool:
        metadata = configuration["metadata"]
        name, version = metadata["name"], metadata.get("resourceVersion") or ""
        known = self._configurations.get(name)
        if known is not None and version and known[0] == version:
            return False
        counts: dict[str, int] = {}
        hooks: list[Hook] = []
        for hook in configuration.get("webhooks") or ():
            own = hook.get("name") or ""
            number = counts.get(own, 0)
            counts[own] = number + 1
            hooks.append(Hook(name, f"{name}/{own}/{number}", hook))
        self._configurations[name] = (version, tuple(hooks))
        return True

    def _collect(self) -> None:
        ordered = sorted(self._configurations.items())
        self.hooks = tuple(hook for _, (_, hooks) in ordered for hook in hooks)

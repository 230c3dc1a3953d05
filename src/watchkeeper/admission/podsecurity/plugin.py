"""The PodSecurity plugin."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from watchkeeper.admission.interface import Attributes, BasePlugin, Operation
from watchkeeper.admission.podsecurity.level import NO_POLICY, PREFIX, Level, LevelVersion, Policy, read_policy
from watchkeeper.admission.podsecurity.metrics import PodSecurityMetrics
from watchkeeper.admission.refusal import forbidden
from watchkeeper.meta import errors
from watchkeeper.meta.field import FieldError, aggregate
from watchkeeper.meta.gvk import GroupKind, GroupResource

if TYPE_CHECKING:
    from watchkeeper.admission.podsecurity.configuration import Configuration
    from watchkeeper.admission.podsecurity.words import Violation

Object = dict[str, Any]
Labels = Mapping[str, str]
ReadLabels = Callable[[str], "Labels | Awaitable[Labels]"]
"""Name of a namespace -> its labels, as far as they are about PodSecurity. An awaitable when memory cannot tell."""
ReadPods = Callable[[str], "Sequence[Object] | Awaitable[Sequence[Object]]"]
"""Name of a namespace -> its Pods. An awaitable when memory cannot tell."""

_OF_PODS = frozenset({"exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status"})
"""Subresources of Pods that do not change what a Pod may do."""
_TEMPLATES: Mapping[GroupResource, tuple[str, ...]] = {
    GroupResource("", "podtemplates"): ("template",),
    GroupResource("", "replicationcontrollers"): ("spec", "template"),
    GroupResource("apps", "replicasets"): ("spec", "template"),
    GroupResource("apps", "deployments"): ("spec", "template"),
    GroupResource("apps", "statefulsets"): ("spec", "template"),
    GroupResource("apps", "daemonsets"): ("spec", "template"),
    GroupResource("batch", "jobs"): ("spec", "template"),
    GroupResource("batch", "cronjobs"): ("spec", "jobTemplate", "spec", "template"),
}
"""Where the Pods are that others are made of."""

_UNLABELED: Labels = {}
_PRIVILEGED = (f"{PREFIX}enforce-policy", str(NO_POLICY.enforce))
_EXEMPT = f"{PREFIX}exempt"


class PodSecurity(BasePlugin):
    """Refuses Pods that break the standard of their namespace, and warns of those that would."""

    name = "PodSecurity"
    operations = frozenset({Operation.CREATE, Operation.UPDATE})
    resources = frozenset({GroupResource("", "namespaces"), GroupResource("", "pods"), *_TEMPLATES})

    def __init__(
        self,
        read_labels: ReadLabels,
        read_pods: ReadPods,
        metrics: PodSecurityMetrics | None = None,
        configuration: Configuration | None = None,
    ) -> None:
        """`metrics`: where judgments are counted; `configuration`: what holds where labels say nothing."""
        self._labels = read_labels
        self._pods = read_pods
        self._metrics = metrics or PodSecurityMetrics()
        self._configuration = configuration
        self._defaults = configuration.defaults if configuration is not None else NO_POLICY

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Judge Pods and what Pods are made of, and the labels of namespaces."""
        resource = attributes.resource.group_resource
        if resource.resource == "namespaces" and not resource.group:
            return None if attributes.subresource else self._namespace(attributes)
        if resource.resource == "pods" and not resource.group:
            if attributes.subresource in _OF_PODS:
                return None
        elif attributes.subresource or resource not in _TEMPLATES:
            return None
        if self._configuration is not None:
            exemption = self._configuration.exemption(attributes.namespace, attributes.user.name)
            if exemption:
                attributes.annotate(_EXEMPT, exemption)
                self._metrics.exempted(attributes)
                return None
        labels = self._labels(attributes.namespace)
        if not labels:
            self._judge(attributes, _UNLABELED)
        elif isinstance(labels, Awaitable):
            return self._wait(attributes, labels)
        else:
            self._judge(attributes, labels)
        return None

    async def _wait(self, attributes: Attributes, labels: Awaitable[Labels]) -> None:
        self._judge(attributes, await labels)

    def _judge(self, attributes: Attributes, labels: Labels) -> None:
        policy, faults = read_policy(labels, self._defaults) if labels else (self._defaults, [])
        assert attributes.obj is not None
        resource = attributes.resource.group_resource
        enforce = resource not in _TEMPLATES
        if enforce:
            if not faults and policy.is_privileged:
                attributes.annotate(*_PRIVILEGED)
                if attributes.subresource:
                    self._metrics.evaluated(attributes, "enforce", policy.enforce, allowed=True)
                else:
                    self._metrics.unrestricted[attributes.operation] += 1
                return
            if attributes.operation is Operation.UPDATE and not _is_significant(attributes):
                return
            self._evaluate(attributes, policy, faults, attributes.obj, enforce=True)
        elif faults or policy.warn.level or policy.audit.level:
            template = _at(attributes.obj, _TEMPLATES[resource])
            if template is not None:
                self._evaluate(attributes, policy, faults, template, enforce=False)

    def _evaluate(
        self, attributes: Attributes, policy: Policy, faults: Sequence[FieldError], pod: Object, *, enforce: bool
    ) -> None:
        """Judge a Pod, or what Pods will be made of. Raises a 403."""
        if self._is_exempt(pod):
            attributes.annotate(_EXEMPT, "runtimeClass")
            self._metrics.exempted(attributes)
            return
        # Loaded with the first namespace that asks for it.
        from watchkeeper.admission.podsecurity.standards import in_detail, violations

        metadata, spec = pod.get("metadata") or {}, pod.get("spec") or {}
        known: dict[LevelVersion, list[Violation]] = {}
        metrics = self._metrics

        def broken(wanted: LevelVersion) -> list[Violation]:
            if wanted not in known:
                known[wanted] = violations(wanted, metadata, spec)
            return known[wanted]

        if faults:
            attributes.annotate(f"{PREFIX}error", f"Failed to parse policy: {aggregate(faults)}")
            metrics.failed(attributes)
        if enforce:
            attributes.annotate(f"{PREFIX}enforce-policy", str(policy.enforce))
        if found := broken(policy.audit):
            text = f'would violate PodSecurity "{policy.audit}": {in_detail(found)}'
            attributes.annotate(f"{PREFIX}audit-violations", text)
            metrics.evaluated(attributes, "audit", policy.audit, allowed=False)
        if enforce:
            found = broken(policy.enforce)
            metrics.evaluated(attributes, "enforce", policy.enforce, allowed=not found)
            if found:
                raise forbidden(attributes, f'violates PodSecurity "{policy.enforce}": {in_detail(found)}')
        if found := broken(policy.warn):
            attributes.warn(f'would violate PodSecurity "{policy.warn}": {in_detail(found)}')
            metrics.evaluated(attributes, "warn", policy.warn, allowed=False)

    def _is_exempt(self, pod: Object) -> bool:
        """Whether Pods of its runtime class are not judged."""
        if self._configuration is None:
            return False
        return (pod.get("spec") or {}).get("runtimeClassName") in self._configuration.runtime_classes

    # -- namespaces -------------------------------------------------------------------------------------------

    def _namespace(self, attributes: Attributes) -> Awaitable[None] | None:
        """The labels have to be right, and Pods that are there already are told of when they get stricter."""
        labels = _labels_of(attributes.obj)
        policy, faults = read_policy(labels, self._defaults)
        before: Policy = self._defaults
        old_faults: list[FieldError] = []
        if attributes.operation is Operation.UPDATE:
            before, old_faults = read_policy(_labels_of(attributes.old), self._defaults)
        if faults and faults != old_faults:
            raise errors.invalid(GroupKind("", "Namespace"), attributes.name, faults)
        created = attributes.operation is Operation.CREATE
        if not created and not _is_stricter(policy.enforce, before.enforce):
            return None
        if self._configuration is not None and attributes.name in self._configuration.namespaces:
            attributes.warn(self._configuration.warning(attributes.name, policy, labels))
            return None
        if created:
            return None
        return self._warn_of_pods(attributes, policy.enforce)

    async def _warn_of_pods(self, attributes: Attributes, enforce: LevelVersion) -> None:
        from watchkeeper.admission.podsecurity.existing import warnings_about

        found = self._pods(attributes.name)
        pods = await found if isinstance(found, Awaitable) else found
        judged = [pod for pod in pods if not self._is_exempt(pod)]
        for text in await warnings_about(judged, attributes.name, enforce):
            attributes.warn(text)


def _is_stricter(new: LevelVersion, old: LevelVersion) -> bool:
    if new == old or new.level is Level.PRIVILEGED:
        return False
    return new.minor != old.minor or new.level > old.level


def _is_significant(attributes: Attributes) -> bool:
    """Whether an update of a Pod changes what is judged: images, or which containers there are."""
    new, old = (attributes.obj or {}).get("spec") or {}, (attributes.old or {}).get("spec") or {}
    for field in ("containers", "initContainers"):
        if [c.get("image") for c in new.get(field) or ()] != [c.get("image") for c in old.get(field) or ()]:
            return True
    known = {c["name"]: c.get("image") for c in old.get("ephemeralContainers") or ()}
    return any(
        c["name"] not in known or known[c["name"]] != c.get("image") for c in new.get("ephemeralContainers") or ()
    )


def _labels_of(namespace: Object | None) -> Labels:
    return ((namespace or {}).get("metadata") or {}).get("labels") or {}


def _at(obj: Object, path: Sequence[str]) -> Object | None:
    found: Any = obj
    for step in path:
        found = found.get(step)
        if found is None:
            return None
    return found  # type: ignore[no-any-return]

"""The strategy of a resource: what happens to an object before it is stored, and what is checked.

One generic implementation serves every kind; a `KindBehavior` says what a kind does otherwise. The order of steps and
errors is that of apiserver's `registry/rest` (BeforeCreate, BeforeUpdate).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from watchkeeper.apis.behavior import KindBehavior
from watchkeeper.apis.schema_data import reset_status
from watchkeeper.apis.semantic import same_spec
from watchkeeper.apis.validation.metadata import (
    validate_builtin_object_meta,
    validate_builtin_object_meta_update,
    validate_object_meta,
    validate_object_meta_update,
    validate_updated_object_meta,
)
from watchkeeper.apis.validation.names import NameRule, any_name, is_path_segment_name
from watchkeeper.meta import errors
from watchkeeper.meta.field import FieldError
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind
from watchkeeper.registry.deletion import removed_by_update
from watchkeeper.registry.metadata import metadata_of
from watchkeeper.registry.rest import Context
from watchkeeper.registry.transaction import Hooks
from watchkeeper.runtime.with_empties import equal_as_sent

Object = dict[str, Any]


_CHANGE = ("change",)
_NEW = ("new",)
_NEW_AND_CHANGE = ("new", "change")
_CHANGE_AND_NEW = ("change", "new")
_WITHIN = ("within",)
"""Of a kind whose `validate_update` judges metadata, too, between its other rules."""
_API_SERVICE = GroupKind("apiregistration.k8s.io", "APIService")
_FLOWS = "flowcontrol.apiserver.k8s.io"
_CORE_CHANGED_FIRST = ("ConfigMap", "Endpoints", "PersistentVolumeClaim", "Secret", "ServiceAccount")
_PASSES: Mapping[GroupKind, Sequence[str]] = {
    GroupKind("", "Namespace"): _NEW_AND_CHANGE,
    **{GroupKind("", kind): _CHANGE_AND_NEW for kind in _CORE_CHANGED_FIRST},
    GroupKind("", "Event"): (),
    GroupKind("", "LimitRange"): _NEW,
    GroupKind("discovery.k8s.io", "EndpointSlice"): _NEW,
    **{
        GroupKind("resource.k8s.io", kind): _NEW_AND_CHANGE
        for kind in ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate")
    },
    **{GroupKind("", kind): _WITHIN for kind in ("Node", "PersistentVolume")},
    GroupKind("batch", "Job"): _WITHIN,
    GroupKind("networking.k8s.io", "IPAddress"): _NEW_AND_CHANGE,
    **{GroupKind("networking.k8s.io", kind): _CHANGE_AND_NEW for kind in ("Ingress", "IngressClass")},
    **{
        GroupKind("rbac.authorization.k8s.io", kind): _NEW_AND_CHANGE
        for kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
    },
    **{GroupKind("storage.k8s.io", kind): _NEW_AND_CHANGE for kind in ("CSIStorageCapacity", "StorageClass")},
    GroupKind("storage.k8s.io", "VolumeAttributesClass"): _CHANGE_AND_NEW,
    **{GroupKind("storage.k8s.io", kind): _NEW for kind in ("CSINode", "VolumeAttachment")},
    GroupKind("node.k8s.io", "RuntimeClass"): _NEW_AND_CHANGE,
    GroupKind("certificates.k8s.io", "CertificateSigningRequest"): _NEW_AND_CHANGE,
    _API_SERVICE: _CHANGE_AND_NEW,
    **{
        GroupKind("admissionregistration.k8s.io", kind): _NEW
        for kind in (
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        )
    },
    **{GroupKind(_FLOWS, kind): _NEW for kind in ("FlowSchema", "PriorityLevelConfiguration")},
    GroupKind("policy", "PodDisruptionBudget"): (),
}
"""How often, and by which rules, a kind itself judges the metadata of an updated object, so that bad metadata makes as
many causes more. Kinds not listed judge the change."""
_ANY_FINALIZERS = frozenset(
    {
        GroupKind("coordination.k8s.io", "Lease"),
        GroupKind("node.k8s.io", "RuntimeClass"),
        _API_SERVICE,
        *(
            GroupKind("admissionregistration.k8s.io", kind)
            for kind in (
                "MutatingAdmissionPolicy",
                "MutatingAdmissionPolicyBinding",
                "MutatingWebhookConfiguration",
                "ValidatingAdmissionPolicy",
                "ValidatingAdmissionPolicyBinding",
                "ValidatingWebhookConfiguration",
            )
        ),
    }
)
"""Built-in kinds whose finalizers need not be standard or qualified, as those of custom objects."""
_PREFIX_UNJUDGED = frozenset(
    {GroupKind("", "ReplicationController"), GroupKind("resource.k8s.io", "DeviceClass")},
)
"""Kinds that have no rule for `generateName`: it is judged as that of any object, once all else is right."""
_STATUS_PASSES: Mapping[GroupKind, Sequence[str]] = {
    GroupKind("storage.k8s.io", "VolumeAttachment"): _NEW,
    GroupKind("apps", "StatefulSet"): _WITHIN,
    GroupKind("batch", "CronJob"): (),
    GroupKind("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): (),
    **{GroupKind(_FLOWS, kind): () for kind in ("FlowSchema", "PriorityLevelConfiguration")},
    GroupKind("policy", "PodDisruptionBudget"): (),
}
"""The same where the status is written."""


class Strategy:
    """How one resource creates and updates."""

    checks_whole = True
    """Whether an update finds the whole new state valid, not only the part that it may change."""
    passes = _PASSES
    part_hooks: Hooks | None = None
    """What a subresource does around its writes."""

    def __init__(self, kind: GroupVersionKind, behavior: KindBehavior, *, namespaced: bool, has_status: bool) -> None:
        self.kind = kind
        self.behavior = behavior
        self.namespaced = namespaced
        self.has_status = has_status and behavior.has_status
        """Whether status is written through its own subresource only."""
        self._passes = self.passes.get(kind.group_kind, _CHANGE)
        self._judges_prefix = kind.group_kind not in _PREFIX_UNJUDGED
        self._qualified = behavior.qualified_finalizers and kind.group_kind not in _ANY_FINALIZERS

    def __repr__(self) -> str:
        return f"<Strategy {self.kind.kind}>"

    @property
    def judges_metadata(self) -> bool:
        """Whether the kind has rules for metadata; the rules of all kinds come after those of one that has none."""
        return bool(self._passes)

    @property
    def allow_create_on_update(self) -> bool:
        """Whether a PUT on a free name creates."""
        return self.behavior.allow_create_on_update

    @property
    def allow_unconditional_update(self) -> bool:
        """Whether an update may leave resourceVersion out."""
        return self.behavior.allow_unconditional_update

    def before_create(self, ctx: Context, obj: Object) -> None:
        """Make a decoded, defaulted object ready to be stored, in place. Raises Invalid."""
        meta = metadata_of(obj)
        if self.behavior.warnings_as_sent is not None:
            for text in self.behavior.warnings_as_sent(obj):
                ctx.warn(text)
        self.prepare_for_create(obj, meta)
        found = self.validate(obj, meta)
        if found:
            raise errors.invalid(self.kind.group_kind, meta.get("name", ""), found)
        for text in self.behavior.warnings_on_create(obj):
            ctx.warn(text)

    def complete_new(self, obj: Object) -> None:
        """Give a new object that is valid what it shows as soon as it is stored."""
        if self.behavior.complete_new is not None:
            self.behavior.complete_new(obj)

    def prepare_for_create(self, obj: Object, meta: Object) -> None:
        """Clear what only the system writes and set what a new object begins with."""
        behavior = self.behavior
        if behavior.has_generation:
            meta["generation"] = 1
        if self.has_status and behavior.prepare_for_create is None:
            reset_status(obj, self.kind)
        if behavior.prepare_for_create is not None:
            behavior.prepare_for_create(obj)

    def validate(self, obj: Object, meta: Object) -> list[FieldError]:
        """All that is wrong with a new object."""
        behavior = self.behavior
        if not self.judges_metadata:
            more = behavior.validate(obj)
            return more or validate_object_meta(meta, namespaced=self.namespaced, name_rule=is_path_segment_name)
        check = validate_builtin_object_meta if self._qualified else validate_object_meta
        rule = self._name_rule(obj)
        found = check(self._judged(meta), namespaced=self.namespaced, name_rule=rule)
        more = behavior.validate(obj)
        if not found and not more and (rule is any_name or not self._judges_prefix):
            return validate_object_meta(meta, namespaced=self.namespaced, name_rule=is_path_segment_name)
        return found + more if more else found

    def before_update(self, ctx: Context, obj: Object, old: Object, *, settled: bool = False) -> None:
        """Make a new state ready to be stored in place of the old, in place. Raises Invalid.

        `settled`: the old state is known to be valid as a whole.
        """
        meta, old_meta = metadata_of(obj), old["metadata"]
        carry_system_metadata(meta, old_meta)
        self.prepare_for_update(obj, old)
        carry_uid(meta, old_meta)
        carry_times(meta, old_meta)
        found = validate_updated_object_meta(meta, old_meta)
        sound = settled and not found
        found += self.validate_sound_update(obj, old) if sound else self.validate_update(obj, old)
        if found:
            raise errors.invalid(self.kind.group_kind, meta.get("name", ""), found)
        for text in self.warnings_on_update(obj, old):
            ctx.warn(text)

    def counts_outgrown(self, obj: Object, old: Object, fields: Set[str]) -> bool:
        """Whether an update is a change because some fields were given more than the kind keeps; then it is counted."""
        return False

    def warnings_on_update(self, obj: Object, old: Object) -> list[str]:
        """Texts for the client of an update."""
        return self.behavior.warnings_on_update(obj, old)

    def prepare_for_update(self, obj: Object, old: Object) -> None:
        """Carry over what an update through the main resource may not touch."""
        behavior = self.behavior
        if self.has_status:
            carry(obj, old, "status")
        if behavior.prepare_for_update is not None:
            behavior.prepare_for_update(obj, old)
        if behavior.has_generation and not self._same_spec(obj, old):
            obj["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1

    def _same_spec(self, obj: Object, old: Object) -> bool:
        spec, was = obj.get("spec"), old.get("spec")
        return equal_as_sent(spec, was) if self.behavior.counts_empties else same_spec(spec, was, self.kind)

    def removed_by_update(self, obj: Object, old: Object) -> bool:
        """Whether an update ends the object: it was due to go, and nothing holds it any more."""
        return removed_by_update(obj["metadata"], old["metadata"])

    def _name_rule(self, obj: Object) -> NameRule | None:
        behavior = self.behavior
        return behavior.name_rule if behavior.name_rule_of is None else behavior.name_rule_of(obj)

    def _judged(self, meta: Object) -> Object:
        """The metadata that the kind itself judges."""
        if self._judges_prefix or not meta.get("generateName"):
            return meta
        return {name: value for name, value in meta.items() if name != "generateName"}

    def _own_metadata_errors(self, obj: Object, old: Object, *, sound: bool = False) -> list[list[FieldError]]:
        """What the kind itself finds wrong with metadata, in each of its passes.

        `sound`: the rules of all kinds find nothing.
        """
        meta = obj["metadata"]
        if not self._passes or self._passes == _WITHIN:
            return []
        judged_by_name = meta.get("finalizers") or meta.get("generateName") or self.behavior.name_rule_of is not None
        if sound and not judged_by_name and "change" in self._passes:
            return [[]] * len(self._passes)
        judge_change = validate_builtin_object_meta_update if self._qualified else validate_object_meta_update
        change = judge_change(meta, old) if "change" in self._passes else []
        if self._passes == _CHANGE:
            return [change]
        if "change" in self._passes and not change and not judged_by_name:
            return [change] * len(self._passes)  # nothing else could be wrong as such
        judge_new = validate_builtin_object_meta if self._qualified else validate_object_meta
        new = judge_new(self._judged(meta), namespaced=self.namespaced, name_rule=self._name_rule(obj))
        return [change if each == "change" else new for each in self._passes]

    def _all_metadata_errors(self, obj: Object, old: Object, *, sound: bool = False) -> list[FieldError]:
        """The same for kinds whose passes have nothing else to tell in between."""
        return [error for found in self._own_metadata_errors(obj, old, sound=sound) for error in found]

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """All that is wrong with the new state or with the change, besides the generic metadata rules."""
        return self._update_errors(obj, old, sound=False)

    def _update_errors(self, obj: Object, old: Object, *, sound: bool) -> list[FieldError]:
        of_metadata = self._own_metadata_errors(obj, old["metadata"], sound=sound)
        more = self.behavior.validate_update(obj, old)
        if len(of_metadata) < 2:
            return of_metadata[0] + more if of_metadata else more
        change = self.behavior.validate_change(obj, old)
        found: list[FieldError] = []
        for each, errors_of_pass in zip(self._passes, of_metadata, strict=True):
            found += errors_of_pass
            found += change if each == "change" else more
        return found

    def validate_sound_update(self, obj: Object, old: Object) -> list[FieldError]:
        """The same where the old state is valid and the generic rules find nothing wrong with the new metadata.

        What only metadata was changed of need not be looked at again.
        """
        check = self.behavior.validate_metadata_update
        if check is None or not _same_but_metadata(obj, old):
            return self._update_errors(obj, old, sound=True)
        return self._all_metadata_errors(obj, old["metadata"], sound=True) + check(obj, old)


class StatusStrategy(Strategy):
    """How the status subresource updates: status changes, the rest stays as it is."""

    checks_whole = False
    passes = _STATUS_PASSES

    def prepare_for_update(self, obj: Object, old: Object) -> None:
        """Keep all but status and the metadata that status writers may change."""
        for key in [k for k in obj if k not in ("status", "metadata", "kind", "apiVersion")]:
            if key not in old:
                del obj[key]
        for key in old:
            if key not in ("status", "metadata"):
                obj[key] = old[key]
        if self.behavior.prepare_for_status_update is not None:
            self.behavior.prepare_for_status_update(obj, old)

    def _update_errors(self, obj: Object, old: Object, *, sound: bool) -> list[FieldError]:
        """What is wrong with the new status."""
        found = self._all_metadata_errors(obj, old["metadata"], sound=sound)
        check = self.behavior.validate_status_update
        if check is not None:
            found += check(obj, old)
        return found

    def validate_sound_update(self, obj: Object, old: Object) -> list[FieldError]:
        """The same: nothing but the status is looked at anyway."""
        return self._update_errors(obj, old, sound=True)

    def warnings_on_update(self, obj: Object, old: Object) -> list[str]:
        """Status writers are controllers: they are not warned about specs."""
        return self.behavior.warnings_on_status_update(obj)


def _same_but_metadata(obj: Object, old: Object) -> bool:
    return len(obj) == len(old) and all(
        name == "metadata" or (name in old and equal_as_sent(value, old[name])) for name, value in obj.items()
    )


def carry(obj: Object, old: Object, key: str) -> None:
    """Make `key` in the new state what it is in the old, absent included."""
    if key in old:
        obj[key] = old[key]
    else:
        obj.pop(key, None)


def carry_system_metadata(meta: Object, old: Object) -> None:
    """Generation is the server's: begin from what it was."""
    if old.get("generation") is not None:
        meta["generation"] = old["generation"]
    else:
        meta.pop("generation", None)


def carry_uid(meta: Object, old: Object) -> None:
    """An update that names no uid means the object that is there. What people have put into a store may have none."""
    if not meta.get("uid") and old.get("uid"):
        meta["uid"] = old["uid"]


def carry_times(meta: Object, old: Object) -> None:
    """An update can neither change the creation time nor take back a deletion."""
    if old.get("creationTimestamp") is not None:
        meta["creationTimestamp"] = old["creationTimestamp"]
    if old.get("deletionTimestamp") is not None:
        meta["deletionTimestamp"] = old["deletionTimestamp"]
    if old.get("deletionGracePeriodSeconds") is not None and meta.get("deletionGracePeriodSeconds") is None:
        meta["deletionGracePeriodSeconds"] = old["deletionGracePeriodSeconds"]

"""The rules of Pods: new ones, changes of their spec."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, cast

from watchkeeper.apis.core.affinity_validation import compares_numbers, validate_tolerations
from watchkeeper.apis.core.container_validation import image_padding_errors
from watchkeeper.apis.core.go_form import go_form
from watchkeeper.apis.core.pod_annotations import (
    is_deletion_cost,
    validate_annotation_changes,
    validate_pod_annotations,
    validate_profiles_match,
)
from watchkeeper.apis.core.pod_options import NEW_POD, PodOptions
from watchkeeper.apis.core.pod_ratcheting import options_for_update
from watchkeeper.apis.core.pod_spec_validation import validate_pod_spec
from watchkeeper.apis.core.unified_diff import unified_diff
from watchkeeper.apis.semantic import same
from watchkeeper.apis.validation.metadata import validate_builtin_object_meta, validate_sound_object_meta
from watchkeeper.apis.validation.names import inclusive_range_error
from watchkeeper.meta.field import FieldError, forbidden, in_key_order, invalid, required

Object = Mapping[str, Any]

_MAX_INT32 = 2**31 - 1
_UPDATABLE = ",".join(
    (
        "`spec.containers[*].image`",
        "`spec.initContainers[*].image`",
        "`spec.activeDeadlineSeconds`",
        "`spec.tolerations` (only additions to existing tolerations)",
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
    )
)


def validate_pod(pod: Object) -> list[FieldError]:
    """What is wrong with a new Pod, besides its metadata."""
    spec: Object = pod.get("spec") or {}
    errors = _spec_errors(pod, spec, NEW_POD)
    if spec.get("ephemeralContainers"):
        errors.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("schedulingGates") and spec.get("nodeName"):
        text = "cannot be set until all schedulingGates have been cleared"
        errors.append(forbidden("spec.nodeName", text))
    annotations = pod["metadata"].get("annotations")
    if annotations:
        errors += validate_profiles_match(annotations, spec, "spec")
    return errors


def _spec_errors(pod: Object, spec: Object, options: PodOptions) -> list[FieldError]:
    meta: Object = pod["metadata"]
    errors: list[FieldError] = []
    annotations = meta.get("annotations")
    if annotations:
        check_cost = not options.allow_invalid_deletion_cost
        errors += validate_pod_annotations(annotations, spec, "metadata.annotations", check_cost=check_cost)
    errors += validate_pod_spec(spec, "spec", options, pod=meta)
    if not spec.get("serviceAccountName"):
        errors += _tokens_without_account(spec)
    for i, container in enumerate(spec.get("containers") or ()):
        errors += image_padding_errors(container, f"spec.containers[{i}]")
    for i, container in enumerate(spec.get("initContainers") or ()):
        errors += image_padding_errors(container, f"spec.initContainers[{i}]")
    return errors


def _tokens_without_account(spec: Object) -> list[FieldError]:
    text = "must not be specified when serviceAccountName is not set"
    return [
        forbidden(f"spec.volumes[{i}].projected.sources[{j}].serviceAccountToken", text)
        for i, volume in enumerate(spec.get("volumes") or ())
        if "projected" in volume
        for j, source in enumerate(volume["projected"].get("sources") or ())
        if source.get("serviceAccountToken") is not None
    ]


def validate_whole_pod(new: Object, old: Object, *, with_annotation_changes: bool = True) -> list[FieldError]:
    """The parts that every update of a Pod checks again: metadata as for a new Pod, spec, annotations' changes."""
    options = options_for_update(old.get("spec") or {}, in_pod=True)
    meta, old_meta = new["metadata"], old["metadata"]
    annotations, old_annotations = meta.get("annotations") or {}, old_meta.get("annotations") or {}
    cost = old_annotations.get("controller.kubernetes.io/pod-deletion-cost")
    if cost is not None and not is_deletion_cost(cost):
        options = options_for_update(old.get("spec") or {}, in_pod=True, allow_invalid_deletion_cost=True)
    errors = validate_builtin_object_meta(meta, namespaced=True)
    errors += _spec_errors(new, new.get("spec") or {}, options)
    if not with_annotation_changes:
        return errors
    errors += validate_annotation_changes(annotations, old_annotations, "metadata.annotations")
    if annotations:
        check_cost = not options.allow_invalid_deletion_cost
        spec = new.get("spec") or {}
        errors += validate_pod_annotations(annotations, spec, "metadata.annotations", check_cost=check_cost)
    return errors


def validate_pod_metadata_update(new: Object, old: Object) -> list[FieldError]:
    """The same of a change that leaves the spec of a valid Pod as it is: only annotations have to do with specs."""
    meta = new["metadata"]
    if (meta.get("annotations") or {}) != (old["metadata"].get("annotations") or {}):
        return validate_pod_update(new, old)
    return validate_sound_object_meta(meta)


def validate_pod_update(new: Object, old: Object) -> list[FieldError]:
    """What is wrong with a change through the main resource: little of a Pod's spec may change."""
    errors = validate_whole_pod(new, old)
    spec: Object = new.get("spec") or {}
    old_spec: Object = old.get("spec") or {}
    for kind in ("containers", "initContainers"):
        now, before = spec.get(kind) or (), old_spec.get(kind) or ()
        if len(now) != len(before):
            errors.append(forbidden(f"spec.{kind}", "pod updates may not add or remove containers"))
            return errors
        for i, container in enumerate(now):
            if not container.get("image"):
                errors.append(required(f"spec.{kind}[{i}].image"))
            errors += image_padding_errors(container, f"spec.{kind}[{i}]")
    deadline = spec.get("activeDeadlineSeconds")
    wrong = _deadline_errors(deadline, old_spec.get("activeDeadlineSeconds"))
    errors += wrong
    if wrong and deadline is not None:
        return errors
    if errors or spec.get("tolerations") != old_spec.get("tolerations"):  # what is wrong with them is told twice
        errors += _toleration_changes(spec.get("tolerations") or (), old_spec.get("tolerations") or ())
    errors += _gate_changes(spec.get("schedulingGates") or (), old_spec.get("schedulingGates") or ())
    if same(spec, old_spec, "core.v1.PodSpec"):
        return errors
    munged = _with_changeable_fields_restored(spec, old_spec)
    if old_spec.get("schedulingGates"):
        errors += _gated_changes(munged, old_spec)
    if not same(munged, old_spec, "core.v1.PodSpec"):
        difference = unified_diff(*(go_form(each, "PodSpec") for each in (old_spec, munged)))
        text = f"pod updates may not change fields other than {_UPDATABLE}\n{difference}"
        errors.append(forbidden("spec", text))
    return errors


def _deadline_errors(new: int | None, old: int | None) -> list[FieldError]:
    path = "spec.activeDeadlineSeconds"
    errors: list[FieldError] = []
    if new is None:
        if old is not None:
            errors.append(invalid(path, None, "must not update from a positive integer to nil value"))
        return errors
    if not 0 <= new <= _MAX_INT32:
        errors.append(invalid(path, new, inclusive_range_error(0, _MAX_INT32)))
    elif old is not None and old < new:
        errors.append(invalid(path, new, "must be less than or equal to previous value"))
    return errors


def _toleration_changes(new: Sequence[Object], old: Sequence[Object]) -> list[FieldError]:
    kept = [_without_seconds(toleration) for toleration in new]
    if any(_without_seconds(toleration) not in kept for toleration in old):
        text = "existing toleration can not be modified except its tolerationSeconds"
        return [forbidden("spec.tolerations", text)]
    return validate_tolerations(new, "spec.tolerations", allow_comparing=compares_numbers(old))


def _without_seconds(toleration: Object) -> dict[str, Any]:
    return {name: value for name, value in toleration.items() if name != "tolerationSeconds"}


def _gate_changes(new: Sequence[Object], old: Sequence[Object]) -> list[FieldError]:
    """Names that are new, told once, at the last place where they stand."""
    added = {gate.get("name") or "": i for i, gate in enumerate(new)}
    for gate in old:
        added.pop(gate.get("name") or "", None)
    return [
        forbidden(
            f"spec.schedulingGates[{i}].name", f"only deletion is allowed, but found new scheduling gate '{name}'"
        )
        for name, i in added.items()
    ]


def _with_changeable_fields_restored(spec: Object, old: Object) -> dict[str, Any]:
    """The new spec with all that may change put back to what it was: what still differs is forbidden."""
    munged = cast(dict[str, Any], copy.copy(spec))
    for kind in ("containers", "initContainers"):
        before = old.get(kind) or ()
        if not spec.get(kind):
            munged.pop(kind, None)
        else:
            munged[kind] = [_with(c, "image", b.get("image")) for c, b in zip(spec[kind], before, strict=True)]
    for name in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        munged = _with(munged, name, old.get(name))
    seconds = old.get("terminationGracePeriodSeconds")
    if seconds is not None and seconds < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        munged["terminationGracePeriodSeconds"] = seconds
    return munged


def _with(obj: Object, name: str, value: Any) -> dict[str, Any]:
    changed = cast(dict[str, Any], copy.copy(obj))
    if value is None:
        changed.pop(name, None)
    else:
        changed[name] = value
    return changed


def _gated_changes(munged: dict[str, Any], old: Object) -> list[FieldError]:
    """A gated Pod may become pickier about nodes. Restores in `munged` what was judged here."""
    errors: list[FieldError] = []
    selector, old_selector = munged.get("nodeSelector") or {}, old.get("nodeSelector") or {}
    if selector != old_selector:
        text = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        if any(selector.get(key) != value for key, value in old_selector.items()):
            errors.append(invalid("spec.nodeSelector", in_key_order(munged.get("nodeSelector")), text))
        munged.update(_with(munged, "nodeSelector", old.get("nodeSelector")))
        if old.get("nodeSelector") is None:
            munged.pop("nodeSelector", None)
    affinity, old_affinity = munged.get("affinity") or {}, old.get("affinity") or {}
    node, old_node = affinity.get("nodeAffinity"), old_affinity.get("nodeAffinity")
    if node != old_node:
        errors += _node_affinity_changes(node, old_node)
        restored = _with(affinity, "nodeAffinity", old_node)
        if restored or "affinity" in old:
            munged["affinity"] = restored
        else:
            munged.pop("affinity", None)
    return errors


def _node_affinity_changes(new: Object | None, old: Object | None) -> list[FieldError]:
    path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    old_terms = _required_terms(old)
    if not old_terms:
        return []
    terms = _required_terms(new)
    if terms is None or len(terms) != len(old_terms):
        text = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        return [invalid(path, None if terms is None else [go_form(term, "NodeSelectorTerm") for term in terms], text)]
    text = "only additions are allowed (no mutations or deletions)"
    return [
        invalid(f"{path}[{i}]", go_form(term, "NodeSelectorTerm"), text)
        for i, (term, before) in enumerate(zip(terms, old_terms, strict=True))
        if not _only_adds(term, before)
    ]


def _required_terms(affinity: Object | None) -> Sequence[Object] | None:
    selector = (affinity or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms: Sequence[Object] | None = selector.get("nodeSelectorTerms")
    return terms


def _only_adds(term: Object, before: Object) -> bool:
    if not before.get("matchExpressions") and not before.get("matchFields"):
        return not term.get("matchExpressions") and not term.get("matchFields")
    return all(
        list(term.get(kind) or ())[: len(before.get(kind) or ())] == list(before.get(kind) or ())
        for kind in ("matchExpressions", "matchFields")
    )

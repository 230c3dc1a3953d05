"""What a request costs the quotas of its namespace, decided without waiting for anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from watchkeeper.admission.interface import Attributes, Operation
from watchkeeper.admission.quota import amounts
from watchkeeper.admission.quota.amounts import Amounts
from watchkeeper.admission.quota.evaluator import Evaluator, Object
from watchkeeper.admission.quota.limited import Demand, LimitedResource
from watchkeeper.admission.quota.quota import Quota, scopes_of
from watchkeeper.admission.refusal import forbidden


def charge(
    quotas: Sequence[Quota],
    attributes: Attributes,
    evaluator: Evaluator,
    limited: Sequence[LimitedResource] = (),
) -> list[Quota]:
    """The quotas as they are with the request.

    Raises a 403 when it does not fit into one of them, or uses of what is `limited` what none is about.
    """
    obj = attributes.obj
    if obj is None or not evaluator.handles(attributes):
        return list(quotas)
    concerned = [i for i, quota in enumerate(quotas) if quota.covers(evaluator, obj)]
    for i in concerned:
        _check_countable(quotas[i], attributes, evaluator, obj)
    usage = evaluator.usage(obj)
    if negative := [name for name, amount in usage.items() if amount.sign < 0]:
        why = f"quota usage is negative for resource(s): {amounts.names_shown(negative)}"
        raise forbidden(attributes, why)
    charged = list(quotas)
    increases = _increases(quotas, concerned, usage, attributes, evaluator)
    if limited and (increases or (not concerned and _grows(usage, attributes, evaluator))):
        scopes = [scope for quota in quotas for scope in scopes_of(quota.obj)]
        Demand(limited, attributes, evaluator, usage).check([quotas[i].hard for i in concerned], scopes)
    for i, more in increases.items():
        charged[i] = _charged(quotas[i], more, attributes)
    return charged


def _check_countable(quota: Quota, attributes: Attributes, evaluator: Evaluator, obj: Object) -> None:
    """A quota can count an object that says what it uses, once the quota knows what others use."""
    names = evaluator.matching(quota.hard)
    if missing := evaluator.missing(names, obj):
        raise forbidden(attributes, f"failed quota: {quota.name}: {missing}")
    if any(name not in quota.used for name in names):
        why = f"status unknown for quota: {quota.name}, resources: {amounts.names_shown(names)}"
        raise forbidden(attributes, why)


def _increases(
    quotas: Sequence[Quota], concerned: Sequence[int], usage: Amounts, attributes: Attributes, evaluator: Evaluator
) -> Mapping[int, Amounts]:
    """How much more each quota is charged, by its index: of an update only what is new to it."""
    increases = dict.fromkeys(concerned, usage)
    if attributes.operation is Operation.UPDATE:
        old = attributes.old
        if old is None:
            why = "unable to get previous usage since prior version of object was not found"
            raise forbidden(attributes, why)
        if old.get("metadata", {}).get("resourceVersion"):
            more = amounts.increase(usage, evaluator.usage(old))
            increases.update({i: more for i in concerned if quotas[i].covers(evaluator, old)})
    found = {i: amounts.without_zeros(more) for i, more in increases.items()}
    return {i: more for i, more in found.items() if more}


def _grows(usage: Amounts, attributes: Attributes, evaluator: Evaluator) -> bool:
    """Whether a request uses more than there was, where no quota is about it."""
    old = attributes.old
    if attributes.operation is Operation.UPDATE and old is not None and old.get("metadata", {}).get("resourceVersion"):
        usage = amounts.increase(usage, evaluator.usage(old))
    return bool(amounts.without_zeros(usage))


def _charged(quota: Quota, more: Amounts, attributes: Attributes) -> Quota:
    requested = amounts.masked(more, quota.hard)
    used = amounts.add(quota.used, requested)
    over = amounts.exceeded(amounts.masked(used, requested), quota.hard)
    if over and attributes.subresource != "status":
        parts = {
            "requested": amounts.masked(requested, over),
            "used": amounts.masked(quota.used, over),
            "limited": amounts.masked(quota.hard, over),
        }
        told = ", ".join(f"{words}: {amounts.shown(part)}" for words, part in parts.items())
        raise forbidden(attributes, f"exceeded quota: {quota.name}, {told}")
    return quota.using(used)

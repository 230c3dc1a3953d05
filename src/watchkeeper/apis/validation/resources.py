"""The rules of resource names and resource requirements."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Any

from watchkeeper.apis.quantities import NANO, NotAQuantity, amount, milli_value, whole_value
from watchkeeper.apis.validation.metadata import NEGATIVE
from watchkeeper.apis.validation.names import Texts, is_dns1123_label, is_qualified_name
from watchkeeper.apis.validation.numbers import NOT_POSITIVE
from watchkeeper.meta.field import (
    ErrorType,
    FieldError,
    JsonText,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)

NOT_AN_INTEGER = "must be an integer"
HUGEPAGES = "hugepages-"
REQUESTS_PREFIX = "requests."
_NATIVE_DOMAIN = "kubernetes.io/"

_CONTAINER_RESOURCES = frozenset(("cpu", "memory", "ephemeral-storage"))
INTEGER_RESOURCES = frozenset(
    (
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    )
)
_STANDARD_RESOURCES = (
    _CONTAINER_RESOURCES
    | INTEGER_RESOURCES
    | {f"{side}.{name}" for side in ("requests", "limits") for name in _CONTAINER_RESOURCES}
    | {"storage", "requests.storage"}
)
_POD_RESOURCES = ("cpu", "hugepages-", "memory")


def is_native_resource(name: str) -> bool:
    """Whether a resource is Kubernetes' own: without a domain, or with kubernetes.io."""
    return "/" not in name or _NATIVE_DOMAIN in name


def is_overcommittable(name: str) -> bool:
    """Whether requests may differ from limits."""
    return is_native_resource(name) and not name.startswith(HUGEPAGES)


@lru_cache(1024)
def is_extended_resource(name: str) -> bool:
    """Whether a resource is somebody's own, such as `example.com/gpu`."""
    if is_native_resource(name) or name.startswith(REQUESTS_PREFIX):
        return False
    return not is_qualified_name(REQUESTS_PREFIX + name)


def is_standard_resource(name: str) -> bool:
    """Whether a name without a domain is known."""
    return name in _STANDARD_RESOURCES or name.startswith((HUGEPAGES, REQUESTS_PREFIX + HUGEPAGES))


@lru_cache(1024)
def resource_name_errors(name: str) -> Texts:
    """What is wrong with the name of any resource."""
    wrong = is_qualified_name(name)
    if wrong:
        return wrong
    if "/" not in name and not is_standard_resource(name):
        return ("must be a standard resource type or fully qualified",)
    return ()


@lru_cache(1024)
def container_resource_name_errors(name: str) -> Texts:
    """What is wrong with the name of a resource that a container asks for."""
    wrong = resource_name_errors(name)
    if "/" not in name:
        if name not in _CONTAINER_RESOURCES and not name.startswith(HUGEPAGES):
            return (*wrong, "must be a standard resource for containers")
    elif not is_native_resource(name) and not is_extended_resource(name):
        return (*wrong, "doesn't follow extended resource name standard")
    return wrong


def validate_nonnegative_quantity(text: str, path: str) -> list[FieldError]:
    """A quantity of zero or more."""
    return [invalid(path, text, NEGATIVE)] if amount(text) < 0 else []


def validate_positive_quantity(text: str, path: str) -> list[FieldError]:
    """A quantity above zero."""
    return [invalid(path, text, NOT_POSITIVE)] if amount(text) <= 0 else []


@lru_cache(4096)
def resource_quantity_errors(name: str, text: str) -> Texts:
    """What is wrong with the quantity of a resource: negative, or a fraction of something countable."""
    errors = []
    if amount(text) < 0:
        errors.append(NEGATIVE)
    if (name in INTEGER_RESOURCES or is_extended_resource(name)) and milli_value(text) % 1000:
        errors.append(NOT_AN_INTEGER)
    return tuple(errors)


def validate_resource_quantity(name: str, text: str, path: str) -> list[FieldError]:
    """The quantity of a resource at `path`."""
    return [invalid(path, text, wrong) for wrong in resource_quantity_errors(name, text)]


@lru_cache(1024)
def is_divisible_huge_page(name: str, text: str) -> bool:
    """Whether a quantity of huge pages is a multiple of the page size in the resource's name."""
    try:
        size = amount(name.removeprefix(HUGEPAGES))
    except NotAQuantity:
        return False
    if size <= 0 or size % NANO:
        return False
    return whole_value(text) % (size // NANO) == 0


Amounts = tuple[tuple[str, str], ...]


@lru_cache(4096)
def _is_plain(limits: Amounts, requests: Amounts) -> bool:
    """Whether a container may ask for all of that without further questions."""
    for name, text in (*limits, *requests):
        if container_resource_name_errors(name) or resource_quantity_errors(name, text) or name.startswith(HUGEPAGES):
            return False
    limited = dict(limits)
    return all(not _request_errors(name, text, limited.get(name), "") for name, text in requests)


ResourceNameRule = Callable[[str, str], list[FieldError]]


def container_resource_name(name: str, path: str) -> list[FieldError]:
    """The name of a resource that a container asks for."""
    return [invalid(path, JsonText(name), text) for text in container_resource_name_errors(name)]


def pod_resource_name(name: str, path: str) -> list[FieldError]:
    """The name of a resource that a pod asks for as a whole."""
    wrong = resource_name_errors(name)
    if wrong:
        return [invalid(path, JsonText(name), text) for text in wrong]
    if name in ("cpu", "memory") or name.startswith(HUGEPAGES):
        return []
    return [not_supported(path, name, _POD_RESOURCES)]


def validate_requirements(
    requirements: Mapping[str, Any],
    path: str,
    *,
    claim_names: Collection[str] = (),
    name_rule: ResourceNameRule = container_resource_name,
    allow_indivisible: bool = False,
) -> list[FieldError]:
    """Limits, requests and claims of a container or, with another name rule, of a pod.

    `allow_indivisible` is for updates of objects that already ask for a part of a huge page.
    """
    limits: Mapping[str, str] = requirements.get("limits") or {}
    requests: Mapping[str, str] = requirements.get("requests") or {}
    claims = requirements.get("claims")
    quick = name_rule is container_resource_name and not claims
    if quick and _is_plain(tuple(limits.items()), tuple(requests.items())):
        return []
    errors: list[FieldError] = []
    for name, text in limits.items():
        at = f"{path}.limits[{name}]"
        errors += name_rule(name, at)
        errors += validate_resource_quantity(name, text, at)
        errors += _huge_page_errors(name, text, at, allow_indivisible)
    for name, text in requests.items():
        at = f"{path}.requests[{name}]"
        errors += name_rule(name, at)
        errors += validate_resource_quantity(name, text, at)
        errors += _request_errors(name, text, limits.get(name), path)
        errors += _huge_page_errors(name, text, at, allow_indivisible)
    if not ("cpu" in limits or "memory" in limits or "cpu" in requests or "memory" in requests) and any(
        name.startswith(HUGEPAGES) for name in (*limits, *requests)
    ):
        errors.append(forbidden(path, "HugePages require cpu or memory"))
    if claims:
        errors += _claim_errors(claims, claim_names, f"{path}.claims")
    return errors


def _huge_page_errors(name: str, text: str, path: str, allow_indivisible: bool) -> list[FieldError]:
    if not name.startswith(HUGEPAGES) or allow_indivisible or is_divisible_huge_page(name, text):
        return []
    return [invalid(path, text, f"{text} is not positive integer multiple of {name}")]


def _request_errors(name: str, text: str, limit: str | None, path: str) -> list[FieldError]:
    if limit == text:
        return []
    if limit is None:
        if is_overcommittable(name):
            return []
        return [required(f"{path}.limits", "Limit must be set for non overcommitable resources")]
    difference = amount(text) - amount(limit)
    if difference != 0 and not is_overcommittable(name):
        return [invalid(f"{path}.requests", text, f"must be equal to {name} limit of {limit}")]
    if difference > 0:
        return [invalid(f"{path}.requests", text, f"must be less than or equal to {name} limit of {limit}")]
    return []


def _claim_errors(claims: Collection[Mapping[str, Any]], known: Collection[str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    names: set[str] = set()
    for i, claim in enumerate(claims):
        at, name = f"{path}[{i}]", claim.get("name") or ""
        if not name:
            errors.append(required(at))
            continue
        if name in names:
            errors.append(duplicate(at, name))
        else:
            request = claim.get("request") or ""
            if request:
                errors += [invalid(f"{at}.request", request, text) for text in is_dns1123_label(request)]
            key = f"{name}/{request}" if request else name
            if key in names:
                errors.append(duplicate(at, key))
            elif not request:
                errors += [duplicate(at, name) for other in names if other.startswith(f"{name}/")]
            names.add(key)
        if name not in known:
            listed = ": " + ", ".join(sorted(known)) if known else " which is empty"
            detail = "must be one of the names in pod.spec.resourceClaims" + listed
            errors.append(FieldError(ErrorType.NOT_FOUND, at, name, detail))
    return errors

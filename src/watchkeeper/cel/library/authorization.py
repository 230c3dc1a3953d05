"""The authorizer of expressions: whether the user of a request, or a service account, may do something.

An expression builds a question step by step; `check` asks it. Who answers is given with the variable's value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from watchkeeper.apis.validation.names import is_dns1123_label, is_dns1123_subdomain
from watchkeeper.cel import types
from watchkeeper.cel.decls import Overload
from watchkeeper.cel.types import Type
from watchkeeper.cel.values import EvalError, register_value_type


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked. `service_account` is (namespace, name) when it is not about the request's user."""

    verb: str = ""
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""
    service_account: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What was answered. `error` is why no answer could be found."""

    allowed: bool
    reason: str = ""
    error: str = ""


Decide = Callable[[Question], Decision]


@dataclass(frozen=True, slots=True)
class Asker:
    """A question in the making, and who will answer it."""

    decide: Decide = field(compare=False)
    question: Question = field(default_factory=Question)

    def check(self, verb: str) -> Decision:
        """Ask."""
        return self.decide(replace(self.question, verb=verb))

    def narrowed(self, kind: type[Asker], **changes: Any) -> Asker:
        """The next step of the question."""
        return kind(self.decide, replace(self.question, **changes))


class Authorizer(Asker):
    """`authorizer`: nothing but the user is known."""

    __slots__ = ()


class PathCheck(Asker):
    """A question about a path that is no resource."""

    __slots__ = ()


class GroupCheck(Asker):
    """A question about some resource of an API group."""

    __slots__ = ()


class ResourceCheck(Asker):
    """A question about a resource."""

    __slots__ = ()


_PREFIX = "kubernetes.authorization."
AUTHORIZER = types.struct(f"{_PREFIX}Authorizer")
PATH_CHECK = types.struct(f"{_PREFIX}PathCheck")
GROUP_CHECK = types.struct(f"{_PREFIX}GroupCheck")
RESOURCE_CHECK = types.struct(f"{_PREFIX}ResourceCheck")
DECISION = types.struct(f"{_PREFIX}Decision")

_TYPES: Mapping[type, Type] = {
    Authorizer: AUTHORIZER,
    PathCheck: PATH_CHECK,
    GroupCheck: GROUP_CHECK,
    ResourceCheck: RESOURCE_CHECK,
    Decision: DECISION,
}
for _class, _type in _TYPES.items():
    register_value_type(_class, _type)


def _path(authorizer: Authorizer, path: str) -> Asker:
    if not path.strip():
        raise EvalError("path must not be empty")
    return authorizer.narrowed(PathCheck, path=path)


def _service_account(authorizer: Authorizer, namespace: str, name: str) -> Asker:
    if is_dns1123_subdomain(name):
        raise EvalError("Invalid service account name")
    if is_dns1123_label(namespace):
        raise EvalError("Invalid service account namespace")
    return authorizer.narrowed(Authorizer, service_account=(namespace, name))


def _resource(check: GroupCheck, resource: str) -> Asker:
    if not resource.strip():
        raise EvalError("resource must not be empty")
    return check.narrowed(ResourceCheck, resource=resource)


def _setting(name: str) -> Callable[[ResourceCheck, str], Asker]:
    return lambda check, value: check.narrowed(ResourceCheck, **{name: value})


def _member(
    name: str, overload_id: str, target: Type, arguments: int, result: Type, run: Callable[..., Any]
) -> tuple[str, Overload]:
    return name, Overload(overload_id, (target, *[types.STRING] * arguments), result, True, run)


def declarations() -> list[tuple[str, Overload]]:
    """All overloads of the library."""
    return [
        _member("path", "authorizer_path", AUTHORIZER, 1, PATH_CHECK, _path),
        _member("group", "authorizer_group", AUTHORIZER, 1, GROUP_CHECK, lambda a, g: a.narrowed(GroupCheck, group=g)),
        _member("serviceAccount", "authorizer_serviceaccount", AUTHORIZER, 2, AUTHORIZER, _service_account),
        _member("resource", "groupcheck_resource", GROUP_CHECK, 1, RESOURCE_CHECK, _resource),
        *(
            _member(name, f"{prefix}_{name.lower()}", RESOURCE_CHECK, 1, RESOURCE_CHECK, _setting(attribute))
            for name, prefix, attribute in (
                ("subresource", "resourcecheck", "subresource"),
                ("namespace", "resourcecheck", "namespace"),
                ("name", "resourcecheck", "name"),
                ("fieldSelector", "authorizer", "field_selector"),
                ("labelSelector", "authorizer", "label_selector"),
            )
        ),
        _member("check", "pathcheck_check", PATH_CHECK, 1, DECISION, lambda check, verb: check.check(verb)),
        _member("check", "resourcecheck_check", RESOURCE_CHECK, 1, DECISION, lambda check, verb: check.check(verb)),
        _member("errored", "decision_errored", DECISION, 0, types.BOOL, lambda d: bool(d.error)),
        _member("error", "decision_error", DECISION, 0, types.STRING, lambda d: d.error),
        _member("allowed", "decision_allowed", DECISION, 0, types.BOOL, lambda d: d.allowed),
        _member("reason", "decision_reason", DECISION, 0, types.STRING, lambda d: d.reason),
    ]

"""The parameters of policies: objects of any kind that a binding names or selects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from watchkeeper.admission.policy.definition import Binding
from watchkeeper.meta import labels
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.meta.labels import LabelSelector, SelectorError

Object = dict[str, Any]


class ConfigurationError(Exception):
    """A policy or binding that cannot be used as it is. The failure policy decides what comes of it."""


class ParamSource(Protocol):
    """All objects of one kind, at the version that the policy asks for."""

    @property
    def namespaced(self) -> bool:
        """Whether the objects are in namespaces."""
        ...

    async def get(self, namespace: str, name: str) -> Object | None:
        """One object, None when it does not exist. Not to be changed."""
        ...

    async def list(self, namespace: str, selector: LabelSelector) -> Sequence[Object]:
        """The objects that a selector selects in a namespace ("" for cluster-scoped ones). Not to be changed."""
        ...


class ParamSources(Protocol):
    """Finds what is served."""

    def find(self, kind: GroupVersionKind) -> ParamSource | None:
        """The objects of a kind, None when it is not served at that version."""
        ...


async def collect(source: ParamSource | None, binding: Binding, namespace: str) -> Sequence[Object | None]:
    """The parameters to evaluate a policy with, once for each. Raises ConfigurationError.

    `source` is None for a policy without parameters. None among the parameters is none: the policy has no parameters,
    or the binding gives none. Nothing at all means that the binding is not in force.
    """
    ref = binding.param_ref
    if source is None or ref is None:
        return (None,)
    place = _place(source, ref, namespace)
    found = await _select(source, ref, place)
    if not found and ref.get("parameterNotFoundAction") == "Deny":
        raise ConfigurationError("no params found for policy binding with `Deny` parameterNotFoundAction")
    return found


def _place(source: ParamSource, ref: Mapping[str, Any], namespace: str) -> str:
    """The namespace in which parameters are looked for."""
    given: str = ref.get("namespace") or ""
    if not source.namespaced:
        if given:
            raise ConfigurationError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        return ""
    if not given and not namespace:
        raise ConfigurationError(
            "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
        )
    return given or namespace


async def _select(source: ParamSource, ref: Mapping[str, Any], namespace: str) -> Sequence[Object]:
    name, selector = ref.get("name") or "", ref.get("selector")
    if name:
        if selector is not None:
            raise ConfigurationError("paramRef.name and paramRef.selector are mutually exclusive")
        param = await source.get(namespace, name)
        return () if param is None else (param,)
    if selector is None:
        raise ConfigurationError("one of name or selector must be provided")
    try:
        return await source.list(namespace, labels.from_spec(selector))
    except SelectorError as error:
        raise ConfigurationError(str(error)) from error

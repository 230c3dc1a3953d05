"""Roles and bindings as authorization needs them: rules read once, bindings found by whom they bind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from watchkeeper.authn.service_accounts import username
from watchkeeper.authz.rbac.rule import Rule, parse_rules
from watchkeeper.meta.field import go_quote
from watchkeeper.request.user import User

Object = Mapping[str, Any]
GROUP = "rbac.authorization.k8s.io"
KINDS = ("ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding")

_Subject = tuple[str, str]
"""("User", name) or ("Group", name). A service account is the user that it acts as."""


class RoleNotFound(LookupError):
    """A binding refers to a role that does not exist."""


@dataclass(frozen=True, slots=True)
class _Binding:
    """A binding, read. `described` maps each subject to the words that name it in a reason."""

    name: str
    namespace: str
    role_kind: str
    role_name: str
    described: Mapping[_Subject, str]

    def source(self, subject: str) -> str:
        kind = "RoleBinding" if self.namespace else "ClusterRoleBinding"
        name = f"{self.name}/{self.namespace}" if self.namespace else self.name
        return f"{kind} {go_quote(name)} of {self.role_kind} {go_quote(self.role_name)} to {subject}"


@dataclass(frozen=True, slots=True)
class Grant:
    """A rule that holds for a user, and what gives it to them."""

    rule: Rule
    binding: _Binding
    subject: str

    @property
    def source(self) -> str:
        """What gives it, in words."""
        return self.binding.source(self.subject)


class Policy:
    """All roles and bindings of a cluster. Fed one object at a time; `generation` rises with every change."""

    def __init__(self) -> None:
        self.generation = 0
        self._roles: dict[tuple[str, str], tuple[Rule, ...]] = {}
        self._bindings: dict[tuple[str, str], _Binding] = {}
        self._by_subject: dict[tuple[str, _Subject], dict[str, _Binding]] = {}
        """By namespace ("" for the cluster) and subject: the bindings by name."""

    def __repr__(self) -> str:
        return f"<Policy of {len(self._roles)} roles and {len(self._bindings)} bindings>"

    def put(self, obj: Object) -> None:
        """Take in a role or a binding, in place of the one of that name."""
        kind, namespace, name = _identity(obj)
        self.generation += 1
        if kind.endswith("Role"):
            self._roles[namespace, name] = parse_rules(obj)
            return
        self._drop_binding(namespace, name)
        binding = _read_binding(obj, namespace, name)
        self._bindings[namespace, name] = binding
        for subject in binding.described:
            self._by_subject.setdefault((namespace, subject), {})[name] = binding

    def remove(self, obj: Object) -> None:
        """Forget a role or a binding."""
        kind, namespace, name = _identity(obj)
        self.generation += 1
        if kind.endswith("Role"):
            self._roles.pop((namespace, name), None)
        else:
            self._drop_binding(namespace, name)

    def replace(self, kind: str, objects: list[Object]) -> None:
        """Take in all objects of a kind, forgetting those that are not there any more."""
        namespaced = not kind.startswith("Cluster")
        kept = {_identity(obj)[1:] for obj in objects}
        known = self._roles if kind.endswith("Role") else self._bindings
        for namespace, name in [key for key in known if bool(key[0]) is namespaced and key not in kept]:
            self.remove({"kind": kind, "metadata": {"namespace": namespace, "name": name}})
        for obj in objects:
            self.put({**obj, "kind": kind})

    def _drop_binding(self, namespace: str, name: str) -> None:
        old = self._bindings.pop((namespace, name), None)
        if old is None:
            return
        for subject in old.described:
            found = self._by_subject[namespace, subject]
            del found[name]
            if not found:
                del self._by_subject[namespace, subject]

    # -- questions ------------------------------------------------------------------------------------------------

    def grants(self, user: User, namespace: str, missing: list[str] | None = None) -> Iterator[Grant]:
        """The rules that hold for a user in a namespace, those for the whole cluster first.

        What bindings refer to in vain is told in `missing`.
        """
        for place in ("", namespace) if namespace else ("",):
            for binding, subject in self._bound(user, place):
                try:
                    rules = self.referenced_rules(binding.role_kind, binding.role_name, place)
                except RoleNotFound as error:
                    if missing is not None:
                        missing.append(str(error))
                    continue
                for rule in rules:
                    yield Grant(rule, binding, subject)

    def rules_for(self, user: User, namespace: str, missing: list[str] | None = None) -> list[Rule]:
        """The rules that hold for a user in a namespace; see `grants`."""
        return [grant.rule for grant in self.grants(user, namespace, missing)]

    def referenced_rules(self, kind: str, name: str, namespace: str) -> tuple[Rule, ...]:
        """The rules of the role that a binding refers to.

        `namespace` is the binding's, "" for a cluster binding. Raises RoleNotFound.
        """
        if kind not in ("Role", "ClusterRole"):
            raise RoleNotFound(f"unsupported role reference kind: {go_quote(kind)}")
        found = self._roles.get(("" if kind == "ClusterRole" else namespace, name))
        if found is None or (kind == "Role" and not namespace):
            raise RoleNotFound(f"{kind.lower()}.{GROUP} {go_quote(name)} not found")
        return found

    def _bound(self, user: User, namespace: str) -> Iterator[tuple[_Binding, str]]:
        seen: set[str] = set()
        for subject in (("User", user.name), *(("Group", group) for group in user.groups)):
            for name, binding in self._by_subject.get((namespace, subject), {}).items():
                if name not in seen:
                    seen.add(name)
                    yield binding, binding.described[subject]


def all_told(missing: Sequence[str]) -> str:
    """What bindings refer to in vain, in one text as the reference has it; "" for nothing."""
    distinct = list(dict.fromkeys(missing))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]" if distinct else ""


def _identity(obj: Object) -> tuple[str, str, str]:
    metadata = obj["metadata"]
    return obj["kind"], metadata.get("namespace") or "", metadata["name"]


def _read_binding(obj: Object, namespace: str, name: str) -> _Binding:
    described: dict[_Subject, str] = {}
    for subject in obj.get("subjects") or ():
        kind, subject_name = subject.get("kind", ""), subject.get("name", "")
        if kind == "ServiceAccount":
            home = subject.get("namespace") or namespace
            if home:
                words = f"{kind} {go_quote(f'{subject_name}/{home}')}"
                described.setdefault(("User", username(home, subject_name)), words)
        elif kind in ("User", "Group"):
            described.setdefault((kind, subject_name), f"{kind} {go_quote(subject_name)}")
    role = obj.get("roleRef") or {}
    return _Binding(name, namespace, role.get("kind", ""), role.get("name", ""), described)

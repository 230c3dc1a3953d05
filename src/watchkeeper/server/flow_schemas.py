"""Which flow schema a request belongs to, as answers tell in their headers (apiserver's util/flowcontrol).

This server does not queue by flow; but clients can see where their requests would stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from watchkeeper.apis.flowcontrol.flowschema import GROUP
from watchkeeper.authn.service_accounts import PREFIX, split_username
from watchkeeper.endpoints.response import Header, Response
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.request.info import RequestInfo
from watchkeeper.request.request import Request
from watchkeeper.request.user import SYSTEM_MASTERS, User
from watchkeeper.server.flow_control import MANDATORY

Object = dict[str, Any]

SCHEMAS = GroupResource(GROUP, "flowschemas")
LEVELS = GroupResource(GROUP, "prioritylevelconfigurations")
RESOURCES = {"FlowSchema": SCHEMAS, "PriorityLevelConfiguration": LEVELS}
_SCHEMA_HEADER, _LEVEL_HEADER = b"x-kubernetes-pf-flowschema-uid", b"x-kubernetes-pf-prioritylevel-uid"
_MAX_REMEMBERED = 4096
_WHOLE_RULE: Mapping[str, Any] = {
    "verbs": ["*"],
    "apiGroups": ["*"],
    "resources": ["*"],
    "namespaces": ["*"],
    "clusterScope": True,
}

Headers = tuple[Header, ...]


class FlowSchemas:
    """All flow schemas and priority levels. Implements `policy_feed.Followed`, and is a filter of requests."""

    def __init__(self) -> None:
        self._schemas: dict[str, Object] = {}
        self._levels: dict[str, Object] = {}
        self._ordered: list[tuple[Object, Headers]] = []
        """Those that requests can belong to, in the order in which they are tried."""
        self._of_masters: Headers | None = None
        """What all requests of administrators get, None where that depends on the request."""
        self._names: frozenset[str] = frozenset()
        self._by_namespace = False
        """What tells requests apart: the users that rules name, and whether rules name namespaces."""
        self._remembered: dict[tuple[object, ...], Headers] = {}
        self.on_change: Callable[[], None] = lambda: None

    def __repr__(self) -> str:
        return f"<FlowSchemas: {len(self._schemas)}, {len(self._levels)} levels>"

    def __call__(self, request: Request) -> Response | None:
        """Note where a request belongs, for the answer; lets every request pass. Of streams only watches do."""
        if request.info.long_running and request.info.verb != "watch":
            return None
        user = request.user
        of_masters = self._of_masters
        if of_masters is not None and user.is_master:
            request.told += of_masters
        else:
            request.told += self.headers(user, request.info)
        return None

    def schemas(self) -> list[Object]:
        """All of them."""
        return list(self._schemas.values())

    def levels(self) -> list[Object]:
        """All priority levels."""
        return list(self._levels.values())

    def has_level(self, name: str) -> bool:
        """Whether a schema may lead to that level."""
        return name in MANDATORY or name in self._levels

    # -- Followed -------------------------------------------------------------------------------------------------

    def put(self, obj: Object) -> None:
        """Take in an object."""
        self._of(obj["kind"])[obj["metadata"]["name"]] = obj
        self._changed()

    def remove(self, obj: Object) -> None:
        """Forget an object."""
        self._of(obj["kind"]).pop(obj["metadata"]["name"], None)
        self._changed()

    def replace(self, kind: str, objects: list[Object]) -> None:
        """Take in all objects of a kind."""
        known = self._of(kind)
        known.clear()
        known.update((obj["metadata"]["name"], obj) for obj in objects)
        self._changed()

    def _of(self, kind: str) -> dict[str, Object]:
        return self._schemas if kind == "FlowSchema" else self._levels

    def _changed(self) -> None:
        self._remembered.clear()
        usable = [each for each in self._schemas.values() if self.has_level(level_of(each))]
        usable.sort(key=lambda each: (each["spec"].get("matchingPrecedence") or 0, each["metadata"]["name"]))
        self._ordered = [(each, self._headers_of(each)) for each in usable]
        rules = [rule for each in usable for rule in each["spec"].get("rules") or ()]
        self._names = frozenset(
            subject["user"]["name"] for rule in rules for subject in rule.get("subjects") or () if subject.get("user")
        )
        self._by_namespace = any(
            "*" not in (part.get("namespaces") or "*") for rule in rules for part in rule.get("resourceRules") or ()
        )
        self._of_masters = None
        if self._ordered and _takes_all_of(self._ordered[0][0], SYSTEM_MASTERS):
            self._of_masters = self._ordered[0][1]
        self.on_change()

    def _headers_of(self, schema: Object) -> Headers:
        level = self._levels.get(level_of(schema))
        uid = level["metadata"].get("uid", "") if level is not None else ""
        return (_SCHEMA_HEADER, schema["metadata"].get("uid", "").encode()), (_LEVEL_HEADER, uid.encode())

    # -- requests -------------------------------------------------------------------------------------------------

    def headers(self, user: User, info: RequestInfo) -> Headers:
        """What tells the flow schema and the priority level of a request; nothing while there are none."""
        name = user.name if user.name in self._names or user.name.startswith(PREFIX) else ""
        key: tuple[object, ...]
        if info.is_resource:
            namespace = info.namespace if self._by_namespace else info.namespace != ""
            key = (name, user.groups, info.verb, info.group, info.resource, info.subresource, namespace)
        else:
            key = (name, user.groups, info.verb, info.path)
        found = self._remembered.get(key)
        if found is None:
            if len(self._remembered) >= _MAX_REMEMBERED:
                self._remembered.clear()
            matching = (headers for schema, headers in self._ordered if _matches(schema, user, info))
            found = self._remembered[key] = next(matching, ())
        return found


def level_of(schema: Object) -> str:
    """The name of the priority level that a schema leads to."""
    name: str = (schema["spec"].get("priorityLevelConfiguration") or {}).get("name") or ""
    return name


def _takes_all_of(schema: Object, group: str) -> bool:
    """Whether a schema plainly takes every request of a group's members."""
    everything = {"verbs": ["*"], "nonResourceURLs": ["*"]}
    return any(
        {"kind": "Group", "group": {"name": group}} in (rule.get("subjects") or ())
        and _WHOLE_RULE in (rule.get("resourceRules") or ())
        and everything in (rule.get("nonResourceRules") or ())
        for rule in schema["spec"].get("rules") or ()
    )


def _matches(schema: Object, user: User, info: RequestInfo) -> bool:
    return any(_rule_matches(rule, user, info) for rule in schema["spec"].get("rules") or ())


def _rule_matches(rule: Object, user: User, info: RequestInfo) -> bool:
    if not any(_is_subject(subject, user) for subject in rule.get("subjects") or ()):
        return False
    if info.is_resource:
        return any(_takes_resource(each, info) for each in rule.get("resourceRules") or ())
    return any(_takes_path(each, info) for each in rule.get("nonResourceRules") or ())


def _is_subject(subject: Object, user: User) -> bool:
    match subject.get("kind"):
        case "User":
            return (subject.get("user") or {}).get("name") in ("*", user.name)
        case "Group":
            name = (subject.get("group") or {}).get("name")
            return name == "*" or name in user.groups
        case "ServiceAccount":
            account, wanted = split_username(user.name), subject.get("serviceAccount") or {}
            if account is None or account[0] != wanted.get("namespace"):
                return False
            return wanted.get("name") in ("*", account[1])
    return False


def _takes_resource(rule: Object, info: RequestInfo) -> bool:
    resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    return (
        _has(rule.get("verbs"), info.verb)
        and _has(rule.get("resources"), resource)
        and _has(rule.get("apiGroups"), info.group)
        and (_has(rule.get("namespaces"), info.namespace) if info.namespace else bool(rule.get("clusterScope")))
    )


def _takes_path(rule: Object, info: RequestInfo) -> bool:
    if not _has(rule.get("verbs"), info.verb):
        return False
    for path in rule.get("nonResourceURLs") or ():
        if path in ("*", info.path) or info.path.startswith(path.removesuffix("*").removesuffix("/") + "/"):
            return True
    return False


def _has(values: Iterable[str] | None, value: str) -> bool:
    return values is not None and (value in values or "*" in values)

"""The filter that lets a user act as another, if that user may.

Rights to impersonate come in modes (KEP-5284): who is impersonated decides which constrained mode applies, and each
needs two rights, one on the identity and one on what is done with it. The unconstrained right of old is tried last.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from urllib.parse import unquote

from watchkeeper.authn.service_accounts import group_names, split_username
from watchkeeper.authz.interface import Attributes, Authorizer
from watchkeeper.authz.refusal import NO_SNIFF, forbidden_error
from watchkeeper.endpoints.filters.attributes import attributes_of
from watchkeeper.endpoints.response import Response
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import go_quote
from watchkeeper.request.request import Request
from watchkeeper.request.user import ANONYMOUS, AUTHENTICATED, SYSTEM_MASTERS, UNAUTHENTICATED, User

_PREFIX = b"impersonate-"
_EXTRA = b"impersonate-extra-"
_NODE_PREFIX = "system:node:"
_NODES = ("system:nodes",)
_NODE_NAME = "authentication.kubernetes.io/node-name"
_NODE_KEYS = "authentication.kubernetes.io/associated-node-keys"
_AUTHENTICATION = "authentication.k8s.io"
_MAX_REMEMBERED = 10_000


class Impersonation:
    """Puts the impersonated user in the place of the one who asks. Raises a 403 or a 400."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer
        self._last_mode: dict[str, _Mode] = {}
        """By user, the mode that let them last; it is tried first, and it is its refusal that they get to see."""

    def __call__(self, request: Request) -> Awaitable[Response | None] | None:
        """Look for the headers; nearly all requests have none."""
        for name, _ in request.scope["headers"]:
            if name.startswith(_PREFIX):
                wanted = wanted_user(request)
                return None if wanted is None else self._impersonate(request, wanted)
        return None

    async def _impersonate(self, request: Request, wanted: User) -> Response | None:
        question = attributes_of(request)
        modes = [mode for mode in _MODES if mode.applies(wanted, request.user)]
        last = self._last_mode.get(request.user.name)
        if last in modes:
            modes.sort(key=lambda mode: mode is not last)
        refusal: ApiError | None = None
        for mode in modes:
            try:
                user = await _Attempt(self._authorizer, mode, wanted, question).run()
            except ApiError as error:
                refusal = refusal or error
                continue
            if len(self._last_mode) >= _MAX_REMEMBERED:
                self._last_mode.clear()
            self._last_mode[request.user.name] = mode
            request.user = user
            request.impersonation = mode.verb if mode.constrained else ""
            return None
        assert refusal is not None
        raise refusal


def wanted_user(request: Request) -> User | None:
    """The user that the headers name, None when they name none. Raises a 400 for anything but a user alone."""
    name = uid = ""
    groups: list[str] = []
    extra: dict[str, tuple[str, ...]] = {}
    for header, raw in request.scope["headers"]:
        if not header.startswith(_PREFIX):
            continue
        value = raw.decode(errors="replace")
        if header == b"impersonate-user":
            name = name or value
        elif header == b"impersonate-uid":
            uid = uid or value
        elif header == b"impersonate-group":
            groups.append(value)
        elif header.startswith(_EXTRA):
            key = unquote(header[len(_EXTRA) :].decode("ascii", errors="replace"))
            extra[key] = (*extra.get(key, ()), value)
    if name:
        return User(name, uid=uid, groups=tuple(groups), extra=extra)
    if uid or groups or extra:
        error = errors.bad_request(f"requested {_go_user(uid, groups, extra)} without impersonating a user name")
        error.headers = (NO_SNIFF,)
        raise error
    return None


def _go_user(uid: str, groups: list[str], extra: dict[str, tuple[str, ...]]) -> str:
    """The nameless user as the reference prints it."""
    shown_groups = _go_list(groups) if groups else "[]string(nil)"
    pairs = ", ".join(f"{go_quote(key)}:{_go_list(values)}" for key, values in sorted(extra.items()))
    shown_extra = f"map[string][]string{{{pairs}}}" if extra else "map[string][]string(nil)"
    return f'&user.DefaultInfo{{Name:"", UID:{go_quote(uid)}, Groups:{shown_groups}, Extra:{shown_extra}}}'


def _go_list(values: list[str] | tuple[str, ...]) -> str:
    return f"[]string{{{', '.join(map(go_quote, values))}}}"


@dataclass(frozen=True, slots=True, eq=False)
class _Mode:
    """A kind of impersonation. `verb` is asked on the identity; constrained modes also ask for what is done with it."""

    name: str
    applies: Callable[[User, User], bool]
    constrained: bool = True

    @property
    def verb(self) -> str:
        return f"impersonate:{self.name}" if self.constrained else "impersonate"


def _only_named(user: User) -> bool:
    return not (user.uid or user.groups or user.extra)


def node_name(user: str) -> str:
    """The node whose kubelet this user is, "" for any other user."""
    return user[len(_NODE_PREFIX) :] if user.startswith(_NODE_PREFIX) else ""


def _is_own_node(wanted: User, requestor: User) -> bool:
    node = node_name(wanted.name)
    known = requestor.extra.get(_NODE_NAME, ())
    return bool(
        node and _only_named(wanted) and split_username(requestor.name) and len(known) == 1 and known[0] == node
    )


def _is_node(wanted: User, requestor: User) -> bool:
    return _only_named(wanted) and bool(node_name(wanted.name))


def _is_service_account(wanted: User, requestor: User) -> bool:
    return _only_named(wanted) and split_username(wanted.name) is not None


def _is_plain_user(wanted: User, requestor: User) -> bool:
    return not node_name(wanted.name) and split_username(wanted.name) is None


def _is_anybody(wanted: User, requestor: User) -> bool:
    return True


_OWN_NODE = _Mode("associated-node", _is_own_node)
_MODES = (
    _OWN_NODE,
    _Mode("arbitrary-node", _is_node),
    _Mode("serviceaccount", _is_service_account),
    _Mode("user-info", _is_plain_user),
    _Mode("", _is_anybody, constrained=False),
)


class _Attempt:
    """One try at impersonating in one mode."""

    def __init__(self, authorizer: Authorizer, mode: _Mode, wanted: User, question: Attributes) -> None:
        self._authorizer = authorizer
        self._mode = mode
        self._wanted = wanted
        self._question = question
        self._requestor = question.user
        if mode is _OWN_NODE:
            keys = tuple(sorted(question.user.extra))
            self._requestor = replace(question.user, extra={_NODE_KEYS: keys})

    async def run(self) -> User:
        """The impersonated user. Raises a 403."""
        mode, wanted = self._mode, self._wanted
        if mode.constrained:
            verb = f"impersonate-on:{mode.name}:{self._question.verb}"
            await self._ask(replace(self._question, user=self._requestor, verb=verb))
        groups = await self._ask_name()
        if wanted.uid:
            await self._ask(self._about("uids", wanted.uid, _AUTHENTICATION))
        await self._ask_groups()
        await self._ask_extra()
        return replace(wanted, groups=_with_own_group(wanted.name, groups))

    async def _ask_name(self) -> tuple[str, ...]:
        """Ask for the user itself; returns the groups that come with it."""
        wanted, constrained = self._wanted, self._mode.constrained
        account = split_username(wanted.name)
        if account is not None:
            namespace, name = account
            await self._ask(replace(self._about("serviceaccounts", name), namespace=namespace))
            return wanted.groups or group_names(namespace)
        node = node_name(wanted.name) if constrained else ""
        if node:
            await self._ask(self._about("nodes", "*" if self._mode is _OWN_NODE else node))
            return _NODES
        await self._ask(self._about("users", wanted.name))
        return wanted.groups

    async def _ask_groups(self) -> None:
        groups = self._wanted.groups
        if self._mode.constrained:
            if "" in groups:
                raise forbidden_error(self._about("groups", ""), "impersonating the empty string group is not allowed")
            if SYSTEM_MASTERS in groups:
                why = f"impersonating the {SYSTEM_MASTERS} group is not allowed"
                raise forbidden_error(self._about("groups", SYSTEM_MASTERS), why)
        for group in groups:
            await self._ask(self._about("groups", group))

    async def _ask_extra(self) -> None:
        for key, values in self._wanted.extra.items():
            about = replace(self._about("userextras", "", _AUTHENTICATION), subresource=key)
            if self._mode.constrained and not key:
                raise forbidden_error(about, "impersonating the empty string key in extra is not allowed")
            for value in values:
                if self._mode.constrained and not value:
                    raise forbidden_error(about, "impersonating the empty string value in extra is not allowed")
                await self._ask(replace(about, name=value))

    def _about(self, resource: str, name: str, group: str | None = None) -> Attributes:
        """The question whether the requestor may impersonate a thing of the identity."""
        if group is None:
            group = _AUTHENTICATION if self._mode.constrained else ""
        return Attributes(
            user=self._requestor, verb=self._mode.verb, group=group, version="v1", resource=resource, name=name
        )

    async def _ask(self, question: Attributes) -> None:
        answer = self._authorizer.authorize(question)
        if isinstance(answer, Awaitable):
            answer = await answer
        if not answer.allowed:
            raise forbidden_error(question, answer.reason)


def _with_own_group(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    """Everybody is in the group of the authenticated, except the anonymous user and who asked to be unauthenticated."""
    own = UNAUTHENTICATED if name == ANONYMOUS.name else AUTHENTICATED
    if own in groups or UNAUTHENTICATED in groups:
        return groups
    return (*groups, own)

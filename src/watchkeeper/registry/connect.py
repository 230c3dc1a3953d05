"""Subresources that reach through to a node: log, exec, attach, portforward, proxy.

Whom to connect to is found out here, as kube-apiserver does; whoever serves the request passes it on to them.
"""

from __future__ import annotations

from operator import itemgetter
from random import randrange
from typing import Any
from urllib.parse import urlencode

from watchkeeper.aio.dial import addresses_of
from watchkeeper.apis.core.pod_logs import log_options, validate_log_options
from watchkeeper.authz.interface import Attributes, Authorizer
from watchkeeper.authz.union import ask
from watchkeeper.meta import errors
from watchkeeper.meta.addresses import is_global_unicast
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import go_quote
from watchkeeper.meta.go_numbers import parse_int
from watchkeeper.meta.gvk import GroupKind, GroupResource
from watchkeeper.registry.backends import LogBackend, ProxyBackend, StreamBackend, Whom
from watchkeeper.registry.kubelet import Kubelet, KubeletPlaces, kubelet_of
from watchkeeper.registry.rest import ConnectRequest, Context, Object, SlashMissing
from watchkeeper.registry.store import Store

_LOG_OPTIONS = GroupKind("", "PodLogOptions")
_WITH_SCHEME = 3
_PORT_DIGITS = 5
_FLAGS = ("follow", "previous", "timestamps")
_STREAMS = {"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}


class Kubelets:
    """Finds the kubelets of nodes."""

    def __init__(self, nodes: Store, places: KubeletPlaces) -> None:
        self._nodes = nodes
        self._places = places

    async def of(self, ctx: Context, name: str, asked_for: str = "pods") -> Kubelet:
        """The kubelet of a node. That there is no such node is told as of the resource that the request is for."""
        try:
            node = await self._nodes.get(Context(user=ctx.user), name, "")
        except errors.ApiError as error:
            raise (errors.not_found(GroupResource("", asked_for), name) if error.code == 404 else error) from None
        return kubelet_of(node.data(), self._places)


class PodConnect:
    """exec, attach and portforward of Pods."""

    def __init__(self, pods: Store, kubelets: Kubelets, subresource: str, authorizer: Authorizer) -> None:
        self._pods = pods
        self._kubelets = kubelets
        self._subresource = subresource
        self._authorizer = authorizer

    async def connect(self, ctx: Context, request: ConnectRequest) -> StreamBackend:
        """The kubelet of the Pod's node. Raises ApiError."""
        if request.method != "POST":
            await self._require_create(ctx, request.name)
        pod = (await self._pods.get(ctx, request.name, "")).data()
        forwards = self._subresource == "portforward"
        container = "" if forwards else chosen_container(pod, _first(request, "container"))
        meta = pod["metadata"]
        node = pod["spec"].get("nodeName") or ""
        if not node:
            raise errors.bad_request(f"pod {meta['name']} does not have a host assigned")
        kubelet = await self._kubelets.of(ctx, node)
        if not request.upgrade:
            raise errors.bad_request("Upgrade request required")
        at = f"{meta['namespace']}/{meta['name']}"
        streams = [] if forwards else [name for name in _STREAMS if _is_true(request, name)]
        if forwards:
            ports = ",".join(str(int(text)) for given in request.params.get("ports") or () for text in given.split(","))
            asked = [("port", ports)] if ports else []
        else:
            asked = [("command", text) for text in request.params.get("command") or ()]
            asked += [(_STREAMS[name], "1") for name in streams]
        return StreamBackend(
            host=kubelet.host,
            port=str(kubelet.port),
            path=f"/portForward/{at}" if forwards else f"/{self._subresource}/{at}/{container}",
            query=urlencode(sorted(asked, key=itemgetter(0))),
            websockets=kubelet.websockets,
            forwards=forwards,
            streams=frozenset(streams),
        )

    async def _require_create(self, ctx: Context, name: str) -> None:
        """Whoever may only read may not run anything, though WebSockets begin with a GET. Raises a 403."""
        question = Attributes(
            user=ctx.user,
            verb="create",
            version="v1",
            resource="pods",
            subresource=self._subresource,
            namespace=ctx.namespace,
            name=name,
        )
        answer = await ask(self._authorizer, question)
        if not answer.allowed:
            raise errors.forbidden(GroupResource("", "pods"), name, answer.reason)


class PodLog:
    """The log of a Pod: nothing as long as no node has it."""

    def __init__(self, pods: Store, kubelets: Kubelets) -> None:
        self._pods = pods
        self._kubelets = kubelets

    async def connect(self, ctx: Context, request: ConnectRequest) -> LogBackend | None:
        """The kubelet of the Pod's node, None for a Pod without one. Raises ApiError."""
        try:
            options = log_options(request.params)
            wrong = validate_log_options(options)
        except ValueError as error:
            raise errors.bad_request(str(error)) from error
        if wrong:
            raise errors.invalid(_LOG_OPTIONS, request.name, wrong)
        pod = (await self._pods.get(ctx, request.name, "")).data()
        container = chosen_container(pod, _first(request, "container"))
        node = pod["spec"].get("nodeName") or ""
        if not node:
            return None
        kubelet = await self._kubelets.of(ctx, node)
        asked = {name: "true" for name in _FLAGS if _is_true(request, name)} | options
        meta = pod["metadata"]
        unverified = _is_true(request, "insecureSkipTLSVerifyBackend")
        return LogBackend(
            host=kubelet.host,
            port=str(kubelet.port),
            path=f"/containerLogs/{meta['namespace']}/{meta['name']}/{container}",
            query=urlencode(sorted(asked.items())),
            whom=Whom.UNVERIFIED_KUBELET if unverified else Whom.KUBELET,
            pod=request.name,
        )


class PodProxy:
    """The proxy of a Pod."""

    def __init__(self, pods: Store) -> None:
        self._pods = pods

    async def connect(self, ctx: Context, request: ConnectRequest) -> ProxyBackend:
        """The Pod. Raises ApiError, SlashMissing."""
        scheme, name, port = _proxied(request, "pod")
        pod = (await self._pods.get(ctx, name, "")).data()
        if not port:
            listed = (each.get("ports") for each in pod["spec"].get("containers") or ())
            port = next((str(ports[0]["containerPort"]) for ports in listed if ports), "")
        return _reached(request, scheme, _pod_address(pod), port)


class NodeProxy:
    """The proxy of a Node."""

    def __init__(self, kubelets: Kubelets) -> None:
        self._kubelets = kubelets

    async def connect(self, ctx: Context, request: ConnectRequest) -> ProxyBackend:
        """The kubelet, or whoever listens on another port of the node. Raises ApiError, SlashMissing."""
        scheme, name, port = _proxied(request, "node")
        kubelet = await self._kubelets.of(ctx, name, "nodes")
        try:
            addresses = await addresses_of(kubelet.host)
        except ValueError as error:
            raise errors.bad_request(str(error)) from None
        for address in addresses:
            _check_address(address)
        if port in ("", str(kubelet.port)):
            return _reached(request, "https", kubelet.host, str(kubelet.port), Whom.KUBELET)
        return _reached(request, scheme, kubelet.host, port)


class ServiceProxy:
    """The proxy of a Service, which leads to one of the Pods that its Endpoints name."""

    def __init__(self, services: Store, endpoints: Store, pods: Store) -> None:
        self._services = services
        self._endpoints = endpoints
        self._pods = pods

    async def connect(self, ctx: Context, request: ConnectRequest) -> ProxyBackend:
        """One of the Pods behind the Service, any of them. Raises ApiError, SlashMissing."""
        scheme, name, port = _proxied(request, "service")
        try:
            number = parse_int(port)
        except ValueError:
            pass
        else:
            port = await self._port_name(ctx, name, number)
        subsets = await self._subsets(ctx, name)
        if not subsets:
            raise errors.service_unavailable(f"no endpoints available for service {go_quote(name)}")
        for subset in _from_any(subsets):
            named = [each for each in subset.get("ports") or () if (each.get("name") or "") == port]
            for address in _from_any(subset.get("addresses") or []) if named else ():
                if await self._is_pod(ctx, address):
                    return _reached(request, scheme, address["ip"], str(named[0]["port"]))
        raise errors.service_unavailable(f"no endpoints available for service {go_quote(request.name)}")

    async def _subsets(self, ctx: Context, name: str) -> list[Object]:
        """Those of the Endpoints. That there are no such is told as of the resource that the request is for."""
        try:
            found = await self._endpoints.get(ctx, name, "")
        except ApiError as error:
            raise (errors.not_found(GroupResource("", "services"), name) if error.code == 404 else error) from None
        subsets: list[Object] = found.data().get("subsets") or []
        return subsets

    async def _port_name(self, ctx: Context, name: str, number: int) -> str:
        service = (await self._services.get(ctx, name, "")).data()
        for each in service["spec"].get("ports") or ():
            if each.get("port") == number:
                return each.get("name") or ""
        raise errors.service_unavailable(f"no service port {number} found for service {go_quote(name)}")

    async def _is_pod(self, ctx: Context, address: Object) -> bool:
        """Whether an address is one of a Pod in the namespace: to no other one anything is proxied."""
        target = address.get("targetRef") or {}
        if target.get("namespace", "") != ctx.namespace:
            return False
        try:
            pod = (await self._pods.get(ctx, target.get("name", ""), "")).data()
        except ApiError:
            return False
        return any(each.get("ip") == address["ip"] for each in (pod.get("status") or {}).get("podIPs") or ())


def _first(request: ConnectRequest, name: str) -> str:
    values = request.params.get(name)
    return values[0] if values else ""


def _is_true(request: ConnectRequest, name: str) -> bool:
    value = (request.params.get(name) or ["false"])[0]
    return value.lower() not in ("false", "0")


def _proxied(request: ConnectRequest, kind: str) -> tuple[str, str, str]:
    """Scheme, name and port in `name`, `name:port` or `scheme:name:port`. Raises a 400."""
    parts = request.name.split(":")
    scheme = parts.pop(0) if len(parts) == _WITH_SCHEME else ""
    if len(parts) >= _WITH_SCHEME or not parts[0] or scheme not in ("", "http", "https"):
        raise errors.bad_request(f"invalid {kind} request {go_quote(request.name)}")
    name, _, port = ":".join(parts).partition(":")
    return scheme, name, port


def chosen_container(pod: Object, container: str) -> str:
    """The name of the container that is asked for: one of the Pod's; with several, one must be named. Raises a 400."""
    spec: dict[str, Any] = pod["spec"]
    name = pod["metadata"]["name"]
    kinds = ("initContainers", "containers", "ephemeralContainers")
    names = [each["name"] for kind in kinds for each in spec.get(kind) or ()]
    if container:
        if container not in names:
            raise errors.bad_request(f"container {container} is not valid for pod {name}")
        return container
    containers: list[Object] = spec.get("containers") or []
    if len(containers) != 1:
        text = f"a container name must be specified for pod {name}, choose one of: [{' '.join(names)}]"
        raise errors.bad_request(text)
    found: str = containers[0]["name"]
    return found


def _pod_address(pod: Object) -> str:
    addresses: list[Object] = (pod.get("status") or {}).get("podIPs") or []
    text: str = addresses[0].get("ip", "") if addresses else ""
    _check_address(text)
    return text


def _check_address(text: str) -> None:
    """Nothing is proxied to addresses that mean something to this machine alone. Raises a 400."""
    if not is_global_unicast(text):
        raise errors.bad_request("address not allowed")


def _reached(request: ConnectRequest, scheme: str, host: str, port: str, whom: Whom = Whom.ANYBODY) -> ProxyBackend:
    """Who is reached through a proxy. Raises SlashMissing, and an ApiError for a port that is none."""
    if not request.upgrade and not request.path and request.method in ("GET", "HEAD"):
        raise SlashMissing
    if port and not (port.isascii() and port.isdigit() and len(port) <= _PORT_DIGITS and int(port) < 1 << 16):
        why = f"dial tcp: address {port}: invalid port"
        if request.upgrade:
            raise ApiError(500, "", f"error dialing backend: {why}")
        raise errors.service_unavailable(f"error trying to reach service: {why}")
    return ProxyBackend(
        scheme=scheme or "http", host=host, port=port, path=request.path, query=request.query, whom=whom
    )


def _from_any(items: list[Object]) -> list[Object]:
    """The same items, beginning with any of them, so that not all requests go the same way."""
    start = randrange(len(items)) if len(items) > 1 else 0
    return items[start:] + items[:start]

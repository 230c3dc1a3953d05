"""Subresources that reach through to a node: log, exec, attach, portforward, proxy.

watchkeeper passes nothing on to kubelets, Pods and Services. It finds out whom to connect to as kube-apiserver does,
and tells in its words why that fails, as it does where none of them runs; where one does, it says that it stops there.
"""

from __future__ import annotations

from ipaddress import ip_address
from operator import itemgetter
from typing import Any
from urllib.parse import urlencode

from watchkeeper.aio.dial import addresses_of, dial_problem
from watchkeeper.apis.core.pod_logs import log_options, validate_log_options
from watchkeeper.authz.interface import Attributes, Authorizer
from watchkeeper.authz.union import ask
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import go_quote
from watchkeeper.meta.go_numbers import parse_int
from watchkeeper.meta.gvk import GroupKind, GroupResource
from watchkeeper.registry.kubelet import Kubelet, kubelet_of
from watchkeeper.registry.rest import ConnectRequest, Context, Object, Result, SlashMissing, ToldOnChannel
from watchkeeper.registry.store import Store

_LOG_OPTIONS = GroupKind("", "PodLogOptions")
_WITH_SCHEME = 3
_PORT_DIGITS = 5
_FLAGS = ("follow", "previous", "timestamps")
_STREAMS = {"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}
_NOT_PASSED_ON = "watchkeeper passes no requests on"


class PodConnect:
    """exec, attach and portforward of Pods."""

    def __init__(self, pods: Store, nodes: Store, subresource: str, authorizer: Authorizer) -> None:
        self.pods = pods
        self.nodes = nodes
        self.subresource = subresource
        self._authorizer = authorizer

    async def connect(self, ctx: Context, request: ConnectRequest) -> Result | None:
        """Raise what keeps the connection from being made."""
        if request.method != "POST":
            await self._require_create(ctx, request.name)
        pod = (await self.pods.get(ctx, request.name, "")).data()
        if self.subresource != "portforward":
            chosen_container(pod, _first(request, "container"))
        node = pod["spec"].get("nodeName") or ""
        if not node:
            raise errors.bad_request(f"pod {pod['metadata']['name']} does not have a host assigned")
        kubelet = await _kubelet(self.nodes, ctx, node)
        if request.channels and self.subresource != "portforward" and not kubelet.websockets:
            raise ToldOnChannel(await self._not_sent(request, kubelet, pod))
        if not request.upgrade:
            raise errors.bad_request("Upgrade request required")
        raise await _no_backend(kubelet.host, kubelet.port)

    async def _require_create(self, ctx: Context, name: str) -> None:
        """Whoever may only read may not run anything, though WebSockets begin with a GET. Raises a 403."""
        question = Attributes(
            user=ctx.user,
            verb="create",
            version="v1",
            resource="pods",
            subresource=self.subresource,
            namespace=ctx.namespace,
            name=name,
        )
        answer = await ask(self._authorizer, question)
        if not answer.allowed:
            raise errors.forbidden(GroupResource("", "pods"), name, answer.reason)

    async def _not_sent(self, request: ConnectRequest, kubelet: Kubelet, pod: Object) -> ApiError:
        """Why a WebSocket cannot be translated for a kubelet that speaks SPDY alone."""
        container = chosen_container(pod, _first(request, "container"))
        asked = [("command", text) for text in request.params.get("command") or ()]
        asked += [(theirs, "1") for ours, theirs in _STREAMS.items() if _is_true(request, ours)]
        query = f"?{urlencode(sorted(asked, key=itemgetter(0)))}" if asked else ""
        meta = pod["metadata"]
        place = f"{self.subresource}/{meta['namespace']}/{meta['name']}/{container}"
        why = await dial_problem(kubelet.host, kubelet.port) or _NOT_PASSED_ON
        text = f'error sending request: Post "https://{kubelet.authority}/{place}{query}": {why}'
        return errors.internal_error(text)


class PodLog:
    """The log of a Pod: nothing as long as no node has it."""

    def __init__(self, pods: Store, nodes: Store) -> None:
        self.pods = pods
        self.nodes = nodes

    async def connect(self, ctx: Context, request: ConnectRequest) -> Result | None:
        """None for a Pod without a node; else what keeps the node from being reached."""
        try:
            options = log_options(request.params)
            wrong = validate_log_options(options)
        except ValueError as error:
            raise errors.bad_request(str(error)) from error
        if wrong:
            raise errors.invalid(_LOG_OPTIONS, request.name, wrong)
        pod = (await self.pods.get(ctx, request.name, "")).data()
        container = chosen_container(pod, _first(request, "container"))
        node = pod["spec"].get("nodeName") or ""
        if not node:
            return None
        kubelet = await _kubelet(self.nodes, ctx, node)
        asked = {name: "true" for name in _FLAGS if _is_true(request, name)} | options
        query = f"?{urlencode(sorted(asked.items()))}" if asked else ""
        meta = pod["metadata"]
        url = f"https://{kubelet.authority}/containerLogs/{meta['namespace']}/{meta['name']}/{container}{query}"
        why = await dial_problem(kubelet.host, kubelet.port)
        raise ApiError(500, "", f'Get "{url}": {why or _NOT_PASSED_ON}')


class PodProxy:
    """The proxy of a Pod."""

    def __init__(self, pods: Store) -> None:
        self.pods = pods

    async def connect(self, ctx: Context, request: ConnectRequest) -> Result:
        """Raise what keeps the Pod from being reached."""
        scheme, name, port = _proxied(request, "pod")
        pod = (await self.pods.get(ctx, name, "")).data()
        if not port:
            listed = (each.get("ports") for each in pod["spec"].get("containers") or ())
            port = next((str(ports[0]["containerPort"]) for ports in listed if ports), "")
        raise await _proxy_problem(request, scheme, _pod_address(pod), port)


class NodeProxy:
    """The proxy of a Node."""

    def __init__(self, nodes: Store) -> None:
        self.nodes = nodes

    async def connect(self, ctx: Context, request: ConnectRequest) -> Result:
        """Raise what keeps the node from being reached."""
        scheme, name, port = _proxied(request, "node")
        kubelet = await _kubelet(self.nodes, ctx, name, "nodes")
        try:
            addresses = await addresses_of(kubelet.host)
        except ValueError as error:
            raise errors.bad_request(str(error)) from None
        for address in addresses:
            _check_address(address)
        raise await _proxy_problem(request, scheme, kubelet.host, port or str(kubelet.port))


class ServiceProxy:
    """The proxy of a Service, which leads to one of the Pods that its Endpoints name."""

    def __init__(self, services: Store, endpoints: Store, pods: Store) -> None:
        self.services = services
        self.endpoints = endpoints
        self.pods = pods

    async def connect(self, ctx: Context, request: ConnectRequest) -> Result:
        """Raise what keeps whoever stands behind the Service from being reached."""
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
        for subset in subsets:
            named = [each for each in subset.get("ports") or () if (each.get("name") or "") == port]
            for address in (subset.get("addresses") or ()) if named else ():
                if await self._is_pod(ctx, address):
                    raise await _proxy_problem(request, scheme, address["ip"], str(named[0]["port"]))
        raise errors.service_unavailable(f"no endpoints available for service {go_quote(request.name)}")

    async def _subsets(self, ctx: Context, name: str) -> list[Object]:
        """Those of the Endpoints. That there are no such is told as of the resource that the request is for."""
        try:
            found = await self.endpoints.get(ctx, name, "")
        except ApiError as error:
            raise (errors.not_found(GroupResource("", "services"), name) if error.code == 404 else error) from None
        subsets: list[Object] = found.data().get("subsets") or []
        return subsets

    async def _port_name(self, ctx: Context, name: str, number: int) -> str:
        service = (await self.services.get(ctx, name, "")).data()
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
            pod = (await self.pods.get(ctx, target.get("name", ""), "")).data()
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


async def _kubelet(nodes: Store, ctx: Context, name: str, asked_for: str = "pods") -> Kubelet:
    """The kubelet of a node. That there is no such node is told as of the resource that the request is for."""
    try:
        node = await nodes.get(Context(user=ctx.user), name, "")
    except errors.ApiError as error:
        raise (errors.not_found(GroupResource("", asked_for), name) if error.code == 404 else error) from None
    return kubelet_of(node.data())


def _pod_address(pod: Object) -> str:
    addresses: list[Object] = (pod.get("status") or {}).get("podIPs") or []
    text: str = addresses[0].get("ip", "") if addresses else ""
    _check_address(text)
    return text


def _check_address(text: str) -> None:
    """Nothing is proxied to addresses that mean something to this machine alone. Raises a 400."""
    try:
        address = ip_address(text)
    except ValueError:
        raise errors.bad_request("address not allowed") from None
    if (
        address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_unspecified
        or text == "255.255.255.255"
    ):
        raise errors.bad_request("address not allowed")


async def _no_backend(host: str, port: int) -> ApiError:
    return ApiError(500, "", f"error dialing backend: {await dial_problem(host, port) or _NOT_PASSED_ON}")


async def _proxy_problem(request: ConnectRequest, scheme: str, host: str, port: str) -> ApiError:
    """Why a request cannot be passed on. Raises SlashMissing."""
    if not request.upgrade and not request.path and request.method in ("GET", "HEAD"):
        raise SlashMissing
    port = port or ("443" if scheme == "https" else "80")
    if not (port.isascii() and port.isdigit() and len(port) <= _PORT_DIGITS and int(port) < 1 << 16):
        return errors.service_unavailable(f"error trying to reach service: dial tcp: address {port}: invalid port")
    if request.upgrade:
        return await _no_backend(host, int(port))
    why = await dial_problem(host, int(port)) or _NOT_PASSED_ON
    return errors.service_unavailable(f"error trying to reach service: {why}")

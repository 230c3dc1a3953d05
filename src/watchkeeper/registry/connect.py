"""Subresources that reach through to a node: log, exec, attach, portforward, proxy.

watchkeeper runs no kubelets and dials none. It answers as kube-apiserver does when there is no node to connect to, so
that clients see the same errors.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

from watchkeeper.apis.core.pod_logs import log_options, validate_log_options
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import go_quote
from watchkeeper.meta.gvk import GroupKind
from watchkeeper.registry.rest import ConnectRequest, Context, Object, Result
from watchkeeper.registry.store import Store

_LOG_OPTIONS = GroupKind("", "PodLogOptions")
_WITH_SCHEME = 3


class PodConnect:
    """exec, attach, portforward and proxy of Pods."""

    def __init__(self, pods: Store, nodes: Store, subresource: str) -> None:
        self.pods = pods
        self.nodes = nodes
        self.subresource = subresource

    async def connect(self, ctx: Context, request: ConnectRequest) -> Result | None:
        """Raise what keeps the connection from being made."""
        if self.subresource == "proxy":
            name, _ = _proxied(request, "pod")
            raise _unreachable_pod((await self.pods.get(ctx, name, "")).data())
        pod = (await self.pods.get(ctx, request.name, "")).data()
        if self.subresource in ("exec", "attach"):
            check_container(pod, _first(request, "container"))
        raise await self._no_host(ctx, pod)

    async def _no_host(self, ctx: Context, pod: Object) -> ApiError:
        node = pod["spec"].get("nodeName") or ""
        if not node:
            return errors.bad_request(f"pod {pod['metadata']['name']} does not have a host assigned")
        return await unreachable_node(self.nodes, ctx, node)


class PodLog(PodConnect):
    """The log of a Pod: nothing as long as no node has it."""

    async def connect(self, ctx: Context, request: ConnectRequest) -> Result | None:
        """None for a Pod without a node; else what keeps the node from being reached."""
        try:
            wrong = validate_log_options(log_options(request.params))
        except ValueError as error:
            raise errors.bad_request(str(error)) from error
        if wrong:
            raise errors.invalid(_LOG_OPTIONS, request.name, wrong)
        pod = (await self.pods.get(ctx, request.name, "")).data()
        check_container(pod, _first(request, "container"))
        node = pod["spec"].get("nodeName") or ""
        if not node:
            return None
        raise await unreachable_node(self.nodes, ctx, node)


class NodeProxy:
    """The proxy of a Node."""

    def __init__(self, nodes: Store) -> None:
        self.nodes = nodes

    async def connect(self, ctx: Context, request: ConnectRequest) -> Result:
        """Raise what keeps the node from being reached."""
        name, _ = _proxied(request, "node")
        raise await unreachable_node(self.nodes, ctx, name)


class ServiceProxy:
    """The proxy of a Service."""

    def __init__(self, services: Store) -> None:
        self.services = services

    async def connect(self, ctx: Context, request: ConnectRequest) -> Result:
        """Raise that nobody stands behind the Service."""
        name, port = _proxied(request, "service")
        service = (await self.services.get(ctx, name, "")).data()
        known = [each.get("port") for each in service["spec"].get("ports") or ()]
        if port.isascii() and port.isdigit() and int(port) not in known:
            raise errors.service_unavailable(f"no service port {int(port)} found for service {go_quote(name)}")
        raise errors.service_unavailable(f"no endpoints available for service {go_quote(name)}")


def _first(request: ConnectRequest, name: str) -> str:
    values = request.params.get(name)
    return values[0] if values else ""


def _proxied(request: ConnectRequest, kind: str) -> tuple[str, str]:
    """The name and the port in `name`, `name:port` or `scheme:name:port`. Raises a 400."""
    parts = request.name.split(":")
    scheme = parts.pop(0) if len(parts) == _WITH_SCHEME else ""
    if len(parts) >= _WITH_SCHEME or not parts[0] or scheme not in ("", "http", "https"):
        raise errors.bad_request(f"invalid {kind} request {go_quote(request.name)}")
    return parts[0], parts[1] if len(parts) > 1 else ""


def check_container(pod: Object, container: str) -> None:
    """The container asked for must be one of the Pod's; with several, one must be named. Raises a 400."""
    spec: dict[str, Any] = pod["spec"]
    name = pod["metadata"]["name"]
    kinds = ("initContainers", "containers", "ephemeralContainers")
    names = [each["name"] for kind in kinds for each in spec.get(kind) or ()]
    if container:
        if container not in names:
            raise errors.bad_request(f"container {container} is not valid for pod {name}")
    elif len(spec.get("containers") or ()) != 1:
        text = f"a container name must be specified for pod {name}, choose one of: [{' '.join(names)}]"
        raise errors.bad_request(text)


async def unreachable_node(nodes: Store, ctx: Context, name: str) -> ApiError:
    """Why a node cannot be connected to: it does not exist, or tells no address that is dialed."""
    node = (await nodes.get(Context(user=ctx.user), name, "")).data()
    known = (node.get("status") or {}).get("addresses") or []
    shown = " ".join(f"{{{a.get('type', '')} {a.get('address', '')}}}" for a in known)
    return ApiError(500, "", f"no preferred addresses found; known addresses: [{shown}]")


def _unreachable_pod(pod: Object) -> ApiError:
    try:
        address = ip_address((pod.get("status") or {}).get("podIP") or "")
    except ValueError:
        return errors.bad_request("address not allowed")
    if address.is_loopback or address.is_link_local or address.is_multicast or address.is_unspecified:
        return errors.bad_request("address not allowed")
    return errors.service_unavailable(f"error trying to reach service: no route to pod {pod['metadata']['name']}")

"""Subresources that reach through to a node: log, exec, attach, portforward, proxy.

watchkeeper runs no kubelets and dials none. It answers as kube-apiserver does when there is no node to connect to, so
that clients see the same errors.
"""

from __future__ import annotations

from typing import Any

from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.registry.rest import ConnectRequest, Context, Object, Result
from watchkeeper.registry.store import Store


class PodConnect:
    """exec, attach, portforward and proxy of Pods."""

    def __init__(self, pods: Store, nodes: Store, subresource: str) -> None:
        self.pods = pods
        self.nodes = nodes
        self.subresource = subresource

    async def connect(self, ctx: Context, request: ConnectRequest) -> Result:
        """Raise what keeps the connection from being made."""
        pod = (await self.pods.get(ctx, request.name, "")).data()
        if self.subresource in ("exec", "attach"):
            check_container(pod, _first(request, "container"), with_ephemeral=True)
        if self.subresource == "proxy":
            raise _unreachable_pod(pod)
        raise await self._no_host(ctx, pod)

    async def _no_host(self, ctx: Context, pod: Object) -> ApiError:
        node = pod["spec"].get("nodeName") or ""
        if not node:
            return errors.bad_request(f"pod {pod['metadata']['name']} does not have a host assigned")
        return await unreachable_node(self.nodes, ctx, node)


class PodLog(PodConnect):
    """The log of a Pod: empty as long as no node has it."""

    async def connect(self, ctx: Context, request: ConnectRequest) -> Result:
        """An empty text for a Pod without a node; else what keeps the node from being reached."""
        pod = (await self.pods.get(ctx, request.name, "")).data()
        check_container(pod, _first(request, "container"), with_ephemeral=True)
        node = pod["spec"].get("nodeName") or ""
        if not node:
            return {"text": ""}
        raise await unreachable_node(self.nodes, ctx, node)


class NodeProxy:
    """The proxy of a Node."""

    def __init__(self, nodes: Store) -> None:
        self.nodes = nodes

    async def connect(self, ctx: Context, request: ConnectRequest) -> Result:
        """Raise what keeps the node from being reached."""
        raise await unreachable_node(self.nodes, ctx, request.name)


class ServiceProxy:
    """The proxy of a Service."""

    def __init__(self, services: Store) -> None:
        self.services = services

    async def connect(self, ctx: Context, request: ConnectRequest) -> Result:
        """Raise that nobody stands behind the Service."""
        name = request.name.split(":")[1 if request.name.count(":") == 2 else 0]
        await self.services.get(ctx, name, "")
        raise errors.service_unavailable(f'no endpoints available for service "{request.name}"')


def _first(request: ConnectRequest, name: str) -> str:
    values = request.params.get(name)
    return values[0] if values else ""


def check_container(pod: Object, container: str, *, with_ephemeral: bool) -> None:
    """The container asked for must be one of the Pod's; with several, one must be named. Raises a 400."""
    spec: dict[str, Any] = pod["spec"]
    name = pod["metadata"]["name"]
    mains = [c["name"] for c in spec.get("containers") or ()]
    inits = [c["name"] for c in spec.get("initContainers") or ()]
    ephemeral = [c["name"] for c in spec.get("ephemeralContainers") or ()] if with_ephemeral else []
    if container:
        if container not in (*mains, *inits, *ephemeral):
            raise errors.bad_request(f"container {container} is not valid for pod {name}")
        return
    annotations = pod["metadata"].get("annotations") or {}
    if len(mains) == 1 or annotations.get("kubectl.kubernetes.io/default-container") in mains:
        return
    text = f"a container name must be specified for pod {name}, choose one of: [{' '.join(mains)}]"
    if inits:
        text += f" or one of the init containers: [{' '.join(inits)}]"
    raise errors.bad_request(text)


async def unreachable_node(nodes: Store, ctx: Context, name: str) -> ApiError:
    """Why a node cannot be connected to: it does not exist, or tells no address that is dialed."""
    node = (await nodes.get(Context(user=ctx.user), name, "")).data()
    known = (node.get("status") or {}).get("addresses") or []
    shown = " ".join(f"{{{a.get('type', '')} {a.get('address', '')}}}" for a in known)
    return ApiError(500, "", f"no preferred addresses found; known addresses: [{shown}]")


def _unreachable_pod(pod: Object) -> ApiError:
    if not (pod.get("status") or {}).get("podIP"):
        return errors.service_unavailable("address not allowed")
    return errors.service_unavailable(f"error trying to reach service: no route to pod {pod['metadata']['name']}")

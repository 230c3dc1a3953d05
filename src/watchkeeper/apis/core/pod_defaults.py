"""Defaults of pods and of pod templates, at v1.

These run for every Pod that is written: straight-line code over dicts whose empty fields decoding has left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from watchkeeper.apis.annotations import drop_annotations
from watchkeeper.apis.core.pod_resources import default_pod_level_resources
from watchkeeper.apis.core.volume_defaults import default_volumes
from watchkeeper.apis.images import default_pull_policy
from watchkeeper.apis.quantities import round_resources

Object = dict[str, Any]

_OLD_ANNOTATIONS = frozenset(
    f"pod.{level}.kubernetes.io/init-container{what}" for level in ("alpha", "beta") for what in ("s", "-statuses")
)
"""Where init containers were before Kubernetes 1.8, which is not looked at."""


def default_pod(pod: Object) -> None:
    """Fill in a Pod. Requests follow limits and host ports follow the host network only here, not in templates."""
    spec = pod.setdefault("spec", {})
    containers = spec.get("containers") or ()
    init_containers = spec.get("initContainers") or ()
    _requests_from_limits(containers)
    if init_containers:
        _requests_from_limits(init_containers)
    if "resources" in spec:
        default_pod_level_resources(spec)
    if "enableServiceLinks" not in spec:
        spec["enableServiceLinks"] = True
    if spec.get("hostNetwork"):
        for kind, those in (("containers", containers), ("initContainers", init_containers)):
            if any(_lacks_host_port(port) for container in those for port in container.get("ports") or ()):
                spec[kind] = [_with_host_ports(container) for container in those]
    default_pod_spec(spec)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    default_pod_status(pod)


def default_pod_status(pod: Object) -> None:
    """Fill in a Pod outside of its spec."""
    drop_annotations(pod, _OLD_ANNOTATIONS)
    status = pod.get("status")
    if status:
        _default_status(status)


def default_pod_template(template: Object) -> None:
    """Fill in the template of a workload."""
    template.setdefault("metadata", {})
    drop_annotations(template, _OLD_ANNOTATIONS)
    default_pod_spec(template.setdefault("spec", {}))


def default_pod_spec(spec: Object) -> None:
    """Fill in what a Pod and a template have in common. `serviceAccount` is an older name of `serviceAccountName`."""
    if not spec.get("dnsPolicy"):
        spec["dnsPolicy"] = "ClusterFirst"
    if not spec.get("restartPolicy"):
        spec["restartPolicy"] = "Always"
    if "securityContext" not in spec:
        spec["securityContext"] = {}
    if "terminationGracePeriodSeconds" not in spec:
        spec["terminationGracePeriodSeconds"] = 30
    if not spec.get("schedulerName"):
        spec["schedulerName"] = "default-scheduler"
    if spec.get("serviceAccountName"):
        spec["serviceAccount"] = spec["serviceAccountName"]
    elif spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"]
    volumes = spec.get("volumes")
    if volumes:
        default_volumes(volumes)
    for container in spec.get("containers") or ():
        default_container(container)
    for container in spec.get("initContainers") or ():
        default_container(container)
    for container in spec.get("ephemeralContainers") or ():
        default_container(container)
    if "overhead" in spec:
        round_resources(spec["overhead"])
    resources = spec.get("resources")
    if resources:
        round_resources(resources.get("limits"))
        round_resources(resources.get("requests"))


def default_container(container: Object) -> None:
    """Fill in a container of any sort."""
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = default_pull_policy(container.get("image") or "")
    if not container.get("terminationMessagePath"):
        container["terminationMessagePath"] = "/dev/termination-log"
    if not container.get("terminationMessagePolicy"):
        container["terminationMessagePolicy"] = "File"
    for port in container.get("ports") or ():
        if not port.get("protocol"):
            port["protocol"] = "TCP"
    for variable in container.get("env") or ():
        if "valueFrom" in variable:
            _default_env_source(variable["valueFrom"])
    resources = container.get("resources")
    if resources is None:
        container["resources"] = {}
    elif resources:
        round_resources(resources.get("limits"))
        round_resources(resources.get("requests"))
    if "livenessProbe" in container:
        default_probe(container["livenessProbe"])
    if "readinessProbe" in container:
        default_probe(container["readinessProbe"])
    if "startupProbe" in container:
        default_probe(container["startupProbe"])
    if "lifecycle" in container:
        _default_lifecycle(container["lifecycle"])


def default_probe(probe: Object) -> None:
    """Fill in a probe."""
    if not probe.get("timeoutSeconds"):
        probe["timeoutSeconds"] = 1
    if not probe.get("periodSeconds"):
        probe["periodSeconds"] = 10
    if not probe.get("successThreshold"):
        probe["successThreshold"] = 1
    if not probe.get("failureThreshold"):
        probe["failureThreshold"] = 3
    if "httpGet" in probe:
        _default_http_get(probe["httpGet"])
    if "grpc" in probe and probe["grpc"].get("service") is None:
        probe["grpc"]["service"] = ""


def _default_http_get(action: Object) -> None:
    if not action.get("path"):
        action["path"] = "/"
    if not action.get("scheme"):
        action["scheme"] = "HTTP"


def _default_lifecycle(lifecycle: Object) -> None:
    for hook in ("postStart", "preStop"):
        action = (lifecycle.get(hook) or {}).get("httpGet")
        if action is not None:
            _default_http_get(action)


def _default_env_source(source: Object) -> None:
    ref = source.get("fieldRef")
    if ref is not None and not ref.get("apiVersion"):
        ref["apiVersion"] = "v1"
    file_key = source.get("fileKeyRef")
    if file_key is not None:
        file_key.setdefault("optional", False)


def _requests_from_limits(containers: Sequence[Object]) -> None:
    for container in containers:
        resources = container.get("resources")
        if not resources:
            continue
        limits = resources.get("limits")
        if not limits:
            continue
        requests = resources.get("requests")
        if not requests:
            resources["requests"] = dict(limits)
        elif len(requests) < len(limits) or requests.keys() != limits.keys():
            for name, value in limits.items():
                if name not in requests:
                    requests[name] = value


def _lacks_host_port(port: Object) -> bool:
    return bool(port.get("containerPort")) and not port.get("hostPort")


def _with_host_ports(container: Object) -> Object:
    """A container with a host port for each of its ports. Another one: a patch lets old and new objects share it."""
    ports = container.get("ports")
    if not ports:
        return container
    shown = [{**port, "hostPort": port["containerPort"]} if _lacks_host_port(port) else port for port in ports]
    return {**container, "ports": shown}


def _default_status(status: Object) -> None:
    address, addresses = status.get("podIP"), status.get("podIPs")
    if address and (not addresses or addresses[0].get("ip") != address):
        status["podIPs"] = [{"ip": address}]
    elif addresses and not address:
        status["podIP"] = addresses[0].get("ip", "")
    for kind in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"):
        for container in status.get(kind) or ():
            round_resources(container.get("allocatedResources"))
            _round_requirements(container)
    round_resources(status.get("allocatedResources"))
    _round_requirements(status)


def _round_requirements(holder: Object) -> None:
    resources = holder.get("resources")
    if resources:
        round_resources(resources.get("limits"))
        round_resources(resources.get("requests"))

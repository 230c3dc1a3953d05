"""Ingresses and policies as they were stored at v1beta1, in this group and in `extensions`.

A backend was always a Service.
"""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def ingress_at_v1(ingress: Object) -> Object:
    """An Ingress of v1beta1 as v1 has it (pkg/apis/networking/v1beta1/conversion.go). Consumes it."""
    spec = ingress.get("spec") or {}
    backend = spec.pop("backend", None)
    if backend is not None:
        spec["defaultBackend"] = _backend(backend)
    for rule in spec.get("rules") or ():
        for path in (rule.get("http") or {}).get("paths") or ():
            path["backend"] = _backend(path.get("backend") or {})
            if path.get("pathType") is None:
                path["pathType"] = "ImplementationSpecific"
    return ingress


def network_policy_at_v1(policy: Object) -> Object:
    """A NetworkPolicy of `extensions` as v1 has it: what it is for is filled in, a port without protocol stays so."""
    spec = policy.setdefault("spec", {})
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    return policy


def _backend(backend: Object) -> Object:
    name, port = backend.pop("serviceName", None) or "", backend.pop("servicePort", None) or 0
    if name or port:
        backend["service"] = {"name": name, "port": _port(port)}
    return backend


def _port(port: int | str) -> Object:
    if isinstance(port, str):
        return {"name": port}
    return {"number": port} if port else {}

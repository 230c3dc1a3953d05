"""What it costs to turn the body of a request into a decoded object, in microseconds.

    python -m benchmarks.decode

The body is a Pod of the size and shape that a Deployment's pods have when they are created (3.5 KB of JSON). The goal
for decoding alone, after parsing, is 40 microseconds.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable
from typing import Any

import orjson

from watchkeeper.apis.builtin import builtin_scheme
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.codec import decode_body
from watchkeeper.runtime.repeated import repeats_fields
from watchkeeper.runtime.unmarshal import unmarshal


def pod() -> dict[str, Any]:
    env = [{"name": f"SETTING_{i}", "value": f"value-{i}-of-a-pod"} for i in range(8)]
    probe = {
        "httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"},
        "initialDelaySeconds": 5,
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    }
    gone = [
        {"key": f"node.kubernetes.io/{why}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for why in ("not-ready", "unreachable")
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "pod-000001",
            "namespace": "load",
            "labels": {"app": "app-1", "tier": "backend", "pod-template-hash": "5d9c7b8f6b"},
            "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "8080"},
        },
        "spec": {
            "nodeName": "node-0001",
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "default",
            "schedulerName": "default-scheduler",
            "automountServiceAccountToken": False,
            "tolerations": gone,
            "volumes": [
                {"name": "config", "configMap": {"name": "app-config", "defaultMode": 420}},
                {"name": "tmp", "emptyDir": {}},
            ],
            "containers": [
                {
                    "name": name,
                    "image": f"registry.example.com/team/{name}:v1.2.3",
                    "imagePullPolicy": "IfNotPresent",
                    "args": ["--config=/etc/app/config.yaml", "--log-level=info"],
                    "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
                    "env": env,
                    "resources": {
                        "requests": {"cpu": "100m", "memory": "128Mi"},
                        "limits": {"cpu": "500m", "memory": "512Mi"},
                    },
                    "volumeMounts": [{"name": "config", "mountPath": "/etc/app"}, {"name": "tmp", "mountPath": "/tmp"}],
                    "livenessProbe": probe,
                    "readinessProbe": probe,
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                }
                for name in ("server", "sidecar")
            ],
        },
    }


def best(run: Callable[[], object]) -> float:
    """The time of one run, in microseconds: the best of many short series, which a busy machine disturbs least."""
    return min(timeit.repeat(run, number=100, repeat=100)) / 100 * 1e6


def main() -> None:
    scheme = builtin_scheme()
    kind = scheme.kind(GroupVersionKind("", "v1", "Pod"))
    body = orjson.dumps(pod())
    parsed = orjson.loads(body)
    decoded = kind.decode(orjson.loads(body), None)
    parse = best(lambda: orjson.loads(body))
    fresh = best(lambda: kind.decode(orjson.loads(body), None)) - parse
    print(f"body                          {len(body):8} bytes")
    print(f"parse                         {parse:8.1f}")
    print(f"decode what was just parsed   {fresh:8.1f}")
    print(f"decode what is canonical      {best(lambda: kind.decode(decoded, None)):8.1f}")
    print(f"decode in full (not plain)    {best(lambda: unmarshal(kind.schema, decoded, None)):8.1f}")
    print(f"look for repeated fields      {best(lambda: repeats_fields(body, parsed)):8.1f}")
    print(f"body to object, with defaults {best(lambda: decode_body(scheme, kind, body, strict=True)):8.1f}")


if __name__ == "__main__":
    main()

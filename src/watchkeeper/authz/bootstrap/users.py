"""Roles for people: from reading the version to everything."""

from __future__ import annotations

from watchkeeper.authz.bootstrap.words import (
    CORE,
    READ,
    READ_WRITE,
    WRITE,
    Object,
    aggregate,
    aggregated_to,
    cluster_role,
    events,
    on,
    paths,
)

_EXTENSIONS_WRITE = (
    "daemonsets deployments deployments/scale deployments/rollback ingresses replicasets replicasets/scale "
    "replicationcontrollers/scale networkpolicies"
)


def _view() -> list[Object]:
    return [
        on(
            READ,
            CORE,
            "pods replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status "
            "endpoints persistentvolumeclaims persistentvolumeclaims/status configmaps",
        ),
        on(
            READ,
            CORE,
            "limitranges resourcequotas bindings pods/status resourcequotas/status namespaces/status "
            "replicationcontrollers/status pods/log",
        ),
        on(READ, CORE, "namespaces"),
        events(READ),
        on(READ, "discovery.k8s.io", "endpointslices"),
        on(
            READ,
            "apps",
            "controllerrevisions statefulsets statefulsets/status statefulsets/scale daemonsets daemonsets/status "
            "deployments deployments/status deployments/scale replicasets replicasets/status replicasets/scale",
        ),
        on(READ, "autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status"),
        on(READ, "batch", "jobs cronjobs cronjobs/status jobs/status"),
        on(
            READ,
            "extensions",
            "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status "
            "replicasets replicasets/scale replicasets/status replicationcontrollers/scale networkpolicies",
        ),
        on(READ, "policy", "poddisruptionbudgets poddisruptionbudgets/status"),
        on(READ, "networking.k8s.io", "networkpolicies ingresses ingresses/status"),
        on(READ, "resource.k8s.io", "resourceclaims resourceclaims/status resourceclaimtemplates"),
    ]


def _edit() -> list[Object]:
    return [
        on(READ, CORE, "pods/attach pods/proxy pods/exec pods/portforward secrets services/proxy"),
        on("impersonate", CORE, "serviceaccounts"),
        on(WRITE, CORE, "pods pods/attach pods/proxy pods/exec pods/portforward"),
        on("create", CORE, "pods/eviction"),
        on(
            WRITE,
            CORE,
            "replicationcontrollers replicationcontrollers/scale serviceaccounts services services/proxy "
            "persistentvolumeclaims configmaps secrets",
        ),
        on("create", CORE, "serviceaccounts/token"),
        events(WRITE),
        on(
            WRITE,
            "apps",
            "statefulsets statefulsets/scale daemonsets deployments deployments/scale deployments/rollback "
            "replicasets replicasets/scale",
        ),
        on(WRITE, "autoscaling", "horizontalpodautoscalers"),
        on(WRITE, "batch", "jobs cronjobs"),
        on(WRITE, "extensions", _EXTENSIONS_WRITE),
        on(WRITE, "policy", "poddisruptionbudgets"),
        on(WRITE, "networking.k8s.io", "networkpolicies ingresses"),
        on(READ_WRITE, "coordination.k8s.io", "leases"),
        on(WRITE, "resource.k8s.io", "resourceclaims resourceclaimtemplates"),
    ]


def _admin() -> list[Object]:
    return [
        on("create", "authorization.k8s.io", "localsubjectaccessreviews"),
        on(READ_WRITE, "rbac.authorization.k8s.io", "roles rolebindings"),
    ]


def user_roles() -> list[Object]:
    """The roles. `admin`, `edit` and `view` begin with what they collect."""
    view, edit, admin = _view(), _edit(), _admin()
    return [
        cluster_role("cluster-admin", on("*", "*", "*"), paths("*", "*")),
        cluster_role(
            "system:discovery",
            paths(
                "get",
                "/livez /readyz /healthz /version /version/ /openapi /openapi/* /api /api/* /apis /apis/*",
            ),
        ),
        cluster_role(
            "system:monitoring",
            paths(
                "get", "/metrics /metrics/slis /livez /readyz /healthz /livez/* /readyz/* /healthz/* /flagz /statusz"
            ),
            on("get", CORE, "nodes/metrics"),
        ),
        cluster_role(
            "system:basic-user",
            on("create", "authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews"),
            on("create", "authentication.k8s.io", "selfsubjectreviews"),
        ),
        cluster_role(
            "system:public-info-viewer",
            paths("get", "/livez /readyz /healthz /version /version/"),
        ),
        # In the order in which the aggregation controller collects them, so that it finds nothing to change.
        aggregate("admin", edit + view + admin),
        aggregate("edit", edit + view, aggregated_to("admin")),
        aggregate("view", view, aggregated_to("edit")),
        cluster_role("system:aggregate-to-admin", *admin, labels=aggregated_to("admin")),
        cluster_role("system:aggregate-to-edit", *edit, labels=aggregated_to("edit")),
        cluster_role("system:aggregate-to-view", *view, labels=aggregated_to("view")),
    ]

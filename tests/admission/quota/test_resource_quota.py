"""Quotas are charged and refuse in the reference's words."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from watchkeeper.admission.interface import Attributes, Operation
from watchkeeper.admission.quota.plugin import ResourceQuotas
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupResource, GroupVersionKind, GroupVersionResource
from watchkeeper.request.user import User

Object = dict[str, Any]


class Store:
    """Quotas with versions; `meddle` times somebody else writes first."""

    def __init__(self, *quotas: Object, meddle: int = 0) -> None:
        self.quotas = {q["metadata"]["name"]: q for q in quotas}
        self.writes = 0
        self.meddle = meddle

    async def read(self, namespace: str) -> list[Object]:
        await asyncio.sleep(0)
        return list(self.quotas.values())

    async def update_status(self, quota: Object) -> None:
        await asyncio.sleep(0)
        name = quota["metadata"]["name"]
        if self.meddle:
            self.meddle -= 1
            known = self.quotas[name]
            version = str(int(known["metadata"]["resourceVersion"]) + 1)
            self.quotas[name] = {**known, "metadata": {**known["metadata"], "resourceVersion": version}}
        version = self.quotas[name]["metadata"]["resourceVersion"]
        if version != quota["metadata"]["resourceVersion"]:
            raise errors.conflict(GroupResource("", "resourcequotas"), name, "changed")
        self.writes += 1
        metadata = {**quota["metadata"], "resourceVersion": str(int(version) + 1)}
        self.quotas[name] = {**quota, "metadata": metadata}

    def used(self, name: str = "q") -> dict[str, str]:
        used: dict[str, str] = self.quotas[name]["status"]["used"]
        return used


def quota(hard: dict[str, str], used: dict[str, str] | None = None, name: str = "q", **spec: Any) -> Object:
    known = dict.fromkeys(hard, "0") if used is None else used
    metadata = {"name": name, "namespace": "web", "resourceVersion": "1"}
    return {"metadata": metadata, "spec": {"hard": hard, **spec}, "status": {"hard": hard, "used": known}}


def request(obj: Object, resource: str = "pods", kind: str = "Pod", group: str = "", **more: Any) -> Attributes:
    given: dict[str, Any] = {"operation": Operation.CREATE, **more}
    return Attributes(
        kind=GroupVersionKind(group, "v1", kind),
        resource=GroupVersionResource(group, "v1", resource),
        namespace="web",
        name=obj["metadata"]["name"],
        user=User("u"),
        obj=obj,
        options={},
        **given,
    )


def pod(name: str = "p", requests: Object | None = None, limits: Object | None = None, **spec: Any) -> Object:
    resources = {k: v for k, v in (("requests", requests), ("limits", limits)) if v is not None}
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "resources": resources}], **spec}}


def judged(store: Store, *requests: Attributes) -> list[str]:
    """Why each of several requests at once is refused, "" for those that are not."""

    async def one(plugin: ResourceQuotas, attributes: Attributes) -> str:
        try:
            waiting = plugin.validate(attributes)
            if waiting is not None:
                await waiting
        except ApiError as error:
            return error.message.partition(" is forbidden: ")[2] or error.message
        return ""

    async def run() -> list[str]:
        plugin = ResourceQuotas(store)
        try:
            return await asyncio.gather(*(one(plugin, each) for each in requests))
        finally:
            await plugin.close()

    return asyncio.run(run())


def test_what_fits_is_charged_and_what_does_not_is_refused() -> None:
    store = Store(quota({"pods": "2"}, {"pods": "1"}))
    assert judged(store, request(pod())) == [""]
    assert store.used() == {"pods": "2"}
    assert judged(store, request(pod())) == ["exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2"]


def test_requests_and_limits_are_added_up() -> None:
    hard = {"requests.cpu": "1", "limits.memory": "1Gi", "cpu": "2", "requests.example.com/gpu": "4"}
    store = Store(quota(hard))
    asks = pod(requests={"cpu": "300m", "example.com/gpu": "2"}, limits={"memory": "512Mi"})
    assert judged(store, request(asks)) == [""]
    assert store.used() == {
        "requests.cpu": "300m",
        "limits.memory": "512Mi",
        "cpu": "300m",
        "requests.example.com/gpu": "2",
    }
    assert judged(store, request(pod(requests={"cpu": "800m"}, limits={"memory": "600Mi"}))) == [
        "exceeded quota: q, requested: limits.memory=600Mi,requests.cpu=800m, used: limits.memory=512Mi,"
        "requests.cpu=300m, limited: limits.memory=1Gi,requests.cpu=1"
    ]


def test_what_a_quota_limits_has_to_be_asked_for() -> None:
    store = Store(quota({"requests.cpu": "1", "limits.memory": "1Gi"}))
    assert judged(store, request(pod())) == ["failed quota: q: must specify limits.memory for: c; requests.cpu for: c"]
    whole = pod(resources={"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}})
    assert judged(store, request(whole)) == [""]
    assert store.used() == {"requests.cpu": "1", "limits.memory": "1Gi"}


def test_a_quota_without_status_refuses_nothing_and_one_without_usage_everything() -> None:
    fresh = {"metadata": {"name": "q", "namespace": "web", "resourceVersion": "1"}, "spec": {"hard": {"pods": "0"}}}
    assert judged(Store(fresh), request(pod())) == [""]
    assert judged(Store(quota({"pods": "1"}, {})), request(pod())) == ["status unknown for quota: q, resources: pods"]


def test_many_requests_at_once_cost_one_write_per_quota() -> None:
    store = Store(quota({"configmaps": "5"}), quota({"count/configmaps": "9"}, name="r"))
    requests = [request({"metadata": {"name": f"c{i}"}}, "configmaps", "ConfigMap") for i in range(8)]
    outcomes = judged(store, *requests)
    assert outcomes.count("") == 5
    assert store.used() == {"configmaps": "5"}
    assert store.used("r") == {"count/configmaps": "5"}
    assert store.writes <= 4


def test_a_quota_that_somebody_else_writes_is_charged_again_a_few_times() -> None:
    store = Store(quota({"pods": "2"}), meddle=3)
    assert judged(store, request(pod())) == [""]
    assert store.used() == {"pods": "1"}
    hopeless = Store(quota({"pods": "2"}), meddle=99)
    assert judged(hopeless, request(pod()))[0].startswith("Operation cannot be fulfilled on resourcequotas")


def test_dry_runs_are_judged_but_not_charged() -> None:
    store = Store(quota({"pods": "1"}))
    assert judged(store, request(pod(), dry_run=True), request(pod(), dry_run=True)) == ["", ""]
    assert store.used() == {"pods": "0"}
    full = Store(quota({"pods": "1"}, {"pods": "1"}))
    assert judged(full, request(pod(), dry_run=True)) != [""]


@pytest.mark.parametrize(
    ("spec", "inside", "outside"),
    [
        ({"scopes": ["BestEffort"]}, pod(), pod(requests={"cpu": "1"})),
        ({"scopes": ["NotBestEffort"]}, pod(requests={"cpu": "1"}), pod()),
        ({"scopes": ["Terminating"]}, pod(activeDeadlineSeconds=5), pod()),
        ({"scopes": ["NotTerminating"]}, pod(), pod(activeDeadlineSeconds=5)),
        ({"scopes": ["PriorityClass"]}, pod(priorityClassName="high"), pod()),
        (
            {
                "scopeSelector": {
                    "matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]
                }
            },
            pod(priorityClassName="high"),
            pod(priorityClassName="low"),
        ),
    ],
)
def test_scopes_choose_the_pods_that_count(spec: Object, inside: Object, outside: Object) -> None:
    store = Store(quota({"pods": "9"}, **spec))
    judged(store, request(outside))
    assert store.used() == {"pods": "0"}
    judged(store, request(inside))
    assert store.used() == {"pods": "1"}


def test_a_scope_that_cannot_be_understood_is_an_error() -> None:
    scope = {"scopeName": "PriorityClass", "operator": "In", "values": ["A b"]}
    store = Store(quota({"configmaps": "9"}, scopeSelector={"matchExpressions": [scope]}))
    assert judged(store, request(pod()))[0].startswith(
        "error matching scopes of quota q, err: error on matching scope {PriorityClass In [A b]}: "
        'failed to parse and convert selector: values[0][PriorityClass]: Invalid value: "A b": '
    )


def test_services_are_counted_by_type_also_when_it_changes() -> None:
    hard = {"services": "5", "services.nodeports": "2", "services.loadbalancers": "1"}
    store = Store(quota(hard))

    def service(kind: str, ports: int) -> Object:
        metadata = {"name": "s", "resourceVersion": "1"}
        return {"metadata": metadata, "spec": {"type": kind, "ports": [{"port": i} for i in range(ports)]}}

    assert judged(store, request(service("NodePort", 2), "services", "Service")) == [""]
    assert store.used() == {"services": "1", "services.nodeports": "2", "services.loadbalancers": "0"}
    changed = request(service("NodePort", 3), "services", "Service", operation=Operation.UPDATE)
    changed.old = service("NodePort", 2)
    assert judged(store, changed) == [
        "exceeded quota: q, requested: services.nodeports=1, used: services.nodeports=2, limited: services.nodeports=2"
    ]
    smaller = request(service("ClusterIP", 3), "services", "Service", operation=Operation.UPDATE)
    smaller.old = service("NodePort", 2)
    assert judged(store, smaller) == [""]


def test_claims_are_charged_by_class_and_when_they_grow() -> None:
    hard = {"requests.storage": "10Gi", "gold.storageclass.storage.k8s.io/requests.storage": "4Gi"}
    store = Store(quota(hard))

    def claim(storage: str) -> Object:
        metadata = {"name": "v", "resourceVersion": "1"}
        spec = {"storageClassName": "gold", "resources": {"requests": {"storage": storage}}}
        return {"metadata": metadata, "spec": spec}

    assert judged(store, request(claim("3Gi"), "persistentvolumeclaims", "PersistentVolumeClaim")) == [""]
    grown = request(claim("5Gi"), "persistentvolumeclaims", "PersistentVolumeClaim", operation=Operation.UPDATE)
    grown.old = claim("3Gi")
    assert judged(store, grown) == [
        "exceeded quota: q, requested: gold.storageclass.storage.k8s.io/requests.storage=2Gi, used: "
        "gold.storageclass.storage.k8s.io/requests.storage=3Gi, limited: "
        "gold.storageclass.storage.k8s.io/requests.storage=4Gi"
    ]


def test_a_pod_that_gets_a_deadline_is_charged_to_the_quotas_that_it_comes_under() -> None:
    ending, lasting = quota({"pods": "1"}, name="ending", scopes=["Terminating"]), quota({"pods": "0"}, name="lasting")
    lasting["spec"]["scopes"] = ["NotTerminating"]
    store = Store(ending, lasting)
    old, new = pod(), pod(activeDeadlineSeconds=5)
    old["metadata"]["resourceVersion"] = "1"
    change = request(new, operation=Operation.UPDATE, old=old)
    assert judged(store, request(old, operation=Operation.UPDATE, old=old)) == [""]
    assert judged(store, change) == [""]
    assert (store.used("ending"), store.used("lasting")) == ({"pods": "1"}, {"pods": "0"})
    assert judged(store, change) == ["exceeded quota: ending, requested: pods=1, used: pods=1, limited: pods=1"]


def test_devices_are_charged_by_class_at_their_worst() -> None:
    gold, silver = (f"{name}.deviceclass.resource.k8s.io/devices" for name in ("gold", "silver"))
    count = "count/resourceclaims.resource.k8s.io"
    store = Store(quota({gold: "9", silver: "31", count: "9"}))

    def asking(*requests: Object, **more: Any) -> Attributes:
        claim = {"metadata": {"name": "c"}, "spec": {"devices": {"requests": list(requests)}}}
        return request(claim, "resourceclaims", "ResourceClaim", "resource.k8s.io", **more)

    def some(device_class: str, number: int) -> Object:
        return {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": number}

    choices = [some("gold", 1), some("gold", 3), some("silver", 2)]
    claim = asking({"exactly": some("gold", 2)}, {"firstAvailable": choices})
    assert judged(store, claim) == [""]
    assert store.used() == {gold: "5", silver: "2", count: "1"}
    assert judged(store, asking({"exactly": {"deviceClassName": "silver", "allocationMode": "All"}})) == [
        f"exceeded quota: q, requested: {silver}=32, used: {silver}=2, limited: {silver}=31"
    ]
    assert claim.obj is not None
    old = {**claim.obj, "metadata": {"name": "c", "resourceVersion": "1"}}
    status = {"operation": Operation.UPDATE, "old": old, "subresource": "status"}
    unchanged = asking(*claim.obj["spec"]["devices"]["requests"], operation=Operation.UPDATE, old=old)
    assert judged(store, unchanged, asking({"exactly": some("gold", 9)}, **status)) == ["", ""]
    assert store.used() == {gold: "5", silver: "2", count: "1"}


def test_devices_that_pods_ask_for_as_extended_resources_are_charged() -> None:
    name = "deviceclass.resource.kubernetes.io/gold"
    store = Store(quota({f"requests.{name}": "1"}))
    assert judged(store, request(pod(requests={name: "1"}))) == [""]
    assert store.used() == {f"requests.{name}": "1"}


def test_any_resource_can_be_counted_but_events() -> None:
    store = Store(quota({"count/widgets.example.io": "1", "count/events": "0"}))
    widget = {"metadata": {"name": "w"}}
    assert judged(store, request(widget, "widgets", "Widget", "example.io")) == [""]
    assert judged(store, request(widget, "widgets", "Widget", "example.io")) != [""]
    assert judged(store, request(widget, "events", "Event")) == [""]


def test_whoever_is_being_charged_when_the_server_ends_is_cancelled() -> None:
    class Hanging(Store):
        async def read(self, namespace: str) -> list[Object]:
            if reading.is_set():
                await asyncio.Event().wait()
            reading.set()
            return await super().read(namespace)

    async def run() -> None:
        plugin = ResourceQuotas(Hanging(quota({"pods": "1"})))
        waiting = plugin.validate(request({"metadata": {"name": "p"}, "spec": {"containers": []}}))
        assert waiting is not None
        charging = asyncio.ensure_future(waiting)
        await reading.wait()
        for _ in range(5):
            await asyncio.sleep(0)
        await plugin.close()
        await asyncio.wait([charging], timeout=5)
        assert charging.cancelled()

    reading = asyncio.Event()
    asyncio.run(run())

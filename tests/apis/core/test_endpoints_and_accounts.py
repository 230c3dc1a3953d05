"""Endpoints, ServiceAccounts, ComponentStatuses and Namespaces."""

import copy
from typing import Any

import pytest
from kind_writer import BEHAVIORS, create, created, read, row, update, update_status

from watchkeeper.apis.registry import contributions
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind
from watchkeeper.registry.namespaces import FinalizeStrategy


def endpoints(*subsets: Any) -> Any:
    return {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "e"}, "subsets": list(subsets)}


def subset(*addresses: str, **fields: Any) -> Any:
    return {"addresses": [{"ip": address} for address in addresses], "ports": [{"port": 80}], **fields}


def account(**fields: Any) -> Any:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}, **fields}


def namespace(**fields: Any) -> Any:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}, **fields}


@pytest.mark.parametrize(
    ("part", "errors"),
    [
        ({}, ["subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"]),
        (
            subset("10.0.0.300"),
            [
                'subsets[0].addresses[0].ip: Invalid value: "10.0.0.300": must be a valid IP address, '
                "(e.g. 10.9.8.7 or 2001:db8::ffff)",
                'subsets[0].addresses[0].ip: Invalid value: "10.0.0.300": must be a valid IP address',
            ],
        ),
        (
            subset("0.0.0.0"),
            ['subsets[0].addresses[0].ip: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)'],
        ),
        (
            subset("169.254.1.1"),
            [
                'subsets[0].addresses[0].ip: Invalid value: "169.254.1.1": '
                "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
            ],
        ),
        (
            subset("ff02::1"),
            [
                'subsets[0].addresses[0].ip: Invalid value: "ff02::1": '
                "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
            ],
        ),
        (
            subset("10.0.0.1", ports=[{"port": 80}, {"port": 99999, "name": "b"}]),
            [
                "subsets[0].ports[0].name: Required value",
                "subsets[0].ports[1].port: Invalid value: 99999: must be between 1 and 65535, inclusive",
            ],
        ),
        (subset(notReadyAddresses=[{"ip": "10.0.0.1"}]), []),
    ],
)
def test_what_endpoints_must_say(part: Any, errors: list[str]) -> None:
    assert create(endpoints(part)).errors == errors


def test_endpoints_that_stay_are_not_judged_again() -> None:
    old = created(endpoints(subset("10.0.0.1")))
    old["subsets"][0]["addresses"][0]["ip"] = "127.0.0.1"
    body = copy.deepcopy(old)
    body["metadata"]["labels"] = {"a": "b"}
    assert update(old, body).errors == []
    body["subsets"][0]["ports"][0]["port"] = 81
    assert len(update(old, body).errors) == 1


def test_endpoints_are_deprecated_and_for_tcp() -> None:
    assert read(endpoints(subset("10.0.0.1")))["subsets"][0]["ports"] == [{"port": 80, "protocol": "TCP"}]
    assert contributions().warnings[GroupVersionKind("", "v1", "Endpoints")] == (
        "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    )


def test_the_table_shows_three_addresses() -> None:
    obj = created(endpoints(subset("10.0.0.1", "10.0.0.2", "fd00::1"), subset("10.0.0.4")))
    assert row(obj)["Endpoints"] == "10.0.0.1:80,10.0.0.2:80,[fd00::1]:80 + 1 more..."
    assert row(created(endpoints()))["Endpoints"] == "<none>"
    assert row(created(endpoints(subset("10.0.0.1", ports=[]))))["Endpoints"] == "10.0.0.1"


def test_an_account_knows_secrets_by_name_only() -> None:
    refs = [{"name": "s", "namespace": "other", "uid": "u"}]
    assert created(account(secrets=refs))["secrets"] == [{"name": "s"}]
    old = created(account())
    assert update(old, account(secrets=refs)).obj["secrets"] == [{"name": "s"}]


def test_an_account_that_begins_to_enforce_mounts_is_warned() -> None:
    enforcing = account()
    enforcing["metadata"]["annotations"] = {"kubernetes.io/enforce-mountable-secrets": "true"}
    text = (
        "metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; "
        "prefer separate namespaces to isolate access to mounted secrets"
    )
    written = create(enforcing)
    assert written.warnings == [text]
    assert update(created(account()), enforcing).warnings == [text]
    assert update(created(enforcing), enforcing).warnings == []


def test_a_component_is_healthy_when_it_says_so() -> None:
    component: Any = {"apiVersion": "v1", "kind": "ComponentStatus", "metadata": {"name": "etcd-0"}}
    assert row(component) == {"Name": "etcd-0", "Status": "Unknown", "Message": "", "Error": ""}
    component["conditions"] = [{"type": "Healthy", "status": "False", "message": "m", "error": "e"}]
    assert row(component) == {"Name": "etcd-0", "Status": "Unhealthy", "Message": "m", "Error": "e"}


def test_a_namespace_begins_active_and_labeled() -> None:
    obj = created(namespace(status={"phase": "Terminating"}))
    assert obj["status"] == {"phase": "Active"}
    assert obj["spec"] == {"finalizers": ["kubernetes"]}
    assert obj["metadata"]["labels"] == {"kubernetes.io/metadata.name": "n"}
    assert row(obj)["Status"] == "Active"


def test_an_update_of_a_namespace_changes_neither_finalizers_nor_its_label() -> None:
    old = created(namespace())
    body = namespace(spec={"finalizers": []})
    body["metadata"]["labels"] = {"kubernetes.io/metadata.name": "other", "a": "b"}
    written = update(old, body)
    assert written.errors == []
    assert written.obj["spec"] == {"finalizers": ["kubernetes"]}
    assert written.obj["metadata"]["labels"] == {"kubernetes.io/metadata.name": "n", "a": "b"}


def test_a_namespace_ends_only_after_its_deletion() -> None:
    old = created(namespace())
    assert update_status(old, {"phase": "Terminating"}).errors == [
        "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"
    ]


def test_namespaces_are_selected_by_phase() -> None:
    behavior = BEHAVIORS.of(GroupKind("", "Namespace"))
    assert behavior.selectable_fields is not None
    assert behavior.selectable_fields(created(namespace())) == {"status.phase": "Active"}
    assert behavior.unsupported_field_label is not None
    assert behavior.unsupported_field_label("spec.x") == "field label not supported: spec.x"


def test_finalizers_of_a_namespace_are_standard_or_have_a_domain() -> None:
    unknown = "name is neither a standard finalizer name nor is it fully qualified"
    finalizers = ["kubernetes", "example.com/mine", "mine"]
    assert create(namespace(spec={"finalizers": finalizers})).errors == [
        f'spec.finalizers: Invalid value: "mine": {unknown}'
    ]
    kind = GroupVersionKind("", "v1", "Namespace")
    strategy = FinalizeStrategy(kind, BEHAVIORS.of(GroupKind("", "Namespace")), namespaced=False, has_status=True)
    old = created(namespace())
    asked = {**copy.deepcopy(old), "spec": {"finalizers": finalizers}}
    strategy.prepare_for_update(asked, old)
    assert [str(error) for error in strategy.validate_update(asked, old)] == [
        f'spec.finalizers[2]: Invalid value: "mine": {unknown}'
    ]

"""NetworkPolicies, IPAddresses and ServiceCIDRs."""

import copy
from typing import Any

import pytest
from kind_writer import BEHAVIORS, create, created, read, row, update, update_status

from watchkeeper.meta.gvk import GroupKind

PARENT = {"resource": "services", "namespace": "n", "name": "s"}


def policy(**spec: Any) -> Any:
    defaults: Any = {"podSelector": {}}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "p"},
        "spec": {**defaults, **spec},
    }


def address(name: str = "10.0.0.1", **spec: Any) -> Any:
    return {"apiVersion": "networking.k8s.io/v1", "kind": "IPAddress", "metadata": {"name": name}, "spec": spec}


def cidrs(*blocks: str) -> Any:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "ServiceCIDR",
        "metadata": {"name": "c"},
        "spec": {"cidrs": list(blocks)},
    }


def ports(**port: Any) -> Any:
    return {"ingress": [{"ports": [port]}]}


def peer(**fields: Any) -> Any:
    return {"ingress": [{"from": [fields]}]}


def test_a_policy_is_about_what_it_has_rules_for() -> None:
    assert read(policy())["spec"]["policyTypes"] == ["Ingress"]
    spec = read(policy(egress=[{"ports": [{"port": 80}]}]))["spec"]
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    assert spec["egress"][0]["ports"] == [{"port": 80, "protocol": "TCP"}]


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        (ports(port=0), ["ingress[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive"]),
        (
            ports(protocol="ICMP"),
            ['ingress[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "TCP", "UDP", "SCTP"'],
        ),
        (
            ports(endPort=90),
            ["ingress[0].ports[0].endPort: Invalid value: 90: may not be specified when `port` is not specified"],
        ),
        (
            ports(port="http", endPort=90),
            ["ingress[0].ports[0].endPort: Invalid value: 90: may not be specified when `port` is non-numeric"],
        ),
        (
            ports(port=100, endPort=90),
            ["ingress[0].ports[0].endPort: Invalid value: 100: must be greater than or equal to `port`"],
        ),
        (peer(), ["ingress[0].from[0]: Required value: must specify a peer"]),
        (
            peer(podSelector={}, ipBlock={"cidr": "10.0.0.0/8"}),
            ["ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer"],
        ),
        (peer(ipBlock={}), ["ingress[0].from[0].ipBlock.cidr: Required value"]),
        (
            peer(ipBlock={"cidr": "10.0.0.0/8", "except": ["10.0.0.0/8", "11.0.0.0/16", "10.1.0.0/16"]}),
            [
                'ingress[0].from[0].ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`',
                'ingress[0].from[0].ipBlock.except[1]: Invalid value: "11.0.0.0/16": must be a strict subset of `cidr`',
            ],
        ),
        (
            {"policyTypes": ["Sideways"]},
            ['policyTypes[0]: Unsupported value: "Sideways": supported values: "Ingress", "Egress"'],
        ),
    ],
)
def test_what_a_policy_must_say(spec: Any, errors: list[str]) -> None:
    assert create(policy(**spec)).errors == [f"spec.{error}" for error in errors]


def test_an_update_of_a_policy_may_keep_odd_blocks() -> None:
    old = created(policy(**peer(ipBlock={"cidr": "10.0.0.0/8"})))
    old["spec"]["ingress"][0]["from"][0]["ipBlock"]["cidr"] = "010.0.0.0/8"
    body = copy.deepcopy(old)
    body["spec"]["podSelector"] = {"matchLabels": {"a": "b"}}
    assert update(old, body).errors == []
    assert len(create({**body, "metadata": {"name": "q"}}).errors) == 1


def test_the_table_of_policies_shows_the_selector() -> None:
    assert row(created(policy()))["Pod-Selector"] == "<none>"
    assert row(created(policy(podSelector={"matchLabels": {"a": "b"}})))["Pod-Selector"] == "a=b"


def test_an_address_is_its_name_and_belongs_to_somebody() -> None:
    assert create(address(parentRef=PARENT)).errors == []
    assert create(address()).errors == ["spec.parentRef: Required value"]
    assert create(address(parentRef={"resource": "services"})).errors == ["spec.parentRef.name: Required value"]
    (error,) = create(address("010.0.0.1", parentRef=PARENT)).errors
    assert error.startswith('metadata.name: Invalid value: "010.0.0.1"')


def test_whom_an_address_belongs_to_stays() -> None:
    old = created(address(parentRef=PARENT))
    (error,) = update(old, address(parentRef={**PARENT, "name": "other"})).errors
    assert error.startswith("spec.parentRef: Invalid value: ")
    assert error.endswith("field is immutable")
    table = BEHAVIORS.of(GroupKind("networking.k8s.io", "IPAddress")).table
    assert table is not None
    assert [column.name for column in table.columns] == ["Name", "ParentRef"]
    assert table.cells(old, 0.0)[1:] == ["services/n/s", "<unknown>"]


@pytest.mark.parametrize(
    ("blocks", "errors"),
    [
        ([], ["cidrs: Required value: at least one CIDR required"]),
        (
            ["10.0.0.0/8", "10.1.0.0/16"],
            [
                'cidrs: Invalid value: ["10.0.0.0/8","10.1.0.0/16"]: may specify no more than one IP for each IP '
                "family, i.e 192.168.0.0/24 and 2001:db8::/64"
            ],
        ),
        (["10.0.0.0/16", "fd00::/64"], []),
    ],
)
def test_a_range_is_one_for_each_family(blocks: list[str], errors: list[str]) -> None:
    assert create(cidrs(*blocks)).errors == [f"spec.{error}" for error in errors]


def test_a_range_may_get_a_second_family_only() -> None:
    old = created(cidrs("10.0.0.0/16"))
    assert update(old, cidrs("10.0.0.0/16", "fd00::/64")).errors == []
    assert update(old, cidrs("10.1.0.0/16")).errors == [
        'spec.cidrs[0]: Invalid value: "10.1.0.0/16": field is immutable'
    ]
    both = created(cidrs("10.0.0.0/16", "fd00::/64"))
    assert update(both, cidrs("10.0.0.0/16")).errors == [
        'spec.cidrs: Invalid value: ["10.0.0.0/16"]: field is immutable'
    ]
    assert row(both)["CIDRs"] == "10.0.0.0/16,fd00::/64"


def test_the_status_of_a_range_is_written_through_its_subresource() -> None:
    ready = {
        "conditions": [{"type": "Ready", "status": "True", "reason": "", "message": "", "lastTransitionTime": None}]
    }
    body = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "ServiceCIDR",
        "metadata": {"name": "c", "labels": {"a": "b"}},
        "spec": {"cidrs": ["10.0.0.0/24"]},
    }
    assert created({**body, "status": ready})["status"] == {}
    old = {**created(body), "status": ready}
    assert update(old, body).obj["status"] == ready
    relabeled = {**old, "metadata": {**old["metadata"], "labels": {"c": "d"}}}
    assert update_status(old, ready).obj["metadata"]["labels"] == {"a": "b"}
    assert update(old, relabeled).obj["metadata"]["labels"] == {"c": "d"}

"""Services that were stored before addresses and families were lists show both."""

from __future__ import annotations

from typing import Any

import pytest

from watchkeeper.registry.service_families import complete_stored


def completed(*configured: str, **spec: Any) -> dict[str, Any]:
    service: dict[str, Any] = {"spec": {"type": "ClusterIP", **spec}}
    complete_stored(service, configured or ("IPv4",))
    found = service["spec"]
    return {name: found.get(name) for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy")}


@pytest.mark.parametrize(("address", "family"), [("10.96.0.5", "IPv4"), ("fd00::5", "IPv6")])
def test_an_address_tells_the_family(address: str, family: str) -> None:
    assert completed(clusterIP=address) == {
        "clusterIPs": [address],
        "ipFamilies": [family],
        "ipFamilyPolicy": "SingleStack",
    }


def test_two_addresses_have_two_families() -> None:
    found = completed(clusterIP="10.96.0.5", clusterIPs=["10.96.0.5", "fd00::5"])
    assert (found["ipFamilies"], found["ipFamilyPolicy"]) == (["IPv4", "IPv6"], "RequireDualStack")


def test_a_headless_service_has_the_first_family_of_the_cluster() -> None:
    found = completed("IPv6", "IPv4", clusterIP="None", selector={"a": "b"})
    assert found == {"clusterIPs": ["None"], "ipFamilies": ["IPv6"], "ipFamilyPolicy": "SingleStack"}


def test_a_headless_service_that_selects_nothing_has_both_families() -> None:
    found = completed("IPv4", clusterIP="None")
    assert (found["ipFamilies"], found["ipFamilyPolicy"]) == (["IPv4", "IPv6"], "RequireDualStack")


def test_what_is_there_stays_and_external_names_have_no_families() -> None:
    assert completed(clusterIP="10.96.0.5", clusterIPs=["10.96.0.5"], ipFamilies=["IPv4"])["ipFamilyPolicy"] is None
    assert completed(type="ExternalName")["ipFamilies"] is None
    assert completed()["ipFamilies"] is None

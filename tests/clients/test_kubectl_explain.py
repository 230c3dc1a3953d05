"""kubectl explain, from the OpenAPI documents of both versions."""

from __future__ import annotations

import re

import pytest
from kubectl_runner import Kubectl

pytestmark = pytest.mark.kubectl


def fields(text: str) -> list[tuple[str, str]]:
    """Names and types, as the list of fields has them."""
    return re.findall(r"^\s+(\S+)\t<(.+?)>", text, re.MULTILINE)


def test_kinds_and_fields_are_explained(kubectl: Kubectl) -> None:
    shown = kubectl("explain deployment")
    assert shown.startswith("GROUP:      apps\nKIND:       Deployment\nVERSION:    v1\n")
    assert fields(shown) == [
        ("apiVersion", "string"),
        ("kind", "string"),
        ("metadata", "ObjectMeta"),
        ("spec", "DeploymentSpec"),
        ("status", "DeploymentStatus"),
    ]
    resources = kubectl("explain pod.spec.containers.resources --recursive")
    assert "FIELD: resources <ResourceRequirements>" in resources
    assert fields(resources) == [
        ("claims", "[]ResourceClaim"),
        ("name", "string"),
        ("request", "string"),
        ("limits", "map[string]Quantity"),
        ("requests", "map[string]Quantity"),
    ]
    assert "name\t<string> -required-" in resources
    assert ("targetCPUUtilizationPercentage", "integer") in fields(
        kubectl("explain hpa.spec --api-version=autoscaling/v1")
    )
    assert ("metrics", "[]MetricSpec") in fields(kubectl("explain hpa.spec"))
    assert "FIELD: data <map[string]string>" in kubectl("explain cm.data")


def test_the_old_form_comes_from_the_old_document(kubectl: Kubectl) -> None:
    shown = kubectl("explain deployment.spec --output=plaintext-openapiv2")
    assert "KIND:     Deployment\nVERSION:  apps/v1\n\nRESOURCE: spec <Object>\n" in shown
    assert ("selector", "Object") in fields(shown)
    assert "-required-" in shown


def test_what_is_unknown_is_not_explained(kubectl: Kubectl) -> None:
    assert kubectl.fails("explain nosuch") == 'the server doesn\'t have a resource type "nosuch"\n'
    assert kubectl.fails("explain pod.nosuch") == 'error: field "nosuch" does not exist\n'

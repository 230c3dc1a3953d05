"""--enable-admission-plugins and --disable-admission-plugins: which rules writes pass."""

from __future__ import annotations

import pytest

from watchkeeper.server.admission_choice import check_choice, chosen
from watchkeeper.server.errors import StartupError
from watchkeeper.testing import Server
from watchkeeper.testing.handle import RequestFailed

CLAIM = {
    "metadata": {"name": "c"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


def serving(*disabled: str) -> Server:
    return Server(insecure_http=True, controllers=(), disable_admission_plugins=disabled)


def test_a_rule_that_is_turned_off_is_not_followed() -> None:
    claims = "/api/v1/namespaces/{}/persistentvolumeclaims"
    with serving("StorageObjectInUseProtection", "NamespaceLifecycle", "ServiceAccount") as server:
        made = server.request("POST", claims.format("absent"), CLAIM)
        assert "finalizers" not in made["metadata"]
    with serving() as server:
        with pytest.raises(RequestFailed) as refused:
            server.request("POST", claims.format("absent"), CLAIM)
        assert refused.value.status == 404
        made = server.request("POST", claims.format("default"), CLAIM)
        assert made["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]


def test_policies_can_be_turned_off() -> None:
    group = "/apis/admissionregistration.k8s.io/v1"
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]
    policy = {
        "metadata": {"name": "p"},
        "spec": {"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": "false"}]},
    }
    binding = {"metadata": {"name": "p"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}}
    with serving("ValidatingAdmissionPolicy") as server:
        server.request("POST", f"{group}/validatingadmissionpolicies", policy)
        server.request("POST", f"{group}/validatingadmissionpolicybindings", binding)
        made = server.request("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "c"}})
        assert made["metadata"]["name"] == "c"


class Named:
    def __init__(self, name: str) -> None:
        self.name = name


def test_only_rules_of_kube_apiserver_can_be_turned_off() -> None:
    plugins = [Named("LimitRanger"), Named("ParamAccess"), Named("Priority")]
    left = chosen(plugins, ["LimitRanger", "ParamAccess"])  # type: ignore[type-var]
    assert [plugin.name for plugin in left] == ["ParamAccess", "Priority"]


@pytest.mark.parametrize(
    ("enabled", "disabled", "message"),
    [
        (["Nothing"], [], 'enable-admission-plugins plugin "Nothing" is unknown'),
        ([], ["Nothing"], 'disable-admission-plugins plugin "Nothing" is unknown'),
        (["Priority", "LimitRanger"], ["LimitRanger", "Priority"], r"\[LimitRanger Priority\] in enable-"),
        (["NodeRestriction"], [], "there is no NodeRestriction here"),
    ],
)
def test_names_that_cannot_be_meant_are_refused(enabled: list[str], disabled: list[str], message: str) -> None:
    with pytest.raises(StartupError, match=message):
        check_choice(enabled, disabled)


def test_what_is_on_or_has_nothing_to_do_may_be_named() -> None:
    plugins = [Named("LimitRanger"), Named("ValidatingAdmissionPolicy")]
    disabled = ["ServiceAccount", "AlwaysDeny"]
    check_choice(["ValidatingAdmissionPolicy", "ClusterTrustBundleAttest"], disabled)
    assert chosen(plugins, disabled) == plugins  # type: ignore[type-var, comparison-overlap]

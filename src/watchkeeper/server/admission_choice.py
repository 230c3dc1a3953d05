"""`--enable-admission-plugins` and `--disable-admission-plugins`: which of the rules of kube-apiserver writes pass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from watchkeeper.admission.interface import Plugin
from watchkeeper.server.errors import StartupError

OFFERED = (
    "NamespaceLifecycle",
    "LimitRanger",
    "TaintNodesByCondition",
    "PodSecurity",
    "Priority",
    "DefaultTolerationSeconds",
    "DefaultStorageClass",
    "StorageObjectInUseProtection",
    "PersistentVolumeClaimResize",
    "RuntimeClass",
    "CertificateApproval",
    "CertificateSigning",
    "CertificateSubjectRestriction",
    "DefaultIngressClass",
    "PodTopologyLabels",
    "NodeDeclaredFeatureValidator",
    "PodResizeValidator",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
    "ResourceQuota",
)
"""Those that are on unless they are turned off. Rules of other names cannot be turned off."""

_IDLE = frozenset({"ClusterTrustBundleAttest", "JobValidation", "PodGroupProtection", "PodGroupWorkloadExists"})
"""On in kube-apiserver, with nothing to do for what is served here."""

_ABSENT = frozenset(
    {
        "AlwaysAdmit",
        "AlwaysDeny",
        "AlwaysPullImages",
        "DenyServiceExternalIPs",
        "ExtendedResourceToleration",
        "LimitPodHardAntiAffinityTopology",
        "NamespaceAutoProvision",
        "NamespaceExists",
        "NodeRestriction",
        "PodTolerationRestriction",
    }
)
"""Those that kube-apiserver alone has."""

EVENT_RATE_LIMIT, IMAGE_POLICY, NODE_SELECTOR = "EventRateLimit", "ImagePolicyWebhook", "PodNodeSelector"
SERVICE_ACCOUNT, OWNER_REFERENCES = "ServiceAccount", "OwnerReferencesPermissionEnforcement"
OPTIONAL = frozenset({EVENT_RATE_LIMIT, IMAGE_POLICY, NODE_SELECTOR, OWNER_REFERENCES, SERVICE_ACCOUNT})
"""Off unless they are turned on."""

_KNOWN = _IDLE | _ABSENT | frozenset(OFFERED) | OPTIONAL


def check_choice(enabled: Sequence[str], disabled: Sequence[str]) -> None:
    """Raises StartupError for names that are none, stand on both sides or ask for what there is not."""
    for flag, names in (("enable-admission-plugins", enabled), ("disable-admission-plugins", disabled)):
        for name in names:
            if name not in _KNOWN:
                raise StartupError(f'{flag} plugin "{name}" is unknown')
    both = sorted(set(enabled) & set(disabled))
    if both:
        raise StartupError(f"[{' '.join(both)}] in enable-admission-plugins and disable-admission-plugins overlapped")
    for name in enabled:
        if name in _ABSENT:
            raise StartupError(f"--enable-admission-plugins: there is no {name} here")


def chosen(plugins: Iterable[Plugin], disabled: Sequence[str]) -> list[Plugin]:
    """The plugins that are left, in their order."""
    off = frozenset(disabled) & frozenset(OFFERED)
    return [plugin for plugin in plugins if plugin.name not in off]

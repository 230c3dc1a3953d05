"""`--admission-control-config-file`: an AdmissionConfiguration, which says what rules for writes have to know."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from watchkeeper.server.admission_choice import (
    EVENT_RATE_LIMIT,
    IMAGE_POLICY,
    NODE_SELECTOR,
    OPTIONAL,
    OWNER_REFERENCES,
    SERVICE_ACCOUNT,
)
from watchkeeper.server.errors import StartupError

if TYPE_CHECKING:
    from watchkeeper.admission.event_rate_limit import Limit
    from watchkeeper.admission.image_policy import ImagePolicy
    from watchkeeper.admission.podsecurity.configuration import Configuration
    from watchkeeper.admission.quota.limited import LimitedResource
    from watchkeeper.meta.field import FieldError
    from watchkeeper.webhook.backend import Backend
    from watchkeeper.webhook.credentials import WebhookCredentials

T = TypeVar("T")

_FAILED = "failed to apply admission: "
_GROUP = "apiserver.config.k8s.io"
_UNVERSIONED = {IMAGE_POLICY: "imagePolicy", NODE_SELECTOR: "podNodeSelectorPluginConfig"}
"""Plugins that are told things in an object without a kind -> its field."""
_MUTATING, _VALIDATING = "MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"


@dataclass(frozen=True, slots=True)
class AdmissionConfiguration:
    """What plugins are told; None where nothing is said to them."""

    pod_security: Configuration | None = None
    mutating_webhooks: WebhookCredentials | None = None
    validating_webhooks: WebhookCredentials | None = None
    limited_resources: tuple[LimitedResource, ...] = ()
    event_limits: tuple[Limit, ...] = ()
    image_policy: tuple[ImagePolicy, Backend] | None = None
    node_selectors: Mapping[str, str] | None = None
    service_accounts: bool = False
    """Whether Pods get accounts and tokens."""
    owner_references: bool = False
    """Whether who changes owners has to be allowed to."""


NOTHING_SAID = AdmissionConfiguration()


def load_admission_configuration(
    path: Path | None, disabled: tuple[str, ...] = (), enabled: tuple[str, ...] = ()
) -> AdmissionConfiguration:
    """Read the file and those that it names; plugins that are off are told nothing. Raises StartupError."""
    optional = OPTIONAL.intersection(enabled)
    if path is None and not optional:
        return NOTHING_SAID
    found = _plugins(path) if path is not None else {}
    told = {name: said for name, said in found.items() if name not in disabled}
    return AdmissionConfiguration(
        _pod_security(told["PodSecurity"]) if "PodSecurity" in told else None,
        _credentials(_MUTATING, told[_MUTATING]) if _MUTATING in told else None,
        _credentials(_VALIDATING, told[_VALIDATING]) if _VALIDATING in told else None,
        _limited_resources(told["ResourceQuota"]) if "ResourceQuota" in told else (),
        _event_limits(told.get(EVENT_RATE_LIMIT, "")) if EVENT_RATE_LIMIT in optional else (),
        _image_policy(told.get(IMAGE_POLICY)) if IMAGE_POLICY in optional else None,
        _node_selectors(told.get(NODE_SELECTOR, "")) if NODE_SELECTOR in optional else None,
        SERVICE_ACCOUNT in optional,
        OWNER_REFERENCES in optional,
    )


def _plugins(path: Path) -> dict[str, str | Mapping[str, Any]]:
    """What stands in the file for each plugin, or in the file that it names. Of several for one the first counts."""
    # Loaded only here: most servers are started without such a file.
    from watchkeeper.runtime.config_file import ANYTHING, ConfigFileError, OtherKindError, parse_config

    fields = {"plugins": [{"name": str, "path": str, "configuration": ANYTHING}]}
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise StartupError(
            f"{_FAILED}failed to read plugin config: unable to read admission control configuration"
            f' from "{path}" [{_why(error)}]'
        ) from error
    try:
        specs = {f"{_GROUP}/v1": fields, "apiserver.k8s.io/v1alpha1": fields}
        found = parse_config(text, "AdmissionConfiguration", specs)
    except ConfigFileError as error:
        if isinstance(error, OtherKindError) and _is_of_a_plugin(text):
            return dict.fromkeys(_UNVERSIONED, text)
        raise StartupError(f"{_FAILED}failed to read plugin config: {error}") from error
    told: dict[str, str | Mapping[str, Any]] = {}
    for each in found.get("plugins") or ():
        name, file, inline = each.get("name") or "", each.get("path") or "", each.get("configuration")
        if name in told:
            continue
        if inline is not None:
            if not isinstance(inline, Mapping):
                raise _failed(name, f"Object 'Kind' is missing in '{json.dumps(inline)}'")
            told[name] = inline
        elif file:
            try:
                told[name] = (path.parent / file).read_text()
            except (OSError, UnicodeDecodeError) as error:
                raise _failed(name, f"open {path.parent / file}: {_why(error)}") from error
    return told


def _is_of_a_plugin(text: str) -> bool:
    """Whether the file itself is what a plugin is told, in an object without a kind, as it once had to be."""
    from watchkeeper.runtime.yaml import load_yaml

    found = load_yaml(text.encode()) or {}
    return any(field in found for field in _UNVERSIONED.values())


def _pod_security(data: str | Mapping[str, Any]) -> Configuration:
    from watchkeeper.admission.podsecurity.configuration import (
        NO_CONFIGURATION,
        ConfigurationError,
        parse_configuration,
    )
    from watchkeeper.runtime.config_file import ConfigFileError

    if not data:
        return NO_CONFIGURATION
    try:
        return parse_configuration(data)
    except ConfigFileError as error:
        raise _failed("PodSecurity", str(error)) from error
    except ConfigurationError as error:
        problem = f'failed to initialize admission plugin "PodSecurity": PodSecurity {error}'
        raise StartupError(f"{_FAILED}{problem}") from error


def _event_limits(data: str | Mapping[str, Any]) -> tuple[Limit, ...]:
    from watchkeeper.admission.event_rate_limit import parse_limits

    return _judged(EVENT_RATE_LIMIT, parse_limits, data)


def _image_policy(data: str | Mapping[str, Any] | None) -> tuple[ImagePolicy, Backend]:
    from watchkeeper.admission.image_policy import parse_policy
    from watchkeeper.webhook.backend import Backend

    if data is None:
        raise _failed(IMAGE_POLICY, "no config specified")
    try:
        policy = parse_policy(data)
        return policy, Backend(policy.kubeconfig)
    except FileNotFoundError as error:
        raise _failed(IMAGE_POLICY, f"stat {error.filename}: {_why(error)}") from error
    except (OSError, ValueError) as error:
        raise _failed(IMAGE_POLICY, _why(error)) from error


def _node_selectors(data: str | Mapping[str, Any]) -> Mapping[str, str]:
    from watchkeeper.admission.pod_node_selector import parse_selectors

    return parse_selectors(data)


def _limited_resources(data: str | Mapping[str, Any]) -> tuple[LimitedResource, ...]:
    from watchkeeper.admission.quota.limited import parse_limited

    return _judged("ResourceQuota", parse_limited, data)


def _judged(
    plugin: str,
    parse: Callable[[str | Mapping[str, Any]], tuple[list[T], list[FieldError]]],
    data: str | Mapping[str, Any],
) -> tuple[T, ...]:
    """What a plugin is told. Raises StartupError for what is wrong with it."""
    from watchkeeper.meta.field import aggregate
    from watchkeeper.runtime.config_file import ConfigFileError

    try:
        found, faults = parse(data)
    except ConfigFileError as error:
        raise _failed(plugin, str(error)) from error
    if faults:
        raise _failed(plugin, aggregate(faults))
    return tuple(found)


def _credentials(plugin: str, data: str | Mapping[str, Any]) -> WebhookCredentials | None:
    from watchkeeper.meta.field import invalid
    from watchkeeper.runtime.config_file import ConfigFileError, parse_config
    from watchkeeper.webhook.credentials import read_credentials

    specs = {
        f"{_GROUP}/v1": ("WebhookAdmissionConfiguration", {"kubeConfigFile": str}),
        f"{_GROUP}/v1alpha1": ("WebhookAdmission", {"kubeConfigFile": str}),
    }
    problem: ConfigFileError | None = None
    for version, (kind, fields) in specs.items():
        try:
            found = parse_config(data, kind, {version: fields})
            break
        except ConfigFileError as error:
            problem = problem if problem is not None and "is registered" in str(error) else error
    else:
        raise _failed(plugin, str(problem))
    file = found.get("kubeConfigFile") or ""
    if not file:
        return None
    if not file.startswith("/"):
        raise _failed(plugin, str(invalid("kubeConfigFile", file, "must be an absolute file path")))
    try:
        return read_credentials(Path(file))
    except FileNotFoundError as error:
        raise _failed(plugin, f"stat {file}: {_why(error)}") from error
    except (OSError, ValueError) as error:
        raise _failed(plugin, _why(error)) from error


def _failed(plugin: str, why: str) -> StartupError:
    return StartupError(f'{_FAILED}couldn\'t init admission plugin "{plugin}": {why}')


def _why(error: Exception) -> str:
    return error.strerror.lower() if isinstance(error, OSError) and error.strerror else str(error)

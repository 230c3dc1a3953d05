"""The ServiceAccount plugin: whom the Pods of a cluster act as, and how they come by tokens."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

from watchkeeper.admission.interface import Attributes, BasePlugin, Operation
from watchkeeper.admission.refusal import forbidden
from watchkeeper.authn.service_account_tokens import MOUNTED_SECONDS
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import go_bool
from watchkeeper.meta.gvk import GroupResource

Object = dict[str, Any]
FindServiceAccount = Callable[[str, str], Awaitable["Object | None"]]
"""Namespace, name -> the ServiceAccount as it is stored, None when there is none."""

DEFAULT = "default"
MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
ENFORCE = "kubernetes.io/enforce-mountable-secrets"
"""The annotation of ServiceAccounts whose Pods refer to no Secrets but theirs."""
_MIRROR = "kubernetes.io/config.mirror"
_VOLUME = "kube-api-access-"
_ATTEMPTS = 10
_PAUSE_SECONDS = (0.1, 0.2)
"""How often, and with which pauses, the account that a controller makes in each namespace is looked for."""
_PODS = GroupResource("", "pods")
_SECRET_SOURCES = {
    "azureFile": "secretName",
    "cephfs": "secretRef",
    "cinder": "secretRef",
    "flexVolume": "secretRef",
    "rbd": "secretRef",
    "secret": "secretName",
    "scaleIO": "secretRef",
    "iscsi": "secretRef",
    "storageos": "secretRef",
    "csi": "nodePublishSecretRef",
}
"""Kinds of volumes -> the field that names a Secret, or refers to one."""


class ServiceAccounts(BasePlugin):
    """Gives new Pods a ServiceAccount, its token and its image pull Secrets."""

    name = "ServiceAccount"
    deep = False
    operations = frozenset({Operation.CREATE, Operation.UPDATE})
    resources = frozenset({_PODS})

    def __init__(self, find: FindServiceAccount, generate_name: Callable[[str], str]) -> None:
        """`generate_name` makes a name that begins with what it is given."""
        self._find = find
        self._generate_name = generate_name

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Name the account, mount its token, and add its pull Secrets where the Pod names none."""
        if attributes.operation is not Operation.CREATE or attributes.subresource:
            return None
        if _is_mirror(attributes):
            _check_mirror(attributes)
            return None
        return self._admit(attributes)

    async def _admit(self, attributes: Attributes) -> None:
        assert attributes.obj is not None
        spec = attributes.obj["spec"]
        if not spec.get("serviceAccountName"):
            spec["serviceAccountName"] = spec["serviceAccount"] = DEFAULT
        account = await self._account(attributes)
        if _is_mounted(account, spec):
            self._mount(spec)
        if not spec.get("imagePullSecrets") and (secrets := account.get("imagePullSecrets")):
            spec["imagePullSecrets"] = [{"name": each["name"]} if each.get("name") else {} for each in secrets]
        _check_secrets(attributes, account)

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """The account exists, and the Pod refers to no Secrets that it may not."""
        if attributes.operation is Operation.CREATE:
            if attributes.subresource:
                return None
            if _is_mirror(attributes):
                _check_mirror(attributes)
                return None
        elif attributes.subresource != "ephemeralcontainers":
            return None
        return self._validate(attributes)

    async def _validate(self, attributes: Attributes) -> None:
        assert attributes.obj is not None
        if not attributes.obj["spec"].get("serviceAccountName"):
            shown = f"{attributes.namespace}/{attributes.obj['metadata'].get('name') or ''}"
            raise forbidden(attributes, f"no service account specified for pod {shown}")
        _check_secrets(attributes, await self._account(attributes))

    async def _account(self, attributes: Attributes) -> Object:
        assert attributes.obj is not None
        name = attributes.obj["spec"]["serviceAccountName"]
        pause = random.uniform(*_PAUSE_SECONDS)
        for attempt in range(_ATTEMPTS if name == DEFAULT else 1):
            if attempt:
                await asyncio.sleep(pause)
            if (found := await self._find(attributes.namespace, name)) is not None:
                return found
        looked_up = f"{attributes.namespace}/{name}"
        why = f'error looking up service account {looked_up}: serviceaccount "{name}" not found'
        raise forbidden(attributes, why)

    def _mount(self, spec: Object) -> None:
        """Mount a volume with a token in all containers that mount nothing there."""
        volumes = spec.get("volumes") or []
        present = next((each["name"] for each in volumes if each.get("name", "").startswith(_VOLUME)), None)
        name = present or self._generate_name(_VOLUME)
        mount = {"name": name, "readOnly": True, "mountPath": MOUNT_PATH}
        needed = False
        for field in ("initContainers", "containers"):
            containers = spec.get(field) or ()
            without = [
                all(has.get("mountPath") != MOUNT_PATH for has in c.get("volumeMounts") or ()) for c in containers
            ]
            if any(without):
                needed = True
                spec[field] = [
                    {**container, "volumeMounts": [*(container.get("volumeMounts") or ()), dict(mount)]}
                    if lacks
                    else container
                    for container, lacks in zip(containers, without, strict=True)
                ]
        if needed and present is None:
            spec["volumes"] = [*volumes, _token_volume(name)]


def _token_volume(name: str) -> Object:
    """A volume with a token, the authority of the API server, and the namespace."""
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    sources: list[Object] = [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": MOUNTED_SECONDS}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [namespace]}},
    ]
    return {"name": name, "projected": {"defaultMode": 0o644, "sources": sources}}


def _is_mounted(account: Object, spec: Object) -> bool:
    """What the Pod says, else what the account says, else yes."""
    for said in (spec.get("automountServiceAccountToken"), account.get("automountServiceAccountToken")):
        if said is not None:
            return bool(said)
    return True


def _is_mirror(attributes: Attributes) -> bool:
    assert attributes.obj is not None
    return _MIRROR in (attributes.obj["metadata"].get("annotations") or ())


def _check_mirror(attributes: Attributes) -> None:
    """The mirror of a Pod that a kubelet has from elsewhere gets nothing from the cluster."""
    assert attributes.obj is not None
    spec = attributes.obj["spec"]
    if spec.get("serviceAccountName"):
        raise forbidden(attributes, "a mirror pod may not reference service accounts")
    if any(_secrets(spec)):
        raise forbidden(attributes, "a mirror pod may not reference secrets")
    projected = (each["projected"] for each in spec.get("volumes") or () if each.get("projected") is not None)
    if any(source.get("serviceAccountToken") is not None for each in projected for source in each.get("sources") or ()):
        raise forbidden(attributes, "a mirror pod may not use ServiceAccountToken volume projections")


def _secrets(spec: Object) -> Iterator[str]:
    """The names of all Secrets that a Pod refers to, "" for references without one."""
    for reference in spec.get("imagePullSecrets") or ():
        yield reference.get("name") or ""
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(field) or ():
            for _, name in _secrets_of_environment(container):
                yield name
    for volume in spec.get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            yield (source.get("secret") or {}).get("name") or ""
        for kind, field in _SECRET_SOURCES.items():
            found = (volume.get(kind) or {}).get(field) or ""
            yield found if isinstance(found, str) else found.get("name") or ""


def _secrets_of_environment(container: Object) -> Iterator[tuple[str, str]]:
    """(How a reference is named in messages, the Secret), for each."""
    for variable in container.get("env") or ():
        if (reference := (variable.get("valueFrom") or {}).get("secretKeyRef")) is not None:
            yield f"envVar {variable.get('name') or ''}", reference.get("name") or ""
    for source in container.get("envFrom") or ():
        if (reference := source.get("secretRef")) is not None:
            yield "envFrom", reference.get("name") or ""


def _check_secrets(attributes: Attributes, account: Object) -> None:
    """Pods of accounts that say so refer to Secrets of the account alone, as far as the reference looks for them."""
    said = (account["metadata"].get("annotations") or {}).get(ENFORCE)
    if said is None or not go_bool(said):
        return
    assert attributes.obj is not None
    spec, name = attributes.obj["spec"], account["metadata"]["name"]
    own = {each.get("name") or "" for each in account.get("secrets") or ()}
    unreferenced = f"is not allowed because service account {name} does not reference that"
    if attributes.operation is Operation.UPDATE:
        for text in _strangers(spec, (("ephemeral container", "ephemeralContainers"),), own):
            raise ApiError(500, "", f"{text} {unreferenced} secret")  # which kube-apiserver does not call forbidden
        return
    for volume in spec.get("volumes") or ():
        if (source := volume.get("secret")) is not None and (secret := source.get("secretName") or "") not in own:
            raise forbidden(attributes, f'volume with secret.secretName="{secret}" {unreferenced} secret')
    for text in _strangers(spec, (("init container", "initContainers"), ("container", "containers")), own):
        raise forbidden(attributes, f"{text} {unreferenced} secret")
    pulled = {each.get("name") or "" for each in account.get("imagePullSecrets") or ()}
    for index, reference in enumerate(spec.get("imagePullSecrets") or ()):
        if (secret := reference.get("name") or "") not in pulled:
            raise forbidden(attributes, f'imagePullSecrets[{index}].name="{secret}" {unreferenced} imagePullSecret')


def _strangers(spec: Object, lists: Iterable[tuple[str, str]], own: set[str]) -> Iterator[str]:
    """What of the environments of containers refers to other Secrets than the account's own.

    `lists`: what the containers of a list are called, and its field.
    """
    for words, field in lists:
        for container in spec.get(field) or ():
            for place, secret in _secrets_of_environment(container):
                if secret not in own:
                    yield f'{words} {container.get("name") or ""} with {place} referencing secret.secretName="{secret}"'

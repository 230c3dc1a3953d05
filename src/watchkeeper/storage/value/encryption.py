"""Encryption at rest as a whole: a transformer for each resource, and a configuration that can change under them."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.aio.together import close_all, together
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.storage.value.aes import CBC, GCM
from watchkeeper.storage.value.config import ConfigError, Provider, Rule, parse_config
from watchkeeper.storage.value.identity import Identity
from watchkeeper.storage.value.interface import KeyUnavailable, Transformer
from watchkeeper.storage.value.kms import KMSTransformer
from watchkeeper.storage.value.kms_client import GrpcKeyService, KeyService
from watchkeeper.storage.value.prefixed import PrefixTransformers
from watchkeeper.storage.value.secretbox import Secretbox

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""How often it is looked whether the file is another one."""
RELOAD_SECONDS = 60.0
"""How often it is read even if it seems to be the same."""
CLOSE_GRACE_SECONDS = 10.0

_PREFIXES = {"aesgcm": b"k8s:enc:aesgcm:v1:", "aescbc": b"k8s:enc:aescbc:v1:", "secretbox": b"k8s:enc:secretbox:v1:"}
_CIPHERS: dict[str, Callable[[bytes], Transformer]] = {"aesgcm": GCM, "aescbc": CBC, "secretbox": Secretbox}
_KMS_PREFIX = "k8s:enc:kms:v2:"
_IDENTITY = Identity()

Connect = Callable[[Provider], KeyService]


def connect_grpc(provider: Provider) -> KeyService:
    """The key service of a kms provider."""
    return GrpcKeyService(provider.name, provider.endpoint, provider.timeout)


class _Generation:
    """The transformers of one configuration, and the tasks and connections that they need."""

    def __init__(self, rules: Sequence[Rule], connect: Connect, clock: Clock) -> None:
        self.plugins: list[KMSTransformer] = []
        self._connect = connect
        self._clock = clock
        self._tasks = TaskOwner("encryption")
        self._transformers: dict[GroupResource, Transformer] = {}
        listed: dict[GroupResource, list[tuple[bytes, Transformer]]] = {}
        for rule in rules:
            providers = [self._provider(provider) for provider in rule.providers]
            for resource in rule.resources:
                listed.setdefault(resource, []).extend(providers)
        for resource, providers in listed.items():
            self._transformers[resource] = PrefixTransformers(providers, otherwise="no matching prefix found")

    def _provider(self, provider: Provider) -> tuple[bytes, Transformer]:
        if provider.kind == "identity":
            return b"", _IDENTITY
        if provider.kind == "kms":
            plugin = KMSTransformer(provider.name, self._connect(provider), self._clock)
            self.plugins.append(plugin)
            return f"{_KMS_PREFIX}{provider.name}:".encode(), plugin
        cipher = _CIPHERS[provider.kind]
        keys = [(f"{key.name}:".encode(), cipher(key.secret)) for key in provider.keys]
        text = f"no matching key was found for the provided {provider.kind} transformer"
        return _PREFIXES[provider.kind], PrefixTransformers(keys, otherwise=text)

    def of(self, resource: GroupResource) -> Transformer:
        for found in (resource, GroupResource(resource.group, "*"), GroupResource("*", "*")):
            if (transformer := self._transformers.get(found)) is not None:
                return transformer
        return _IDENTITY

    async def start(self) -> None:
        """Ask all plugins once, then keep asking."""
        await together(plugin.probe() for plugin in self.plugins)
        for plugin in self.plugins:
            self._tasks.start(f"kms-{plugin.name}", plugin.watch_plugin())

    async def close(self) -> None:
        await self._tasks.close()
        await close_all(plugin.close for plugin in self.plugins)


class _Current:
    """One resource's transformer, whatever the configuration is at the time. Implements Transformer."""

    def __init__(self, encryption: Encryption, resource: GroupResource) -> None:
        self._encryption = encryption
        self._resource = resource

    def __repr__(self) -> str:
        return f"<transformer of {self._resource}>"

    @property
    def needs_keys(self) -> bool:
        return self._encryption.of(self._resource).needs_keys

    def from_storage(self, value: bytes, context: bytes) -> tuple[bytes, bool]:
        return self._encryption.of(self._resource).from_storage(value, context)

    def to_storage(self, value: bytes, context: bytes) -> bytes:
        return self._encryption.of(self._resource).to_storage(value, context)


class Encryption:
    """The transformers of all resources, from a configuration file that is read again when it changes."""

    def __init__(
        self, path: Path, *, reload: bool = False, connect: Connect = connect_grpc, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        """Reads the file. Raises ConfigError. `reload`: look for changes all the time, once started."""
        self._path = path
        self._reload = reload
        self._connect = connect
        self._clock = clock
        self._tasks = TaskOwner("encryption-config")
        text = _read(path)
        self._hash = _digest(text)
        self._generation = self._build(text)

    def __repr__(self) -> str:
        return f"<Encryption by {self._path}>"

    def _build(self, text: str) -> _Generation:
        try:
            return _Generation(parse_config(text), self._connect, self._clock)
        except KeyUnavailable as e:
            raise ConfigError(str(e)) from None

    async def start(self) -> None:
        """Connect to key management plugins and begin to look after them and the file."""
        await self._generation.start()
        if self._reload:
            self._tasks.start("reload", self._watch_file())

    def of(self, resource: GroupResource) -> Transformer:
        """The transformer of a resource at present."""
        return self._generation.of(resource)

    def transformer(self, resource: GroupResource) -> Transformer:
        """A transformer of a resource that follows the configuration. Events belong to the core group."""
        if resource.group == "events.k8s.io":
            resource = GroupResource("", resource.resource)
        if not self._reload:
            return self.of(resource)
        return _Current(self, resource)

    @property
    def may_need_plugins(self) -> bool:
        """Whether there are key management plugins, or a changed file may name some."""
        return self._reload or bool(self._generation.plugins)

    def health(self) -> str:
        """What is wrong with key management plugins; "" for nothing."""
        return "; ".join(plugin.health for plugin in self._generation.plugins if plugin.health)

    async def _watch_file(self) -> None:
        seen, read_at = _stamp(self._path), self._clock.monotonic()
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            stamp, now = _stamp(self._path), self._clock.monotonic()
            if stamp != seen or now >= read_at + RELOAD_SECONDS:
                seen, read_at = stamp, now
                await self.reload()

    async def reload(self) -> bool:
        """Take over a changed file, if it is sound and its plugins are well. Returns whether it did."""
        try:
            text = _read(self._path)
            digest = _digest(text)
            if digest == self._hash:
                return False
            generation = self._build(text)
        except ConfigError as e:
            log.error("the encryption configuration stays as it was: %s", e)
            return False
        await generation.start()
        if unwell := [plugin.health for plugin in generation.plugins if plugin.health]:
            log.error("the encryption configuration stays as it was: %s", "; ".join(unwell))
            await generation.close()
            return False
        old, self._generation, self._hash = self._generation, generation, digest
        log.info("the encryption configuration was reloaded from %s", self._path)
        self._tasks.start("close-old", self._close_later(old))
        return True

    async def _close_later(self, generation: _Generation) -> None:
        try:
            await self._clock.sleep(CLOSE_GRACE_SECONDS)
        finally:
            await generation.close()

    async def close(self) -> None:
        """End tasks and connections. Idempotent."""
        await self._tasks.close()
        await self._generation.close()


def _read(path: Path) -> str:
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigError(f'error reading encryption provider configuration file "{path}": {e}') from None
    if not text.strip():
        raise ConfigError(f'encryption provider configuration file "{path}" is empty')
    return text


def _stamp(path: Path) -> tuple[int, ...]:
    """What changes when the file does, as far as the file system tells; () when there is none at the moment."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino


def _digest(text: str) -> str:
    """Kept instead of the text, which holds keys."""
    return hashlib.sha256(text.encode()).hexdigest()

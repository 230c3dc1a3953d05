"""KMS v2: values are encrypted with keys derived from a seed, and the seed travels with them, wrapped by a plugin.

A seed is made when the server starts and whenever the plugin's own key changes. Reading a value with an unknown seed
asks the plugin once. While the plugin is away everything known can be read; writing goes on for three minutes.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
from collections import OrderedDict
from dataclasses import dataclass

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.storage.value import wire
from watchkeeper.storage.value.aes import GCM, INFO_SIZE, DerivedKeyGCM
from watchkeeper.storage.value.interface import KeyNeeded, KeyUnavailable, Transformer, TransformError
from watchkeeper.storage.value.kms_client import KeyService, PluginStatus, Wrapped

log = logging.getLogger(__name__)

HEALTHY_PERIOD = 60.0
UNHEALTHY_PERIOD = 10.0
SEED_LIFETIME = 180.0
"""So long a seed may be used for writing since the plugin was last found well."""

_MAX_KEYS = 10_000
_MAX_WRAPPED_SIZE = 1024
_MAX_KEY_ID_SIZE = 1024
_MAX_ANNOTATIONS_SIZE = 32 * 1024
_QUALIFIED = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+").fullmatch

_KEY = 0
_SEED = 1


@dataclass(frozen=True, slots=True)
class _Sealed:
    """What is stored: the encrypted value and what it takes to decrypt it."""

    data: bytes
    wrapped: Wrapped
    source: int

    @property
    def cache_key(self) -> tuple[int, bytes, str, tuple[tuple[str, bytes], ...]]:
        wrapped = self.wrapped
        return self.source, wrapped.ciphertext, wrapped.key_id, tuple(sorted(wrapped.annotations.items()))

    def encode(self) -> bytes:
        wrapped = self.wrapped
        return wire.encode(
            ((1, self.data), (2, wrapped.key_id), (3, wrapped.ciphertext), (4, wrapped.annotations), (5, self.source))
        )

    @classmethod
    def decode(cls, value: bytes) -> _Sealed:
        try:
            message = wire.decode(value)
            wrapped = Wrapped(message.data(3), message.text(2), message.map(4))
        except ValueError as e:
            raise TransformError(f"the stored data is no encrypted object: {e}") from None
        sealed = cls(message.data(1), wrapped, message.numbers.get(5, _KEY))
        if sealed.source not in (_KEY, _SEED):
            raise TransformError(f"unknown encryptedDEKSourceType: {sealed.source}")
        if not sealed.data:
            raise TransformError("encrypted data is empty")
        check_wrapped(wrapped)
        return sealed


def check_wrapped(wrapped: Wrapped) -> None:
    """Raise TransformError for what may not be stored."""
    if not wrapped.ciphertext:
        raise TransformError("failed to validate encrypted DEK source: encrypted DEK source is empty")
    if len(wrapped.ciphertext) > _MAX_WRAPPED_SIZE:
        raise TransformError(
            f"failed to validate encrypted DEK source: encrypted DEK source is {len(wrapped.ciphertext)} bytes, "
            f"which exceeds the max size of {_MAX_WRAPPED_SIZE}"
        )
    if fault := key_id_fault(wrapped.key_id):
        raise TransformError(f"failed to validate key id: {fault}")
    for name in wrapped.annotations:
        if not _QUALIFIED(name):
            raise TransformError(f"failed to validate annotations: {name!r} is not a fully qualified domain name")
    size = sum(len(name) + len(data) for name, data in wrapped.annotations.items())
    if size > _MAX_ANNOTATIONS_SIZE:
        raise TransformError(
            f"failed to validate annotations: total size of annotations is {size}, "
            f"which exceeds the max size of {_MAX_ANNOTATIONS_SIZE}"
        )


def key_id_fault(key_id: str) -> str:
    """What is wrong with a key id; "" for nothing."""
    if not key_id:
        return "keyID is empty"
    size = len(key_id.encode())
    return f"keyID is {size} bytes, which exceeds the max size of {_MAX_KEY_ID_SIZE}" if size > _MAX_KEY_ID_SIZE else ""


@dataclass(slots=True)
class _Seed:
    """What is written with at present."""

    transformer: DerivedKeyGCM
    wrapped: Wrapped
    expires: float


class KMSTransformer:
    """Implements Transformer for one plugin. Somebody must run `watch_plugin`."""

    needs_keys = True

    def __init__(self, name: str, service: KeyService, clock: Clock = SYSTEM_CLOCK) -> None:
        self.name = name
        self.health = "the plugin has not been asked yet"
        """What is wrong with the plugin; "" when it is well."""
        self._service = service
        self._clock = clock
        self._seed: _Seed | None = None
        self._version = ""
        self._keys: OrderedDict[object, Transformer] = OrderedDict()

    def __repr__(self) -> str:
        return f"<KMSTransformer {self.name} {self.health or 'well'}>"

    def from_storage(self, value: bytes, context: bytes) -> tuple[bytes, bool]:
        """Decrypt. What was wrapped with another key than the plugin's present one is stale."""
        sealed = _Sealed.decode(value)
        transformer = self._keys.get(sealed.cache_key)
        if transformer is None:
            raise KeyNeeded(lambda: self._fetch(sealed))
        plain, stale = transformer.from_storage(sealed.data, context)
        seed = self._seed
        current = seed is not None and seed.wrapped.key_id == sealed.wrapped.key_id and sealed.source == _SEED
        return plain, stale or not current

    def to_storage(self, value: bytes, context: bytes) -> bytes:
        """Encrypt. Raises TransformError when the plugin has been away for too long."""
        seed = self._seed
        if seed is None:
            raise TransformError(f"KMS provider {self.name} has given no key yet: {self.health}")
        if self._clock.monotonic() > seed.expires:
            reason = self.health or "it was not asked since"
            raise TransformError(f"the key that KMS provider {self.name} gave for writing has expired: {reason}")
        return _Sealed(seed.transformer.to_storage(value, context), seed.wrapped, _SEED).encode()

    async def _fetch(self, sealed: _Sealed) -> None:
        key = await self._service.decrypt(sealed.wrapped)
        try:
            self._remember(sealed, DerivedKeyGCM(key) if sealed.source == _SEED else GCM(key))
        except ValueError:
            raise TransformError(f"KMS provider {self.name} gave a key of {len(key)} bytes") from None

    def _remember(self, sealed: _Sealed, transformer: Transformer) -> None:
        self._keys[sealed.cache_key] = transformer
        if len(self._keys) > _MAX_KEYS:
            self._keys.popitem(last=False)

    async def watch_plugin(self) -> None:
        """Ask the plugin how it is, for ever, and follow its key."""
        while True:
            await self.probe()
            await self._clock.sleep(UNHEALTHY_PERIOD if self.health else HEALTHY_PERIOD)

    async def probe(self) -> str:
        """Ask once. Returns what is wrong, "" for nothing."""
        try:
            await self._follow(await self._service.status())
            health = ""
        except (KeyUnavailable, TransformError) as e:
            health = str(e)
        if health and health != self.health:
            log.error("KMS provider %s is not healthy: %s", self.name, health)
        self.health = health
        return health

    async def _follow(self, status: PluginStatus) -> None:
        if status.health != "ok":
            raise KeyUnavailable(f"got unexpected healthz status: {status.health}")
        if status.version not in ("v2", "v2beta1"):
            raise KeyUnavailable(f"expected KMSv2 API version v2, got {status.version}")
        if self._version and status.version != self._version:
            raise KeyUnavailable(f"the API version changed from {self._version} to {status.version}")
        self._version = status.version
        if fault := key_id_fault(status.key_id):
            raise KeyUnavailable(f"got invalid KMSv2 KeyID: {fault}")
        expires = self._clock.monotonic() + SEED_LIFETIME
        if self._seed is not None and self._seed.wrapped.key_id == status.key_id:
            self._seed.expires = expires
            return
        plain = os.urandom(INFO_SIZE)
        wrapped = await self._service.encrypt(plain)
        check_wrapped(wrapped)
        if wrapped.key_id != status.key_id:
            raise KeyUnavailable("the plugin encrypts with another key than its status tells of")
        seed = _Seed(DerivedKeyGCM(plain), wrapped, expires)
        self._remember(_Sealed(b"-", wrapped, _SEED), seed.transformer)
        self._seed = seed
        log.info("KMS provider %s: writing with key sha256:%s", self.name, _hash(wrapped.key_id))

    async def close(self) -> None:
        """End the connection to the plugin."""
        await self._service.close()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

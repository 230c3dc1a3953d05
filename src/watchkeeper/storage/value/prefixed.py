"""Transformers chosen by what a value begins with: the first one writes, all of them read."""

from __future__ import annotations

from collections.abc import Sequence

from watchkeeper.storage.value.interface import KeyNeeded, Transformer, TransformError


class PrefixTransformers:
    """A list of (prefix, transformer). What the first one did not write is stale: writing it again renews it.

    Several may have the same prefix, as while keys are being rotated; then each is tried.
    """

    def __init__(self, transformers: Sequence[tuple[bytes, Transformer]], *, otherwise: str) -> None:
        """`otherwise`: what is said of a value that none of them knows."""
        self._transformers = tuple(transformers)
        self._otherwise = otherwise

    def __repr__(self) -> str:
        return f"<PrefixTransformers {[prefix.decode() for prefix, _ in self._transformers]}>"

    @property
    def needs_keys(self) -> bool:
        """Whether one of them does."""
        return any(transformer.needs_keys for _, transformer in self._transformers)

    def from_storage(self, value: bytes, context: bytes) -> tuple[bytes, bool]:
        """Read with the first that can. Raises TransformError with what went wrong for each that should have."""
        errors: dict[str, None] = {}
        for i, (prefix, transformer) in enumerate(self._transformers):
            if not value.startswith(prefix):
                continue
            try:
                plain, stale = transformer.from_storage(value[len(prefix) :], context)
            except KeyNeeded:
                raise
            except TransformError as e:
                if prefix:  # identity refuses what is encrypted; that is for the others
                    errors[str(e)] = None
                continue
            return plain, stale or i > 0
        raise TransformError("; ".join(errors) or self._otherwise)

    def to_storage(self, value: bytes, context: bytes) -> bytes:
        """Write with the first."""
        prefix, transformer = self._transformers[0]
        return prefix + transformer.to_storage(value, context)

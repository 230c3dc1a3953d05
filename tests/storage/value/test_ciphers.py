"""Ciphers against published vectors and against the layout in which kube-apiserver stores values."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from cryptography.hazmat.primitives import padding
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given, settings
from hypothesis import strategies as st

from watchkeeper.storage.value import wire
from watchkeeper.storage.value.aes import CBC, GCM, DerivedKeyGCM
from watchkeeper.storage.value.identity import Identity
from watchkeeper.storage.value.interface import Transformer, TransformError
from watchkeeper.storage.value.prefixed import PrefixTransformers
from watchkeeper.storage.value.secretbox import Secretbox

KEY = bytes(range(32))
CONTEXT = b"/registry/secrets/default/x"
CIPHERS: list[Transformer] = [GCM(KEY), CBC(KEY), Secretbox(KEY), DerivedKeyGCM(KEY)]


@pytest.mark.parametrize("cipher", CIPHERS, ids=repr)
@settings(max_examples=60, deadline=None)
@given(value=st.binary(max_size=300))
def test_what_is_encrypted_can_be_decrypted(cipher: Transformer, value: bytes) -> None:
    stored = cipher.to_storage(value, CONTEXT)
    assert cipher.from_storage(stored, CONTEXT) == (value, False)
    assert cipher.to_storage(value, CONTEXT) != stored
    if len(value) > 8:
        assert value not in stored


def test_secretbox_is_that_of_nacl() -> None:
    """The vector of NaCl's own tests (secretbox and secretbox2)."""
    key = bytes.fromhex("1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389")
    nonce = bytes.fromhex("69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37")
    sealed = bytes.fromhex(
        "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186a"
        "c0dfc17c98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae"
        "90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74"
        "e355a5"
    )
    plain = bytes.fromhex(
        "be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c6129"
        "6cdc3c01233561f41db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde"
        "048977eb48f59ffd4924ca1c60902e52f0a089bc76897040e082f937763848645e0705"
    )
    assert Secretbox(key).from_storage(nonce + sealed, b"") == (plain, False)


def test_gcm_authenticates_the_key_of_the_object() -> None:
    stored = GCM(KEY).to_storage(b"secret", CONTEXT)
    assert AESGCM(KEY).decrypt(stored[:12], stored[12:], CONTEXT) == b"secret"
    with pytest.raises(TransformError, match="message authentication failed"):
        GCM(KEY).from_storage(stored, b"/registry/secrets/default/y")


def test_cbc_is_padded_by_pkcs7() -> None:
    padder = padding.PKCS7(128).padder()
    encryptor = Cipher(algorithms.AES(KEY), modes.CBC(bytes(16))).encryptor()
    made = encryptor.update(padder.update(b"secret") + padder.finalize()) + encryptor.finalize()
    assert CBC(KEY).from_storage(bytes(16) + made, CONTEXT) == (b"secret", False)


def test_derived_keys_are_expanded_by_hkdf() -> None:
    stored = DerivedKeyGCM(KEY).to_storage(b"secret", CONTEXT)
    key = hmac.new(KEY, stored[:32] + b"\x01", hashlib.sha256).digest()
    assert AESGCM(key).decrypt(stored[32:44], stored[44:], CONTEXT) == b"secret"


@pytest.mark.parametrize("cipher", CIPHERS, ids=repr)
def test_a_wrong_key_a_changed_value_and_a_cut_value_are_refused(cipher: Transformer) -> None:
    value = b"some secret of more than one block, so that much can go wrong"
    stored = cipher.to_storage(value, CONTEXT)
    other = type(cipher)(bytes(32)).to_storage(value, CONTEXT)  # type: ignore[call-arg]
    changed = bytearray(stored)
    changed[-1] ^= 1
    for bad in (other, bytes(changed)):
        # CBC has nothing but its padding to tell, which one wrong text in some two hundred has by chance.
        assert refused(cipher, bad) or (
            isinstance(cipher, CBC) and any(refused(cipher, varied(bad, n)) for n in range(1, 9))
        )
    assert refused(cipher, stored[:10])
    assert refused(cipher, b"")


def refused(cipher: Transformer, stored: bytes) -> bool:
    try:
        cipher.from_storage(stored, CONTEXT)
    except TransformError as error:
        assert "secret" not in str(error)
        return True
    return False


def varied(stored: bytes, by: int) -> bytes:
    """The same with another last byte."""
    return stored[:-1] + bytes([(stored[-1] + by) % 256])


def test_keys_do_not_show() -> None:
    assert all(KEY.hex() not in repr(cipher) and str(KEY) not in repr(vars(cipher)) for cipher in CIPHERS[:2])


def test_identity_refuses_what_is_encrypted() -> None:
    assert Identity().from_storage(b"{}", CONTEXT) == (b"{}", False)
    with pytest.raises(TransformError, match="identity transformer tried to read encrypted data"):
        Identity().from_storage(b"k8s:enc:aescbc:v1:key1:xyz", CONTEXT)


def test_the_first_of_several_writes_and_all_of_them_read() -> None:
    new, old = (b"new:", GCM(KEY)), (b"old:", GCM(bytes(32)))
    rotated = PrefixTransformers([new, old, (b"", Identity())], otherwise="nobody knows")
    assert rotated.to_storage(b"x", CONTEXT).startswith(b"new:")
    assert rotated.from_storage(rotated.to_storage(b"x", CONTEXT), CONTEXT) == (b"x", False)
    assert rotated.from_storage(b"old:" + old[1].to_storage(b"x", CONTEXT), CONTEXT) == (b"x", True)
    assert rotated.from_storage(b"{}", CONTEXT) == (b"{}", True)
    with pytest.raises(TransformError, match="nobody knows"):
        PrefixTransformers([new], otherwise="nobody knows").from_storage(b"other:x", CONTEXT)


def test_equal_prefixes_are_tried_one_after_the_other() -> None:
    both = PrefixTransformers([(b"k:", GCM(KEY)), (b"k:", GCM(bytes(32)))], otherwise="nobody knows")
    assert both.from_storage(b"k:" + GCM(bytes(32)).to_storage(b"x", CONTEXT), CONTEXT) == (b"x", True)
    with pytest.raises(TransformError, match="message authentication failed"):
        both.from_storage(b"k:" + GCM(b"\1" * 32).to_storage(b"x", CONTEXT), CONTEXT)


def test_values_encrypted_elsewhere_can_be_read_after_moving_to_identity() -> None:
    away = PrefixTransformers([(b"", Identity()), (b"k8s:enc:aesgcm:v1:", GCM(KEY))], otherwise="nobody knows")
    stored = b"k8s:enc:aesgcm:v1:" + GCM(KEY).to_storage(b"x", CONTEXT)
    assert away.from_storage(stored, CONTEXT) == (b"x", True)
    assert away.to_storage(b"x", CONTEXT) == b"x"


@settings(deadline=None)
@given(st.integers(0, 2**63), st.binary(max_size=300), st.dictionaries(st.text(max_size=5), st.binary(max_size=200)))
def test_messages_survive_the_wire(number: int, data: bytes, entries: dict[str, bytes]) -> None:
    message = wire.decode(wire.encode(((1, number), (2, data), (15, entries), (16, "text"))))
    assert (message.numbers.get(1, 0), message.data(2), message.map(15)) == (number, data, entries)
    assert message.text(16) == "text"


def test_broken_messages_are_refused() -> None:
    for bad in (b"\x0a", b"\x0a\x05ab", b"\x08" + b"\xff" * 11, b"\x0d\x00\x00\x00\x00"):
        with pytest.raises(ValueError, match=r"cut off|wire type"):
            wire.decode(bad)

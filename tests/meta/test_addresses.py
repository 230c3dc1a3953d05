"""Which addresses may be those of somebody else."""

from __future__ import annotations

import pytest

from watchkeeper.meta.addresses import is_global_unicast


@pytest.mark.parametrize("text", ["10.0.0.1", "8.8.8.8", "::ffff:10.0.0.1", "fd00::1", "2001:db8::1", "240.0.0.1"])
def test_somebody_else_may_have_it(text: str) -> None:
    assert is_global_unicast(text)


@pytest.mark.parametrize(
    "text", ["127.0.0.1", "127.8.9.10", "169.254.169.254", "0.0.0.0", "224.0.0.1", "239.1.1.1", "255.255.255.255"]
)
def test_written_as_one_of_ipv6_it_leads_nowhere_else(text: str) -> None:
    for written in (text, f"::ffff:{text}", f"::FFFF:{text}"):
        assert not is_global_unicast(written)


@pytest.mark.parametrize("text", ["::1", "::", "fe80::1", "fe80::1%lo", "ff02::1", "ff0e::1", "", "localhost", "127.1"])
def test_it_is_of_this_machine_alone_or_none(text: str) -> None:
    assert not is_global_unicast(text)

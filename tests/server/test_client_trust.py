"""The list of authorities that extension servers read."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from watchkeeper.server import client_trust
from watchkeeper.server.client_trust import Trust, combined, reconciled, trust
from watchkeeper.server.pki import serving_certificate


@pytest.fixture(scope="module")
def authorities(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    def make(folder: Path) -> str:
        return serving_certificate(folder, "127.0.0.1").ca_pem.decode()

    return make(tmp_path_factory.mktemp("one")), make(tmp_path_factory.mktemp("two"))


def stored(**data: str) -> dict[str, Any]:
    return {"metadata": {"name": "x"}, "data": data}


def test_each_authority_is_listed_once_in_the_order_of_their_coming(authorities: tuple[str, str]) -> None:
    one, two = authorities
    assert combined(one, two) == one + two
    assert combined(one + two, two) == one + two
    assert combined("", one + one) == one


def test_what_is_no_certificate_is_left_out(authorities: tuple[str, str]) -> None:
    one, two = authorities
    broken = two.replace("M", "!", 1)
    assert combined(f"# ours\n{one}", broken) == one
    assert combined("junk", "") == ""


def test_authorities_go_when_they_have_ended(authorities: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    one, _ = authorities
    later = time.time() + 3650 * 86_400
    monkeypatch.setattr(client_trust.time, "time", lambda: later + 200)
    assert combined(one, "") == one
    monkeypatch.setattr(client_trust.time, "time", lambda: later + 400)
    assert combined(one, "") == ""
    assert reconciled(stored(**{"client-ca-file": one}), trust(Trust(clients=one))) == stored()


def test_what_other_servers_have_listed_stays(authorities: tuple[str, str]) -> None:
    one, two = authorities
    expected = trust(Trust(clients=two))
    proxies = {
        "requestheader-client-ca-file": one,
        "requestheader-username-headers": '["X-Remote-User"]',
        "requestheader-group-headers": "[]",
        "requestheader-extra-headers-prefix": "[]",
        "requestheader-allowed-names": '["front"]',
    }
    assert reconciled(stored(**{"client-ca-file": one}, **proxies, odd="x"), expected) == stored(
        **proxies, **{"client-ca-file": one + two}
    )
    assert reconciled(stored(**{"client-ca-file": one + two}, **proxies), expected) is None
    assert reconciled({"metadata": {}}, expected) == {"metadata": {}, "data": {"client-ca-file": two}}


def test_headers_go_with_the_authorities_of_proxies(authorities: tuple[str, str]) -> None:
    _, two = authorities
    alone = stored(**{"requestheader-allowed-names": '["front"]', "client-ca-file": two})
    assert reconciled(alone, trust(Trust(clients=two))) == stored(**{"client-ca-file": two})


def test_what_proxies_may_do_is_listed_as_options_name_it(authorities: tuple[str, str]) -> None:
    one, two = authorities
    ours = Trust(proxies=one, names=("X-Remote-User",), groups=("X-Remote-Group",), allowed_names=("a<b",))
    data = trust(ours)["data"]
    assert data == {
        "requestheader-client-ca-file": one,
        "requestheader-username-headers": '["X-Remote-User"]',
        "requestheader-group-headers": '["X-Remote-Group"]',
        "requestheader-extra-headers-prefix": "[]",
        "requestheader-allowed-names": '["a\\u003cb"]',
    }
    theirs = Trust(proxies=two, names=("X-User", "X-Remote-User"), uids=("X-Remote-Uid",), allowed_names=("front",))
    both = reconciled(stored(**data), trust(theirs))
    assert both is not None
    assert both["data"] == {
        "requestheader-client-ca-file": one + two,
        "requestheader-username-headers": '["X-Remote-User","X-User"]',
        "requestheader-uid-headers": '["X-Remote-Uid"]',
        "requestheader-group-headers": '["X-Remote-Group"]',
        "requestheader-extra-headers-prefix": "[]",
        "requestheader-allowed-names": '["a\\u003cb","front"]',
    }


@pytest.mark.parametrize("text", ["[" * 100_000, "[", "5", '"x"', "[5, null]", "[1e999]", '{"a": "b"}'])
def test_lists_that_are_none_are_written_anew(authorities: tuple[str, str], text: str) -> None:
    ours = trust(Trust(proxies=authorities[0], names=("X-Remote-User",)))
    found = reconciled(stored(**{**ours["data"], "requestheader-username-headers": text}), ours)
    assert found is not None
    assert found["data"] == ours["data"]

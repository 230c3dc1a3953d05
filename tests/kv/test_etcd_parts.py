"""The parts of the etcd client that can be judged without etcd."""

import asyncio
from pathlib import Path

import pytest

pytest.importorskip("grpc")
pytest.importorskip("aetcd")

import grpc

from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.kv.errors import (
    AccessDenied,
    Closed,
    Compacted,
    Corrupt,
    FutureRevision,
    KVError,
    LeaseNotFound,
    Timeout,
    Unavailable,
    ValueTooLarge,
)
from watchkeeper.kv.etcd import EtcdConfig
from watchkeeper.kv.etcd.config import Endpoint
from watchkeeper.kv.etcd.failure import Remedy, classify_text
from watchkeeper.kv.etcd.rounds import Rounds
from watchkeeper.kv.etcd.versions import (
    keeps_what_it_acknowledges_alone,
    parse_version,
    tells_progress_on_demand,
)


@pytest.mark.parametrize(
    ("text", "tls", "expected"),
    [
        ("https://etcd.example:2379", False, Endpoint("etcd.example:2379", True)),
        ("http://10.0.0.1:12379", True, Endpoint("10.0.0.1:12379", False)),
        ("https://etcd.example", False, Endpoint("etcd.example:2379", True)),
        ("etcd.example:2379", True, Endpoint("etcd.example:2379", True)),
        ("etcd.example", False, Endpoint("etcd.example:2379", False)),
        ("https://[fd00::1]:2379/", False, Endpoint("[fd00::1]:2379", True)),
        ("unix:///run/etcd.sock", True, Endpoint("unix:///run/etcd.sock", False)),
    ],
)
def test_endpoints_are_urls_or_host_and_port(text: str, tls: bool, expected: Endpoint) -> None:
    assert Endpoint.parse(text, tls=tls) == expected


@pytest.mark.parametrize("text", ["", "ftp://etcd:2379", "https://etcd:2379/path", "https://etcd:port", "https://"])
def test_what_is_no_endpoint_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not an etcd endpoint"):
        Endpoint.parse(text, tls=False)


def test_half_a_configuration_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one endpoint"):
        EtcdConfig(())
    with pytest.raises(ValueError, match="needs its key"):
        EtcdConfig(("etcd:2379",), cert_file=Path("client.crt"))
    with pytest.raises(ValueError, match="needs a username"):
        EtcdConfig(("etcd:2379",), password="secret")


def test_a_password_is_not_shown() -> None:
    assert "secret" not in repr(EtcdConfig(("etcd:2379",), username="root", password="secret"))


@pytest.mark.parametrize(
    ("code", "details", "error", "remedy"),
    [
        ("OUT_OF_RANGE", "etcdserver: mvcc: required revision has been compacted", Compacted, Remedy.NONE),
        ("OUT_OF_RANGE", "etcdserver: mvcc: required revision is a future revision", FutureRevision, Remedy.NONE),
        ("NOT_FOUND", "etcdserver: requested lease not found", LeaseNotFound, Remedy.NONE),
        ("INVALID_ARGUMENT", "etcdserver: request is too large", ValueTooLarge, Remedy.NONE),
        ("RESOURCE_EXHAUSTED", "etcdserver: mvcc: database space exceeded", Unavailable, Remedy.NONE),
        ("RESOURCE_EXHAUSTED", "etcdserver: too many requests", Unavailable, Remedy.ELSEWHERE),
        ("UNAUTHENTICATED", "etcdserver: invalid auth token", AccessDenied, Remedy.AUTHENTICATE),
        ("INVALID_ARGUMENT", "etcdserver: revision of auth store is old", AccessDenied, Remedy.AUTHENTICATE),
        ("INVALID_ARGUMENT", "etcdserver: user name is empty", AccessDenied, Remedy.AUTHENTICATE),
        ("PERMISSION_DENIED", "etcdserver: permission denied", AccessDenied, Remedy.NONE),
        (
            "INVALID_ARGUMENT",
            "etcdserver: authentication failed, invalid user ID or password",
            AccessDenied,
            Remedy.NONE,
        ),
        ("DATA_LOSS", "etcdserver: corrupt cluster", Corrupt, Remedy.NONE),
        ("UNAVAILABLE", "etcdserver: no leader", Unavailable, Remedy.ELSEWHERE),
        (
            "UNAVAILABLE",
            "failed to connect to all addresses; last error: Connection refused",
            Unavailable,
            Remedy.ELSEWHERE,
        ),
        (
            "UNAVAILABLE",
            "errors resolving etcd:2379: [field:hostname lookup error:address lookup failed for etcd:2379: not found]",
            Unavailable,
            Remedy.ELSEWHERE,
        ),
        ("UNAVAILABLE", "etcdserver: leader changed", Unavailable, Remedy.IF_HARMLESS),
        ("UNAVAILABLE", "Socket closed", Unavailable, Remedy.IF_HARMLESS),
        ("UNAVAILABLE", "etcdserver: request timed out", Timeout, Remedy.IF_HARMLESS),
        ("DEADLINE_EXCEEDED", "Deadline Exceeded", Timeout, Remedy.IF_HARMLESS),
        ("INVALID_ARGUMENT", "etcdserver: duplicate key given in txn request", KVError, Remedy.NONE),
    ],
)
def test_every_failure_has_a_meaning_and_a_remedy(
    code: str, details: str, error: type[KVError], remedy: Remedy
) -> None:
    failure = classify_text(getattr(grpc.StatusCode, code), details, "etcd:2379")
    assert (type(failure.error), failure.remedy) == (error, remedy)
    refused = (remedy is Remedy.NONE or "empty" in details) and error in (Unavailable, AccessDenied, KVError)
    assert failure.error.said == (details if refused else "")


def test_what_is_too_large_to_be_sent_is_refused_as_by_the_client_of_etcd() -> None:
    details = "grpc: received message larger than max (2700123 vs. 2097152)"
    failure = classify_text(grpc.StatusCode.RESOURCE_EXHAUSTED, details, "etcd:2379")
    assert (type(failure.error), failure.remedy) == (ValueTooLarge, Remedy.NONE)
    assert failure.error.said == (
        "rpc error: code = ResourceExhausted desc = trying to send message larger than max (2700123 vs. 2097152)"
    )


@pytest.mark.parametrize(
    ("version", "trusted"),
    [
        ("3.4.30", False),
        ("3.4.31", True),
        ("3.5.1", False),
        ("3.5.12", False),
        ("3.5.13", True),
        ("3.6.0", True),
        ("3.6.0-rc.1", True),
        ("3.7.1+git", True),
        ("3.3.27", False),
        ("", False),
    ],
)
def test_progress_on_demand_is_only_trusted_where_it_is_right(version: str, trusted: bool) -> None:
    assert tells_progress_on_demand(version) is trusted


@pytest.mark.parametrize(
    ("version", "kept"),
    [("3.3.27", False), ("3.4.20", False), ("3.4.21", True), ("3.5.1", False), ("3.5.5", True), ("3.6.0", True)],
)
def test_a_member_alone_keeps_what_it_acknowledges_from_some_versions_on(version: str, kept: bool) -> None:
    assert keeps_what_it_acknowledges_alone(version) is kept


def test_versions_are_read_as_far_as_they_are_numbers() -> None:
    assert parse_version("3.5.16") == (3, 5, 16)
    assert parse_version("3.x") == (3, 0, 0)


def test_who_asks_together_shares_an_answer_that_is_not_older_than_the_question() -> None:
    async def run() -> None:
        asked: list[asyncio.Future[int]] = []

        async def ask() -> int:
            asked.append(asyncio.get_running_loop().create_future())
            return await asked[-1]

        tasks = TaskOwner("test")
        rounds = Rounds(ask, tasks)
        first = [asyncio.ensure_future(rounds.join()) for _ in range(3)]
        await asyncio.sleep(0.001)
        late = [asyncio.ensure_future(rounds.join()) for _ in range(3)]
        await asyncio.sleep(0.001)
        assert len(asked) == 1
        asked[0].set_result(1)
        assert await asyncio.gather(*first) == [1, 1, 1]
        await asyncio.sleep(0.001)
        assert len(asked) == 2 and not any(task.done() for task in late)
        asked[1].set_exception(Unavailable("away"))
        for task in late:
            with pytest.raises(Unavailable):
                await task
        last = asyncio.ensure_future(rounds.join())
        await asyncio.sleep(0.001)
        await tasks.close()
        with pytest.raises(Closed):
            await last

    asyncio.run(run())


@pytest.mark.parametrize(
    ("details", "meaning"),
    [
        ("SSL routines:CERTIFICATE_VERIFY_FAILED: unable to get issuer", "check the CA file"),
        ("SSL routines:SSLV3_ALERT_BAD_CERTIFICATE: OK", "wants a certificate of an authority that it trusts"),
        ("Unwrap failed (TSI_DATA_CORRUPTED)", "wants a certificate of an authority that it trusts"),
        ("Handshake read failed (Socket closed)", "does not speak TLS"),
    ],
)
def test_a_connection_that_does_not_come_about_is_explained(details: str, meaning: str) -> None:
    unconnected = f"failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: {details}"
    failure = classify_text(grpc.StatusCode.UNAVAILABLE, unconnected, "e")
    assert isinstance(failure.error, AccessDenied)
    assert meaning in str(failure.error)
    assert failure.remedy is Remedy.ELSEWHERE
    # Once there has been a connection, a write may have gone over it.
    assert classify_text(grpc.StatusCode.UNAVAILABLE, details, "e").remedy is Remedy.IF_HARMLESS

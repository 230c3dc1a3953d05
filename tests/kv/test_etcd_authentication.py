"""A cluster that wants to know who asks."""

import asyncio
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aetcd.rpc import rpc_pb2, rpc_pb2_grpc
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from etcd_fixtures import empty_store, needs_etcd, run

from watchkeeper.kv.errors import AccessDenied, Unavailable
from watchkeeper.kv.etcd import EtcdConfig, open_etcd
from watchkeeper.kv.etcd.cluster import REQUIRE_LEADER
from watchkeeper.kv.etcd.members import connect
from watchkeeper.kv.etcd.store import EtcdKV
from watchkeeper.kv.etcd.watching import EtcdWatch, WatchState
from watchkeeper.testing.etcd import EtcdCluster, running_cluster
from watchkeeper.testing.kv_suite.case import next_batch, put, summary, take

pytestmark = needs_etcd


@pytest.fixture(scope="module", params=["simple", "jwt"])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdCluster]:
    folder = tmp_path_factory.mktemp("etcd")
    flags = ["--auth-token-ttl=1"] if request.param == "simple" else [jwt_flag(folder)]
    with running_cluster(folder, flags=flags) as running:
        etcdctl = running.program.with_name("etcdctl")

        def ctl(*arguments: str, user: str = "") -> None:
            subprocess.run(
                [etcdctl, f"--endpoints={running.urls[0]}", *([f"--user={user}"] if user else []), *arguments],
                check=True,
                capture_output=True,
                env={"ETCDCTL_API": "3"},
            )

        ctl("user", "add", "root:rootpw")
        ctl("user", "grant-role", "root", "root")
        ctl("user", "add", "limited:limitedpw")
        ctl("role", "add", "ours")
        ctl("role", "grant-permission", "ours", "--prefix=true", "readwrite", "/ours/")
        ctl("user", "grant-role", "limited", "ours")
        ctl("auth", "enable")
        yield running


def jwt_flag(folder: Path) -> str:
    """Tokens that no member remembers, which are good for a second."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (folder / "jwt.key").write_bytes(private)
    (folder / "jwt.pub").write_bytes(public)
    return f"--auth-token=jwt,pub-key={folder}/jwt.pub,priv-key={folder}/jwt.key,sign-method=RS256,ttl=1s"


def with_store(cluster: EtcdCluster, scenario: Callable[[EtcdKV], Awaitable[None]], user: str, password: str) -> None:
    async def play() -> None:
        kv = open_etcd(
            EtcdConfig(cluster.urls, username=user, password=password, probe_key=b"/ours/", request_timeout=5)
        )
        try:
            await scenario(kv)
        finally:
            await kv.close()

    run(play())


@pytest.fixture(autouse=True)
def etcdctl_is_there(cluster: EtcdCluster) -> None:
    if not cluster.program.with_name("etcdctl").exists():
        pytest.skip("no etcdctl beside etcd")


def test_without_a_name_everything_is_refused_and_says_what_is_missing(cluster: EtcdCluster) -> None:
    async def scenario(kv: EtcdKV) -> None:
        with pytest.raises(AccessDenied, match="a username and password, or a client certificate, are needed"):
            await kv.get(b"/ours/k")
        with pytest.raises(AccessDenied):
            await kv.watch(b"/ours/", after_revision=1)

    with_store(cluster, scenario, "", "")


def test_a_wrong_password_is_refused(cluster: EtcdCluster) -> None:
    async def scenario(kv: EtcdKV) -> None:
        with pytest.raises(AccessDenied, match="check username and password"):
            await kv.get(b"/ours/k")

    with_store(cluster, scenario, "limited", "wrong")


def test_a_user_may_do_what_the_role_allows_and_nothing_else(cluster: EtcdCluster) -> None:
    async def scenario(kv: EtcdKV) -> None:
        watch = await kv.watch(b"/ours/")
        revision = await put(kv, b"/ours/k", b"v")
        assert summary(await take(watch, 1)) == [("put", b"/ours/k", b"v", revision)]
        assert (await kv.range(b"/ours/", b"/ours0")).count == 1
        assert await kv.current_revision() == revision
        for operation in (
            kv.get(b"/theirs/k"),
            kv.optimistic_put(b"/theirs/k", b"v", 0),
            kv.range(b"", b"\0"),
        ):
            with pytest.raises(AccessDenied, match="grant its role the keys"):
                await operation
        await kv.optimistic_delete(b"/ours/k", revision)

    with_store(cluster, scenario, "limited", "limitedpw")


def test_a_watch_that_is_not_allowed_says_so(cluster: EtcdCluster) -> None:
    async def scenario(kv: EtcdKV) -> None:
        async def watch() -> None:
            await next_batch(await kv.watch(b"/theirs/", after_revision=1))

        with pytest.raises(AccessDenied):
            await asyncio.wait_for(watch(), 10)

    with_store(cluster, scenario, "limited", "limitedpw")


def test_a_token_that_is_not_accepted_any_more_is_replaced(cluster: EtcdCluster) -> None:
    async def scenario(kv: EtcdKV) -> None:
        watch = await kv.watch(b"/ours/")
        first = await put(kv, b"/ours/k", b"one")
        cluster.members[0].kill()
        cluster.members[0].restart()  # forgets the tokens it gave
        await asyncio.to_thread(cluster.members[0].wait_until_healthy)
        results = await asyncio.gather(*(kv.get(b"/ours/k") for _ in range(10)))
        assert all(result.kv is not None for result in results)
        second = await put(kv, b"/ours/k", b"two", first)
        assert [entry[3] for entry in summary(await take(watch, 2))] == [first, second]
        await asyncio.sleep(3)  # the token's time is over
        await kv.optimistic_delete(b"/ours/k", second)

    with_store(cluster, scenario, "limited", "limitedpw")


def test_calls_go_on_over_the_life_of_many_tokens(cluster: EtcdCluster) -> None:
    async def scenario(kv: EtcdKV) -> None:
        renewed = cluster.members[0]._flags[0].startswith("--auth-token=jwt")
        watch = await kv.watch(b"/ours/")
        revision, revisions, tokens = 0, [], set()
        while len(revisions) < 12 or (renewed and len(tokens) < 3):
            await asyncio.gather(*(kv.range(b"/ours/", b"/ours0") for _ in range(3)))
            revision = await put(kv, b"/ours/k", b"v", revision)
            revisions.append(revision)
            tokens.add(kv._cluster.metadata)
            await asyncio.sleep(0.3)
            assert len(revisions) < 60, "tokens are not replaced when their time is over"
        assert [entry[3] for entry in summary(await take(watch, len(revisions)))] == revisions
        late = await kv.watch(b"/ours/", after_revision=revisions[0])
        assert [entry[3] for entry in summary(await take(late, len(revisions) - 1))] == revisions[1:]
        await kv.optimistic_delete(b"/ours/k", revision)

    with_store(cluster, scenario, "limited", "limitedpw")


def test_a_watch_that_is_refused_for_its_token_comes_back_with_a_new_one(cluster: EtcdCluster) -> None:
    async def scenario(kv: EtcdKV) -> None:
        watch = await kv.watch(b"/ours/")
        assert isinstance(watch, EtcdWatch)
        first = await put(kv, b"/ours/k", b"one")
        assert [entry[3] for entry in summary(await take(watch, 1))] == [first]
        old = kv._cluster.metadata = (*REQUIRE_LEADER, ("token", "of-another-time.7"))
        cluster.members[0].kill()
        cluster.members[0].restart()
        async with asyncio.timeout(30):  # the next stream is the first to use it
            while watch.state is not WatchState.FOLLOWING or kv._cluster.metadata == old:
                await asyncio.sleep(0.01)
        second = await put(kv, b"/ours/k", b"two", first)
        assert [entry[3] for entry in summary(await take(watch, 1))] == [second]

    with_store(cluster, scenario, "limited", "limitedpw")


def test_watches_that_are_refused_together_share_a_new_token(cluster: EtcdCluster) -> None:
    async def scenario(kv: EtcdKV) -> None:
        watches = [await kv.watch(b"/ours/") for _ in range(20)]
        member = kv._cluster.member
        asked: list[Any] = []
        authenticate = member.authenticate

        def counted(*args: Any, **options: Any) -> Any:
            asked.append(args)
            return authenticate(*args, **options)

        member.authenticate = counted
        kv._cluster.metadata = (*REQUIRE_LEADER, ("token", "of-another-time.7"))
        for watch in watches:
            assert isinstance(watch, EtcdWatch)
            watch._call.cancel()
        made = await put_at_last(kv, b"/ours/shared")
        for watch in watches:
            assert [entry[3] for entry in summary(await take(watch, 1))] == [made]
        assert 1 <= len(asked) <= 3
        asked.clear()
        await asyncio.sleep(1.1)  # signed tokens of one second are one token
        await kv._cluster.authenticate(stale=kv._cluster.metadata)
        for watch in watches:  # one that was refused with the token before only has to use the new one
            assert isinstance(watch, EtcdWatch)
            assert await watch._authenticate_again()
        assert len(asked) == 1
        await kv.optimistic_delete(b"/ours/shared", made)

    with_store(cluster, scenario, "limited", "limitedpw")


async def put_at_last(kv: EtcdKV, key: bytes) -> int:
    """Write when all watches have begun again: what makes a new token must not be the write."""
    await asyncio.sleep(0.1)
    async with asyncio.timeout(30):
        while any(watch.state is not WatchState.FOLLOWING for watch in kv._watches):
            await asyncio.sleep(0.05)
    return await put(kv, key)


def test_credentials_do_no_harm_where_none_are_needed_and_help_once_they_are(tmp_path: Path) -> None:
    with running_cluster(tmp_path) as cluster:

        async def scenario(kv: EtcdKV) -> None:
            first = await put(kv, b"/ours/k")
            watch = await kv.watch(b"/ours/")
            await ask_for_names(cluster, "root", "rootpw")
            second = await put(kv, b"/ours/k", b"w", first)
            assert [entry[3] for entry in summary(await take(watch, 1))] == [second]
            late = await kv.watch(b"/ours/", after_revision=first)
            assert [entry[3] for entry in summary(await take(late, 1))] == [second]

        with_store(cluster, scenario, "root", "rootpw")


async def ask_for_names(cluster: EtcdCluster, name: str, password: str) -> None:
    """Turn authentication on."""
    (member,) = connect(EtcdConfig(cluster.urls))
    auth: Any = rpc_pb2_grpc.AuthStub(member._channel)
    await auth.UserAdd(rpc_pb2.AuthUserAddRequest(name=name, password=password))
    await auth.RoleAdd(rpc_pb2.AuthRoleAddRequest(name="root"))
    await auth.UserGrantRole(rpc_pb2.AuthUserGrantRoleRequest(user=name, role="root"))
    await auth.AuthEnable(rpc_pb2.AuthEnableRequest())
    await member.close()


def test_who_waits_for_a_token_waits_no_longer_than_for_an_answer(tmp_path: Path) -> None:
    with running_cluster(tmp_path) as cluster:
        cluster.members[0].pause()

        async def play() -> None:
            kv = open_etcd(EtcdConfig(cluster.urls * 8, username="root", password="pw", request_timeout=1))
            start = asyncio.get_running_loop().time()
            with pytest.raises(Unavailable):
                await asyncio.gather(kv.get(b"/ours/k"), kv.optimistic_put(b"/ours/k", b"v", 0))
            assert asyncio.get_running_loop().time() - start < 4
            await kv.close()

        run(play())
        cluster.members[0].resume()


def test_who_may_not_see_the_status_is_told_that_the_cluster_answers() -> None:
    async def scenario() -> None:
        kv = await empty_store()
        assert isinstance(kv, EtcdKV)
        asked = kv._cluster.call

        async def refused(method: Any, request: Any, **options: Any) -> Any:
            if isinstance(request, rpc_pb2.StatusRequest):
                raise AccessDenied("permission denied")
            return await asked(method, request, **options)

        kv._cluster.call = refused  # type: ignore[method-assign]
        found = await kv.status()
        assert (found.backend, found.version, found.db_size) == ("etcd", "", 0)
        assert found.revision == await kv.current_revision()
        watch = await kv.watch(b"/a/")
        assert await kv.request_progress(watch)  # only versions that can be trusted refuse
        await kv.close()

    run(scenario())

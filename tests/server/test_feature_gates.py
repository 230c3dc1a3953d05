"""Which settings of feature gates a server takes."""

from __future__ import annotations

import pytest

from watchkeeper.server.errors import StartupError
from watchkeeper.server.feature_gates import check_feature_gates


@pytest.mark.parametrize(
    "settings",
    [
        (),
        ("WatchList=true", "APIServerTracing=1"),
        ("kube:WatchList=T",),
        ("AllAlpha=false",),
        ("GracefulNodeShutdown=false", "SchedulerAsyncAPICalls=false", "MemoryQoS=true"),
        (" StructuredAuthenticationConfiguration = true ",),
    ],
)
def test_what_is_so_anyway_may_be_said(settings: tuple[str, ...]) -> None:
    check_feature_gates(settings)


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("Foo=true", "unrecognized feature gate: Foo"),
        ("WatchList", "missing bool value for WatchList"),
        (
            "WatchList=maybe",
            'invalid value of WatchList=maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax',
        ),
        ("WatchList=false", "WatchList=false would change what is served, which is as by default"),
        ("AllAlpha=true", "AllAlpha=true would change what is served, which is as by default"),
        ("AllBeta=false", "AllBeta=false would change what is served, which is as by default"),
        (
            "StructuredAuthenticationConfiguration=false",
            "cannot set feature gate StructuredAuthenticationConfiguration to false, feature is locked to true",
        ),
        (
            "SeparateCacheWatchRPC=true",
            "cannot set feature gate SeparateCacheWatchRPC to true, feature is locked to false",
        ),
    ],
)
def test_what_is_not_so_is_refused(setting: str, why: str) -> None:
    with pytest.raises(StartupError) as refused:
        check_feature_gates(("AllAlpha=false", setting))
    assert str(refused.value) == f"--feature-gates: {why}"

"""kube-apiserver's flags: how they are read, and which are refused in which words."""

from pathlib import Path

import pytest

from watchkeeper.server.envtest.flags import ONLY, WITHOUT_EFFECT, FlagError, authorization, read_flags
from watchkeeper.server.envtest.kube_apiserver import _of_kube_apiserver, _parser, read_options, usage

ETCD = "--etcd-servers=http://127.0.0.1:1"


def options(*argv, **environ):
    return read_options([ETCD, *argv], environ)


def refusal(*argv):
    with pytest.raises(FlagError) as caught:
        read_options(list(argv), {})
    return str(caught.value)


def test_values_stand_behind_flags_or_follow_them():
    parsed = options("--secure-port", "7443", "--bind-address=::1", "--profiling", "--max_requests_inflight=7")
    assert (parsed.port, parsed.bind, parsed.max_requests_inflight) == (7443, "::1", 7)
    assert (parsed.storage, parsed.controllers, parsed.authorization) == ("http://127.0.0.1:1", (), "AlwaysAllow")
    assert options("-v", "5").log_level == options("--v=5").log_level == options("-v5").log_level == "debug"


def test_whatever_the_server_knows_is_heeded():
    options_of_the_server = {name for name, _ in _of_kube_apiserver(_parser({}))}
    assert not options_of_the_server & (WITHOUT_EFFECT | ONLY.keys())
    parsed = options("--kubelet-port=10251", "--goaway-chance", "0.01", "--kubelet-timeout=5s", "--vmodule=a*=5")
    assert (parsed.kubelet_port, parsed.goaway_chance) == (10251, 0.01)


def test_lists_are_collected():
    parsed = options(
        "--runtime-config=api/beta=false", "--runtime-config=apps/v1=false",
        "--enable-admission-plugins=PodSecurity", "--enable-admission-plugins=Priority,EventRateLimit",
        "--disable-admission-plugins=", "--feature-gates=WatchList=true", "--feature-gates=WatchListClient=true",
    )  # fmt: skip
    assert parsed.runtime_config == ("api/beta=false", "apps/v1=false")
    assert parsed.enable_admission_plugins == ("PodSecurity", "Priority", "EventRateLimit", "ServiceAccount")
    assert parsed.disable_admission_plugins == ()
    assert parsed.feature_gates == ("WatchList=true", "WatchListClient=true")


def test_pods_need_service_accounts_unless_that_is_turned_off():
    assert options().enable_admission_plugins == ("ServiceAccount",)
    assert options("--enable-admission-plugins=ServiceAccount").enable_admission_plugins == ("ServiceAccount",)
    assert options("--disable-admission-plugins=ServiceAccount").enable_admission_plugins == ()


def test_certificates_lie_in_the_directory_of_certificates(tmp_path):
    assert options(f"--cert-dir={tmp_path}").tls_cert is None
    for name in ("apiserver.crt", "apiserver.key"):
        (tmp_path / name).touch()
    parsed = options(f"--cert-dir={tmp_path}")
    assert (parsed.tls_cert, parsed.tls_key) == (tmp_path / "apiserver.crt", tmp_path / "apiserver.key")
    assert parsed.data_dir == tmp_path / "watchkeeper"
    given = options(f"--cert-dir={tmp_path}", "--tls-cert-file=/a", "--tls-private-key-file=/b")
    assert (given.tls_cert, given.tls_key) == (Path("/a"), Path("/b"))


def test_the_environment_says_what_kube_apiserver_has_no_flags_for():
    parsed = options(WATCHKEEPER_CONTROLLERS="namespace", WATCHKEEPER_PORT="1", WATCHKEEPER_LOG_LEVEL="error")
    assert (parsed.controllers, parsed.port, parsed.log_level) == (("namespace",), 6443, "error")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--foo"], "unknown flag: --foo"),
        (["--port=1"], "unknown flag: --port"),
        (["--no-anonymous-auth"], "unknown flag: --no-anonymous-auth"),
        (["--insecure-port=0"], "unknown flag: --insecure-port"),
        (["--etcd-servers"], "flag needs an argument: --etcd-servers"),
        (["extra"], '"kube-apiserver" does not take any arguments, got ["extra"]'),
        (["-x"], "unknown shorthand flag: 'x' in -x"),
        (["--secure-port=1"], "--etcd-servers must be specified"),
        (
            ["--profiling=x"],
            'invalid argument "x" for "--profiling" flag: strconv.ParseBool: parsing "x": invalid syntax',
        ),
        (
            ["--allow-privileged=false"],
            'invalid argument "false" for "--allow-privileged" flag: watchkeeper knows true only',
        ),
        (
            ["--authorization-webhook-config-file=x"],
            'invalid argument "x" for "--authorization-webhook-config-file" flag: watchkeeper has no such thing',
        ),
    ],
)
def test_what_is_refused_is_told_as_kube_apiserver_does(argv, said):
    assert refusal(*argv) == said


def test_numbers_that_are_none_are_refused():
    assert "invalid int value: 'x'" in refusal(ETCD, "--secure-port=x")


def test_modes_of_authorization_are_those_of_the_server_and_that_of_kubelets():
    def of(*values):
        return authorization([("authorization-mode", value) for value in values])

    assert (of(), of("RBAC"), of("Node,RBAC"), of("Node", "RBAC")) == ("AlwaysAllow", "RBAC", "RBAC", "RBAC")
    assert of("RBAC,AlwaysAllow") == of("RBAC", "AlwaysAllow") == "RBAC,AlwaysAllow"


def test_help_has_a_line_for_each_flag_that_is_taken():
    shown = {line.split()[0].removeprefix("--") for line in usage().splitlines() if line.startswith("      --")}
    assert {"secure-port", "cert-dir", "etcd-servers", "authorization-mode", "feature-gates"} <= shown
    assert shown >= WITHOUT_EFFECT | {name for name, values in ONLY.items() if values}
    assert not {"insecure-port", "data-dir", "storage"} & shown
    for name in shown:
        value = next(iter(ONLY.get(name, ())), "0")
        assert [each for each, _ in read_flags([f"--{name}={value}"], shown, ())] == [name]

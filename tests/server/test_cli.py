"""The command line besides `serve`."""

import io
import json
import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest

from watchkeeper.server import cli
from watchkeeper.server.arguments import serve_options
from watchkeeper.server.errors import StartupError
from watchkeeper.server.logs import configure_logging, verbose_modules
from watchkeeper.server.option_parsing import UsageError, variable
from watchkeeper.server.options import CONTROLLERS, ServeOptions, default_data_dir


def parse(*arguments, **environ):
    return serve_options(cli.parser(environ).parse_args(["serve", *arguments]))


def test_version_says_which_kubernetes_is_served(capsys):
    assert cli.main(["version"]) == 0
    said = capsys.readouterr().out
    assert "Kubernetes 1.36" in said
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--version"])
    assert capsys.readouterr().out == said


def test_kubeconfig_prints_what_a_server_has_written(tmp_path, capsys):
    (tmp_path / "kubeconfig").write_text("written")
    assert cli.main(["kubeconfig", "--data-dir", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "written"
    assert cli.main(["kubeconfig", "--data-dir", str(tmp_path / "nowhere")]) == 1
    assert "has a server been started there?" in capsys.readouterr().err


def test_a_database_can_be_looked_after(tmp_path, capsys):
    from watchkeeper.kv.sqlite.store import SQLiteKV

    path = tmp_path / "watchkeeper.db"
    import asyncio

    async def fill():
        kv = SQLiteKV.open(path)
        await kv.optimistic_put(b"/a", b"1", 0)
        await kv.close()

    asyncio.run(fill())
    data_dir = ["--data-dir", str(tmp_path)]
    for action, said in [("info", "keys: 1"), ("check", "sound"), ("compact", "is gone"), ("vacuum", "bytes now")]:
        assert cli.main(["db", action, *data_dir]) == 0, action
        assert said in capsys.readouterr().out
    assert cli.main(["db", "backup", *data_dir, str(tmp_path / "copy.db")]) == 0
    assert (tmp_path / "copy.db").exists()
    assert cli.main(["db", "info", "--file", str(tmp_path / "nowhere.db")]) == 1
    assert capsys.readouterr().err.startswith("watchkeeper: ")


@pytest.mark.parametrize("action", ["info", "check", "compact", "vacuum", "backup"])
def test_an_empty_file_stays_empty(tmp_path, capsys, action):
    path = tmp_path / "empty.db"
    path.touch()
    assert cli.main(["db", action, str(path), *([str(tmp_path / "copy.db")] if action == "backup" else [])]) == 1
    assert capsys.readouterr().err == f"watchkeeper: {path}: the file is empty\n"
    assert path.stat().st_size == 0


def test_every_option_can_stand_in_the_environment_and_the_command_line_wins():
    options = parse("--port", "0", WATCHKEEPER_PORT="1234", WATCHKEEPER_BIND="::1", WATCHKEEPER_INSECURE_HTTP="true")
    assert (options.port, options.bind, options.insecure_http) == (0, "::1", True)
    assert parse("--no-insecure-http", WATCHKEEPER_INSECURE_HTTP="1").insecure_http is False
    assert variable("--token-auth-file") == "WATCHKEEPER_TOKEN_AUTH_FILE"


def test_lists_may_be_given_several_times_and_the_environment_does_not_count_then():
    assert parse("--runtime-config=a=true,b=true", "--runtime-config", "c=false").runtime_config == (
        "a=true",
        "b=true",
        "c=false",
    )
    given = parse(
        "--disable-admission-plugins=A", "--disable-admission-plugins=B", WATCHKEEPER_DISABLE_ADMISSION_PLUGINS="C"
    )
    assert given.disable_admission_plugins == ("A", "B")
    assert parse(WATCHKEEPER_DISABLE_ADMISSION_PLUGINS="C").disable_admission_plugins == ("C",)


def test_controllers_are_on_by_default_and_can_be_none():
    assert parse().controllers == ("namespace", "garbage-collector")
    assert parse("--controllers", "").controllers == ()
    assert parse("--controllers", "namespace, x").controllers == ("namespace", "x")
    assert parse(WATCHKEEPER_CONTROLLERS="").controllers == ()


def test_the_controllers_that_can_be_named_are_those_that_there_are():
    from watchkeeper.controllers.manager import NAMES

    assert set(CONTROLLERS) == set(NAMES)


def test_times_are_seconds_or_written_as_kube_apiserver_has_them():
    options = parse("--request-timeout", "1m30s", "--min-request-timeout=20", "--shutdown-grace", "500ms")
    assert (options.request_timeout, options.min_request_timeout, options.shutdown_grace) == (90.0, 20.0, 0.5)


def test_options_go_by_the_names_of_kube_apiserver_too():
    names = ("--secure-port=7443", "--bind-address=::1", "--authorization-mode=AlwaysAllow", "--logging-format=json")
    given = parse(*names, "--v=6")
    assert (given.port, given.bind, given.authorization) == (7443, "::1", "AlwaysAllow")
    assert (given.log_format, given.log_level) == ("json", "debug")
    assert parse("--v=2", "--log-level=warning").log_level == "warning"


def test_files_of_which_everything_is_logged_are_named_by_patterns():
    assert parse("--vmodule=gc_*=4,,store.go=9,plain=3").vmodule == ("gc_*", "store.go")
    assert parse("--vmodule=a=4", "--vmodule=b=5").vmodule == ("a", "b")
    stream, root = io.StringIO(), logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers.clear()  # which would be closed
    configure_logging("text", "warning", stream, modules=("test_c*",))
    try:
        logging.getLogger("anything").debug("here")
        there = {"name": "anything", "levelno": logging.INFO, "module": "store", "msg": "there"}
        root.handle(logging.makeLogRecord(there))
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
    assert stream.getvalue().endswith("DEBUG anything: here\n")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a", '"a" does not have the pattern=N format'),
        ("a=1,=2", '"=2" does not have the pattern=N format'),
        ("a=1=2", '"a=1=2" does not have the pattern=N format'),
        ("a=x", 'parsing verbosity in "a=x": strconv.ParseUint: parsing "x": invalid syntax'),
        (
            "a=2147483648",
            'parsing verbosity in "a=2147483648": strconv.ParseUint: parsing "2147483648": value out of range',
        ),
    ],
)
def test_what_is_no_pattern_with_a_level_is_told_as_kube_apiserver_tells_it(text, why):
    with pytest.raises(ValueError) as caught:
        verbose_modules(text)
    assert str(caught.value) == why


@pytest.mark.parametrize("chance", ["-0.001", "0.021", "1"])
def test_answers_close_their_connections_with_a_small_chance_only(chance):
    with pytest.raises(StartupError, match=r"^--goaway-chance can not be less than 0 or greater than 0\.02$"):
        parse(f"--goaway-chance={chance}").check()
    assert parse("--goaway-chance=0.02").goaway_chance == 0.02


def test_switches_are_on_and_off_in_the_words_of_go_too():
    switches = {"--anonymous-auth": True, "--anonymous-auth=false": False, "--no-anonymous-auth": False}
    switches |= {"--anonymous-auth=T": True, "--anonymous-auth=0": False, "--no-anonymous-auth=false": True}
    assert {switch: parse(switch).anonymous_auth for switch in switches} == switches
    assert parse("--anonymous-auth=false", "--read-only").read_only is True
    with pytest.raises(SystemExit):
        parse("--anonymous-auth=perhaps")


def test_help_tells_defaults_and_variables_wherever_the_user_lives(capsys):
    for command in ("serve", "export"):
        with pytest.raises(SystemExit):
            cli.parser({"HOME": "/100%", "COLUMNS": "200"}).parse_args([command, "--help"])
        told = " ".join(capsys.readouterr().out.split())
        assert "database are kept (default: /100%/.local/share/watchkeeper) [WATCHKEEPER_DATA_DIR]" in told
        assert "waits for an answer of etcd (default: 10) [WATCHKEEPER_ETCD_REQUEST_TIMEOUT]" in told
        assert ("[WATCHKEEPER_STORAGE, WATCHKEEPER_ETCD_SERVERS]" in told) is (command == "serve")


def test_a_store_to_export_is_named_on_the_command_line_alone():
    environ = {"WATCHKEEPER_STORAGE": "memory:", "WATCHKEEPER_ETCD_SERVERS": "https://one:2379"}
    assert cli.parser(environ).parse_args(["export"]).storage == ""


def test_a_unix_socket_alone_means_no_port():
    assert parse("--unix-socket", "/x").tcp is False
    assert parse("--unix-socket", "/x", "--port", "0").tcp is True
    assert parse().tcp is True


@pytest.mark.parametrize(
    ("arguments", "environ"),
    [
        (["--log-format", "xml"], {}),
        (["--log-level", "loud"], {}),
        ([], {"WATCHKEEPER_PORT": "many"}),
        ([], {"WATCHKEEPER_INSECURE_HTTP": "perhaps"}),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(arguments, environ):
    with pytest.raises(UsageError):
        parse(*arguments, **environ)


def test_a_number_in_the_environment_that_is_none_is_named():
    with pytest.raises(UsageError, match=r"^WATCHKEEPER_PORT: 'many' is no number$"):
        parse(WATCHKEEPER_PORT="many")


@pytest.mark.parametrize(
    "wrong",
    [
        {"insecure_http": True, "bind": "10.0.0.1"},
        {"tls_cert": Path("x")},
        {"insecure_http": True, "client_ca": Path("x")},
        {"port": 70000},
        {"tcp": False},
        {"controllers": ("namespace", "x")},
        {"request_timeout": 0.0},
        {"strict_transport_security_directives": ("includeSubdomains",)},
        {"strict_transport_security_directives": ("max-age=1=2",)},
        {"max_requests_inflight": -1},
        {"max_mutating_requests_inflight": -1},
    ],
)
def test_contradictions_keep_a_server_from_starting(wrong):
    with pytest.raises(StartupError):
        ServeOptions(data_dir=Path("d"), **wrong).check()


@pytest.mark.parametrize(
    ("modes", "message"),
    [
        ("", "at least one authorization-mode must be passed"),
        ("RBAC,ABAC", 'authorization-mode "ABAC" is none of RBAC, AlwaysAllow'),
        ("RBAC,RBAC", 'authorization-mode ["RBAC" "RBAC"] has mode specified more than once'),
    ],
)
def test_authorization_modes_are_known_and_come_once(modes, message):
    with pytest.raises(StartupError, match=f"^{re.escape(message)}$"):
        parse(f"--authorization-mode={modes}").check()
    assert parse("--authorization-mode=RBAC,AlwaysAllow").authorization_modes == ("RBAC", "AlwaysAllow")


def test_data_lives_in_the_users_data_directory():
    assert default_data_dir({"XDG_DATA_HOME": "/x"}) == Path("/x/watchkeeper")
    assert default_data_dir({"HOME": "/home/u"}) == Path("/home/u/.local/share/watchkeeper")


def test_a_token_is_never_shown():
    assert "secret" not in repr(ServeOptions(data_dir=Path("d"), admin_token="secret"))
    assert json.dumps(str(parse("--admin-token", "secret"))).count("secret") == 0


@pytest.mark.parametrize("option", ["encryption-provider-config", "audit-policy-file", "authentication-config", "crds"])
def test_a_file_that_cannot_be_parsed_is_one_line(tmp_path, option):
    path = tmp_path / "some.yaml"
    path.write_text("a: [\n")
    command = [sys.executable, "-m", "watchkeeper", "serve", "--storage", "memory:", "--port", "0"]
    log = ["--audit-log-path", str(tmp_path / "log")] if option.startswith("audit") else []
    command += ["--data-dir", str(tmp_path), f"--{option}", str(path), *log]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    [line] = [line for line in done.stderr.splitlines() if " INFO " not in line]
    assert done.returncode == 1
    assert line.startswith("watchkeeper: ")
    assert "did not find expected" in line or "expected the node content" in line

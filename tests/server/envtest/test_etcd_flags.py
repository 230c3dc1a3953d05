"""etcd's flags: which are heeded, and which are refused in which words."""

import pytest

from watchkeeper.server.envtest import etcd
from watchkeeper.server.envtest.etcd_flags import FlagError, read_flags


def test_values_stand_behind_flags_or_follow_them_and_one_dash_will_do():
    assert read_flags(["--data-dir", "/a", "-listen-client-urls=http://h:1", "--unsafe-no-fsync", "--pre-vote=f"]) == {
        "data-dir": "/a", "listen-client-urls": "http://h:1", "unsafe-no-fsync": "true", "pre-vote": "false",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("--foo=1", "flag provided but not defined: -foo"),
        ("extra", "'extra' is not a valid flag"),
        ("--name", "flag needs an argument: -name"),
        ("--pre-vote=x", 'invalid boolean value "x" for -pre-vote: parse error'),
        ("--cert-file=x", "--cert-file: watchkeeper's stand-in for etcd speaks no TLS"),
        (
            "--listen-client-urls=https://h:1",
            "--listen-client-urls https://h:1: watchkeeper's stand-in for etcd serves http://HOST:PORT",
        ),
    ],
)
def test_what_is_refused_is_told(argument, said):
    with pytest.raises(FlagError) as caught:
        read_flags([argument])
    assert str(caught.value) == said


def test_help_version_and_failures_have_codes(capsys, tmp_path):
    assert etcd.main(["--help"]) == 0
    assert "\n  --unsafe-no-fsync" in capsys.readouterr().out
    assert etcd.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("etcd Version: 3.")
    assert etcd.main(["--foo"]) == 2
    (tmp_path / "file").touch()
    assert etcd.main([f"--data-dir={tmp_path / 'file'}"]) == 1
    assert capsys.readouterr().err.endswith(f"etcd: --data-dir {tmp_path / 'file'}: File exists\n")
    assert etcd.main([f"--data-dir={tmp_path}", "--listen-client-urls=http://127.0.0.1:no"]) == 1

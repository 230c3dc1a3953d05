"""`watchkeeper envtest` writes executables and tells where they are."""

import os
import subprocess

from watchkeeper.server import cli
from watchkeeper.server.envtest.assets import default_directory, shell_lines, write_assets


def test_the_path_is_printed_and_executables_are_there(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a cache"))
    assert cli.main(["envtest"]) == 0
    directory = capsys.readouterr().out.removesuffix("\n")
    assert directory == str(default_directory(os.environ))
    done = subprocess.run([f"{directory}/kube-apiserver", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Kubernetes v1.36.")


def test_a_shell_can_source_what_is_printed(tmp_path, capsys):
    assert cli.main(["envtest", "-p", "env", "--bin-dir", str(tmp_path / "it's")]) == 0
    script = capsys.readouterr().out + 'echo "$KUBEBUILDER_ASSETS $TEST_ASSET_ETCD"; "$TEST_ASSET_ETCD" --version'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"{tmp_path}/it's {tmp_path}/it's/etcd\netcd Version: ")


def test_kubectl_is_the_one_on_the_path(tmp_path):
    elsewhere, directory = tmp_path / "bin", tmp_path / "assets"
    elsewhere.mkdir()
    environ = {"PATH": f"{directory}:{elsewhere}"}
    assert [path.name for path in write_assets(directory, environ)] == ["etcd", "kube-apiserver"]
    (elsewhere / "kubectl").touch(0o755)
    for _ in range(2):
        assert write_assets(directory, environ)[-1].readlink() == elsewhere / "kubectl"
    assert "export TEST_ASSET_KUBECTL=" in shell_lines(write_assets(directory, environ))
    (elsewhere / "kubectl").unlink()
    assert len(write_assets(directory, environ)) == 2
    assert not (directory / "kubectl").is_symlink()


def test_what_is_right_is_left_alone(tmp_path):
    first = [path.stat().st_ino for path in write_assets(tmp_path, {})]
    assert [path.stat().st_ino for path in write_assets(tmp_path, {})] == first
    (tmp_path / "etcd").write_text("older")
    write_assets(tmp_path, {})
    assert "watchkeeper" in (tmp_path / "etcd").read_text()


def test_a_directory_that_cannot_be_written_is_told_of(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert cli.main(["envtest", "--bin-dir", str(tmp_path / "file")]) == 1
    assert capsys.readouterr().err == f"watchkeeper: cannot write to {tmp_path / 'file'}: File exists\n"

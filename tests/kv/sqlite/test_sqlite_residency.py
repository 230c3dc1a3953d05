"""Whether a file is in memory is what the system says, for a short while."""

import os
from pathlib import Path

import pytest

from watchkeeper.kv.sqlite import residency
from watchkeeper.kv.sqlite.residency import LASTING, Residency, is_resident

MEBIBYTE = 1024 * 1024


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(MEBIBYTE))
    if not is_resident([path]):
        pytest.skip("this system does not tell what it keeps in memory (cachestat, Linux 6.5)")
    return path


def test_a_file_that_was_just_written_is_in_memory_and_one_that_is_absent_needs_none(file: Path) -> None:
    assert is_resident([file, file.with_name("absent")])
    assert is_resident([])


def test_a_file_that_was_given_up_is_not_in_memory_until_it_is_read(file: Path) -> None:
    with file.open("rb") as opened:
        os.fsync(opened.fileno())
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if is_resident([file]):
        pytest.skip("this file system gives nothing up")
    other = file.with_name("other")
    other.write_bytes(b"x")
    assert is_resident([other])
    assert not is_resident([other, file])
    file.read_bytes()
    assert is_resident([other, file])


def test_what_cannot_be_opened_or_told_is_not_in_memory(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = file.with_name("loop")
    loop.symlink_to(loop)
    assert not is_resident([loop])
    monkeypatch.setattr(residency, "_syscall", lambda: lambda *_: -1)
    assert not is_resident([file])
    monkeypatch.setattr(residency, "_syscall", lambda: None)
    assert not is_resident([file])


def test_an_answer_lasts_for_a_moment(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = Residency([file])
    assert not known.holds(100.0)
    known.look(100.0)
    assert known.holds(100.0 + LASTING / 2)
    assert not known.holds(100.0 + LASTING)
    monkeypatch.setattr(residency, "is_resident", lambda _: False)
    known.look(100.0)
    assert not known.holds(100.0)

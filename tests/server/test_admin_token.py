"""The administrator's token: given, or made once and kept."""

import stat
from pathlib import Path

from watchkeeper.server.admin_token import FILE, admin_token


def test_it_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    token = admin_token(tmp_path)
    assert admin_token(tmp_path) == token
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


def test_one_that_is_given_is_not_kept(tmp_path: Path) -> None:
    assert admin_token(tmp_path, "given") == "given"
    assert not (tmp_path / FILE).exists()


def test_no_command_line_takes_it_for_an_option(tmp_path: Path) -> None:
    for number in range(50):
        directory = tmp_path / str(number)
        directory.mkdir()
        assert admin_token(directory).isalnum()

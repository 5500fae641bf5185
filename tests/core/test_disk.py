"""Files of a folder that nobody vouches for: whatever stands there, the answer comes at once and is bounded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.fixtures.repository import looks_like_one
from tui_agent.core.disk import beginning, private_folder
from tui_agent.tools.walk import files
from tui_agent.workspace.committed import tracked
from tui_agent.workspace.git import branch_of

STRANGE = {
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "folder": Path.mkdir,
    "loop": lambda path: path.symlink_to(path),
    "nothing": lambda _: None,
}


@pytest.mark.parametrize("kind", STRANGE)
def test_what_is_no_ordinary_file_is_not_waited_for(tmp_path: Path, kind: str) -> None:
    mark = looks_like_one(tmp_path)
    (mark / "HEAD").unlink()
    for name in ("HEAD", "index"):
        STRANGE[kind](tmp_path / ".git" / name)
    STRANGE[kind](tmp_path / ".gitignore")
    assert beginning(tmp_path / ".git" / "HEAD", 10) is None
    assert branch_of(tmp_path) == ""
    assert tracked(str(tmp_path)) == {}
    assert list(files(str(tmp_path))) is not None


def test_only_the_beginning_is_read_and_a_link_only_on_request(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")
    (tmp_path / "b").symlink_to("a")
    assert beginning(tmp_path / "a", 4) == b"0123"
    assert beginning(tmp_path / "b", 40) == b"0123456789"
    assert beginning(tmp_path / "b", 40, links=False) is None
    assert beginning("\0", 4) is None


def test_a_private_folder_is_private_all_the_way(tmp_path: Path) -> None:
    private_folder(tmp_path / "a" / "b" / "c")
    private_folder(tmp_path / "a" / "b" / "c")
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "a/b", "a/b/c")} == {0o700}
    (tmp_path / "open").mkdir(mode=0o755)
    private_folder(tmp_path / "open" / "d")
    assert (tmp_path / "open").stat().st_mode & 0o777 == 0o755, "what was there stays as it was"


def test_a_file_in_the_way_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    for path in (tmp_path / "a", tmp_path / "a" / "b"):
        with pytest.raises(OSError, match="a"):
            private_folder(path)

"""Files by which git is led to another folder: they are read as git reads them, whatever stands in them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.workspace.test_git import git_here, names
from tui_agent.workspace.protected import remember, restore

LED = [("x ", "x \n"), (" x", " x\n"), ("x\t", "x\t"), ("x", "x\0 y"), ("x", "x\r\n\n"), ("x\u2028", "x\u2028\n")]


@pytest.mark.parametrize(("name", "written"), LED)
@pytest.mark.parametrize("common", [False, True], ids=["of a .git", "of a common folder"])
def test_a_folder_that_git_is_led_to_is_found_however_its_name_is_written(
    name: str, written: str, tmp_path: Path, *, common: bool
) -> None:
    git_here(tmp_path, "init", "-q", "repo")
    git_here(tmp_path, "init", "-q", "other")
    root, led = tmp_path / "repo", tmp_path / name
    (tmp_path / "other/.git").rename(led)
    (led / "config").write_text(f'[filter "f"]\nclean = touch {tmp_path}/PWN; cat\n')
    if common:
        (root / ".git/commondir").write_text(f"../../{written}")
    else:
        (root / ".git").rename(tmp_path / "was")
        (root / ".git").write_text(f"gitdir: {tmp_path}/{written}")
    (root / ".gitattributes").write_text("* filter=f")
    assert names(str(root)) == {("filter", "f")}
    git_here(root, "add", ".gitattributes")
    assert not (tmp_path / "PWN").exists()
    (root / ".git/index" if common else led / "index").unlink()
    subprocess.run(["git", "add", ".gitattributes"], cwd=root, check=True)
    assert (tmp_path / "PWN").exists()  # it bites without the hardening


@pytest.mark.parametrize(
    "name", [".git", ".git/commondir", ".git/gitdir", ".git/worktrees/w/gitdir", ".git/worktrees/w/commondir"]
)
@pytest.mark.parametrize("written", ["gitdir: a\0b", "a\0", "", "gitdir: ", "gitdir: .git", "gitdir: \udcff"])
def test_whatever_stands_in_one_all_that_is_protected_comes_back(name: str, written: str, tmp_path: Path) -> None:
    for repository in (tmp_path, tmp_path / "low"):
        git_here(tmp_path, "init", "-q", str(repository))
    was = (tmp_path / ".git/config").read_bytes()
    for folder in ("low", "new"):  # one that is there and one that is not
        for _ in range(2):  # what one command leaves is what the next one finds
            before = remember(tmp_path)
            (tmp_path / ".git/config").write_text("[alias]\nst = !id\n")
            mark = tmp_path / folder / name
            if name == ".git" and mark.is_dir():
                mark.rename(tmp_path / "away")
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.write_bytes(written.encode("utf-8", "surrogateescape"))
            restore(tmp_path, before)
            assert (tmp_path / ".git/config").read_bytes() == was
            assert (tmp_path / "low/.git/config").read_bytes() == was

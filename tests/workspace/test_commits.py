"""Commits under every fault: the file is its old or its approved new bytes, and nothing is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.fakes import Person
from tui_agent.core.types import ConfigError
from tui_agent.tools.arguments import ToolError
from tui_agent.workspace import Workspace, faults
from tui_agent.workspace.files import Disk
from tui_agent.workspace.paths import Anchor

POINTS = ("commit", "mkdir", "temp", "write", "fsync", "rename", "unlink", "fsync_dir")
CHANGES = [
    pytest.param(b"old bytes\n", b"new bytes\n", id="replace"),
    pytest.param(None, b"new bytes\n", id="create"),
    pytest.param(b"old bytes\n", None, id="delete"),
]


def tree(root: Path) -> dict[str, bytes | None]:
    return {str(p.relative_to(root)): p.read_bytes() if p.is_file() else None for p in sorted(root.rglob("*"))}


def prepare(root: Path, base: bytes | None, name: str = "sub/a.txt") -> dict:
    root.mkdir(parents=True)
    (root / "keep.txt").write_bytes(b"keep")
    if base is not None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(base)
    return tree(root)


def commit(root: Path, base: bytes | None, new: bytes | None, reach: faults.Reach = faults.nothing, **more: Path):
    disk = Disk(Anchor.at(root), reach=reach, **more)
    return disk.commit(disk.anchor.resolve("sub/a.txt"), base, new)


def wanted(before: dict, new: bytes | None) -> dict:
    after = {**before, "sub": None, "sub/a.txt": new}
    if new is None:
        del after["sub/a.txt"]
    return dict(sorted(after.items()))


class Failing:
    """Fails at the N-th passage of a point, once or from then on; `hit` says whether it came to that."""

    def __init__(self, point: str, first: int, lasting: bool, number: int) -> None:
        self.point, self.first, self.lasting, self.number = point, first, lasting, number
        self.passed, self.hit = 0, False

    def __call__(self, name: str) -> None:
        if name != self.point:
            return
        self.passed += 1
        if self.passed == self.first or (self.lasting and self.passed > self.first):
            self.hit = True
            raise OSError(self.number, os.strerror(self.number))


@pytest.mark.parametrize(("base", "new"), CHANGES)
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "lasting"])
def test_every_passage_of_every_point_may_fail(tmp_path: Path, base, new, point: str, lasting: bool) -> None:
    reached = 0
    for first in range(1, 10):
        root = tmp_path / str(first)
        before = prepare(root, base)
        fault = Failing(point, first, lasting, errno.EIO)
        try:
            saved = commit(root, base, new, fault)
        except OSError:
            assert tree(root) == before
        else:
            assert tree(root) == wanted(before, new)
            assert (saved.doubt is None) == (not fault.hit)
        if not fault.hit:
            break
        reached += 1
    else:
        pytest.fail("the point is passed without end")
    expected = {"create": {"mkdir", "temp", "write", "fsync", "rename"}, "delete": {"unlink"}}
    kind = "create" if base is None else "delete" if new is None else "replace"
    assert (reached > 0) == (
        point in expected.get(kind, {"temp", "write", "fsync", "rename"}) | {"commit", "fsync_dir"}
    )


KILLED = """
import sys
from pathlib import Path
from tui_agent.workspace import Workspace, faults
from tui_agent.workspace.files import Disk
from tui_agent.workspace.paths import Anchor
base = None if sys.argv[3] == "-" else sys.argv[3].encode()
new = None if sys.argv[4] == "-" else sys.argv[4].encode()
disk = Disk(Anchor.at(Path(sys.argv[1])), Path(sys.argv[2]), faults.from_text(sys.argv[5]))
disk.commit(disk.anchor.resolve("sub/a.txt"), base, new)
"""


@pytest.mark.parametrize("where", ["write:2", "fsync:1", "rename:1", "fsync_dir:1"])
def test_after_a_kill_the_next_start_cleans_up(tmp_path: Path, where: str) -> None:
    root, remembered = tmp_path / "ws", tmp_path / "temporary"
    before = prepare(root, b"old")
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(root), str(remembered), "old", "new", where],
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert done.returncode == 137
    left = [name for name in tree(root) if name.endswith(".tmp")]
    assert len(left) == (0 if where.startswith("fsync_dir") else 1)
    assert Disk(Anchor.at(root), remembered).sweep() == len(left)
    assert tree(root) in (before, wanted(before, b"new"))
    assert list(remembered.iterdir()) == []


def test_the_sweep_leaves_files_of_living_processes_and_strangers(tmp_path: Path) -> None:
    root, remembered = tmp_path / "ws", tmp_path / "temporary"
    before = prepare(root, b"old")
    remembered.mkdir()
    living = root / f".tui-agent-{os.getpid()}-abc.tmp"
    living.write_bytes(b"")
    (remembered / living.name).symlink_to(living)
    (remembered / ".tui-agent-999999999-abc.tmp").symlink_to(root / "keep.txt")
    (remembered / "other").symlink_to(root / "keep.txt")
    assert Disk(Anchor.at(root), remembered).sweep() == 0
    assert tree(root) == {**before, living.name: b""}


@examples(60)
@given(
    base=st.none() | st.binary(max_size=40),
    new=st.none() | st.binary(max_size=40),
    fault=st.builds(
        Failing,
        st.sampled_from(POINTS),
        st.integers(1, 3),
        st.booleans(),
        st.sampled_from([errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS, errno.EDQUOT]),
    ),
)
def test_any_bytes_any_fault(tmp_path_factory, base, new, fault) -> None:
    if base == new:
        return
    root = tmp_path_factory.mktemp("any") / "ws"
    before = prepare(root, base)
    try:
        commit(root, base, new, fault)
    except OSError:
        assert tree(root) == before
    else:
        assert tree(root) == wanted(before, new)


# ------------------------------------------------------------------ what is kept


def test_mode_owner_and_attributes_are_kept(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    prepare(root, b"old")
    path = root / "sub/a.txt"
    path.chmod(0o751)
    with contextlib.suppress(OSError):  # a file system without them: then there is nothing to keep
        os.setxattr(path, "user.note", b"mine")
    if os.geteuid() == 0:
        os.chown(path, 1234, 2345)
    before = path.stat()
    names = {name: os.getxattr(path, name) for name in os.listxattr(path)}
    commit(root, b"old", b"new")
    after = path.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert {name: os.getxattr(path, name) for name in os.listxattr(path)} == names


def test_what_lets_a_program_run_as_somebody_else_is_not_kept(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    prepare(root, b"old")
    path = root / "sub/a.txt"
    path.chmod(0o7755)
    rights = struct.pack("<IIIII", 0x02000000, 1 << 10, 0, 0, 0)  # cap_net_bind_service
    with contextlib.suppress(OSError):
        os.setxattr(path, "security.capability", rights)
    commit(root, b"old", b"new")
    assert path.stat().st_mode & 0o7777 == 0o1755
    assert "security.capability" not in os.listxattr(path)


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_a_new_file_has_the_mode_of_the_umask(tmp_path: Path, umask: int) -> None:
    root = tmp_path / "ws"
    prepare(root, None)
    old = os.umask(umask)
    try:
        commit(root, None, b"new")
    finally:
        os.umask(old)
    assert (root / "sub/a.txt").stat().st_mode & 0o777 == 0o666 & ~umask


def test_hard_links_are_counted_and_keep_the_old_bytes(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    prepare(root, b"old")
    os.link(root / "sub/a.txt", tmp_path / "outside")
    assert commit(root, b"old", b"new").links == 1
    assert (tmp_path / "outside").read_bytes() == b"old"


# ------------------------------------------------------------------ races, at the point where they hurt


def at_point(point: str, action: Callable[[], object]) -> faults.Reach:
    def reach(name: str) -> None:
        if name == point:
            action()

    return reach


@pytest.mark.parametrize("point", ["commit", "temp", "write", "fsync"])
def test_a_change_until_the_last_moment_is_seen(tmp_path: Path, point: str) -> None:
    root = tmp_path / "ws"
    prepare(root, b"old")
    path = root / "sub/a.txt"
    with pytest.raises(ToolError, match="changed"):
        commit(root, b"old", b"new", at_point(point, lambda: path.write_bytes(b"mine")))
    assert tree(root) == {"keep.txt": b"keep", "sub": None, "sub/a.txt": b"mine"}


@pytest.mark.parametrize("links", [True, False], ids=["links", "a file system without hard links"])
@pytest.mark.parametrize("point", ["commit", "temp", "write", "fsync", "rename"])
def test_a_file_that_appears_is_never_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str, links: bool
) -> None:
    root = tmp_path / "ws"
    prepare(root, None)

    def no_links(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    if not links:
        monkeypatch.setattr(os, "link", no_links)

    def appear() -> None:
        (root / "sub").mkdir(exist_ok=True)
        (root / "sub/a.txt").write_bytes(b"mine")

    with pytest.raises(ToolError, match="appeared"):
        commit(root, None, b"new", at_point(point, appear))
    assert tree(root) == {"keep.txt": b"keep", "sub": None, "sub/a.txt": b"mine"}


def test_a_file_of_a_workspace_that_is_gone_is_not_called_missing(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    prepare(root, b"old")
    disk = Disk(Anchor.at(root))
    place = disk.anchor.resolve("sub/a.txt")
    shutil.rmtree(root)
    with pytest.raises(ToolError):
        disk.content(place)


def test_to_delete_a_file_no_folder_is_made(tmp_path: Path) -> None:
    root, made = tmp_path / "ws", []
    prepare(root, b"old")

    def gone() -> None:
        shutil.rmtree(root / "sub")

    def reach(name: str) -> None:
        gone() if name == "commit" else made.append(name)

    with pytest.raises(FileNotFoundError):
        commit(root, b"old", None, reach)
    assert (made, tree(root)) == ([], {"keep.txt": b"keep"})


@pytest.mark.parametrize("point", ["commit", "temp", "rename"])
def test_a_folder_that_becomes_a_link_leads_nowhere(tmp_path: Path, point: str) -> None:
    root, outside = tmp_path / "ws", tmp_path / "outside"
    prepare(root, b"old")
    outside.mkdir()
    (outside / "a.txt").write_bytes(b"old")

    def swap() -> None:
        (root / "sub").rename(root / "was")
        (root / "sub").symlink_to(outside)

    if point == "commit":
        with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
            commit(root, b"old", b"new", at_point(point, swap))
    else:
        commit(root, b"old", b"new", at_point(point, swap))  # goes where the folder went: it was opened before
        assert (root / "was/a.txt").read_bytes() == b"new"
    assert (outside / "a.txt").read_bytes() == b"old"
    assert [path.name for path in outside.iterdir()] == ["a.txt"]


def test_real_writes_that_stop_in_the_middle(tmp_path: Path) -> None:
    """A file size limit of the kernel, in a child, so that the tests themselves keep theirs."""
    root = tmp_path / "ws"
    before = prepare(root, b"old")
    code = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000));"
        "from pathlib import Path; import sys; from tui_agent.workspace.files import Disk;"
        "from tui_agent.workspace.paths import Anchor; disk = Disk(Anchor.at(Path(sys.argv[1])));"
        "disk.commit(disk.anchor.resolve('sub/a.txt'), b'old', b'x' * 5000)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(root)], cwd=Path(__file__).parents[2], capture_output=True, check=False
    )
    assert b"File too large" in done.stderr
    assert tree(root) == before


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A temporary folder that every user may enter."""
    folder = Path(tempfile.mkdtemp(prefix="open-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_another_user_keeps_files_that_are_not_ours_to_write(open_folder: Path) -> None:
    """As somebody who may write the folder but not the file: replacing it by rename would be possible, and wrong."""
    root = open_folder / "ws"
    before = prepare(root, b"old")
    (root / "sub").chmod(0o777)
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setresgid(65534, 65534, 65534)
                os.setresuid(65534, 65534, 65534)
            else:
                (root / "sub/a.txt").chmod(0o444)
            try:
                commit(root, b"old", b"new")
            except (PermissionError, ToolError):
                os._exit(7)
            os._exit(0)
        except BaseException:  # noqa: BLE001 - the parent sees the exit code
            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7
    assert tree(root) == before


# ------------------------------------------------------------------ the hook itself


def test_the_variable_names_point_passage_and_error() -> None:
    once = faults.from_text("write:2:ENOSPC")
    once("write")
    with pytest.raises(OSError, match="No space left"):
        once("write")
    once("write")
    lasting = faults.from_text("fsync:1+:EIO")
    for _ in range(3):
        with pytest.raises(OSError, match="error"):
            lasting("fsync")
    lasting("write")
    assert faults.from_text(None) is faults.nothing
    for wrong in ("write", "write:0", "write:1:EWHAT", "write:x"):
        with pytest.raises(ConfigError):
            faults.from_text(wrong)


@pytest.mark.parametrize("fault", ["a file where the folder should be", "no folder can be made"])
def test_where_a_crash_could_not_be_remembered_the_commit_still_happens(tmp_path: Path, fault: str) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (tmp_path / "blocked").write_text("")
    temporary = tmp_path / "blocked" if fault.startswith("a file") else tmp_path / "blocked" / "temporary"
    workspace = Workspace(root, Person(), temporary=temporary)
    outcome = asyncio.run(workspace.call("write_file", {"path": "a.txt", "content": "x\n"}))
    assert outcome.status == "applied"
    assert (root / "a.txt").read_text() == "x\n"


def test_a_read_of_an_endless_file_ends_when_it_is_stopped(tmp_path: Path) -> None:
    (tmp_path / "huge.txt").touch()
    os.truncate(tmp_path / "huge.txt", 1 << 40)
    disk = Disk(Anchor.at(tmp_path))
    stopped = threading.Event()
    stopped.set()
    with pytest.raises(ToolError, match="stopped"):
        disk.view(disk.anchor.resolve("huge.txt"), 1, None, stopped)


def test_names_of_temporary_files_fit_any_folder(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    disk = Disk(Anchor.at(root))
    name = "n" * 255
    disk.commit(disk.anchor.resolve(name), None, b"x")
    assert tree(root) == {name: b"x"}


@pytest.mark.parametrize("how", ["in place", "by a new file"])
@pytest.mark.parametrize(("point", "new"), [("rename", b"new bytes\n"), ("unlink", None)])
def test_what_somebody_writes_at_the_last_moment_is_kept(
    tmp_path: Path, how: str, point: str, new: bytes | None
) -> None:
    root = tmp_path / "ws"
    prepare(root, b"old bytes\n", "a.txt")

    def reach(name: str) -> None:
        if name == point:
            other = root / ("a.txt" if how == "in place" else "b.txt")
            other.write_bytes(b"mine, later\n")
            other.rename(root / "a.txt")

    disk = Disk(Anchor.at(root), reach=reach)
    with pytest.raises(ToolError, match="changed since"):
        disk.commit(disk.anchor.resolve("a.txt"), b"old bytes\n", new)
    assert tree(root) == {"a.txt": b"mine, later\n", "keep.txt": b"keep"}

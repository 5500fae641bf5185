"""Which file a path means: confinement by real path, spelled any way."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tui_agent.tools.arguments import ToolError
from tui_agent.workspace.paths import Anchor


@pytest.fixture
def root(tmp_path: Path) -> Path:
    ws = tmp_path / "ws"
    for folder in ("src/deep", ".git", "outside"):
        (ws / folder).mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/secret").write_text("secret")
    (ws / "src/a.py").write_text("x")
    (ws / "in").symlink_to("src")
    (ws / "in2").symlink_to("in/deep/..")
    (ws / "up").symlink_to("..")
    (ws / "round").symlink_to("../ws/src")
    (ws / "loop").symlink_to("loop")
    (ws / "new").symlink_to("src/new.py")
    (ws / "config").symlink_to(".git/config")
    return ws


def resolve(root: Path, raw: str) -> str:
    return Anchor.at(root).resolve(raw).path


@pytest.mark.parametrize(
    ("raw", "real"),
    [
        ("src/a.py", "src/a.py"),
        ("./src//a.py", "src/a.py"),
        ("src/../src/./a.py", "src/a.py"),
        ("in/a.py", "src/a.py"),
        ("in2/a.py", "src/a.py"),
        ("round/a.py", "src/a.py"),
        ("up/ws/src/a.py", "src/a.py"),
        ("new", "src/new.py"),
        ("missing/../src/a.py", "src/a.py"),
        ("missing/x.py", "missing/x.py"),
        ("..foo/x", "..foo/x"),
        ("...", "..."),
        (".", ""),
        ("src/", "src"),
        (" a", " a"),
        ("-rf", "-rf"),
        ("a\nb", "a\nb"),
        ("~lock", "~lock"),
        ("$x", None),
        ("a$b", "a$b"),
        ("..", None),
        ("src/../../ws", None),
        ("up", None),
        ("up/out/secret", None),
        ("in/../../out/secret", None),
        ("missing/../../out/secret", None),
        ("/", None),
        ("//etc/passwd", None),
        ("/proc/self/cwd", None),
        ("/dev/null", None),
        ("loop", None),
        ("loop/x", None),
        ("~", None),
        ("~root/x", None),
        ("${HOME}/x", None),
        ("a\\b", None),
        ("c:/x", None),
        ("file:///etc/passwd", None),
        ("a\0b", None),
        ("", None),
        (" \t", None),
        ("src/a.py/", None),
        ("missing/", None),
        ("x" * 300, None),
        ("x/" * 3000, None),
    ],
)
def test_real_places(root: Path, raw: str, real: str | None) -> None:
    if raw == "src/../../ws":
        assert resolve(root, raw) == ""  # out and back in again is in
    elif real is None:
        with pytest.raises(ToolError):
            resolve(root, raw)
    else:
        assert resolve(root, raw) == real


def test_absolute_paths_inside_are_taken(root: Path) -> None:
    assert resolve(root, f"{root}/src/a.py") == "src/a.py"
    assert resolve(root, f"{root}") == ""
    with pytest.raises(ToolError):
        resolve(root, f"{root}-evil/x")


def test_a_root_named_through_a_link_is_the_same_root(root: Path) -> None:
    link = root.parent / "link"
    link.symlink_to("ws")
    assert Anchor.at(link).root == str(root)
    assert Anchor.at(link).resolve(f"{link}/src/a.py").path == "src/a.py"


PARTS = st.sampled_from(
    ["src", "a.py", "..", ".", "", "in", "in2", "up", "round", "ws", "out", "secret", "loop", "new", "x"]
)


@examples(300)
@given(parts=st.lists(PARTS, min_size=1, max_size=8))
def test_no_spelling_leaves_the_workspace(tmp_path_factory, parts: list[str]) -> None:
    base = tmp_path_factory.mktemp("p")
    ws = base / "ws"
    (ws / "src/deep").mkdir(parents=True)
    (ws / "src/a.py").write_text("x")
    (base / "out").mkdir()
    (base / "out/secret").write_text("x")
    for name, target in (("in", "src"), ("in2", "in/deep/.."), ("up", ".."), ("round", "../ws/src"), ("loop", "loop")):
        (ws / name).symlink_to(target)
    (ws / "new").symlink_to("src/new.py")
    raw = "/".join(parts)
    try:
        place = Anchor.at(ws).resolve(raw)
    except ToolError:
        return
    real = f"{ws}/{place.path}".rstrip("/")
    assert os.path.realpath(real) == real, "the place has no link in it"
    if (ws / raw.lstrip("/")).exists() and not raw.startswith("/"):
        assert os.path.realpath(ws / raw) == real, "it is the place the system finds"


# ------------------------------------------------------------------ what may be written


def no_write(root: Path, raw: str, home: Path | None = None) -> str | None:
    return Anchor.at(root, home).resolve(raw).no_write


@pytest.mark.parametrize("raw", [".git/config", ".GIT/x", "sub/.git", ".tui_agent/new.toml", "config", ".git"])
def test_protected_places(root: Path, raw: str) -> None:
    assert no_write(root, raw)


@pytest.mark.parametrize("raw", ["src/a.py", ".gitignore", ".github/workflows/x.yml", "HEAD", "refs/x", "objects/y"])
def test_ordinary_places(root: Path, raw: str) -> None:
    assert no_write(root, raw) is None


def test_what_looks_like_a_bare_repository_is_protected(root: Path) -> None:
    bare = root / "fixtures/repo"
    for name in ("refs", "objects"):
        (bare / name).mkdir(parents=True)
    assert no_write(root, "fixtures/repo/README") is None
    assert "bare" in (no_write(root, "fixtures/repo/HEAD") or "")
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    for raw in ("fixtures/repo/config", "fixtures/repo/hooks/post-checkout", "fixtures/repo/HEAD"):
        assert "bare" in (no_write(root, raw) or "")


def test_start_files_are_protected_when_home_is_the_workspace(root: Path) -> None:
    for raw in (
        ".bashrc",
        ".config/tui_agent/config.toml",
        ".local/share/tui_agent/sessions/x",
        ".ssh/authorized_keys",
    ):
        assert no_write(root, raw, home=root)
        assert no_write(root, raw, home=root / "src") is None
    assert no_write(root, ".bashrc.d/x", home=root) is None


def test_the_example_of_the_descriptions_is_no_path(root: Path) -> None:
    with pytest.raises(ToolError, match="only the example"):
        resolve(root, "example_folder/example.ext")


def test_case_twins_are_named(desk) -> None:
    desk.put("README.md", "x")
    assert "README.md" in desk.call("write_file", path="readme.md", content="y").text
    assert desk.call("write_file", path="sub/readme.md", content="y").status == "applied"


PIECES = {
    "y/objects/k": "k\n",
    "y/refs/k": "k\n",
    "y/config": "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true\n",
    "y/HEAD": "ref: refs/heads/main\n",
    "x/HEAD": "ref: refs/heads/main\n",
    "x/commondir": "../y\n",
    "x/config.worktree": "[core]\n\tbare = false\n\tworktree = .\n",
    "x/objects/k": "k\n",
    "x/refs/k": "k\n",
    "x/config": "[core]\n\trepositoryformatversion = 0\n",
}


@examples(40)
@given(order=st.permutations(sorted(PIECES)))
def test_no_order_of_writes_makes_a_repository(order: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(os.path.realpath(folder))
        for raw in order:
            if no_write(root, raw) is None:
                (root / raw).parent.mkdir(parents=True, exist_ok=True)
                (root / raw).write_text(PIECES[raw])
        env = {"PATH": os.environ["PATH"], "HOME": folder, "GIT_CEILING_DIRECTORIES": folder}
        for name in ("x", "y"):
            assert (
                not (root / name).is_dir()
                or subprocess.run(
                    ["git", "rev-parse", "--git-dir"],
                    cwd=root / name,
                    env=env,
                    capture_output=True,
                    check=False,
                ).returncode
            )

"""What git says unasked, with none of the folder's configuration, is what it says to the person."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.waiting import PATIENCE
from tui_agent.workspace import git, git_view
from tui_agent.workspace.confined import Confined
from tui_agent.workspace.runner import child_environment, run
from tui_agent.workspace.running import Unconfined

START = """
git init -q -b main .
mkdir low; printf 'one\\ntwo\\nthree\\nfour\\nfive\\n' > a; cp a low/b; printf 'x\\r\\ny\\r\\n' > crlf; echo bin > 'ä name'
echo '*.log' > .gitignore; git add .; git commit -qm 1
"""
"""Begins each of these."""
KINDS = {
    "clean": "",
    "unborn": "rm -rf .git; git init -q -b main .",
    "changed": "echo more >> a; rm low/b; echo new > new; mkdir d; echo x > d/x; echo x > d/x.log",
    "staged": "echo more >> a; git add a; echo again >> a; git rm -q low/b; echo x > new; git add new",
    "renamed": "git mv a z; git mv low/b low/c; echo more >> low/c",
    "touched": "touch -d 2001-01-01 a low/b crlf",
    "young": "git reset -q --hard; printf 'ONE\\ntwo\\nthree\\nfour\\nfive\\n' > a",
    "autocrlf": "git config core.autocrlf true; printf 'one\\r\\ntwo\\r\\nthree\\r\\nfour\\r\\nfive\\r\\n' > a; echo y >> crlf",
    "input": "git config core.autocrlf input; git config core.safecrlf warn; printf 'one\\r\\n' > a; printf 'z' > crlf",
    "eol": "git config core.eol crlf; echo '* text=auto' > .gitattributes; printf 'one\\r\\n' > a",
    "attributes": "echo 'a -diff' > .git/info/attributes; echo more >> a; echo '*.x' >> .git/info/exclude; echo > y.x",
    "mode": "chmod +x a",
    "mode that does not count": "git config core.fileMode false; chmod +x a; echo x >> low/b",
    "quoted": "git config core.quotePath false; echo x >> 'ä name'",
    "settings": "git config status.short true; git config status.branch true; git config diff.noprefix true; git config diff.context 1; echo x >> a",
    "included": "printf '[status]\\nshowUntrackedFiles = all\\n[diff]\\nrenames = false\\n' > .git/more; git config include.path more; mkdir d; echo > d/x; git mv a z",
    "without untracked": "git config status.showUntrackedFiles no; echo > new; git config advice.statusHints false",
    "sparse": "git sparse-checkout set --cone low; echo x >> low/b",
    "sparse index": "mkdir o; echo > o/x; git add o; git commit -qm 2; git sparse-checkout set --cone --sparse-index low; echo x >> low/b",
    "split index": "git update-index --split-index; echo > new; git add new; echo x >> a",
    "version 4": "git update-index --index-version 4; echo x >> a",
    "untracked cache": "git update-index --untracked-cache; echo > new; git status -s >/dev/null; echo > new2",
    "detached": "git checkout -q --detach; echo x >> a",
    "detached by a tag": "git tag v1; echo x > a; git commit -qam 2; git checkout -q v1",
    "packed": "git tag v1; git pack-refs --all; git gc -q; echo x >> a",
    "tracking": "git clone -q . ../other; cd ../other; echo x >> a; git commit -qam 2; cd -; git remote add origin ../other; git fetch -q; git branch -q -u origin/main; echo y > low/b; git commit -qam 3",
    "tracking a branch of its own": "git checkout -q -b 'topic/x' --track main; echo x > a; git commit -qam 2",
    "remote gone": "git clone -q . ../other; git remote add origin ../other; git fetch -q; git branch -q -u origin/main; git update-ref -d refs/remotes/origin/main",
    "merge": "git checkout -q -b o; echo 1 > a; git commit -qam o; git checkout -q main; echo 2 > a; git commit -qam m; git merge o || :",
    "merge done": "git checkout -q -b o; echo 1 > n; git add n; git commit -qam o; git checkout -q main; git merge -q --no-ff --no-commit o",
    "rebase": "git checkout -q -b o; echo 1 > a; git commit -qam o; echo 3 >> low/b; git commit -qam p; git checkout -q main; echo 2 > a; git commit -qam m; git checkout -q o; git rebase main || :",
    "rebase by hand": "echo 2 > a; git commit -qam 2; echo 3 > a; git commit -qam 3; GIT_SEQUENCE_EDITOR='sed -i s/pick/edit/' git rebase -q -i HEAD~2 || :",
    "rebase with mails": "git checkout -q -b o; echo 1 > a; git commit -qam o; git checkout -q main; echo 2 > a; git commit -qam m; git checkout -q o; git rebase --apply main || :",
    "mails": "git checkout -q -b o; echo 1 > a; git commit -qam o; git format-patch -q -1; git checkout -q main; echo 2 > a; git commit -qam m; git am 0001* || :",
    "cherry-pick": "git checkout -q -b o; echo 1 > a; git commit -qam o; git checkout -q main; echo 2 > a; git commit -qam m; git cherry-pick o || :",
    "revert": "echo 1 > a; git commit -qam o; echo 2 > a; git commit -qam p; git revert HEAD~ || :",
    "bisect": "for n in 1 2 3 4; do echo $n > a; git commit -qam $n; done; git bisect start -q HEAD HEAD~3",
    "stash": "echo x >> a; git stash -q; git config status.showStash true",
    "intent": "echo x > new; git add -N new",
    "skipped": "git update-index --assume-unchanged a; git update-index --skip-worktree low/b; echo x >> a; echo x >> low/b",
    "links": "ln -s a l; git add l; git commit -qm l; ln -sf low/b l",
    "file in place of a folder": "rm -rf low; echo x > low",
    "sha256": "rm -rf .git; git init -q -b main --object-format=sha256 .; git add .; git commit -qm 1; echo x >> a",
    "shallow": "echo 2 > a; git commit -qam 2; git clone -q --depth 1 file://$PWD ../c; rm -rf .git; mv ../c/.git .git",
    "replaced": "echo 2 > a; git commit -qam 2; git replace HEAD HEAD~",
    "further work tree": "git worktree add -q ../tree; rm -rf low a; cp ../tree/.git ../mark; mv .git ../main.git; sed -i s,work/.git/,main.git/, ../mark; cp ../mark .git; sed -i s,tree/,work/, ../main.git/worktrees/tree/gitdir",
    "in a clone with part of the objects": "git config uploadpack.allowFilter true; git clone -q --filter=blob:none file://$PWD ../c; rm -rf .git; mv ../c/.git .git; touch a",
}
COMMANDS = [
    "status",
    "status -s -b",
    "status --porcelain=v2 -b --ignored",
    "diff",
    "diff --stat",
    "diff --cached",
    "diff HEAD",
    "diff -w low",
]


@pytest.fixture
def made(tmp_path: Path):
    """Makes repositories; `env` is the person's."""
    env = {**os.environ, "HOME": str(tmp_path / "home"), "GIT_CONFIG_NOSYSTEM": "1"}
    work = tmp_path / "work"
    (tmp_path / "home").mkdir()
    work.mkdir()
    (tmp_path / "home/.gitconfig").write_text("[user]\nname = t\nemail = t@t\n")

    def make(script: str) -> Path:
        subprocess.run(["bash", "-ec", START + script], cwd=work, env=env, check=True, capture_output=True)
        return work

    make.env = env  # type: ignore[attr-defined]
    return make


def append(file: Path, text: str) -> None:
    with file.open("a") as opened:
        opened.write(text)


def said(root: Path, words: str, env: dict[str, str]) -> tuple[str, str]:
    """What git says by itself, and in a view."""
    index = root / ".git/index"
    kept = (index.read_bytes(), index.stat()) if index.exists() else None
    argv = git.argv(("git", *words.split()))
    assert git.is_viewed(argv)
    seen = asyncio.run(run(argv, cwd=root, timeout=PATIENCE, env=child_environment(env)))
    if kept:
        assert index.read_bytes() == kept[0]
    plain = ["git", "--no-pager", *words.split()]
    done = subprocess.run(
        plain,
        cwd=root,
        env={**env, "GIT_OPTIONAL_LOCKS": "0"},
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if kept:
        index.write_bytes(kept[0])
        os.utime(index, ns=(kept[1].st_atime_ns, kept[1].st_mtime_ns))
    return done.stdout.decode("utf-8", "surrogateescape"), seen.output


@pytest.mark.parametrize("script", KINDS.values(), ids=KINDS)
def test_it_is_what_git_says_by_itself(made, script: str) -> None:
    root = made(script)
    for words in COMMANDS:
        plain, seen = said(root, words, made.env)
        assert seen == plain, words
    assert git_view.fits(root)


def test_in_a_folder_of_a_repository_too(made) -> None:
    root = made("echo x >> low/b; echo x >> a; echo > low/new")
    for words in COMMANDS:
        argv = git.argv(("git", *words.split()))
        seen = asyncio.run(run(argv, cwd=root / "low", timeout=PATIENCE, env=child_environment(made.env)))
        plain = subprocess.run(
            ["git", "--no-pager", *words.split()], cwd=root / "low", env=made.env, capture_output=True, check=False
        )
        assert seen.output.encode("utf-8", "surrogateescape") == plain.stdout + plain.stderr


@pytest.mark.parametrize("where", [".gitconfig", ".config/git/config"])
def test_settings_of_the_person_count(made, where: str) -> None:
    root = made("echo > mine.bak; echo > theirs.tmp; echo x >> 'ä name'; echo x > new; echo x >> a")
    home = Path(made.env["HOME"])
    (home / ".config/git").mkdir(parents=True)
    (home / ".config/git/ignore").write_text("*.tmp\n")
    (home / ".config/git/attributes").write_text("a -diff\n")
    assert "theirs.tmp" not in said(root, "status -s", made.env)[1]
    (home / "ignored").write_text("*.bak\n")
    (home / "more").write_text("[core]\nquotePath = false\n")
    append(home / where, "[core]\nexcludesFile = ~/ignored\n[include]\npath = ~/more\n")
    for words in COMMANDS:
        plain, seen = said(root, words, made.env)
        assert seen == plain
    assert "mine.bak" not in said(root, "status -s", made.env)[1]


MODULES = """
git init -q -b main ../lib; cd ../lib; echo 1 > f; git add .; git commit -qm 1; cd ../work
git -c protocol.file.allow=always submodule --quiet add ../lib lib; cp -r ../lib old; git add old; git commit -qm 2
for each in lib old; do cd $each; echo 2 > f; git commit -qam 2; echo 3 > f; echo > new; cd ..; done
cp -r ../lib nested; git config -f .gitmodules submodule.lib.ignore none
"""


def test_modules_are_named_and_not_entered(made) -> None:
    """It shows where they stand; not what of their files differs from that, which a git in them would have to say."""
    root = made(MODULES)
    plain, seen = said(root, "status", made.env)
    assert seen.replace("(new commits)", "(new commits, modified content, untracked content)") == plain.replace(
        "  (commit or discard the untracked or modified content in submodules)\n", ""
    )
    plain, seen = said(root, "diff", made.env)
    assert seen == plain.replace("-dirty\n", "\n")
    for commands in (Confined(root, lambda: child_environment(made.env)), Unconfined(run)):
        result = asyncio.run(commands(git.argv(("git", "status")), cwd=root, timeout=PATIENCE, emit=None))
        assert [each for each in result.remarks if "did not look into the modules" in each]


LEADS = {
    "its attributes is a link": "ln -sf ~/secret .git/info/attributes",
    "its sparse-checkout is a link": "git sparse-checkout set --cone low; ln -sf ~/secret .git/info/sparse-checkout",
    "its info is a link": "mv .git/info ../info; ln -s ../../info .git/info",
    "its packed-refs is a link": "ln -s ~/secret .git/packed-refs",
    "its shallow is a link": "ln -s ~/secret .git/shallow",
    "its grafts is a link": "ln -s ~/secret .git/info/grafts",
    "its HEAD is a link": "ln -sf refs/heads/main .git/HEAD",
    "its index is a link": "mv .git/index ../index; ln -s ../../index .git/index",
    "its refs is a link": "mv .git/refs ../refs; ln -s ../../refs .git/refs",
    "its logs is a link": "mv .git/logs ../logs; ln -s ../../logs .git/logs",
    "its .git is a link": "mv .git ../mark; ln -s ../mark .git",
    "its objects are kept in another folder": "mv .git/objects/pack ../pack; ln -s ../../../pack .git/objects/pack",
    "it also shows the objects of another repository": "git init -q ../o; echo ../../../o/.git/objects > .git/objects/info/alternates",
    "its history is kept in another folder": "git init -q ../o; echo ../../o/.git > .git/commondir",
    "its .git is that of another folder": "git init -q ../o; rm -rf .git; echo gitdir: ../o/.git > .git",
    "its .git cannot be read": "rm -rf .git; echo nothing > .git",
    "its files are said to be in another folder": "git config core.worktree ../..",
    "it is said to have no files": "git config core.bare true",
    "it is kept in a form that is not read": "git config core.repositoryFormatVersion 1; git config extensions.refStorage reftable",
    "it has more configuration than is looked through": "for n in $(seq 300); do printf '[include]\\npath = /nowhere\\n'; done >> .git/config",
}


@pytest.mark.parametrize("why", LEADS)
def test_what_cannot_be_shown_like_that_is_not_shown(made, why: str) -> None:
    (Path(made.env["HOME"]) / "secret").write_text("machine x! password=s3cret! login(\n")
    root = made(LEADS[why])
    assert git_view.unfit(root) == why
    assert not git_view.fits(root)
    for words in ("status", "diff HEAD"):
        seen = asyncio.run(run(git.argv(("git", *words.split())), cwd=root, timeout=PATIENCE, env=made.env))
        assert (seen.exit_code, seen.output, seen.error) == (None, "", f"git has nothing to show here: {why}.")


def test_files_that_tell_what_is_under_way_are_no_links(made) -> None:
    """git shows their lines."""
    root = made("echo 2 > a; git commit -qam 2; GIT_SEQUENCE_EDITOR='sed -i s/pick/edit/' git rebase -q -i HEAD~1")
    (Path(made.env["HOME"]) / "secret").write_text("s3cret\n")
    (root / ".git/rebase-merge/done").unlink()
    (root / ".git/rebase-merge/done").symlink_to(f"{made.env['HOME']}/secret")
    plain, seen = said(root, "status", made.env)
    assert "s3cret" in plain
    assert "s3cret" not in seen
    assert "rebase in progress" in seen
    append(root / ".git/config", f"[core]\nattributesFile = {made.env['HOME']}/secret\n")
    (Path(made.env["HOME"]) / "secret").write_text("* s3cret!\n")
    (root / "a").write_text("3")
    assert "s3cret" in said(root, "diff", made.env)[0]
    assert "s3cret" not in said(root, "diff", made.env)[1]


def test_outside_of_a_repository_git_is_told_of_none(tmp_path: Path) -> None:
    seen = asyncio.run(run(git.argv(("git", "status")), cwd=tmp_path, timeout=PATIENCE))
    assert (seen.exit_code, seen.error) == (
        None,
        "git has nothing to show here: there is no repository around this folder.",
    )


def test_the_view_is_private_outside_of_the_folder_and_gone_afterwards(made, monkeypatch: pytest.MonkeyPatch) -> None:
    root = made("echo x >> a")
    before = sorted(root.rglob("*"))
    monkeypatch.setattr("tempfile.tempdir", str(root))
    with git_view.shown(root, made.env) as view:
        private = Path(view.variables["GIT_DIR"])
        assert private in view.readable
        assert not private.is_relative_to(root)
        assert private.stat().st_mode & 0o077 == 0
        assert sorted(root.rglob("*")) == before
    assert not private.exists()
    monkeypatch.setattr(git_view, "_PLACES", ())
    with pytest.raises(git_view.UnfitError, match="no folder for temporary files"), git_view.shown(root, made.env):
        pass


@pytest.mark.parametrize(
    "words",
    [
        "commit -m x",
        "status --ignore-submodules=none",
        "diff --submodule=diff",
        "diff --output=x",
        "-C low status",
        "log",
    ],
)
def test_other_words_get_the_repository_itself(words: str) -> None:
    given = words.split()
    assert not git.is_viewed(git.argv(("git", *given)))
    assert not git.is_viewed((*git.VIEW, *given))
    assert not git.is_viewed((*git.VIEW, given[0], "--ignore-submodules=dirty", *given[1:], "--submodule=log"))
    assert not git.is_viewed(git.argv(("git", "status"), viewed=False))


HEADS = st.sampled_from(["core", "branch", "remote", "advice", "status", "diff", "filter", "CORE", "push"])
NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\0"), min_size=1, max_size=8)
KEYS = st.sampled_from(
    [
        "merge",
        "remote",
        "fetch",
        "autocrlf",
        "eol",
        "fsmonitor",
        "clean",
        "short",
        "default",
        "statusHints",
        "renames",
        "command",
    ]
)
VALUES = st.one_of(st.sampled_from(["true", "input", "lf", "+refs/*:refs/*", "refs/heads/a\\"]), NAMES)


@examples(150)
@given(st.lists(st.tuples(HEADS, st.none() | NAMES, KEYS, VALUES), max_size=6))
def test_only_harmless_settings_are_written_and_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, some: Any
) -> None:
    folder = tmp_path_factory.getbasetemp() / "written"
    for each in ("refs", "objects"):
        (folder / ".git" / each).mkdir(parents=True, exist_ok=True)
    (folder / ".git/HEAD").write_text("ref: refs/heads/x\n")

    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    lines = [
        f"[{head}{'' if name is None else ' ' + quoted(name)}]\n{key} = {quoted(value)}\n"
        for head, name, key, value in some
    ]
    (folder / ".git/config").write_bytes("".join(lines).encode())
    if git_view.unfit(folder):
        return
    with git_view.shown(folder, {}) as view:
        listed = subprocess.run(
            ["git", "config", "-f", f"{view.variables['GIT_DIR']}/config", "-lz"], check=True, capture_output=True
        )
    ours = [entry.partition("\n")[::2] for entry in listed.stdout.decode().split("\0") if entry]
    kept = [
        (name, value)
        for name, value in ours
        if name not in {"core.repositoryformatversion", "core.bare", "protocol.allow"}
    ]
    assert not {"fsmonitor", "clean", "command"} & {
        name.rpartition(".")[2] for name, _ in ours if name[:7] != "advice."
    }
    plain = subprocess.run(["git", "config", "-f", f"{folder}/.git/config", "-lz"], check=True, capture_output=True)
    theirs = [entry.partition("\n")[::2] for entry in plain.stdout.decode().split("\0") if entry]
    assert [each for each in theirs if each in kept] == kept

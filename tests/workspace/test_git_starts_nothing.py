"""Unasked, git starts nothing and connects to nothing, whatever is configured, and wherever git could read it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.waiting import PATIENCE
from tui_agent.workspace import committed, git, git_view
from tui_agent.workspace.runner import child_environment, run

FORMS = (
    *("status", "status -s -b -uall --ignored", "status --porcelain=v2 -z", "status --no-renames -- ."),
    *("diff", "diff HEAD", "diff --cached --stat", "diff HEAD~1 HEAD", "diff -w --word-diff -U0 -- .", "diff @{u}"),
    *("diff --name-status", "diff --numstat HEAD -- a", "diff HEAD:a a"),
)
KNOBS = {
    # what a plain git starts when it is asked for one of the forms, and with which
    "monitor": ("[core]\nfsmonitor = TRAP; false", "status"),
    "clean": ('[filter "x"]\nclean = TRAP; cat', "diff"),
    "process": ('[filter "x"]\nprocess = TRAP', "diff"),
    "no name": ('[filter ""]\nclean = TRAP; cat', ""),
    "dots": ('[filter "x.y"]\nclean = TRAP; cat\n[filter.z]\nclean = TRAP; cat', ""),
    "driver": ('[diff "x"]\ncommand = TRAP', "diff"),
    "converter": ('[diff "x"]\ntextconv = TRAP; cat', "diff"),
    "external": ("[diff]\nexternal = TRAP", "diff"),
    "hook": ("[core]\nhooksPath = HOOKS", "status"),
    "module": ("[diff]\nsubmodule = log\n[status]\nsubmoduleSummary = true", ""),
    # of a repository that lacks objects
    "ext": ('[protocol]\nallow = always\n[remote "o"]\nurl = ext::PROGRAM\npromisor = true', "diff HEAD~1 HEAD"),
    "ssh": ('[core]\nsshCommand = TRAP\n[remote "o"]\nurl = ssh://localhost/x\npromisor = true', "diff HEAD~1 HEAD"),
    "proxy": ('[core]\ngitProxy = PROGRAM\n[remote "o"]\nurl = git://localhost/x\npromisor = true', "diff HEAD~1 HEAD"),
    "uploadpack": ('[remote "o"]\nurl = .\nuploadpack = TRAP\npromisor = true', "diff HEAD~1 HEAD"),
    "vcs": ('[remote "o"]\nvcs = ext\nurl = PROGRAM\npromisor = true\n[protocol]\nallow = always', "diff HEAD~1 HEAD"),
}
"""Settings, and a form with which they bite; `TRAP`, `PROGRAM` and `HOOKS` leave a mark."""
NOT_DOCUMENTED = (
    ('filter "x"', "process"),
    ('hook "x"', "command"),
    ('alias "x"', "command"),
    ("core", "virtualFilesystem"),
)

START = """
git init -q -b main ../lib; cd ../lib; echo 1 > f; echo '* filter=x diff=x' > .gitattributes; git add .; git commit -qm 1
cd ../work; git init -q -b main .; git -c protocol.file.allow=always submodule --quiet add ../lib lib
cp -r ../lib nested; cp -r ../lib old; printf '[submodule "lib"]\\npath = lib\\nurl = ../lib\\nignore = none\\n' > .gitmodules
echo one > a; echo gone > gone; printf '* filter=x diff=x merge=x\\n*.y filter=x.y\\n*.z filter=z\\n' > .gitattributes
cp .gitattributes .git/info/attributes; echo 1 > b.y; echo 1 > b.z; git add -f a b.y b.z gone .git* old lib; git commit -qm 1
echo two > a; rm gone; git commit -qam 2; echo three > a; echo 2 > b.y; echo 2 > b.z; touch -d 2001-01-01 lib/f old/f nested/f
echo 2 > lib/f; echo 2 > old/f; rm -f .git/objects/*/$(git rev-parse HEAD~1:gone | cut -c3-); git clone -q --bare ../lib bare
git branch -q up HEAD; git branch -q -u up
"""


class Trapped:
    """A repository `work` whose settings `plant` puts where they bite, in a folder that gets the marks."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root, self.home = folder, folder / "work", folder / "home"
        for each in (self.root, self.home, folder / "hooks", folder / "shim"):
            each.mkdir()
        for name in ("hooks/post-index-change", "hooks/reference-transaction", "program"):
            self._program(folder / name, f"#!/bin/sh\ntouch {folder}/PWN-{Path(name).name}\n")
        self.env = {**os.environ, "HOME": str(self.home), "GIT_CONFIG_NOSYSTEM": "1"}
        self.person = "[user]\nname = t\nemail = t@t\n"
        (self.home / ".gitconfig").write_text(self.person)
        self.sh(START)

    @staticmethod
    def _program(file: Path, text: str) -> None:
        file.write_text(text)
        file.chmod(0o755)

    def sh(self, script: str) -> None:
        subprocess.run(["bash", "-ec", script], cwd=self.root, env=self.env, check=True, capture_output=True)

    def text(self, template: str) -> str:
        """Settings that leave marks."""
        values = {
            "TRAP": f"touch {self.folder}/PWN-trap",
            "PROGRAM": f"{self.folder}/program",
            "HOOKS": f"{self.folder}/hooks",
        }
        return re.sub("|".join(values), lambda found: values[found[0]], template) + "\n"

    def append(self, file: str, template: str) -> None:
        """Write settings at the end of a file, from the root."""
        with (self.root / file).open("a") as opened:
            opened.write(self.text(template))

    def plain(self, words: str) -> set[str]:
        """The marks that a plain git leaves."""
        subprocess.run(["git", *words.split()], cwd=self.root, env=self.env, check=False, capture_output=True)
        return self.marks()

    def marks(self) -> set[str]:
        return {each.name for each in self.folder.glob("PWN*")}

    def unasked(self, more: dict[str, str] | None = None) -> set[str]:
        """All that runs unasked; what was started and reached meanwhile besides git itself."""
        log, found = self.folder / "log", shutil.which("git")
        strace = shutil.which("strace")
        if strace:
            shim = f'#!/bin/sh\nexec {strace} -f -A -o {log} -e trace=execve,connect {found} "$@"\n'
            self._program(self.folder / "shim/git", shim)
        env = child_environment({**self.env, **(more or {})}, allow=["GIT_*", "XDG_*"])
        env["PATH"] = f"{self.folder}/shim:{env['PATH']}"
        self.outputs = asyncio.run(self._all(env))
        lines = log.read_text().splitlines() if log.exists() else []
        self.watched = len([line for line in lines if "execve" in line])
        ours = re.compile(r"\d+ +(execve\(\"([^\"]*/)?git\", .*|[+-]{3} .*)")
        return {line for line in lines if not ours.fullmatch(line) and "ENOENT" not in line} | self.marks()

    async def _all(self, env: dict[str, str]) -> list[str]:
        async def started(argv, *, cwd, timeout, emit):
            return await run(argv, cwd=cwd, timeout=timeout, emit=emit, env=env)

        said = []
        for words in FORMS:
            argv = git.argv(("git", *words.split()))
            assert git.is_viewed(argv)
            result = await run(argv, cwd=self.root, timeout=PATIENCE, env=env)
            said.append(result.error or result.output)
        await committed.differing(str(self.root), started)
        for name in (await committed.at_head(str(self.root), ("a", "lib", "b.y"), started) or {}).values():
            await committed.content(str(self.root), name, started)
        return said


@pytest.fixture
def trapped(tmp_path: Path) -> Trapped:
    return Trapped(tmp_path)


def every_setting() -> str:
    """Each setting that git documents, as a program that leaves a mark."""
    names = subprocess.run(["git", "help", "-c"], capture_output=True, check=True, text=True).stdout.split()
    lines = [f"[{section}]\n{key} = TRAP" for section, key in NOT_DOCUMENTED]
    for name in names:
        section, _, rest = name.partition(".")
        middle, _, key = rest.rpartition(".")
        if re.fullmatch(r"[A-Za-z][\w-]*", key := "x" if key.startswith(("*", "<")) else key):
            lines.append(f'[{section}{""" "x" """.rstrip() if middle else ""}]\n{key} = TRAP')
    return "\n".join(line for line in lines if "include" not in line and "repositoryformat" not in line.lower())


EVERYTHING = "\n".join(text for text, _ in KNOBS.values())
PLACES = {
    "config": "cat ../text >> .git/config",
    "of this work tree": "git config extensions.worktreeConfig true; cp ../text .git/config.worktree",
    "included": "git config include.path ../../text",
    "included from the folder": "cp ../text ours; git config include.path ../ours",
    "included by the folder": "git config 'includeIf.gitdir:**.path' ../../text",
    "included by the branch": "git config 'includeIf.onbranch:**.path' ../../text",
    "included by a remote": "git config remote.o.url x; git config 'includeIf.hasconfig:remote.*.url:**.path' ../../text",
    "of a module": "cat ../text >> .git/modules/lib/config",
    "of a clone in the index": "cat ../text >> old/.git/config",
    "of a clone that nothing names": "cat ../text >> nested/.git/config",
    "of a bare one": "cat ../text >> bare/config",
    "of modules": "cat ../text >> .gitmodules",
    "of all these": "for f in .git .git/modules/lib old/.git nested/.git bare; do cat ../text >> $f/config; done; cp ../text .git/config.worktree",
    "of a further work tree": "git worktree add -q ../tree; cp -r ../tree/.git mark; mv .git ../main.git; sed s,work/.git/,main.git/, mark > .git; echo $PWD/.git > ../main.git/worktrees/tree/gitdir; cat ../text >> ../main.git/config; cp ../text ../main.git/worktrees/tree/config.worktree",
    "elsewhere": "mv .git ../else; echo gitdir: ../else > .git; cat ../text >> ../else/config",
    "behind a link": "mv .git ../else; ln -s ../else .git; cat ../text >> .git/config",
    "of a common folder": "cp -r .git ../else; echo ../../else > .git/commondir; cat ../text >> ../else/config; cat ../text >> .git/config",
    "with other objects": "git init -q ../else; cat ../text >> ../else/.git/config; echo $PWD/../else/.git/objects > .git/objects/info/alternates; cat ../text >> .git/config",
    "of the person": "cat ../text >> ~/.gitconfig",
    "of the person by another name": "mkdir -p ~/.config/git; cp ../text ~/.config/git/config",
    "of the person, included": "cp ../text ours; git config --global include.path $PWD/ours",
    "hooks": "cp ../hooks/* .git/hooks",
}

UNFIT = ("elsewhere", "behind a link", "of a common folder", "with other objects")
"""Of these git is shown nothing."""


@pytest.mark.parametrize("place", PLACES)
def test_what_is_configured_is_not_started(trapped: Trapped, place: str) -> None:
    (trapped.folder / "text").write_text(trapped.text(EVERYTHING + "\n[extensions]\npartialClone = o"))
    trapped.sh(PLACES[place])
    assert trapped.unasked() == set()
    first = "git has nothing to show here: it" if place in UNFIT else "Changes not staged for commit"
    assert first in trapped.outputs[0]
    assert trapped.watched >= (0 if place in UNFIT or not shutil.which("strace") else len(FORMS))
    assert ("+three" in trapped.outputs[4]) == (place not in UNFIT)


@pytest.mark.parametrize("place", ["config", "of all these", "of a further work tree", "of the person"])
def test_nor_is_any_setting_that_git_has(trapped: Trapped, place: str) -> None:
    (trapped.folder / "text").write_text(trapped.text(every_setting()))
    trapped.sh(PLACES[place])
    assert trapped.unasked() == set()


VARIABLES = {
    "settings": {"GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": "TRAP", "GIT_CONFIG_KEY_1": "filter.x.clean", "GIT_CONFIG_VALUE_1": "TRAP"},
    "settings in one": {"GIT_CONFIG_PARAMETERS": "'filter.x.clean=TRAP' 'core.fsmonitor=TRAP'"},
    "a file": {"GIT_CONFIG_GLOBAL": "FOLDER/text"},
    "another file": {"GIT_CONFIG_SYSTEM": "FOLDER/text", "GIT_CONFIG_NOSYSTEM": "0"},
    "a repository": {"GIT_DIR": "FOLDER/work/nested/.git"},
    "a common folder": {"GIT_COMMON_DIR": "FOLDER/work/nested/.git"},
    "a home": {"XDG_CONFIG_HOME": "FOLDER/xdg"},
    "programs": dict.fromkeys(("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_SSH_COMMAND", "GIT_SSH", "GIT_PROXY_COMMAND", "GIT_ASKPASS", "GIT_EDITOR"), "PROGRAM"),
    "git's own programs": {"GIT_EXEC_PATH": "FOLDER/hooks"},
    "where git writes": {"GIT_TRACE": "FOLDER/PWN-trace", "GIT_TRACE2_EVENT": "FOLDER/PWN-trace2", "GIT_INDEX_FILE": "FOLDER/PWN-index"},
}  # fmt: skip


@pytest.mark.parametrize("name", VARIABLES)
def test_nor_what_a_variable_of_the_person_says(trapped: Trapped, name: str) -> None:
    (trapped.folder / "xdg/git").mkdir(parents=True)
    for file in ("text", "xdg/git/config"):
        (trapped.folder / file).write_text(trapped.text(EVERYTHING))
    trapped.append("nested/.git/config", EVERYTHING)
    variables = VARIABLES[name].items()
    assert (
        trapped.unasked({k: trapped.text(v).strip().replace("FOLDER", str(trapped.folder)) for k, v in variables})
        == set()
    )


@pytest.mark.parametrize("name", [name for name, (_, words) in KNOBS.items() if words])
def test_each_bites_a_plain_git(trapped: Trapped, name: str) -> None:
    """Otherwise the tests above would prove nothing."""
    text, words = KNOBS[name]
    missing = "promisor" in text
    trapped.append(
        ".git/config",
        text + ("\n[extensions]\npartialClone = o\n[core]\nrepositoryFormatVersion = 1" if missing else ""),
    )
    assert trapped.plain(words)
    for mark in trapped.folder.glob("PWN*"):
        mark.unlink()
    assert trapped.unasked() == set()


def test_without_the_view_the_same_commands_start_it(trapped: Trapped, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_view, "shown", lambda _, env: contextlib.nullcontext(git_view.View(dict(env))))
    trapped.append(".git/config", EVERYTHING)
    found = trapped.unasked()
    assert "PWN-trap" in found
    assert not shutil.which("strace") or any("/sh" in line for line in found)


@pytest.mark.parametrize("place", PLACES)
def test_each_place_bites_a_plain_git(trapped: Trapped, place: str) -> None:
    text = "[core]\nfsmonitor = TRAP; false"
    (trapped.folder / "text").write_text(trapped.text(text))
    trapped.sh(PLACES[place])
    bites = trapped.plain("status")
    if place not in {"of a clone that nothing names", "of a bare one", "of modules"}:
        assert bites


ASKED = (
    *("status --ignore-submodules=none", "add -A", "commit -qam x", "stash", "stash pop", "checkout up", "checkout -"),
    *(
        "switch -c new",
        "merge --no-ff -m x up",
        "rebase --force-rebase up",
        "cherry-pick HEAD",
        "revert --no-edit HEAD",
    ),
    *("log -p -2", "show HEAD", "blame a", "describe --always --dirty", "diff-index HEAD", "cat-file --filters HEAD:a"),
    *("bisect start", "bisect reset", "tag -m x t", "branch x", "notes list", "format-patch -1 --stdout", "grep one"),
    *("update-index --refresh", "reset --hard HEAD"),
)
MORE = """
[core]
editor = TRAP
pager = TRAP
[merge "x"]
driver = TRAP
[gpg]
program = PROGRAM
[log]
showSignature = true
[sequence]
editor = TRAP
[interactive]
diffFilter = TRAP
[pager]
log = TRAP
[diff]
submodule = diff
ignoreSubmodules = none
[submodule]
recurse = true
[submodule "lib"]
update = !TRAP
"""


@pytest.mark.parametrize("place", ["of all these", "included from the folder", "of a further work tree", "hooks"])
def test_nor_when_it_was_asked_about(trapped: Trapped, place: str) -> None:
    (trapped.folder / "text").write_text(trapped.text(EVERYTHING + MORE))
    trapped.sh(PLACES[place])
    for words in ASKED:
        argv = git.argv(("git", *words.split()), viewed=False)
        asyncio.run(run(argv, cwd=trapped.root, timeout=PATIENCE, env=child_environment(trapped.env)))
        assert trapped.marks() == set(), words

"""What the policy knows about programs, as tables: classes, accepted options, dangerous words.

An option table says which words may follow a program that is allowed without asking. What is
not in it asks. Paths are judged by their text only: they stay inside the workspace when they
are relative and no part is `..`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tui_agent.core.types import PermissionClass
from tui_agent.core.wrappers import SHELLS, WRAPPERS

# ------------------------------------------------------------------ accepted options


@dataclass(frozen=True, slots=True)
class Options:
    """The words that may follow an allowed program.

    `option` matches a whole word; options in `valued` take the next word, which `value` must match.
    `word` judges a word without a dash, `tail` the words after `--` (None: no `--`). `tail_option`
    matches options there. `runs_code`: the program runs code of the workspace. `refused` is an
    example that is not accepted.
    """

    refused: str
    option: re.Pattern[str]
    valued: frozenset[str] = frozenset()
    value: re.Pattern[str] = re.compile(r"[^-\n][^\n]*")
    word: Callable[[str], bool] = lambda _: False
    tail: Callable[[str], bool] | None = None
    tail_option: re.Pattern[str] | None = None
    runs_code: bool = True

    def accept(self, words: Sequence[str]) -> bool:
        """Say whether every word may follow the program."""
        rest = iter(words)
        for word in rest:
            if word == "--" and self.tail:
                return all(self._in_tail(self.tail, following) for following in rest)
            if word in self.valued:
                if not self.value.fullmatch(next(rest, "")):
                    return False
            elif not (self.option.fullmatch(word) if word.startswith("-") else self.word(word)):
                return False
        return True

    def _in_tail(self, tail: Callable[[str], bool], word: str) -> bool:
        if self.tail_option and word.startswith("-"):
            return self.tail_option.fullmatch(word) is not None
        return tail(word)


def inside(path: str) -> bool:
    """Say whether the text of a path stays inside the workspace; git's `:` magic and line ends do not."""
    return bool(path) and path[0] not in "/:" and "\n" not in path and ".." not in path.split("/")


def _node_id(word: str) -> bool:
    """A test file, optionally with ::names; pytest reads more arguments from @file."""
    return "\n" not in word and not word.startswith("@") and inside(word.partition("::")[0])


def _filter(word: str) -> bool:
    return re.fullmatch(r"\w[\w:.-]*", word) is not None


def _names(*names: str) -> re.Pattern[str]:
    return re.compile("|".join(names))


OPTIONS: Mapping[tuple[str, ...], Options] = {
    ("pytest",): Options(
        refused="pytest -p plugin",
        option=_names(
            "-q", "-qq", "-v", "-vv", "-x", "-s", "-l", "--lf", "--ff", "--nf", "--collect-only", "--no-header",
            "--maxfail=[0-9]+", "--tb=[a-z]+", "-r[A-Za-z]+", "--durations=[0-9]+",
        ),
        valued=frozenset({"-k", "-m"}),
        word=_node_id,
    ),
    ("make", "check"): Options(refused="make check install", option=_names("-k", "-s", "-j[0-9]+")),
    ("cargo", "test"): Options(
        refused="cargo test --config x.toml",
        option=_names("--lib", "--bins", "--doc", "--all", "--workspace", "-q", "--quiet", "--release", "--no-run"),
        valued=frozenset({"-p", "--test"}),
        value=re.compile(r"\w[\w-]*"),
        word=_filter,
        tail=_filter,
        tail_option=_names("--nocapture", "--exact", "--quiet", "--show-output", "--test-threads=[0-9]+"),
    ),
    ("git", "status"): Options(
        refused="git -C other status",
        option=_names(
            "-s", "--short", "-b", "--branch", "--porcelain(=v[12])?", "-u(no|all|normal)", "--ignored", "-z",
            "--no-renames",
        ),
        tail=inside,
        runs_code=False,
    ),
    ("git", "diff"): Options(
        refused="git diff --output=x",
        option=_names(
            "--stat", "--numstat", "--shortstat", "--name-only", "--name-status", "--cached", "--staged", "--no-color",
            "--no-ext-diff", "--no-textconv", "-w", "-b", "--word-diff", "-U[0-9]+",
        ),
        word=inside,  # a plain revision passes as well
        tail=inside,
        runs_code=False,
    ),
    ("ls",): Options(
        refused="ls /", option=_names("-[aAlh1RtrSdFpis]+"), word=inside, tail=inside, runs_code=False
    ),
}  # fmt: skip

# ------------------------------------------------------------------ classes

TOOLS: Mapping[str, PermissionClass] = {
    "read_file": "read",
    "list_files": "read",
    "search": "search",
    "edit_file": "write",
    "multi_edit": "write",
    "write_file": "write",
    "propose_edit": "write",
    "delete_file": "write",
    "run_command": "run",
    "run_shell": "shell",
    "web_search": "network",
    "web_fetch": "network",
    "update_plan": "none",
}
"""Every tool of the product. `run_command` is classified by its program instead."""


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


CLASSES: Mapping[str, PermissionClass] = {
    **dict.fromkeys(SHELLS | WRAPPERS.keys() | {".", "source"}, "shell"),
    "git": "git",
    **dict.fromkeys(
        _set(
            "curl wget ssh scp sftp rsync nc ncat netcat telnet ftp socat ping ping6 dig nslookup host http https xh"
            " aria2c npx pnpx bunx uvx pipx apt apt-get brew gh dnf yum apk pacman snap"
        ),
        "network",
    ),
    **dict.fromkeys(
        _set("rm mv cp mkdir rmdir touch ln chmod chown chgrp tee dd truncate install shred unlink patch"), "write"
    ),
}
"""Class by base name; a program that is not listed is `run`."""

_INSTALL = frozenset({"install", "add", "update", "upgrade", "download", "publish"})
NETWORK_SUBCOMMANDS: Mapping[str, frozenset[str]] = {
    "pip": _INSTALL | {"wheel"},
    "pip3": _INSTALL | {"wheel"},
    "npm": _INSTALL | {"i", "ci", "exec", "x"},
    "pnpm": _INSTALL | {"i", "dlx", "exec"},
    "yarn": _INSTALL | {"dlx"},
    "bun": _INSTALL | {"i", "x"},
    "uv": _INSTALL | {"sync", "tool", "pip", "lock"},
    "poetry": _INSTALL | {"lock"},
    "cargo": _INSTALL | {"fetch"},
    "go": _INSTALL | {"get"},
    "gem": _INSTALL,
    "docker": frozenset({"pull", "run", "push", "login", "build"}),
    "podman": frozenset({"pull", "run", "push", "login", "build"}),
}
GIT_NETWORK = frozenset({"push", "fetch", "pull", "clone", "ls-remote", "submodule", "archive", "remote"})

# ------------------------------------------------------------------ dangerous programs and names

DOWNLOADERS = _set("curl wget http https xh aria2c nc ncat netcat socat ftp sftp scp ssh rsync")
WRITERS = DOWNLOADERS | _set("tar unzip cpio sponge sort vi vim nano ed ex emacs")
"""Programs outside class write that can write a file they are told to."""

PACKAGE_MANAGERS = frozenset({*NETWORK_SUBCOMMANDS, "conda", "mamba", "pdm", "bundle", "composer", "nix"})

_INTERPRETER = re.compile(
    r"(python|pypy|ipython|node|nodejs|deno|ruby|irb|perl|php|lua|luajit|tclsh|rscript|osascript)[0-9.]*"
)
AWKS = frozenset({"awk", "gawk", "mawk", "nawk"})
"""Interpreters that take their program as a word and never from a pipe."""


def interprets(name: str) -> bool:
    """Say whether a program (its base name) can run text that it reads; shells are known elsewhere."""
    return _INTERPRETER.fullmatch(name) is not None

"""What the policy knows about programs, as tables: classes, accepted options, dangerous words.

An option table says which words may follow a program that is allowed without asking. What is
not in it asks. Paths are judged by their text only: they stay inside the workspace when they
are relative and no part is `..`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tui_agent.core.shell import ASSIGNMENT, Word
from tui_agent.core.types import PermissionClass
from tui_agent.core.wrappers import SHELLS, WRAPPERS, base_name, without_git_options

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
    "read_skill": "read",
    "read_output": "read",
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
            " aria2c npx pnpx bunx uvx pipx apt apt-get brew gh dnf yum apk pacman snap traceroute whois lynx w3m lftp tftp"
            " mosh mtr drill axel wget2"
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
    "uv": _INSTALL | {"sync", "lock"},
    "poetry": _INSTALL | {"lock"},
    "cargo": _INSTALL | {"fetch"},
    "go": _INSTALL | {"get"},
    **dict.fromkeys(("gem", "bundle", "composer", "conda", "mamba"), _INSTALL),
    **dict.fromkeys(("docker", "podman"), frozenset({"pull", "run", "push", "login"})),
}
_GROUPS = frozenset({"compose", "container", "image", "mod", "pip", "tool"})
"""Sub-commands that have some of their own."""
GIT_NETWORK = frozenset({"push", "fetch", "pull", "clone", "ls-remote", "submodule", "archive", "remote"})

GIT_PLAIN = _set(
    "add am annotate apply bisect blame branch cat-file check-attr check-ignore check-ref-format checkout cherry"
    " cherry-pick clean column commit commit-graph config count-objects describe diff diff-files diff-index diff-tree"
    " fast-export for-each-ref format-patch fsck gc grep hash-object init interpret-trailers log ls-files ls-tree"
    " mailinfo mailsplit merge merge-base merge-file merge-tree mktag mktree mv name-rev notes pack-refs patch-id prune"
    " range-diff read-tree rebase reflog repack replace rerere reset restore rev-list rev-parse revert rm shortlog show"
    " show-branch show-ref sparse-checkout stash status stripspace switch symbolic-ref tag update-index update-ref var"
    " verify-commit verify-pack verify-tag version whatchanged worktree write-tree"
)
"""Sub-commands that git itself has and that stay on this machine."""
GIT_KNOWN = GIT_PLAIN | _set(
    "backfill bugreport bundle citool credential diagnose difftool fast-import fetch-pack filter-branch for-each-repo gui help"
    " hook index-pack instaweb last-modified lfs ls-remote maintenance merge-index merge-one-file mergetool multi-pack-index"
    " pack-objects pack-redundant prune-packed refs replay repo request-pull send-email show-index svn unpack-file unpack-objects"
)
"""Those that are no alias. With a deny pattern any other asks: what it starts is not seen."""

# ------------------------------------------------------------------ dangerous programs and names

PLAIN = _set(
    "[ b2sum basename black cal cargo cat cd cksum clang clang-format cloc cmp column comm cut date df diff dirname du echo egrep eslint expr"
    " false fgrep file flake8 fold gcc g++ gofmt grep head hexdump hostname id isort javac jest jq ls make md5sum mypy nl nproc"
    " od paste phpunit prettier printf ps pwd pylint pyright pytest readlink realpath rev rg rspec rubocop ruff"
    " rustc rustfmt seq sha1sum sha224sum sha256sum sha384sum sha512sum shasum shellcheck size sleep stat strings tac tail test tokei tr tree true tsc tty type"
    " uname uniq vitest wc which whoami yamllint zcat zgrep"
)
"""Programs known to take no other program as a word: only for these, and for `GIT_SHOWS`, is "always" offered."""

GIT_SHOWS = _set(
    "add annotate blame branch cat-file check-ignore cherry commit count-objects describe diff diff-files diff-index"
    " diff-tree for-each-ref log ls-files ls-tree merge-base name-rev range-diff reflog rev-list rev-parse shortlog show"
    " show-branch show-ref stash status tag whatchanged"
)
_GIT_LISTS: Mapping[str, re.Pattern[str]] = {
    "branch": re.compile(r"((-[alrv]+|--(all|list|merged|no-merged|remotes|show-current|verbose)) )*"),
    "reflog": re.compile(r"((show|list|exists) .*)?"),
    "stash": re.compile(r"(show|list) .*"),
    "tag": re.compile(r"((-l|-n[0-9]*|--list) )*"),
}
"""The words after those of `GIT_SHOWS` that also remove, each with a blank, with which they only show."""


def git_shows(argv: Sequence[str]) -> bool:
    """Say whether a git command is one of `GIT_SHOWS` that removes nothing."""
    if argv[0] != "git" or len(argv) < 2 or argv[1] not in GIT_SHOWS:
        return False
    only = _GIT_LISTS.get(argv[1])
    return only is None or only.fullmatch("".join(f"{word} " for word in argv[2:])) is not None


DOWNLOADERS = _set(
    "curl wget http https xh aria2c nc ncat netcat socat ftp sftp scp ssh rsync lynx w3m lftp tftp wget2 axel"
)
WRITERS = DOWNLOADERS | _set("tar unzip cpio sponge vi vim nano ed ex emacs")
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


NAMES_PROGRAM: Mapping[str, re.Pattern[str]] = {
    "rg": _names("--pre(=.*)?", "--hostname-bin(=.*)?"),
    "sort": _names("--compress-p.*"),
    "split": _names("--filter.*"),
    "tar": _names("--to-command.*", "--use-c.*", "-[a-zA-Z]*I.*", "--checkpoint-action.*", "--rmt-command.*", "--rsh-command.*"),
    "make": _names("SHELL[:+?!]*=.*", "--eval.*", "-[a-zA-Z]*[fCIE].*", "--(make)?file.*", "--directory.*", "[A-Z]+[:+?!]*=.*"),
    **dict.fromkeys(("gcc", "g++", "clang", "javac", "rustc"), _names("-wrapper", "-B.*", "@.*", "-fplugin.*", "-C.*", "--codegen.*", "-J.*", "-processor.*")),
    "git": _names("--ext-.*", "--textc.*", "--sub.*"),
    "mypy": _names("--python-executable.*", "--config-file.*"),
    "strace": _names("-o.*", "--output.*"),
    **dict.fromkeys(("eslint", "jest", "prettier", "phpunit", "pytest", "rubocop", "rspec", "vitest"), _names("--(config|plugin|bootstrap|require|rulesdir|resolver).*", "-[cpr]")),
}  # fmt: skip
"""Words by which a program that takes no other as a word is told to start one, or where to read which."""


def names_program(argv: Sequence[str]) -> bool:
    """Say whether a word of a command names another program, or a file that does."""
    pattern = NAMES_PROGRAM.get(base_name(argv[0])) if argv else None
    return pattern is not None and any(pattern.fullmatch(word) for word in argv[1:])


_RUNS = frozenset({"run"})
_STARTERS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(
        _set(
            "npx pnpx bunx uvx ssh rsync nc ncat netcat socat tmux screen entr watchexec nodemon vi vim nvim ex ed emacs gdb lldb"
            " valgrind hyperfine perf xvfb-run dbus-run-session dbus-launch gosu su-exec firejail bwrap proot numactl cgexec"
            " rlwrap expect nix-shell at batch catchsegv torsocks proxychains proxychains4"
        ),
        frozenset(),
    ),
    **dict.fromkeys(("docker", "podman", "kubectl", "docker-compose"), frozenset({"run", "exec"})),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), frozenset({"exec", "x", "dlx"})),
    **dict.fromkeys(("uv", "poetry", "pdm", "pipx", "pipenv", "hatch", "rye", "conda", "mamba"), _RUNS),
    **dict.fromkeys(("bundle", "direnv"), frozenset({"exec"})),
    "nix": frozenset({"run", "shell", "develop"}),
}
"""Programs that are no wrappers by class and start what they are given, all of it or what stands behind one of these words."""


def given(argv: Sequence[str]) -> list[str]:
    """The words, also within one text, that a program of `_STARTERS` or `NAMES_PROGRAM` is given to start."""
    verbs = _STARTERS.get(base_name(argv[0])) if argv else None
    at = next((at for at, word in enumerate(argv) if verbs and word in verbs), 0)
    if verbs is None or (verbs and not at):
        at = 0 if names_program(argv) else len(argv)
    return [part for text in argv[at + 1 :] for part in re.split(r"[\s;&|()!=,:'\"]+", text)]


def starts_others(name: str) -> bool:
    """Say whether a program (its base name) is known for starting another, or for writing or fetching what it is told."""
    return name in CLASSES or name in PACKAGE_MANAGERS or name in AWKS or interprets(name)


# ------------------------------------------------------------------ reading an argv

_ENV_PRINTS = frozenset({"-", "-i", "-0", "--ignore-environment", "--null"})


def classify(argv: tuple[str, ...] | list[str]) -> PermissionClass:
    """Return the class of a program by its base name and, for installers, its sub-command."""
    name = base_name(argv[0]) if argv else ""
    found = CLASSES.get(name, "run")
    if name == "env" and all(word in _ENV_PRINTS or ASSIGNMENT.match(word) for word in argv[1:]):
        return "run"  # it starts nothing
    if name == "sed" and any(re.match(r"-[A-Za-z]*i|--i", word) for word in argv[1:]):
        return "write"
    if NETWORK_SUBCOMMANDS.get(name, frozenset()) & set(_subcommands(argv)):
        return "network"
    return found


def subcommand(argv: tuple[str, ...]) -> str:
    """The sub-command of a git command, "" without one."""
    words = without_git_options(tuple(map(Word, argv)))
    return words[1].text if len(words) > 1 else ""


def _subcommands(argv: tuple[str, ...] | list[str]) -> Iterator[str]:
    """Yield what may be the sub-command: the first word without a dash, and the words behind options before it."""
    after_option = False
    for word in argv[1:]:
        if not word.startswith(("-", "+")):
            yield word
            if not after_option and word not in _GROUPS:
                return
        after_option = word.startswith("-")

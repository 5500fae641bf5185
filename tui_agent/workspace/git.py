"""How git is run, whoever asks for it: without the programs that a repository can name in its own configuration.

A repository is data from outside, and its configuration may start programs: a file system monitor, hooks, external
diffs, text converters, filters. `argv` makes the words that are shown and executed. `environment` is set for every
program that this product starts (`runner.run` asks for it by itself), so it holds for a git in a script, too.
The folder's configuration is only read here, to learn the names of what must be switched off; no program runs for it.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tui_agent.core.disk import beginning, is_folder
from tui_agent.core.programs import GIT_PLAIN, OPTIONS, names_program, subcommand
from tui_agent.core.types import AgentError
from tui_agent.core.wrappers import GIT_VALUES, base_name
from tui_agent.workspace.git_config import GITDIR, MAX_BYTES, full, pointed, settings
from tui_agent.workspace.git_index import UnreadableIndexError, below, gitlinks

_DIFFS = frozenset(
    ("diff", "show", "log", "whatchanged", "reflog", "format-patch", "diff-tree", "diff-index", "diff-files")
)
"""Sub-commands that take `--no-ext-diff --no-textconv`."""
_NO_PROGRAMS = ("--no-ext-diff", "--no-textconv")
VIEW = ("git", "--no-pager", "--no-optional-locks")
"""Begins the words of a git that may run unasked: it is shown a view of the repository, see `git_view`."""
DATA_ONLY = frozenset({"cat-file", "ls-tree"})
"""Sub-commands that look at no file, which the product itself starts like that."""
_MODULES = ("--ignore-submodules=dirty", "--ignore-submodules=all")
"""With the first git tells where a module stands, with the second nothing of it; in neither it enters one."""

_MAIL = ("cccmd", "headercmd", "sendmailcmd", "smtpserver", "tocmd")
"""What `git send-email` starts."""
_FIXED = (
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("diff.submodule", "short"),  # "diff" starts a git in a repository that only a commit names, with its programs
    ("index.threads", "1"),  # with more git begins to read an index where that itself says
    ("log.showSignature", "false"),
    ("protocol.ext.allow", "never"),
    ("safe.bareRepository", "explicit"),
    ("submodule.recurse", "false"),
)
PROGRAMS: Mapping[str, str] = {
    "alias.*": "",
    "alias.*.command": "",
    "core.alternaterefscommand": ":",
    "core.askpass": "",
    "core.editor": ":",
    "core.fsmonitor": "false",
    "core.hookspath": "/dev/null",
    "core.pager": "cat",
    "core.sshcommand": "ssh",
    "core.virtualfilesystem": "",
    "browser.*.cmd": "false",
    "browser.*.path": "false",
    "credential.helper": "",
    "credential.*.helper": "",
    "diff.external": "",
    "diff.*.command": "",
    "diff.*.textconv": "cat",  # an empty converter is an error, `cat` converts nothing
    "difftool.*.cmd": "false",
    "difftool.*.path": "false",
    "filter.*.clean": "",
    "filter.*.process": "",
    "filter.*.smudge": "",
    "gpg.program": "false",
    "gpg.*.defaultkeycommand": "false",
    "gpg.*.program": "false",
    "hook.*.command": "true",
    "imap.tunnel": "false",
    "instaweb.httpd": "false",
    "interactive.difffilter": "cat",
    "lfs.*.clean": "cat",
    "lfs.*.path": "false",
    "lfs.*.smudge": "cat",
    "man.*.cmd": "false",
    "man.*.path": "false",
    "merge.*.driver": "false",
    "pager.*": "cat",
    "protocol.allow": "user",
    "protocol.ext.allow": "never",
    "mergetool.*.cmd": "false",
    "mergetool.*.path": "false",
    "remote.*.vcs": "none",
    **{f"sendemail.{each}": "" for each in _MAIL},
    **{f"sendemail.*.{each}": "" for each in _MAIL},
    "sequence.editor": ":",
    "submodule.*.update": "checkout",
    "svn.authorsprog": "false",
    "tar.*.command": "false",
    "trailer.*.cmd": ":",
    "trailer.*.command": ":",
}
"""The settings that name a program, `*` for a name of any kind, with the value that starts none of the repository's."""
_UNLESS: Mapping[str, re.Pattern[str]] = {
    "pager.*": re.compile(r"(true|yes|on|false|no|off|[-+]?\d+[kmg]?)?", re.IGNORECASE),
    "protocol.allow": re.compile("never|user"),
    "protocol.ext.allow": re.compile("never"),
}
"""Those that name one only with a value that is none of these."""
_INSTEAD: Mapping[str, Mapping[str, str]] = {
    "core.gitproxy": {"GIT_PROXY_COMMAND": ""},  # it counts before the setting, and empty means none
    # of these two the first value counts, which is the repository's: nothing is fetched or pushed at all
    "remote.*.receivepack": {"GIT_ALLOW_PROTOCOL": ""},
    "remote.*.uploadpack": {"GIT_ALLOW_PROTOCOL": ""},
}
"""Settings that name a program and have no value for "none", with the variables that keep git from starting it."""
_COLLECTING = "gc.recentobjectshook"
"""One for which there is no such variable either: started when git collects what nobody needs."""
_MAY_COLLECT = frozenset({"bisect", "gc", "prune", "rebase", "repack"})
"""Plain sub-commands that collect when they are told to, or start others that do."""
_MOVES = frozenset({"am", "bisect", "checkout", "cherry-pick", "merge", "rebase", "revert", "stash", "switch"})
"""Plain sub-commands that make another index, and enter the repositories that it names."""
_KEEPS_ALL = GIT_PLAIN - _MAY_COLLECT
_NEVER_BY_ITSELF = {"gc.auto": "0", "maintenance.auto": "false"}
_TOGETHER: Mapping[str, tuple[tuple[str, str], ...]] = {
    "filter": (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")),
    "diff": (("textconv", "cat"), ("command", "")),
}
"""What is set for every name of a section, whichever of its settings is there."""
_AT_HOME = {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1"}
"""For sub-commands that stay on this machine: a repository may name a server from which git gets what is missing."""
_VARIABLES = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_PAGER": "cat"}

_TABS = re.compile(r"[\t\r]")
_SPELLINGS = (os.path.normpath, os.path.realpath)
_MAX_FILES = 256
_MAX_NAMES = 400


class TooMuchError(AgentError):
    """A repository's configuration is larger than is looked through, or names what cannot be switched off."""

    def __init__(self, why: str = "more configuration than is looked through") -> None:
        super().__init__(why)


def is_git(words: Sequence[str]) -> bool:
    """Whether these words start git, by whatever path."""
    return bool(words) and base_name(words[0]) == "git"


FACT = "the repository's programs off"


def fact(words: Sequence[str]) -> str:
    """What a person is told beside a git command: `FACT` where it holds.

    Not for a sub-command that is not known (it may be another program), nor for one that may start git in another
    repository (so does `--submodule=diff`): what it sets here does not reach there.
    """
    known = is_git(words) and subcommand(tuple(words)) in GIT_PLAIN and not names_program(words)
    return FACT if known else ""


def argv(words: Sequence[str], *, viewed: bool = True) -> tuple[str, ...]:
    """The same command with what git itself offers against foreign programs; other commands are as they were.

    `viewed`: one that may run unasked is given a view of the repository, without its configuration.
    """
    if not is_git(words):
        return tuple(words)
    at = _subcommand(words)
    more = _NO_PROGRAMS if at < len(words) and words[at] in _DIFFS else ()
    if viewed and words[0] == "git" and _unasked(words[1:]):
        return (*VIEW, words[1], _MODULES[0], *more, *words[2:])
    own = () if "--no-pager" in words[1:at] else ("--no-pager",)
    return (words[0], *own, *words[1 : at + 1], *more, *words[at + 1 :])


def is_viewed(words: Sequence[str]) -> bool:
    """Whether these are the words of a git that never reads the repository's configuration: it gets a view, or nothing."""
    if tuple(words[: len(VIEW)]) != VIEW:
        return False
    own = words[len(VIEW) :]
    return bool(own) and (own[0] in DATA_ONLY or (len(own) > 1 and own[1] in _MODULES and _unasked([own[0], *own[2:]])))


def _unasked(words: Sequence[str]) -> bool:
    """Whether the policy's own tables accept this sub-command with its words."""
    options = OPTIONS.get(("git", *words[:1]))
    return options is not None and options.accept(words[1:])


def _subcommand(words: Sequence[str]) -> int:
    """Where the sub-command stands; `len(words)` when there is none."""
    at = 1
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in GIT_VALUES else 1
    return min(at, len(words))


def environment(words: Sequence[str], folder: str) -> dict[str, str]:
    """Variables for a command in `folder` that is git or may start it: these settings win over every file of the repository.

    The names of filters come from the repositories that the words lead to; one that a script enters later is not read.
    Where a repository names a diff program, git in a script fails instead of starting it: there is no value for "none".
    Where it holds more configuration than is looked through, or what nothing keeps from being started, git finds no
    repository at all.
    """
    which = subcommand(tuple(words)) if is_git(words) else ""
    try:
        if any("bisect" in word for word in words):
            _check_hook(_folders(words, folder))
        found = off(_folders(words, folder), may_collect=which not in _KEEPS_ALL, moves=which in _MOVES)
    except TooMuchError as error:
        return {**_VARIABLES, "GIT_DIR": f"/dev/null/{error}"}
    pairs = enumerate([*_FIXED, *sorted(found.settings.items())])
    numbered = {
        f"GIT_CONFIG_{part}_{n}": text for n, pair in pairs for part, text in zip(("KEY", "VALUE"), pair, strict=True)
    }
    reach = _AT_HOME if which in GIT_PLAIN else {}
    return {**_VARIABLES, **found.variables, **reach, **numbered, "GIT_CONFIG_COUNT": str(len(numbered) // 2)}


def _check_hook(folders: Iterable[str]) -> None:
    """Raise where the one hook stands that `git bisect` of 2.39 starts wherever hooks are said to be."""
    for mark in {mark for folder in folders for mark in _around(Path(folder))}:
        if os.access(mark / "hooks/reference-transaction", os.X_OK):
            raise TooMuchError("the hook reference-transaction cannot be switched off")


def _folders(words: Sequence[str], folder: str) -> Iterator[str]:
    """Where git may find a repository: here, and where its own options lead, also behind a wrapper."""
    yield folder
    while words and not is_git(words):
        words = words[1:]
    for at, word in enumerate(words[: _subcommand(words)]):
        name, sign, value = word.partition("=")
        if name in {"-C", "--git-dir", "--work-tree"}:
            folder = os.path.join(folder, value if sign else words[at + 1] if at + 1 < len(words) else "")  # noqa: PTH118
            yield folder


# ------------------------------------------------------------------ the repository's own configuration


@dataclass(frozen=True, slots=True)
class Off:
    """What keeps the programs of repositories from being started: settings, and variables."""

    settings: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)


def off(folders: Iterable[str], *, may_collect: bool = True, moves: bool = False) -> Off:
    """What keeps from being started whatever the repositories around these folders name.

    `may_collect`: the command may make git look for objects that nobody needs. `moves`: it may make another index.

    Raises:
        TooMuchError: there may be more of them, or one cannot be kept from it.
    """
    found = Off()
    for text in texts(((Path(folder), _around(Path(folder))) for folder in folders), everywhere=moves):
        for section, name, key, value in settings(text):
            if name is not None:
                found.settings.update({f"{section}.{name}.{each}": none for each, none in _TOGETHER.get(section, ())})
            if (which := program(section, name, key, value)) is None:
                continue
            if which == _COLLECTING and may_collect:
                raise TooMuchError(f"{which} cannot be switched off")
            if which == _COLLECTING:
                found.settings.update(_NEVER_BY_ITSELF)
            elif which in _INSTEAD:
                found.variables.update(_INSTEAD[which])
            else:
                found.settings.setdefault(full(section, name, key), PROGRAMS[which])
        if len(found.settings) > _MAX_NAMES:
            raise TooMuchError
    return found


def programs(folder: Path) -> tuple[str, ...]:
    """What git itself would start here by the repository's own configuration: names of settings and of hooks."""
    return _programs(folder, _repository(folder))


def programs_of(mark: Path) -> tuple[str, ...]:
    """The same for one repository: its `.git`, or a bare one."""
    return _programs(mark.parent if mark.name == ".git" else mark, _led(mark))


def _programs(folder: Path, own: list[Path]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    try:
        for text in texts([(folder, own)]):
            for section, name, key, value in settings(text):
                if program(section, name, key, value):
                    found[full(section, name, key)] = None
    except TooMuchError as error:
        found[str(error)] = None
    hooks: set[str] = set()
    for mark in own:
        with contextlib.suppress(OSError):
            hooks |= {
                entry.name for entry in os.scandir(mark / "hooks") if entry.is_file() and os.access(entry, os.X_OK)
            }
    found |= {f"hook {name}": None for name in sorted(hooks) if not name.endswith(".sample")}
    return tuple(found)


def program(section: str, name: str | None, key: str, value: str) -> str | None:
    """The setting of the tables that this one is an instance of, None for one that names no program."""
    any_key = section in {"alias", "pager"} and name is None
    kinds = (full(section, name, key), f"{section}.*" if any_key else "" if name is None else f"{section}.*.{key}")
    which = next(
        (kind for kind in kinds if key and (kind in PROGRAMS or kind in _INSTEAD or kind == _COLLECTING)), None
    )
    harmless = _UNLESS.get(which or "")
    return None if harmless and harmless.fullmatch(value) else which


def texts(places: Iterable[tuple[Path, list[Path]]], *, everywhere: bool = False) -> Iterator[str]:
    """The configuration files of the repositories at these folders and of those that git enters from there.

    With each folder stand those that hold its configuration. Files that they include count, too, whatever the condition.
    `everywhere`: also those that no index names, in as many folders as are looked through.

    Raises:
        TooMuchError: there are more, or one is longer, than is looked through.
    """
    todo = list(places)
    seen: dict[Path, int] = {}
    while todo:
        place, own = todo.pop(0)
        bases = {place, *(up for up in _up(place) if os.path.lexists(up / ".git")), *(mark.parent for mark in own)}
        known = len(seen)
        for text in _configuration(own, seen):
            yield text
            for section, _, key, value in settings(text):
                if (section, key) == ("core", "worktree"):
                    bases |= {mark / value for mark in own}
        if everywhere and any(_moves_with_files(file, own, bases) for file in list(seen)[known:]):
            raise TooMuchError("its settings include a file of the folder, which this command may change")
        if len(seen) > known:
            try:
                links = {link for mark in own for size in _hash_sizes(own) for link in gitlinks(mark, size, bases)}
            except UnreadableIndexError as error:
                raise TooMuchError(str(error)) from error
            entered = [base / link for base in sorted(bases) for link in sorted(links)]
            if everywhere:
                with contextlib.suppress(UnreadableIndexError):
                    entered += [base / each for base in sorted(bases) for each in sorted(below(base)) if each]
            todo += [(folder, _around(folder)) for folder in entered]


def _moves_with_files(file: Path, own: list[Path], tops: Iterable[Path]) -> bool:
    """Whether a file of the configuration is one of the work tree, as it is named or where links lead."""
    marks, trees = ({Path(each(path)) for path in paths for each in _SPELLINGS} for paths in (own, tops))
    return any(
        any(map(path.is_relative_to, trees)) and not any(map(path.is_relative_to, marks))
        for path in (Path(each(file)) for each in _SPELLINGS)
    )


def _hash_sizes(own: list[Path]) -> set[int]:
    """How long names of objects may be here: git takes that from the file itself, from none that it includes."""
    written = [text for mark in own if (text := _read(mark / "config")) is not None]
    sha256 = [
        any(
            (section, key, value.lower()) == ("extensions", "objectformat", "sha256")
            for section, _, key, value in settings(text)
        )
        for text in written
    ]
    return {32 if each else 20 for each in sha256} or {20}


def _configuration(own: list[Path], seen: dict[Path, int]) -> Iterator[str]:
    """The configuration files of one repository that were not `seen` before (with their length), with those that they include."""
    todo = [mark / name for mark in own for name in ("config", "config.worktree")]
    while todo:
        file = todo.pop(0)
        if file in seen:
            continue
        text = _read(file)
        seen[file] = len(text or "")
        if len(seen) > _MAX_FILES or sum(seen.values()) >= MAX_BYTES:
            raise TooMuchError
        if text is None:
            continue
        yield text
        for section, _, key, value in settings(text):
            if section in {"include", "includeif"} and key == "path":
                if value.startswith("%("):
                    raise TooMuchError("a file that is included from where git is installed")
                # resolved as git does: from the folder of the including file, `~` from home; old ones make blanks of tabs
                todo += [file.parent / os.path.expanduser(each) for each in (value, _TABS.sub(" ", value))]  # noqa: PTH111 - does not raise


def _repository(folder: Path) -> list[Path]:
    """The folders that hold the configuration of the nearest repository, none outside one: found as git finds it.

    A `.git` goes before the folder that it is in, and one that is no repository counts for nothing.
    """
    return next((found for place in _up(folder) if (found := _led(place / ".git") or _body(place))), [])


def _around(folder: Path) -> list[Path]:
    """The same with what git passes by now, but may take for a repository before a command has ended."""
    found: list[Path] = []
    for place in _up(folder):
        mark = place / ".git"
        found += _with_common(mark) if is_folder(mark) else _led(mark)
        found += (bare := _body(place))
        if bare or _led(mark):
            break
    return found


def _up(folder: Path) -> tuple[Path, ...]:
    real = Path(os.path.realpath(folder))
    return (real, *real.parents)


def _led(mark: Path) -> list[Path]:
    """Where the configuration of a `.git` is; of a bare repository, too."""
    if (text := _read(mark)) is not None:
        told = text.removeprefix(GITDIR)
        return _with_common(mark.parent / pointed(told)) if told != text else []
    return _body(mark)


def _body(folder: Path) -> list[Path]:
    """Where the configuration is when git takes a folder for a repository: a bare one, or the inside of a `.git`."""
    own = _with_common(folder)
    parts = (folder / "HEAD", own[-1] / "objects", own[-1] / "refs")
    return own if all(map(os.path.lexists, parts)) else []


def _with_common(own: Path) -> list[Path]:
    common = pointed(_read(own / "commondir") or "")
    return [own, own / common] if common else [own]


def _read(file: Path, limit: int = MAX_BYTES) -> str | None:
    """The text of an ordinary file, None when there is none."""
    data = beginning(file, limit)
    return None if data is None else data.decode("utf-8", "surrogateescape")


def repository(folder: Path) -> bool:
    """Whether a folder lies in a git repository, by looking; no program is run for it."""
    return bool(_repository(folder))


def work_tree(folder: Path) -> tuple[Path, Path] | None:
    """The work tree around a folder, and the folder that git keeps for it: `.git`, or where a file of that name leads.

    None outside one; by looking.
    """
    return next(((place, found[0]) for place in _up(folder) if (found := _led(place / ".git"))), None)


def branch_of(folder: Path) -> str:
    """The branch of the work tree around a folder, from `HEAD` as a file; no program is run for it."""
    found = work_tree(folder)
    head = (_read(found[1] / "HEAD", 300) or "").strip() if found else ""
    name = head.removeprefix("ref: refs/heads/")
    return name if name != head else head[:8]

"""What git sees of a repository when it runs unasked: its data, and nothing of its configuration.

However well configuration is read here, git may read it otherwise, and then starts what it names. So a git that nobody
was asked about gets a `.git` of its own, made for this one command in a private folder: references, objects and index
by link or copy, and a `config` that is written here. No program's name is in it, so none is started, wherever and
however the folder names it. A few harmless values are copied (`_SHAPES`), for git to answer as it does for the person;
one that is read wrongly costs a wrong letter, no program. What cannot be shown like this asks.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from tui_agent.core.disk import beginning, is_file, is_folder, is_link
from tui_agent.core.types import AgentError
from tui_agent.workspace.git_config import GITDIR, MAX_BYTES, full, pointed, settings

_LINE = 8192
"""Bytes of a small file of git."""
_MOST_INDEX = 256 << 20
_STATE_BYTES = 1 << 20
_STATE_FILES = 100
_STATES = ("rebase-merge", "rebase-apply", "sequencer")
"""Folders that hold what is under way."""
_FILES = (
    *("HEAD", "ORIG_HEAD", "FETCH_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "AUTO_MERGE"),
    *("MERGE_MODE", "MERGE_MSG", "BISECT_HEAD", "BISECT_LOG", "BISECT_START", "BISECT_TERMS"),
)
"""Files of a work tree that are copied."""
_COMMON = (
    *("refs", "packed-refs", "logs/refs", "shallow"),
    *("info/exclude", "info/attributes", "info/grafts"),
)
"""What all work trees of a repository share, by link: nothing in it starts a program."""
_OWN = ("logs/HEAD", "info/sparse-checkout")
"""The same of one work tree."""
_EXTENSIONS = frozenset({"noop", "partialclone", "preciousobjects", "relativeworktrees", "worktreeconfig"})
"""Extensions of a repository without which its data are read as well; `objectformat` is copied."""

_FLAG = "true|false|yes|no|on|off|0|1"
_NAME = r"[^\x00-\x1f\x7f]+"
_FLAGS = (
    *("core.commitgraph", "core.filemode", "core.ignorecase", "core.multipackindex", "core.precomposeunicode"),
    *("core.protecthfs", "core.protectntfs", "core.quotepath", "core.sparsecheckout", "core.sparsecheckoutcone"),
    *("core.symlinks", "core.trustctime", "core.usereplacerefs", "diff.indentheuristic", "diff.mnemonicprefix"),
    *("diff.noprefix", "diff.relative", "diff.suppressblankempty", "index.sparse", "status.aheadbehind"),
    *("status.branch", "status.displaycommentprefix", "status.relativepaths", "status.short", "status.showstash"),
)
_SHAPES: Mapping[str, re.Pattern[str]] = {
    name: re.compile(shape, re.IGNORECASE)
    for name, shape in {
        **dict.fromkeys(_FLAGS, _FLAG),
        "advice.*": _FLAG,
        "branch.*.merge": _NAME,
        "branch.*.pushremote": _NAME,
        "branch.*.remote": _NAME,
        "core.abbrev": "[0-9]+|auto|no",
        "core.attributesfile": _NAME,
        "core.autocrlf": f"{_FLAG}|input",
        "core.bigfilethreshold": "[0-9]+[kmg]?",
        "core.checkstat": "default|minimal",
        "core.eol": "lf|crlf|native",
        "core.excludesfile": _NAME,
        "core.safecrlf": f"{_FLAG}|warn",
        "core.whitespace": r"[\w,=-]+",
        "diff.algorithm": "default|myers|minimal|patience|histogram",
        "diff.context": "[0-9]+",
        "diff.interhunkcontext": "[0-9]+",
        "diff.renamelimit": "[0-9]+",
        "diff.renames": f"{_FLAG}|copy|copies",
        "push.default": "nothing|current|upstream|tracking|simple|matching",
        "remote.*.fetch": _NAME,
        "remote.*.push": _NAME,
        "remote.pushdefault": _NAME,
        "status.renamelimit": "[0-9]+",
        "status.renames": f"{_FLAG}|copy|copies",
        "status.showuntrackedfiles": "no|normal|all",
    }.items()
}
"""The settings that are copied, `*` for a name of any kind, and what one must look like."""
_MOST_FILES = 256
_PATHS = ("core.attributesfile", "core.excludesfile")
_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}
_NOT_ENTERED = "git did not look into the modules of this repository: what changed in their files is not in it"
_SYSTEM = Path("/etc/gitconfig")
_PLACES = ("/var/tmp", "/dev/shm")  # noqa: S108 - only where the usual one is in the workspace


class UnfitError(AgentError):
    """A repository cannot be shown without its own configuration; the text says why, as a part of a sentence."""


@dataclass(frozen=True, slots=True)
class View:
    """The variables of a git, the folders that it must be able to read, and what it cannot tell, as sentences."""

    variables: dict[str, str]
    readable: tuple[Path, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kept:
    """Where a repository keeps what: the top of the work tree, what is of this one, and what all its work trees share."""

    top: Path
    own: Path
    common: Path


def unfit(folder: Path) -> str:
    """Why git cannot be shown the repository around a folder, "" where it can, or where there is none."""
    try:
        if kept := find(folder):
            _wanted(kept, {})
    except UnfitError as error:
        return str(error)
    return ""


def fits(folder: Path) -> bool:
    """Whether there is a repository around a folder that git can be shown."""
    return not unfit(folder) and find(folder) is not None


# ------------------------------------------------------------------ where it is


def find(folder: Path) -> Kept | None:
    """The repository around a folder, None outside of one.

    Raises:
        UnfitError: what git shows there may be of another place.
    """
    real = Path(os.path.realpath(folder))
    for top in (real, *real.parents):
        mark = top / ".git"
        if is_link(mark):
            raise UnfitError("its .git is a link")
        _check(not os.path.lexists(mark / "commondir"), "its history is kept in another folder")
        if is_file(mark):
            kept = _led(top, mark)
        elif is_folder(mark / "objects") and is_folder(mark / "refs") and os.path.lexists(mark / "HEAD"):
            kept = Kept(top, mark, mark)
        else:
            continue
        _check_data(kept)
        return kept
    return None


def _led(top: Path, mark: Path) -> Kept:
    """Where a file `.git` leads: for a further work tree, or a module; each says the same from the other side."""
    told = _line(mark)
    own = Path(os.path.realpath(top / told.removeprefix(GITDIR)))
    _check(told.startswith(GITDIR), "its .git cannot be read")
    if not os.path.lexists(own / "commondir"):
        _check(_work_tree(own) == str(top), "its .git is that of another folder")
        return Kept(top, own, own)
    common = own.parent.parent
    back = os.path.realpath(own / _line(own / "gitdir"))
    shared = os.path.realpath(own / _line(own / "commondir"))
    _check(
        own.parent.name == "worktrees" and back == str(mark) and shared == str(common),
        "its .git is that of another folder",
    )
    return Kept(top, own, common)


def _work_tree(own: Path) -> str:
    named = dict(_settings([own / "config"])).get("core.worktree")
    return "" if named is None else os.path.realpath(own / named)


def _line(file: Path) -> str:
    """What a file says that leads git elsewhere, as git takes it."""
    return pointed(os.fsdecode(beginning(file, _LINE, links=False) or b""))


def _check_data(kept: Kept) -> None:
    """Raise where the data are not all in the repository itself: a link would show what is of another one."""
    own, common = ("HEAD", "index", "info", "info/sparse-checkout"), (*_COMMON, "info", "logs")
    for path in (*(kept.own / name for name in own), *(kept.common / name for name in common)):
        # git tells lines that it does not understand, but none of what is left out
        _check(not is_link(path) or path.name == "exclude", f"its {path.name} is a link")
    with contextlib.suppress(OSError):
        _check((kept.own / "index").lstat().st_size <= _MOST_INDEX, "its index is larger than is copied")
    objects = kept.common / "objects"
    for each in (objects, objects / "pack", objects / "info"):
        _check(not is_link(each), "its objects are kept in another folder")
        with contextlib.suppress(OSError), os.scandir(each) as entries:
            _check(not any(entry.is_symlink() for entry in entries), "its objects are kept in another folder")
    _check(not os.path.lexists(objects / "info/alternates"), "it also shows the objects of another repository")


def _check(fine: bool, why: str) -> None:
    if not fine:
        raise UnfitError(why)


# ------------------------------------------------------------------ its settings


def _settings(files: Iterable[Path], home: str = "") -> list[tuple[str, str]]:
    """The settings of these files in git's order, with those that they include; of conditions none holds.

    Raises:
        UnfitError: there is more than is looked through.
    """
    read: list[int] = []
    return [each for file in files for each in _in_order(file, home, read)]


def _in_order(file: Path, home: str, read: list[int]) -> Iterator[tuple[str, str]]:
    data = beginning(file, MAX_BYTES) or b""
    read.append(len(data))
    _check(len(read) <= _MOST_FILES and sum(read) < MAX_BYTES, "it has more configuration than is looked through")
    for name, value in _pairs(data):
        yield name, value
        if name == "include.path":
            yield from _in_order(file.parent / _from_home(value, home), home, read)


def _from_home(name: str, home: str) -> str:
    return f"{home}{name[1:]}" if home and name[:2] == "~/" else name


def _pairs(data: bytes) -> Iterator[tuple[str, str]]:
    text = data.decode("utf-8", "surrogateescape")
    return ((full(section, name, key), value) for section, name, key, value in settings(text) if key)


def _wanted(kept: Kept, env: Mapping[str, str]) -> list[tuple[str, str]]:
    """The settings that git is given: what the repository is, and what is harmless of the person's and its own.

    Raises:
        UnfitError: the repository is of a kind that is not shown.
    """
    itself = beginning(kept.common / "config", MAX_BYTES) or b""
    first = dict(_pairs(itself))  # what a repository is counts only there
    version = first.get("core.repositoryformatversion", "0")
    _check(version in {"0", "1"}, "it is kept in a form that is not read")
    formats = first.get("extensions.objectformat", "sha1").lower()
    extra = {name.partition(".")[2] for name in first if name.startswith("extensions.")} - {"objectformat"}
    _check(formats in {"sha1", "sha256"} and extra <= _EXTENSIONS, "it is kept in a form that is not read")
    files = [kept.common / "config", *([kept.own / "config.worktree"] if "worktreeconfig" in extra else [])]
    home = env.get("HOME", "")
    own = _settings(files, home)
    if kept.own == kept.common:
        last = dict(own)
        _check(
            "core.worktree" not in last or os.path.realpath(kept.own / last["core.worktree"]) == str(kept.top),
            "its files are said to be in another folder",
        )
        _check(last.get("core.bare", "false").lower() in {"", "false", "no", "off", "0"}, "it is said to have no files")
    given = []
    # of a file with attributes git tells lines that it does not understand: none that the folder names is read
    for name, value in (*_of_the_person(home, env), *(each for each in own if each[0] != "core.attributesfile")):
        shape = _SHAPES.get(_kind(name))
        told = _from_home(value, home) if name in _PATHS else value
        if shape and shape.fullmatch(value) and (name not in _PATHS or is_file(kept.top / told)):
            given.append((name, told))
    return [
        ("core.repositoryformatversion", "1" if formats == "sha256" else "0"),
        *([("extensions.objectformat", formats)] if formats == "sha256" else []),
        ("core.bare", "false"),
        *given,
        ("protocol.allow", "never"),
    ]


def _of_the_person(home: str, env: Mapping[str, str]) -> list[tuple[str, str]]:
    """The settings of this machine and of the person, with the files that git looks for where nothing names others."""
    if not home:
        return []
    folder = Path(env.get("XDG_CONFIG_HOME") or f"{home}/.config") / "git"
    usual = [("core.excludesfile", f"{folder}/ignore"), ("core.attributesfile", f"{folder}/attributes")]
    with contextlib.suppress(UnfitError):
        return usual + _settings([_SYSTEM, folder / "config", Path(home) / ".gitconfig"], home)
    return usual


def _kind(name: str) -> str:
    section, _, rest = name.partition(".")
    middle, dot, key = rest.rpartition(".")
    if dot:
        return f"{section}.*.{key}" if middle else name
    return f"{section}.*" if section == "advice" else name


def _written(settings: list[tuple[str, str]]) -> str:
    """A configuration file with these settings."""
    lines = []
    for name, value in settings:
        section, _, rest = name.partition(".")
        middle, dot, key = rest.rpartition(".")
        head = f'[{section} "{_escaped(middle)}"]' if dot else f"[{section}]"
        lines.append(f'{head}\n{key} = "{_escaped(value)}"\n')
    return "".join(lines)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


# ------------------------------------------------------------------ the view


@contextlib.contextmanager
def shown(folder: Path, env: Mapping[str, str]) -> Iterator[View]:
    """Show the repository around a folder to one git.

    `env` are the other variables of the command; of these what is meant for git does not count.

    Raises:
        UnfitError: it cannot be shown like that, or there is none.
    """
    others = {name: value for name, value in env.items() if not name.startswith("GIT_")}
    with contextlib.ExitStack() as stack:
        try:
            kept = _around(folder)
            config = _written(_wanted(kept, env))
            private = Path(stack.enter_context(_private(folder)))
            _fill(private, kept, config)
        except OSError as error:
            raise UnfitError(str(error)) from error
        own = {
            "GIT_DIR": str(private),
            "GIT_OBJECT_DIRECTORY": f"{kept.common}/objects",
            "GIT_WORK_TREE": str(kept.top),
            "HOME": str(private),  # a git of before 2.32 knows no other way to read nothing there
            "XDG_CONFIG_HOME": str(private),
        }
        remarks = (_NOT_ENTERED,) if is_file(kept.top / ".gitmodules") else ()
        yield View({**others, **_VARIABLES, **own}, (private, kept.common, kept.top), remarks)


def _around(folder: Path) -> Kept:
    if (kept := find(folder)) is None:
        raise UnfitError("there is no repository around this folder")
    return kept


def _private(folder: Path) -> contextlib.AbstractContextManager[str]:
    """A folder that no command in a sandbox can write to: outside of the one that these may."""
    workspace = os.path.realpath(folder)
    for place in (tempfile.gettempdir(), *_PLACES):
        if is_folder(place) and not Path(os.path.realpath(place)).is_relative_to(workspace):
            return tempfile.TemporaryDirectory(prefix="tui-agent-git-", dir=place, ignore_cleanup_errors=True)
    raise UnfitError("there is no folder for temporary files outside of this one")


def _fill(private: Path, kept: Kept, config: str) -> None:
    """Make a `.git` of a private folder."""
    (private / "config").write_bytes(config.encode("utf-8", "surrogateescape"))
    for name in ("info", "logs"):
        (private / name).mkdir()
    for place, names in ((kept.common, _COMMON), (kept.own, _OWN)):
        for name in names:
            if os.path.lexists(place / name):
                (private / name).symlink_to(place / name)
    for name in _FILES:
        _copy(kept.own / name, private / name)
    for name in _STATES:
        if is_folder(kept.own / name) and not is_link(kept.own / name):
            (private / name).mkdir()
            for file in islice((kept.own / name).iterdir(), _STATE_FILES):
                if not file.name.isdigit():  # those are mails, which nobody shows
                    _copy(file, private / name / file.name)
    _copy(kept.own / "index", private / "index", _MOST_INDEX)  # with its time, by which git judges what is young
    for file in islice(kept.own.glob("sharedindex.*"), _STATE_FILES):
        (private / file.name).symlink_to(file)


def _copy(file: Path, to: Path, most: int = _STATE_BYTES) -> None:
    """Copy the beginning of an ordinary file, no link; of one that is not there, nothing."""
    try:
        fd = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return
    with os.fdopen(fd, "rb") as source:
        info = os.fstat(fd)
        if stat.S_ISREG(info.st_mode):
            with to.open("xb") as copy:
                while most > 0 and (piece := source.read(min(most, 1 << 20))):
                    most -= copy.write(piece)
            os.utime(to, ns=(info.st_atime_ns, info.st_mtime_ns))

"""Floors: reasons for which a command or a path is never allowed without a question, whatever the table says."""

from __future__ import annotations

import fnmatch
import itertools
import re
import unicodedata
from collections.abc import Iterator

from tui_agent.core.programs import DOWNLOADERS, interprets
from tui_agent.core.shell import Command, Word
from tui_agent.core.uses import paths_in_code, without_excluded, writes, written
from tui_agent.core.wrappers import PRIVILEGE, Found, base_name, without_git_options

_INVISIBLE = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5") | {chr(c) for c in range(0x180B, 0x1810)}
PROTECTED = frozenset({".git", ".tui_agent", "git~1"})
_KEPT = PROTECTED | {".ssh"}
"""Names below which no command writes unasked."""
_HARMLESS_TARGETS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})


def hidden(text: str) -> bool:
    """Say whether a character is invisible, changes the order of others or looks like a blank that it is not."""
    return not text.isascii() and any(
        char in _INVISIBLE
        or unicodedata.category(char) in {"Cf", "Cn", "Co", "Zl", "Zp"}
        or (unicodedata.category(char) == "Zs" and char != " ")
        or "\ufe00" <= char <= "\ufe0f"
        or "\U000e0100" <= char <= "\U000e01ef"
        for char in text
    )


def floors_of(text: str, found: Found) -> Iterator[str]:
    """Yield the reasons why a command is never automatic."""
    if hidden(text):
        yield "hidden characters"
    names = [base_name(command[0].text) for command in found.commands]
    for name in names:
        if name in PRIVILEGE:
            yield name
    for name, command in zip(names, found.commands, strict=True):
        if _REMOVERS.get(name, _removes_nothing)(command):
            yield "recursive delete of a root, a parent, home or .git"
    if any(map(_names_protected, _written(found, names))):
        yield "writing under .git, .tui_agent or .ssh"
    if DOWNLOADERS.intersection(names) and (found.unseen_program or any(map(_reads_program, names, found.commands))):
        yield "a download and an interpreter"
    if found.fork_bomb:
        yield "a function that calls itself"


_MADE_LATER = re.compile(r"[$`]|<\(|\{\}")
_HAND_ON = frozenset({"xargs", "parallel", "read", "sem"})
"""Programs that make words of what they read."""
_GO = frozenset({"cd", "pushd"})


def _written(found: Found, names: list[str]) -> Iterator[str]:
    """Yield the words that may say where something writes.

    Once anything writes, these are its words and the folders gone to; all words of the text, if a place is only made
    at run time.
    """
    writers = list(filter(writes, found.commands))
    targets = [target for target in found.targets if target not in _HARMLESS_TARGETS]
    if writers or targets:
        words = [*targets, *(word.text for command in writers for word in command)]
        if found.unseen_program or _HAND_ON.intersection(names) or any(map(_MADE_LATER.search, words)):
            yield from without_excluded(_not_pruned(found.words))
        yield from targets
        yield from (
            word.text for name, command in zip(names, found.commands, strict=True) if name in _GO for word in command
        )
    for command in found.commands:
        yield from written(command)
    if any(map(interprets, names)):
        for body in found.heredocs:
            yield from paths_in_code(body)


def _not_pruned(words: list[str]) -> list[str]:
    """Drop what `find` is told not to find: `-path X -prune`, `-not -path X`, `! -name X`."""
    return [
        word
        for i, word in enumerate(words)
        if not (i and words[i - 1] in {"-path", "-name", "-wholename"})
        or not (words[i - 2] in {"-not", "!"} or "-prune" in words[i + 1 : i + 2])
    ]


def _reads_program(name: str, command: Command) -> bool:
    """Say whether an interpreter reads its program from input, or is given one that is made at run time."""
    words = command[1:]
    return interprets(name) and (
        all(word.text.startswith("-") for word in words)
        or any(word.text in {"-", "/dev/stdin"} or not word.fixed for word in words)
    )


def _names_protected(word: str) -> bool:
    """Say whether a word of a command names a protected folder, also as `of=.git/x` or `-t.git`; a URL names none here."""
    if re.match(r"https?://", word):
        return False
    parts = [re.sub(r"^-[A-Za-z]", "", part) for part in re.split(r"[/=:]", word)]
    return any(
        map(_is_protected, (*parts, *(each for part in parts if "{" in part for each in re.split(r"[{,}]", part))))
    )


def folded(part: str) -> str:
    """Return a part of a path as the most forgiving file system reads it."""
    visible = "".join(char for char in unicodedata.normalize("NFKC", part) if not hidden(char))
    return visible.casefold().rstrip(" .")


def _is_protected(part: str) -> bool:
    """Say whether a part of a path is, or may match as a glob, a protected name."""
    name = folded(part)
    if name in _KEPT:
        return True
    if not name.startswith(".") or not re.search(r"[*?\[{]", name):
        return False
    return "{" in name or len(name) > 64 or any(fnmatch.fnmatchcase(kept, name) for kept in _KEPT)


def _removes_too_much(command: Command) -> bool:
    """Judge `rm`: recursive, and a target that is or may be more than something inside the workspace."""
    recursive = options = False
    targets: list[Word] = []
    options = True
    for word in command[1:]:
        if options and word.text == "--":
            options = False
        elif options and word.text.startswith("-") and word.text != "-":
            long = word.text.startswith("--")
            recursive = recursive or ("--recursive".startswith(word.text) if long else "r" in word.text.casefold())
        else:
            targets.append(word)
    return recursive and (not targets or any(map(_too_much, targets)))  # without targets they come from xargs


def _find_removes(command: Command) -> bool:
    """Judge `find`: it deletes all that it finds below a place that is too much."""
    words = [word.text for word in command]
    places = list(itertools.takewhile(lambda word: word.text[:1] not in {"-", "(", "!"}, command[1:]))
    filtered = any(word.lstrip("-").removeprefix("i") in {"name", "path", "regex", "wholename"} for word in words)
    return "-delete" in words and not filtered and (not places or any(map(_too_much, places)))


def _git_removes(command: Command) -> bool:
    """Judge `git clean`: for real, and everything or too much."""
    words = without_git_options(command)
    if len(words) < 2 or words[1].text != "clean":
        return False
    options = [word.text for word in words[2:] if word.text.startswith("-")]
    dry = any(option == "--dry-run" or re.fullmatch(r"-[a-z]*n[a-z]*", option) for option in options)
    targets = [word for word in words[2:] if not word.text.startswith("-")]
    return not dry and (not targets or any(map(_too_much, targets)))


def _removes_nothing(_: Command) -> bool:
    return False


_REMOVERS = {"rm": _removes_too_much, "find": _find_removes, "git": _git_removes}


def _too_much(target: Word) -> bool:
    """Say whether a path is or may be more than something inside the workspace; an absolute one always may."""
    text = target.text
    if text.startswith(("~", "$", "/")) or "{}" in text or (not target.fixed and re.search(r"[$`{(]", text)):
        return True
    parts = text.split("/")
    # a part of wildcards only matches everything: the whole path is then no more than the workspace itself
    named = [part for part in parts if re.sub(r"\[[^\]]*\]|[*?@+!()|]", "", part) not in {"", "."}]
    return not named or ".." in parts or any(map(_is_protected, parts))

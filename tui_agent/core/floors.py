"""Floors: reasons for which a command or a path is never allowed without a question, whatever the table says."""

from __future__ import annotations

import fnmatch
import itertools
import re
import unicodedata
from collections.abc import Iterator

from tui_agent.core.programs import AWKS, DOWNLOADERS, GIT_SHOWS, PLAIN, WRITERS, classify, interprets, subcommand
from tui_agent.core.shell import Command, Word
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


_READERS = (PLAIN - {"make", "uniq"}) | {
    "find",
    "less",
    "more",
    "ag",
    "ack",
    "fd",
    "fdfind",
    "bat",
    "yq",
    "man",
    "info",
}
"""Programs that write nothing to what is named as their operand."""
_GIT_READS = GIT_SHOWS | {"grep", "help", "check-attr"}
_OUTPUT = re.compile(r"-(o|-out|fprint|fls).*", re.DOTALL)
"""Options whose value is a file that is written, of whichever program."""
_LEAVES_OUT = re.compile(r"(-[\w.-]*(exclu|ignor|skip|omit)[\w.-]*|-[IExS])(=.*)?", re.DOTALL)
"""Options whose value is what a program that nobody knows leaves alone."""
_EXCLUDES = re.compile(r"--exclude(-dir)?(=.*)?", re.DOTALL)
"""The same of programs that can write what they are told: these have others that begin like that and take no value."""
_MESSAGE = re.compile(r"(-[a-z]*m|--message)(=.*)?", re.DOTALL)
_CODE_FOLLOWS = re.compile(r"-[A-Za-z]*[ceEr]|--eval|--print")
_CODE_WRITES = re.compile(
    r"write|put|unlink|remove|delete|rename|rmtree|rmdir|mkdir|chmod|copy|move|link|touch|truncate|system|popen|spawn|exec|subprocess"
    r"|shutil|[\"'][rwxabt+]*[wxa+][bt+]*[\"']|[>`]",
    re.IGNORECASE,
)
"""What stands in code that changes a file or starts a program."""
_CODE = re.compile(r"""[\s/=:"'`()<>,;|]+""")
_MADE_LATER = re.compile(r"[$`]|<\(|\{\}")
_HAND_ON = frozenset({"xargs", "parallel", "read", "sem"})
"""Programs that make words of what they read."""
_GO = frozenset({"cd", "pushd"})


def _written(found: Found, names: list[str]) -> Iterator[str]:
    """Yield the words that may say where something writes.

    Once anything writes, these are its words and the folders gone to; all words of the text, if a place is only made
    at run time.
    """
    writers = [each for each in zip(names, found.commands, strict=True) if _writes(*each)]
    targets = [target for target in found.targets if target not in _HARMLESS_TARGETS]
    if writers or targets:
        words = [*targets, *(word.text for _, command in writers for word in command)]
        if found.unseen_program or _HAND_ON.intersection(names) or any(map(_MADE_LATER.search, words)):
            yield from _without(_not_pruned(found.words), _EXCLUDES)
        yield from targets
        for name, command in writers:
            yield from _operands(name, [word.text for word in command])
    for name, command in zip(names, found.commands, strict=True):
        if name in _GO and (writers or targets):
            yield from (word.text for word in command)
        yield from _may_write(name, command)
    if any(map(interprets, names)):
        for body in found.heredocs:
            yield from _paths_in_code(body)


def _writes(name: str, command: Command) -> bool:
    words = [word.text for word in command]
    if name == "git":
        return any(map(_OUTPUT.fullmatch, words))
    return name in WRITERS or classify(words) == "write"


def _without(words: list[str], option: re.Pattern[str]) -> list[str]:
    """Drop an option with its value, which stands behind `=` or is the next word."""
    at = [i for i, word in enumerate(words) if option.fullmatch(word)]
    gone = {*at, *(i + 1 for i in at if "=" not in words[i])}
    return [word for i, word in enumerate(words) if i not in gone]


def _not_pruned(words: list[str]) -> list[str]:
    """Drop what `find` is told not to find: `-path X -prune`, `-not -path X`, `! -name X`."""
    return [
        word
        for i, word in enumerate(words)
        if not (i and words[i - 1] in {"-path", "-name", "-wholename"})
        or not (words[i - 2] in {"-not", "!"} or "-prune" in words[i + 1 : i + 2])
    ]


def _operands(name: str, words: list[str]) -> list[str]:
    """The words of a program that writes, without those that only say what it reads."""
    if name == "sed":
        scripts = [i for i, word in enumerate(words) if re.fullmatch(r"-[A-Za-z]*[ef]|--(expression|file)", word)]
        first = next((i for i, word in enumerate(words) if i and word[:1] != "-"), 0)
        gone = {i + 1 for i in scripts} or {first}
        return [word for i, word in enumerate(words) if i not in gone]
    if name == "cp" and not any(word.startswith(("--p", "--t", "-t")) for word in words):
        return [*(word.rstrip("/").rpartition("/")[2] for word in words[:-1]), words[-1]]
    return _without(words, _EXCLUDES)


def _may_write(name: str, command: Command) -> Iterator[str]:
    """Yield the words of a command that may say where it writes: of a program that nobody knows, all."""
    words = [word.text for word in command]
    outputs = [i for i, word in enumerate(words) if _OUTPUT.fullmatch(word)]
    yield from (word for i in outputs for word in words[i : i + 2])
    if name == "sed":
        yield from re.findall(r"w\s*(\S+)", "\n".join(words))
    elif name in AWKS:
        yield from (part for word in words if re.search(r"[>|(]", word) for part in _CODE.split(word))
    elif name == "git":
        if subcommand(tuple(words)) not in _GIT_READS:
            yield from _without([word.text for word in without_git_options(command)[2:]], _MESSAGE)
    elif interprets(name):
        code = {i + 1 for i, word in enumerate(words) if i and _CODE_FOLLOWS.fullmatch(word)}
        yield from _without([word for i, word in enumerate(words) if i not in code], _LEAVES_OUT)
        for i in code & set(range(len(words))):
            yield from _paths_in_code(words[i])
    elif name not in _READERS and classify(words) not in {"shell", "write"} and name not in WRITERS:
        yield from _without(words, _LEAVES_OUT)


def _paths_in_code(text: str) -> list[str]:
    return _CODE.split(text) if _CODE_WRITES.search(text) else []


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

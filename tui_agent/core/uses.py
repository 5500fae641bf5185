"""What a program does with its words: which of them may say where it writes. One table, and what holds for all others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from tui_agent.core.programs import AWKS, GIT_SHOWS, PLAIN, WRITERS, classify, interprets, subcommand
from tui_agent.core.shell import Command
from tui_agent.core.wrappers import base_name, without_git_options

_OUTPUT = re.compile(r"-(o|-out).*", re.DOTALL)
"""Options whose value is a file that is written, of most programs; it may be the next word."""
_EXCLUDES = re.compile(r"--exclude(-dir)?(=.*)?", re.DOTALL)
"""Options whose value a program leaves alone that can write what it is told: these have others that begin like that."""
_LEAVES_OUT = re.compile(
    r"(-[\w.-]*(exclu|ignor|skip|omit)[\w.-]*|-[IExS])(=.*)?|\w*(EXCLU|IGNOR|SKIP|OMIT)\w*=.*", re.DOTALL
)
"""The same of programs that nobody knows."""
_MESSAGE = re.compile(r"(-[a-z]*m|--message)(=.*)?", re.DOTALL)
_CODE_FOLLOWS = re.compile(r"-[A-Za-z]*[ceEr]|--eval|--print")
_CODE_WRITES = re.compile(
    r"write|put|unlink|remove|delete|rename|rmtree|rmdir|mkdir|chmod|copy|move|link|touch|truncate|system|popen|spawn|exec|subprocess"
    r"|shutil|[\"'][rwxabt+]*[wxa+][bt+]*[\"']|[>`]",
    re.IGNORECASE,
)
"""What stands in code that changes a file or starts a program."""
_CODE = re.compile(r"""[\s/=:"'`()<>,;|]+""")
_GIT_READS = GIT_SHOWS | {"grep", "help", "check-attr"}
_TAR_VALUES = frozenset("bCfFgHIKLNTVX")
"""Letters of tar that take a word each, in their order."""
_FORMATTERS = frozenset({"clang-format", "gofmt", "isort", "prettier", "rubocop", "ruff", "rustfmt"})


def written(command: Command) -> list[str]:
    """The words of a command that may say where it writes; of a program that nobody knows, all."""
    words = [word.text for word in without_git_options(command)]
    name = base_name(words[0])
    own = _TABLE.get(name) or (_code if interprets(name) else _others)
    return [*_outputs(name, words), *own(words)]


def writes(command: Command) -> bool:
    """Whether a command is known to write somewhere."""
    words = [word.text for word in command]
    name = base_name(words[0])
    if name in WRITERS or classify(words) == "write":
        return True
    return _TABLE.get(name) in {_nothing, _git} and any(_outputs(name, words))


def paths_in_code(text: str) -> list[str]:
    """The words of code that may be paths, when it seems to change a file."""
    return _CODE.split(text) if _CODE_WRITES.search(text) else []


def _outputs(name: str, words: Sequence[str]) -> Iterator[str]:
    option = _OUTPUTS.get(name, _OUTPUT)
    for i, word in enumerate(words):
        if i and option.fullmatch(word):
            yield from words[i : i + 2]


def _without(words: Sequence[str], option: re.Pattern[str]) -> list[str]:
    """Drop an option with its value, which stands behind `=` or is the next word."""
    at = [i for i, word in enumerate(words) if option.fullmatch(word)]
    gone = {*at, *(i + 1 for i in at if "=" not in words[i])}
    return [word for i, word in enumerate(words) if i not in gone]


def without_excluded(words: Sequence[str]) -> list[str]:
    """The words without those that only say what a program that writes leaves alone."""
    return _without(words, _EXCLUDES)


# ------------------------------------------------------------------ what is known of programs


def _nothing(_: list[str]) -> list[str]:
    return []


def _others(words: list[str]) -> list[str]:
    """Of one that is known to write what it is told, of a wrapper (what it starts is looked at by itself), of any other."""
    kind = classify(words)
    if base_name(words[0]) in WRITERS or kind == "write":
        return without_excluded(words)
    return [] if kind == "shell" else _without(words, _LEAVES_OUT)


def _git(words: list[str]) -> list[str]:
    return [] if subcommand(tuple(words)) in _GIT_READS else _without(words[2:], _MESSAGE)


def _cp(words: list[str]) -> list[str]:
    """What is copied only lends its name, unless it brings its folders along, or the place is not the last word."""
    if any(word.startswith(("--p", "--t", "-t")) for word in words):
        return without_excluded(words)
    return [*(word.rstrip("/").rpartition("/")[2] for word in words[:-1]), words[-1]]


def _tar(words: list[str]) -> list[str]:
    """What goes into an archive is only read, unless it is removed then; what comes out of one is written."""
    letters = [word for i, word in enumerate(words) if re.match("-?[A-Za-z]" if i == 1 else "-[A-Za-z]", word)]
    into = "--create" in words or any(re.match("-?[A-Za-wyz]*[cru]", word) for word in letters)
    if not into or any(re.match("--(rem|extr|get)", word) for word in words):
        return without_excluded(words)
    named = [(i, 1) for i, word in enumerate(words) if word.startswith("--f")]
    named += [
        (i, sum(each in _TAR_VALUES for each in word))
        for i, word in enumerate(words)
        if word in letters and "f" in word
    ]
    return [word for i, values in named for word in words[i : i + 1 + values]]


def _sed(words: list[str]) -> list[str]:
    """The files that its script writes, and what it is given when it edits that in place."""
    found = re.findall(r"w\s*(\S+)", "\n".join(words))
    if classify(words) == "write":
        scripts = [i for i, word in enumerate(words) if re.fullmatch(r"-[A-Za-z]*[ef]|--(expression|file)", word)]
        first = next((i for i, word in enumerate(words) if i and word[:1] != "-"), 0)
        gone = {i + 1 for i in scripts} or {first}
        found += [word for i, word in enumerate(words) if i not in gone]
    return found


def _awk(words: list[str]) -> list[str]:
    return [part for word in words if re.search(r"[>|(]", word) for part in _CODE.split(word)]


def _code(words: list[str]) -> list[str]:
    """Of an interpreter: what it is given, and the paths in the code that stands among its words."""
    at = {i + 1 for i, word in enumerate(words) if i and _CODE_FOLLOWS.fullmatch(word)}
    given = _without([word for i, word in enumerate(words) if i not in at], _LEAVES_OUT)
    return [*given, *(part for i in at & {*range(len(words))} for part in paths_in_code(words[i]))]


_READERS = (PLAIN - _FORMATTERS - {"make", "uniq"}) | {
    *("sort", "find", "less", "more", "ag", "ack", "fd", "fdfind", "bat", "yq", "man", "info"),
}
"""Programs that write nothing to what they are given without an option."""
_TABLE: Mapping[str, Callable[[list[str]], list[str]]] = {
    **dict.fromkeys(_READERS, _nothing),
    **dict.fromkeys(AWKS, _awk),
    "cp": _cp,
    "git": _git,
    "sed": _sed,
    "tar": _tar,
}
"""What of its words a program may write to."""
_NONE = re.compile(r"(?!)")
_OUTPUTS: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys(("ack", "ag", "egrep", "fgrep", "grep", "rg", "strings", "zgrep", "[", "test"), _NONE),
    **dict.fromkeys(("column", "cut", "df", "ls", "man", "od", "ps", "tar", "uname"), _NONE),
    "find": re.compile(r"-(fprint|fls).*"),
    "pytest": re.compile(r"-o.*|--(junit|base|log-f|cov-r).*", re.DOTALL),
    "sort": re.compile(r"-[A-Za-z]*o.*|--o.*", re.DOTALL),
}
"""The options of those in whose case they are others, or none."""

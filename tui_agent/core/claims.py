"""Which claims of an answer no receipt shows. Pure.

An answer is no proof of anything. What is found is conservative: where an answer names nothing that can be looked up,
nothing is said.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType

from tui_agent.core import events as ev
from tui_agent.core.late import late
from tui_agent.core.names import FILE_LIST, MOST, QUOTED_FILE, READ, TEST_FILE, files_in, listed, same_file
from tui_agent.core.receipt import Receipt

_NEGATED = late(
    r"\b(?:not|n't|never|cannot|can't|should|would|could|will|if|once|when|whether|until|unless|before|after|please|must|may|might"
    r"|no|none|to|make sure|need|want|ensures?|(?:checks|verifies|asserts|requires|waits)(?:\s+that)?)\b|n't\b",
    re.IGNORECASE,
)
_RUNNER = r"(?:pytest|unittest|tox|nox|jest|vitest|mocha|rspec|ctest|(?:tests?|test suite|checks?|suite|build)\b)"
_NOT_ALONG = r"\b(?!\s+(?:an?|the|it|them|its|their|through|to|into|by|on|over|via|along|around|as|arguments?|args|options?|flags?|values?)\b)"
_PASS = late(
    rf"\b(?:{_RUNNER}|everything|all of (?:it|them))[`'\"*)]*(?:\s+(?:now|all|still|also|is|are|has|have|both|suite))*"
    rf"\s+(?:pass|passes|passed|passing|succeeds?|succeeded|green){_NOT_ALONG}"
    rf"|\b(?:tests?|checks?)[`'\"*]*\s*[:=]\s*(?:all\s+)?\d*\s*pass(?:ed)?{_NOT_ALONG}"
    rf"|\b(?:\d+|all)\s+(?:of\s+\d+\s+)?(?:(?:unit|new|other)\s+)?(?:(?:tests?|checks?)\s+)?passed{_NOT_ALONG}"
    rf"|\b(?:ran|executed)\s[^.;]{{0,40}}?{_RUNNER}[^.;]{{0,40}}?\b(?:succeeded|pass(?:ed|es)?|worked|green){_NOT_ALONG}"
    rf"|\b{_RUNNER}[`'\"*)]*\s+(?:now\s+)?(?:runs?|ran|completes?|completed|finish(?:es|ed)?)\s+without\s+(?:any\s+)?(?:errors?|failures?)\b",
    re.IGNORECASE,
)
_SOME_OF = late(r"(\d+)\s+of\s+(\d+)")
_LINTERS = "mypy|ruff|eslint|flake8|pylint|pyright|clippy|shellcheck|black"
_LINTED = late(
    rf"\b({_LINTERS})[`'\"*]*\s+(?:now\s+|also\s+|is\s+|runs?\s+)*(?:pass|passes|passed|clean|happy|succeeds|succeeded"
    r"|(?:reports?|finds?|found|shows?)\s+(?:no|0)\s+\w+)\b",
    re.IGNORECASE,
)
_TRIED = late(
    r"\bI(?:['\u2019]ve|\s+have)?\s+(?:(?:also|now|successfully|manually)\s+)?(?:tested|tried|verified)\s+"
    r"(?:it|this|that|them|everything|(?:the|my)\s+(?:change|fix|function|code|program|script|command)s?)\b",
    re.IGNORECASE,
)
_MAY_CLAIM = re.compile(r"pass|succe|green|worked|without|clean|happy|reports|finds|(?:e[dn]|wrote)\b", re.IGNORECASE)
"""What each claim holds: most answers to questions hold nothing of it, and the long patterns need not be made."""
_DONE_TO = r"(?:changed|edited|updated|modified|created|written|rewritten|deleted|removed|fixed|repaired|refactored|added|saved)"
_FIRST = r"(?:\bI(?:['\u2019]ve|\s+have)?\s+|^[\s*>\u2022-]*)(?:(?:now|also|just|then|successfully)\s+)?"
_THING = r"(?!no\b|nothing\b)(?:(?!\.\w)[^,;:]){1,60}?"
"""What was changed, without the name of a file."""
_CHANGE = late(
    rf"\b(?:{_DONE_TO}|wrote|rewrote)\s+(?:the\s+)?(?:files?\s+)?({FILE_LIST})"
    rf"|(?<![\w/.@+`'\"*-])({FILE_LIST})\s+(?:was|were|has\s+been|have\s+been|is\s+now|are\s+now)\s+(?:(?:now|also|successfully)\s+)?{_DONE_TO}\b"
    r"(?!\s+(?:by|when|if|before|in\s+\d+|last|at|ago|recently|earlier|in\s+(?:the\s+|an?\s+)?(?:last|latest|previous|earlier|commit|version))\b)"
    rf"|{_FIRST}(?:{_DONE_TO}|implemented|renamed|replaced)\s+{_THING}\sin\s+(?:the\s+)?(?:files?\s+)?({FILE_LIST})"
    rf"|{_FIRST}(?:added|wrote|written|saved)\s+{_THING}\sto\s+(?:the\s+)?(?:files?\s+)?({FILE_LIST})"
    rf"|\b(?:renamed|moved)\s+(?:the\s+)?(?:files?\s+)?{QUOTED_FILE}\s+(?:to|as|into|->|→)\s+({QUOTED_FILE})"
    rf"|(?<![\w/.@+`'\"*-]){QUOTED_FILE}\s+(?:was|has\s+been|is\s+now)\s+(?:renamed|moved)\s+(?:to|as|into)\s+({QUOTED_FILE})",
    re.IGNORECASE,
)
_DELETED = late(
    rf"\b(?:deleted|removed)\s+(?:the\s+)?(?:files?\s+)?({FILE_LIST})(?!['\u2019]s|\s+(?:from|in)\b|[\w/])"
    rf"|(?<![\w/.@+`'\"*-])({FILE_LIST})\s+(?:was|were|has\s+been|have\s+been|is\s+now|are\s+now)\s+(?:now\s+)?(?:deleted|removed)\b"
    r"(?!\s+(?:by|from|in|when|if|before|last|at|ago|recently|earlier)\b)",
    re.IGNORECASE,
)
_OTHERS = late(
    r"\b(?:that|which|who|whoever|you|they|someone|somebody|(?:function|method|script|program|user|author|commit|change)s?|commit\s+`?[0-9a-f]{3,40}`?:?)"
    r"(?:\s+(?:had|has|have|also|already|then|once))*\s*$",
    re.IGNORECASE,
)
"""Before a verb: somebody else did it."""
_QUOTED = late(
    r"\b(?:your|git)\s+(?:\w+\s+)?log\b|\w\s+(?:says|reads|states|mentions)\s*:|\bthat\s+you\s+(?:sent|posted|pasted|gave)\b",
    re.IGNORECASE,
)
"""A sentence about what is not from here."""
_WHAT = (
    r"(?:it|them|this|that|everything|all|(?:the|my|your|these|those|both|all)\s+(?:\w+\s+)?"
    r"(?:changes?|fix|fixes|commits?|branch|work|edits?|files?))"
)
_TO_GIT = r"to\s+(?:git|github|gitlab|origin|main|master|upstream|the\s+(?:remote|repo\w*|branch))"
_COMMITTED = late(
    rf"(?:{_FIRST}|,\s+|\band\s+(?:then\s+)?|\b{_WHAT}\s+(?:are\s+now|is\s+now|has\s+been|have\s+been)\s+)"
    rf"(committed|pushed)(?:\s+and\s+(committed|pushed))?(?=[`'\"*]*(?:\s*$|\s*[,:)]|\s+(?:{_WHAT}|{_TO_GIT}|as|with|and)\b))",
    re.IGNORECASE,
)
_WORKED = late(
    r"\b(?:ran|executed)\s+`([^`\n]+)`[^.;]{0,40}?\b(?:succeeded|passed|worked|without\s+(?:any\s+)?errors?)\b"
    r"|\b(?:it|that|the\s+(?:command|script|program|run))\s+(?:has\s+)?(?:all\s+)?(?:worked|succeeded)\b",
    re.IGNORECASE,
)
_TESTS = late(r"test|check|spec|tox|nox|jest|mocha|phpunit|verify|lint", re.IGNORECASE)
_BUILDS = late(r"make|build|compile|tsc|gcc|javac|gradle|mvn|ninja", re.IGNORECASE)
_OPERATORS = late(r"\s*(?:[;&|\n()]|\|\||&&)\s*")
_LOOK = frozenset({
    "awk", "cat", "cd", "chmod", "cp", "diff", "du", "echo", "export", "fd", "file", "find", "git", "grep", "head", "less",
    "ln", "ls", "mkdir", "more", "mv", "open", "printf", "pwd", "rg", "rm", "sed", "sort", "stat", "tail", "tee", "touch",
    "tree", "type", "vi", "vim", "wc", "which",
})  # fmt: skip
"""Programs that run no test, whatever file they are given."""
_NO_RUN = frozenset({"--version", "--help", "--collect-only", "--co"})
"""Options that make of a test runner a command that runs no test."""
_INSTALLERS = frozenset({
    "apt", "apt-get", "brew", "bun", "cargo", "conda", "gem", "npm", "pdm", "pip", "pip3", "pipenv", "pnpm", "poetry", "uv",
    "yarn",
})  # fmt: skip
_INSTALL = frozenset({"add", "i", "init", "install", "remove", "uninstall"})
_SENTENCE = late(r"[^.!?;\n]+(?:\.(?=\w)[^.!?;\n]*)*")


def unbacked_claims(text: str, events: Iterable[ev.Event | ev.Unknown]) -> list[str]:
    """What an answer says was done and no receipt shows, one sentence each for the person.

    Args:
        text: the final answer.
        events: everything durable of the session, the run that the answer ends included.
    """
    said = re.sub(r"```.*?```", "", text[-READ:], flags=re.DOTALL)
    if not _MAY_CLAIM.search(said):
        return []
    events = tuple(events)
    changed, gone, tested, built = _shown(events)
    claims: list[str] = []
    for found in _SENTENCE.finditer(said):
        sentence = found[0]
        if said[found.end() : found.end() + 1] == "?" or _QUOTED.search(sentence):
            continue
        claim = _PASS.search(sentence)
        if claim and (some := _SOME_OF.search(claim[0])) and some[1] != some[2]:
            claim = None  # "3 of 5 tests passed"
        backed = claim is not None and (tested or (built and "build" in claim[0].lower()))
        if claim and not backed and not _NEGATED.search(sentence[: claim.end()]):
            claims.append(f'the answer says "{_short(claim[0])}", but no test or check passed after the last edit')
        claims += _claims_of_commands(sentence, events)
        claims += _claims_of_trying(sentence, events, tested=tested)
        for match in _CHANGE.finditer(sentence):
            named = files_in(next(filter(None, match.groups())))
            if match[3]:  # "fixed the failure in test_a.py": the failure is there, what was wrong need not be
                named = [name for name in named if not TEST_FILE.search(name)]
            files = [name for name in named if not any(same_file(p, name) for p in changed)]
            before = sentence[: match.start()]
            if files and not _NEGATED.search(before) and not _OTHERS.search(before):
                that = "that file" if len(named) == 1 else listed(files)
                claims.append(f'the answer says "{_short(match[0])}", but nothing changed {that}')
        for match in _DELETED.finditer(sentence):
            named = files_in(match[1] or match[2])
            there = [name for name in named if any(same_file(p, name) for p in changed - gone)]
            before = sentence[: match.start()]
            if there and not _NEGATED.search(before) and not _OTHERS.search(before):
                claims.append(
                    f'the answer says "{_short(match[0])}", but {listed(there)} was changed and is still there'
                )
    return list(dict.fromkeys(claims))[:MOST]


def _shown(events: Iterable[ev.Event | ev.Unknown]) -> tuple[set[str], set[str], bool, bool]:
    """The files that receipts changed, those that are gone, and whether a test or check, or a build, passed after the last change."""
    changed: set[str] = set()
    gone: set[str] = set()
    tested = built = False
    for event in events:
        if isinstance(event, ev.CheckDone):
            tested = event.passed
        elif isinstance(event, ev.Undone):
            tested = built = False
        elif isinstance(event, ev.ToolDone) and event.receipt is not None:
            receipt = event.receipt
            paths = {path: after for path, _, after in receipt.changes}
            changed |= paths.keys()
            gone = (gone - paths.keys()) | {path for path, after in paths.items() if after is None}
            if _runs(receipt, _TESTS):  # one that did not end shows nothing either
                tested = receipt.exit_code == 0
            elif _runs(receipt, _BUILDS):
                built = receipt.exit_code == 0
            elif paths:
                tested = built = False
    return changed, gone, tested, built


def _claims_of_commands(sentence: str, events: Sequence[ev.Event | ev.Unknown]) -> Iterator[str]:
    """What a sentence says that commands did, and their receipts do not show."""
    ran = [e.receipt for e in events if isinstance(e, ev.ToolDone) and e.receipt is not None and _commands(e.receipt)]
    for claim in _COMMITTED.finditer(sentence):
        for verb in map(str.lower, filter(None, claim.groups())):
            done = any(r.exit_code == 0 and _is_git(r, _GIT[verb]) for r in ran)
            if not done and not _NEGATED.search(sentence[: claim.start()]):
                yield f'the answer says "{verb}", but no git {_GIT[verb]} has succeeded'
    if (match := _WORKED.search(sentence)) and not _NEGATED.search(sentence[: match.start()]):
        named = [r for r in ran if match[1] is None or _same_command(r, match[1])]
        if (named and named[-1].exit_code != 0) or (match[1] and not named):
            end = "it did not" if named else "it was not run"
            yield f'the answer says "{_short(match[0])}", but the receipts say that {end}'


def _claims_of_trying(sentence: str, events: Sequence[ev.Event | ev.Unknown], *, tested: bool) -> Iterator[str]:
    """What a sentence says was tried out, or found in order by a linter, and no receipt shows."""
    ran = [e.receipt for e in events if isinstance(e, ev.ToolDone) and e.receipt is not None and _commands(e.receipt)]
    checked = any(isinstance(event, ev.CheckDone) for event in events)
    if (match := _TRIED.search(sentence)) and not (ran or checked) and not _NEGATED.search(sentence[: match.start()]):
        yield f'the answer says "{_short(match[0])}", but no command was run'
    match = _LINTED.search(sentence)
    if match and not tested and not _NEGATED.search(sentence[: match.start()]):
        own = [r for r in ran if any(match[1].lower() in map(posixpath.basename, words) for words in _commands(r))]
        if not own or own[-1].exit_code != 0:
            yield f'the answer says "{_short(match[0])}", but the receipts do not'


_GIT: Mapping[str, str] = MappingProxyType({"committed": "commit", "pushed": "push"})


def _is_git(receipt: Receipt, verb: str) -> bool:
    return any(posixpath.basename(words[0]) == "git" and verb in words for words in _commands(receipt) if words)


def _same_command(receipt: Receipt, said: str) -> bool:
    return any(" ".join(words) == " ".join(said.split()) for words in _commands(receipt))


def _commands(receipt: Receipt) -> list[list[str]]:
    """The words of a command, or of each of those in a script; none of what ran nothing."""
    argv, script = receipt.arguments.get("argv"), receipt.arguments.get("script")
    if argv:
        return [list(map(str, argv))]
    return [piece.split() for piece in _OPERATORS.split(str(script))] if script else []


def _runs(receipt: Receipt, what: re.Pattern[str]) -> bool:
    """Whether a command, or one of those in a script, is such a one, and does not only name it."""
    return any(
        bool(words)
        and posixpath.basename(words[0]) not in _LOOK
        and _NO_RUN.isdisjoint(words)
        and not any(posixpath.basename(a) in _INSTALLERS and b in _INSTALL for a, b in pairwise(words))
        and any(what.search(word) for word in words)
        for words in _commands(receipt)
    )


def _short(text: str) -> str:
    return " ".join(text.split())[:80]

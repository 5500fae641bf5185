"""Command text as a shell would read it, without running it.

Does a text need a shell (`needs_shell`), or is it a plain list of words (`split`)? And which
simple commands stand in a shell text (`lex`), in pipes, groups, functions, substitutions and
here-documents? The lexer never decides that something is harmless: what it cannot see it
reports as `opaque`, and over a limit it raises `MalformedError`, which the policy turns into
deny. Its work is linear in the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MAX_BYTES = 32 * 1024
MAX_WORDS = 1000
MAX_DEPTH = 16
"""How deep substitutions may stand in each other; wrappers and `sh -c` likewise."""


class MalformedError(ValueError):
    """A command that no policy may let through; its text says why."""


class UnbalancedError(MalformedError):
    """A quote without its partner."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command after quotes were removed; expansions stay in it as they were written.

    `fixed`: the shell cannot turn it into something else (no expansion, no glob). `quoted`:
    some part was quoted or escaped, so it is no reserved word.
    """

    text: str
    fixed: bool = True
    quoted: bool = False


Command = tuple[Word, ...]


@dataclass(slots=True)
class Script:
    """What stands in a shell text, substitutions included.

    `commands` are the simple commands without their assignments, `words` all words, `targets` the
    files that output is redirected to, `heredocs` the bodies of here-documents. `opaque` says why
    there may be more than was found, "" if there cannot be. `fork_bomb`: a function that calls
    itself in a pipe or in the background.
    """

    commands: list[Command] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    heredocs: list[str] = field(default_factory=list)
    opaque: str = ""
    fork_bomb: bool = False

    def hide(self, reason: str) -> None:
        """Note the first reason why not everything can be seen."""
        self.opaque = self.opaque or reason


_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def check_text(text: object) -> None:
    """Raise `MalformedError` for what no policy may let through: control characters, surrogates, over 32 KiB."""
    if not isinstance(text, str):
        raise MalformedError("not a text")
    if len(text) > MAX_BYTES:
        raise MalformedError(f"longer than {MAX_BYTES} bytes")
    if match := _FORBIDDEN.search(text):
        raise MalformedError(
            "a lone surrogate" if match[0] >= "\ud800" else f"a control character U+{ord(match[0]):04X}"
        )
    if len(text.encode()) > MAX_BYTES:
        raise MalformedError(f"longer than {MAX_BYTES} bytes")


# ------------------------------------------------------------------ plain words

_QUOTED = re.compile(r"""'[^']*'|"[^"$`\\!]*\"""")
_NEEDS_SHELL = re.compile(r"""[\n;&|<>()$`\\*?\[\]{}!'"]|(?:^|[ \t])[#~]|^[ \t]*[A-Za-z_][A-Za-z0-9_]*\+?=""")
_PLAIN_WORD = re.compile(r"""(?:[^ \t'"]|'[^']*'|"[^"]*")+""")
_QUOTES = re.compile(r"""'([^']*)'|"([^"]*)\"""")


def needs_shell(text: str) -> bool:
    """Say whether `text` means to a shell anything but a list of words (also when its quotes do not match)."""
    # A quoted part that is left over holds an expansion or lacks its end; then its quote is found.
    return _NEEDS_SHELL.search(_QUOTED.sub(".", text)) is not None


def split(text: str) -> tuple[str, ...]:
    """Split a text that needs no shell into argv; blanks and tabs separate, '..' and ".." quote."""
    return tuple(_QUOTES.sub(r"\1\2", word) for word in _PLAIN_WORD.findall(text))


# ------------------------------------------------------------------ shell text


def lex(text: str) -> Script:
    """Read shell text.

    Raises:
        UnbalancedError: a quote is not closed.
        MalformedError: too many words, or substitutions nested too deeply.
    """
    script = Script()
    _Lexer(text, script, 0).commands(closer="")
    return script


_RUN = re.compile(r"[^ \t\n;&|<>()$`\\*?\[{}'\"]+")
_OPERATOR = re.compile(r"&>>?|<<<|<<-?|<>|<&|>>|>\||>&|&&|\|\||\|&|;;&?|;&|[;&|()\n<>]")
_VARIABLE = re.compile(r"\$(?:[A-Za-z0-9_]+|[@*#?$!-])")
_ANSI = re.compile(r"\$'(?:[^'\\]|\\.)*'", re.DOTALL)
_BACKQUOTED = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]]*\])?\+?=")
_LEADERS = frozenset(
    ["if", "then", "elif", "else", "fi", "do", "done", "while", "until", "esac", "{", "}", "!", "coproc"]
)
_LISTS = frozenset({"for", "select", "case"})
_JOINTS = ("|", "|&", "&")
_UNGLOBBED = frozenset({"[", "[[", "]", "]]", "{", "}", "{}", "!"})


@dataclass(slots=True)
class _Heredoc:
    delimiter: str
    expands: bool
    tabs: bool
    """Leading tabs are not part of its lines."""


class _Lexer:
    """One pass over shell text. Where a shell would be stricter (unclosed brackets) it goes on and reports opaque."""

    def __init__(self, text: str, script: Script, depth: int) -> None:
        self.text = text
        self.script = script
        self.depth = depth
        self.at = 0
        self.words = 0
        self.endless = False

    def commands(self, closer: str) -> None:
        """Read commands up to `closer` at this level, or to the end of the text."""
        if self.depth > MAX_DEPTH:
            raise MalformedError(f"nested deeper than {MAX_DEPTH}")
        tokens: list[Word | str] = []
        heredocs: list[_Heredoc] = []
        level = 0
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in " \t":
                self.at += 1
            elif char == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif self._process_substitution() or not (operator := _OPERATOR.match(self.text, self.at)):
                if word := self._word():
                    tokens.append(word)
            elif operator[0] == closer and not level:
                self.at += 1
                if Word("case") in tokens:
                    self.script.hide("a case in a substitution")  # its labels end with the closer, too
                break
            else:
                self.at = operator.end()
                level += {"(": 1, ")": -1}.get(operator[0], 0)
                if "<" in operator[0] or ">" in operator[0]:
                    self._redirection(operator[0], tokens, heredocs)
                else:
                    tokens.append(operator[0])
                if operator[0] == "\n":
                    for heredoc in heredocs:
                        self._heredoc(heredoc)
                    heredocs.clear()
        else:
            if closer:
                self.script.hide("a bracket is not closed")
        if heredocs:
            self.script.hide("a here-document without its end")
        self._assemble(tokens)

    # -------------------------------------------------------------- words

    def _process_substitution(self) -> bool:
        return self.text.startswith(("<(", ">("), self.at)

    def _word(self) -> Word | None:
        """Read one word; None where there is none (an escaped line end, a redirection without target)."""
        parts: list[str] = []
        fixed, quoted, glob = True, False, False
        while self.at < len(self.text):
            char = self.text[self.at]
            if run := _RUN.match(self.text, self.at):
                parts.append(run[0])
                self.at = run.end()
            elif char == "'":
                end = self.text.find("'", self.at + 1)
                if end < 0:
                    raise UnbalancedError("a quote is not closed")
                parts.append(self.text[self.at + 1 : end])
                self.at, quoted = end + 1, True
            elif char == '"':
                self.at += 1
                fixed = self._double(parts, '"') and fixed
                quoted = True
            elif char == "\\":
                escaped = self.text[self.at + 1 : self.at + 2]
                parts.append("" if escaped == "\n" else escaped)
                self.at, quoted = self.at + 2, quoted or escaped != "\n"
            elif char in "$`":
                fixed = self._expansion(parts) and fixed
            elif self._process_substitution():
                self.at += 2
                self._nested("<(..)", parts)
                fixed = False
            elif char in " \t\n;&|<>()":
                break
            else:
                glob = glob or char != "}"
                parts.append(char)
                self.at += 1
        text = "".join(parts)
        if not text and not quoted:
            return None
        self.words += 1
        if self.words > MAX_WORDS:
            raise MalformedError(f"more than {MAX_WORDS} words")
        self.script.words.append(text)
        return Word(text, fixed and (not glob or text in _UNGLOBBED), quoted)

    def _double(self, parts: list[str], end: str) -> bool:
        """Read double-quoted text up to `end` ("" = to the end of the text); False if it holds an expansion."""
        fixed = True
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == end:
                self.at += 1
                return fixed
            if char == "\\":
                escaped = self.text[self.at + 1 : self.at + 2]
                parts.append("" if escaped == "\n" else escaped if escaped in {*'$`"\\'} else char + escaped)
                self.at += 2
            elif char in "$`":
                fixed = self._expansion(parts, quoted=True) and fixed
            else:
                parts.append(char)
                self.at += 1
        if end:
            raise UnbalancedError("a quote is not closed")
        return fixed

    def _expansion(self, parts: list[str], *, quoted: bool = False) -> bool:
        """Read what begins with $ or a backquote; True if it was only that character."""
        start, text = self.at, self.text
        if text.startswith("$(", start):
            self.at += 2
            self._nested("$(..)", parts)
        elif text.startswith("${", start):
            self.at += 2
            self._parameter()
            parts.append(text[start : self.at])
        elif text.startswith('$"', start) and not quoted:
            self.at += 2
            self._double(parts, '"')
        elif match := (not quoted and _ANSI.match(text, start)) or _VARIABLE.match(text, start):
            self.at = match.end()
            parts.append(match[0])
        elif match := _BACKQUOTED.match(text, start):
            self.at = match.end()
            parts.append("`..`")
            inner = re.sub(r"\\([`\\$])", r"\1", match[1])
            _Lexer(inner, self.script, self.depth + 1).commands(closer="")
        else:
            self.at += 1
            parts.append(text[start])
            if text[start] == "`":
                self.script.hide("a backquote is not closed")
            return text[start] == "$"
        return False

    def _nested(self, shown: str, parts: list[str]) -> None:
        parts.append(shown)
        self.depth += 1
        self.commands(closer=")")
        self.depth -= 1

    def _parameter(self) -> None:
        """Read the rest of `${...}`; commands in its default value run too."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise MalformedError(f"nested deeper than {MAX_DEPTH}")
        ignored: list[str] = []
        while self.at < len(self.text) and self.text[self.at] != "}":
            char = self.text[self.at]
            if char in "$`":
                self._expansion(ignored)
            elif char == '"':
                self.at += 1
                self._double(ignored, '"')
            else:
                self.at += 2 if char == "\\" else 1
        if self.at >= len(self.text):
            self.script.hide("a bracket is not closed")
        self.at += 1
        self.depth -= 1

    # -------------------------------------------------------------- redirections

    def _redirection(self, operator: str, tokens: list[Word | str], heredocs: list[_Heredoc]) -> None:
        last = tokens[-1] if tokens else ""
        before = self.text[self.at - len(operator) - 1 : self.at - len(operator)]
        if isinstance(last, Word) and last.text.isdigit() and before.isdigit():
            tokens.pop()  # 2> names a descriptor
        while self.text[self.at : self.at + 1] in {" ", "\t"}:
            self.at += 1
        target = self._word()
        if target is None:
            return
        if operator in {"<<", "<<-"}:
            heredocs.append(_Heredoc(target.text, not target.quoted, operator == "<<-"))
        elif ">" in operator and not (operator == ">&" and target.text.rstrip("-").isdigit()):
            self.script.targets.append(target.text)

    def _heredoc(self, heredoc: _Heredoc) -> None:
        """Read the lines of a here-document; expansions in it are looked into."""
        start = at = self.at
        while at < len(self.text) and not self.endless:
            end = self.text.find("\n", at)
            end = len(self.text) if end < 0 else end
            line = self.text[at:end]
            if (line.lstrip("\t") if heredoc.tabs else line) == heredoc.delimiter:
                self.at = min(end + 1, len(self.text))
                body = self.text[start:at]
                self.script.heredocs.append(body)
                if heredoc.expands:
                    _Lexer(body, self.script, self.depth + 1)._double([], "")  # noqa: SLF001 - its own class
                return
            at = end + 1
        self.endless = True  # what follows is read as commands
        self.script.hide("a here-document without its end")

    # -------------------------------------------------------------- commands

    def _assemble(self, tokens: list[Word | str]) -> None:
        """Cut the tokens into simple commands."""
        self.script.fork_bomb = self.script.fork_bomb or _calls_itself(tokens)
        segment: list[Word] = []
        for token in (*tokens, ";"):
            if isinstance(token, Word):
                segment.append(token)
            elif segment:
                if command := _stripped(segment):
                    self.script.commands.append(command)
                segment = []


def _stripped(segment: list[Word]) -> Command:
    """Drop reserved words and assignments before a simple command; the lists of for, select and case are data."""
    at = 0
    while at < len(segment):
        word = segment[at]
        if not word.quoted and word.text in _LISTS:
            return ()
        if not word.quoted and word.text == "function":
            at += 2
        elif (not word.quoted and word.text in _LEADERS) or ASSIGNMENT.match(word.text):
            at += 1
        else:
            break
    return tuple(segment[at:])


def _calls_itself(tokens: list[Word | str]) -> bool:
    """Say whether a function is defined and its name then occurs twice, once of them beside | or &."""
    uses: dict[str, int] = {}
    beside: set[str] = set()
    before: Word | str = ""
    for i, token in enumerate(tokens):
        after = tokens[i + 1 : i + 3]
        if isinstance(token, Word):
            if after == ["(", ")"] or before == Word("function"):
                uses.setdefault(token.text, 0)
            elif token.text in uses:
                uses[token.text] += 1
                if before in _JOINTS or (after and after[0] in _JOINTS):
                    beside.add(token.text)
        before = token
    return any(uses[name] > 1 for name in beside)

"""The verb protocol: a reply is exactly one of READ, SEARCH, WRITE, PATCH, RUN and DONE, as plain text.

    READ path            WRITE path      PATCH path
    SEARCH text          body            OLD
    RUN command          END             old lines
    DONE summary                         NEW
                                         new lines
                                         END

READ may have FROM number behind its path, or alone on the line below, to go on in a long file; with the name of a long
output, as it stands where that was cut, it reads the output. Markers stand alone at
the beginning of a line. A body that could have been cut, or that holds a line which looks like a marker, is refused: a
file is never written from a guess.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from tui_agent.core.types import JsonObject, ToolCall
from tui_agent.protocols.action import Action, Final, NotExpressible, ParseError, excerpt, without_id
from tui_agent.protocols.habits import fence, is_markdown, is_wrapped, left_open, normalise, unwrap, without_thoughts

TOOLS: Mapping[str, str] = MappingProxyType(
    {"READ": "read_file", "SEARCH": "search", "WRITE": "write_file", "PATCH": "edit_file", "RUN": "run_command"}
)
"""The tool behind each verb; DONE is the final answer."""

_VERB = re.compile(r"(READ|SEARCH|WRITE|PATCH|RUN|DONE)(?:[ \t]+(.*))?")
_BEGINS = re.compile(r"\s*(?:ACTION:|```|(?:READ|SEARCH|WRITE|PATCH|RUN|DONE)\b)")
_BLANKS = " \t\r"
_HEADER, _OBSERVATION = "ACTION:", "OBSERVATION:"
_NEXT = re.compile(rf"(?:{_HEADER}[ \t]*)?(?:WRITE|PATCH)[ \t]+\S")
_FROM = re.compile(r"[ \t]*FROM[ \t]+([1-9]\d{0,8})[ \t\r]*", re.IGNORECASE)
_BEHIND = re.compile(r"(.*\S)[ \t]+FROM[ \t]+([1-9]\d{0,8})")
_OUTPUT = re.compile(r"[0-9a-f]{16}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_PIECE = re.compile(r"""[ \t\r]+|[^ \t\r"'\\]+|\\.|'[^']*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
_OPERATOR = re.compile(r"&&?|\|\|?|;|\d?[<>].*|&>.*", re.DOTALL)
_PATCH_FORM = "the form is PATCH path, a line OLD, the old lines, a line NEW, the new lines, a line END"

Lines = Sequence[str]


def parse(reply: str) -> Action | ParseError:
    """Read one reply: the whole visible text of the model, not cut by a limit."""
    text = without_thoughts(normalise(reply), _BEGINS)
    if text is None:
        return ParseError("unclosed_think", "the reply ended inside its reasoning: think less and send one action")
    lines = text.split("\n")
    start = next((i for i, line in enumerate(lines) if not _is_preamble(line)), None)
    if start is None:
        return ParseError("empty_reply", "the reply is empty, it holds no action: send exactly one, such as READ path")
    line = lines[start].strip(_BLANKS).removeprefix(_HEADER).strip(_BLANKS)
    match = _VERB.fullmatch(line)
    if match is None:
        json = "; JSON is not understood here" if line.startswith("{") else ""
        return ParseError(
            "unknown_verb",
            f"unknown verb: {excerpt(line)}{json}; the reply must be one action and begin with its verb "
            "in upper case: READ, SEARCH, WRITE, PATCH, RUN or DONE",
        )
    return _READERS[match[1]]((match[2] or "").strip(_BLANKS), lines[start + 1 :])


def render(action: Action) -> str:
    """Write an action as a reply; reading it gives the action back, its id aside.

    Raises:
        NotExpressible: the protocol has no form for it, such as a body without a last newline or with a line END.
    """
    text = f"DONE {action.text}".rstrip(_BLANKS) if isinstance(action, Final) else _written(action)
    read = parse(text)
    if read != without_id(action):
        why = read.message if isinstance(read, ParseError) else "it would be read back differently"
        raise NotExpressible(f"the verb protocol cannot carry this action: {why}")
    return text


def _written(call: ToolCall) -> str:
    arguments = call.arguments or {}
    match call.name, dict(arguments):
        case "read_file", {"path": str(path), **rest} if not rest:
            return f"READ {path}"
        case "read_file", {"path": str(path), "start": int(start), **rest} if not rest:
            return f"READ {path}\nFROM {start}"
        case "read_output", {"name": str(name), **rest} if not rest:
            return f"READ {name}"
        case "read_output", {"name": str(name), "start": int(start), **rest} if not rest:
            return f"READ {name}\nFROM {start}"
        case "search", {"text": str(text), **rest} if not rest:
            return f"SEARCH {text}"
        case "write_file", {"path": str(path), "content": str(content), **rest} if not rest:
            return f"WRITE {path}\n{content}END"
        case "edit_file", {"path": str(path), "old": str(old), "new": str(new), **rest} if not rest:
            return f"PATCH {path}\nOLD\n{old}NEW\n{new}END"
        case "run_command", {"argv": [*words], **rest} if not rest and all(isinstance(word, str) for word in words):
            return f"RUN {shlex.join(words)}"
    raise NotExpressible(f"the verb protocol has no form for {call.name} with {', '.join(arguments) or 'no arguments'}")


# ------------------------------------------------------------------ around the action


def _is_preamble(line: str) -> bool:
    """Whether a line before the action says nothing: blank, a fence, or a copied header."""
    return line.strip() in {"", _HEADER} or fence(line) is not None


def _after(verb: str, lines: Lines) -> ParseError | None:
    """What is wrong with the text behind a complete action: only blanks, a bare fence and a made-up observation may follow."""
    for number, line in enumerate(lines):
        text = line.strip(_BLANKS)
        if not text.strip() or fence(line) == "":
            continue
        if text.startswith(_OBSERVATION):
            return None
        ended = f"the first line END ended the {verb}, and " if verb in {"WRITE", "PATCH"} else ""
        only = "send exactly one action and nothing after it"
        if text.startswith(_HEADER) or _VERB.fullmatch(text):
            return ParseError("multiple_actions", f"more than one action: {ended}{excerpt(text)} follows; {only}")
        if ended and _find(lines[number:], "END") is not None:
            kind = "ambiguous_end"
            only = "a line that is only END cannot be part of a body: change that file in another way"
        else:
            kind = "trailing_text"
        return ParseError(kind, f"unexpected text after the action: {ended}{excerpt(text)} follows; {only}")
    return None


def _find(lines: Lines, marker: str) -> int | None:
    return next((i for i, line in enumerate(lines) if line.rstrip(_BLANKS) == marker), None)


def _text(lines: Lines) -> str:
    return "".join(f"{line}\n" for line in lines)


def _bare(rest: str) -> str:
    """What stands behind a verb without the backticks around all of it."""
    return rest[1:-1].strip(_BLANKS) if len(rest) > 2 and rest[0] == rest[-1] == "`" else rest


def _path(verb: str, rest: str) -> tuple[str, ParseError | None]:
    """The path that a verb names, and what is wrong with it."""
    path = _bare(rest)
    if not path:
        return path, ParseError("empty_path", f"{verb} needs a path on the same line: {verb} path")
    parts = re.split(r"[/\\]", path)
    why = ""
    if path[0] in "/\\" or re.match(r"[A-Za-z]:[/\\]", path):
        why = "is absolute"
    elif ".." in parts:
        why = 'contains ".."'
    elif (parts[0].startswith("~") and len(parts) > 1) or path == "~":
        why = "begins with ~, and there is no home directory here"
    elif path[0] == "<" and path[-1] == ">":
        why = "is a placeholder, not the name of a file"
    elif _CONTROL.search(path):
        why = "contains a control character"
    if not why:
        return path, None
    return path, ParseError("unsafe_path", f"the path {excerpt(path)} {why}: use a path relative to the workspace")


# ------------------------------------------------------------------ the six verbs


def _one_line(verb: str, arguments: JsonObject, lines: Lines) -> Action | ParseError:
    return _after(verb, lines) or ToolCall("", TOOLS[verb], arguments)


def _looked(path: str, start: str | None, lines: Lines) -> Action | ParseError:
    """READ of a file, or of a long output by its name, from its beginning or from somewhere on."""
    output = _OUTPUT.fullmatch(path)
    arguments: JsonObject = {"name" if output else "path": path, **({"start": int(start)} if start else {})}
    return _after("READ", lines) or ToolCall("", "read_output" if output else TOOLS["READ"], arguments)


def _read(rest: str, lines: Lines) -> Action | ParseError:
    start = _BEHIND.fullmatch(rest)
    path, fault = _path("READ", start[1] if start else rest)
    if fault:
        return fault
    if start:
        return _looked(path, start[2], lines)
    below = next((i for i, line in enumerate(lines) if line.strip()), len(lines))
    if below < len(lines) and (start := _FROM.fullmatch(lines[below])):
        return _looked(path, start[1], lines[below + 1 :])
    if below < len(lines) and re.match(r"[ \t]*FROM\b", lines[below], re.IGNORECASE):
        return ParseError(
            "trailing_text",
            f"unexpected text after the action: {excerpt(lines[below].strip())} follows; below READ may stand only a line "
            "FROM and the number of the first line to read",
        )
    return _looked(path, None, lines)


def _search(rest: str, lines: Lines) -> Action | ParseError:
    if not rest:
        return ParseError("empty_argument", "the text to search is empty: SEARCH text, on one line")
    return _one_line("SEARCH", {"text": rest}, lines)


def _run(rest: str, lines: Lines) -> Action | ParseError:
    if not rest:
        return ParseError("empty_argument", "the command is empty: RUN program and its arguments, on one line")
    argv = split_words(rest if "`" in rest[1:-1] else _bare(rest))
    return argv if isinstance(argv, ParseError) else _one_line("RUN", {"argv": argv}, lines)


def _done(rest: str, lines: Lines) -> Action | ParseError:
    kept = [rest]
    for line in lines:
        text = line.strip(_BLANKS)
        if text.startswith(_OBSERVATION):
            break
        if text.startswith(_HEADER) or ((match := _VERB.fullmatch(text)) and match[2]):
            return ParseError(
                "multiple_actions",
                f"more than one action: {excerpt(text)} follows DONE; send exactly one action, and DONE only at the end",
            )
        kept.append(line)
    marks = [i for i, line in enumerate(kept) if fence(line) is not None]
    if len(marks) % 2 and not any(line.strip() for line in kept[marks[-1] + 1 :]):
        del kept[marks[-1] :]  # the end of a fence around the whole reply
    return Final("\n".join(kept).strip())


def _write(rest: str, lines: Lines) -> Action | ParseError:
    path, fault = _path("WRITE", rest)
    if fault:
        return fault
    end = _find(lines, "END")
    if end is None or _swallowed(lines[:end]):
        return _missing_end("WRITE")
    if fault := _after("WRITE", lines[end + 1 :]):
        return fault
    body = unwrap(lines[:end], path)
    if body is None:
        return ParseError(
            "ambiguous_fence",
            "it is not clear which ``` lines belong to the file, so nothing was written: "
            "send the body without a fence around it",
        )
    return ToolCall("", TOOLS["WRITE"], {"path": path, "content": _text(body)})


def _patch(rest: str, lines: Lines) -> Action | ParseError:
    path, fault = _path("PATCH", rest)
    if fault:
        return fault
    first = next((i for i, line in enumerate(lines) if line.strip()), len(lines))
    if first == len(lines) or lines[first].rstrip(_BLANKS) != "OLD":
        return ParseError("missing_old", f"PATCH has no line OLD behind the path: {_PATCH_FORM}")
    lines = lines[first + 1 :]
    end, middle = _find(lines, "END"), _find(lines, "NEW")
    if middle is None or (end is not None and end < middle):
        return ParseError("missing_new", f"PATCH has no line NEW before its END: {_PATCH_FORM}")
    if end is None or _swallowed(lines[middle + 1 : end]):
        return _missing_end("PATCH")
    old, new = lines[:middle], lines[middle + 1 : end]
    if not old:
        return ParseError(
            "empty_old", "the OLD block is empty: copy the lines to be replaced, or use WRITE for a new file"
        )
    if _find(new, "NEW") is not None or _find(new, "OLD") is not None:
        return ParseError(
            "ambiguous_markers", f"PATCH has more than one OLD or NEW marker, so one change only: {_PATCH_FORM}"
        )
    if fault := _after("PATCH", lines[end + 1 :]):
        return fault
    around = (is_wrapped(new) and not is_wrapped(old)) or (left_open(old) is None) != (left_open(new) is None)
    if around and not is_markdown(path):
        return ParseError(
            "ambiguous_fence",
            "the NEW block has a ``` line that is not of the file, so nothing was changed: send OLD and NEW without a fence",
        )
    return ToolCall("", TOOLS["PATCH"], {"path": path, "old": _text(old), "new": _text(new)})


def _missing_end(verb: str) -> ParseError:
    return ParseError(
        "missing_end",
        f"{verb} has no line END, so its text may be cut off and nothing was written: end it with a line END; "
        "if it is too long for one reply, PATCH smaller pieces",
    )


def _swallowed(body: Lines) -> bool:
    """Whether a body without its own END ran through made-up lines around it into the next action, up to the END of that."""
    made_up = next((i for i, line in enumerate(body) if line.startswith((_OBSERVATION, _HEADER))), len(body))
    return any(_NEXT.match(line) for line in body[made_up:])


def split_words(command: str) -> list[str] | ParseError:
    """The words of a command, with quotes and backslashes as in a shell, and without anything else of one."""
    words: list[str] = []
    parts: list[str] = []
    at = 0
    while at < len(command):
        piece = _PIECE.match(command, at)
        if piece is None:
            return ParseError("bad_command", f"the command ends inside a quote or with a backslash: {excerpt(command)}")
        at = piece.end()
        blank = piece[0][0] in _BLANKS
        if not blank:
            parts.append(piece[0])
        if parts and (blank or at == len(command)):
            if len(parts) == 1 and _OPERATOR.fullmatch(parts[0]):
                return ParseError(
                    "bad_command",
                    f"there is no shell, so the operator {excerpt(parts[0])} is not understood: "
                    "RUN one program with its arguments",
                )
            words.append("".join(map(_unquoted, parts)))
            parts = []
    if not words or not words[0]:
        return ParseError("bad_command", "the command names no program: RUN program and its arguments")
    return words


def _unquoted(piece: str) -> str:
    if piece[0] == "'":
        return piece[1:-1]
    if piece[0] == '"':
        return re.sub(r'\\(["\\$`])', r"\1", piece[1:-1])
    return piece[1:] if piece[0] == "\\" else piece


_READERS: Mapping[str, Callable[[str, Lines], Action | ParseError]] = MappingProxyType(
    {"READ": _read, "SEARCH": _search, "WRITE": _write, "PATCH": _patch, "RUN": _run, "DONE": _done}
)

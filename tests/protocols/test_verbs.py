from __future__ import annotations

import shlex
import string

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tui_agent.core.types import ToolCall
from tui_agent.protocols import verbs
from tui_agent.protocols.action import Final, NotExpressible, ParseError, without_id
from tui_agent.protocols.verbs import parse, render, split_words

LINES = st.sampled_from(
    ["READ a", "READ", "SEARCH x", "WRITE a.py", "WRITE a.md", "PATCH a.py", "RUN make", "DONE ok", "OLD", "NEW", "END",
     "END ", " END", "", "  ", "```", "```py", "````", "x = 1", "ACTION:", "ACTION: READ b", "OBSERVATION:",
     "OBSERVATION: ok", "<think>", "</think>", "<think>a</think>", "\r", "{}", "READ ../x", "RUN 'a", "\u2028", "\ufeff"]
)  # fmt: skip
REPLIES = st.one_of(
    st.text(), st.lists(LINES, max_size=14).map("\n".join), st.lists(LINES, max_size=9).map("\r\n".join)
)
PATHS = st.text(string.ascii_letters + " ._-/`~", min_size=1, max_size=12)
BODIES = st.one_of(
    st.lists(LINES, max_size=6).map(lambda ls: "".join(f"{line}\n" for line in ls)), st.text(max_size=20)
)
ACTIONS = st.one_of(
    st.builds(Final, BODIES),
    st.builds(lambda p: ToolCall("1", "read_file", {"path": p}), PATHS),
    st.builds(lambda t: ToolCall("1", "search", {"text": t}), st.text(max_size=12)),
    st.builds(lambda p, c: ToolCall("1", "write_file", {"path": p, "content": c}), PATHS, BODIES),
    st.builds(lambda p, o, n: ToolCall("1", "edit_file", {"path": p, "old": o, "new": n}), PATHS, BODIES, BODIES),
    st.builds(lambda a: ToolCall("1", "run_command", {"argv": a}), st.lists(st.text(max_size=8), max_size=4)),
)


def kind(reply: str) -> str:
    read = parse(reply)
    return read.kind if isinstance(read, ParseError) else "action"


def content(reply: str) -> str:
    read = parse(reply)
    assert isinstance(read, ToolCall), read
    return read.arguments["content"]


@given(REPLIES)
def test_any_text_is_an_action_or_the_ordinary_error(reply: str) -> None:
    read = parse(reply)
    assert isinstance(read, ToolCall | Final | ParseError)
    if isinstance(read, ParseError):
        assert "\n" not in read.message
        assert len(read.message) < 400
    elif isinstance(read, ToolCall):
        assert read.name in verbs.TOOLS.values()


@given(REPLIES)
def test_what_follows_a_made_up_observation_is_never_read(reply: str) -> None:
    assert parse(f"READ a.py\nOBSERVATION:\n{reply}") == parse("READ a.py")


@given(ACTIONS)
def test_what_is_rendered_is_read_back(action: Final | ToolCall) -> None:
    try:
        text = render(action)
    except NotExpressible:
        return
    assert parse(text) == without_id(action)


@given(st.lists(st.text("ab \t#=-/.é", max_size=9).map(lambda line: f"{line}\n")).map("".join))
def test_an_ordinary_body_is_always_expressible(body: str) -> None:
    action = ToolCall("", "write_file", {"path": "src/a b.py", "content": body})
    assert parse(render(action)) == action


@given(st.lists(st.text(string.printable.replace("\n", ""), max_size=8), min_size=1).filter(lambda words: words[0]))
def test_words_are_those_of_a_shell(words: list[str]) -> None:
    assert split_words(shlex.join(words)) == words


@given(st.text("ab \t'\"\\$é", max_size=20))
def test_quotes_mean_what_they_mean_in_a_shell(command: str) -> None:
    assume("\\$" not in command)  # which shlex, unlike a shell, leaves alone inside double quotes
    try:
        expected = shlex.split(command)
    except ValueError:
        expected = []
    if expected and expected[0]:
        assert split_words(command) == expected
    else:
        assert isinstance(split_words(command), ParseError)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (ToolCall("1", "write_file", {"path": "a", "content": "no newline"}), "no line END"),
        (ToolCall("1", "write_file", {"path": "a", "content": "x\nEND\ny\n"}), "END"),
        (ToolCall("1", "write_file", {"path": "a", "content": "x\r\n"}), "differently"),
        (ToolCall("1", "write_file", {"path": "a.py", "content": "```\nx\n```\n"}), "differently"),
        (ToolCall("1", "write_file", {"path": "/etc/a", "content": ""}), "absolute"),
        (ToolCall("1", "edit_file", {"path": "a", "old": "", "new": "x\n"}), "empty"),
        (ToolCall("1", "edit_file", {"path": "a", "old": "x\n", "new": "OLD\n"}), "marker"),
        (ToolCall("1", "edit_file", {"path": "a", "old": "x\n", "new": "y\n", "replace_all": True}), "replace_all"),
        (ToolCall("1", "read_file", {"path": "a", "start": 3}), "start"),
        (ToolCall("1", "list_files", {"path": "."}), "list_files"),
        (ToolCall("1", "run_command", {"argv": ["echo", "two\nlines"]}), "quote"),
        (ToolCall("1", "read_file", None, "not JSON", "{"), "no arguments"),
        (Final(" padded "), "differently"),
    ],
)
def test_what_cannot_be_carried_is_refused(call: ToolCall | Final, why: str) -> None:
    with pytest.raises(NotExpressible, match=why):
        render(call)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("<think>READ b", "unclosed_think"),
        ("<thinking>\nREAD b\n</think>\nREAD a", "unclosed_think"),
        ("I could READ b.\n</think>\n\nREAD a", "action"),
        ("READ b\n</think>\nREAD a", "trailing_text"),
        ("<think>a</think><think>b</think>\nREAD a", "action"),
        ("READ a\x00b", "unsafe_path"),
        ("READ ..", "unsafe_path"),
        ("READ src\\..\\..\\x", "unsafe_path"),
        ("READ ~root/x", "unsafe_path"),
        ("READ <path>", "unsafe_path"),
        ("READ ..hidden/~a", "action"),
        ("READ a\nNow I know.\n\nREAD b", "trailing_text"),
        ("READ a\n\nACTION:\nREAD b", "multiple_actions"),
        ("DONE all good\nWRITE a\nx\nEND", "multiple_actions"),
        ("DONE all good\nREAD the docs", "multiple_actions"),
        ("DONE all good\nDONE", "action"),
        ("RUN make | head", "bad_command"),
        ("RUN make 2>&1", "bad_command"),
        ("RUN grep 'a|b' \"&&\" x.py", "action"),
        ("RUN echo don't", "bad_command"),
        ("RUN '' x", "bad_command"),
        ("PATCH a\nOLD\na\nNEW\nb\nOLD\nc\nNEW\nd\nEND", "ambiguous_markers"),
        ("PATCH a\nOLD\na\nEND\nb\nNEW\nc\nEND", "missing_new"),
        ("PATCH a.py\nOLD\na\nNEW\n```\nb\n```\nEND", "ambiguous_fence"),
        ("PATCH a.md\nOLD\na\nNEW\n```\nb\n```\nEND", "action"),
        ("PATCH a", "missing_old"),
        ("WRITE a\nx\nOBSERVATION:\nwrote\n\nACTION:\nWRITE b\ny\nEND", "missing_end"),
        ("OBSERVATION:\nok\nREAD a", "unknown_verb"),
    ],
)  # fmt: skip
def test_kinds(reply: str, expected: str) -> None:
    assert kind(reply) == expected


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        ("a.py", "```py\nx\n```\n\n", "x\n"),
        ("a.py", "```py\n'''\n```sh\nls\n```\n'''\n```\n", "'''\n```sh\nls\n```\n'''\n"),
        ("a.py", "```py\nx\n```\nThis sets x.\n", "ambiguous_fence"),
        ("a.py", "```\na\n```\nb\n```\nc\n```\n", "ambiguous_fence"),
        ("a.py", "```py\na\n```\nb\n```py\nc\n```\n", "ambiguous_fence"),
        ("a.py", "````py\n```\nx\n````\n", "```\nx\n"),
        ("a.md", "```sh\nls\n```\ntext\n```sh\nls\n```\n", "```sh\nls\n```\ntext\n```sh\nls\n```\n"),
        ("a.md", "```sh\nls\n```\ntext\n", "```sh\nls\n```\ntext\n"),
        ("a.md", "```markdown\n# T\n```\nls\n```\n```\n", "# T\n```\nls\n```\n"),
        ("a.md", "```\n# T\n```\n", "# T\n"),
        ("a.md", "```\na\n```\nb\n```\nc\n```\n", "ambiguous_fence"),
        ("a.md", "```sh\nls\n", "ambiguous_fence"),
        ("a.md", "\n\n# T\n", "\n\n# T\n"),
    ],
)
def test_fences_around_a_body(path: str, body: str, expected: str) -> None:
    reply = f"WRITE {path}\n{body}END"
    assert (kind(reply) if expected == "ambiguous_fence" else content(reply)) == expected


@pytest.mark.parametrize("reply", ["```\nDONE a\nb\n```", "DONE a\nb\n```", "ACTION: DONE a\nb\n\nOBSERVATION: passed"])
def test_a_summary_keeps_its_lines_and_nothing_else(reply: str) -> None:
    assert parse(reply) == Final("a\nb")


def test_a_code_block_in_a_summary_is_kept() -> None:
    assert parse("DONE Use:\n```\nx\n```") == Final("Use:\n```\nx\n```")


@pytest.mark.parametrize(
    "reply",
    [
        "```" + " " * 200_000 + "`",
        "RUN " + "a'b'" * 50_000 + "'",
        'RUN "' + "\\a" * 100_000,
        "<think></think>" * 20_000 + "<think>",
        "WRITE a.md\n" + "```\n" * 100_000 + "END",
        "READ " + "`" * 200_000,
        "\n" * 300_000,
        "PATCH a\nOLD\n" + "NEW\n" * 100_000,
    ],
)
def test_long_replies_of_every_shape_are_judged(reply: str) -> None:
    assert isinstance(parse(reply), ParseError | ToolCall)

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
NAMES = st.text("0af9", min_size=15, max_size=17)
STARTS = st.dictionaries(st.just("start"), st.integers(0, 3), max_size=1)
ACTIONS = st.one_of(
    st.builds(Final, BODIES),
    st.builds(lambda p: ToolCall("1", "read_file", {"path": p}), PATHS),
    st.builds(lambda p, n: ToolCall("1", "read_file", {"path": p, "start": n}), PATHS, st.integers()),
    st.builds(lambda n, s: ToolCall("1", "read_output", {"name": n, **s}), NAMES, STARTS),
    st.builds(lambda n: ToolCall("1", "read_file", {"path": n}), NAMES),
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
        assert read.name in {*verbs.TOOLS.values(), "read_output"}


WHOLE = [
    "READ a.py",
    "READ a.py\nFROM 3",
    "READ 0123456789abcdef",
    "READ 0123456789abcdef FROM 9000",
    "SEARCH x",
    "RUN make",
    "DONE ok",
    "WRITE a.py\nx = 1\nEND",
    "PATCH a.py\nOLD\nx\nNEW\ny\nEND",
]
"""Each verb without any habit."""


@given(st.sampled_from(WHOLE), REPLIES)
def test_what_follows_a_made_up_observation_is_never_read(action: str, reply: str) -> None:
    assert parse(f"{action}\nOBSERVATION:\n{reply}") == parse(action)


HABITS = {
    "a copied header": lambda reply: f"ACTION:\n{reply}",
    "a copied header on the line": lambda reply: f"ACTION: {reply}",
    "blank lines before an opening fence": lambda reply: f"\n\n```\n{reply}\n```",
    "a fence behind the action": lambda reply: f"{reply}\n```",
    "a made-up result": lambda reply: f"{reply}\nOBSERVATION:\nok\n",
    "a copied header and a made-up result": lambda reply: (
        f"\nACTION:\n{reply}\n\nOBSERVATION: ok\n\nACTION:\nREAD b.py"
    ),
}
"""What small models put around an action, by name; habits in a body have `test_fences_around_a_body`."""


@pytest.mark.parametrize("habit", HABITS)
@pytest.mark.parametrize("action", WHOLE)
def test_a_habit_around_an_action_is_overlooked(habit: str, action: str) -> None:
    meant = parse(action)
    assert not isinstance(meant, ParseError)
    assert parse(HABITS[habit](action)) == meant


@pytest.mark.parametrize("body", [reply for reply in WHOLE if reply.endswith("END")])
def test_a_body_without_its_end_is_never_an_action(body: str) -> None:
    cut = body.removesuffix("END")
    for at in range(len(body.partition("\n")[0]), len(cut) + 1):
        assert isinstance(parse(cut[:at]), ParseError)


def test_a_long_output_is_read_by_its_name() -> None:
    name = "0123456789abcdef"
    assert parse(f"READ {name}") == ToolCall("", "read_output", {"name": name})
    assert parse(f"READ `{name}`\nFROM 16000") == ToolCall("", "read_output", {"name": name, "start": 16_000})
    assert parse(f"READ {name}.py") == ToolCall("", "read_file", {"path": f"{name}.py"})
    with pytest.raises(NotExpressible):
        render(ToolCall("1", "read_file", {"path": name}))


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
        (ToolCall("1", "read_file", {"path": "a", "start": 3, "limit": 9}), "limit"),
        (ToolCall("1", "read_file", {"path": "a", "start": 0}), "unexpected text"),
        (ToolCall("1", "read_file", {"path": "a", "start": True}), "unexpected text"),
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
        ("READ a\nFROM 3\nREAD b", "multiple_actions"),
        ("READ a\nFROM the top", "trailing_text"),
        ("READ a\nFROM 0", "trailing_text"),
        ("READ a FROM 3", "action"),
        ("READ a FROM 3\nFROM 4", "trailing_text"),
        ("READ a\nFROM 3 TO 9", "trailing_text"),
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
        ("WRITE a\nx\nOBSERVATION:\nwrote\n\nACTION: WRITE b\ny\nEND", "missing_end"),
        ("WRITE a\nx\nACTION: WRITE b\ny\nEND", "missing_end"),
        ("WRITE a\nx\n\nACTION:\nPATCH b\nOLD\ny\nNEW\nz\nEND", "missing_end"),
        ("PATCH a\nOLD\nx\nNEW\ny\nOBSERVATION:\nok\n\nACTION:\nWRITE b\nz\nEND", "missing_end"),
        ("PATCH a\nOLD\nx\nNEW\nOBSERVATION:\nWRITE is a verb\nEND", "missing_end"),
        ("PATCH a\nOLD\nx\nNEW\nWRITE it\nOBSERVATION:\nEND", "action"),
        ("```\nPATCH a.py\nOLD\na\nNEW\nb\n```\nEND", "ambiguous_fence"),
        ("PATCH a.py\nOLD\na\nNEW\n```py\nb\nEND", "ambiguous_fence"),
        ("PATCH a.txt\nOLD\na\nNEW\na\n```\nmake\n```\nEND", "action"),
        ("PATCH a.md\nOLD\n```sh\nls\nNEW\n```bash\nls\nEND", "action"),
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
        ("a.py", "   ```py\nx\n ```\n", "x\n"),
        ("a.py", "    ```\nx\n", "    ```\nx\n"),
        ("a.py", "x\n```\n", "ambiguous_fence"),
        ("a.md", "# T\n```sh\nls\n```\n```\n\n", "ambiguous_fence"),
        ("a.md", "# T\n````md\n```\nls\n````\n", "# T\n````md\n```\nls\n````\n"),
        ("a.md", "# T\n```\nls\n", "# T\n```\nls\n"),
    ],
)
def test_fences_around_a_body(path: str, body: str, expected: str) -> None:
    reply = f"WRITE {path}\n{body}END"
    assert kind(f"```\n{reply}\n```") == kind(reply)
    assert (kind(reply) if expected == "ambiguous_fence" else content(reply)) == expected


@pytest.mark.parametrize(
    "reply",
    [
        "READ a b\nFROM 437",
        "READ a b FROM 437",
        "READ `a b`  FROM 437\n```",
        "READ a b\nfrom 437",
        "```\nREAD a b  \n\nFROM\t437 \r\n```\nOBSERVATION:\nx",
    ],
)
def test_a_long_file_is_read_on(reply: str) -> None:
    call = ToolCall("", "read_file", {"path": "a b", "start": 437})
    assert parse(reply) == call
    assert render(call) == "READ a b\nFROM 437"


@pytest.mark.parametrize("reply", ["```\nDONE a\nb\n```", "DONE a\nb\n```", "ACTION: DONE a\nb\n\nOBSERVATION: passed"])
def test_a_summary_keeps_its_lines_and_nothing_else(reply: str) -> None:
    assert parse(reply) == Final("a\nb")


@pytest.mark.parametrize("path", ["List<int>", "<main>.txt"])
def test_a_name_that_only_holds_angle_brackets_is_no_placeholder(path: str) -> None:
    assert parse(f"READ {path}") == ToolCall("", "read_file", {"path": path})


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


@pytest.mark.parametrize(
    ("reply", "argv"),
    [
        ("RUN `pytest -q`", ["pytest", "-q"]),
        ("RUN `make`", ["make"]),
        ("RUN echo `date`", ["echo", "`date`"]),
        ("RUN `a` `b`", ["`a`", "`b`"]),
    ],
)
def test_backticks_around_a_whole_command_are_none_of_it(reply: str, argv: list[str]) -> None:
    assert parse(reply) == ToolCall("", "run_command", {"argv": argv})

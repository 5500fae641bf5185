"""Events to blocks and rows: one line per action, honest endings, and live equal to loaded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tui_agent.core.endings import StopReason
from tui_agent.core.events import (
    Answered,
    ArgumentsDelta,
    Asked,
    AssistantSaid,
    CheckDone,
    Checkpoint,
    CommandOutput,
    ModelChosen,
    Notice,
    Phase,
    ProviderFailed,
    Routed,
    RunEnded,
    ToolDone,
    ToolStarted,
    Unknown,
    UserSaid,
)
from tui_agent.core.receipt import Receipt
from tui_agent.core.types import (
    AssistantMessage,
    Image,
    ProviderError,
    ReasoningDelta,
    RetryTick,
    TextDelta,
    ToolCall,
    Usage,
)
from tui_agent.paths import own_file
from tui_agent.ui.blocks import Action, Note, prose
from tui_agent.ui.heights import Heights
from tui_agent.ui.keymap import USUAL
from tui_agent.ui.lines import BLANK, STYLES
from tui_agent.ui.markdown import Tail
from tui_agent.ui.numbers import amount, seconds
from tui_agent.ui.render import gap_between, rows, with_keys
from tui_agent.ui.story import Story

DURABLE = (UserSaid, AssistantSaid, Checkpoint, Asked, Answered, ToolDone, CheckDone, Notice, ProviderFailed, RunEnded)


def screen(*events, width: int = 60, full: bool = False) -> list[str]:
    story = Story()
    for event in events:
        story.feed(event)
    lines, above = [], None
    for block in [*story.blocks, *story.pending()]:
        lines += [BLANK] if gap_between(above, block) else []
        lines += rows(with_keys(block, USUAL.say), width, full)
        above = block
    if story.text is not None:
        lines += Tail().draw(story.text, width)
    return [line.text for line in lines]


def call(name: str, id_: str = "c", **arguments) -> ToolCall:
    return ToolCall(id_, name, arguments)


def done(
    name: str, status="applied", text="", *, denied="", note="", summary="", receipt=None, duration=0.0, **arguments
):
    return ToolDone(call(name, **arguments), status, text, note, summary, receipt, duration, denied)


def test_actions_share_columns() -> None:
    assert screen(
        done("read_file", summary="read   src/parser.py 1-220", duration=0.038),
        done("search", note="7 hits", summary="search x in src", duration=0.022),
        done(
            "edit_file",
            note="+12 -4",
            path="src/a.py",
            receipt=Receipt("r", "c", "edit_file", {}, path="src/a.py", by="key"),
        ),
        CheckDone(("make", "check"), 0, "fine", 4.1, "bwrap"),
    ) == [
        "  read   src/parser.py 1-220                           38 ms",
        "  search x in src                              7 hits  22 ms",
        "  edit   src/a.py                     +12 -4  applied by you",
        "  check  make check                                 4.1s  ok",
    ]


@pytest.mark.parametrize("full", [False, True])
def test_letters_that_pose_as_others_are_marked_in_the_line_of_a_command(full: bool) -> None:
    call = ToolCall("c1", "run_shell", {"script": "p\u0443test\nl\u0455"})
    shown = screen(ToolDone(call, "applied", "", summary="shell  p\u0443test\nl\u0455"), full=full)
    assert "p<U+0443>test" in shown[0]
    assert not full or any("l<U+0455>" in line for line in shown)


def test_a_failed_command_shows_the_end_of_its_output() -> None:
    output = "\n".join(f"line {n}" for n in range(10))
    failed = done(
        "run_command",
        text=output,
        note="exit 1",
        argv=["pytest", "-q"],
        receipt=Receipt("r", "c", "run_command", {}, exit_code=1),
    )
    assert screen(failed) == [
        "  run    pytest -q                              exit 1  FAIL",
        "         … 4 more lines",
        *[f"         line {n}" for n in range(4, 10)],
    ]
    assert screen(failed, full=True)[1:] == [f"         line {n}" for n in range(10)]


def test_a_failed_tool_shows_the_start_of_what_it_said() -> None:
    failed = done("edit_file", "error", "old text not found\n" + "near\n" * 8, path="a.py")
    assert screen(failed)[:2] == [
        "  edit   a.py                                          error",
        "         old text not found",
    ]
    assert screen(failed)[-1] == "         … 3 more lines"


@pytest.mark.parametrize(
    ("denied", "note", "shown"),
    [
        ("person", "use pathlib", "refused by you: use pathlib"),
        ("person", "", "refused by you"),
        ("skip", "later", "skipped: later"),
        ("policy", "deny pattern: rm", "denied: deny pattern: rm"),
        ("nobody", "", "refused, nobody to ask"),
        ("nobody", "no terminal", "refused, nobody to ask: no terminal"),
    ],
)
def test_what_was_refused_stays_visible(denied: str, note: str, shown: str) -> None:
    lines = screen(done("edit_file", "refused", "what the model is told", denied=denied, note=note, path="a.py"))
    assert "edit   a.py" in lines[0]
    assert any(line.strip().endswith(shown) for line in lines)


def test_a_question_is_pending_until_it_is_answered() -> None:
    asked = Asked("q", "check-1", "check", "check  make check", "")
    for output in ((), (CommandOutput("check", "1 passed"),)):
        running = screen(Phase("checking", "make check"), *output)
        assert running[0].split() == ["check", "make", "check", "running"]
        assert len(running) == 1 + len(output)
        assert screen(Phase("checking", "make check"), *output, CheckDone(("make", "check"), 0, "", 4.1))[0].endswith(
            "ok"
        )
    assert "asks you" in screen(asked)[-1]
    assert screen(asked, Answered("q", "no")) == []


def test_a_check_that_fails_or_never_ends() -> None:
    lines = screen(CheckDone(("make", "check"), 2, "\n".join("abcdefghij"), 1.0))
    assert lines[0] == "  check  make check           1.0s  unsandboxed  FAIL exit 2"
    assert lines[1] == "         … 2 more lines"
    assert lines[-1] == "         j"
    assert screen(CheckDone(("make",), None, "", 600.0)) == [
        "  check  make        10m 00s  unsandboxed  FAIL, did not end",
    ]


@pytest.mark.parametrize(("sandbox", "told"), [("none", True), ("bwrap", False), ("landlock", False)])
@pytest.mark.parametrize("code", [0, 1, None])
def test_a_check_says_when_nothing_confined_it(sandbox: str, told: bool, code: int | None) -> None:
    assert ("unsandboxed" in screen(CheckDone(("make",), code, "", 1.0, sandbox))[0]) is told


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (RunEnded(StopReason.VERIFIED, "make check passed", 3), "  verified  make check passed  3 steps"),
        (RunEnded(StopReason.UNVERIFIED), "  unverified (no check)"),
        (
            RunEnded(StopReason.UNVERIFIED, "it fails", 0, "failed"),
            "  unverified  it fails  /revert takes its edits back",
        ),
        (RunEnded(StopReason.COMPLETED, "", 1), "  completed  1 step"),
        (RunEnded(StopReason.STOPPED), "  stopped"),
        (RunEnded(StopReason.STEP_LIMIT, "25 steps"), "  stopped: step limit  25 steps"),
        (Notice("careful"), "  careful"),
        (Unknown("dance"), "  record of a newer version  dance"),
    ],
)
def test_endings_and_notices(event, line: str) -> None:
    assert screen(event) == [line]


def test_every_ending_has_a_line() -> None:
    for reason in StopReason:
        assert screen(RunEnded(reason))[0].strip()


def test_an_error_card_says_what_why_and_what_next() -> None:
    lines = screen(ProviderFailed(ProviderError("auth", "ANTHROPIC_API_KEY is empty.", status=401)))
    assert lines == [
        "  ▌ The key was not accepted (401)",
        "  ▌ ANTHROPIC_API_KEY is empty.",
        "  ▌ Set the key and start again, or choose another with",
        "  ▌ /provider",
        "  ▌ Ctrl+X r retry   Ctrl+X p provider   Ctrl+X d details",
        "  ▌ /config",
    ]
    with_profile = screen(ModelChosen("cloud", "m"), ProviderFailed(ProviderError("auth", "It is empty.")))
    assert with_profile[0] == "  ▌ No key for cloud"


def test_the_end_of_a_turn_says_what_that_turn_took() -> None:
    def turn(usage: Usage | None, cost: float | None) -> list[object]:
        said = AssistantSaid(AssistantMessage("ok"), usage=usage, cost=cost)
        return [UserSaid("go"), said, RunEnded(StopReason.COMPLETED, steps=1)]

    first = screen(*turn(Usage(9000, 60), 0.0123))
    both = screen(*turn(Usage(9000, 60), 0.0123), *turn(Usage(500, 7), 0.0))
    unknown = screen(*turn(None, None))
    assert first[-1] == "  completed  1 step  9.0k in, 60 out  $0.0123"
    assert both[-1] == "  completed  1 step  500 in, 7 out"
    assert unknown[-1] == "  completed  1 step"


def test_a_notice_with_a_title_is_a_card() -> None:
    assert screen(Notice("4,096 tokens.\nSet num_ctx.", title="Context smaller than it looks")) == [
        "  ▌ Context smaller than it looks",
        "  ▌ 4,096 tokens.",
        "  ▌ Set num_ctx.",
        "  ▌ Ctrl+X f fix it   Ctrl+X i ignore for this session",
    ]
    assert screen(Notice("said", title="Something else")) == ["  ▌ Something else", "  ▌ said"]


def test_pictures_stand_below_what_was_said() -> None:
    image = Image("cat.png", "image/png", "0" * 64, 34_000)
    assert [line.rstrip() for line in screen(UserSaid("what is @cat.png", (image,)))][:3] == [
        "› what is @cat.png",
        "",
        "  picture  cat.png  34 kB",
    ]


def test_reasoning_is_one_quiet_line() -> None:
    assert screen(ReasoningDelta("x" * 900), ReasoningDelta("x" * 1200)) == ["  thinking 2.1k chars"]
    said = AssistantSaid(AssistantMessage("Hi", reasoning="x" * 2100))
    assert screen(said) == ["  thought 2.1k chars", "", "  Hi"]


def test_what_is_going_on_is_shown_and_then_replaced() -> None:
    started = [ToolStarted(call("run_command", argv=["make"]), "run make"), CommandOutput("c", "a\nb\nc\nd\ne\nf")]
    assert screen(*started)[0].endswith("running")
    assert screen(*started)[1:] == [f"         {c}" for c in "cdef"]
    assert len(screen(*started, done("run_command", argv=["make"]))) == 1
    assert "asks you" in screen(Asked("q", "c", "edit_file", "edit a.py", ""))[0]
    assert "writing 1.2k chars" in screen(ArgumentsDelta("edit_file", 1234))[0]
    retry = RetryTick(1, 14.0, ProviderError("rate_limit", "The server asks for 18 s.", retryable=True), 6, 18.0)
    assert screen(retry) == [
        "  ▌ Rate limit: try 2 of 6",
        "  ▌ The server asks for 18 s.",
        "  ▌ Next try in 14 s  ████░░░░░░░░░░░░  your message is kept",
        "  ▌ Ctrl+X r now   Ctrl+X p provider   Esc stop",
    ]
    assert screen(retry, Phase("waiting", "try 2 of 6")) == []
    assert screen(retry, TextDelta("x")) == ["  x"]


def test_what_a_tool_says_is_broken_between_words_and_what_a_program_prints_at_the_edge() -> None:
    said = "calc.py has changed since it was read, so it was not touched."
    why = ToolDone(call("edit_file", path="calc.py"), "refused", said)
    rows = [line.strip() for line in screen(why, width=36)]
    assert rows[-3:] == ["calc.py has changed since it", "was read, so it was not", "touched."]
    receipt = Receipt("r", "c", "run_command", {}, exit_code=1, by="key")
    printed = ToolDone(call("run_command", argv=["x"]), "applied", said, receipt=receipt)
    assert "calc.py has changed since it w" in [line.strip()[:30] for line in screen(printed, width=36)]


def test_a_reply_cut_short_says_so() -> None:
    said = AssistantSaid(AssistantMessage("half"), complete=False)
    assert screen(TextDelta("half"), said) == screen(said) == ["  half", "", "  cut short, not complete"]
    assert screen(AssistantSaid(AssistantMessage("x"), finish="length"))[-1] == "  cut at the token limit"


def test_a_checkpoint_is_replaced_by_the_reply_and_survives_a_crash() -> None:
    said = AssistantSaid(AssistantMessage("all of it"))
    assert screen(Checkpoint("all"), Checkpoint(" of"), said) == ["  all of it"]
    assert screen(Checkpoint("all"), Checkpoint(" of")) == ["  all of"]
    assert screen(TextDelta("all of"), Checkpoint("all of"), TextDelta(" it"), said) == ["  all of it"]
    assert screen(Checkpoint("half"), UserSaid("again")) == ["  half", "", "  cut short, not complete", "", "› again"]


def test_a_reply_that_differs_from_its_stream_is_shown_as_recorded() -> None:
    assert screen(TextDelta("READ a.py"), AssistantSaid(AssistantMessage("I read."))) == ["  I read."]


def test_a_message_during_the_reply_stands_above_it() -> None:
    assert screen(TextDelta("a\n"), UserSaid("wait"), TextDelta("b"))[0] == "› wait"


def test_only_a_switch_of_model_is_told() -> None:
    assert screen(ModelChosen("p", "m"), Phase("idle")) == []
    assert screen(ModelChosen("p", "m"), ModelChosen("q", "n")) == ["  model  n (q) answers from here on"]


def test_a_long_message_is_whole() -> None:
    text = "\n".join(f"row {n}" for n in range(500))
    lines = screen(UserSaid(text))
    assert [line[2:] for line in lines] == text.split("\n")
    assert [line[0] for line in lines].count("›") == 1


def test_numbers() -> None:
    assert [amount(n) for n in (0, 999, 2100, 14_999)] == ["0", "999", "2.1k", "14k"]
    assert [seconds(s) for s in (0, 0.038, 1.84, 125)] == ["", "38 ms", "1.8s", "2m 05s"]


TEXT = st.text(st.sampled_from("ab*`#|- \n\x1b\u202e中"), max_size=60)


@st.composite
def runs(draw) -> list:
    events = []
    for number in range(draw(st.integers(1, 4))):
        events.append(UserSaid(draw(TEXT)))
        reasoning, text = draw(TEXT), draw(TEXT) * draw(st.sampled_from([1, 80]))
        events += [ReasoningDelta(reasoning[at : at + 7]) for at in range(0, len(reasoning), 7)]
        events += [TextDelta(text[at : at + 50]) for at in range(0, len(text), 50)]
        if draw(st.booleans()):
            events += [Checkpoint(text[: len(text) // 3]), Checkpoint(text[len(text) // 3 : len(text) // 2])]
        recorded = draw(st.sampled_from([text, text.strip(), text + "!"]))
        events.append(AssistantSaid(AssistantMessage(recorded, reasoning), draw(st.booleans())))
        tool = call("run_command", f"c{number}", argv=["x"])
        events += [Asked(f"q{number}", tool.id, tool.name, "run x", ""), Answered(f"q{number}", "yes")]
        events += [
            ToolStarted(tool, "run x"),
            CommandOutput(tool.id, draw(TEXT)),
            ToolDone(tool, "applied", draw(TEXT)),
        ]
        events.append(RunEnded(StopReason.COMPLETED))
    return events


@given(runs())
@examples(60)
def test_live_equals_loaded(events: list) -> None:
    assert screen(*events) == screen(*[event for event in events if isinstance(event, DURABLE)])


@given(
    st.lists(
        st.tuples(st.sampled_from(["append", "set", "truncate"]), st.integers(0, 30), st.integers(1, 9)), max_size=60
    )
)
def test_heights_are_prefix_sums(steps: list[tuple[str, int, int]]) -> None:
    heights, model = Heights(), []
    for kind, index, value in steps:
        if kind == "append" or not model:
            heights.append(value)
            model.append(value)
        elif kind == "set":
            heights.set(index % len(model), value)
            model[index % len(model)] = value
        else:
            heights.truncate(index % len(model))
            del model[index % len(model) :]
        assert heights.total == sum(model)
        assert [heights.start(i) for i in range(len(model) + 1)] == [sum(model[:i]) for i in range(len(model) + 1)]
        expected = [(i, offset) for i, height in enumerate(model) for offset in range(height)]
        assert [heights.find(row) for row in range(heights.total)] == expected


def test_results_of_the_web_are_shown_at_once():
    text = "DuckDuckGo for: x\n1. Title\n   https://d.org/1\n   a few words\x1b[31m"
    shown = "\n".join(
        screen(done("web_search", "applied", text, query="x"), AssistantSaid(AssistantMessage("Answer.")))
    )
    assert shown.index("https://d.org/1") < shown.index("a few words<ESC>[31m") < shown.index("Answer.")


@pytest.mark.parametrize(("intent", "colour"), [("coding", "green"), ("general", "cyan"), ("hybrid", "yellow")])
def test_an_intent_is_told_in_its_colour_with_what_it_enables(intent, colour):
    story = Story()
    story.feed(Routed(intent, "words", "files"))
    (note,) = story.blocks
    assert (note.label, note.text, note.style) == (f"intent: {intent}", "→ files", intent)
    assert f"transcript--{intent} {{ color: ansi_{colour};" in own_file("styles/transcript.tcss").read_text()
    assert intent in STYLES


def test_a_long_word_to_the_model_unfolds_and_a_short_one_stands_whole() -> None:
    story = Story()
    story.feed(Notice("two\nlines", "model"))
    story.feed(Notice("\n".join(f"rule {n}" for n in range(40)), "model"))
    story.feed(Notice("\n".join("for you" for _ in range(40))))
    short, long, person = story.blocks
    assert isinstance(short, Note)
    assert isinstance(person, Note)
    assert isinstance(long, Action)
    assert (long.verb, long.facts, long.excerpt) == ("told", ("40 lines",), 18)
    assert long.output.endswith("rule 39")


@pytest.mark.parametrize("pieces", [["word " * 20] * 9, ["x" * 40, "y" * 60, "z" * 400], ["a" * 100, "b"]])
@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "resumed"])
def test_of_an_endless_reply_the_beginning_is_shown(
    monkeypatch: pytest.MonkeyPatch, pieces: list[str], streamed: bool
) -> None:
    monkeypatch.setattr("tui_agent.ui.story.REPLY_MAX", 100)
    story, text = Story(), "".join(pieces)
    for piece in pieces if streamed else ():
        story.feed(TextDelta(piece))
    live = story.pending()
    story.feed(AssistantSaid(AssistantMessage(text)))
    *shown, last = story.blocks
    assert isinstance(last, Note)
    assert last.text.startswith(f"{len(text) - 100:,} more characters are not shown")
    assert live == ([last] if streamed else [])
    assert shown == prose(text[:100])
    assert story.message_at(0) == (0, text), "what is copied is all of it"
    story.feed(AssistantSaid(AssistantMessage("short")))
    assert story.blocks[-1] == prose("short")[-1], "the next one is whole again"

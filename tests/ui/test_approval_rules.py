"""The dialog's rule chooser: what is kept is what was shown, and nothing is offered that must be asked each time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.ui.asked import dialog, edit, request
from tui_agent import questions
from tui_agent.core.types import (
    AgentError,
    ApprovalRequest,
    Decision,
    PolicyRequest,
    RunArgv,
    RunScript,
    ToolCall,
    WriteBytes,
)
from tui_agent.ui.subject import subject


def run(*argv, name="1", floors=(), effect=None):
    policy = PolicyRequest("run_command", "run", argv=argv, floors=floors)
    return ApprovalRequest(name, ToolCall("c", "run_command", {}), effect or RunArgv(argv, 60.0), policy, "run")


@pytest.fixture
def kept():
    return []


def keep(found):
    return lambda rule, scope: found.append((rule.pattern, scope))


async def test_the_rule_is_shown_with_what_it_matches_and_what_not_before_it_is_kept(kept):
    async with dialog(run("pytest", "-x"), keep=keep(kept)) as d:
        assert "a allow…" in d.text
        await d.key("a")
        await d.later()
        text = " ".join(d.text.replace("│", " ").split())
        assert "› allow without asking: pytest -x it matches: pytest -x it does not match: pytest" in text
        assert "allow without asking: pytest it matches: pytest -x it does not match: pytest -" in text
        assert "a the other rule" in text
        assert kept == []
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)
        assert kept == [("pytest -x", "session")]


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 20)])
@pytest.mark.parametrize(("presses", "pattern"), [(1, "pytest"), (2, "pytest -x"), (3, "pytest")])
async def test_a_again_chooses_the_other_rule(kept, presses, pattern, size):
    async with dialog(run("pytest", "-x"), keep=keep(kept), size=size) as d:
        await d.key("a")
        await d.later()
        for _ in range(presses):
            await d.key("a")
            await d.later()
        marked = [line for line in d.lines if "›" in line]
        assert len(marked) == 1
        await d.pilot.press("f")
        await d.later()
        assert await d.answer() == (Decision("1", "yes"),)
        assert kept == [(pattern, "folder")]


async def test_a_single_rule_has_no_other(kept):
    async with dialog(run("make", "lint"), keep=keep(kept)) as d:
        await d.key("a")
        await d.later()
        assert "other rule" not in d.text
        assert "›" not in d.text


async def test_f_keeps_it_for_the_folder(kept):
    async with dialog(run("make", "lint"), keep=keep(kept)) as d:
        await d.key("a")
        await d.later()
        await d.key("f")
        assert await d.answer() == (Decision("1", "yes"),)
        assert kept == [("make lint", "folder")]


async def test_the_chooser_is_deaf_at_first(kept):
    async with dialog(run("pytest"), keep=keep(kept)) as d:
        await d.pilot.press("a", "y", "f")
        await d.later(0.1)
        assert d.fed == ["y", "f"]
        assert kept == []
        assert d.open


async def test_escape_goes_back_and_keeps_nothing(kept):
    async with dialog(run("pytest"), keep=keep(kept)) as d:
        await d.key("a")
        await d.later()
        assert d.footers[-1] == ("y f keep this rule", "Esc back")
        await d.key("escape")
        await d.later()
        assert d.open
        assert "a allow…" in d.text
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)
        assert kept == []


async def test_no_and_skip_are_text_in_the_chooser_and_ctrl_c_stops(kept):
    async with dialog(run("pytest"), keep=keep(kept)) as d:
        await d.key("a")
        await d.later()
        for key in ("n", "s", "a", "enter", "space"):
            await d.key(key)
            await d.later()
        assert d.fed == ["n", "s", "a", "space"]
        assert not d.screen.field
        await d.pilot.press("ctrl+c")
        assert await d.answer() == (Decision("1", "stop"),)
        assert kept == []


async def test_a_rule_that_cannot_be_saved_is_said_and_nothing_is_answered():
    def refuse(_rule, _scope):
        raise AgentError("the rule could not be saved: disk full")

    async with dialog(run("pytest"), keep=refuse) as d:
        await d.key("a")
        await d.later()
        await d.key("f")
        await d.later()
        assert "disk full" in d.text
        assert d.open
        assert not d.task.done()


@pytest.mark.parametrize(
    "asked",
    [
        run("python", "x.py"),
        run("bash", "-c", "ls"),
        run("sudo", "ls"),
        run("env", "ls"),
        run("npm", "install"),
        run("git", "push"),
        run("curl", "x"),
        run("rm", "-r", "x"),
        run("./run"),
        run("pytest", floors=("it failed in the sandbox",)),
        run("echo", "\x1b[2J"),
        run("echo", "a" + " " * 200 + "b"),
        request(RunScript("ls | wc", 60.0)),
        edit(),
    ],
    ids=lambda r: r.summary + repr(r.effect)[:40],
)
async def test_no_rule_is_offered_for_what_must_be_asked_each_time(asked, kept):
    async with dialog(asked, keep=keep(kept)) as d:
        await d.key("end")
        assert "allow…" not in d.text
        await d.key("a")
        assert d.fed == ["a"]
        assert d.open


async def test_no_rule_before_the_end_was_seen(kept):
    async with dialog(run("echo", *["word"] * 350), keep=keep(kept)) as d:
        await d.key("a")
        assert d.fed == ["a"]
        await d.later()
        await d.key("end")
        await d.key("a")
        assert d.fed == ["a"]  # the rule is shown, or there is no room for it: then nothing can be answered
        assert kept == []


async def test_a_rule_without_room_for_all_of_it_cannot_be_kept(kept):
    async with dialog(run("echo", *["word"] * 200), size=(80, 12), keep=keep(kept)) as d:
        await d.key("end", "a")
        await d.later()
        assert "too small to approve" in d.text
        await d.key("y", "f")
        await d.later()
        assert kept == []
        assert d.open
        await d.key("escape")
        await d.later()
        assert "too small" not in d.text


@pytest.mark.parametrize("words", [("sh", "-c"), ("/bin/bash", "-lc"), ("zsh", "-xc")])
def test_a_shell_that_is_named_as_a_program_is_shown_as_a_script(words: tuple[str, str]) -> None:
    script = "for i in 1 2; do\n  echo $i\ndone"
    argv = RunArgv((*words, script), 5)
    shown = subject(argv)
    assert (shown.title, shown.facts) == ("Run this shell script?", f"by {' '.join(words)} · at most 5 s")
    lines = questions.view(argv).head
    assert [line[4:] for line in lines[:-1]] == script.split("\n")
    assert f"run by {' '.join(words)}" in lines[-1]
    for other in ((*words, script, "more"), ("make", "-c", script), (words[0], "x.sh")):
        assert subject(RunArgv(other, 5)).title == "Run this command?"


def edit_of(base: bytes, new: bytes, path: str = "src/lex.py", **more: object) -> ApprovalRequest:
    made = request(WriteBytes(path, base, new))
    return replace(made, policy=PolicyRequest("edit_file", "write", path=path), **more)


async def test_an_edit_can_be_allowed_for_its_file_or_its_folder(kept):
    async with dialog(edit_of(b"a\n", b"b\n"), keep=keep(kept)) as d:
        await d.key("a")
        await d.later()
        text = " ".join(d.text.replace("│", " ").split())
        assert "› allow without asking: write:src/lex.py it matches: edit_file src/lex.py" in text
        assert (
            "allow without asking: write:src/ it matches: edit_file src/lex.py it does not match: edit_file src.oth"
            in text
        )
        await d.key("a")
        await d.later()
        await d.key("f")
        assert [decision.answer for decision in await d.answer()] == ["yes"]
        assert kept == [("write:src/", "folder")]


async def test_no_rule_while_lines_of_the_change_were_not_seen(kept):
    async with dialog(edit_of(b"", b"x\n" * 400), keep=keep(kept)) as d:
        assert "a allow…" not in d.text
        await d.key("a")
        await d.later()
        assert d.screen.sheet.choosing is None
        for _ in range(40):
            await d.key("pagedown")
        await d.later()
        assert d.screen.view.seen == 400
        assert "a allow…" in d.text


async def test_a_file_that_changed_is_not_allowed_with_a_rule_either(kept):
    async def fresh(request):
        return "it is gone" if d.screen.sheet.choosing else None

    async with dialog(edit_of(b"a\n", b"b\n"), keep=keep(kept), fresh=fresh) as d:
        await d.key("a")
        await d.later()
        await d.key("y")
        await d.later()
        assert kept == []
        assert d.screen.sheet.choosing is None
        assert "it is gone" in d.text


async def test_why_it_is_asked_again(kept):
    request_ = replace(run("pytest", "-p", "x"), missed="the rule pytest does not cover -p")
    async with dialog(request_) as d:
        assert "asked because the rule pytest does not cover -p" in " ".join(d.text.split())


@pytest.mark.parametrize("touched", [False, ("right_square_bracket", "m", "w", "enter"), ("n", "w", "escape")])
async def test_a_request_that_the_person_did_something_about_is_still_asked(kept, touched):
    def allowed(asked):
        return "a rule" if kept else ""

    one, other = edit_of(b"a\n", b"b\n"), replace(edit_of(b"a\n", b"c\n", "src/b.py"), id="2")
    async with dialog(one, other, keep=keep(kept), allowed=allowed) as d:
        await d.key("greater_than_sign")
        await d.later()
        if touched:
            await d.key(*touched)
            await d.later()
        await d.key("less_than_sign")
        await d.later()
        await d.key("a")
        await d.later()
        await d.key("y")
        if touched:
            await d.later()
            assert "2/2" in d.text
            await d.key("n", "enter")
        assert [(given.answer, given.by) for given in await d.answer()] == [
            ("yes", "key"),
            ("no", "key") if touched else ("yes", "a rule"),
        ]


@pytest.mark.parametrize("holds", [True, False])
async def test_a_rule_that_would_not_hold_here_is_not_offered(kept, holds):
    async with dialog(run("pytest", "-x"), keep=keep(kept), holds=lambda _: holds) as d:
        assert ("a allow…" in d.text) == holds
        await d.key("a")
        await d.later()
        assert ("allow without asking" in d.text) == holds
        assert d.fed == ([] if holds else ["a"])

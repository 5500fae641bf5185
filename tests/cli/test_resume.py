"""Going on with a session at the shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Shell
from tests.sessions.story import EDIT, made, turn
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.log import load
from tui_agent.sessions import Place


@pytest.fixture
def scripted(shell: Shell) -> Shell:
    script = shell.base / "script.json"
    script.write_text(json.dumps({"replies": [{"text": f"reply {n}"} for n in range(9)]}))
    shell.configure(f'[profiles.local]\ntype = "scripted"\nendpoint = "{script}"\nmodel = "m"\n')
    return shell


def said(log: Path) -> list[str]:
    return [e.text for e in load(log).events if isinstance(e, ev.UserSaid)]


def test_one_task_goes_on_with_the_last_session_here(scripted: Shell) -> None:
    assert scripted.run("-p", "one").code == 0
    done = scripted.run("-p", "two", "--continue")
    assert done.code == 0
    assert done.out == "reply 1\n"  # the second reply: the model was sent the first
    (log,) = scripted.sessions()
    assert said(log) == ["one", "two"]
    assert scripted.run("-p", "three").code == 0
    assert len(scripted.sessions()) == 2


def test_by_name_from_anywhere_in_its_own_folder(scripted: Shell, tmp_path: Path) -> None:
    folder = made(scripted.data / "sessions", *turn("one"), ev.Named("parser"), cwd=str(scripted.work))
    done = scripted.run("-p", "two", "--resume", "Parser", cwd=tmp_path)
    assert done.code == 0
    assert said(folder / "log.jsonl") == ["one", "two"]
    assert str(scripted.work) in done.err


def test_a_copy_leaves_the_session_alone_even_when_it_is_open(scripted: Shell) -> None:
    folder = made(scripted.data / "sessions", *EDIT, cwd=str(scripted.work))
    place = Place(folder)
    refused = scripted.run("-p", "two", "--continue")
    assert refused.code == 1
    assert "open in another window" in refused.err
    assert "--fork" in refused.err
    assert scripted.run("-p", "two", "--fork", folder.name).code == 0
    place.close()
    assert said(folder / "log.jsonl") == ["rename x"]
    (copy,) = [log for log in scripted.sessions() if log.parent != folder]
    assert said(copy) == ["rename x", "two"]


def test_what_cannot_be_gone_on_with_says_why(scripted: Shell) -> None:
    gone = made(scripted.data / "sessions", *turn("one"), cwd="/nowhere/at/all")
    for words, why in (
        (("--continue",), "no earlier session"),
        (("--resume", "x"), "no session 'x'"),
        (("--resume", gone.name), "is gone"),
        (("--resume", "x", "--fork", "y"), "one of them"),
    ):
        done = scripted.run("-p", "two", *words)
        assert done.code == 5
        assert why in done.err


def test_export_at_the_shell_works_for_a_damaged_session_too(scripted: Shell) -> None:
    folder = made(scripted.data / "sessions", *turn("one", "an answer"), cwd=str(scripted.work))
    with (folder / "log.jsonl").open("ab") as log:
        log.write(b'{"seq"')
    done = scripted.run("sessions", "export", folder.name)
    assert done.code == 0
    assert "an answer" in done.out
    assert "incomplete record" in done.err
    messages = json.loads(scripted.run("sessions", "export", folder.name, "--json").out)
    assert [m["content"] for m in messages] == ["one", "an answer"]


def test_a_session_that_could_not_be_gone_on_with_is_given_back(scripted: Shell) -> None:
    folder = made(scripted.data / "sessions", *turn("one"), cwd=str(scripted.work))
    assert scripted.run("-p", "two", "--continue", "--provider", "none").code == 5
    place = Place(folder)
    assert place.remarks == []
    place.close()


def test_who_answered_last_answers_again(scripted: Shell) -> None:
    script = scripted.base / "script.json"
    one = f'type = "scripted"\nendpoint = "{script}"\nmodel = "m"\n'
    scripted.configure(f'default_provider = "local"\n[profiles.local]\n{one}[profiles.other]\n{one}')
    assert scripted.run("-p", "one", "--provider", "other", "--model", "big").code == 0
    assert scripted.run("-p", "two", "--continue").code == 0
    (log,) = scripted.sessions()
    chosen = [(e.profile, e.model) for e in load(log).events if isinstance(e, ev.ModelChosen)]
    assert chosen == [("other", "big")]  # and no word of a change that was none
    assert scripted.run("-p", "three", "--continue", "--provider", "local").code == 0
    assert [e.profile for e in load(log).events if isinstance(e, ev.ModelChosen)] == ["other", "local"]
    scripted.configure(f"[profiles.far]\n{one}")
    done = scripted.run("-q", "-p", "four", "--continue")
    told = (
        "tui-agent: The profile local of this session is gone: far answers from here on, and is sent what was said.\n"
    )
    assert (done.code, done.err) == (0, told)
    assert scripted.run("-q", "-p", "five", "--continue").err == ""


def test_a_skill_named_in_the_task_is_put_in_force_and_its_beginning_shown(scripted: Shell) -> None:
    skill = scripted.home / ".agents/skills/deploy/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\ndescription: how\n---\n" + "\n".join(f"STEP {n}" for n in range(40)))
    done = scripted.run("-p", "go on as in /deploy")
    assert done.code == 0
    assert "skill deploy, in force for the rest of this session" in done.err
    assert "STEP 3\n" in done.err
    assert "STEP 39" not in done.err
    assert "lines more]" in done.err
    (log,) = scripted.sessions()
    assert any(isinstance(e, ev.Notice) and "STEP 39" in e.text for e in load(log).events)


def test_what_a_kill_interrupted_is_told_at_the_next_start(shell: Shell) -> None:
    script = shell.base / "script.json"
    write = {"calls": [{"name": "write_file", "arguments": {"path": "a.txt", "content": "x\n"}}]}
    script.write_text(json.dumps({"replies": [write], "after": {"text": "end"}}))
    shell.configure(f'[profiles.local]\ntype = "scripted"\nendpoint = "{script}"\nmodel = "m"\n')
    assert shell.run("-p", "one", "--yes", env={"TUI_AGENT_FAULT": "fsync_dir:1"}).code == 137
    done = shell.run("-p", "two", "--continue")
    assert done.code == 0
    assert "tui-agent: write_file  a.txt: interrupted, but it was done\n" in done.err
    assert "interrupted, but" not in shell.run("-p", "three", "--continue").err
    (log,) = shell.sessions()
    assert [r.path for r in fold.receipts(load(log).events)] == ["a.txt"]

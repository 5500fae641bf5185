"""What a person sees first: the question of trust, the choice of a model, and the demo to its end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fixtures.repository import looks_like_one
from tests.pty.terminal import CTRL_C, ENTER, ESC, Home, Terminal, say

HOSTILE = """
default_provider = "theirs"
[profiles.theirs]
type = "openai"
endpoint = "http://127.0.0.1:9/v1"
model = "their-model"
"""


@pytest.fixture
def fresh(home: Home) -> Home:
    """A folder that nobody was asked about, with a configuration and hooks of its own, and two profiles of the person."""
    script = home.base / "script.json"
    script.write_text(json.dumps({"replies": [say("hello from the script")]}))
    table = f'type = "scripted"\nendpoint = "{script}"\n'
    home.configure(
        f'default_provider = "mine"\n[profiles.mine]\nmodel = "m1"\n{table}[profiles.other]\nmodel = "m2"\n{table}'
    )
    own = home.project / ".tui_agent"
    own.mkdir()
    (own / "config.toml").write_text('default_provider = "other"\n')
    git = looks_like_one(home.project, "ref: refs/heads/unseen-branch\n")
    (git / "config").write_text(f'[core]\n\tfsmonitor = "touch {home.base}/PWN; false"\n')
    return home


def trust_of(home: Home) -> str:
    file = home.paths.data / "trust.toml"
    return file.read_text() if file.exists() else ""


def test_trust_is_asked_before_anything_of_the_folder_counts(fresh: Home) -> None:
    with Terminal(fresh) as t:
        t.wait_for("Do you trust this folder?", ".tui_agent/config.toml", "restricted (default)")
        assert "m2" not in t.text
        assert "unseen-branch" not in t.text
        assert not trust_of(fresh)
        t.send("t")
        t.ready().wait_for("m2 · other", "unseen-branch")
        assert "trusted = true" in trust_of(fresh)
    assert not (fresh.base / "PWN").exists()


@pytest.mark.parametrize("key", [b"r", ENTER], ids=["r", "Enter"])
def test_restricted_leaves_the_folders_own_configuration_out(fresh: Home, key: bytes) -> None:
    with Terminal(fresh) as t:
        t.wait_for("Do you trust this folder?", "q quit")
        t.send(key)
        t.ready().wait_for("m1 · mine")
        assert "unseen-branch" not in t.text
        t.task("hi")  # the composer is usable at once
        t.wait_for("hello from the script")
        assert "trusted = false" in trust_of(fresh)
        t.send(CTRL_C)
        t.wait_for("Ctrl+C again to quit")
        t.send(CTRL_C)
        assert t.ended() == 0
    with Terminal(fresh) as t:
        t.ready()
        assert "Do you trust" not in t.text, "asked once"


@pytest.mark.parametrize("key", [b"q", CTRL_C], ids=["q", "Ctrl+C"])
def test_quitting_at_the_question_leaves_nothing_behind(fresh: Home, key: bytes) -> None:
    before = {p for p in fresh.base.rglob("*") if p.is_file()}
    with Terminal(fresh) as t:
        t.wait_for("Do you trust this folder?", "q quit")
        t.send(key)
        assert t.ended() == 0
        t.assert_given_back()
    assert {p for p in fresh.base.rglob("*") if p.is_file()} == before


def test_typing_ahead_trusts_nothing(fresh: Home) -> None:
    with Terminal(fresh) as t:
        t.send("t")  # before anything is drawn
        t.wait_for("Do you trust this folder?")
        t.wait_drawn("wait…")
        t.send("trust me")
        t.wait_drawn("wait…")
        t.rest(0.1)
        assert not trust_of(fresh)
        t.wait_for("t trust", "r restricted (default)", "q quit")
        t.send("try this\r")  # a paste of a terminal without brackets
        t.wait_drawn("wait…")
        t.paste("ttt")
        t.rest(0.05)
        t.wait_for("t trust")
        assert not trust_of(fresh)
        t.send("r")
        t.wait_gone("Do you trust this folder?")
        t.ready().wait_for("m1 · mine")
        assert "trusted = false" in trust_of(fresh)
        draft = t.text.replace("\n", "")
        assert all(words in draft for words in ("ttrust me", "try this", "ttt")), draft


def test_a_home_folder_cannot_be_trusted(home: Home) -> None:
    with Terminal(home, ["--cwd", str(home.base / "home")]) as t:
        t.wait_for("A home folder cannot be trusted", "q quit")
        t.send("t")
        t.rest(0.1)
        t.wait_for("Do you trust this folder?", "q quit")
        t.send("q")
        assert t.ended() == 0


def files(folder: Path) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file()]


def test_nothing_configured_offers_the_demo(home: Home) -> None:
    home.answer_trust()
    before = files(home.base)
    with Terminal(home) as t:
        t.wait_for("Welcome. Choose a model", "Look around with the demo model")
        number = next(line.split()[0].lstrip("›") for line in t.text.splitlines() if "Look around" in line)
        t.send(number)
        t.ready().wait_for("recorded · demo", "Two tests fail", "slugs")
        t.send(CTRL_C)
        t.wait_for("State a task")
        t.send(CTRL_C)
        t.wait_for("again to quit")
        t.send(CTRL_C)
        assert t.ended() == 0
        t.assert_given_back()
        assert files(home.base) == before, "the person's folders are left alone"


@pytest.mark.parametrize("key", [ESC, CTRL_C], ids=["Esc", "Ctrl+C"])
def test_leaving_the_first_screen_quits_and_writes_nothing(home: Home, key: bytes) -> None:
    home.answer_trust()
    before = files(home.base)
    with Terminal(home) as t:
        t.wait_for("Welcome. Choose a model", "Esc quit")
        t.send(key)
        assert t.ended() == 0
        t.assert_given_back()
    assert files(home.base) == before


def test_the_demo_by_the_keys_that_the_screen_names(home: Home) -> None:
    with Terminal(home, ["demo"]) as t:
        t.ready()
        t.wait_for("Two tests fail. Find out why")  # the task stands in the composer
        t.send(ENTER)
        t.armed().wait_for("y apply", 'return "-".join(title.lower().split())')
        t.send("y")
        t.wait_for("re.findall")
        t.armed().send("y")
        t.wait_for("verified  the check passed after the last edit", "Enter send")
        t.send("/quit\r")
        assert t.ended() == 0
        t.assert_given_back()
    assert files(home.base) == [], "the demo leaves the person's folders alone"


AT_ONCE = """
import sys
from tui_agent import cli, demo
demo.scripted = lambda *a, delay=0, scripted=demo.scripted, **k: scripted(*a, **k)
sys.exit(cli.main(sys.argv[1:]))
"""
"""The demo without its pauses between words."""


def test_a_no_with_a_reason_ends_the_demo_with_words(home: Home) -> None:
    with Terminal(home, ["demo"], code=AT_ONCE) as t:
        t.ready().send(ENTER)
        t.armed().send("n")
        t.wait_for("why not? Enter: without a reason")
        t.keys("too early")
        t.send(ENTER)
        t.wait_for("refused by you: too early", "recording ends here", "completed", "Enter send")


@pytest.mark.parametrize("configured", [True, False])
def test_an_unknown_provider_is_refused_before_the_screen_opens(home: Home, configured: bool) -> None:
    if configured:
        home.script(say("hello"))
    with Terminal(home, ["--provider", "scrip"]) as t:
        assert t.ended() == 5
        assert b"there is no profile 'scrip'" in t.raw
        assert (b"did you mean script?" if configured else b"sets one up") in t.raw
        assert b"\x1b[?1049h" not in t.raw


@pytest.mark.parametrize("kind", ["dumb", ""])
def test_a_terminal_that_cannot_place_text_is_refused_with_a_sentence(home: Home, kind: str) -> None:
    with Terminal(home, env={"TERM": kind}) as t:
        assert t.ended() == 5
        said = b"tui-agent: the screen needs a terminal that can place text, and TERM is '%s'; " % kind.encode()
        assert t.raw.startswith(said)
        assert t.raw.count(b"\n") == 1
        assert b"\x1b" not in t.raw


NON_BLOCKING = "import os\nos.set_blocking(0, False)\nfrom tui_agent.cli import entry\nentry()"


def test_a_terminal_that_another_program_left_non_blocking(home: Home) -> None:
    home.script(say("hello"))
    with Terminal(home, size=(200, 60), code=NON_BLOCKING) as t:
        t.ready().task()
        t.wait_for("hello")

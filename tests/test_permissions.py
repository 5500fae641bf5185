"""Rules of a session: added, kept by folder, listed with their last use, taken back; and mode AUTO."""

from __future__ import annotations

import asyncio
import string
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import Person
from tests.test_modes import play, session, terms
from tui_agent.config import Settings
from tui_agent.core import events as ev
from tui_agent.core.policy import DEFAULT
from tui_agent.core.types import AgentError, Decision
from tui_agent.modes import AUTO, CYCLE, MODES, following, mode
from tui_agent.permissions import Rule, Rules, RuleStore, offered
from tui_agent.session import Session
from tui_agent.workspace.confined import choose

TRUE = {"calls": [{"name": "run_command", "arguments": {"argv": ["true"]}}]}
DONE = {"text": "ok"}


def rule(made: Session, text: str) -> Rule:
    return next(r for r in made.in_force if r.text == text)


def results(made: Session) -> list[str]:
    return [e.note for e in made.events if isinstance(e, ev.ToolDone)]


# ------------------------------------------------------------------ always


async def test_a_rule_of_the_session_allows_from_now_on_and_is_taken_back(tmp_path: Path) -> None:
    person = Person()
    made, _ = session(tmp_path, [TRUE, DONE, TRUE, DONE, TRUE, DONE], person)
    await play(made)
    assert len(person.asked) == 1
    made.rules.add("true")
    await play(made)
    assert len(person.asked) == 1
    assert (rule(made, "true").source, rule(made, "true").count, rule(made, "true").last) == ("session", 1, "run  true")
    made.rules.remove(rule(made, "true"))
    assert "true" not in [r.text for r in made.in_force]
    await play(made)
    assert len(person.asked) == 2
    assert not (tmp_path / "data" / "rules.toml").exists()


def test_a_rule_of_the_folder_is_there_in_the_next_session_and_in_no_other_folder(tmp_path: Path) -> None:
    made, _ = session(tmp_path, [])
    made.rules.add("ruff check", "folder")
    made.rules.add("make lint", "folder")
    again, _ = session(tmp_path, [])
    assert {"ruff check", "make lint"} <= set(again.workspace.permissions.allow)
    assert rule(again, "make lint").source == "folder"
    (tmp_path / "other").mkdir()
    other = Session(replace(terms(tmp_path), root=tmp_path / "other"), Person())
    assert "ruff check" not in other.workspace.permissions.allow
    again.rules.remove(rule(again, "make lint"))
    third, _ = session(tmp_path, [])
    assert "make lint" not in third.workspace.permissions.allow
    assert (tmp_path / "data" / "rules.toml").stat().st_mode & 0o777 == 0o600
    assert not list((tmp_path / "work").iterdir())


def test_a_rule_holds_in_every_mode_but_those_that_only_read(tmp_path: Path) -> None:
    made, _ = session(tmp_path, [])
    made.enter(MODES["edits"])
    made.rules.add("true")
    assert "true" in made.workspace.permissions.allow
    made.enter(MODES["read"])
    assert made.workspace.permissions.allow == ()
    made.enter(MODES["ask"])
    assert "true" in made.workspace.permissions.allow


def test_what_is_not_of_the_persons_hand_here_is_not_taken_back_here(tmp_path: Path) -> None:
    settings = Settings(policy=replace(DEFAULT, allow=(*DEFAULT.allow, "ruff check"), deny=("git push",)))
    made, _ = session(tmp_path, [], settings=settings)
    sources = {r.text: r.source for r in made.in_force}
    assert (sources["pytest"], sources["ruff check"], sources["git push"], sources["run"]) == (
        "built in", "config", "config", "built in",
    )  # fmt: skip
    for text in ("pytest", "git push", "run"):
        with pytest.raises(AgentError, match="changed in your configuration"):
            made.rules.remove(rule(made, text))


@pytest.mark.parametrize(
    "command",
    ["sh -c ls", "python x.py", "pip install x", "curl x", "sudo ls", "ls; rm x", "./run", "rm x", "", "a\0b"],
)
def test_there_is_no_rule_for_what_must_be_asked_each_time(command: str) -> None:
    with pytest.raises(AgentError, match="there can be no rule"):
        offered(command)


def test_a_rule_shows_one_command_it_matches_and_one_it_does_not() -> None:
    assert offered("git status -s").pattern == "git status"
    assert offered("pytest -q").refuses.startswith("pytest")
    assert offered("make lint").pattern == offered("make lint").matches == "make lint"


@pytest.mark.parametrize(
    "text",
    [
        "not toml [",
        "folders = 3",
        "[folders]\n'X' = 4",
        "[folders.'X']\nallow = 'ls'",
        "[folders.'X']\nallow = [1, 'a;b', '']",
    ],
)
def test_a_damaged_file_reads_as_no_rules(text: str, tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text(text.replace("X", str(tmp_path)))
    store = RuleStore(tmp_path / "rules.toml")
    assert store.look(tmp_path) == ()
    store.save(tmp_path, ["make lint"])
    assert store.look(tmp_path) == ("make lint",)


def test_what_cannot_be_saved_is_said_and_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    rules = Rules(tmp_path, RuleStore(tmp_path / "file" / "rules.toml"))
    with pytest.raises(AgentError, match="could not be saved"):
        rules.add("make lint", "folder")
    assert rules.folder == ()
    with pytest.raises(AgentError, match="needs a shell"):
        rules.add("a; b")


WORDS = st.lists(st.text(string.ascii_lowercase + "-.", min_size=1, max_size=6), min_size=1, max_size=4).map(" ".join)


@given(st.lists(st.tuples(WORDS, st.booleans()), max_size=8))
def test_rules_are_a_set_whatever_the_order(tmp_path_factory: pytest.TempPathFactory, steps: list[Any]) -> None:
    folder = tmp_path_factory.mktemp("rules")
    rules, want = Rules(folder, RuleStore(folder / "rules.toml")), set()
    for pattern, add in steps:
        if add:
            rules.add(pattern, "folder")
        else:
            rules.remove(Rule("allow", pattern, "folder"))
        (want.add if add else want.discard)(pattern)
    assert set(rules.folder) == set(RuleStore(folder / "rules.toml").look(folder)) == want
    assert want <= set(rules.over(DEFAULT).allow)


# ------------------------------------------------------------------ which rule decides


@pytest.mark.parametrize(
    ("call", "permission", "rule"),
    [
        ("git status -s", "allow", "allow pattern: git status"),
        ("git push", "deny", "deny pattern: git push"),
        ("curl example.org", "ask", "table: network = ask"),
        ("ls; rm -rf /", "ask", "floor: recursive delete"),
        ("write_file src/a.py", "ask", "table: write = ask"),
        ("write_file .git/config", "deny", ".git"),
        ("read_file .env", "ask", "floor: "),
        ("read_file ../../etc/passwd", "deny", "outside"),
        ("list_files", "allow", "table: read = allow"),
        ("update_plan", "allow", "no effect"),
        ('unbalanced "', "deny", "malformed"),
    ],
)
async def test_a_call_is_explained_by_the_rule_that_decides_it(
    call: str, permission: str, rule: str, tmp_path: Path
) -> None:
    made, _ = session(tmp_path, [], settings=Settings(policy=replace(DEFAULT, deny=("git push",))))
    (tmp_path / "work" / ".env").write_text("x")
    found = await made.workspace.explain(call)
    assert found.permission == permission
    assert rule in found.rule


# ------------------------------------------------------------------ AUTO


def test_auto_is_no_mode_that_a_name_or_a_key_reaches() -> None:
    assert AUTO.name not in MODES
    assert AUTO.name not in CYCLE
    for name in ("AUTO", "auto"):
        with pytest.raises(AgentError):
            mode(name)
    assert following(AUTO) is MODES["ask"]


async def test_auto_needs_a_sandbox_that_works_and_a_trusted_folder(tmp_path: Path) -> None:
    made, _ = session(tmp_path, [], settings=Settings(sandbox="none"))
    with pytest.raises(AgentError, match="needs a sandbox.*the configuration says so"):
        await made.enter_auto()
    made, _ = session(tmp_path, [], trusted=False)
    with pytest.raises(AgentError, match="trust"):
        await made.enter_auto()
    assert made.mode.name == "ask"


@pytest.mark.parametrize("kind", ["bwrap", "landlock"])
async def test_auto_asks_nothing_but_what_a_floor_raises_and_denies_what_was_denied(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = await choose(kind)
    if found.kind != kind:
        with capsys.disabled():
            print(f"\n[sandbox {kind} was not tried on this machine: {found.reason}]")
        return
    calls = [
        ("write_file", {"path": "new.txt", "content": "x\n"}),
        ("run_command", {"argv": ["touch", "made"]}),
        ("run_shell", {"script": "echo hi > piped"}),
        ("run_command", {"argv": ["touch", "/var/tmp/tui-agent-outside"]}),
        ("run_command", {"argv": ["git", "push"]}),
        ("run_command", {"argv": ["rm", "-rf", ".."]}),
    ]
    replies = [{"calls": [{"name": name, "arguments": given}]} for name, given in calls]
    person = Person(("no",))
    settings = Settings(sandbox=kind, policy=replace(DEFAULT, deny=("git push",)))
    made, _ = session(tmp_path, [*replies, DONE], person, settings=settings)
    await made.enter_auto()
    await play(made)
    assert (tmp_path / "work/new.txt").exists()
    assert (tmp_path / "work/made").exists()
    assert (tmp_path / "work/piped").exists()
    assert not Path("/var/tmp/tui-agent-outside").exists()  # noqa: ASYNC240
    done = [e for e in made.events if isinstance(e, ev.ToolDone)]
    assert [e.denied for e in done] == ["", "", "", "", "policy", "person"]
    assert all(e.receipt.by.startswith("mode: AUTO in a sandbox") for e in done[:3] if e.receipt)
    # asked: once whether the write outside may leave the sandbox, and the floor
    assert [r.policy.floors or r.summary for b in person.asked for r in b][-1] == "run  rm -rf .."
    assert made.holds_unseen_edits


async def test_in_auto_nothing_reaches_the_network(tmp_path: Path) -> None:
    made, _ = session(tmp_path, [{"calls": [{"name": "run_command", "arguments": {"argv": ["curl", "x"]}}]}, DONE])
    await made.commands.ready()
    if not made.commands.working:
        assert made.commands.sandbox.reason  # no sandbox here: AUTO cannot be entered at all
        return
    given: list[bool] = []
    run = made.commands._run

    async def watch(*args: Any, network: bool) -> Any:
        given.append(network)
        return await run(*args, network=network)

    made.commands._run = watch
    await made.enter_auto()
    await play(made)
    made.enter(MODES["ask"])
    outcome = await made.workspace.call("run_command", {"argv": ["curl", "x"]})
    assert outcome.receipt.by == Decision("", "yes").by
    assert given == [False, True]


def test_auto_is_taken_off_by_the_next_mode(tmp_path: Path) -> None:
    made, _ = session(tmp_path, [])
    if asyncio.run(made.commands.ready()).kind == "none":
        return
    asyncio.run(made.enter_auto())
    assert made.workspace.permissions.auto
    made.enter(following(made.mode))
    assert not made.workspace.permissions.auto


# ------------------------------------------------------------------ once without the sandbox


@pytest.fixture
def outside() -> Iterator[Path]:
    """A file that is not there yet, in a place that bwrap does not replace by one of its own."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder) / "outside"


@pytest.mark.parametrize(("answer", "by", "runs"), [("yes", "key", True), ("yes", "rule", False), ("no", "key", False)])
async def test_only_the_persons_own_key_lets_a_failed_command_out_of_the_sandbox(
    answer: str, by: str, runs: bool, tmp_path: Path, outside: Path
) -> None:
    person = Person(("yes", answer), by=by)
    call = {"calls": [{"name": "run_command", "arguments": {"argv": ["touch", str(outside)]}}]}
    made, seen = session(tmp_path, [call, DONE], person)
    box = await made.commands.ready()
    if box.kind == "none":
        assert box.reason  # nothing confines it here, so nothing has to be let out
        return
    await play(made)
    assert outside.exists() is runs  # noqa: ASYNC240
    first, second = (batch[0] for batch in person.asked)
    assert first.where.startswith("sandbox ")
    assert second.where == ""
    assert second.effect.argv == first.effect.argv
    assert second.policy.floors[0].startswith("it failed in the sandbox: ")
    (done,) = [e for e in made.events if isinstance(e, ev.ToolDone)]
    assert done.receipt is not None
    assert done.receipt.sandbox == ("none" if runs else box.kind)
    assert ("unsandboxed" in done.note) is runs
    told = seen[1].messages[-1].text
    assert ("run again without it" if runs else "it ran in a sandbox") in told

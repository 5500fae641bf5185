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
from tests.fixtures.repository import git
from tests.test_modes import ended, play, session, terms
from tui_agent.config import Settings
from tui_agent.core import events as ev
from tui_agent.core import programs
from tui_agent.core.endings import StopReason
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


async def test_the_list_shows_what_the_mode_makes_of_the_table(tmp_path: Path) -> None:
    made, _ = session(tmp_path, [TRUE, DONE])
    assert (rule(made, "write").permission, rule(made, "write").source) == ("ask", "built in")
    for name, permission in (("edits", "allow"), ("read", "deny")):
        made.enter(MODES[name])
        write = rule(made, "write")
        assert (write.permission, write.source) == (permission, "mode")
        assert made.workspace.permissions.table["write"] == permission
        with pytest.raises(AgentError, match="ends with the mode"):
            made.rules.remove(write)
    if (await made.commands.ready()).kind == "none":
        return
    await made.enter_auto(anyway=True)
    await play(made)
    auto = made.in_force[0]
    assert (auto.permission, auto.source, auto.count, auto.last) == ("allow", "mode", 1, "run  true")


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
    assert [rule.pattern for rule in offered("git status -s")] == ["git status -s", "git status"]
    assert all(rule.refuses.startswith("pytest") for rule in offered("pytest -q"))
    (only,) = offered("make lint")
    assert only.pattern == only.matches == "make lint"
    (folder,) = offered("write:src/")
    assert (folder.matches, folder.refuses) == ("write_file src/any-file", "write_file src.other")
    with pytest.raises(AgentError, match="needs a path"):
        offered("write:../x")


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
        ("web_fetch https://example.org", "ask", "table: network = ask"),
        ("web_search anything", "ask", "table: network = ask"),
        ("read_skill x", "allow", "table: read = allow"),
        ("run_command git push", "deny", "deny pattern: git push"),
        ("run_shell git status", "ask", "table: shell = ask"),
        ("run_shell git push", "deny", "deny pattern: git push"),
        ("search", "allow", "table: search = allow"),
        ("delete_file src/a.py", "ask", "table: write = ask"),
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


async def test_every_tool_of_the_tables_is_explained_as_itself(tmp_path: Path) -> None:
    made, _ = session(tmp_path, [])
    for name, kind in programs.TOOLS.items():
        if kind != "run":
            assert (await made.workspace.explain(f"{name} x")).permission_class == kind


async def test_an_edit_that_a_rule_for_its_folder_allowed_was_not_seen(tmp_path: Path) -> None:
    write = {"name": "write_file", "arguments": {"path": "src/a.py", "content": "x"}}
    person = Person()
    made, _ = session(tmp_path, [{"calls": [write]}, DONE], person)
    made.rules.add("write:src/", "folder")
    await play(made)
    assert person.asked == []
    assert made.holds_unseen_edits
    kept = rule(made, "write:src/")
    assert (kept.source, kept.count, kept.removable) == ("folder", 1, True)
    made.enter(MODES["read"])
    assert "write:src/" not in made.workspace.permissions.allow


async def test_the_question_says_which_rule_nearly_fits(tmp_path: Path) -> None:
    person = Person()
    call = {"calls": [{"name": "run_command", "arguments": {"argv": ["ls", "/"]}}]}
    made, _ = session(tmp_path, [call, DONE], person)
    await play(made)
    assert [request.missed for (request,) in person.asked] == ["the rule ls does not cover /"]


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
        await made.enter_auto(anyway=True)
    made, _ = session(tmp_path, [], trusted=False)
    with pytest.raises(AgentError, match="trust"):
        await made.enter_auto(anyway=True)
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
    await made.enter_auto(anyway=True)
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
    await made.enter_auto(anyway=True)
    await play(made)
    made.enter(MODES["ask"])
    outcome = await made.workspace.call("run_command", {"argv": ["curl", "x"]})
    assert outcome.receipt.by == Decision("", "yes").by
    assert given == [False, True]


def test_auto_is_taken_off_by_the_next_mode(tmp_path: Path) -> None:
    made, _ = session(tmp_path, [])
    if asyncio.run(made.commands.ready()).kind == "none":
        return
    asyncio.run(made.enter_auto(anyway=True))
    assert made.workspace.permissions.auto
    made.enter(following(made.mode))
    assert not made.workspace.permissions.auto


async def test_auto_outside_of_a_git_repository_has_to_be_meant(tmp_path: Path) -> None:
    made, _ = session(tmp_path, [])
    if (await made.commands.ready()).kind == "none":
        return
    with pytest.raises(AgentError, match="no git repository.*/auto anyway"):
        await made.enter_auto()
    assert made.mode.name == "ask"
    (tmp_path / ".git").mkdir()
    with pytest.raises(AgentError, match="no git repository"):
        await made.enter_auto()
    git(tmp_path, "init", "-q")  # around the folder counts
    await made.enter_auto()
    assert made.mode is AUTO


# ------------------------------------------------------------------ without the sandbox, always


MAKE = {"calls": [{"name": "run_command", "arguments": {"argv": ["make", "check"]}}]}


@pytest.fixture
def freed(tmp_path: Path, outside: Path) -> Any:
    """A maker of sessions in a folder whose `make check` writes outside of it."""

    def make(replies: list[Any], person: Person, **kw: Any) -> Any:
        made, seen = session(tmp_path, replies, person, **kw)
        (made.root / "Makefile").write_text(f"check:\n\ttouch {outside}\n")
        return made, seen

    return make


async def test_a_freed_command_runs_in_no_sandbox_until_it_is_taken_back(freed: Any, outside: Path) -> None:
    person = Person(("no",) * 5)
    made, _ = freed([MAKE, DONE, MAKE, DONE], person)
    if (await made.commands.ready()).kind == "none":
        return
    assert made.rules.set_free("make check") == ("make", "check")
    assert made.commands.where(("make", "check")) == "not sandboxed"
    await play(made)
    assert outside.exists()  # noqa: ASYNC240
    assert person.asked == []  # the pattern allows it, as before
    (known,) = (r for r in made.in_force if r.unsandboxed)
    assert (known.text, known.source, known.count, known.removable) == ("make check", "folder", 1, True)
    again, _ = freed([], person)
    assert again.rules.free(("make", "check"))
    outside.unlink()  # noqa: ASYNC240
    made.rules.remove(known)
    assert not RuleStore(made.rules.store.file).look(made.root, "unsandboxed")
    await play(made)
    assert not outside.exists()  # noqa: ASYNC240
    assert [b[0].call.name for b in person.asked] == ["run_unsandboxed"]
    assert "always here: /allow-cmd --unsandboxed make check" in person.asked[0][0].caution


async def test_a_freed_command_is_asked_where_only_the_sandbox_allowed_it(freed: Any, outside: Path) -> None:
    person = Person(("no",) * 5)
    made, _ = freed([MAKE, DONE, MAKE, DONE], person)
    if (await made.commands.ready()).kind == "none":
        return
    made.rules.set_free("make check")
    made.workspace._unseen_edits = True
    await play(made)
    assert [r.where for b in person.asked for r in b] == ["not sandboxed"]
    await made.enter_auto(anyway=True)
    await play(made)
    assert len(person.asked) == 2
    assert not outside.exists()  # noqa: ASYNC240


@pytest.mark.parametrize("command", ["sudo ls", "npm test", "sh -c ls", "curl x", "./check.sh", ""])
def test_what_is_asked_each_time_cannot_be_freed(command: str, tmp_path: Path) -> None:
    made, _ = session(tmp_path, [])
    with pytest.raises(AgentError, match="each time"):
        made.rules.set_free(command)
    assert made.rules.how_to_free(tuple(command.split())) == ""


def test_the_persons_own_check_can_be_freed_whatever_it_is(tmp_path: Path) -> None:
    root = (tmp_path / "work").resolve()
    made, _ = session(tmp_path, [], settings=Settings(checks={str(root): ("./check.sh", "all")}))
    assert made.rules.how_to_free(("./check.sh", "all")) == "/allow-cmd --unsandboxed ./check.sh all"
    made.rules.set_free("./check.sh all")
    check = made.check()
    assert check is not None
    assert (check.where, check.asks) == ("not sandboxed", "unseen")


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
    assert second.where == "not sandboxed"
    assert second.effect.argv == first.effect.argv
    assert second.policy.floors[0].startswith("it failed in the sandbox: ")
    (done,) = [e for e in made.events if isinstance(e, ev.ToolDone)]
    assert done.receipt is not None
    assert done.receipt.sandbox == ("none" if runs else box.kind)
    assert ("unsandboxed" in done.note) is runs
    told = seen[1].messages[-1].text
    assert ("run again without it" if runs else "it ran in a sandbox") in told


async def test_stop_at_that_question_ends_the_run_and_nothing_more_starts(tmp_path: Path, outside: Path) -> None:
    person = Person(("yes", "yes", "stop"))
    calls = [
        {"name": "run_command", "arguments": {"argv": ["touch", str(outside)]}},
        {"name": "write_file", "arguments": {"path": "later.txt", "content": "x\n"}},
    ]
    made, seen = session(tmp_path, [{"calls": calls}, DONE], person)
    if (await made.commands.ready()).kind == "none":
        return
    await play(made)
    assert ended(made.events) is StopReason.STOPPED
    assert not (made.root / "later.txt").exists()
    assert len(seen) == 1, "and the model is not asked again"
    asked = [e.tool for e in made.events if isinstance(e, ev.Asked)]
    assert asked[-1] == "run_unsandboxed"
    assert [e.answer for e in made.events if isinstance(e, ev.Answered)][-1] == "stop"


# ------------------------------------------------------------------ few questions


async def test_a_task_of_twelve_steps_asks_twice(tmp_path: Path) -> None:
    """Looking, the git commands that only look and the test command need no question; edits of one reply are one."""

    def call(name: str, **arguments: Any) -> dict[str, Any]:
        return {"name": name, "arguments": arguments}

    steps = [
        [call("list_files")],
        [call("read_file", path="a.py"), call("read_file", path="b.py")],
        [call("search", text="x")],
        [call("run_command", argv=["git", "status", "--short"])],
        [call("run_command", argv=["git", "diff", "--stat"])],
        [call("edit_file", path=name, old="x = 1", new="x = 2") for name in ("a.py", "b.py")],
        [call("run_command", argv=["pytest", "-q"])],
        [call("read_file", path="a.py")],
        [call("edit_file", path="a.py", old="x = 2", new="x = 3")],
        [call("run_command", argv=["pytest", "-q", "-x"])],
        [call("update_plan", items=[{"text": "all", "status": "done"}])],
        [call("run_command", argv=["ls", "-l"])],
    ]
    person = Person()
    made, _ = session(tmp_path, [*({"calls": calls} for calls in steps), DONE], person)
    for name in ("a.py", "b.py"):
        (made.root / name).write_text("x = 1\n")
    await play(made)
    assert [[r.call.name for r in batch] for batch in person.asked] == [["edit_file"] * 2, ["edit_file"]]
    assert [e.status for e in made.events if isinstance(e, ev.ToolDone)].count("refused") == 0
    assert len([e for e in made.events if isinstance(e, ev.ToolDone)]) == 14

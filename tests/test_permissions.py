"""Rules of a session: added, kept by folder, listed with their last use, taken back."""

from __future__ import annotations

import string
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
from tui_agent.core import programs
from tui_agent.core.policy import DEFAULT
from tui_agent.core.types import AgentError
from tui_agent.modes import MODES
from tui_agent.permissions import Rule, Rules, RuleStore, offered
from tui_agent.session import Session

TRUE = {"calls": [{"name": "run_command", "arguments": {"argv": ["true"]}}]}
DONE = {"text": "ok"}


def rule(made: Session, text: str) -> Rule:
    return next(r for r in made.in_force if r.text == text)


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


async def test_what_another_window_of_the_folder_takes_back_asks_from_the_next_message_on(tmp_path: Path) -> None:
    person = Person()
    made, _ = session(tmp_path, [TRUE, DONE, TRUE, DONE], person)
    other, _ = session(tmp_path, [])
    other.rules.add("true", "folder")
    await play(made)
    assert len(person.asked) == 0
    other.rules.remove(rule(other, "true"))
    await play(made)
    assert len(person.asked) == 1
    assert "true" not in [r.text for r in made.in_force]


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

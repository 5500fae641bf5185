"""The check of a folder: found, asked for once, kept, and what follows when it fails."""

from __future__ import annotations

import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import Person
from tests.test_modes import WRITE, ended, play, session, terms
from tui_agent.checks import Answered, CheckStore, Found, detect
from tui_agent.config import Settings
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.endings import StopReason
from tui_agent.core.types import AgentError, UserMessage
from tui_agent.review import take_back
from tui_agent.session import Session
from tui_agent.undo import state, undone

FAILING = (sys.executable, "-c", "print('E' * 50_000); raise SystemExit(3)")


def write(text: str, path: str = "a.txt") -> dict[str, Any]:
    return {"calls": [{"name": "write_file", "arguments": {"path": path, "content": text}}]}


READ = {"calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]}


@pytest.mark.parametrize(
    ("files", "argv"),
    [
        ({"Makefile": "all:\n\techo\ncheck: all\n\techo\n"}, ("make", "check")),
        ({"makefile": "check:: all\n"}, ("make", "check")),
        ({"Makefile": "check := yes\ncheck = 1\nprecheck:\n"}, None),
        ({"package.json": '{"scripts": {"test": "vitest run"}}'}, ("npm", "test")),
        ({"package.json": '{"scripts": {"test": "x"}}', "pnpm-lock.yaml": ""}, ("pnpm", "test")),
        ({"package.json": '{"scripts": {"test": "x"}}', "bun.lock": ""}, ("bun", "run", "test")),
        ({"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'}, None),
        ({"package.json": '{"scripts": ["test"]}'}, None),
        ({"package.json": "[" * 100_000}, None),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, ("pytest",)),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n", "uv.lock": ""}, ("uv", "run", "pytest")),
        ({"pytest.ini": "[pytest]\n", "poetry.lock": ""}, ("poetry", "run", "pytest")),
        ({"pytest.ini": "[pytest]\n", ".venv/bin/pytest": ""}, (".venv/bin/python", "-m", "pytest")),
        ({"pyproject.toml": "[tool.ruff]\n", "uv.lock": ""}, None),
        ({"pyproject.toml": "[tool.ruff]\n"}, None),
        ({"setup.cfg": "[tool:pytest]\n"}, ("pytest",)),
        ({"pytest.ini": "[pytest]\n"}, ("pytest",)),
        ({"Cargo.toml": "[package]\n"}, ("cargo", "test")),
        ({"go.mod": "module x\n"}, ("go", "test", "./...")),
        ({"Makefile": "check:\n", "Cargo.toml": "[package]\n"}, ("make", "check")),
        ({}, None),
    ],
)
def test_a_check_is_found_in_the_files_of_a_folder(tmp_path: Path, files: dict[str, str], argv: Any) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = detect(tmp_path)
    assert (found and found.argv) == argv


def test_links_and_pipes_are_not_read(tmp_path: Path) -> None:
    import os

    (tmp_path / "real").write_text("check:\n")
    work = tmp_path / "work"
    work.mkdir()
    (work / "Makefile").symlink_to(tmp_path / "real")
    os.mkfifo(work / "Cargo.toml")
    assert detect(work) is None


def test_an_answer_is_kept_by_real_path(tmp_path: Path) -> None:
    store, other = CheckStore(tmp_path / "d" / "checks.toml"), tmp_path / "other"
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    store.answer(link, ("make", "check"), accepted=True)
    store.answer(other, ("npm", "test"), accepted=False)
    assert store.look(tmp_path) == Answered(("make", "check"), accepted=True)
    assert store.look(other) == Answered(("npm", "test"), accepted=False)
    assert store.look(tmp_path / "third") is None
    assert store.file.stat().st_mode & 0o077 == 0


def test_a_text_that_is_not_the_accepted_one_does_not_count(tmp_path: Path) -> None:
    store = CheckStore(tmp_path / "checks.toml")
    store.answer(tmp_path, ("make", "check"), accepted=True)
    store.file.write_text(store.file.read_text().replace('"check"', '"evil"'))
    assert store.look(tmp_path) is None
    store.file.write_text("not toml [")
    assert store.look(tmp_path) is None


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AgentError, match="could not be saved"):
        CheckStore(tmp_path / "file" / "checks.toml").answer(tmp_path, ("make",), accepted=True)


# ------------------------------------------------------------------ in a session


def with_makefile(tmp_path: Path, recipe: str = "true") -> None:
    (tmp_path / "work").mkdir(exist_ok=True)
    (tmp_path / "work" / "Makefile").write_text(f"check:\n\t@{recipe}\n")


@pytest.mark.parametrize(("answer", "accepted"), [("yes", True), ("no", False), ("skip", None)])
async def test_a_found_check_is_asked_for_once(tmp_path: Path, answer: str, accepted: bool | None) -> None:
    with_makefile(tmp_path)
    person = Person(["yes", answer, "yes"])
    made, _ = session(tmp_path, [write("1\n"), write("2\n", "b.txt"), {"text": "ok"}], person)
    await play(made)
    assert [r.call.name for batch in person.asked for r in batch] == ["write_file", "check", "write_file"]
    assert sum(isinstance(e, ev.CheckDone) for e in made.events) == (2 if accepted else 0)
    kept = CheckStore(tmp_path / "data" / "checks.toml").look(made.root)
    assert (kept and kept.accepted) is accepted
    offered = made.check()
    assert (offered is None) is (accepted is False)
    assert offered is None or offered.proposed is (accepted is None)


@pytest.mark.parametrize("kw", [{"trusted": False}, {"interactive": False}])
def test_nothing_is_looked_for_before_trust_or_without_a_person(tmp_path: Path, kw: dict[str, bool]) -> None:
    with_makefile(tmp_path)
    assert Session(terms(tmp_path, **kw), Person()).check() is None


def test_the_persons_configuration_comes_first(tmp_path: Path) -> None:
    with_makefile(tmp_path)
    root = (tmp_path / "work").resolve()
    CheckStore(tmp_path / "data" / "checks.toml").answer(root, ("npm", "test"), accepted=True)
    own = Settings(checks={str(root): ("own",)})
    assert Session(terms(tmp_path, settings=own), Person()).check().argv == ("own",)
    assert Session(terms(tmp_path), Person()).check().argv == ("npm", "test")


def test_the_projects_own_check_does_not_count_by_its_record_alone(tmp_path: Path) -> None:
    root = (tmp_path / "work").resolve()
    root.mkdir()
    store = CheckStore(tmp_path / "data" / "checks.toml")
    store.answer(root, ("make", "check"), accepted=True, source="project")
    assert Session(terms(tmp_path), Person()).check() is None
    store.answer(root, ("git", "diff", "--check"), accepted=True, source="person")
    assert Session(terms(tmp_path), Person()).check().argv[:2] == ("git", "--no-pager")


@pytest.mark.parametrize("damage", ["[", "checks = 3\n"])
def test_a_damaged_file_is_not_written_over(tmp_path: Path, damage: str) -> None:
    store = CheckStore(tmp_path / "checks.toml")
    store.file.write_text(damage)
    assert store.look(tmp_path) is None
    with pytest.raises(AgentError, match="cannot be used"):
        store.answer(tmp_path, ("make",), accepted=True)
    assert store.file.read_text() == damage


@pytest.mark.parametrize(("answer", "said"), [("yes", True), ("no", False)])
async def test_a_check_is_in_the_prompt_once_it_is_accepted_and_not_while_it_is_proposed(
    tmp_path: Path, answer: str, said: bool
) -> None:
    with_makefile(tmp_path)
    assert detect(tmp_path / "work") == Found(("make", "check"), "Makefile")
    made, seen = session(tmp_path, [write("1\n"), {"text": "ok"}, {"text": "ok"}], Person(["yes", answer]))
    await play(made)
    await play(made)
    assert ["`make check` runs by itself" in request.system for request in seen] == [False, False, said]


async def failed(tmp_path: Path) -> tuple[Session, list[Any]]:
    (tmp_path / "work").mkdir(exist_ok=True)
    root = (tmp_path / "work").resolve()
    (root / "a.txt").write_text("old\n")
    settings = Settings(checks={str(root): FAILING})
    made, seen = session(
        tmp_path, [READ, write("new\n"), {"text": "x"}, {"text": "y"}, {"text": "z"}, {"text": "w"}], settings=settings
    )
    events = await play(made)
    end = next(e for e in events if isinstance(e, ev.RunEnded))
    assert (end.reason, end.check) == (StopReason.UNVERIFIED, "failed")
    return made, seen


async def test_the_model_is_told_head_and_tail_of_a_failed_check_and_the_person_how_it_was_confined(
    tmp_path: Path,
) -> None:
    made, seen = await failed(tmp_path)
    (told,) = [m.text for m in seen[2].messages if isinstance(m, UserMessage) and m.text.startswith("check FAILED")]
    assert "(exit 3)" in told
    assert "characters left out" in told
    assert len(told) < 9_000
    kind = (await made.commands.ready()).kind
    assert [e.sandbox for e in made.events if isinstance(e, ev.CheckDone)] == [kind]


async def test_the_batch_of_a_failed_check_can_be_taken_back_and_the_model_is_told(tmp_path: Path) -> None:
    made, _ = await failed(tmp_path)
    assert await take_back(made) is None
    assert (made.root / "a.txt").read_text() == "old\n"
    told = fold.history(made.events)[-1]
    assert told.text.startswith("The user took back your last edits, after which the check failed, in: a.txt.")
    assert fold.changes(made.events) == {}
    assert "nothing to take back" in (await take_back(made) or "")


async def test_what_was_taken_back_can_be_done_again(tmp_path: Path) -> None:
    made, _ = await failed(tmp_path)
    await take_back(made)
    step = state(made.events).redo[-1]
    plan = await made.workspace.plan_undo(step.receipts)
    outcomes = await made.workspace.undo(plan)
    made.log.append(undone(step.turn, plan, outcomes, redo=True))
    assert (made.root / "a.txt").read_text() == "new\n"
    assert [turn.paths for turn in state(made.events).changed] == [("a.txt",)]


async def test_a_file_that_was_changed_since_is_not_overwritten(tmp_path: Path) -> None:
    made, _ = await failed(tmp_path)
    (made.root / "a.txt").write_text("mine\n")
    assert "a.txt was changed since" in (await take_back(made) or "")
    assert (made.root / "a.txt").read_text() == "mine\n"


@pytest.mark.parametrize(("after", "times", "left"), [("batch", 1, []), ("edit", 2, ["a.txt"])])
async def test_the_check_runs_behind_each_edit_when_the_person_wants_it(
    tmp_path: Path, after: Any, times: int, left: list[str]
) -> None:
    (tmp_path / "work").mkdir()
    settings = Settings(checks={str((tmp_path / "work").resolve()): FAILING}, check_after=after)
    both = {"calls": [*write("1\n")["calls"], *write("2\n", "b.txt")["calls"]]}
    made, _ = session(tmp_path, [both, *[{"text": str(n)} for n in range(4)]], settings=settings)
    await play(made)
    assert sum(isinstance(event, ev.CheckDone) for event in made.events) == times
    await take_back(made)
    assert [path.name for path in made.root.iterdir()] == left


async def test_only_the_last_batch_is_taken_back(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    settings = Settings(checks={str((tmp_path / "work").resolve()): FAILING})
    replies = [write("1\n"), write("2\n", "b.txt"), *[{"text": str(n)} for n in range(4)]]
    made, _ = session(tmp_path, replies, settings=settings)
    await play(made)
    await take_back(made)
    assert (made.root / "a.txt").exists()
    assert not (made.root / "b.txt").exists()
    assert [turn.paths for turn in state(made.events).changed] == [("a.txt",)]


async def test_what_a_check_changes_has_a_receipt_and_is_undone(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    root = (tmp_path / "work").resolve()
    (root / "other.txt").write_text("as it was\n")
    script = "open('other.txt', 'a').write('formatted'); open('new.txt', 'w').write('log')"
    settings = Settings(checks={str(root): (sys.executable, "-c", script)})
    read = {"calls": [{"name": "read_file", "arguments": {"path": "other.txt"}}]}
    made, _ = session(tmp_path, [read, write("1\n"), {"text": "done"}], settings=settings)
    await play(made)
    (check,) = [e for e in made.events if isinstance(e, ev.CheckDone)]
    assert check.receipt is not None
    assert sorted(check.receipt.touched) == ["new.txt", "other.txt"]
    assert list(fold.changes(made.events)) == ["a.txt", "new.txt", "other.txt"]
    stands = state(made.events)
    plan = await made.workspace.plan_undo(stands.since(1))
    assert {step.state for step in plan} == {"ready"}
    made.log.append(undone(1, plan, await made.workspace.undo(plan)))
    assert {path.name: path.read_text() for path in root.iterdir()} == {"other.txt": "as it was\n"}
    assert fold.changes(made.events) == {}


async def test_a_check_that_was_interrupted_leaves_a_receipt_of_what_it_changed(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    root = (tmp_path / "work").resolve()
    script = "import time; open('half.txt', 'w').write('x'); print('go', flush=True); time.sleep(600)"
    made, _ = session(
        tmp_path,
        [write("1\n"), {"text": "done"}],
        settings=Settings(checks={str(root): (sys.executable, "-c", script)}),
    )

    async def until_it_talks() -> None:
        async with aclosing(made.run("do it")) as events:
            async for event in events:
                if isinstance(event, ev.CommandOutput) and "go" in event.text:
                    return

    await until_it_talks()
    (check,) = [e for e in made.events if isinstance(e, ev.CheckDone)]
    assert not check.passed
    assert check.receipt is not None
    assert check.receipt.touched == ("half.txt",)
    assert ended(made.events) is StopReason.STOPPED


@pytest.mark.parametrize("sandbox", ["none", "auto"])
async def test_a_check_that_deletes_everything_and_leaves_a_daemon_is_reported_and_the_next_edit_works(
    tmp_path: Path, sandbox: str
) -> None:
    root = (tmp_path / "work").resolve()
    script = "setsid sleep 600 & find . -mindepth 1 -not -path './.git*' -delete; echo gone; exit 3"
    settings = Settings(checks={str(root): ("sh", "-c", script)}, sandbox=sandbox)
    edits = [
        {"calls": [{"name": "write_file", "arguments": {"path": name, "content": "x\n"}}]}
        for name in ("a.txt", "b.txt")
    ]
    made, seen = session(tmp_path, [*edits, {"text": "done"}, {"text": "done"}, {"text": "done"}], settings=settings)
    await play(made)
    checks = [e for e in made.events if isinstance(e, ev.CheckDone)]
    assert [(c.exit_code, c.output.startswith("gone")) for c in checks] == [(3, True)] * 2
    assert [sum("check FAILED (exit 3)" in m.text for m in request.messages) for request in seen[1:3]] == [1, 2]
    writes = [e for e in made.events if isinstance(e, ev.ToolDone)]
    assert [e.status for e in writes] == ["applied"] * 2
    assert not (root / "a.txt").exists()
    assert "a.txt" in checks[0].receipt.touched


async def test_a_check_that_hangs_is_ended_at_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = (tmp_path / "work").resolve()
    monkeypatch.setattr("tui_agent.gate.TIMEOUT", 1.0)
    settings = Settings(checks={str(root): ("sleep", "600")})
    made, seen = session(tmp_path, [WRITE, {"text": "done"}, {"text": "done"}, {"text": "done"}], settings=settings)
    await play(made)
    (check,) = [e for e in made.events if isinstance(e, ev.CheckDone)]
    assert check.exit_code is None
    assert check.duration < 600
    (text,) = [m.text for m in seen[1].messages if "check FAILED (did not end)" in m.text]
    assert "(stopped after the time limit of 1 s)" in text

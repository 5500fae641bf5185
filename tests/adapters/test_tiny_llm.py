"""tiny-llm's contracts of days 1 and 2 on the product's loop, protocol and paths."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.adapters import tiny_llm_ref as tiny
from tests.adapters.tiny_llm_ref.agent import loop as module

ADAPTER = Path(tiny.__file__).parent


@dataclass
class Policy:
    root: Path = Path("/w")
    allow_writes: bool = False
    allowed_commands: tuple = ()


@dataclass
class Fake:
    available_tools: frozenset[str] = frozenset({"list_files", "read_file"})
    result: str = "file README.md\r\n  exact "
    modified_files: tuple[str, ...] = ()
    policy: Policy = field(default_factory=Policy)
    executed: list[Any] = field(default_factory=list)

    def execute(self, action: Any) -> str:
        self.executed.append(action)
        return self.result


def tool(name: str = "read_file", **arguments: Any) -> str:
    return json.dumps({"tool": name, **arguments})


READ, LIST, FINAL = tool(path="README.md"), tool("list_files"), '{"final": "done"}'


def play(*replies: str, workspace: Any = None, **limits: int):
    seen: list[list[dict[str, str]]] = []

    def generate(messages: list[dict[str, str]]) -> str:
        seen.append([dict(m) for m in messages])
        return replies[len(seen) - 1]

    workspace = workspace or Fake()
    run = tiny.run_agent("Summarise", generate, workspace, tiny.AgentLimits(**limits))
    return run, seen, workspace


def test_the_adapter_is_thin() -> None:
    assert sum(len(file.read_text().splitlines()) for file in ADAPTER.rglob("*.py")) <= 200


# ------------------------------------------------------------------ day 1


def test_initial_messages_are_exactly_two() -> None:
    assert tiny.initial_messages("t", "s") == [{"role": "system", "content": "s"}, {"role": "user", "content": "t"}]


@pytest.mark.parametrize("task", ["", "  \n"])
def test_a_blank_task_is_refused(task: str) -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        tiny.initial_messages(task, "s")
    with pytest.raises(ValueError, match="must not be empty"):
        tiny.run_agent(task, lambda _: FINAL, Fake())


def test_actions_are_frozen_values() -> None:
    assert tiny.parse_action(FINAL) == tiny.FinalAction("done")
    assert tiny.parse_action(READ) == tiny.ToolAction("read_file", {"path": "README.md"})
    with pytest.raises(FrozenInstanceError):
        tiny.parse_action(FINAL).final = "x"


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("{", "not valid JSON"),
        (f"{FINAL} and more", "not valid JSON"),
        ('{"tool": "fly"}', "unknown tool"),
        ('{"tool": "read_file"}', "missing fields for read_file: path"),
        (tool(path="a", extra=1), "unexpected fields for read_file: extra"),
        (tool(path=1), "path must be a string"),
        ('{"final": " "}', "final"),
        ("[]", "no object"),
    ],
)
def test_what_is_no_action_raises_its_own_error(reply: str, words: str) -> None:
    with pytest.raises(tiny.AgentError, match=words):
        tiny.parse_action(reply)


def test_a_known_tool_that_is_off_is_not_enabled() -> None:
    with pytest.raises(tiny.AgentError, match="not enabled"):
        tiny.parse_action(tool("write_file", path="a", content="x"), frozenset({"read_file"}))


@pytest.mark.parametrize("name", ["max_steps", "max_context_chars", "max_invalid_actions", "max_identical_actions"])
@pytest.mark.parametrize("value", [0, -1])
def test_limits_are_positive(name: str, value: int) -> None:
    with pytest.raises(ValueError, match="positive"):
        tiny.AgentLimits(**{name: value})


def test_one_read_then_the_answer_with_the_exact_observation() -> None:
    run, seen, workspace = play(READ, FINAL)
    assert run.completed
    assert (run.reason, run.final) == ("completed", "done")
    assert workspace.executed == [tiny.ToolAction("read_file", {"path": "README.md"})]
    assert seen[0] == tiny.initial_messages("Summarise", tiny.build_system_prompt(workspace))
    assert seen[1] == [
        *seen[0],
        {"role": "assistant", "content": READ},
        {"role": "user", "content": "Tool result:\nfile README.md\r\n  exact "},
    ]
    assert run.events == (
        tiny.AgentEvent(1, READ, workspace.executed[0], workspace.result),
        tiny.AgentEvent(2, FINAL, tiny.FinalAction("done"), None),
    )


@pytest.mark.parametrize(
    "bad", ["bad", "", '{"tool": "read_file"', '{"name": "read_file", "arguments": {"path": "a"}}']
)
@pytest.mark.parametrize("most", [1, 3, 5])
def test_the_same_invalid_reply_again_and_again_is_an_error_each_time(bad: str, most: int) -> None:
    run, _, workspace = play(*[bad] * 6, max_invalid_actions=most)
    assert (run.completed, run.reason, workspace.executed) == (False, "invalid_action_limit", [])
    assert [(e.step, e.response, e.action) for e in run.events] == [(n + 1, bad, None) for n in range(most)]
    assert all(e.result.startswith("error: ") for e in run.events)


def test_an_invalid_reply_begins_the_count_of_identical_ones_anew() -> None:
    run, _, workspace = play(READ, READ, "bad", READ, READ, FINAL)
    assert run.completed
    assert len(workspace.executed) == 4


def test_invalid_replies_are_counted_and_never_forgiven() -> None:
    run, _, _ = play("bad", READ, "worse", LIST, "bad", FINAL)
    assert run.reason == "invalid_action_limit"
    assert [e.step for e in run.events] == [1, 2, 3, 4, 5]


def test_an_invalid_reply_is_an_observation_and_the_run_goes_on() -> None:
    run, seen, _ = play("not json", FINAL)
    assert run.completed
    assert run.events[0].action is None
    assert run.events[0].result.startswith("error: ")
    assert seen[1][-2:] == [
        {"role": "assistant", "content": "not json"},
        {"role": "user", "content": f"Tool result:\n{run.events[0].result}"},
    ]


def test_a_disabled_tool_never_reaches_the_workspace() -> None:
    run, _, workspace = play(tool("write_file", path="a", content="x"), FINAL)
    assert workspace.executed == []
    assert "not enabled" in run.events[0].result


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_the_step_limit_spends_every_step_on_an_action(steps: int) -> None:
    run, seen, workspace = play(*[tool(path=str(n)) for n in range(9)], max_steps=steps)
    assert (run.completed, run.reason, run.final) == (False, "step_limit", None)
    assert len(seen) == len(run.events) == len(workspace.executed) == steps


def test_an_answer_in_the_last_step_counts() -> None:
    assert play(READ, FINAL, max_steps=2)[0].completed


def test_the_context_limit_is_checked_before_the_first_call() -> None:
    run, seen, _ = play(FINAL, max_context_chars=10)
    assert run.reason == "context_limit"
    assert seen == []
    assert run.events == ()


def test_the_context_limit_counts_exactly_what_is_sent() -> None:
    _, seen, _ = play(READ, FINAL)
    size = sum(len(m["content"]) for m in seen[1])
    assert play(READ, FINAL, max_context_chars=size)[0].reason == "completed"
    assert play(READ, FINAL, max_context_chars=size - 1)[0].reason == "context_limit"


def test_too_many_invalid_replies_end_the_run() -> None:
    run, seen, _ = play("a", "b", "c", FINAL)
    assert run.reason == "invalid_action_limit"
    assert len(seen) == 3


def test_identical_actions_are_carried_out_up_to_the_limit() -> None:
    run, _, workspace = play(READ, READ, READ, FINAL)
    assert run.reason == "repeated_action_limit"
    assert len(workspace.executed) == 2
    same = json.dumps({"path": "README.md", "tool": "read_file"})
    assert play(READ, same, READ)[0].reason == "repeated_action_limit"


def test_only_consecutive_actions_are_identical() -> None:
    assert play(READ, READ, LIST, READ, READ, LIST, READ, FINAL)[0].completed
    assert play(READ, READ, "invalid", READ, READ, FINAL)[0].completed


def test_events_are_told_as_they_happen() -> None:
    told: list[Any] = []
    replies = iter([READ, FINAL])
    run = tiny.run_agent("t", lambda _: next(replies), Fake(), on_event=told.append)
    assert tuple(told) == run.events


@pytest.mark.parametrize("mutant", ["drops", "cuts"])
def test_results_go_through_the_module_global(monkeypatch: pytest.MonkeyPatch, mutant: str) -> None:
    def append(messages: list[dict[str, str]], response: str, result: str) -> None:
        if mutant == "cuts":
            messages.append({"role": "user", "content": f"Tool result:\n{result.strip()}"})

    monkeypatch.setattr(module, "_append_tool_result", append)
    _, seen, workspace = play(READ, FINAL)
    assert not any(m["content"] == f"Tool result:\n{workspace.result}" for m in seen[1])


# ------------------------------------------------------------------ day 2


def workspace(tmp_path: Path, **policy: Any) -> tiny.Workspace:
    (tmp_path / "src").mkdir()
    (tmp_path / "README.md").write_bytes(b"hi\r\n")
    (tmp_path / ".env").write_text("k")
    (tmp_path / ".git").mkdir()
    (tmp_path / "binary").write_bytes(b"\xff\x00")
    (tmp_path / "link").symlink_to(tmp_path / "README.md")
    return tiny.Workspace(tiny.ToolPolicy(tmp_path, **policy))


def test_the_root_is_resolved_and_exists(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "l").symlink_to(tmp_path / "real")
    assert tiny.ToolPolicy(tmp_path / "l").root == (tmp_path / "real").resolve()
    with pytest.raises(ValueError, match="exist"):
        tiny.ToolPolicy(tmp_path / "none")


@pytest.mark.parametrize(("value", "words"), [(0, "positive"), (-1, "positive"), (True, "integers"), (1.5, "integers")])
def test_limits_of_the_policy(tmp_path: Path, value: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tiny.ToolPolicy(tmp_path, max_file_bytes=value)


def test_listing_is_sorted_relative_and_bounded(tmp_path: Path) -> None:
    work = workspace(tmp_path)
    assert work.list_files() == "file README.md\nfile binary\ndir src"
    (tmp_path / "src" / "a.py").write_text("")
    assert work.list_files("src") == "file src/a.py"
    cut = tiny.Workspace(tiny.ToolPolicy(tmp_path, max_list_entries=1))
    assert cut.list_files() == "file README.md"


def test_reading_gives_the_exact_text(tmp_path: Path) -> None:
    assert workspace(tmp_path).read_file("README.md") == "hi\r\n"


@pytest.mark.parametrize(
    ("path", "words"), [("src", "regular file"), ("binary", "UTF-8"), ("README.md", "exceeds 3 bytes")]
)
def test_what_cannot_be_read_says_why(tmp_path: Path, path: str, words: str) -> None:
    with pytest.raises(tiny.AgentError, match=words):
        workspace(tmp_path, max_file_bytes=3).read_file(path)


@pytest.mark.parametrize("raw", ["../x", "/etc/passwd", ".env", ".git", ".git/config", "link", "src/../../x"])
def test_paths_that_lead_elsewhere_are_refused(tmp_path: Path, raw: str) -> None:
    with pytest.raises(tiny.AgentError):
        workspace(tmp_path).resolve_path(raw)
    assert workspace_again(tmp_path).execute(tiny.ToolAction("read_file", {"path": raw})).startswith("error: ")


def workspace_again(tmp_path: Path) -> tiny.Workspace:
    return tiny.Workspace(tiny.ToolPolicy(tmp_path))


def test_execute_never_raises(tmp_path: Path) -> None:
    work = workspace(tmp_path)
    assert work.execute(tiny.ToolAction("write_file", {"path": "a"})) == "error: tool is not enabled: write_file"
    assert work.execute(tiny.ToolAction("read_file", {"nope": 1})).startswith("error: ")
    assert work.execute(tiny.ToolAction("list_files", {"path": "none"})).startswith("error: ")


def test_the_prompt_lists_only_what_is_enabled(tmp_path: Path) -> None:
    text = tiny.build_system_prompt(workspace(tmp_path))
    assert '"tool":"list_files"' in text
    assert '"tool":"read_file"' in text
    assert "write_file" not in text
    assert "run_command" not in text


def test_a_real_run_over_a_real_workspace(tmp_path: Path) -> None:
    run, seen, _ = play(LIST, READ, FINAL, workspace=workspace(tmp_path))
    assert run.completed
    assert seen[2][-1]["content"] == "Tool result:\nhi\r\n"

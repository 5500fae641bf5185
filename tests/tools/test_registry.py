"""The table of tools: effects, one-line previews, results of commands, listings."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tui_agent.core.types import ListFiles, ReadFile, RunArgv, RunScript, SearchText, SetPlan, ToolCall, WriteBytes
from tui_agent.tools import commands, listing
from tui_agent.tools.arguments import ToolError
from tui_agent.tools.listing import Entry
from tui_agent.tools.registry import EXAMPLE_PATH, TOOLS, Situation, summary


def test_the_table_is_the_one_of_the_rulings() -> None:
    assert list(TOOLS) == [
        "read_file",
        "list_files",
        "search",
        "edit_file",
        "multi_edit",
        "write_file",
        "propose_edit",
        "delete_file",
        "run_command",
        "run_shell",
        "update_plan",
    ]
    assert {name: tool.permission for name, tool in TOOLS.items() if not tool.changes_file} == {
        "read_file": "read",
        "list_files": "read",
        "search": "search",
        "run_command": "run",
        "run_shell": "shell",
        "update_plan": "none",
    }
    assert {tool.permission for tool in TOOLS.values() if tool.changes_file} == {"write"}


@pytest.mark.parametrize("name", TOOLS)
def test_descriptions_are_short_and_name_no_path_but_the_example(name: str) -> None:
    spec = TOOLS[name].spec
    assert len(spec.description) < 120
    assert spec.example.get("path", EXAMPLE_PATH) in {EXAMPLE_PATH, "."}


def test_effects() -> None:
    here = Situation("a.py", b"x = 1\n", 30.0)

    def effect(name: str, **arguments: object):
        return TOOLS[name].prepare(arguments, here)

    assert effect("read_file", start=3) == ReadFile("a.py", 3, None)
    assert effect("list_files") == ListFiles("a.py")
    assert effect("search", text="x") == SearchText("x", "a.py")
    assert effect("edit_file", old="1", new="2") == WriteBytes("a.py", b"x = 1\n", b"x = 2\n")
    assert effect("multi_edit", edits=[{"old": "1", "new": "2"}]) == WriteBytes("a.py", b"x = 1\n", b"x = 2\n")
    assert effect("write_file", content="y\n") == WriteBytes("a.py", b"x = 1\n", b"y\n")
    assert effect("propose_edit", old="x = 1\n", new="y\n") == WriteBytes("a.py", b"x = 1\n", b"y\n")
    assert effect("delete_file") == WriteBytes("a.py", b"x = 1\n", None)
    assert effect("run_command", argv=["ls", "-l"]) == RunArgv(("ls", "-l"), 30.0)
    assert effect("run_shell", script="ls") == RunScript("ls", 30.0)
    assert effect("update_plan", items=[{"status": "now", "text": "t"}]) == SetPlan((("now", "t"),))


@pytest.mark.parametrize("name", [name for name, tool in TOOLS.items() if tool.changes_file])
def test_a_change_is_of_one_file_and_no_field_names_another(name: str) -> None:
    tool = TOOLS[name]
    assert tool.spec.parameters["properties"]["path"]["type"] == "string"
    for more in ({"path": ["a.py", "b.py"]}, {"paths": ["b.py"]}, {"path2": "b.py"}):
        with pytest.raises(ToolError):
            tool.arguments(ToolCall("1", name, {**tool.spec.example, **more}))
    effect = tool.prepare(
        tool.arguments(ToolCall("1", name, tool.spec.example)), Situation("a.py", b"colour = 1\n", 1.0)
    )
    assert isinstance(effect, WriteBytes)
    assert effect.path == "a.py", "where the path leads is the workspace's to say"


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("run_command", {"argv": [" "]}, "must name a program"),
        ("run_command", {"argv": ["a\0"]}, "NUL"),
        ("run_command", {"argv": ["a"] * 1001}, "too long"),
        ("run_command", {"argv": ["a" * 40_000]}, "too long"),
        ("run_shell", {"script": "\n"}, "empty"),
    ],
)
def test_commands_that_are_none(name: str, arguments: dict, words: str) -> None:
    with pytest.raises(ToolError, match=words):
        TOOLS[name].prepare(arguments, Situation())


def test_one_line_per_effect() -> None:
    assert summary(ReadFile("a.py"), "a.py") == "read  a.py"
    assert summary(ReadFile("a.py", 3, 2)) == "read  a.py  lines 3-4"
    assert summary(ReadFile("a.py", 3)) == "read  a.py  lines 3-"
    assert summary(ListFiles("")) == "list  ."
    assert summary(SearchText("x y", "")) == "search  x y  in ."
    assert summary(WriteBytes("a.py", b"a\nb\n", b"a\nc\nd\n"), "link") == "edit  a.py  (by way of link)  +2 -1"
    assert summary(WriteBytes("a.py", None, b"a\n")) == "create  a.py  +1 -0"
    assert summary(WriteBytes("a.py", b"a\n", None)) == "delete  a.py  +0 -1"
    assert summary(RunArgv(("ls", "-l"), 1)) == "run  ls -l"
    assert summary(RunScript("ls | wc", 1)) == "shell  ls | wc"
    assert summary(SetPlan((("done", "a"), ("now", "b")))) == "plan  1 of 2 done"


@dataclass
class Result:
    exit_code: int | None = 0
    timed_out: bool = False
    interrupted: bool = False
    output: str = ""
    duration: float = 0.1
    error: str | None = None
    killed: tuple[int, ...] = ()
    remarks: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    sandbox: str = ""


@pytest.mark.parametrize(
    ("result", "text", "note"),
    [
        (Result(output="a\nb\n"), "a\nb\n(exit 0)", "exit 0"),
        (Result(1), "(exit 1)", "exit 1"),
        (Result(None, timed_out=True, output="a"), "a\n(stopped after the time limit of 120 s)", "time limit"),
        (Result(None, error="there is no program x"), "could not be started: there is no program x", "not started"),
        (Result(None), "(stopped before it ended)", "stopped"),
        (Result(0, killed=(4, 5)), "(exit 0)\n(processes left running were ended: 4, 5)", "exit 0"),
    ],
)
def test_results_of_commands(result: Result, text: str, note: str) -> None:
    assert commands.render(result, 120.0) == text
    assert commands.note(result) == note


def test_long_output_keeps_head_and_tail() -> None:
    text = commands.render(Result(1, output="first\n" + "x" * 100_000 + "\nlast error"), 120.0)
    assert len(text) <= 16_000
    assert text.startswith("first\n")
    assert text.endswith("last error\n(exit 1)")
    assert "characters left out" in text


def test_a_listing_is_sorted_and_bounded() -> None:
    entries = [Entry("src", "folder"), Entry("b.py", "file", 1234), Entry("a", "link"), Entry("p", "other")]
    assert listing.render(entries) == (
        "[L] a (symbolic link)\n[F] b.py (1,234 bytes)\n[?] p (not a regular file)\n[D] src/"
    )
    assert listing.render([]) == "[empty folder]"
    many = listing.render([Entry(f"{n:05}" + "x" * 200, "file") for n in range(5000)])
    assert len(many) <= 16_000
    assert "more entries not shown" in many

"""Allow patterns for a file or a folder, and why a pattern that comes near does not hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.test_policy import argv, command, row, write
from tui_agent.core.patterns import always_rules, pattern_fault
from tui_agent.core.policy import DEFAULT, decide
from tui_agent.core.programs import TOOLS
from tui_agent.core.types import ConfigError, PolicyRequest

# ------------------------------------------------------------------ rules for a file or a folder

ASKS = row(DEFAULT, read="ask", search="ask")


def tool(name: str, path: str, **more: Any) -> PolicyRequest:
    return PolicyRequest(name, TOOLS[name], path=path, **more)


def test_a_file_has_a_rule_of_its_own_and_one_for_its_folder() -> None:
    assert [r.pattern for r in always_rules(write("src/a.py"))] == ["write:src/a.py", "write:src/"]
    assert [r.pattern for r in always_rules(write("a.py"))] == ["write:a.py"]
    assert [r.pattern for r in always_rules(tool("read_file", "src/a.py"))] == ["read:src/a.py", "read:src/"]
    assert [r.pattern for r in always_rules(tool("search", "src"))] == ["search:src/"]
    assert always_rules(tool("search", "")) == ()


@pytest.mark.parametrize(
    "request_",
    [
        write("src/a.py", "it has 2 hard links"),
        write(".git/config"),
        write(".ssh/x"),
        write("../a"),
        write("/a"),
        write("a\u200bb"),
        tool("delete_file", "src/a.py"),
        tool("update_plan", "x"),
    ],
    ids=str,
)
def test_no_rule_for_a_path_that_must_be_asked_each_time(request_: PolicyRequest) -> None:
    assert always_rules(request_) == ()


def test_what_is_executed_or_read_as_instructions_needs_a_rule_of_its_own() -> None:
    makefile = tool("edit_file", "sub/Makefile", careful="it is executed")
    assert [rule.pattern for rule in always_rules(makefile)] == ["write:sub/Makefile"]
    assert decide(makefile, replace(DEFAULT, allow=("write:sub/",))).permission == "ask"
    assert decide(makefile, replace(DEFAULT, allow=("write:sub/Makefile",))).permission == "allow"


@pytest.mark.parametrize(
    ("pattern", "asked", "permission"),
    [
        ("write:src/", tool("edit_file", "src/deep/a.py"), "allow"),
        ("write:src/", tool("write_file", "src/new.py"), "allow"),
        ("write:src/", tool("edit_file", "src2/a.py"), "ask"),
        ("write:src/", tool("edit_file", "src"), "allow"),
        ("write:src/a.py", tool("multi_edit", "src/a.py"), "allow"),
        ("write:src/a.py", tool("edit_file", "src/a.py/b"), "ask"),
        ("write:src/a.py", tool("edit_file", "src/A.py"), "ask"),
        ("write:src/", tool("delete_file", "src/a.py"), "ask"),
        ("write:src/", tool("edit_file", "src/a.py", floors=("hard link",)), "ask"),
        ("write:src/", tool("edit_file", "src/.git/config"), "deny"),
        ("write:src/", tool("edit_file", "src/.ssh/x"), "ask"),
        ("write:src/", tool("read_file", "src/a.py"), "ask"),
        ("read:src/", tool("read_file", "src/a.py"), "allow"),
        ("read:src/", tool("list_files", "src"), "allow"),
        ("read:src/", tool("search", "src"), "ask"),
        ("search:src/", tool("search", "src"), "allow"),
        ("search:src/", tool("search", ""), "ask"),
        ("read:src/", tool("read_file", "src/.env", floors=("it may hold a secret",)), "ask"),
    ],
)
def test_a_rule_for_a_path(pattern: str, asked: PolicyRequest, permission: str) -> None:
    verdict = decide(asked, replace(ASKS, allow=(pattern,)))
    assert verdict.permission == permission
    assert (verdict.rule == f"allow pattern: {pattern}") == (permission == "allow")


@pytest.mark.parametrize(
    "pattern", ["write:", "write:/", "write:/etc/", "write:../a", "write:a/../b", "write:./a", "write:a//b", "read:a\0"]
)
def test_what_is_no_rule_for_a_path(pattern: str) -> None:
    with pytest.raises(ConfigError, match=r"permissions\.allow"):
        replace(DEFAULT, allow=(pattern,))


def test_a_path_cannot_be_denied_because_a_command_could_still_reach_it() -> None:
    with pytest.raises(ConfigError, match="only commands can be denied"):
        replace(DEFAULT, deny=("write:src/",))


PART = st.text(st.sampled_from("abA.-_ ~*?[:'\"$\u00e9"), min_size=1, max_size=4)


@given(st.lists(PART, min_size=1, max_size=4).map("/".join), st.sampled_from(["edit_file", "write_file", "read_file"]))
def test_a_rule_for_a_path_matches_what_was_asked_and_not_its_counterexample(path: str, name: str) -> None:
    for rule in always_rules(tool(name, path)):
        policy = replace(ASKS, allow=(rule.pattern,))
        for example, permission in ((rule.matches, "allow"), (rule.refuses, "ask")):
            word, _, there = example.partition(" ")
            assert decide(tool(word, there), policy).permission == permission


# ------------------------------------------------------------------ a rule that nearly fits


@pytest.mark.parametrize(
    ("allow", "asked", "why"),
    [
        ("pytest", command("pytest -p x"), "the rule pytest does not cover -p"),
        ("pytest", command("pytest -k 'a or b' --lf -o x"), "the rule pytest does not cover -o"),
        ("pytest -x", command("pytest -q -p x"), ""),
        ("git diff", command("git diff --output=x"), "the rule git diff does not cover --output=x"),
        ("git log -5", command("git log -6"), "the rule git log -5 is for exactly those words"),
        ("git log -5", command("git push"), ""),
        ("make lint", command("make test"), ""),
        ("pytest", command("pytest && ls"), "the rule pytest is for the command alone, not in a script"),
        ("pytest", command("cat x"), ""),
        ("ls", replace(argv("ls"), floors=("a reason",)), "the rule ls does not hold now: a reason"),
        ("write:src/", tool("delete_file", "src/a"), "the rule write:src/ is not for deleting"),
        ("write:src/a", tool("edit_file", "src/b"), "the rule write:src/a is for that file only"),
        ("write:src/a", tool("edit_file", "lib/b"), ""),
        ("write:src/a", tool("read_file", "src/a"), ""),
        ("write:src/", tool("edit_file", "src/Makefile", careful="it is executed"),
         "the rule write:src/ does not cover this file: it is executed"),
        ("write:src/", tool("edit_file", "src/a", floors=("2 hard links",)), "the rule write:src/ does not hold now: 2 hard links"),
    ],
)  # fmt: skip
def test_the_rule_that_nearly_fits_is_named(allow: str, asked: PolicyRequest, why: str) -> None:
    verdict = decide(asked, replace(ASKS, allow=(allow,)))
    assert (verdict.permission, verdict.missed) == ("ask", why)


def test_a_rule_that_does_not_hold_now_says_why() -> None:
    policy = replace(DEFAULT, allow=("pytest",), unseen_edits=True)
    assert (
        decide(command("pytest"), policy).missed == "the rule pytest does not hold now: code nobody saw, and no sandbox"
    )


@pytest.mark.parametrize("pattern", ["write:.git/", "write:.GIT/config", "write:sub/.git/hooks/", "write:.tui_agent/"])
def test_a_rule_for_writing_where_no_tool_writes_is_refused(pattern):
    assert "it can never match" in pattern_fault(pattern)

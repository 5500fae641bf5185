"""Promises of the acceptance list about tools that no other test names (docs/acceptance.md)."""

from __future__ import annotations

import os

import pytest


@pytest.mark.parametrize("old", ["x = 1\n", ""])
def test_a_proposal_for_a_file_that_cannot_be_read_says_so(desk, monkeypatch, old: str) -> None:
    desk.put("a.py", "x = 1\n")
    real = os.open

    def refuse(path, *args, **options):
        if str(path).endswith("a.py"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *args, **options)

    monkeypatch.setattr(os, "open", refuse)
    outcome = desk.call("propose_edit", path="a.py", old=old, new="x = 2\n")
    monkeypatch.undo()
    assert outcome.status == "error"
    assert "ermission denied" in outcome.text
    assert "stale" not in outcome.text
    assert desk.tree() == {"a.py": b"x = 1\n"}
    assert desk.asked == []


def test_an_unknown_tool_among_the_enabled_ones_is_an_error_of_the_programmer(make_desk) -> None:
    with pytest.raises(KeyError, match="nosuch"):
        make_desk(tools=("read_file", "nosuch"))


@pytest.mark.parametrize("above", ["", "deep/", "deep/er/"])
def test_names_are_judged_by_every_component(desk, above: str) -> None:
    for name in (".git/config", ".tui_agent/config.toml", ".env", ".aws/config", "a.py~", "a.py"):
        desk.put(f"{above}{name}", "needle = 1\n")
    for name in (".git/config", ".tui_agent/config.toml"):
        desk.asked.clear()
        done = desk.call("write_file", path=f"{above}{name}", content="x\n")
        assert (done.status, desk.asked) == ("refused", []), name
        assert (desk.root / above / name).read_text() == "needle = 1\n"
    for name, asks in ((".env", True), (".aws/config", True), ("a.py", False)):
        desk.asked.clear()
        assert desk.call("read_file", path=f"{above}{name}").status == "applied"
        assert bool(desk.asked) is asks, name
    listed = desk.call("list_files", path=above or ".").text
    assert "a.py" in listed
    assert "a.py~" not in listed
    assert ".git" not in listed
    found = desk.call("search", text="needle").text
    assert f"{above}a.py" in found
    for name in (".git", ".env", ".aws", "a.py~"):
        assert f"{above}{name}" not in found
    desk.asked.clear()
    desk.call("run_command", argv=["cat", f"{above}.env"])
    assert len(desk.asked) == 1, "a command that names one is asked about"

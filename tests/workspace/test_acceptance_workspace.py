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

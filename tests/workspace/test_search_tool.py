"""The search tool: which program runs, what happens when it fails, what may be told."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tui_agent.workspace import looking


@dataclass
class Result:
    exit_code: int | None = 0
    output: str = ""
    timed_out: bool = False
    interrupted: bool = False
    duration: float = 0.1
    error: str | None = None
    killed: tuple[int, ...] = ()


@pytest.fixture
def search_desk(make_desk, monkeypatch):
    """A desk whose programs answer with the given results, in order; `ran` remembers the commands."""

    def make(*results: Result, ripgrep: str | None = None):
        ran, answers = [], list(results)

        async def run(argv, *, cwd, timeout, emit):
            ran.append(argv)
            return answers.pop(0)

        monkeypatch.setattr(looking.shutil, "which", lambda _: ripgrep)
        desk = make_desk(run=run)
        for name in ("a.py", ".env", "server.pem", "a.py~", ".git/config", "sub/b.py"):
            desk.put(name, "needle\n")
        (desk.root / "link.py").symlink_to("a.py")
        return desk, ran

    return make


def rows(*names: str) -> str:
    return "".join(f"./{name}\x1f1\x1fneedle\n" for name in names)


def test_hits_in_secrets_noise_links_and_missing_files_are_not_told(search_desk) -> None:
    names = ("a.py", ".env", "server.pem", "a.py~", ".git/config", "sub/b.py", "link.py", "gone.py", "../ws/a.py")
    desk, _ = search_desk(Result(output=rows(*names)))
    outcome = desk.call("search", text="needle")
    assert outcome.text == "[2 hits in 2 files]\na.py:1: needle\nsub/b.py:1: needle"
    assert outcome.note == "2 hits"


def test_ripgrep_is_used_where_there_is_one(search_desk) -> None:
    desk, ran = search_desk(Result(output=rows("a.py")), ripgrep="/usr/bin/rg")
    assert desk.call("search", text="needle", path="sub/").status == "applied"
    assert [(argv[0], argv[-1]) for argv in ran] == [("/usr/bin/rg", "./sub")]


def test_no_hit_is_an_answer(search_desk) -> None:
    desk, ran = search_desk(Result(1), ripgrep="/usr/bin/rg")
    assert "0 hits" in desk.call("search", text="needle").text
    assert len(ran) == 1


def test_an_expression_that_ripgrep_does_not_know_goes_to_our_own(search_desk) -> None:
    desk, ran = search_desk(Result(2, "regex parse error"), Result(output=rows("a.py")), ripgrep="/usr/bin/rg")
    assert "1 hits" in desk.call("search", text="(?<!x)needle").text
    assert len(ran) == 2


def test_a_ripgrep_of_the_workspace_is_not_run(search_desk, tmp_path) -> None:
    desk, ran = search_desk(Result(), ripgrep=str(tmp_path / "ws/bin/rg"))
    desk.call("search", text="needle")
    assert "rg" not in ran[0][0]


def test_a_search_without_end_is_stopped_and_said(search_desk) -> None:
    desk, _ = search_desk(Result(None, timed_out=True))
    outcome = desk.call("search", text="(a+)+$")
    assert outcome.status == "error"
    assert "longer than 20 s" in outcome.text


def test_what_was_found_before_the_stop_is_told(search_desk) -> None:
    desk, ran = search_desk(Result(None, rows("a.py"), timed_out=True), ripgrep="/usr/bin/rg")
    assert "there may be more" in desk.call("search", text="(a+)+$").text
    assert len(ran) == 1


def test_places_that_cannot_be_searched(search_desk) -> None:
    desk, ran = search_desk()
    assert desk.call("search", text="x", path="gone").status == "error"
    assert desk.call("search", text="x", path="../out").status == "refused"
    assert ran == []

"""The history: what is kept on the disk, and where Up and Down lead without losing a word."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.ui import history as module
from tui_agent.ui.chips import Draft
from tui_agent.ui.history import History, history_file


def texts(history: History) -> list[str]:
    return [entry.full for entry in history.entries]


def filled(*sent: str) -> History:
    history = History()
    for text in sent:
        history.add(Draft(text))
    return history


def test_it_survives_the_program_each_text_once_and_for_its_person_alone(tmp_path: Path) -> None:
    file = history_file(tmp_path / "data", tmp_path)
    history = History(file)
    for text in ("one", "two\nlines \u2028 é", "one"):
        history.add(Draft(text))
    history.add(Draft("see [paste 1: 30 lines]", {"[paste 1: 30 lines]": "x\n" * 30}))
    again = History(file)
    assert again.entries == history.entries
    assert texts(again) == ["two\nlines \u2028 é", "one", "see " + "x\n" * 30]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_each_folder_has_its_own(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    names = {history_file(tmp_path, tmp_path / name) for name in ("a", "b", "link")}
    assert len(names) == 2, "a link leads to the same history"


def test_two_programs_write_into_one_file(tmp_path: Path) -> None:
    file = tmp_path / "h.jsonl"
    first, second = History(file), History(file)
    first.add(Draft("of the first"))
    second.add(Draft("of the second"))
    assert texts(History(file)) == ["of the first", "of the second"]


@pytest.mark.parametrize("line", ["", "{", "[]", "3", '{"text": 1, "pastes": {}}', '{"text": "x", "pastes": {"a": 1}}'])
def test_a_line_that_cannot_be_read_costs_only_itself(tmp_path: Path, line: str) -> None:
    file = tmp_path / "h.jsonl"
    good = json.dumps({"text": "good", "pastes": {}})
    file.write_bytes(f"{good}\n{line}\n".encode() + b"\xff\xfe\n" + good.replace("good", "last").encode())
    assert texts(History(file)) == ["good", "last"]


def test_a_long_file_is_cut_to_its_newest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ENTRIES", 5)
    file = tmp_path / "h.jsonl"
    history = History(file)
    for number in range(12):
        history.add(Draft(f"entry {number}"))
    assert texts(history) == [f"entry {number}" for number in range(7, 12)]
    assert texts(History(file)) == texts(history)
    assert len(file.read_text(encoding="utf-8").splitlines()) == 5
    assert [path.name for path in tmp_path.iterdir()] == ["h.jsonl"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_file_of_big_pastes_is_cut_by_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 10_000)
    file = tmp_path / "h.jsonl"
    history = History(file)
    for number in range(12):
        history.add(Draft(f"[paste {number}: x]", {f"[paste {number}: x]": "y" * 1_000}))
    assert texts(History(file))[-1] == texts(history)[-1]
    assert file.stat().st_size < 10_000
    assert 3 <= len(History(file).entries) <= 9


def test_a_disk_that_refuses_costs_no_entry_of_this_program(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    history = History(tmp_path / "file" / "h.jsonl")
    history.add(Draft("kept"))
    assert texts(history) == ["kept"]


def test_a_pipe_in_its_place_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # nobody reads it: to write into it would wait for ever
    history = History(tmp_path / "pipe")
    history.add(Draft("fix it"))
    assert texts(history) == ["fix it"]


def test_up_and_down_end_at_the_draft() -> None:
    history = filled("one", "two")
    assert history.step(-1, Draft("draft")) == Draft("two")
    assert history.step(-1, Draft("two")) == Draft("one")
    assert history.step(-1, Draft("one")) is None
    assert history.step(1, Draft("one")) == Draft("two")
    assert history.step(1, Draft("two")) == Draft("draft")
    assert history.step(1, Draft("draft")) is None


def test_a_changed_entry_is_kept_until_it_is_sent() -> None:
    history = filled("one", "two")
    history.step(-1, Draft("draft"))
    history.step(-1, Draft("two, changed"))
    assert history.step(1, Draft("one")) == Draft("two, changed")
    assert history.add(Draft("two, changed")) == Draft("draft"), "what waited comes back"
    assert texts(history) == ["one", "two", "two, changed"]
    history.step(-1, Draft())
    assert history.step(-1, Draft("two, changed")) == Draft("two")


def test_sending_from_the_end_brings_nothing_back() -> None:
    history = filled("one")
    assert history.add(Draft("two")) == Draft()


steps = st.lists(st.one_of(st.sampled_from([-1, 1]), st.text("xyz", min_size=1, max_size=2)), max_size=30)


@given(st.lists(st.text("ab", min_size=1, max_size=3), max_size=4, unique=True), steps)
def test_no_way_through_the_history_loses_a_text(sent: list[str], moves: list[int | str]) -> None:
    """Whatever was typed last at each entry, and behind the newest, is found there again."""
    history = filled(*sent)
    at, now = len(sent), ""
    left: dict[int, str] = {**dict(enumerate(sent)), len(sent): ""}
    for move in moves:
        if isinstance(move, str):
            now += move
            left[at] = now
        elif (found := history.step(move, Draft(now))) is not None:
            at += move
            now = found.full
            assert now == left[at]
    for place, text in left.items():
        found = history.go(place, Draft(now))
        assert found is not None
        now = found.full
        assert now == text

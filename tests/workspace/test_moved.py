"""A change whose file is another one by now: moved to where its lines stand, or refused in words for people."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tests.workspace.test_workspace import TWO_PLACES, parked


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (TWO_PLACES.replace("\n2\n", "\nmine\n").encode(), "its old text is not there"),
        (TWO_PLACES.encode() * 2, "its old text is there more than once"),
        (b"\xff" + TWO_PLACES.encode(), "no UTF-8 text"),
    ],
)
def test_why_a_change_fits_no_more_is_told_in_words_for_people(desk, now, words) -> None:
    desk.put("a.txt", TWO_PLACES)
    desk.call("read_file", path="a.txt")
    whole = TWO_PLACES.replace("\n2\n", "\ntwo\n").replace("\n25\n", "\n26th\n")
    request = parked(desk, "write_file", path="a.txt", content=whole)
    (desk.root / "a.txt").write_bytes(now)
    assert asyncio.run(desk.workspace.fresh(request)) == words
    assert asyncio.run(desk.workspace.apply_parked(request)).note == words


def test_a_text_in_another_encoding_that_a_person_made_is_no_crash_when_its_file_changes(desk) -> None:
    desk.put("a.txt", TWO_PLACES)
    desk.call("read_file", path="a.txt")
    request = parked(desk, "write_file", path="a.txt", content="new\n")
    request = replace(request, effect=replace(request.effect, new=b"caf\xe9\n"))
    desk.put("a.txt", "mine\n" + TWO_PLACES)
    assert asyncio.run(desk.workspace.fresh(request)) == "it is no UTF-8 text"
    assert asyncio.run(desk.workspace.apply_parked(request)).status == "refused"

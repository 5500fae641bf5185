"""The output of a command: whole, live, cut, and never more than it may be."""

from __future__ import annotations

import asyncio
import sys
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from tests.waiting import PATIENCE
from tui_agent.workspace import runner
from tui_agent.workspace.runner import LIVE_PIECE, run


def sh(script: str) -> list[str]:
    return ["sh", "-c", script]


def py(script: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", script]


async def test_a_line_of_100_mb_stays_in_bounds(tmp_path):
    tracemalloc.start()
    try:
        result = await run(
            ["head", "-c", "100000000", "/dev/zero"], cwd=tmp_path, timeout=PATIENCE, emit=lambda _: None
        )
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (result.exit_code, result.total_bytes) == (0, 100_000_000)
    assert result.output.count("\0") == 1_000_000
    assert "\n[99,000,000 bytes left out, 0 lines]\n" in result.output
    assert peak < 20_000_000


async def test_a_flood_is_cut_and_the_loop_goes_on(tmp_path):
    turns = 0

    async def other_work() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0.001)
            turns += 1

    work = asyncio.create_task(other_work())
    result = await run(sh("yes | head -c 100000000"), cwd=tmp_path, timeout=PATIENCE, max_output=1000)
    work.cancel()
    assert (result.exit_code, result.total_bytes) == (0, 100_000_000)
    assert result.output.startswith("y\n" * 250 + "\n[")
    assert result.output.endswith("lines]\n" + "y\n" * 250)
    assert turns > 20


async def test_output_that_is_not_utf8_is_replaced_for_who_looks_at_it(tmp_path):
    odd = py("import os; os.write(1, b'a\\xff\\0b\\xc3')")
    result = await run(odd, cwd=tmp_path, timeout=PATIENCE, emit=lambda _: None)
    assert result.output == "a\ufffd\0b\ufffd"
    result = await run(odd, cwd=tmp_path, timeout=PATIENCE)
    assert result.output.encode("utf-8", "surrogateescape") == b"a\xff\0b\xc3"


async def test_the_last_state_of_a_progress_bar_is_kept(tmp_path):
    result = await run(
        py("for i in range(200001): print(i, end='\\r')"), cwd=tmp_path, timeout=PATIENCE, max_output=100
    )
    assert result.output.endswith("199999\r200000\r")


async def test_output_is_live(tmp_path):
    pieces: list[str] = []

    def emit(piece: str) -> None:
        pieces.append(piece)
        (tmp_path / "seen").touch()

    result = await run(
        sh("echo first; while ! [ -e seen ]; do sleep 0.01; done; echo last"), cwd=tmp_path, timeout=PATIENCE, emit=emit
    )
    assert not result.timed_out
    assert pieces[0] == "first\n"
    assert "".join(pieces) == result.output == "first\nlast\n"


async def test_live_pieces_are_few_and_bounded(tmp_path):
    pieces: list[str] = []
    result = await run(["seq", "1000000"], cwd=tmp_path, timeout=PATIENCE, emit=pieces.append)
    assert len(pieces) <= result.duration / runner.LIVE_INTERVAL + 2
    assert max(map(len, pieces)) <= LIVE_PIECE + 40
    assert pieces[-1].endswith("1000000\n")


CHUNKS = st.lists(st.one_of(st.binary(max_size=40), st.text("aé€🎈\n", max_size=20).map(str.encode)), max_size=12)


@given(chunks=CHUNKS, limit=st.integers(0, 60))
def test_head_tail_and_counts_do_not_depend_on_the_chunks(chunks, limit):
    output = runner._Output(limit)
    for chunk in chunks:
        output.feed(chunk)
    whole = b"".join(chunks)
    assert output.total == len(whole)
    if len(whole) <= limit:
        assert output.text() == whole.decode(errors="replace")
        return
    once = runner._Output(limit)
    once.feed(whole)
    assert output.text() == once.text()
    head, tail = whole[: (limit + 1) // 2], whole[len(whole) - limit // 2 :]
    middle = whole[len(head) : len(whole) - len(tail)]
    count = middle.count(b"\n")
    assert f"\n[{len(middle):,} bytes left out, {count:,} lines]\n" in output.text()


@given(text=st.text("aé€🎈\n", min_size=30, max_size=60), limit=st.integers(0, 29))
def test_a_cut_never_tears_a_character(text, limit):
    output = runner._Output(limit)
    output.feed(text.encode())
    shown = output.text()
    assert "\ufffd" not in shown
    head, tail = shown.split("\n[", 1)[0], shown.rsplit("lines]\n", 1)[1]
    assert text.startswith(head)
    assert text.endswith(tail)


@given(chunks=CHUNKS)
def test_live_pieces_join_to_the_whole(chunks):
    output = runner._Output(10)
    pieces = []
    for chunk in chunks:
        output.feed(chunk)
        pieces.append(output.take_live())
    pieces.append(output.take_live(final=True))
    assert "".join(pieces) == b"".join(chunks).decode(errors="replace")


@given(sizes=st.lists(st.integers(0, 3 * LIVE_PIECE), min_size=1, max_size=6))
def test_a_live_piece_says_what_it_skips(sizes):
    output = runner._Output(10)
    for size in sizes:
        output.feed(b"x" * size)
    piece, skipped = output.take_live(), sum(sizes) - LIVE_PIECE
    assert piece.count("x") == min(sum(sizes), LIVE_PIECE)
    assert (f"[{skipped:,} bytes not shown live]" in piece) == (skipped > 0)

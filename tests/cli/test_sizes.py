"""One task in a terminal of each size that the pictures have: nothing of what is told is lost or torn."""

from __future__ import annotations

import re

import pytest

from screenshots import one_shot
from screenshots.scenes import SIZES


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_one_task_fits_the_terminal(width: int, height: int) -> None:
    shown = one_shot.screen(width, height)
    text = "\n".join(line.rstrip() for line in shown.display)
    assert re.search(r"apply\? y yes   n no   s skip   q stop\s+\(all 6 changed lines shown\)   > y", text)
    assert re.search(r"edit  lexer.py  \+3 -3   applied", text)
    assert re.search(r"check  true   ok   [\d.]+ ?m?s\s+(sandbox (bwrap|landlock)|unsandboxed)\n", text)
    assert one_shot.ANSWER in text.replace("\n", "") or one_shot.ANSWER in text
    for part in (
        r"verified    1 file  \+3 -3",
        r"3 steps  [\d.]+ ?m?s",
        r"300 in  30 out  \$0\.00",
        r"session [\d-]{15}-\w{6}",
        "exit 0",
    ):
        assert re.search(part, text)
    added = [row for row in range(height) if shown.buffer[row][4].data == "+" and shown.buffer[row][4].fg == "green"]
    assert len(added) == 3
    if width > 40:
        assert "$ tui-agent -p" in text
        assert "tui-agent  local/qwen3-coder:30b  in ~/parser  mode ask" in text

"""A few rounds of the monkey, always the same ones; `make fuzz` plays others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pty import monkey


@pytest.mark.parametrize("seed", [2, 3, 5])
def test_whatever_is_pressed_the_program_ends_well_and_undo_brings_the_folder_back(tmp_path: Path, seed: int) -> None:
    monkey.play(seed, tmp_path / "round", 30, strict=False)

"""The gate draws the same examples in every run, whatever else was imported or found before."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import FUZZ


@pytest.mark.skipif(FUZZ > 0, reason="make fuzz draws by chance")
def test_what_is_drawn_hangs_on_the_test_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn() -> list[tuple[int, str, bytes]]:
        seen = []

        @given(st.integers(), st.text(), st.binary())
        def test(number: int, text: str, data: bytes) -> None:
            seen.append((number, text, data))

        test()
        return seen

    before = drawn()
    assert len(before) == 100
    (tmp_path / "words_and_numbers.py").write_text(
        f"NUMBERS = {[*range(700, 800)]}\nWORDS = {[*map(str, range(99))]}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("words_and_numbers")
    try:
        assert drawn() == before
    finally:
        del sys.modules["words_and_numbers"]

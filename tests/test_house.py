"""What keeps the house small: no module over 500 lines, no class over 300."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LINES, OF_A_CLASS = 500, 300


def modules() -> Iterator[Path]:
    for folder in ("tui_agent", "screenshots", "bench", "packaging"):
        yield from (path for path in (ROOT / folder).rglob("*.py") if "demo/project" not in path.as_posix())


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_size(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= LINES
    classes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]
    assert [node.name for node in classes if (node.end_lineno or 0) - node.lineno >= OF_A_CLASS] == []

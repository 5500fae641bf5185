"""The cases of display.json, judged on the sanitiser itself (the dialogs draw what it returns)."""

from __future__ import annotations

import json
import os
import shlex
import unicodedata
from pathlib import Path

import pytest

from tui_agent.core.change import notice
from tui_agent.core.display import Sanitiser, Shown, sanitise

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / (os.environ.get("TUI_AGENT_CASES") or "tests/cases")
DISPLAY = json.loads((CASES / "policy" / "display.json").read_text("utf-8"))["cases"]
JUDGED = {
    "chunks", "context", "distinct_from", "exact", "file_shown", "host", "input", "lines", "max_display_len",
    "max_run_combining", "must_contain", "must_not_contain", "pair", "pair_mode", "quoted", "requires_full_view",
    "resolved_to", "roundtrip", "warn",
}  # fmt: skip
UNJUDGED = {"id", "why", "source", "also_check"}  # prose, and what only a pty can show
FORBIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}
FILLERS = {0x115F, 0x1160, 0x3164, 0xFFA0, 0x2800, 0x034F, *range(0x180B, 0x1810)}
SELECTORS = {*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)}
MULTI_LINE = {"text", "diff", "command"}


def show(case: dict) -> Shown:
    context, text = case["context"], case["input"]
    shown = sanitise(text, context, resolved=case.get("resolved_to"))
    if case.get("chunks"):
        stream = Sanitiser(context)
        parts = [span for chunk in text for span in stream.feed(chunk)] + list(stream.finish())
        assert "".join(span.text for span in parts) == shown.plain
    if "pair" in case:  # the dialog draws the notice of the change beside its rows
        said = notice(*case["pair"], modes=case.get("pair_mode"))
        spans = said.spans if "binary" in said.warns else shown.spans + said.spans
        shown = Shown(spans, shown.warns | said.warns, full_view=shown.full_view or said.full_view)
    return shown


def assert_safe(text: str, *, lines: bool) -> None:
    run = 0
    for char in text:
        category = unicodedata.category(char)
        assert category not in FORBIDDEN or char == " " or (lines and char == "\n"), ascii(char)
        assert ord(char) not in FILLERS | SELECTORS, ascii(char)
        run = run + 1 if category.startswith("M") else 0
        assert run <= 8


def longest_run_of_marks(text: str) -> int:
    return max(map(len, "".join("m" if unicodedata.combining(char) else " " for char in text).split()), default=0)


def test_every_case_is_parametrised() -> None:
    assert len({case["id"] for case in DISPLAY}) == len(DISPLAY) > 0


@pytest.mark.parametrize("case", DISPLAY, ids=lambda case: case["id"])
def test_display(case: dict) -> None:
    assert set(case) <= JUDGED | UNJUDGED
    shown = show(case)
    text = shown.plain
    assert_safe(text, lines=case["context"] in MULTI_LINE)
    for wanted in case["must_contain"]:
        assert wanted in text
    for unwanted in case["must_not_contain"]:
        assert unwanted not in text
    assert shown.warns == set(case["warn"])
    if "exact" in case:
        assert text == case["exact"]
    if "lines" in case:
        assert text.count("\n") + 1 == case["lines"]
    if "max_display_len" in case:
        assert len(text) <= case["max_display_len"]
    if "max_run_combining" in case:
        assert longest_run_of_marks(text) <= case["max_run_combining"]
    if case.get("requires_full_view"):
        assert shown.full_view
    if case.get("quoted"):
        assert (text[0], text[-1]) == ("'", "'")
        assert shown.spans[0].style == shown.spans[-1].style == "escape"
    if "distinct_from" in case:
        assert shown.spans != sanitise(case["distinct_from"], case["context"]).spans
    if "resolved_to" in case:
        assert shown.resolved == case["resolved_to"]
        assert case["resolved_to"] in text
    if "host" in case:
        assert shown.resolved == case["host"]
    if "file_shown" in case:
        assert case["file_shown"] in text
    if "pair" in case:
        assert shown.spans != notice(case["pair"][0], case["pair"][0]).spans
    if case.get("roundtrip"):
        named = shlex.split(text) if case["context"] == "argv" else text
        assert named == case["input"]

"""An edit in the transcript unfolds to its difference, also one that was refused, and that is what is copied of it."""

from __future__ import annotations

import pytest

from tests.ui.test_transcript_blocks import done, screen
from tui_agent.ui import proposal
from tui_agent.ui.entries import source
from tui_agent.ui.story import Story

EDIT = {"path": "src/a.py", "old": "import os\nx = 1\n", "new": "import os\nx = 2\n"}
SHOWN = [
    "         what the model proposed:",
    "           import os",
    "         - x = 1",
    "         + x = 2",
]


@pytest.mark.parametrize(
    "more",
    [
        {"denied": "person", "note": "use pathlib", "status": "refused"},
        {"denied": "skip", "status": "refused"},
        {"denied": "policy", "status": "refused"},
        {"status": "error"},
        {},
    ],
)
def test_an_edit_unfolds_to_its_difference(more: dict) -> None:
    event = done("edit_file", text="told", summary="edit  src/a.py  +1 -1", **more, **EDIT)
    assert not set(SHOWN) & set(screen(event))
    assert screen(event, full=True)[-4:] == SHOWN


def test_it_is_what_is_copied() -> None:
    story = Story()
    story.feed(done("edit_file", "refused", "user rejected the change", denied="person", **EDIT))
    assert source(story, 0) == "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,2 +1,2 @@\n import os\n-x = 1\n+x = 2\n"


def test_a_new_file_is_added_and_a_deletion_names_no_text() -> None:
    assert screen(done("write_file", path="a", content="one\ntwo"), full=True)[-2:] == [
        "         + one",
        "         + two",
    ]
    deleted = screen(done("delete_file", text="deleted", path="a"), full=True)
    assert "what the model proposed" not in "\n".join(deleted)


def test_what_is_long_is_counted_and_what_is_very_long_is_named() -> None:
    many = "line\n" * (proposal.ROWS + 3)
    lines = screen(done("write_file", path="a", content=many), full=True)
    assert lines.count("         + line") == proposal.ROWS
    assert "… 3 more lines; /diff shows what was changed" in lines[-1]
    story = Story()
    story.feed(done("write_file", text="applied", path="a", content="x" * (proposal.LONGEST + 1)))
    assert source(story, 0) == "applied"
    assert (
        "too long to be shown here" in screen(done("write_file", path="a", content=many * 199), width=99, full=True)[-1]
    )


@pytest.mark.parametrize("arguments", [{"old": "\x1b[2J", "new": "\u202eevil\ud800\n"}, {"old": 1}, {"edits": [3]}, {}])
def test_no_call_breaks_it(arguments: dict) -> None:
    text = "\n".join(screen(done("edit_file", "refused", "told", denied="person", path="a", **arguments), full=True))
    assert "\x1b" not in text
    assert "\u202e" not in text
    proposal.text(done("edit_file", **arguments).call)

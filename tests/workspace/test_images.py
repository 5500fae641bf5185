"""Pictures: named in a text, and read only when they are what they say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.core.types import AgentError
from tui_agent.workspace.images import MAX_BYTES, MAX_IMAGES, dropped, media_type, named, read

KINDS = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff\xe0",
    "image/gif": b"GIF89a",
    "image/webp": b"RIFF\0\0\0\0WEBP",
}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("look at @shot.png", ["shot.png"]),
        ("@a.png and @b.JPG, then @a.png again", ["a.png", "b.JPG"]),
        ('@"my shot.png"!', ["my shot.png"]),
        ("@my\\ shot.webp", ["my shot.webp"]),
        ("/tmp/x.png", ["/tmp/x.png"]),
        ("see\n'/home/me/my shot.png' \nplease", ["/home/me/my shot.png"]),
        ("~/Desktop/a.gif", ["~/Desktop/a.gif"]),
        ("file:///tmp/my%20shot.png", ["/tmp/my shot.png"]),
        ("/tmp/my\\ shot.png", ["/tmp/my shot.png"]),
        ("rename /tmp/x.png to y.png", []),
        ("me@x.png", []),
        ("@src/lexer.py", []),
        ("@a.png.txt", []),
        ("x.png", []),
        ("", []),
    ],
)
def test_what_a_text_names(text: str, names: list[str]) -> None:
    assert named(text) == names


def test_a_dropped_picture_is_a_path_alone_of_a_file_that_is_there(tmp_path: Path) -> None:
    shot = tmp_path / "my shot.png"
    shot.touch()
    escaped = str(shot).replace(" ", "\\ ")
    for text in (f"'{shot}' ", f'"{shot}"\n', f"{escaped} ", f"file://{escaped}"):
        assert dropped(text) == str(shot)
    for text in (f"see '{shot}'", f"'{shot}'\nplease", "/gone/shot.png", "@shot.png", str(tmp_path), ""):
        assert dropped(text) is None


@given(st.text())
def test_any_text_can_be_looked_at(text: str) -> None:
    assert all(name in text or "\\" in text or "%" in text for name in named(text))


@pytest.mark.parametrize(("kind", "head"), KINDS.items())
def test_a_picture_is_known_by_its_first_bytes(tmp_path: Path, kind: str, head: bytes) -> None:
    (tmp_path / "a.png").write_bytes(head + b"rest")
    ((image, data),) = read(["a.png"], tmp_path, tmp_path)
    assert (image.name, image.media_type, image.size, image.data) == ("a.png", kind, len(data), "")


@pytest.mark.parametrize("data", [b"", b"<svg/>", b"%PDF-1.7", b"BM....", b"RIFF\0\0\0\0WAVE", b"II*\0"])
def test_anything_else_is_refused(tmp_path: Path, data: bytes) -> None:
    assert media_type(data) is None
    (tmp_path / "a.png").write_bytes(data)
    with pytest.raises(AgentError, match=r"a\.png is no PNG"):
        read(["a.png"], tmp_path, tmp_path)


def test_what_cannot_be_sent_is_refused_with_a_word(tmp_path: Path) -> None:
    (tmp_path / "big.png").write_bytes(KINDS["image/png"])
    os.truncate(tmp_path / "big.png", MAX_BYTES + 1)
    (tmp_path / "folder.png").mkdir()
    os.mkfifo(tmp_path / "pipe.png")
    for name, word in (
        ("big.png", "at most 3,750,000"),
        ("folder.png", "is no file"),
        ("pipe.png", "is no file"),
        ("gone.png", "cannot be read: No such file"),
        ("a\0b.png", "cannot be read"),
    ):
        with pytest.raises(AgentError, match=word):
            read([name], tmp_path, tmp_path)
    (tmp_path / "a.png").write_bytes(KINDS["image/png"])
    with pytest.raises(AgentError, match="too many"):
        read(["a.png"] * (MAX_IMAGES + 1), tmp_path, tmp_path)


def test_names_are_looked_up_below_the_folder_or_home(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "a.png").write_bytes(KINDS["image/png"])
    assert read(["~/a.png"], tmp_path, tmp_path / "home")[0][0].name == "a.png"

"""The ways to the clipboard: which are chosen, what each is given, and what the person is told."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

import pytest

from tui_agent.clipboard import OSC52_MAX, Route, picture, routes, send, sequence

EVERY = frozenset({"wl-copy", "xclip", "xsel", "pbcopy", "clip.exe", "tmux"})
HERE = {"TERM": "xterm-256color"}


def ways(environment: dict[str, str], programs: frozenset[str] = EVERY, size: int = 10) -> list[str]:
    found = routes({**HERE, **environment}, lambda name: name if name in programs else None, size)
    return [way.argv[0] if way.argv else way.kind for way in found]


@pytest.mark.parametrize(
    ("environment", "programs", "expected"),
    [
        ({}, frozenset(), ["terminal", "file"]),
        (
            {"WAYLAND_DISPLAY": "w", "DISPLAY": ":0"},
            EVERY - {"pbcopy"},
            ["wl-copy", "xclip", "xsel", "terminal", "file"],
        ),
        ({"DISPLAY": ":0"}, frozenset({"xsel"}), ["xsel", "terminal", "file"]),
        ({"DISPLAY": ":0"}, frozenset({"wl-copy"}), ["terminal", "file"]),
        ({}, frozenset({"pbcopy"}), ["pbcopy", "terminal", "file"]),
        ({"WSL_DISTRO_NAME": "d"}, frozenset({"clip.exe"}), ["clip.exe", "terminal", "file"]),
        ({"DISPLAY": ":0", "SSH_CONNECTION": "a b"}, EVERY, ["terminal", "file"]),
        ({"DISPLAY": ":0", "SSH_TTY": "/dev/pts/1", "TMUX": "x"}, EVERY, ["tmux", "file"]),
        ({"TMUX": "x"}, frozenset(), ["file"]),
        ({"STY": "x"}, frozenset(), ["file"]),
        ({"TERM": "linux"}, frozenset(), ["file"]),
        ({"TERM_PROGRAM": "Apple_Terminal"}, frozenset({"pbcopy"}), ["pbcopy", "file"]),
    ],
)
def test_the_ways_in_their_order(environment: dict[str, str], programs: frozenset[str], expected: list[str]) -> None:
    assert ways(environment, programs) == expected


def test_a_text_that_a_terminal_would_drop_is_not_sent_to_it() -> None:
    assert ways({}, frozenset(), OSC52_MAX) == ["terminal", "file"]
    assert ways({}, frozenset(), OSC52_MAX + 1) == ["file"]


def tool(folder: Path, name: str, script: str) -> str:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return str(file)


async def sent(tmp_path: Path, text: str, *chosen: Route) -> tuple[str, str]:
    """What was told and what the terminal got."""
    written: list[str] = []
    environment = {"PATH": "/usr/bin:/bin"}
    words = await send(text, (*chosen, Route("file")), environment, written.append, tmp_path / "state" / "copied.txt")
    return words, "".join(written)


async def test_a_program_gets_the_whole_text(tmp_path: Path) -> None:
    text = "中文 line\n" * 50_000
    argv = (tool(tmp_path, "wl-copy", f'cat > "{tmp_path}/got"'),)
    assert await sent(tmp_path, text, Route("program", argv)) == (f"50,000 lines copied by {argv[0]}", "")
    assert (tmp_path / "got").read_text("utf-8") == text


async def test_a_program_that_stays_behind_is_not_waited_for(tmp_path: Path) -> None:
    argv = (tool(tmp_path, "xclip", f'cat > "{tmp_path}/got"; sleep 3 & exit 0'),)
    words, _ = await sent(tmp_path, "a word", Route("program", argv))
    assert words.startswith("6 characters copied by")


@pytest.mark.parametrize("script", ["exit 1", "cat >/dev/null; exit 3", "exec sleep 60"])
async def test_a_way_that_fails_is_not_called_copied(
    tmp_path: Path, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_agent.clipboard.SECONDS", 0.2)
    argv = (tool(tmp_path, "xclip", script),)
    words, written = await sent(tmp_path, "x" * 300_000, Route("program", argv), Route("terminal"))
    assert words == "300,000 characters sent through the terminal (OSC 52); not every terminal takes it"
    assert written == sequence("x" * 300_000)


async def test_the_last_way_is_a_file_for_the_person_alone(tmp_path: Path) -> None:
    missing = Route("program", (str(tmp_path / "gone"),))
    for text in ("first", "second, longer\nlines\n"):
        words, _ = await sent(tmp_path, text, missing)
        file = tmp_path / "state" / "copied.txt"
        assert str(file) in words
        assert "copied " not in words.partition(str(file))[0]
        assert file.read_text() == text
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "state" / "copied.txt").symlink_to(tmp_path / "precious")
    await sent(tmp_path, "text")
    assert (tmp_path / "precious").read_text() == "mine"
    assert (tmp_path / "state" / "copied.txt").read_text() == "text"


async def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("no folder")
    with pytest.raises(OSError, match="state"):
        await sent(tmp_path, "text")


# ------------------------------------------------------------------ the picture of the clipboard

PNG = b"\x89PNG\r\n\x1a\n" + b"picture" * 100


def finds(folder: Path, **scripts: str) -> dict[str, str]:
    """Programs of these names, and an environment in which they are found."""
    for name, script in scripts.items():
        tool(folder, name.replace("_", "-"), script)
    return {"PATH": f"{folder}:/usr/bin:/bin", "WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}


async def taken(tmp_path: Path, environment: dict[str, str], most: int = 10_000) -> Path | None:
    (tmp_path / "png").write_bytes(PNG)
    which = lambda name: shutil.which(name, path=str(tmp_path))  # noqa: E731
    return await picture(environment, which, tmp_path / "pasted", most)


async def test_the_first_program_that_has_a_picture_gives_it_into_a_private_file(tmp_path: Path) -> None:
    environment = finds(tmp_path, wl_paste="exit 1", xclip=f'[ "$4" = image/png ] && cat "{tmp_path}/png"')
    file = await taken(tmp_path, environment)
    assert file is not None
    assert (file.read_bytes(), file.suffix, stat.S_IMODE(file.stat().st_mode)) == (PNG, ".png", 0o600)
    assert await taken(tmp_path, environment) == file  # the same picture is the same file


@pytest.mark.parametrize(
    "script", ["exit 1", "echo some text", "cat PNG; exit 3", "cat PNG PNG PNG", "exec sleep 60", "yes"]
)
async def test_what_is_no_picture_of_a_size_that_can_be_sent_is_none(
    tmp_path: Path, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_agent.clipboard.SECONDS", 0.2)
    environment = finds(tmp_path, wl_paste=script.replace("PNG", f"{tmp_path}/png"))
    assert await taken(tmp_path, environment, most=len(PNG)) is None
    assert not (tmp_path / "pasted").exists()


async def test_over_ssh_no_clipboard_of_this_machine_is_read(tmp_path: Path) -> None:
    environment = finds(tmp_path, wl_paste=f'cat "{tmp_path}/png"')
    assert await taken(tmp_path, {**environment, "SSH_CONNECTION": "a b"}) is None
    assert await taken(tmp_path, environment) is not None

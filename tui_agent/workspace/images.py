"""Pictures that go with a message: named in its text, read from the disk, known by their first bytes."""

from __future__ import annotations

import base64
import os
import re
import stat
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from tui_agent.core.disk import is_file
from tui_agent.core.late import late
from tui_agent.core.types import AgentError, Delta, Image, Model, Request, UserMessage
from tui_agent.workspace.files import sha256
from tui_agent.workspace.receipts import Blobs

MAX_BYTES: Final = 3_750_000
"""Bytes of one picture: 5 MB as base64, the least that vendors take."""
MAX_IMAGES: Final = 10
"""Pictures of one message."""

_ENDING: Final = r"\.(?:png|jpe?g|gif|webp)"
_MENTIONED: Final = late(
    rf"(?:^|(?<=\s))@(?:\"([^\"\n]+{_ENDING})\"|((?:\\.|[^\s\\\"])+{_ENDING}))(?=[,.;:!?)]*(?:\s|$))", re.IGNORECASE
)
_ALONE: Final = late(
    rf"^[ \t]*(?:'((?:/|~/)[^'\n]+{_ENDING})'|\"((?:/|~/)[^\"\n]+{_ENDING})\"|((?:file://|/|~/)(?:\\.|[^\s\\])+{_ENDING}))[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)


def named(text: str) -> list[str]:
    """The picture files that a message names: `@path`, or a path alone on its line as a terminal pastes a dropped file."""
    found = [
        (m.start(), m)
        for sign, pattern in (("@", _MENTIONED), ("/", _ALONE))
        if sign in text
        for m in pattern.finditer(text)
    ]
    names: dict[str, None] = {}
    for _, match in sorted(found, key=lambda pair: pair[0]):
        quoted = next((group for group in match.groups()[:-1] if group), None)
        bare = match.groups()[-1]
        path = quoted or re.sub(r"\\(.)", r"\1", bare)
        names[unquote(path.removeprefix("file://")) if path.startswith("file://") else path] = None
    return list(names)


def dropped(text: str) -> str | None:
    """The picture that a pasted text is the path of, and nothing else, if it is there: so terminals paste a dropped file."""
    text = text.strip()
    return next((name for name in named(text) if is_file(name)), None) if _ALONE.fullmatch(text) else None


def media_type(data: bytes) -> str | None:
    """What a picture is by its first bytes; None for anything but PNG, JPEG, GIF and WebP."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None


def read(names: Iterable[str], root: Path, home: Path) -> list[tuple[Image, bytes]]:
    """The pictures with these names; relative ones below `root`.

    The person named them, so they may lie anywhere.

    Raises:
        AgentError: one cannot be sent; one sentence says which and why.
    """
    pictures = [_read(name, root, home) for name in names]
    if len(pictures) > MAX_IMAGES:
        raise AgentError(f"{len(pictures)} pictures are too many for one message; {MAX_IMAGES} can be sent")
    return pictures


@dataclass(frozen=True, slots=True)
class Pictures:
    """The pictures of a session: their bytes lie beside the log, the history names them by their hash."""

    blobs: Blobs

    def attach(self, names: Iterable[str], root: Path, home: Path, blind: str = "") -> tuple[Image, ...]:
        """Read and keep the pictures with these names. `blind` is the name of a model that takes none.

        Raises:
            AgentError: one of them cannot be sent; one sentence says which and why.
        """
        found = read(names, root, home)
        if found and blind:
            raise AgentError(f"{blind} takes no pictures: choose another with /model, or leave out {found[0][0].name}")
        for image, data in found:
            if fault := self.blobs.put(data):
                raise AgentError(f"the picture {image.name} cannot be kept: {fault}")
        return tuple(image for image, _ in found)

    def stream(self, model: Model, takes: Callable[[], bool | None], request: Request) -> AsyncIterator[Delta]:
        """Stream a reply to a request with the bytes of its pictures put in; a model that takes none gets their names."""
        if any(isinstance(message, UserMessage) and message.images for message in request.messages):
            keep = takes() is not False
            messages = tuple(self._filled(m, keep=keep) if isinstance(m, UserMessage) else m for m in request.messages)
            request = replace(request, messages=messages)
        return model.stream(request)

    def _filled(self, message: UserMessage, *, keep: bool) -> UserMessage:
        sent, words = [], [message.text]
        for image in message.images:
            data = self.blobs.get(image.sha) if keep else None
            if data is None:
                words.append(f"[the picture {image.name} is left out]")
            else:
                sent.append(replace(image, data=base64.b64encode(data).decode()))
        return UserMessage("\n".join(words), tuple(sent))


def _read(name: str, root: Path, home: Path) -> tuple[Image, bytes]:
    path = home / name[2:] if name.startswith("~/") else root / name
    try:
        data = _bytes(path, name)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "no usable name"
        raise AgentError(f"the picture {name} cannot be read: {why}. Without the @ it is sent as text") from None
    kind = media_type(data)
    if kind is None:
        raise AgentError(f"{name} is no PNG, JPEG, GIF or WebP picture, whatever its name says")
    return Image(path.name, kind, sha256(data), len(data)), data


def _bytes(path: Path, name: str) -> bytes:
    """The content of a file of a bounded size; a pipe or a device is never waited for."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode):
            raise AgentError(f"{name} is no file")
        if about.st_size > MAX_BYTES:
            raise AgentError(f"the picture {name} has {about.st_size:,} bytes; at most {MAX_BYTES:,} can be sent")
        with open(fd, "rb", closefd=False) as file:
            return file.read(MAX_BYTES)
    finally:
        os.close(fd)

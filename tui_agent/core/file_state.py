"""What beside its bytes a file was when a change of it was shown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileState:
    """`mode` are its permission bits, `folder` is the device and inode of the folder it is in; None where there is none."""

    mode: int | None = None
    folder: tuple[int, int] | None = None

    def stands(self, now: FileState) -> bool:
        """Whether nothing of it has become another; what was not there then may have come since."""
        return self.mode in {None, now.mode} and self.folder in {None, now.folder}


@dataclass(frozen=True, slots=True)
class Sight:
    """What the model knows of a file since a call: the hash of the bytes that it read or wrote.

    `upto` is the last line that it has read without a gap from line 1; `whole`: it has seen every line uncut. `secret`
    files are never copied.
    """

    path: str
    sha256: str
    upto: int = 0
    whole: bool = False
    secret: bool = False

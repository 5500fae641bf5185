"""What beside its bytes a file was when a change of it was shown."""

from __future__ import annotations

from dataclasses import dataclass, replace


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

    `lines` are the runs of lines that it has read uncut, (first, last) from 1, in order; `whole`: it has seen every
    line uncut. `secret` files are never copied.
    """

    path: str
    sha256: str
    lines: tuple[tuple[int, int], ...] = ()
    whole: bool = False
    secret: bool = False

    @property
    def upto(self) -> int:
        """The last line that was read without a gap from line 1, 0 for none."""
        return self.lines[0][1] if self.lines and self.lines[0][0] == 1 else 0

    def beside(self, other: Sight | None) -> Sight:
        """This and what was known of the same bytes before, whatever the order in which two reads ended."""
        if other is None or other.sha256 != self.sha256:
            return self
        return replace(self, lines=_joined(*self.lines, *other.lines), whole=self.whole or other.whole)


def _joined(*runs: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    """Runs of lines in order, those that touch as one."""
    out: list[tuple[int, int]] = []
    for first, last in sorted(runs):
        if out and first <= out[-1][1] + 1:
            out[-1] = out[-1][0], max(out[-1][1], last)
        else:
            out.append((first, last))
    return tuple(out)

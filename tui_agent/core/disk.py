"""Reading files that nobody vouches for; folders and small files for the person alone.

A name in a folder of somebody else may be a pipe that nobody fills, a device without end, or a link to one.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def there(path: str | Path) -> bool:
    """Whether something stands there. These four say no where a folder above may not be entered; those of pathlib raise."""
    return os.path.exists(path)  # noqa: PTH110


def is_folder(path: str | Path) -> bool:
    """Whether it is a folder, or a link to one."""
    return os.path.isdir(path)  # noqa: PTH112


def is_file(path: str | Path) -> bool:
    """Whether it is an ordinary file, or a link to one."""
    return os.path.isfile(path)  # noqa: PTH113


def is_link(path: str | Path) -> bool:
    """Whether it is a link, wherever that leads."""
    return os.path.islink(path)  # noqa: PTH114


def from_home(name: str) -> Path:
    """A path that may begin with `~`; one of a person whom nobody knows stays as it is, where pathlib raises."""
    return Path(os.path.expanduser(name))  # noqa: PTH111


def ordinary(file: str | Path, limit: int = -1, *, links: bool = True) -> bytes:
    """The first `limit` bytes of an ordinary file, -1 for all; `links`: a link to one counts as well.

    Raises:
        OSError: there is none, it is something else, or it cannot be read.
        ValueError: no file can have this name.
    """
    fd = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if links else os.O_NOFOLLOW))
    kind = os.fstat(fd).st_mode  # of what was opened, so that nothing can be swapped
    if not stat.S_ISREG(kind):
        os.close(fd)
        code = errno.EISDIR if stat.S_ISDIR(kind) else errno.EINVAL
        raise OSError(code, os.strerror(code) if stat.S_ISDIR(kind) else "it is no ordinary file", str(file))
    with os.fdopen(fd, "rb") as opened:
        return opened.read(limit)


def beginning(file: str | Path, limit: int, *, links: bool = True) -> bytes | None:
    """As `ordinary`; None when it cannot be had."""
    try:
        return ordinary(file, limit, links=links)
    except (OSError, ValueError):
        return None


def private_folder(folder: Path) -> None:
    """Make a folder, with those above it that are missing, that only its owner may enter; one that is there stays as it is.

    Raises:
        OSError: it cannot be made, or something else stands there.
    """
    for missing in reversed([one for one in (folder, *folder.parents) if not one.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))


def replaced(file: Path, text: str) -> None:
    """Write a file so that it is the old or the new one whenever we die; a loss of power is not looked after.

    Raises:
        OSError: it cannot be written; the old one is there.
    """
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(fd, "w", encoding="utf-8", errors="surrogatepass") as out:
            out.write(text)
        temporary.replace(file)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise

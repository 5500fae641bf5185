"""Build the one-file program: `python packaging/zipapp.py TARGET`, with the dependencies that are installed here.

They are all pure Python, so one file is for every system and every Python from 3.11 on. It is the same byte for byte
whenever the same is in it.
"""

from __future__ import annotations

import hashlib
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = "tui-agent"
SHEBANG = b"#!/usr/bin/env python3\n"
_REQUIREMENT = re.compile(r"\s*([\w.-]+)\s*(?:\[([^\]]*)\])?[^;]*(?:;(.*))?")


class BuildError(Exception):
    """Something that belongs into the file is missing, or cannot be in it."""


def needed(name: str, extras: frozenset[str] = frozenset()) -> Iterator[tuple[str, frozenset[str]]]:
    """The direct requirements of an installed distribution, with their own extras; those for other systems are not."""
    for line in metadata.requires(name) or []:
        found = _REQUIREMENT.match(line)
        if found is None:
            raise BuildError(f"{name} requires {line!r}, which cannot be read")
        marker = found[3] or ""
        extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)", marker)
        if extra and extra[1] not in extras:
            continue
        if marker and not extra and not _is_here(found[1]):
            continue
        yield found[1], frozenset(part.strip() for part in (found[2] or "").split(",") if part.strip())


def _is_here(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def dependencies() -> list[str]:
    """Every distribution that the product needs, by its normal name."""
    seen: dict[str, frozenset[str]] = {}
    open_ = list(needed(NAME))
    while open_:
        name, extras = open_.pop()
        normal = re.sub(r"[-_.]+", "-", name).lower()
        if normal in seen and extras <= seen[normal]:
            continue
        seen[normal] = seen.get(normal, frozenset()) | extras
        open_ += needed(name, seen[normal])
    return sorted(seen)


def contents() -> dict[str, bytes]:
    """Every file of the archive but the first, by its path in it.

    Raises:
        BuildError: a dependency is not installed, or holds what only one system can load.
    """
    files: dict[str, bytes] = {}
    for path in sorted((ROOT / "tui_agent").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            files[path.relative_to(ROOT).as_posix()] = path.read_bytes()
    for path in sorted((ROOT / "styles").iterdir()):
        files[f"tui_agent/styles/{path.name}"] = path.read_bytes()
    files["tui_agent/config.example.toml"] = (ROOT / "config.example.toml").read_bytes()
    files["LICENSE"] = (ROOT / "LICENSE").read_bytes()
    for name in dependencies():
        for file in metadata.files(name) or []:
            if (
                ".." in file.parts
                or "__pycache__" in file.parts
                or file.name in {"RECORD", "direct_url.json", "INSTALLER"}
            ):
                continue
            if file.suffix in {".so", ".pyd", ".dylib"}:
                raise BuildError(f"{name} holds {file}, which only one system can load")
            files[file.as_posix()] = Path(str(file.locate())).read_bytes()
    return files


def build(target: Path, files: Mapping[str, bytes]) -> None:
    """Write the archive."""
    digest = hashlib.sha256()
    for name, data in sorted(files.items()):
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    main = (ROOT / "packaging/__main__.py").read_text(encoding="utf-8").replace("@BUILD@", digest.hexdigest()[:20])
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as out:
        out.write(SHEBANG)
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name, data in [("__main__.py", main.encode()), *sorted(files.items())]:
                info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
                info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
                archive.writestr(info, data)
    target.chmod(0o755)


if __name__ == "__main__":
    try:
        build(Path(sys.argv[1]), contents())
    except BuildError as error:
        sys.exit(f"zipapp: {error}")

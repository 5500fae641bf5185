"""Confines a command to the workspace, as far as this machine can.

Three kinds, tried in this order by `detect`: `bwrap` covers all that is promised, `landlock` a part (see there),
`none` nothing. A sandbox is data: `Sandbox.wrap` turns the words of a command into the words that run it confined,
and `Sandbox.gaps` says in words what still gets through. What may not change inside the workspace: see `protected`.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from tui_agent.workspace import landlock
from tui_agent.workspace.protected import mountable
from tui_agent.workspace.runner import clean_path, run

Kind: TypeAlias = Literal["bwrap", "landlock", "none"]

COVERED = (Path("/tmp"), Path("/run"))  # noqa: S108 - the places themselves
"""Where bwrap shows a command only its own files."""

_NAME_SERVERS = "/etc/resolv.conf"
"""Often a link into /run."""
_PROBE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Sandbox:
    """One way to confine commands. `program` is the path of bwrap; `reason` says why nothing better is used."""

    kind: Kind
    program: str = ""
    reason: str = ""

    def wrap(
        self,
        argv: Sequence[str],
        *,
        workspace: Path,
        writable: Iterable[Path] = (),
        needed: Iterable[Path] = (),
        hidden: Iterable[Path] = (),
        network: bool = False,
    ) -> list[str]:
        """Return the words that run `argv` confined: writes only in the workspace and in `writable`, which must exist.

        What is `needed` can be read although it lies where only the command's own files would be seen (/tmp). What is
        `hidden` cannot be read (bwrap). `network` stays off unless asked for. Under landlock there is no private
        /tmp: pass a folder as `writable` and as TMPDIR.
        """
        folders = [str(path) for path in (workspace, *writable)]
        match self.kind:
            case "bwrap":
                return [self.program, *_bwrap_options(workspace, folders, needed, hidden, network=network), "--", *argv]
            case "landlock":
                opened = [landlock.NETWORK] if network else []
                return [sys.executable, "-I", "-S", landlock.__file__, *opened, *folders, "--", *argv]
            case "none":
                return list(argv)

    @property
    def gaps(self) -> tuple[str, ...]:
        """What this sandbox does not stop, for `doctor`."""
        reading = "reading files outside the workspace"
        sockets = "sockets with a path (docker, ssh-agent) outside /tmp and /run"
        match self.kind:
            case "bwrap":
                return (reading, sockets, "abstract sockets of other programs once the network was approved")
            case "landlock":
                version = landlock.abi()
                return (
                    reading,
                    "sockets with a path (docker, ssh-agent)",
                    "UDP",
                    "changing modes, owners and times of files outside the workspace",
                    *(("emptying files outside the workspace",) if version < landlock.ABI_TRUNCATE else ()),
                    *(("TCP",) if version < landlock.ABI_TCP else ()),
                    *(("signals and abstract sockets to other processes",) if version < landlock.ABI_SCOPE else ()),
                )
            case "none":
                return ("everything the person may do",)


def _bwrap_options(
    workspace: Path, folders: list[str], needed: Iterable[Path], hidden: Iterable[Path], *, network: bool
) -> Iterator[str]:
    """Whole disk read-only, given folders writable, own /tmp, processes and network; ends with its parent."""
    yield from ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    for path in COVERED:
        if path.is_dir():
            yield from ("--tmpfs", str(path))  # in /run, the sockets of docker, dbus, systemd: ways out, network or not
    if not network:
        yield "--unshare-net"
    for path in (*needed, *([Path(os.path.realpath(_NAME_SERVERS))] if network else [])):
        if any(path.is_relative_to(place) and path != place for place in COVERED) and path.exists():
            yield from ("--ro-bind", str(path), str(path))
    for folder in folders:
        yield from ("--bind", folder, folder)
    if (workspace / ".git").is_dir():
        yield from ("--bind", str(workspace / ".git"), str(workspace / ".git"))  # a mount cannot be moved away
    for path in mountable(workspace):
        yield from ("--ro-bind", str(path), str(path))
    for path in hidden:
        if path.is_dir():
            yield from ("--tmpfs", str(path))
        elif path.exists():
            yield from ("--ro-bind", os.devnull, str(path))
    yield from ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
    yield from ("--die-with-parent", "--new-session", "--chdir", str(workspace))
    if os.geteuid() == 0:
        yield from ("--unshare-user", "--cap-drop", "ALL")


async def detect(*, path: str | None = None, without: Path | None = None) -> Sandbox:
    """Return the best sandbox in which `true` really runs here.

    `path` is searched for bwrap, by default PATH; what lies in the folder `without` is never taken for it, nor started.
    """
    reasons = []
    places = clean_path(os.environ.get("PATH"), without)
    if program := shutil.which("bwrap", path=places if path is None else path):
        candidate = Sandbox("bwrap", program)
        if not (problem := await _problem(candidate, places)):
            return candidate
        reasons.append(f"bwrap does not work here ({problem})")
    else:
        reasons.append("bwrap is not installed")
    if version := landlock.abi():
        candidate = Sandbox("landlock", reason="; ".join(reasons))
        if not (problem := await _problem(candidate, places)):
            return candidate
        reasons.append(f"Landlock (version {version}) does not work here ({problem})")
    else:
        reasons.append("the kernel has no Landlock")
    return Sandbox("none", reason="; ".join(reasons))


async def _problem(candidate: Sandbox, path: str) -> str:
    """Run `true` in a sandbox; returns what went wrong, or nothing."""
    root = Path("/dev")  # any folder will do: nothing is written
    words = candidate.wrap(["true"], workspace=root)
    result = await run(words, cwd=root, timeout=_PROBE_SECONDS, env={"PATH": path})
    if result.exit_code == 0:
        return ""
    return result.error or result.output.strip() or f"exit code {result.exit_code}"

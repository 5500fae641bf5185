"""Runs what a model asks for, and the check, in the best sandbox of this machine: one object for a whole session.

The sandbox is looked for once, when the first command is prepared. Around each confined command the protected names
of the workspace are compared and put back. What a sandbox breaks is recognised, and the person may let that one
command run again without it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, SupportsFloat, TypeAlias

from tui_agent.core.stage import ended
from tui_agent.core.types import Emit
from tui_agent.core.wrappers import base_name
from tui_agent.workspace.blocking import to_the_end
from tui_agent.workspace.git_view import UnfitError
from tui_agent.workspace.live import UNLIMITED
from tui_agent.workspace.protected import Remembered, remember, restore
from tui_agent.workspace.runner import CommandResult, missing, not_shown, prepared, run, run_prepared
from tui_agent.workspace.running import NOT_SANDBOXED
from tui_agent.workspace.sandbox import COVERED, Sandbox, detect

Choice: TypeAlias = Literal["auto", "bwrap", "landlock", "none"]

Offer: TypeAlias = Callable[[tuple[str, ...], float, str], Awaitable[bool]]
"""Asks whether a command may run once without the sandbox: its words, its time limit, and why it seems to need that."""

CACHES: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "cargo": (("CARGO_HOME", ".cargo", "registry"), ("CARGO_HOME", ".cargo", "git")),
    "go": (("GOCACHE", ".cache/go-build", ""), ("GOMODCACHE", "go/pkg/mod", "")),
    "npm": (("npm_config_cache", ".npm", "_cacache"), ("npm_config_cache", ".npm", "_logs")),
    "uv": (("UV_CACHE_DIR", ".cache/uv", ""),),
    "pip": (("PIP_CACHE_DIR", ".cache/pip", ""),),
}
"""What a program writes outside of the workspace: a variable, its default below the home folder, a part of that."""

_SIGNS = re.compile(
    r"read-only file system|permission denied|operation not permitted|network is unreachable|connection refused"
    r"|could not resolve|name or service not known|temporary failure in name resolution|ENOTFOUND|EAI_AGAIN"
    r"|\bE(ROFS|ACCES|PERM|NETUNREACH)\b",
    re.IGNORECASE,
)
_LOOKED_AT = 20_000
"""Characters at the end of an output in which a sign is looked for."""
_NAMED = 8
"""Changed names that a warning tells."""
_NAMES = {"bwrap": "bwrap", "landlock": "Landlock"}


class Confined:
    """Commands of one workspace, confined; implements `running.Commands`.

    `environment` gives the variables of a command. `hidden` are folders that no command may look into. `choice`
    overrides what is found. `offer` is asked when a command fails in a way that looks like the sandbox. `free` says
    which commands the person lets run without it, always.
    """

    def __init__(
        self,
        root: Path,
        environment: Callable[[], Mapping[str, str]],
        *,
        hidden: Iterable[Path] = (),
        choice: Choice = "auto",
        offer: Offer | None = None,
        free: Callable[[tuple[str, ...]], bool] = lambda _: False,
    ) -> None:
        self.root = root
        self._environment = environment
        self._hidden = [path for path in map(_real, hidden) if not root.is_relative_to(path)]
        self._choice = choice
        self._offer = offer
        self._free = free
        self._refused: set[tuple[str, ...]] = set()
        self._warnings: list[str] = []
        self._finding = asyncio.Lock()
        self._found: Sandbox | None = None
        self._guard = threading.Lock()
        self._running = 0
        self._before: Remembered

    # -------------------------------------------------------------- which one

    async def ready(self) -> Sandbox:
        """The sandbox of this machine, looked for once; takes some milliseconds the first time."""
        async with self._finding:
            if self._found is None:
                self._found = await choose(self._choice, self.root)
            return self._found

    @property
    def sandbox(self) -> Sandbox | None:
        """What was found, None when nobody looked yet."""
        return self._found

    @property
    def working(self) -> bool:
        """Whether commands run in a sandbox that works; False until `ready` was awaited."""
        return self._found is not None and self._found.kind != "none"

    def confines(self, argv: tuple[str, ...]) -> bool:
        """Whether this command would run in a sandbox that works."""
        return self.working and not self._free(argv)

    def where(self, argv: tuple[str, ...], *, network: bool = False) -> str:
        """Where this command would run, in words for the person who is asked."""
        if self._found is None or not self.confines(argv):
            return NOT_SANDBOXED
        return f"sandbox {_NAMES[self._found.kind]}{', with network' if network else ''}"

    # -------------------------------------------------------------- run

    async def __call__(
        self, argv: tuple[str, ...], *, cwd: Path, timeout: SupportsFloat, emit: Emit | None, network: bool = False
    ) -> CommandResult:
        """Run a program confined; once more without the sandbox if it seems to need that and the person says so."""
        box = await self.ready()
        if not self.confines(argv):
            return replace(await self.plain(argv, cwd=cwd, timeout=timeout, emit=emit), sandbox="none")
        try:
            result = await self._run(box, argv, cwd, timeout, emit, network=network)
        except UnfitError as error:
            return replace(not_shown(error), sandbox=box.kind)
        if not (sign := sign_of_sandbox(result)):
            return result
        waited_for = float(timeout) < UNLIMITED
        if self._offer is not None and argv not in self._refused and waited_for:
            if await self._offer(argv, float(timeout), sign):
                again = await self.plain(argv, cwd=cwd, timeout=timeout, emit=emit)
                remark = "it failed in the sandbox and was run again without it, as the person allowed"
                return replace(again, sandbox="none", remarks=(remark,), warnings=result.warnings)
            self._refused.add(argv)
        limits = "writing only in the workspace" + ("" if network else ", without network")
        remark = f"it ran in a sandbox, {limits}; that may be why it failed"
        return replace(result, remarks=(*result.remarks, remark))

    async def plain(
        self, argv: tuple[str, ...], *, cwd: Path, timeout: SupportsFloat, emit: Emit | None = None
    ) -> CommandResult:
        """Run a program in no sandbox."""
        return await run(argv, cwd=cwd, timeout=timeout, emit=emit, env=self._environment())

    async def _run(
        self,
        box: Sandbox,
        argv: tuple[str, ...],
        cwd: Path,
        timeout: SupportsFloat,
        emit: Emit | None,
        *,
        network: bool,
    ) -> CommandResult:
        refused = CommandResult(None, "", 0.0, sandbox=box.kind)
        with prepared(argv, cwd, self._environment()) as view:
            env = view.variables
            if why := missing(argv[0], cwd, env):
                return replace(refused, error=why)
            try:
                await self._hold(box)
            except OSError as error:
                return replace(refused, error=f"What no command may change cannot be looked after: {error}.")
            try:
                with _temporary(box) as (folder, env["TMPDIR"]):
                    words = box.wrap(
                        argv,
                        workspace=self.root,
                        writable=[*folder, *caches(argv, env)],
                        needed=[*view.readable, *needed(argv, env, self.root)],
                        hidden=self._hidden,
                        network=network,
                    )
                    result = await run_prepared(words, cwd=cwd, timeout=timeout, emit=emit, env=env)
            finally:
                # in a thread: a command may leave much there; however this ends, it must happen
                await to_the_end(lambda: self._put_back(box))
        warnings, self._warnings = tuple(self._warnings), []
        result = _not_started(box, argv, result)
        return replace(result, sandbox=box.kind, remarks=view.remarks, warnings=warnings)

    async def _hold(self, box: Sandbox) -> None:
        """Begin to look after what is protected; whoever comes back from here calls `_put_back` in the end."""
        task = asyncio.ensure_future(asyncio.to_thread(self._remember))
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            await ended(task)
            if task.exception() is None:
                await to_the_end(lambda: self._put_back(box))
            raise

    def _remember(self) -> None:
        """Hold what is protected; beside another command, what stood there before that: it may have been at work since."""
        with self._guard:
            if not self._running:
                self._before = remember(self.root)
            self._running += 1

    def _put_back(self, box: Sandbox) -> None:
        """Restore the protected names; what that showed is told with the result, or with the next one."""
        with self._guard:
            self._running -= 1
            found = restore(self.root, self._before, mounted=box.kind == "bwrap")
            self._before = found.now
        if found.changed:
            told = [f"{name} (kept as {kept})" if kept else name for name, kept in found.changed.items()]
            self._warnings.append(f"not allowed, and put back as it was: {_some(told)}")
        if found.faults:
            told = [*dict.fromkeys(map(str, found.faults))]
            self._warnings.append(
                f"careful: the command changed protected files that cannot be put back: {_some(told)}"
            )
        if found.unseen:
            self._warnings.append(
                "careful: there are too many folders now to see whether a repository in one of them was changed"
            )
        if found.lost:
            self._warnings.append(f"careful: the command deleted what cannot be put back: {_some(found.lost)}")


def _some(told: Sequence[str]) -> str:
    more = f" and {len(told) - _NAMED} more" if len(told) > _NAMED else ""
    return f"{', '.join(told[:_NAMED])}{more}"


async def choose(choice: Choice, without: Path | None = None) -> Sandbox:
    """The sandbox that a person's choice gives on this machine; one that does not work here is none.

    `without` is a folder none of whose programs is started for that.
    """
    if choice == "none":
        return Sandbox("none", reason="the configuration says so")
    found = await detect(path=os.devnull if choice == "landlock" else None, without=without)
    if choice in {"auto", found.kind}:
        return found
    return Sandbox("none", reason=f"the configuration asks for {choice}; {found.reason or f'{found.kind} was found'}")


def sign_of_sandbox(result: CommandResult) -> str:
    """The words in the output of a failed command that a sandbox may have caused, "" when there are none."""
    if result.exit_code in {0, None} or result.error is not None:
        return ""
    found = _SIGNS.search(result.output, max(0, len(result.output) - _LOOKED_AT))
    return found[0] if found else ""


def caches(argv: tuple[str, ...], env: Mapping[str, str]) -> list[Path]:
    """The folders outside the workspace that this program must write to, made where they do not exist."""
    home = Path(env.get("HOME") or "/nowhere")
    found = []
    for variable, default, part in CACHES.get(base_name(argv[0]), ()):
        path = Path(env.get(variable) or home / default) / part
        with contextlib.suppress(OSError):  # what cannot be made is not written to
            path.mkdir(parents=True, exist_ok=True)
            if not home.is_relative_to(real := _real(path)):
                found.append(real)
    return found


def needed(argv: tuple[str, ...], env: Mapping[str, str], root: Path) -> list[Path]:
    """What a command must be able to reach although it lies below /tmp or /run: its program, interpreters, home.

    Also the ssh agent, where the person passes its variable on.
    """
    places = [sys.prefix, sys.base_prefix, *(env.get(name, "") for name in ("VIRTUAL_ENV", "HOME", "SSH_AUTH_SOCK"))]
    places += env.get("PATH", "").split(os.pathsep)
    if program := shutil.which(argv[0], path=env.get("PATH")) if "/" not in argv[0] else str(root / argv[0]):
        places += _homes_of(Path(program))
    paths = dict.fromkeys(path for place in places if place for path in (Path(place), _real(Path(place))))
    covered = [path for path in paths if path.is_absolute() and any(path.is_relative_to(c) for c in COVERED)]
    return [path for path in covered if path not in COVERED and not path.is_relative_to(root)]


def _homes_of(program: Path) -> Iterator[str]:
    """The folders that belong to a program, along its links: of `x/bin/python` it is `x`."""
    for _ in range(10):
        folder = program.parent
        yield str(folder.parent if folder.name == "bin" and folder.parent not in COVERED else folder)
        if not program.is_symlink():
            return
        program = folder / program.readlink()


@contextlib.contextmanager
def _temporary(box: Sandbox) -> Iterator[tuple[list[Path], str]]:
    """A private folder for temporary files: what must be made writable for it, and its name for the command."""
    if box.kind == "bwrap":
        yield [], str(COVERED[0])
        return
    with tempfile.TemporaryDirectory(prefix="tui-agent-", ignore_cleanup_errors=True) as folder:
        yield [Path(folder)], folder


def _not_started(box: Sandbox, argv: tuple[str, ...], result: CommandResult) -> CommandResult:
    """The same result with an error in place of what the sandbox's own program says when it starts nothing."""
    said = result.output.strip()
    if "\n" in said:
        return result
    why = ""
    match box.kind, result.exit_code:
        case "bwrap", 1 if said.startswith("bwrap: "):
            words = said.removeprefix("bwrap: ")
            rest = words.removeprefix(f"execvp {argv[0]}: ")
            why = (
                f"The sandbox cannot be set up: {words}."
                if rest == words
                else f"{argv[0]!r} cannot be started: {rest}."
            )
        case "landlock", 126 | 127 if said.startswith((f"{argv[0]} cannot be", "the sandbox cannot be set up: ")):
            why = f"{said}."
    return replace(result, exit_code=None, output="", error=why) if why else result


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))

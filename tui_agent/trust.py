"""Which folders the person trusts, and with which of the things that those want to add.

Trust is a real path and a hash per entry (`wants`). A changed entry is off until it is accepted again, with its
difference shown; the others stay on. Before the answer nothing of the folder counts and no program runs there.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tui_agent.answers import AnswerFile
from tui_agent.checks import CheckStore
from tui_agent.config import Loaded, Settings, load, read_layer
from tui_agent.core.servers import ServerConfig, of_project
from tui_agent.core.types import AgentError
from tui_agent.wants import CHECK, CONFIG, FILES, MCP, Want, wants
from tui_agent.words import Words
from tui_agent.workspace.receipts import Blobs


@dataclass(frozen=True, slots=True)
class Trust:
    """How the person stands to one folder.

    `entries` maps what counts to its file. `changed` names what is neither accepted as it is now nor declined.
    `check` is the check command that the person named, or accepted of the folder's own file.
    """

    root: Path
    trusted: bool = False
    entries: Mapping[str, Path] = field(default_factory=dict)
    changed: tuple[str, ...] = ()
    asked: bool = False
    """True when the person has answered for this folder before, either way."""
    check: tuple[str, ...] | None = None
    config: bytes | None = None
    """The accepted bytes of the project's configuration."""
    servers: bytes | None = None
    """The accepted bytes of the folder's MCP servers."""
    words: tuple[Words, ...] = ()
    """The instructions, skills and commands of the folder that count, the nearest last."""

    def settings(self, user_file: Path) -> Loaded:
        """The person's configuration with what counts of this folder's."""
        found = load(user_file, self.entries.get(CONFIG), self.config)
        return replace(found, settings=self.applied_to(found.settings))

    def applied_to(self, settings: Settings) -> Settings:
        """The settings with the accepted check and servers of this folder, unless the person's own file names others."""
        if self.check is not None and str(self.root) not in settings.checks:
            settings = replace(settings, checks={**settings.checks, str(self.root): self.check})
        if self.servers is not None:
            theirs = project_servers(self.servers, self.root / FILES[MCP])
            settings = replace(settings, servers={**theirs, **settings.servers})
        return settings


def may_be_trusted(root: Path, home: Path) -> bool:
    """The home folder, its parents and `/` are too large a thing to trust."""
    real = Path(os.path.realpath(root))
    return real not in {Path(os.path.realpath(home)), *Path(os.path.realpath(home)).parents}


@dataclass(frozen=True, slots=True)
class TrustStore:
    """The files that keep the answers: `file` for folders, `checks.toml` and copies of what was accepted beside it."""

    file: Path

    @property
    def checks(self) -> CheckStore:
        """The accepted check commands."""
        return CheckStore(self.file.with_name("checks.toml"))

    @property
    def _folders(self) -> AnswerFile:
        return AnswerFile(self.file, "folders")

    @property
    def _copies(self) -> Blobs:
        return Blobs(self.file.with_name("accepted"))

    def problem(self) -> str | None:
        """Why a file cannot be used, if one cannot."""
        return self._folders.problem() or self.checks.problem()

    def look(self, root: Path) -> Trust:
        """How the person stands to this folder now."""
        real = Path(os.path.realpath(root))
        answer = self._folders.get(real)
        if answer is None:
            return Trust(real)
        accepted, declined = (_table(answer.get(name)) for name in ("entries", "declined"))
        trusted = answer.get("trusted") is True
        today = {want.name: want for want in wants(real)}
        same = {name for name, want in today.items() if accepted.get(name) == want.digest}
        open_ = [n for n, want in today.items() if n not in same and declined.get(n) != want.digest]
        counts = same if trusted else {name for name in same if today[name].words}
        return Trust(
            real,
            trusted,
            {name: real / want.path for name, want in today.items() if name in counts and name != CHECK},
            tuple(sorted(open_)) if trusted else (),
            asked=True,
            check=self._check(real, today[CHECK] if CHECK in same else None) if trusted else None,
            config=today[CONFIG].data if CONFIG in counts else None,
            servers=today[MCP].data if MCP in counts else None,
            words=tuple(want.words for name, want in today.items() if want.words and name in counts),
        )

    def _check(self, real: Path, project: Want | None) -> tuple[str, ...] | None:
        """The person's own check, else the one of the folder's file that they accepted as it is now."""
        if self.checks.problem():
            return None
        known = self.checks.look(real)
        if known is not None and known.accepted and known.source == "person":
            return known.argv
        return _words(project) if project else None

    def accepted(self, root: Path, name: str) -> bytes | None:
        """The bytes of an entry as they were accepted, for its difference; None when they are not known."""
        answer = self._folders.get(root) or {}
        digest = _table(answer.get("entries")).get(name)
        return self._copies.get(digest) if isinstance(digest, str) and digest.isalnum() else None

    def answer(
        self,
        root: Path,
        *,
        trusted: bool,
        shown: Iterable[Want] | None = None,
        accept: Iterable[str] | None = None,
        check: tuple[str, ...] | None = None,
    ) -> Trust:
        """Remember an answer. Of the entries that were `shown` (all of now), those named in `accept` count (all when trusted).

        Entries that were not shown keep what was said of them. `check` is a check command of the person's own.

        Raises:
            AgentError: the answer could not be saved; the file is as it was.
        """
        real = Path(os.path.realpath(root))
        if problem := self.problem():
            raise AgentError(problem)
        asked = tuple(wants(real) if shown is None else shown)
        names = frozenset((want.name for want in asked if trusted) if accept is None else accept)
        old = self._folders.get(real) or {}
        keep = shown is not None and trusted
        entries, declined = (dict(_table(old.get(name))) if keep else {} for name in ("entries", "declined"))
        for want in asked:
            (entries if want.name in names else declined)[want.name] = want.digest
            (declined if want.name in names else entries).pop(want.name, None)
        record = {"trusted": trusted, "at": int(time.time()), "entries": entries, "declined": declined}
        try:
            for want in asked:
                if want.name in names:
                    self._copies.put(want.data)  # for the difference, should it change; without one it is shown whole
        except OSError as error:
            raise AgentError(f"the answer could not be saved in {self.file}: {error.strerror}") from error
        self._save_check(real, next((want for want in asked if want.name == CHECK and CHECK in names), None), check)
        self._folders.put(real, record)
        return self.look(root)

    def _save_check(self, real: Path, project: Want | None, own: tuple[str, ...] | None) -> None:
        known = self.checks.look(real)
        if own is not None:
            self.checks.answer(real, own, accepted=True, source="person")
        elif project is not None and not (known is not None and known.accepted and known.source == "person"):
            self.checks.answer(real, _words(project), accepted=True, source="project")


def project_servers(data: bytes, source: Path) -> Mapping[str, ServerConfig]:
    """The servers of a folder's own file; of one that cannot be used there are none, as its entry says."""
    try:
        return of_project(data, source)
    except ValueError:
        return {}


_NAMED = 3
"""Files of words that are named one by one where they are off."""


def _words(check: Want) -> tuple[str, ...]:
    import shlex  # noqa: PLC0415 - few folders name a check

    return tuple(shlex.split(check.data.decode()))


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def not_in_force(store: TrustStore, root: Path, user_file: Path) -> list[str]:
    """What of this folder has no effect now and why, one sentence an entry, with the keys that it names."""
    trust = store.look(root)
    off = [
        want
        for want in wants(trust.root, read_layer(user_file)[0])
        if not (want.name in trust.entries or (want.name == CHECK and trust.check))
        and (not trust.trusted or want.name in trust.changed)  # else declined: the person has seen it
    ]
    return [_off(trust, want) for want in off if not want.words] + _words_off(trust, [w for w in off if w.words])


def _off(trust: Trust, want: Want) -> str:
    why = f"the project's {want.name} changed since you trusted it" if trust.trusted else "this folder is not trusted"
    what = f" ({'; '.join(want.lines)})" if want.lines else ""
    return f"{why}, so {want.path}{what} is off. Look at it, then: tui-agent trust"


def _words_off(trust: Trust, off: list[Want]) -> list[str]:
    if not off:
        return []
    names = ", ".join(want.path for want in off[:_NAMED]) + (f" and {len(off) - _NAMED} more" * (len(off) > _NAMED))
    why = "is new or has changed since you trusted this folder" if trust.trusted else "waits for your trust"
    return [f"{names} {why}: not sent to the model. Look at it, then: tui-agent trust"]

"""Which folders the person trusts, and with which of the things that those want to add.

Trust is a real path and a hash per entry (`wants`). A changed entry is off until it is accepted again, with its
difference shown; the others stay on. Before the answer nothing of the folder counts and no program runs there.
"""

from __future__ import annotations

import os
import time
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tui_agent.config import Loaded, Settings, load, read_layer, write_private
from tui_agent.core.types import AgentError
from tui_agent.wants import CHECK, CONFIG, FILES, INSTRUCTIONS, Want, project_check, wants
from tui_agent.workspace.receipts import Blobs

CHECK_TIMEOUT = 600
"""Seconds that an accepted check may take."""
_PERSON, _PROJECT = "person", "project"


@dataclass(frozen=True, slots=True)
class Trust:
    """How the person stands to one folder.

    `entries` maps what counts to its file. `changed` names what is neither accepted as it is now nor declined.
    `check` is the accepted check command.
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

    def settings(self, user_file: Path) -> Loaded:
        """The person's configuration with what counts of this folder's."""
        found = load(user_file, self.entries.get(CONFIG), self.config)
        return replace(found, settings=self.applied_to(found.settings))

    def applied_to(self, settings: Settings) -> Settings:
        """The settings with the accepted check of this folder, unless the person's own file names one."""
        if self.check is None or str(self.root) in settings.checks:
            return settings
        return replace(settings, checks={**settings.checks, str(self.root): self.check})


def may_be_trusted(root: Path, home: Path) -> bool:
    """The home folder, its parents and `/` are too large a thing to trust."""
    real = Path(os.path.realpath(root))
    return real not in {Path(os.path.realpath(home)), *Path(os.path.realpath(home)).parents}


def _load(file: Path, table: str) -> tuple[dict[str, Any], str | None]:
    """One of our files, and why it cannot be used; one that cannot be reads as "nothing is trusted"."""
    if file.is_symlink():
        return {}, f"{file} is a link; nothing is trusted"
    try:
        answers = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}, None
    except (OSError, ValueError) as error:
        return {}, f"{file} cannot be used ({error}); nothing is trusted"
    if not isinstance(answers.get(table, {}), dict):
        return {}, f"{file} cannot be used ({table} is no table); nothing is trusted"
    return answers, None


@dataclass(frozen=True, slots=True)
class TrustStore:
    """The files that keep the answers: `file` for folders, `checks.toml` and copies of what was accepted beside it."""

    file: Path

    @property
    def checks(self) -> Path:
        """The accepted check commands: real path to argv, hash, time."""
        return self.file.with_name("checks.toml")

    @property
    def _copies(self) -> Blobs:
        return Blobs(self.file.with_name("accepted"))

    def problem(self) -> str | None:
        """Why a file cannot be used, if one cannot."""
        return _load(self.file, "folders")[1] or _load(self.checks, "checks")[1]

    def _answer(self, real: Path) -> dict[str, Any] | None:
        answer = _load(self.file, "folders")[0].get("folders", {}).get(str(real))
        return answer if isinstance(answer, dict) else None

    def look(self, root: Path) -> Trust:
        """How the person stands to this folder now."""
        real = Path(os.path.realpath(root))
        answer = self._answer(real)
        if answer is None:
            return Trust(real)
        accepted, declined = (_table(answer.get(name)) for name in ("entries", "declined"))
        trusted = answer.get("trusted") is True
        today = {want.name: want for want in wants(real)}
        same = {name for name, want in today.items() if accepted.get(name) == want.digest}
        open_ = [n for n, want in today.items() if n not in same and declined.get(n) != want.digest]
        counts = same if trusted else same & INSTRUCTIONS
        return Trust(
            real,
            trusted,
            {name: real / FILES[name] for name in today if name in counts and name in FILES},
            tuple(sorted(open_)) if trusted else (),
            asked=True,
            check=self._check(real, CHECK in same) if trusted else None,
            config=today[CONFIG].data if CONFIG in counts else None,
        )

    def _check(self, real: Path, project_accepted: bool) -> tuple[str, ...] | None:
        record = self._record(real)
        argv = project_check({"checks": {".": record.get("argv")}})
        return argv if record.get("source") == _PERSON or project_accepted else None

    def accepted(self, root: Path, name: str) -> bytes | None:
        """The bytes of an entry as they were accepted, for its difference; None when they are not known."""
        answer = self._answer(Path(os.path.realpath(root))) or {}
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
        old = self._answer(real) or {}
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
            self._save_check(real, [want for want in asked if want.name in names], check)
            self._save(self.file, "folders", real, record)
        except OSError as error:
            raise AgentError(f"the answer could not be saved in {self.file}: {error.strerror}") from error
        return self.look(root)

    def _save_check(self, real: Path, accepted: Iterable[Want], own: tuple[str, ...] | None) -> None:
        project = next((want for want in accepted if want.name == CHECK), None)
        if own is None and (project is None or self._record(real).get("source") == _PERSON):
            return  # nothing to accept, or the person's own word stands
        import shlex  # noqa: PLC0415 - only an answer needs it

        text = project.data.decode() if own is None and project else shlex.join(own or ())
        record = {
            "argv": shlex.split(text),
            "sha256": Want(CHECK, "", text.encode()).digest,
            "accepted_at": int(time.time()),
            "timeout": CHECK_TIMEOUT,
            "source": _PROJECT if own is None else _PERSON,
        }
        self._save(self.checks, "checks", real, record)

    def _record(self, real: Path) -> dict[str, Any]:
        return _table(_load(self.checks, "checks")[0].get("checks", {}).get(str(real)))

    def _save(self, file: Path, table: str, real: Path, record: Mapping[str, Any]) -> None:
        import tomli_w  # noqa: PLC0415 - only an answer writes

        answers = _load(file, table)[0]
        write_private(file, tomli_w.dumps({**answers, table: {**answers.get(table, {}), str(real): dict(record)}}))


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def not_in_force(store: TrustStore, root: Path, user_file: Path) -> list[str]:
    """What of this folder has no effect now and why, one sentence an entry, with the keys that it names."""
    trust = store.look(root)
    out = []
    for want in wants(trust.root, read_layer(user_file)[0]):
        if want.name in trust.entries or want.name in INSTRUCTIONS or (want.name == CHECK and trust.check):
            continue
        if trust.trusted and want.name not in trust.changed:
            continue  # declined: the person has seen it
        why = (
            f"the project's {want.name} changed since you trusted it" if trust.trusted else "this folder is not trusted"
        )
        what = f" ({'; '.join(want.lines)})" if want.lines else ""
        out.append(f"{why}, so {want.path}{what} is off. Look at it, then: tui-agent trust")
    return out

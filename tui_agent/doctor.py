"""Why does it not work here: what this machine, this terminal and this configuration are like, with what to do about it.

Each part is a function of facts, so that any machine can be told; `look` collects the facts of this one. What is told
holds no key and no password, and the person's home is `~`, so that it can be copied into a report.
"""

from __future__ import annotations

import asyncio
import os
import platform
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Literal

from tui_agent import __version__
from tui_agent import clipboard as clipboards
from tui_agent.config import Loaded
from tui_agent.core.address import origin, shown_words
from tui_agent.core.disk import is_file, is_folder, there
from tui_agent.core.profile import ModelInfo, Profile
from tui_agent.core.secrets import Secrets
from tui_agent.core.types import AgentError
from tui_agent.paths import Paths, tilde
from tui_agent.providers import models
from tui_agent.providers.keys import own_secrets
from tui_agent.providers.network import Network
from tui_agent.workspace import runner
from tui_agent.workspace.confined import choose
from tui_agent.workspace.sandbox import Sandbox

SECONDS = 5.0
"""For each program and each server that is asked."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. A note costs something, a fault keeps something from working; `fix` is a next step."""

    area: str
    state: Literal["ok", "note", "fault"]
    text: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Answers:
    """What a terminal answered when it was asked. `heard`: anything at all; None: it was not asked."""

    heard: bool = False
    keys: bool = False
    """It can tell apart keys that are the same bytes elsewhere (kitty's protocol)."""
    synchronised: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """What `look` found; the rest is told from it."""

    environment: Mapping[str, str]
    root: Path
    user_file: Path
    paths: Paths
    loaded: Loaded
    size: tuple[int, int] | None = None
    """Columns and rows; None without a terminal."""
    answers: Answers | None = None
    tmux: Mapping[str, str] = field(default_factory=dict)
    sandbox: Sandbox = field(default_factory=lambda: Sandbox("none", reason="not looked for"))
    git: str = ""
    model: ModelInfo | str | None = None
    """What the server said of the model, or why it said nothing; None when it was not asked."""
    programs: frozenset[str] = frozenset()
    """Those of `PROGRAMS` that are there."""
    trusted: bool = False
    missing: Mapping[str, str] = field(default_factory=dict)
    """Why the program of an MCP server cannot be started, by the server's name."""


PROGRAMS = ("rg", "bwrap", "git", *clipboards.PROGRAMS)


def findings(facts: Facts) -> list[Finding]:
    """Everything that can be said, in the order in which things are needed."""
    return [
        *terminal(facts),
        *tmux(facts.tmux),
        *clipboard(facts),
        *configuration(facts),
        *provider(facts),
        *commands(facts),
        *servers(facts),
    ]


def terminal(facts: Facts) -> Iterator[Finding]:
    """Size, colours, letters and keys."""
    env, kind = facts.environment, facts.environment.get("TERM", "")
    if facts.size is None:
        yield Finding("terminal", "note", "this is no terminal: only one task at a time works here, with -p")
    elif kind in {"", "dumb"}:
        yield Finding(
            "terminal", "fault", f"TERM is {kind!r}: the screen cannot be drawn", "export TERM=xterm-256color"
        )
    else:
        columns, rows = facts.size
        small = columns < 40 or rows < 10
        fix = "at least 40 by 10; questions need that much to be answered" if small else ""
        name = " ".join(filter(None, (kind, env.get("TERM_PROGRAM", ""))))
        yield Finding("terminal", "fault" if small else "ok", f"{name}, {columns} by {rows}", fix)
    if env.get("NO_COLOR"):
        yield Finding("colours", "ok", "none, because NO_COLOR is set")
    elif env.get("COLORTERM", "").lower() in {"truecolor", "24bit"}:
        yield Finding("colours", "ok", "16 million")
    else:
        many = "256" if "256" in kind else "16"
        yield Finding("colours", "note", many, "export COLORTERM=truecolor, if your terminal has them")
    words = next((env[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if env.get(name)), "")
    if not re.search(r"utf-?8", words, re.IGNORECASE):
        yield Finding("letters", "note", f"the locale is {words or 'not set'}", "export LANG=C.UTF-8")
    if facts.answers is not None and not facts.answers.heard:
        yield Finding("keys", "note", "the terminal answers no question about itself; /commands lists every command")
    elif facts.answers is not None:
        if facts.answers.keys:
            yield Finding("keys", "ok", "Shift+Enter, Ctrl+Enter and Esc are told apart")
        else:
            yield Finding(
                "keys",
                "note",
                "Shift+Enter arrives as Enter",
                "tui-agent keys composer.newline lists what begins a new line",
            )
        flicker = "" if facts.answers.synchronised else "; it may flicker, for it draws no frame at once"
        yield Finding("drawing", "ok", f"the terminal answers{flicker}")


_TMUX: Sequence[tuple[str, str, str, str]] = (
    ("escape-time", r"\d|\d\d|100", "Esc waits {value} ms for more", "set -s escape-time 10"),
    ("set-clipboard", "on|external", "what is copied stays in tmux", "set -s set-clipboard on"),
    ("focus-events", "on", "it is not known whether you look, so no bell rings", "set -g focus-events on"),
    ("extended-keys", "on|always", "Shift+Enter arrives as Enter", "set -s extended-keys on"),
    ("default-terminal", ".*(256color|direct).*", "few colours ({value})", 'set -g default-terminal "tmux-256color"'),
)
"""An option of tmux, what it should be, what is lost otherwise, and the line for ~/.tmux.conf."""


def tmux(options: Mapping[str, str]) -> Iterator[Finding]:
    """Options that stand in the way."""
    for name, good, lost, line in _TMUX:
        value = options.get(name)
        if value is not None and not re.fullmatch(good, value):
            yield Finding("tmux", "note", f"{name} is {value}: {lost.format(value=value)}", f"~/.tmux.conf: {line}")
    if options and all(re.fullmatch(good, options.get(name, "")) for name, good, *_ in _TMUX):
        yield Finding("tmux", "ok", "its options let keys, colours and the clipboard through")


def clipboard(facts: Facts) -> Iterator[Finding]:
    """How copied text leaves the screen."""
    if facts.size is None:
        return
    way = clipboards.routes(facts.environment, lambda name: name if name in facts.programs else None)[0]
    fix = "install wl-copy, xclip or tmux, or hold Shift and select with the mouse" if way.kind == "file" else ""
    yield Finding("clipboard", "note" if fix else "ok", f"what is copied goes {way.words}", fix)


def configuration(facts: Facts) -> Iterator[Finding]:
    """The file, its faults, who may write to it, and the folders beside it."""
    file = facts.user_file
    for fault in facts.loaded.faults:
        state: Literal["fault", "note"] = "fault" if fault.severity == "error" else "note"
        yield Finding("config", state, str(fault), "tui-agent config edit")
    if not facts.loaded.faults:
        yield Finding("config", "ok", f"{file}{'' if there(file) else ' does not exist; the built-in values count'}")
    try:
        open_to_others = file.stat().st_mode & 0o022
    except OSError:
        open_to_others = 0
    if open_to_others:
        why = "others may write to it, and so choose what runs as you"
        yield Finding("config", "fault", f"{file}: {why}", f"chmod go-w {shlex.quote(str(file))}")
    folders = (facts.paths.data, facts.paths.state)
    for nearest in dict.fromkeys(next(part for part in (one, *one.parents) if there(part)) for one in folders):
        if not (is_folder(nearest) and os.access(nearest, os.W_OK | os.X_OK)):
            why = "cannot be written to: no session and no answer is kept"
            yield Finding("folders", "fault", f"{nearest} {why}", "mend its permissions, or set TUI_AGENT_HOME")
    crash = facts.paths.state / "crash.log"
    if is_file(crash):
        yield Finding(
            "crash", "note", f"an earlier run stopped on an internal error: {crash}", "read it, then remove it"
        )


def provider(facts: Facts) -> Iterator[Finding]:
    """Who answers, whether its key is there, what the server says of the model."""
    profile = facts.loaded.settings.active()
    if profile is None:
        yield Finding(
            "provider", "fault", "no model is configured", "start tui-agent and choose one, or: tui-agent demo"
        )
        return
    missing = [name for name in ("endpoint", "model") if not getattr(profile, name)]
    who = f"{profile.name}: {profile.model or '?'} at {origin(profile.endpoint) if profile.endpoint else '?'}"
    if missing:
        yield Finding("provider", "fault", f"{who}; {' and '.join(missing)} missing", "tui-agent config edit")
        return
    yield from _key(profile, facts.environment)
    match facts.model:
        case None:
            yield Finding("provider", "ok", f"{who}; it was not asked")
        case str(why):
            yield Finding("provider", "fault", f"{who}; {why}", profile.start and f"try: {profile.start}")
        case ModelInfo(window=window, tools=tools):
            yield Finding("provider", "ok", f"{who}; it answers")
            if tools is False:
                fix = 'protocol = "json" in its profile says so at once'
                yield Finding("protocol", "note", "the model takes no tool calls; it is asked in JSON", fix)
            yield from _window(profile, window)


def _key(profile: Profile, env: Mapping[str, str]) -> Iterator[Finding]:
    if profile.api_key_cmd:
        yield Finding("key", "ok", f"from {profile.api_key_cmd[0]}, which is run when it is needed")
    elif (name := profile.api_key_env) and not env.get(name):
        state: Literal["note", "fault"] = "note" if profile.local else "fault"
        yield Finding("key", state, f"{name} is not set", f"export {name}=...")
    elif name:
        yield Finding("key", "ok", f"from {name}, which is set")


def _window(profile: Profile, told: int | None) -> Iterator[Finding]:
    window = told or profile.window
    if window is None:
        yield Finding("window", "note", "unknown: it cannot be said when it is full", "window = 32768 in its profile")
    elif window < 16_000:
        yield Finding(
            "window", "note", f"{window:,} tokens are few for work on code", "load the model with 32,768 or more"
        )
    else:
        yield Finding("window", "ok", f"{window:,} tokens")


def commands(facts: Facts) -> Iterator[Finding]:
    """The sandbox, git, the editor, the folder."""
    box = facts.sandbox
    if box.kind == "none":
        fix = "" if "configuration" in box.reason else "apt install bubblewrap"
        yield Finding("sandbox", "note", f"none: a command can do what you can do ({box.reason})", fix)
    elif box.kind == "landlock":
        told = f"landlock, less than bubblewrap; it does not stop {', '.join(box.gaps)}"
        yield Finding("sandbox", "note", told, "apt install bubblewrap")
    else:
        yield Finding("sandbox", "ok", f"bubblewrap; it does not stop {', '.join(box.gaps)}")
    if facts.git:
        yield Finding("git", "ok", facts.git)
    else:
        yield Finding("git", "note", "not found: no branch, no /diff against it", "install git")
    if "rg" not in facts.programs:
        yield Finding("search", "note", "ripgrep is not there: searches are slower", "apt install ripgrep")
    yield _editor(facts.environment)
    if is_folder(facts.root):
        trust = "trusted" if facts.trusted else "not trusted: its config, check and instructions are off"
        yield Finding(
            "folder", "ok", f"{facts.root}, {trust}", "" if facts.trusted else "look at it, then: tui-agent trust"
        )


def servers(facts: Facts) -> Iterator[Finding]:
    """The MCP servers; none is started for this."""
    for name, config in facts.loaded.settings.servers.items():
        what = f"{name}: {origin(config.url) if config.url else shlex.join(shown_words(config.command))}"
        unset = [v for v in (*config.passed, config.key_env) if v and not facts.environment.get(v)]
        if why := config.fault or facts.missing.get(name, ""):
            yield Finding("mcp server", "fault", f"{what}: {why}", f"mend it in {config.source}")
        elif unset:
            yield Finding("mcp server", "fault", f"{what}: {unset[0]} is not set", f"export {unset[0]}=...")
        elif not config.enabled:
            yield Finding("mcp server", "note", f"{what}: off", f"enabled = true in {config.source}")
        else:
            yield Finding("mcp server", "ok", f"{what}; not tried: /mcp on the screen tells how it stands")


def _editor(env: Mapping[str, str]) -> Finding:
    named = next(((name, env[name]) for name in ("VISUAL", "EDITOR") if env.get(name, "").strip()), None)
    if named is None:
        return Finding("editor", "note", "neither VISUAL nor EDITOR is set", "export EDITOR=nano")
    try:
        program = next(iter(shlex.split(named[1])), "")
    except ValueError:
        program = ""
    if not program or shutil.which(program, path=env.get("PATH")) is None:
        return Finding(
            "editor", "fault", f"{named[0]} is {named[1]!r}, and there is no such program", "export EDITOR=nano"
        )
    return Finding("editor", "ok", f"{named[1]}, from {named[0]}")


# ------------------------------------------------------------------ this machine


async def look(
    root: Path,
    user_file: Path,
    paths: Paths,
    loaded: Loaded,
    env: Mapping[str, str],
    *,
    size: tuple[int, int] | None,
    answers: Answers | None = None,
    network: Network | None = None,
    trusted: bool = False,
) -> Facts:
    """The facts of this machine. The server of the profile in use is asked, nobody else; `network` may say offline."""
    box, git, options, model = await asyncio.gather(
        choose(loaded.settings.sandbox, root),
        _said(("git", "--version")),
        _tmux_options(env, root),
        _model(loaded.settings.active(), env, network or Network()),
    )
    child = runner.child_environment(env, allow=loaded.settings.environment)
    programs = {name: config for name, config in loaded.settings.servers.items() if config.command}
    missing = {
        name: why
        for name, config in programs.items()
        if (why := runner.missing(config.command[0], root / config.cwd, {**child, **config.env}))
    }
    there = frozenset(name for name in PROGRAMS if shutil.which(name, path=env.get("PATH")))
    return Facts(
        env, root, user_file, paths, loaded, size, answers, options, box, git.strip(), model, there, trusted, missing
    )


async def _said(argv: tuple[str, ...], env: Mapping[str, str] | None = None) -> str:
    """What a program of this machine prints, "" when it fails; it is started in `/`, where nothing is a project's."""
    result = await runner.run(argv, cwd=Path("/"), timeout=SECONDS, env=env)
    return result.output if result.exit_code == 0 else ""


async def _tmux_options(env: Mapping[str, str], root: Path) -> dict[str, str]:
    if not env.get("TMUX"):
        return {}
    child = {**runner.child_environment(env, workspace=root), "TMUX": env["TMUX"]}
    texts = await asyncio.gather(*(_said(("tmux", "show-options", scope), child) for scope in ("-gsA", "-gA")))
    pairs = (line.partition(" ") for text in texts for line in text.splitlines())
    return {name.rstrip("*"): value.strip('"') for name, _, value in pairs}


async def _model(profile: Profile | None, env: Mapping[str, str], network: Network) -> ModelInfo | str | None:
    if profile is None or not (profile.endpoint and profile.model) or profile.wire == "scripted":
        return None
    try:
        async with asyncio.timeout(SECONDS):
            return await models.inspect(profile, env=env, network=network)
    except TimeoutError:
        return f"no answer within {SECONDS:g} s"
    except AgentError as error:
        return str(error)


def report(found: Iterable[Finding], facts: Facts) -> str:
    """The findings as text to read and to copy, without secrets; not yet sanitised."""
    secrets = Secrets()
    for profile in facts.loaded.settings.profiles.values():
        secrets.add(*own_secrets(profile, facts.environment))
    versions = f"tui-agent {__version__}   Python {platform.python_version()}   Textual {metadata.version('textual')}"
    lines = [f"{versions}   {platform.system()} {platform.release()}   {Path(sys.executable).name}"]
    for finding in found:
        lines.append(f"{finding.state:<6} {finding.area:<10} {finding.text}")
        lines += [f"{'':<17} fix: {finding.fix}"] if finding.fix else []
    home = facts.environment.get("HOME", "")
    text = secrets.hide("\n".join(lines))
    return text.replace(f"{home}/", tilde(Path(home) / "x", facts.environment)[:-1]) if len(home) > 1 else text

"""What has no subcommand: one task when there is a prompt, else the screen, which is imported only on its own path."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Awaitable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tui_agent import __version__, questions
from tui_agent.background import asking
from tui_agent.config import Loaded, Settings, load
from tui_agent.core import fold, unfinished
from tui_agent.core.disk import is_folder
from tui_agent.core.display import plain
from tui_agent.core.patterns import pattern_fault
from tui_agent.core.profile import Profile
from tui_agent.core.types import ConfigError
from tui_agent.paths import Paths, append_private, user_paths
from tui_agent.providers.network import Network
from tui_agent.schema import did_you_mean
from tui_agent.sessions import Place, fork
from tui_agent.subcommands import SUBCOMMANDS
from tui_agent.subcommands.parsing import (
    USAGE_ERROR,
    Parser,
    config_file,
    folder,
    no_screen,
    path_of,
    sessions_in,
    word,
)
from tui_agent.summaries import find, listed
from tui_agent.trust import Trust, TrustStore, not_in_force
from tui_agent.wants import CHECK

if TYPE_CHECKING:
    from tui_agent.session import Session
    from tui_agent.terms import Terms

EXAMPLES = """examples:
  tui-agent                             open the screen in this folder
  tui-agent demo                        look at it first: no key, no server, no network
  tui-agent -p "fix the failing test"   one task; asks on the terminal before it changes anything
  tui-agent -p "say hi" --json          one task, the result as JSON
  tui-agent -p "fix it" --yes --allow check --max-steps 10
  git diff | tui-agent --stdin -p "review this"

exit codes of one task:
  0 done   1 model or network   2 check failed or not run   3 refused or skipped   4 a limit   5 usage or configuration
  130 interrupted   143 terminated   129 hung up   141 nobody reads the output   74 it cannot be written   70 a bug"""

DEMO = "demo"
"""The provider that needs no configuration."""
FOR_A_TASK = (
    *("yes", "allow", "dry_run", "mode", "max_steps", "max_tokens", "max_cost"),
    *("json", "stream_json", "quiet", "plain"),
)
"""Flags that say nothing to the screen, by their names in the options."""
FOR_THE_SCREEN = ("theme", "no_mouse")
"""Flags that say nothing to a task or to a conversation in lines."""

SERVERS_START = 60.0
"""Seconds that one task waits for MCP servers: there is no later message that they could join."""
MAX_STDIN = 4_000_000
"""Bytes that --stdin takes: more than any model does."""


def parser() -> Parser:
    """The flags of `tui-agent` itself."""
    p = Parser(
        prog="tui-agent",
        usage="%(prog)s [flags] [PROMPT ...]\n       %(prog)s COMMAND [flags]",
        description="A full-screen coding agent for the terminal.",
        epilog=f"{commands()}\n\n{EXAMPLES}",
    )
    task = p.add_argument_group("the task (without one, the screen opens)")
    task.add_argument("words", nargs="*", metavar="PROMPT", help="a task to carry out without the screen")
    task.add_argument("-p", "--prompt", action="append", default=[], metavar="TEXT", help="the same; repeatable")
    task.add_argument("--stdin", action="store_true", help="read more of the task from stdin; it answers no question")
    may = p.add_argument_group("what one task may do")
    may.add_argument("-y", "--yes", action="store_true", help="edits inside the folder need no question; nothing else")
    may.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="RULE",
        help='"check": the check runs unasked; else a command or a path (write:src/) as in [permissions] allow; repeatable',
    )
    may.add_argument("--dry-run", action="store_true", help="show what would be changed or run, and do none of it")
    may.add_argument("--mode", choices=["read", "review", "plan"], help="only read; review; answer with a plan")
    may.add_argument("--max-steps", type=count, metavar="N", help="end after so many calls of the model")
    may.add_argument("--max-tokens", type=count, metavar="N", help="end after so many tokens, in and out")
    may.add_argument("--max-cost", type=dollars, metavar="USD", help="end when it has cost so much")
    kept = p.add_argument_group("sessions")
    which = kept.add_mutually_exclusive_group()
    which.add_argument(
        "--continue", dest="resume", action="store_const", const="-1", help="go on with the last session here"
    )
    which.add_argument(
        "--resume", metavar="NAME", type=word, help="go on with the session of this name or id, in its folder"
    )
    kept.add_argument(
        "--fork", metavar="NAME", type=word, help="go on in a copy of it; a session that is open elsewhere, too"
    )
    who = p.add_argument_group("who answers")
    who.add_argument("--provider", metavar="NAME", type=word, help='a profile of the configuration, or "demo"')
    who.add_argument("--model", metavar="ID", type=word, help="a model of that provider")
    who.add_argument("--offline", action="store_true", help="reach no model but one on this machine")
    where = p.add_argument_group("where")
    where.add_argument("--cwd", metavar="DIR", type=path_of, help="the folder to work in (default: this one)")
    where.add_argument("--config", metavar="FILE", type=path_of, help="use this configuration file")
    screen = p.add_argument_group("the screen")
    screen.add_argument("--theme", metavar="THEME", type=word, help="look like this, this time; /theme lists them all")
    screen.add_argument("--no-mouse", action="store_true", help="leave the mouse to the terminal")
    _output(p.add_argument_group("output of one task"))
    return p


def _output(out: argparse._ArgumentGroup) -> None:
    form = out.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the result as one JSON object")
    form.add_argument("--stream-json", action="store_true", help="print every event as a line of JSON, the result last")
    out.add_argument("-q", "--quiet", action="store_true", help="nothing on stderr but questions and failures")
    out.add_argument("--plain", "--no-color", action="store_true", help="no colours, on a terminal too")
    out.add_argument(
        "--accessible",
        action="store_true",
        default=os.environ.get("ACCESSIBLE", "0") not in {"", "0"},
        help="whole lines and numbered answers, for screen readers; without a task, a conversation (also: ACCESSIBLE=1)",
    )
    out.add_argument("--debug", action="store_true", help="write requests, without what was said, to debug.log")
    out.add_argument("-v", "--version", action="version", version=f"tui-agent {__version__}", help="print the version")


def count(text: str) -> int:
    """A positive whole number of the command line."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return int(text)


def dollars(text: str) -> float:
    """A positive amount of the command line."""
    try:
        amount = float(text)
    except ValueError:
        amount = 0.0
    if not 0 < amount < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive amount in USD")
    return amount


def commands() -> str:
    """The subcommands, for the help."""
    return "\n".join(["commands:", *(f"  {c.name:<15} {c.summary}" for c in SUBCOMMANDS)])


def run(options: argparse.Namespace) -> int:
    """Carry out the task, or open the screen."""
    task = task_of(options)
    root = folder(options.cwd or Path())
    paths = user_paths()
    user_file = config_file(options.config, paths, os.environ)
    check_flags(options, task)
    place, root = held(options, root, paths)
    try:
        if task is not None or options.accessible:
            return one_task(options, task, root, paths, user_file, place=place)
        return screen(options, root, paths, user_file, place)
    finally:
        if place is not None:
            place.close()


def check_flags(options: argparse.Namespace, task: str | None) -> None:
    """Refuse a flag that would be without effect, and a screen that cannot be.

    Raises:
        ConfigError: a flag is for one task or for the screen, or there is no terminal for the screen or the conversation
            in lines.
    """
    if task is not None or options.accessible:
        refuse(options, FOR_THE_SCREEN, "for the screen only, which a task and --accessible do not open")
    if task is not None:
        return
    if options.accessible:
        if questions.terminal_asker() is None:
            raise ConfigError('there is no terminal to type tasks on; give one with -p "…"')
        return
    refuse(options, FOR_A_TASK, "for one task only; give one with -p")
    if fault := no_screen(os.environ):
        raise ConfigError(f'{fault}; give a task with -p "…", or --accessible for plain lines')


def refuse(options: argparse.Namespace, names: Iterable[str], why: str) -> None:
    """Name those of the flags that were given.

    Raises:
        ConfigError: one was.
    """
    if given := [f"--{name.replace('_', '-')}" for name in names if getattr(options, name) not in (None, False, [])]:
        raise ConfigError(f"{', '.join(given)}: {why}")


def held(options: argparse.Namespace, root: Path, paths: Paths) -> tuple[Place | None, Path]:
    """The session to go on with, if there is to be one, and its folder, unless `--cwd` names another.

    Raises:
        AgentError: there is none of this name, they cannot be read, its folder is gone, or it is open in another window.
    """
    if options.resume is None and options.fork is None:
        return None, root
    if options.resume is not None and options.fork is not None:
        raise ConfigError("--fork goes on in a copy, --resume and --continue in the session itself; give one of them")
    one = find(listed(sessions_in(paths)), options.resume or options.fork, root)
    if options.cwd is None and one.cwd:
        if not is_folder(one.cwd):
            raise ConfigError(f"the folder of that session, {one.cwd}, is gone; --cwd DIR goes on with it elsewhere")
        root = Path(one.cwd)
    if options.fork is not None:
        return fork(paths.sessions / one.id, paths.sessions, root), root
    return Place(paths.sessions / one.id), root


def task_of(options: argparse.Namespace) -> str | None:
    """The task, from the words, -p and --stdin, with a blank line between them; None when none was given.

    Raises:
        ConfigError: one was given and is blank, or stdin cannot be used.
    """
    sources = [" ".join(options.words), "\n".join(options.prompt)]
    if options.stdin:
        data = sys.stdin.buffer.read(MAX_STDIN + 1)
        if len(data) > MAX_STDIN:
            raise ConfigError(
                f"stdin holds more than {MAX_STDIN:,} bytes; put it into a file and name that in the task"
            )
        sources.append(data.decode("utf-8", "replace"))
    elif not options.words and not options.prompt:
        return None
    given = "\n\n".join(s for s in map(str.strip, sources) if s)
    # words of the command line are UTF-8 whatever the locale says, and what is none could not be sent or shown
    task = given.encode("utf-8", "surrogateescape").decode(errors="replace")
    if not task:
        raise ConfigError("the task is empty")
    return task


def one_task(
    options: argparse.Namespace,
    task: str | None,
    root: Path,
    paths: Paths,
    user_file: Path,
    *,
    place: Place | None = None,
) -> int:
    """Carry out one task without the screen; without one, those that the person types."""
    store = TrustStore(paths.data / "trust.toml")
    trust = store.look(root)
    loaded = trust.settings(user_file)
    warnings = [str(fault) for fault in loaded.faults] + not_in_force(store, root, user_file)
    for text in filter(None, (*warnings, store.problem())):
        print(f"tui-agent: {plain(text)}", file=sys.stderr, flush=True)
    if loaded.broken:
        return USAGE_ERROR

    from tui_agent import linear, oneshot  # noqa: PLC0415 - each path imports only what it needs
    from tui_agent.session import Session  # noqa: PLC0415

    colour = not (options.plain or options.accessible) and oneshot.colourful(os.environ)
    asker = questions.terminal_asker(questions.Manner(colour, options.accessible))
    terms = terms_of(options, loaded.settings, trust, paths, user_file, asked=asker is not None, colour=colour)
    session = Session(terms, asker or questions.ask_nobody, place)
    made_up = filter(None, map(unfinished.line, session.made_up))
    for remark in (*session.place.remarks, *made_up):
        print(f"tui-agent: {plain(remark)}", file=sys.stderr, flush=True)
    mode, told = session.mode, list[int]()
    form: Literal["text", "json", "stream"] = "json" if options.json else "stream" if options.stream_json else "text"
    style = oneshot.Style(form, options.quiet, colour)
    try:
        choose(session, options, loaded, user_file)
        work = linear.converse(session, style) if task is None else oneshot.run_once(session, task, style, told.append)
        return asyncio.run(_connected(terms, work))
    except (KeyboardInterrupt, SystemExit):
        if not told:
            raise
        return told[0]  # a signal makes no other exit code of a result that is out
    finally:
        if mode.name == "edits" and not (options.mode or options.accessible) and session.mode != mode:
            session.enter(mode)  # the next window goes on as the last one did
        session.place.close()


def terms_of(
    options: argparse.Namespace,
    settings: Settings,
    trust: Trust,
    paths: Paths,
    user_file: Path,
    *,
    asked: bool,
    colour: bool,
) -> Terms:
    """What a session without the screen starts from; `asked`: there is a terminal to ask on."""
    from tui_agent import oneshot  # noqa: PLC0415
    from tui_agent.mcp.servers import Servers  # noqa: PLC0415
    from tui_agent.terms import Terms, with_servers  # noqa: PLC0415

    return with_servers(
        Terms(
            trust.root,
            narrowed(settings, options),
            paths,
            trusted=trust.trusted,
            words=trust.words,
            interactive=asked or options.dry_run,  # what would be asked is shown
            yes=options.yes,
            allow_check=CHECK in options.allow,
            user_file=user_file,
            network=network_of(options, paths),
            dry_run=partial(oneshot.show_request, colour=colour) if options.dry_run else None,
            servers=Servers(SERVERS_START, listed=False),
        )
    )


def choose(session: Session, options: argparse.Namespace, loaded: Loaded, user_file: Path) -> None:
    """The mode of a session and who answers in it: whom the command line names, else who did before, else the default.

    Raises:
        ConfigError: there is no such profile, or none; or a bound of its cost is asked for and it has no prices.
    """
    from tui_agent.modes import first, mode  # noqa: PLC0415
    from tui_agent.told import answers_elsewhere, answers_instead  # noqa: PLC0415

    begins = first(session.terms.settings.policy)
    if options.mode:
        session.enter(mode(options.mode))
    elif session.mode.name == "edits" != begins.name and not options.accessible:
        session.enter(begins)  # leave that was given on the screen is none for a run that nobody watches: --yes is
    if options.provider == DEMO:
        from tui_agent.demo import PROFILE, model  # noqa: PLC0415

        session.use(model(), PROFILE)
        return
    before = fold.model(session.events) if options.provider is None else None
    again = before if before is not None and before.profile in loaded.settings.profiles else None
    profile = pick(loaded, again.profile if again else options.provider, user_file)
    if before is not None and again is None:
        print(f"tui-agent: {plain(answers_instead(before.profile, profile.name))}", file=sys.stderr, flush=True)
    elif again is not None and (elsewhere := answers_elsewhere(session.events, profile)):
        print(f"tui-agent: {plain(elsewhere)}", file=sys.stderr, flush=True)
    chosen = profile.answering(options.model or (again.model if again else None) or profile.model)
    if options.max_cost is not None and chosen.pricing is None and not chosen.local:
        where = f"[profiles.{profile.name}.pricing]" if chosen == profile else f"a profile for {chosen.model}"
        raise ConfigError(f"--max-cost needs prices: set input and output in {where}")
    session.choose(chosen)


async def _connected(terms: Terms, work: Awaitable[int]) -> int:
    """Do the work with connections that are kept from one model call to the next, and with servers that end after it."""
    from tui_agent.oneshot import stopping_on_signals  # noqa: PLC0415

    async with terms.network.kept():
        try:
            return await work
        finally:
            with stopping_on_signals(), suppress(asyncio.CancelledError):
                await terms.servers.close()


def narrowed(settings: Settings, options: argparse.Namespace) -> Settings:
    """The settings with the limits and the rules of the command line.

    Raises:
        ConfigError: a rule can be none; the text names it.
    """
    bounds = {name: getattr(options, name) for name in ("max_steps", "max_tokens", "max_cost")}
    patterns = tuple(rule for rule in options.allow if rule != CHECK)
    for pattern in patterns:
        if fault := pattern_fault(pattern):
            raise ConfigError(f"--allow {pattern!r} {fault}")
    return replace(
        settings,
        limits=replace(settings.limits, **{name: value for name, value in bounds.items() if value is not None}),
        policy=replace(settings.policy, allow=(*settings.policy.allow, *patterns)),
    )


def network_of(options: argparse.Namespace, paths: Paths) -> Network:
    """Whom this run may talk to, and whether that is written down."""
    file = paths.state / "debug.log"
    trace = (lambda line: append_private(file, line)) if options.debug else None
    return Network(options.offline, secrets=options.secrets, trace=trace)


def pick(loaded: Loaded, name: str | None, user_file: Path) -> Profile:
    """The profile to use.

    Raises:
        ConfigError: it does not exist, or none is configured; names what exists and both config paths.
    """
    settings = loaded.settings
    if name is not None:
        check_known(settings, name)
    profile = settings.profiles[name] if name else settings.active()
    if profile is None:
        raise ConfigError(
            f"no model is configured. Looked in {user_file} and, if the folder is trusted, in .tui_agent/config.toml. "
            "Start tui-agent without a prompt to choose one, or try: tui-agent demo"
        )
    return profile


def check_known(settings: Settings, name: str) -> None:
    """Refuse a profile that does not exist.

    Raises:
        ConfigError: it names those that do.
    """
    if name not in settings.profiles:
        if not settings.profiles:
            raise ConfigError(
                f"there is no profile {name!r}, and none is configured: tui-agent without --provider sets one up"
            )
        near = did_you_mean(name, settings.profiles)
        raise ConfigError(
            f"there is no profile {name!r}{near}; --provider takes one of {', '.join(sorted(settings.profiles))}"
        )


def screen(options: argparse.Namespace, root: Path, paths: Paths, user_file: Path, place: Place | None) -> int:
    """Open the full-screen app, or the demo when it is chosen there.

    Raises:
        ConfigError: there is no such profile.
    """
    if options.provider not in {None, DEMO} and not (loaded := load(user_file)).broken:
        check_known(loaded.settings, options.provider)
    network = network_of(options, paths)
    with asking(os.environ) as answer:
        from tui_agent.ui.app import Start, run  # noqa: PLC0415 - Textual is heavy

        told = answer()
    ended = run(
        Start(
            root,
            paths,
            user_file,
            options.provider,
            options.model,
            place,
            network=network,
            light=told.light,
            wide=told.wide,
            typed=told.typed,
            looks=({"theme": options.theme} if options.theme else {}) | ({"mouse": False} if options.no_mouse else {}),
        )
    )
    if not ended.demo:
        return ended.code
    from tui_agent.subcommands import demo  # noqa: PLC0415 - few want it

    return demo.run(options)

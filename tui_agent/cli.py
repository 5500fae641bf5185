"""The command line: argv to settings, then the screen or one run. The screen is imported only on its own path."""

from __future__ import annotations

import argparse
import asyncio
import errno
import io
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from tui_agent import __version__
from tui_agent.config import Loaded, load, read_layer
from tui_agent.core.display import plain
from tui_agent.core.profile import Profile
from tui_agent.core.shell import needs_shell, split
from tui_agent.core.types import AgentError, ApprovalRequest, ConfigError, Decision
from tui_agent.paths import Paths, append_private, user_paths
from tui_agent.providers.network import Network
from tui_agent.trust import TrustStore, may_be_trusted, not_in_force
from tui_agent.wants import wants

USAGE_ERROR = 5

EXAMPLES = """examples:
  tui-agent                             open the screen in this folder
  tui-agent demo                        a recorded session: no key, no server, no network
  tui-agent -p "fix the failing test"   one task; asks on the terminal before it changes anything
  tui-agent -p "say hi" --json          one task, the result as JSON
  git diff | tui-agent --stdin -p "review this"
  tui-agent replay SESSION              play a saved session again: no model, no network
  tui-agent trust                       trust this folder, so that its config and its check count

exit codes of one task:
  0 done   1 model or network   2 check failed or not run   3 refused or skipped   4 a limit   5 usage or configuration
  130 interrupted   143 terminated   129 hung up   141 nobody reads the output   70 a bug"""

MAX_STDIN = 4_000_000
"""Bytes that --stdin takes: more than any model does."""

LATER = frozenset({"config", "keys", "doctor", "paths", "sessions", "purge", "reset-terminal"})
"""First words that are kept for subcommands, so that no task ever changes its meaning."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(USAGE_ERROR, f"tui-agent: {message}. Try: tui-agent --help\n")


def parser() -> argparse.ArgumentParser:
    """The flags of `tui-agent` itself; subcommands are looked at before."""
    p = _Parser(
        prog="tui-agent",
        description="A full-screen coding agent for the terminal.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    p.add_argument("words", nargs="*", metavar="PROMPT", help="a task to carry out without the screen")
    p.add_argument("-p", "--prompt", action="append", default=[], metavar="TEXT", help="the same; may be given again")
    p.add_argument(
        "--stdin", action="store_true", help="read more of the task from stdin, which never answers a question"
    )
    p.add_argument("-y", "--yes", action="store_true", help="edits inside the folder need no question; nothing else")
    p.add_argument(
        "--allow", action="append", default=[], choices=["check"], help="let the configured check run unasked"
    )
    p.add_argument("--dry-run", action="store_true", help="show what would be changed or run, and do none of it")
    p.add_argument(
        "--mode", choices=["read", "review", "plan"], help="only read; answer as a reviewer; answer with a plan"
    )
    p.add_argument("--provider", metavar="NAME", help='a profile of the configuration, or "demo"')
    p.add_argument("--model", metavar="ID", help="a model of that provider")
    p.add_argument("--offline", action="store_true", help="reach no model but one on this machine")
    p.add_argument("--debug", action="store_true", help="write requests, without what was said, to debug.log")
    p.add_argument("--cwd", metavar="DIR", type=Path, help="the folder to work in (default: this one)")
    p.add_argument("--config", metavar="FILE", type=Path, help="use this configuration file")
    p.add_argument("--json", action="store_true", help="print the result of one task as JSON")
    p.add_argument("-q", "--quiet", action="store_true", help="nothing on stderr but questions and failures")
    p.add_argument("-v", "--version", action="version", version=f"tui-agent {__version__}")
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; returns its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    complete_streams()
    try:
        match words[:1]:
            case ["demo"]:
                return demo(words[1:])
            case ["trust"]:
                return trust(words[1:])
            case ["replay"]:
                return replay(words[1:])
        return start(words)
    except AgentError as error:
        print(f"tui-agent: {plain(str(error))}", file=sys.stderr)
        return USAGE_ERROR if isinstance(error, ConfigError) else 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # whoever read our output has gone; point it elsewhere so that the interpreter does not complain at exit
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        return 141
    except OSError as error:
        if error.errno != errno.EIO:
            return crashed(user_paths())
        return 128 + signal.SIGHUP  # the terminal that we wrote to is gone
    except Exception:  # noqa: BLE001 - the top border: a crash leaves a reason, and never a raw traceback on the screen
        return crashed(user_paths())


def complete_streams() -> None:
    """Make stdin, stdout and stderr usable, whatever the caller left of them.

    A closed one becomes /dev/null, so that no file of ours gets its number. What the encoding of the terminal cannot
    say is escaped.
    """
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(fd, True)
    os.close(fd)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - for as long as we live
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def crashed(paths: Paths) -> int:
    """Keep the traceback in the state folder and say where it is."""
    text = traceback.format_exc()
    reason = plain(text.strip().splitlines()[-1])
    try:
        paths.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = paths.state / "crash.log"
        file.write_text(text, encoding="utf-8")
        file.chmod(0o600)
        where = f"Details: {file}"
    except OSError:
        where = text
    print(f"tui-agent stopped on an internal error: {reason}\n{where}", file=sys.stderr)
    return 70


def start(words: Sequence[str]) -> int:
    """Everything without a subcommand: one task when there is a prompt, else the screen."""
    if words and words[0] in LATER:
        raise ConfigError(f"{words[0]!r} is kept for a later version. If it is a task: tui-agent -- {words[0]}")
    options = parser().parse_args(list(words))
    task = task_of(options)
    root = folder(options.cwd or Path())
    if options.config and not options.config.is_file():
        raise ConfigError(f"the configuration file {options.config} does not exist")
    paths = user_paths()
    user_file = options.config or paths.config_file
    if task is None:
        if options.json or options.yes or options.allow or options.quiet or options.mode or options.dry_run:
            raise ConfigError(
                "--json, --yes, --allow, --mode, --dry-run and --quiet are for one task; give one with -p"
            )
        return screen(options, root, paths, user_file)
    return one_task(options, task, root, paths, user_file)


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
    # words of the command line that are no UTF-8 could not be sent or shown
    task = "\n\n".join(s for s in map(str.strip, sources) if s).encode("utf-8", "replace").decode()
    if not task:
        raise ConfigError("the task is empty")
    return task


def folder(path: Path) -> Path:
    """The real path of an existing folder.

    Raises:
        ConfigError: it is none.
    """
    try:
        root = path.resolve()
    except OSError as error:  # the current folder was deleted
        raise ConfigError(f"the folder {path} cannot be used: {error.strerror}") from error
    if not root.is_dir():
        raise ConfigError(f"{root} is not a folder")
    return root


def one_task(options: argparse.Namespace, task: str, root: Path, paths: Paths, user_file: Path) -> int:
    """Carry out one task without the screen."""
    store = TrustStore(paths.data / "trust.toml")
    trust = store.look(root)
    loaded = trust.settings(user_file)
    warnings = [str(fault) for fault in loaded.faults] + not_in_force(store, root, user_file)
    for text in filter(None, (*warnings, store.problem())):
        print(f"tui-agent: {plain(text)}", file=sys.stderr, flush=True)
    if loaded.broken:
        return USAGE_ERROR

    from tui_agent import oneshot, questions  # noqa: PLC0415 - each path imports only what it needs
    from tui_agent.modes import mode  # noqa: PLC0415
    from tui_agent.session import Session, Terms  # noqa: PLC0415

    asker = questions.terminal_asker()
    terms = Terms(
        root,
        loaded.settings,
        paths,
        trusted=trust.trusted,
        interactive=asker is not None or options.dry_run,  # what would be asked is shown
        yes=options.yes,
        allow_check="check" in options.allow,
        user_file=user_file,
        network=network_of(options, paths),
        dry_run=oneshot.show_request if options.dry_run else None,
    )
    session = Session(terms, asker or questions.ask_nobody)
    if options.mode:
        session.enter(mode(options.mode))
    if options.provider == "demo":
        from tui_agent.demo import PROFILE, model  # noqa: PLC0415

        session.use(model(), PROFILE)
    else:
        session.choose(pick(loaded, options.provider, paths, user_file), options.model)
    return asyncio.run(oneshot.run_once(session, task, as_json=options.json, quiet=options.quiet))


def network_of(options: argparse.Namespace, paths: Paths) -> Network:
    """Whom this run may talk to, and whether that is written down."""
    file = paths.state / "debug.log"
    return Network(options.offline, trace=(lambda line: append_private(file, line)) if options.debug else None)


def pick(loaded: Loaded, name: str | None, paths: Paths, user_file: Path) -> Profile:
    """The profile to use.

    Raises:
        ConfigError: it does not exist, or none is configured; names what exists and both config paths.
    """
    settings = loaded.settings
    if name is not None and name not in settings.profiles:
        known = ", ".join(sorted(settings.profiles)) or "none"
        raise ConfigError(f"there is no profile {name!r} (configured: {known})")
    profile = settings.profiles[name] if name else settings.active()
    if profile is None:
        raise ConfigError(
            f"no model is configured. Looked in {user_file} and, if the folder is trusted, in .tui_agent/config.toml. "
            "Start tui-agent without a prompt to choose one, or try: tui-agent demo"
        )
    return profile


def screen(options: argparse.Namespace, root: Path, paths: Paths, user_file: Path) -> int:
    """Open the full-screen app."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigError('the screen needs a terminal; give a task with -p "…" to run without one')
    from tui_agent.ui.app import Start, run  # noqa: PLC0415 - Textual is heavy

    network = network_of(options, paths)
    return run(Start(root, paths, user_file, options.provider, options.model, network=network))


def demo(words: Sequence[str]) -> int:
    """Play the demo: on the screen, or as text without a terminal."""
    p = _Parser(prog="tui-agent demo", description="A recorded session: no key, no server, no network.")
    p.parse_args(list(words))
    from tui_agent import demo as recorded  # noqa: PLC0415

    if sys.stdin.isatty() and sys.stdout.isatty():
        from tui_agent.ui.app import Ready, Start, run  # noqa: PLC0415 - Textual is heavy

        with recorded.prepared(delay=0.03) as played:
            at = played.terms
            ready = Ready(at, played.model, recorded.PROFILE, recorded.TASK, recorded.NOTE)
            return run(Start(at.root, at.paths, at.paths.config_file, ready=ready))
    from tui_agent import oneshot, questions  # noqa: PLC0415
    from tui_agent.session import Session  # noqa: PLC0415

    with recorded.prepared() as played:

        async def answers(batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
            for request in batch:
                oneshot.say(f"\n  {plain(request.summary, 'title')}")
                print(questions.view(request.effect).printed(), file=sys.stderr)
                oneshot.say("  apply? y yes   n no   s skip   q stop > y  (recorded)\n")
            return await recorded.recorded_person(batch)

        session = Session(played.terms, answers)
        session.use(played.model, recorded.PROFILE)
        code = asyncio.run(oneshot.run_once(session, recorded.TASK))
        return code if code or session.verified else 2


def trust(words: Sequence[str]) -> int:
    """Trust a folder from the shell."""
    p = _Parser(prog="tui-agent trust", description="Trust a folder: its own config and its check count from then on.")
    p.add_argument("folder", nargs="?", type=Path, default=Path(), metavar="DIR")
    p.add_argument("--check", metavar="COMMAND", help="run this after edits: a program and its words, no shell")
    p.add_argument("--forget", action="store_true", help="take the trust back")
    options = p.parse_args(list(words))
    check = check_of(options.check)
    if check and options.forget:
        raise ConfigError("--check and --forget exclude each other")
    root, store = folder(options.folder), TrustStore(user_paths().data / "trust.toml")
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - does not raise when there is none
    if not options.forget and not may_be_trusted(root, home):
        raise ConfigError(f"{root} is your home folder or holds it; trust the project's own folder instead")
    shown = () if options.forget else wants(root, read_layer(user_paths().config_file)[0])
    answer = store.answer(root, trusted=not options.forget, shown=shown, check=check)
    print(plain(f"{'trusted' if answer.trusted else 'not trusted'}: {answer.root}"))
    for want in shown:
        print(plain(f"  counts from now on: {want.name}   {want.path}   sha256 {want.digest[:12]}"))
        for line in want.lines:
            print(plain(f"    {line}"))
    if answer.check:
        print(f"  check after edits: {plain(list(answer.check), 'argv')}")
    return 0


def replay(words: Sequence[str]) -> int:
    """Play a saved session through today's loop."""
    p = _Parser(
        prog="tui-agent replay",
        description="Play a saved session's replies through today's loop, up to the first event that is not as recorded.",
    )
    p.add_argument("session", metavar="SESSION", help="its id, its folder or its log.jsonl")
    p.add_argument("--execute", action="store_true", help="carry out its effects again, in a copy of today's folder")
    options = p.parse_args(list(words))
    from tui_agent import playback  # noqa: PLC0415 - each path imports only what it needs

    paths = user_paths()
    log = playback.log_of(paths, options.session)
    loaded = load(paths.config_file)
    for fault in loaded.faults:
        print(f"tui-agent: {plain(str(fault))}", file=sys.stderr)
    if loaded.broken:
        return USAGE_ERROR
    return playback.replay(log, loaded.settings, TrustStore(paths.data / "trust.toml"), execute=options.execute)


def check_of(text: str | None) -> tuple[str, ...] | None:
    """The words of a check command.

    Raises:
        ConfigError: it is empty, or needs a shell.
    """
    if text is None:
        return None
    if needs_shell(text) or not text.strip():
        raise ConfigError("--check takes a program and its words, and no shell; put what needs one into a script")
    return tuple(split(text))


def entry() -> NoReturn:
    """The console script."""
    sys.exit(main())

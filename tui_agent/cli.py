"""The command line: argv to settings, then the screen or one run. The screen is imported only on its own path."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from tui_agent import __version__
from tui_agent.config import Loaded, load
from tui_agent.core.display import plain
from tui_agent.core.profile import Profile
from tui_agent.core.types import AgentError, ApprovalRequest, ConfigError, Decision
from tui_agent.paths import Paths, user_paths
from tui_agent.trust import TrustStore, may_be_trusted

USAGE_ERROR = 5

EXAMPLES = """examples:
  tui-agent                             open the screen in this folder
  tui-agent demo                        a recorded session: no key, no server, no network
  tui-agent -p "fix the failing test"   one task; asks on the terminal before it changes anything
  tui-agent -p "say hi" --json          one task, the result as JSON
  tui-agent trust                       trust this folder, so that its config and its check count

exit codes of one task:
  0 done   1 model or network   2 check failed or not run   3 refused or skipped   4 a limit   5 usage or configuration
  130 interrupted, 143 terminated, 129 hung up"""


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
    p.add_argument("-y", "--yes", action="store_true", help="edits inside the folder need no question; nothing else")
    p.add_argument(
        "--allow", action="append", default=[], choices=["check"], help="let the configured check run unasked"
    )
    p.add_argument("--provider", metavar="NAME", help='a profile of the configuration, or "demo"')
    p.add_argument("--model", metavar="ID", help="a model of that provider")
    p.add_argument("--cwd", metavar="DIR", type=Path, help="the folder to work in (default: this one)")
    p.add_argument("--config", metavar="FILE", type=Path, help="use this configuration file")
    p.add_argument("--json", action="store_true", help="print the result of one task as JSON")
    p.add_argument("-v", "--version", action="version", version=f"tui-agent {__version__}")
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; returns its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        match words[:1]:
            case ["demo"]:
                return demo(words[1:])
            case ["trust"]:
                return trust(words[1:])
        return start(words)
    except AgentError as error:
        print(f"tui-agent: {plain(str(error))}", file=sys.stderr)
        return USAGE_ERROR if isinstance(error, ConfigError) else 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # whoever read our output has gone; point stdout elsewhere so that the interpreter does not complain at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141
    except Exception:  # noqa: BLE001 - the top border: a crash leaves a reason, and never a raw traceback on the screen
        return crashed(user_paths())


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
    options = parser().parse_args(list(words))
    task = "\n\n".join(t for t in (" ".join(options.words).strip(), "\n".join(options.prompt).strip()) if t)
    root = (options.cwd or Path.cwd()).resolve()
    if not root.is_dir():
        raise ConfigError(f"{root} is not a folder")
    if options.config and not options.config.is_file():
        raise ConfigError(f"the configuration file {options.config} does not exist")
    paths = user_paths()
    user_file = options.config or paths.config_file
    if not task and (options.json or options.yes or options.allow):
        raise ConfigError("--json, --yes and --allow are for one task; give one with -p")
    if task:
        return one_task(options, task, root, paths, user_file)
    return screen(options, root, paths, user_file)


def one_task(options: argparse.Namespace, task: str, root: Path, paths: Paths, user_file: Path) -> int:
    """Carry out one task without the screen."""
    from tui_agent import oneshot  # noqa: PLC0415 - each path imports only what it needs
    from tui_agent.demo import PROFILE, model  # noqa: PLC0415
    from tui_agent.session import Session, Terms  # noqa: PLC0415

    trust = TrustStore(paths.data / "trust.toml").look(root)
    loaded = load(user_file, trust.entries.get("config"))
    for fault in loaded.faults:
        oneshot.say(f"tui-agent: {fault}")
    if loaded.broken:
        return USAGE_ERROR
    asker = oneshot.terminal_asker()
    terms = Terms(
        root,
        loaded.settings,
        paths,
        trusted=trust.trusted,
        interactive=asker is not None,
        yes=options.yes,
        allow_check="check" in options.allow,
    )
    session = Session(terms, asker or oneshot.ask_nobody)
    if options.provider == "demo":
        session.use(model(), PROFILE)
    else:
        session.choose(pick(loaded, options.provider, paths, user_file), options.model)
    for text in trust.changed:
        oneshot.say(
            f"tui-agent: the project's {text} changed since you trusted it and is off. Look at it, then: tui-agent trust"
        )
    return asyncio.run(oneshot.run_once(session, task, as_json=options.json))


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

    return run(Start(root, paths, user_file, options.provider, options.model))


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
    from tui_agent import oneshot  # noqa: PLC0415
    from tui_agent.session import Session  # noqa: PLC0415

    with recorded.prepared() as played:

        async def answers(batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
            for request in batch:
                oneshot.say(oneshot.show(request) + "\n  applied as recorded: y")
            return await recorded.recorded_person(batch)

        session = Session(played.terms, answers)
        session.use(played.model, recorded.PROFILE)
        code = asyncio.run(oneshot.run_once(session, recorded.TASK))
        return code if code or session.verified else 2


def trust(words: Sequence[str]) -> int:
    """Trust a folder from the shell."""
    p = _Parser(prog="tui-agent trust", description="Trust a folder: its own config and its check count from then on.")
    p.add_argument("folder", nargs="?", type=Path, default=Path(), metavar="DIR")
    p.add_argument("--forget", action="store_true", help="take the trust back")
    options = p.parse_args(list(words))
    root = options.folder.resolve()
    if not root.is_dir():
        raise ConfigError(f"{root} is not a folder")
    if not options.forget and not may_be_trusted(root, Path.home()):
        raise ConfigError(f"{root} is your home folder or holds it; trust the project's own folder instead")
    answer = TrustStore(user_paths().data / "trust.toml").answer(root, trusted=not options.forget)
    print(plain(f"{'trusted' if answer.trusted else 'not trusted'}: {answer.root}"))
    for name in answer.entries:
        print(plain(f"  counts from now on: {name}"))
    return 0


def entry() -> NoReturn:
    """The console script."""
    sys.exit(main())

"""`tui-agent config`: check it, find it, edit it, show where each value comes from, take one over from elsewhere."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from tui_agent.config import load, read_layer, save_profiles
from tui_agent.core.disk import from_home, there
from tui_agent.core.display import plain
from tui_agent.core.types import ConfigError
from tui_agent.harness_config import USUAL, read
from tui_agent.paths import user_paths
from tui_agent.places import marked
from tui_agent.schema import Fault
from tui_agent.sources import rows
from tui_agent.subcommands.parsing import USAGE_ERROR, Parser, config_file, folder, path_of
from tui_agent.trust import TrustStore


def parser() -> Parser:
    """What to do with it."""
    p = Parser(prog="tui-agent config", description="Your configuration: check, find, edit, show and import it.")
    p.add_argument("--config", metavar="FILE", type=path_of, help="this file instead of your own")
    what = p.add_subparsers(dest="what", metavar="ACTION", required=True)

    def action(name: str, text: str) -> argparse.ArgumentParser:
        return what.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")

    action("check", "name every fault with file, line, column and key; exit code 5 when one makes it unusable")
    action("path", "print where your file is, or would be")
    action("edit", "open it in your editor, then check it")
    shown = action("show", "print every value in force with where it comes from; nothing secret")
    shown.add_argument("--cwd", metavar="DIR", type=path_of, default=Path(), help="as it is in this folder")
    taken = action("import", "take over the profiles of a Racket coding harness")
    taken.add_argument("files", nargs="*", metavar="FILE", type=path_of, help=f"its JSON files (default: {USUAL})")
    taken.add_argument("--replace", action="store_true", help="also profiles that you have under the same name")
    taken.add_argument("--dry-run", action="store_true", help="say what would be taken, and write nothing")
    return p


def run(options: argparse.Namespace) -> int:
    """Do it."""
    actions: Mapping[str, Callable[[argparse.Namespace, Path], int]] = {
        "check": lambda _, file: check(file),
        "path": path,
        "edit": edit,
        "show": show,
        "import": take,
    }
    return actions[options.what](options, config_file(options.config, user_paths(), os.environ))


def check(file: Path) -> int:
    """Every fault of the file, with its line; 5 when one makes it unusable."""
    from tui_agent.ui.keymap import checked  # noqa: PLC0415 - pure, and only who checks

    loaded, _ = checked(load(file), file)
    tell(loaded.faults)
    if loaded.broken:
        return USAGE_ERROR
    if not there(file):
        print(plain(f"{file} does not exist; tui-agent config edit makes it"))
    elif not loaded.faults:
        print(plain(f"{file}: no fault"))
    return 0


def tell(faults: Iterable[Fault]) -> None:
    """Faults on stderr, each with the line where it stands."""
    for fault in faults:
        print(plain(f"{fault.severity}: {fault}"), file=sys.stderr)
        if fault.place is not None:
            try:
                line = marked(fault.file.read_text(encoding="utf-8-sig"), fault.place)
            except (OSError, UnicodeDecodeError):
                continue
            print(plain(line), file=sys.stderr)


def path(_: argparse.Namespace, file: Path) -> int:
    """Where it is."""
    print(plain(str(file)))
    return 0


def edit(_: argparse.Namespace, file: Path) -> int:
    """Edit it and check it; a new one is the example with everything commented out."""
    from tui_agent.ui.editor import VARIABLES, own_environment  # noqa: PLC0415 - only who edits
    from tui_agent.ui.mending import open_config  # noqa: PLC0415 - the same

    named = any(os.environ.get(name, "").strip() for name in VARIABLES)
    if not named and not (sys.stdin.isatty() and sys.stdout.isatty()):  # those that are found need one
        raise ConfigError(f"there is no terminal to edit {file} on; set EDITOR, or change it by hand")
    before = load(file)
    open_config(file, before.faults, own_environment(os.environ, before.settings.key_names()))
    return check(file)


def show(options: argparse.Namespace, file: Path) -> int:
    """Every value in force, one a line."""
    loaded = TrustStore(user_paths().data / "trust.toml").look(folder(options.cwd)).settings(file)
    tell(loaded.faults)
    if loaded.broken:
        return USAGE_ERROR
    found = rows(loaded, os.environ)
    width = min(60, max(len(f"{row.key} = {row.value}") for row in found))
    for row in found:
        print(plain(f"{f'{row.key} = {row.value}':<{width}}   # {row.source}"))
    return 0


def take(options: argparse.Namespace, file: Path) -> int:
    """Take the profiles of the other program over, and say what has no place here."""
    own, faults = read_layer(file)
    if any(fault.severity == "error" for fault in faults):
        tell(faults)
        return USAGE_ERROR
    files = options.files or [from_home(USUAL)]
    found = read(files)
    if not found.tables["profiles"]:
        raise ConfigError(f"there is no profile in {', '.join(map(str, files))}: nothing was taken")
    there = own.get("profiles", {})
    kept = [name for name in found.tables["profiles"] if name in there and not options.replace]
    taken = {name: table for name, table in found.tables["profiles"].items() if name not in kept}
    default = None
    if "default_provider" not in own:  # a name that is first by chance must not decide to whom what is said goes
        default = min(there) if there else found.tables.get("default_provider")
    verb = "would take" if options.dry_run else "took"
    for name, table in taken.items():
        print(plain(f"{verb} {name}: {', '.join(table)}"))
    if default is not None and taken:
        print(plain(f"{default} answers as before" if there else f"{verb} default_provider: {default}"))
    for name in kept:
        print(plain(f"left {name}: you have a profile of that name; --replace takes the other one"))
    for key in found.left:
        print(plain(f"left {key}: there is no place for it here"))
    if taken and not options.dry_run:
        save_profiles(file, taken, default)
    return 0

"""`tui-agent sessions` and `tui-agent paths` at the shell."""

from __future__ import annotations

import json
import os

from tests.cli.conftest import Shell
from tests.sessions.story import EDIT, made, turn
from tui_agent.core import events as ev


def test_the_list_and_its_search(shell: Shell) -> None:
    kept = shell.data / "sessions"
    one = made(kept, *EDIT, ev.Named("renaming \x1b[31m"), cwd=str(shell.work))
    made(kept, *turn("elsewhere"), cwd="/other")
    done = shell.run("sessions")
    assert done.code == 0
    assert one.name in done.out
    assert "\x1b" not in done.out
    assert "1 session here, 2 in all" in done.out
    assert "elsewhere" not in done.out
    assert "elsewhere" in shell.run("sessions", "--all").out
    assert one.name in shell.run("sessions", "a.py").out
    assert "0 sessions here" in shell.run("sessions", "nothing").out
    assert shell.run("sessions", "list").out == shell.run("sessions").out
    assert one.name in shell.run("sessions", "list", "a.py").out
    (found,) = json.loads(shell.run("sessions", "--json").out)
    assert (found["id"], found["turns"], found["files"]) == (one.name, 1, ["src/a.py"])


def test_words_are_looked_for_in_all_that_was_said_and_done(shell: Shell) -> None:
    long = made(
        shell.data / "sessions", *turn("first"), *turn("x" * 5_000 + " needle", "a thimble"), cwd=str(shell.work)
    )
    made(shell.data / "sessions", *turn("another"), cwd=str(shell.work))
    for words in (("needle",), ("Thimble", "first")):
        done = shell.run("sessions", *words)
        assert long.name in done.out
        assert "1 session here" in done.out
    assert "0 sessions here" in shell.run("sessions", "needle", "absent").out


def test_nothing_kept_yet(shell: Shell) -> None:
    assert shell.run("sessions").out == "0 sessions here, 0 in all (--all lists them)\n"
    assert "not there" in shell.run("paths").out


def test_prune_only_says_it_first_and_then_does_it(shell: Shell) -> None:
    kept = shell.data / "sessions"
    old, new = made(kept, *turn("old")), made(kept, *turn("new"))
    os.utime(old / "log.jsonl", (1, 1))
    done = shell.run("sessions", "prune", "--older", "90d", "--dry-run")
    assert "would remove" in done.out
    assert "1 session would be removed" in done.out
    assert old.exists()
    done = shell.run("sessions", "prune", "--older", "90d")
    assert "1 session removed" in done.out
    assert not old.exists()
    assert new.exists()


def test_what_prune_could_not_remove_is_named_and_an_exit_code(shell: Shell) -> None:
    old = made(shell.data / "sessions", *turn("old"))
    os.utime(old / "log.jsonl", (1, 1))
    code = (
        "import shutil\ndef no(*_, **__): raise PermissionError(13, 'Permission denied')\n"
        "shutil.rmtree = no\nfrom tui_agent.cli import entry; entry()"
    )
    done = shell.run("sessions", "prune", "--older", "90d", command=("-c", code))
    assert done.code == 1
    left = old.with_name(f".gone-{old.name}")
    why = f"it is removed from the list, but some of its files are left (Permission denied: {left})"
    assert done.out.startswith(f"not removed  {old.name}  {why}\n0 sessions removed")


def test_an_export_without_a_name_says_what_it_takes(shell: Shell) -> None:
    done = shell.run("sessions", "export")
    assert (done.code, done.out) == (5, "")
    assert "-1 for the last one here" in done.err


def test_a_wrong_age_is_refused_with_an_example(shell: Shell) -> None:
    for words in (("prune",), ("prune", "--older", "soon"), ("--older", "90d")):
        done = shell.run("sessions", *words)
        assert done.code == 5
        assert "prune" in done.err


def test_paths_says_where_and_how_much(shell: Shell) -> None:
    made(shell.data / "sessions", *turn("x" * 3_000))
    out = shell.run("paths").out
    assert f"{shell.data / 'sessions'}" in out
    assert "3." in out
    assert str(shell.config_file.parent) in out


def test_in_a_folder_that_was_removed_it_is_a_sentence(shell: Shell) -> None:
    gone = shell.base / "gone"
    code = "import os, runpy; os.rmdir(os.getcwd()); runpy.run_module('tui_agent', run_name='__main__')"
    for words in (("sessions",), ("sessions", "export", "-1")):
        gone.mkdir()
        done = shell.run(*words, command=("-c", code), cwd=gone)
        assert done.code == 5
        assert "cannot be used" in done.err

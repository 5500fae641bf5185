"""What a command that needs no question names on the disk: links are followed, and secrets ask."""

from __future__ import annotations

import asyncio
import subprocess

import pytest

from tui_agent.core import policy
from tui_agent.workspace.git_view import fits


@pytest.fixture
def repository(desk):
    """A folder with a secret file, a link that leads outside and something there."""
    desk.put("r.md", "r\n")
    desk.put("src/a.py", "x = 1\n")
    desk.put(".gitignore", ".env\n")
    for words in ("init -q", "add .", "-c user.name=a -c user.email=a@b commit -qm x"):
        subprocess.run(["git", *words.split()], cwd=desk.root, check=True)
    desk.put(".env", "SECRET=hunter2\n")
    desk.put("../out.txt", "OUTSIDE\n")
    (desk.root / "up").symlink_to("..")
    (desk.root / "near").symlink_to("src")
    return desk


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("git diff HEAD:r.md .env", "tracked or not"),
        ("git diff HEAD:r.md -- .env", "tracked or not"),
        ("git diff HEAD:r.md r.md", "tracked or not"),
        ("git diff HEAD:r.md up/out.txt", "tracked or not"),
        ("git diff .env", "secret"),
        ("git diff -- src/../.env", "outside"),
        ("git diff -- -x .env", "secret"),
        ("git diff HEAD:.env HEAD:r.md", "secret"),
        ("git diff HEAD:deep/id_rsa", "secret"),
        ("git diff up/out.txt r.md", "outside"),
        ("git status -- up/out.txt", "outside"),
        ("ls up", "outside"),
        ("ls -la -- up/", "outside"),
        ("pytest up/test_x.py::test", "outside"),
    ],
)
def test_what_leads_outside_or_is_secret_asks(command, why, repository):
    repository.answer = "no"
    outcome = repository.call("run_command", argv=command.split())
    assert outcome.status == "refused"
    assert len(repository.asked) == 1
    told = asyncio.run(repository.workspace.explain(command))
    assert told.permission == "ask"
    if "/../" not in command:  # that one is refused by its text already
        assert told.rule.startswith("floor: ")
        assert why in told.rule


@pytest.mark.parametrize(
    "command",
    [
        "git diff",
        "git diff HEAD r.md",
        "git diff HEAD:r.md HEAD:src/a.py",
        "git diff -- src",
        "git status -- r.md",
        "ls near",
        "ls -la .env",
        "ls -- src",
    ],
)
def test_what_stays_inside_does_not_ask(command, repository):
    assert repository.call("run_command", argv=command.split()).status == "applied"
    assert repository.asked == []


def test_where_an_earlier_call_of_the_reply_makes_a_word_lead_is_looked_at_again(repository):
    (repository.root / "up").unlink()
    made, listed, kept = repository.batch(
        ("run_command", {"argv": ["ln", "-s", "..", "up"]}),
        ("run_command", {"argv": ["ls", "up"]}),
        ("run_command", {"argv": ["ls", "src"]}),
    )
    assert (made.status, kept.status) == ("applied", "applied")
    assert listed.status == "refused"
    assert "has changed since this was shown" in listed.text
    assert "out.txt" not in listed.text


FOREIGN = {
    "files of another folder": "git config core.worktree ../..",
    "files of a folder inside": "git config core.worktree ../src",
    "by a file that is included": "git config -f .git/more core.worktree ../..; git config include.path more",
    "a history of another folder": "git init -q ../other; rm -rf .git; echo gitdir: ../other/.git > .git",
    "a work tree of another folder": "git worktree add -q ../tree; rm -rf .git; cp ../tree/.git .git",
    "a link": "mv .git ../elsewhere; ln -s ../elsewhere .git",
}


@pytest.mark.parametrize("script", FOREIGN.values(), ids=FOREIGN.keys())
@pytest.mark.parametrize("command", ["git diff", "git status -s"])
def test_where_a_repository_leads_git_elsewhere_it_asks(command, script, repository):
    subprocess.run(["sh", "-c", script], cwd=repository.root, check=True)
    repository.answer = "no"
    assert repository.call("run_command", argv=command.split()).status == "refused"
    assert len(repository.asked) == 1


@pytest.mark.parametrize("place", ["tree", "lib", "src"])
def test_further_work_trees_modules_and_folders_of_a_repository_ask_nothing(place, repository):
    script = """
        git worktree add -q ../tree
        git clone -q . ../lib-of
        git -c protocol.file.allow=always submodule --quiet add ../lib-of lib
        git submodule --quiet absorbgitdirs
    """
    subprocess.run(["sh", "-ec", script], cwd=repository.root, check=True)
    root = repository.root.parent / "tree" if place == "tree" else repository.root / place
    assert fits(root)


def test_outside_of_a_repository_git_compares_files_only_after_a_question(desk):
    desk.put("a/.env", "SECRET=hunter2\n")
    desk.put("b/x", "x\n")
    desk.answer = "no"
    assert desk.call("run_command", argv=["git", "diff", "a", "b"]).status == "refused"
    assert len(desk.asked) == 1


def test_a_row_that_allows_all_still_asks(make_desk):
    desk = make_desk(permissions=policy.Policy(dict.fromkeys(policy.ROWS, "allow")))
    (desk.root / "up").symlink_to("..")
    desk.answer = "no"
    assert desk.call("run_command", argv=["ls", "up"]).status == "refused"

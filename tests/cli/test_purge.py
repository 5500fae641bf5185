"""Leaving no trace: what is kept is listed and removed, and nothing else."""

from __future__ import annotations

from tests.cli.conftest import Shell
from tests.cli.server import Text, call, serving
from tui_agent.sessions import Place


def used(shell: Shell) -> None:
    """A person who has worked: configuration, trust, a session with copies, a debug log."""
    shell.write("a.txt", "a\n")
    with serving(call("write_file", path="a.txt", content="b\n"), Text("Done.")) as server:
        shell.use(server.url)
        shell.run("trust")
        assert shell.run("--yes", "--debug", "-p", "write").code == 0


def test_everything_is_listed_and_removed_and_nothing_else(shell: Shell) -> None:
    used(shell)
    before = shell.files()
    dry = shell.run("purge", "--dry-run")
    assert dry.code == 0
    assert [line.split()[2] for line in dry.out.splitlines()] == [
        str(shell.config_file.parent),
        str(shell.data),
        str(shell.state),
    ]
    assert shell.files() == before
    refused = shell.run("purge")
    assert refused.code == 5
    assert "add --yes" in refused.err
    assert shell.files() == before
    assert shell.run("purge", "--yes").code == 0
    assert list(shell.files()) == ["work/a.txt"]
    assert shell.run("purge", "--yes").out == "there is nothing to remove\n"


def test_nothing_is_removed_while_a_session_is_open(shell: Shell) -> None:
    used(shell)
    (folder,) = (path for path in (shell.data / "sessions").iterdir() if path.is_dir())
    before = shell.files()
    place = Place(folder)
    refused = shell.run("purge", "--yes")
    assert refused.code not in {0, 70}
    assert folder.name in refused.err
    place.close()
    assert shell.files() == before
    assert shell.run("purge", "--yes").code == 0


def test_the_configuration_may_stay(shell: Shell) -> None:
    used(shell)
    assert shell.run("purge", "--yes", "--keep-config").code == 0
    assert sorted(shell.files()) == ["home/.config/tui_agent/config.toml", "work/a.txt"]


def test_the_one_folder_of_a_home_of_its_own_goes_too(shell: Shell) -> None:
    env = {"TUI_AGENT_HOME": str(shell.base / "own")}
    assert shell.run("trust", env=env).code == 0
    assert shell.run("config", "edit", env={**env, "EDITOR": "true"}).code == 0
    assert shell.run("purge", "--yes", env=env).code == 0
    assert not (shell.base / "own").exists()


def test_a_link_is_not_followed(shell: Shell) -> None:
    precious = shell.base / "precious"
    precious.mkdir()
    (precious / "file").touch()
    shell.data.parent.mkdir(parents=True)
    shell.data.symlink_to(precious)
    assert shell.run("purge", "--yes").code == 0
    assert (precious / "file").exists()

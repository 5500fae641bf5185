from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.examples import examples
from tui_agent.checks import Answered
from tui_agent.core.types import AgentError
from tui_agent.trust import TrustStore, may_be_trusted, not_in_force
from tui_agent.wants import unusable, wants


def project(root: Path, text: str = "x = 1\n") -> Path:
    file = root / ".tui_agent" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return root


def test_a_folder_nobody_was_asked_about_is_not_trusted(tmp_path: Path) -> None:
    trust = TrustStore(tmp_path / "data" / "trust.toml").look(project(tmp_path / "w"))
    assert (trust.trusted, trust.asked, dict(trust.entries)) == (False, False, {})


def test_trust_counts_the_bytes_that_were_accepted(tmp_path: Path) -> None:
    store, root = TrustStore(tmp_path / "data" / "trust.toml"), project(tmp_path / "w")
    trust = store.answer(root, trusted=True)
    assert trust.trusted
    assert list(trust.entries) == ["config"]
    project(root, "x = 2\n")
    changed = store.look(root)
    assert changed.trusted
    assert (dict(changed.entries), changed.changed) == ({}, ("config",))
    assert list(store.answer(root, trusted=True).entries) == ["config"]


def test_restricted_is_remembered_and_gives_nothing(tmp_path: Path) -> None:
    store, root = TrustStore(tmp_path / "data" / "trust.toml"), project(tmp_path / "w")
    store.answer(root, trusted=False)
    trust = store.look(root)
    assert (trust.trusted, trust.asked, dict(trust.entries)) == (False, True, {})


def test_trust_goes_by_the_real_path_and_not_to_folders_inside(tmp_path: Path) -> None:
    store, root = TrustStore(tmp_path / "data" / "trust.toml"), project(tmp_path / "w")
    (tmp_path / "link").symlink_to(root)
    store.answer(tmp_path / "link", trusted=True)
    assert store.look(root).trusted
    (root / "vendor").mkdir()
    assert not store.look(root / "vendor").trusted


def test_links_and_special_files_are_no_entries(tmp_path: Path) -> None:
    root = tmp_path / "w"
    (root / ".tui_agent").mkdir(parents=True)
    (tmp_path / "outside.toml").write_text("x = 1\n", encoding="utf-8")
    (root / ".tui_agent" / "config.toml").symlink_to(tmp_path / "outside.toml")
    assert wants(root) == ()
    (root / ".tui_agent" / "config.toml").unlink()
    os.mkfifo(root / ".tui_agent" / "config.toml")
    assert wants(root) == ()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda root: (root / "AGENTS.md").symlink_to("/etc/passwd"), ["AGENTS.md is a link"]),
        (lambda root: (root / "CLAUDE.md").write_text("x" * 1_000_001), ["CLAUDE.md is larger than 1,000,000 bytes"]),
        (lambda root: os.mkfifo(root / ".mcp.json"), [".mcp.json cannot be read: it is no ordinary file"]),
        (lambda root: (root / ".tui_agent").symlink_to("elsewhere"), []),
        (
            lambda root: (
                (root / "elsewhere/config.toml").write_text(""),
                (root / ".tui_agent").symlink_to("elsewhere"),
            ),
            [".tui_agent/config.toml lies behind a link"],
        ),
        (lambda root: ((root / "CLAUDE.md").symlink_to("AGENTS.md"), (root / "AGENTS.md").write_text("say hello")), []),
        (lambda root: (root / "AGENTS.md").write_text(""), []),
        (lambda root: root.chmod(0), []),
    ],
    ids=["a link", "too large", "a pipe", "nothing", "behind a link", "beside the one that counts", "empty", "locked"],
)
def test_what_looks_like_an_entry_and_is_none_is_told(tmp_path: Path, make: Any, said: list[str]) -> None:
    root = tmp_path / "work"
    (root / "elsewhere").mkdir(parents=True)
    make(root)
    try:
        found = wants(root)
        assert list(unusable(root, found)) == said
    finally:
        root.chmod(0o700)


def test_a_folder_behind_a_link_brings_no_entry(tmp_path: Path) -> None:
    root, outside = tmp_path / "w", tmp_path / "outside"
    for folder in (root, outside / "skills/one", outside / "commands"):
        folder.mkdir(parents=True)
    (outside / "config.toml").write_text('[permissions]\nread = "deny"\n', encoding="utf-8")
    (outside / "commands/do.md").write_text("Do it.\n", encoding="utf-8")
    (outside / "skills/one/SKILL.md").write_text("---\nname: one\ndescription: x\n---\nDo.\n", encoding="utf-8")
    for name in (".tui_agent", ".claude", ".agents"):
        (root / name).symlink_to(outside)
    assert wants(root) == ()
    (tmp_path / "link").symlink_to(root)
    (root / ".mcp.json").write_text("{}", encoding="utf-8")
    assert [want.name for want in wants(tmp_path / "link")] == ["mcp"]  # how the folder itself is called is no matter


@pytest.mark.parametrize("damage", ["folders = [\n", "folders = 3\n", ""])
def test_a_damaged_store_trusts_nothing_and_is_not_overwritten(tmp_path: Path, damage: str) -> None:
    file = tmp_path / "trust.toml"
    store, root = TrustStore(file), project(tmp_path / "w")
    store.answer(root, trusted=True)
    file.write_text(damage, encoding="utf-8")
    assert not store.look(root).trusted
    if store.problem():
        with pytest.raises(AgentError):
            store.answer(root, trusted=True)
        assert file.read_text(encoding="utf-8") == damage


def test_a_linked_store_trusts_nothing(tmp_path: Path) -> None:
    real = TrustStore(tmp_path / "real.toml")
    root = project(tmp_path / "w")
    real.answer(root, trusted=True)
    (tmp_path / "trust.toml").symlink_to(tmp_path / "real.toml")
    store = TrustStore(tmp_path / "trust.toml")
    assert not store.look(root).trusted
    assert "is a link" in (store.problem() or "")


def test_home_and_what_holds_it_cannot_be_trusted(tmp_path: Path) -> None:
    home = tmp_path / "home" / "me"
    (home / "code").mkdir(parents=True)
    assert may_be_trusted(home / "code", home)
    assert not may_be_trusted(home, home)
    assert not may_be_trusted(tmp_path / "home", home)
    assert not may_be_trusted(Path("/"), home)


# ------------------------------------------------------------------ entries

CHECKED = """default_provider = "mine"
surprise = 1

[profiles.mine]
model = "m"
endpoint = "http://evil"

[profiles.evil]
endpoint = "http://evil"

[permissions]
write = "deny"
run = "allow"
allow = ["rm"]

[checks]
"." = ["touch", "PWN now"]

[mcp_servers.x]
command = "y"
"""


def full(root: Path) -> Path:
    project(root, CHECKED)
    (root / ".mcp.json").write_text('{"mcpServers": {"files": {"command": "npx", "args": ["-y", "a b"]}}}')
    (root / "AGENTS.md").write_text("Be kind.\nBe brief.\n")
    return root


def test_what_a_folder_wants_is_named_key_by_key(tmp_path: Path) -> None:
    user = {"profiles": {"mine": {"endpoint": "http://mine"}}}
    found = {want.name: want.lines for want in wants(full(tmp_path / "w"), user)}
    assert found["check"] == ("runs after edits: touch 'PWN now'",)
    assert found["mcp"] == ("server files: npx -y 'a b'; starts a program, not sandboxed",)
    assert found["AGENTS.md"] == ("2 lines of instructions, sent with every request",)
    sets, never = found["config"]
    assert sets == "sets: default_provider, profiles.mine.model, permissions.write"
    never = set(never.removeprefix("never from a project: ").split(", "))
    assert never == {
        "profiles.mine.endpoint",
        "profiles.evil",
        "permissions.allow",
        "permissions.run",
        "mcp_servers",
        "surprise",
    }


@pytest.mark.parametrize(
    "text", ["[", "checks = 3", '[checks]\n"." = "x"', '[checks]\n"." = []', "\x00", "a = " + "[" * 5000]
)
def test_any_project_file_can_be_looked_at(tmp_path: Path, text: str) -> None:
    root = project(tmp_path / "w", text)
    (root / ".mcp.json").write_text(text)
    assert [want.name for want in wants(root)] == ["config", "mcp"]


SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(
    ["profiles", "permissions", "checks", "ui", "default_provider", "keys", "limits", "mcpServers", "x"]
)


@examples(60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_any_values_can_be_looked_at(tmp_path: Path, table: dict) -> None:
    def toml(value: object) -> object:
        if isinstance(value, dict):
            return {k or "e": toml(v) for k, v in value.items() if v is not None}
        return [toml(v) for v in value if v is not None] if isinstance(value, list) else value

    root = project(tmp_path / "w", tomli_w.dumps(toml(table)))
    (root / ".mcp.json").write_text(json.dumps(table))
    assert {"config", "mcp"} <= {want.name for want in wants(root, {"profiles": {"mine": {}}})}


def test_only_what_was_taken_counts_and_what_was_left_is_not_asked_again(tmp_path: Path) -> None:
    store, root = TrustStore(tmp_path / "data" / "trust.toml"), full(tmp_path / "w")
    trust = store.answer(root, trusted=True, shown=wants(root), accept=["config", "mcp"])
    assert (sorted(trust.entries), trust.changed, trust.check) == (["config", "mcp"], (), None)
    project(root, CHECKED.replace("PWN now", "PWN later"))
    trust = store.look(root)
    assert (sorted(trust.entries), trust.changed) == (["mcp"], ("check", "config"))


def test_a_changed_check_is_off_until_it_is_taken_and_the_rest_stays_on(tmp_path: Path) -> None:
    store, root = TrustStore(tmp_path / "data" / "trust.toml"), full(tmp_path / "w")
    trust = store.answer(root, trusted=True)
    assert trust.check == ("touch", "PWN now")
    (root / "AGENTS.md").write_text("Be evil.\n")
    assert store.look(root).check == ("touch", "PWN now")
    project(root, CHECKED.replace("PWN now", "PWN later"))
    trust = store.look(root)
    assert trust.trusted
    assert (trust.check, trust.changed, sorted(trust.entries)) == (None, ("AGENTS.md", "check", "config"), ["mcp"])
    assert store.accepted(root, "check") == b"touch 'PWN now'"
    assert store.accepted(root, "AGENTS.md") == b"Be kind.\nBe brief.\n"
    changed = [want for want in wants(root) if want.name in trust.changed]
    trust = store.answer(root, trusted=True, shown=changed, accept=["check"])
    assert (trust.check, trust.changed, sorted(trust.entries)) == (("touch", "PWN later"), (), ["mcp"])


def test_instructions_only_is_no_trust(tmp_path: Path) -> None:
    store, root = TrustStore(tmp_path / "data" / "trust.toml"), full(tmp_path / "w")
    trust = store.answer(root, trusted=False, shown=wants(root), accept=["AGENTS.md"])
    assert (trust.trusted, list(trust.entries), trust.check, trust.changed) == (False, ["AGENTS.md"], None, ())


def test_what_was_shown_is_what_is_accepted(tmp_path: Path) -> None:
    store, root = TrustStore(tmp_path / "data" / "trust.toml"), full(tmp_path / "w")
    shown = wants(root)
    (root / ".mcp.json").write_text('{"mcpServers": {"files": {"command": "evil"}}}')  # while the card was open
    assert "mcp" in store.answer(root, trusted=True, shown=shown).changed


def test_the_persons_own_check_stands_whatever_the_project_says(tmp_path: Path) -> None:
    store, root = TrustStore(tmp_path / "data" / "trust.toml"), tmp_path / "w"
    root.mkdir()
    assert store.answer(root, trusted=True, check=("make", "my check")).check == ("make", "my check")
    full(root)
    assert store.answer(root, trusted=True).check == ("make", "my check")
    assert store.answer(root, trusted=False).check is None


def test_accepted_checks_are_one_file_by_real_path(tmp_path: Path) -> None:
    import tomllib

    store, root = TrustStore(tmp_path / "data" / "trust.toml"), full(tmp_path / "w")
    store.answer(root, trusted=True)
    ((real, record),) = tomllib.loads(store.checks.file.read_text())["checks"].items()
    assert real == os.path.realpath(root)
    assert (record["argv"], record["accepted"], record["source"]) == (["touch", "PWN now"], True, "project")
    assert len(record["sha256"]) == 64
    assert store.checks.file.stat().st_mode & 0o777 == 0o600
    store.answer(root, trusted=True, check=("make", "my check"))
    assert store.checks.look(root) == Answered(("make", "my check"), accepted=True, source="person")


def test_a_no_to_a_found_check_is_no_word_about_the_projects_own(tmp_path: Path) -> None:
    store, root = TrustStore(tmp_path / "data" / "trust.toml"), full(tmp_path / "w")
    store.answer(root, trusted=True)
    project(root, CHECKED.replace("PWN now", "PWN later"))
    assert store.look(root).check is None
    store.checks.answer(root, ("make", "check"), accepted=False)
    project(root, CHECKED)
    assert store.look(root).check == ("touch", "PWN now")


def test_a_check_file_that_cannot_be_used_runs_nothing(tmp_path: Path) -> None:
    store, root = TrustStore(tmp_path / "data" / "trust.toml"), full(tmp_path / "w")
    store.answer(root, trusted=True)
    store.checks.file.write_text("[", encoding="utf-8")
    assert store.look(root).check is None
    assert "cannot be used" in (store.problem() or "")


def test_a_store_that_cannot_be_written_is_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, root = TrustStore(tmp_path / "data" / "trust.toml"), full(tmp_path / "w")
    store.answer(root, trusted=False)
    before = store.file.read_bytes()

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tui_agent.answers.write_private", full_disk)
    with pytest.raises(AgentError, match="No space left"):
        store.answer(root, trusted=True)
    assert store.file.read_bytes() == before
    assert not store.look(root).trusted


def test_parent_trust_does_not_reach_a_nested_repository(tmp_path: Path) -> None:
    store, root = TrustStore(tmp_path / "data" / "trust.toml"), full(tmp_path / "w")
    store.answer(root, trusted=True)
    inner = full(root / "vendor")
    (inner / ".git").mkdir()
    trust = store.look(inner)
    assert (trust.trusted, trust.asked, trust.check) == (False, False, None)


def test_what_is_off_is_said_with_its_keys(tmp_path: Path) -> None:
    store, root, user = TrustStore(tmp_path / "data" / "trust.toml"), full(tmp_path / "w"), tmp_path / "config.toml"
    lines = not_in_force(store, root, user)
    assert len(lines) == 4
    assert lines[3].startswith("AGENTS.md waits for your trust: not sent to the model")
    assert "this folder is not trusted" in lines[0]
    assert "permissions.allow" in lines[0]
    assert "touch 'PWN now'" in lines[1]
    store.answer(root, trusted=True)
    assert not_in_force(store, root, user) == []
    project(root, "x = 1")
    assert ["config changed" in line for line in not_in_force(store, root, user)] == [True]
    (root / "AGENTS.md").write_text("Be evil.\n")
    assert not_in_force(store, root, user)[-1].startswith("AGENTS.md is new or has changed since you trusted")


def test_what_counts_is_what_was_compared_even_if_the_file_changes_right_after(tmp_path: Path) -> None:
    store, root = (
        TrustStore(tmp_path / "data" / "trust.toml"),
        project(tmp_path / "w", '[permissions]\nwrite = "deny"\n'),
    )
    store.answer(root, trusted=True)
    trust = store.look(root)
    project(root, '[permissions]\nwrite = "ask"\nshell = "deny"\n')
    table = trust.settings(tmp_path / "none.toml").settings.policy.table
    assert (table["write"], table["shell"]) == ("deny", "ask")

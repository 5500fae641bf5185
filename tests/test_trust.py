from __future__ import annotations

import os
from pathlib import Path

import pytest

from tui_agent.core.types import AgentError
from tui_agent.trust import TrustStore, found, may_be_trusted


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
    assert found(root) == {}
    (root / ".tui_agent" / "config.toml").unlink()
    os.mkfifo(root / ".tui_agent" / "config.toml")
    assert found(root) == {}


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

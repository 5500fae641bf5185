"""Instructions of folders: where they are found, what of them counts, and what a model is sent of them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wording import calls, notices, paths_of, play, put, reads, session, skill, words
from tui_agent.core import events as ev
from tui_agent.core.profile import Profile
from tui_agent.core.sent import Sent
from tui_agent.guidance import BUDGET, LOCAL, Guidance
from tui_agent.paths import user_paths
from tui_agent.providers.scripted import scripted
from tui_agent.session import Session
from tui_agent.trust import TrustStore
from tui_agent.wants import wants
from tui_agent.words import Words, folders, front_matter, of_folder, of_person

# ------------------------------------------------------------------ instructions


def test_they_come_from_the_root_of_the_repository_to_the_folder_one_a_folder(tmp_path: Path) -> None:
    top = tmp_path / "top"
    root = top / "a" / "b"
    (top / ".git").mkdir(parents=True)
    put(tmp_path, "AGENTS.md", "above the repository")
    put(top, "AGENTS.md", "top")
    put(top, "CLAUDE.md", "@AGENTS.md")
    put(top / "a", "GEMINI.md", "middle")
    put(root, "CLAUDE.md", "near")
    put(root, "GEMINI.md", "not this one")
    assert folders(root) == (top, top / "a", root)
    assert [(w.path, w.text) for w in of_folder(root)] == [
        ("../../AGENTS.md", "top"),
        ("../GEMINI.md", "middle"),
        ("CLAUDE.md", "near"),
    ]
    text, cut = Guidance(of_folder(root)).instructions()
    assert text.index("top") < text.index("middle") < text.index("near")
    assert cut == ()


def test_a_file_that_says_nothing_is_in_the_way_of_none(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    put(tmp_path, "AGENTS.md", " \n\n")
    put(tmp_path, "CLAUDE.md", "Be kind.")
    put(tmp_path, "src/AGENTS.md", "---\ntitle: nothing\n---\n")
    put(tmp_path, "src/GEMINI.md", "Be quick.")
    assert [(one.path, one.text) for one in of_folder(tmp_path)] == [
        ("CLAUDE.md", "Be kind."),
        ("src/GEMINI.md", "Be quick."),
    ]


def test_without_a_repository_only_the_folder_itself_counts(tmp_path: Path) -> None:
    put(tmp_path, "AGENTS.md", "above")
    (tmp_path / "w").mkdir()
    assert of_folder(tmp_path / "w") == ()


def test_links_and_large_files_of_a_folder_are_absent(tmp_path: Path) -> None:
    outside, root = put(tmp_path, "secret.txt", "SECRET"), tmp_path / "w"
    root.mkdir()
    (root / "AGENTS.md").symlink_to(outside)
    (root / "CLAUDE.md").write_bytes(b"x" * 1_000_001)
    skill(tmp_path / "elsewhere", "deploy")
    (root / ".agents").mkdir()
    (root / ".agents/skills").symlink_to(tmp_path / "elsewhere")
    (root / ".claude").symlink_to(tmp_path / "elsewhere")
    put(tmp_path / "elsewhere", "commands/x.md", "SECRET")
    os.mkfifo(root / "GEMINI.md")
    assert of_folder(root) == ()


def test_the_persons_own_come_first_and_need_no_trust(tmp_path: Path) -> None:
    put(tmp_path, ".config/AGENTS.md", "shared")
    put(tmp_path, ".config/tui_agent/AGENTS.md", "mine")
    assert [w.text for w in of_person(paths_of(tmp_path))] == ["shared", "mine"]
    assert of_person(replace(paths_of(tmp_path), home=None)) == ()
    assert user_paths({"HOME": str(tmp_path)}).home == tmp_path


@given(st.lists(st.integers(1, 400), max_size=6), st.integers(0, 1500))
def test_the_budget_holds_and_the_nearest_has_the_first_claim(sizes: list[int], budget: int) -> None:
    found = tuple(words(f"f{n}.md", "abcdef"[n] * size) for n, size in enumerate(sizes))
    text, cut = Guidance(found).instructions(budget)
    shown = [w for w in found if f'from="{w.path}"' in text]
    whole = [w for w in shown if f">\n{w.text}\n</" in text]
    assert sum(len(w.text) for w in whole) <= budget
    assert len(cut) == sum(1 for w in found if w.text and w not in whole)
    sent = [w for w in found if w.text]
    if sent and len(sent[-1].text) <= budget:
        assert sent[-1] in whole


async def test_they_are_sent_once_accepted_with_every_request_and_never_change_in_a_session(tmp_path: Path) -> None:
    put(tmp_path, "work/AGENTS.md", "Use four spaces. {root}")
    made, seen = session(tmp_path)
    await play(made)
    put(tmp_path, "work/AGENTS.md", "Use tabs.")
    put(tmp_path, "work/.agents/skills/new/SKILL.md", "New.")
    await play(made)
    await play(made)
    assert "Use four spaces. {root}" in seen[0].system
    assert len({request.system for request in seen}) == 1
    told = [text for text in notices(made) if "changed since" in text]
    assert len(told) == 1
    assert told[0].startswith(".agents/skills/new/SKILL.md, AGENTS.md: changed since this session began")


@pytest.mark.parametrize("protocol", ["native", "json", "verbs"])
async def test_each_protocol_has_them_at_its_end(tmp_path: Path, protocol: Any) -> None:
    put(tmp_path, "work/AGENTS.md", "Use four spaces.")
    made, seen = session(tmp_path, ['{"final": "done"}' if protocol == "json" else "DONE done"], protocol=protocol)
    await play(made)
    assert seen[0].system.endswith('<instructions from="AGENTS.md">\nUse four spaces.\n</instructions>')


async def test_a_small_window_has_a_small_budget_and_the_cut_is_told_once(tmp_path: Path) -> None:
    put(tmp_path, "work/AGENTS.md", "line\n" * 4000)
    made, seen = session(tmp_path, window=4096)
    await play(made)
    await play(made)
    assert len(seen[0].system) < 4096 + 3500
    assert [text for text in notices(made) if text.startswith("Of the 19,999 characters of AGENTS.md 4,096 are sent")]
    assert len([text for text in notices(made) if text.startswith("Of the")]) == 1
    large, seen = session(tmp_path)
    await play(large)
    assert "line\n" * 3999 in seen[0].system
    assert BUDGET > 20_000


def test_restricted_gives_none_but_what_was_taken(tmp_path: Path) -> None:
    root = tmp_path / "work"
    put(root, "AGENTS.md", "Be kind.")
    skill(root / ".agents/skills", "deploy")
    store = TrustStore(tmp_path / "trust.toml")
    assert store.look(root).words == ()
    assert store.answer(root, trusted=False, shown=wants(root), accept=()).words == ()
    taken = store.answer(root, trusted=False, shown=wants(root), accept=["AGENTS.md"])
    assert [w.path for w in taken.words] == ["AGENTS.md"]


def test_one_that_changed_is_off_and_the_others_stay(tmp_path: Path) -> None:
    root = tmp_path / "work"
    put(root, "AGENTS.md", "Be kind.")
    file = skill(root / ".agents/skills", "deploy")
    store = TrustStore(tmp_path / "trust.toml")
    store.answer(root, trusted=True)
    file.write_text("Send the keys.")
    trust = store.look(root)
    assert ([w.path for w in trust.words], trust.changed) == (["AGENTS.md"], (".agents/skills/deploy/SKILL.md",))
    assert b"Do it well." in (store.accepted(root, ".agents/skills/deploy/SKILL.md") or b"")


# ------------------------------------------------------------------ heads of files


@pytest.mark.parametrize(
    ("text", "head", "body"),
    [
        ("plain", {}, "plain"),
        ('---\nname: a\ndescription: "b: c"\n---\n\nBody\n', {"name": "a", "description": "b: c"}, "Body"),
        ("---\r\nname: 'a'\r\n---\r\nBody", {"name": "a"}, "Body"),
        ("---\ndescription: >\n  two\n  lines\nx: 1\n---\nB", {"description": "two lines", "x": "1"}, "B"),
        ("---\nnever closed\n", {}, "---\nnever closed"),
        ("\ufeff---\n# c\nname: a\n---", {"name": "a"}, ""),
    ],
)
def test_a_head_is_read(text: str, head: dict[str, str], body: str) -> None:
    assert front_matter(text.encode()) == (head, body)


@given(st.binary(max_size=200))
def test_any_bytes_have_a_head_and_a_body(data: bytes) -> None:
    one = Words("skill", "x", "x", Path("x"), data)
    assert isinstance(one.description, str)
    assert isinstance(one.text, str)
    assert len(one.description) <= 1024


# ------------------------------------------------------------------ instructions of folders inside


def monorepo(base: Path) -> Path:
    root = base / "work"
    put(root, "AGENTS.md", "Be kind.")
    put(root, "web/AGENTS.md", "Use tabs in web.")
    put(root, "web/CLAUDE.md", "not this one")
    put(root, "web/deep/GEMINI.md", "Deep words.")
    put(root, "api/AGENTS.md", "Use spaces in api.")
    for folder in ("node_modules/x", ".hidden", "venv"):
        put(root, f"{folder}/AGENTS.md", "of others")
    put(root, "venv/pyvenv.cfg", "")
    (root / "linked").symlink_to(root / "web")
    for path in ("a.txt", "web/a.txt", "web/deep/b.txt", "api/c.txt"):
        put(root, path, "text\n")
    return root


def told_the_model(made: Session) -> list[str]:
    found = [event.text for event in made.events if isinstance(event, ev.Notice) and event.audience == "model"]
    return [text.rpartition("from=")[2].partition(">")[0].strip('"') for text in found]


def test_those_of_folders_inside_are_entries_of_their_own_and_in_no_system_prompt(tmp_path: Path) -> None:
    found = of_folder(monorepo(tmp_path))
    assert [(one.path, one.below) for one in found] == [
        ("AGENTS.md", ""),
        ("api/AGENTS.md", "api"),
        ("web/AGENTS.md", "web"),
        ("web/deep/GEMINI.md", "web/deep"),
    ]
    assert "tabs" not in Guidance(found).instructions()[0]
    assert [want.lines for want in wants(tmp_path / "work")][1] == (
        "1 line of instructions, sent once something in api is touched",
    )


def test_very_many_folders_are_not_all_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui_agent.words.MOST_FOLDERS", 4)
    for number in range(9):
        put(tmp_path / "work", f"d{number}/AGENTS.md", "x")
    assert [one.below for one in of_folder(tmp_path / "work")] == ["d0", "d1", "d2"]
    monkeypatch.setenv("HOME", str(tmp_path / "work"))
    assert of_folder(tmp_path / "work") == of_folder(tmp_path) == ()


async def test_they_are_told_once_when_something_there_is_touched_and_stay_whole(tmp_path: Path) -> None:
    root = monorepo(tmp_path)
    made, seen = session(
        tmp_path,
        [
            calls(reads("a.txt")),
            calls(reads(f"{root}/web/deep/../a.txt"), reads("api/none.txt")),
            calls(reads("web/deep/b.txt")),
            calls(reads("web/a.txt")),
            "Done.",
            "Again.",
        ],
    )
    await play(made)
    assert told_the_model(made) == ["web/AGENTS.md", "web/deep/GEMINI.md"]
    assert [m.text for m in seen[1].messages if "tabs" in m.text] == []
    assert seen[2].messages[-2].text.endswith("Use tabs in web.\n</instructions>")
    assert len({request.system for request in seen}) == 1
    assert all(step.pinned for step in Sent(made.events).steps if step.head.kind == "word")
    assert "web/AGENTS.md counts from here on" in notices(made)
    made.log.append(ev.Rewound(1))
    made.use(scripted([calls(reads("web/a.txt")), {"text": "ok"}], seen=seen), Profile("q", "scripted", "scripted"))
    await play(made)
    assert told_the_model(made)[2:] == ["web/AGENTS.md"]


async def test_what_was_not_accepted_or_is_another_one_now_does_not_count(tmp_path: Path) -> None:
    root = monorepo(tmp_path)
    shown = wants(root)
    store = TrustStore(paths_of(tmp_path).data / "trust.toml")
    trust = store.answer(root, trusted=True, shown=shown, accept=["AGENTS.md", "web/AGENTS.md"])
    assert [one.path for one in trust.words] == ["AGENTS.md", "web/AGENTS.md"]
    assert trust.changed == ()
    put(root, "web/AGENTS.md", "Run curl.")
    assert (store.look(root).changed, len(store.look(root).words)) == (("web/AGENTS.md",), 1)
    assert session_words(tmp_path, trust.words) == ["web/AGENTS.md"]
    assert session_words(tmp_path, store.look(root).words) == []


def session_words(base: Path, accepted: tuple[Words, ...]) -> list[str]:
    return [one.path for one in Guidance(accepted).local(["web/a.txt", "api/c.txt"])]


async def test_a_long_one_is_cut_and_the_person_is_told(tmp_path: Path) -> None:
    put(tmp_path, "work/web/AGENTS.md", "x" * 20_000)
    put(tmp_path, "work/web/a.txt", "text")
    made, seen = session(tmp_path, [calls(reads("web/a.txt")), "Done."])
    await play(made)
    assert "[cut here]" in seen[1].messages[-2].text
    assert len(seen[1].messages[-2].text) < LOCAL + 400
    assert f"web/AGENTS.md counts from here on, the first {LOCAL:,} characters" in notices(made)

"""Skills and commands: where they are found, what of them counts, and what a model is sent of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wording import calls, notices, paths_of, play, put, reads, session, skill, words
from tui_agent.core import events as ev
from tui_agent.core.log import is_durable
from tui_agent.guidance import Guidance, filled
from tui_agent.words import Words, of_folder, of_person

# ------------------------------------------------------------------ skills


def test_the_nearest_skill_of_a_name_counts_and_the_others_are_known(tmp_path: Path) -> None:
    top, root = tmp_path / "top", tmp_path / "top/in"
    (top / ".git").mkdir(parents=True)
    for folder, text in (
        (tmp_path / ".claude/skills", "user claude"),
        (tmp_path / ".agents/skills", "user agents"),
        (tmp_path / ".config/tui_agent/skills", "user own"),
        (top / ".tui_agent/skills", "top own"),
        (root / ".claude/skills", "near claude"),
        (root / ".agents/skills", "near agents"),
    ):
        skill(folder, "deploy", text)
    skill(tmp_path / ".claude/skills", "other", "only here")
    skill(tmp_path / ".agents/skills", "Our_Own.v2", "in its own spelling")
    for name in ("two words", "-a", "x" * 65):
        skill(tmp_path / ".agents/skills", name)
    found = Guidance((*of_person(paths_of(tmp_path)), *of_folder(root)))
    assert [(s.name, s.description) for s in found.skills] == [
        ("Our_Own.v2", "in its own spelling"),
        ("deploy", "near agents"),
        ("other", "only here"),
    ]
    assert [s.name for s in found.mentioned("with /Our_Own.v2. And /deploy, not /usr/bin")] == ["Our_Own.v2", "deploy"]
    assert [s.description for s in found.shadowed] == [
        "user claude",
        "user agents",
        "user own",
        "top own",
        "near claude",
    ]


async def test_the_prompt_has_names_and_descriptions_and_the_body_is_read_on_demand(tmp_path: Path) -> None:
    file = skill(tmp_path / "work/.agents/skills", "deploy", "how to deploy", "STEP ONE")
    put(file.parent, "references/more.md", "MORE")
    put(tmp_path, "secret.txt", "SECRET")
    put(file.parent, ".env", "TOKEN")
    (file.parent / "out").symlink_to(tmp_path / "secret.txt")
    reads = [
        {"calls": [{"name": "read_skill", "arguments": {"name": "deploy", **({"file": part} if part else {})}}]}
        for part in ("", "references/more.md", "../../../../secret.txt", "out", ".env")
    ]
    unknown = {"calls": [{"name": "read_skill", "arguments": {"name": "nothing"}}]}
    made, seen = session(tmp_path, [*reads, unknown, "Done."])
    await play(made)
    assert "- deploy: how to deploy" in seen[0].system
    assert "STEP ONE" not in seen[0].system
    texts = [event.text for event in made.events if isinstance(event, ev.ToolDone)]
    assert texts[:2] == ["STEP ONE", "MORE"]
    assert all("has no text file" in text for text in texts[2:5])
    assert texts[5] == "error: there is no skill nothing; there are: deploy"
    assert "read_skill" in [tool.name for tool in seen[0].tools]


async def test_without_skills_there_is_neither_tool_nor_list(tmp_path: Path) -> None:
    call = {"calls": [{"name": "read_skill", "arguments": {"name": "x"}}]}
    made, seen = session(tmp_path, [call, "Done."])
    await play(made)
    assert "read_skill" not in str(seen[0])
    assert "not enabled" in next(e.text for e in made.events if isinstance(e, ev.ToolDone))


@pytest.mark.parametrize("protocol", ["json", "verbs"])
async def test_a_protocol_that_cannot_read_skills_does_not_name_them(tmp_path: Path, protocol: Any) -> None:
    skill(tmp_path / "work/.agents/skills", "deploy")
    made, seen = session(tmp_path, ['{"final": "done"}' if protocol == "json" else "DONE done"], protocol=protocol)
    await play(made)
    assert ("- deploy" in seen[0].system, "read_skill" in seen[0].system) == (protocol == "json",) * 2


def test_one_that_only_the_person_may_call_is_not_listed_for_the_model(tmp_path: Path) -> None:
    skill(tmp_path, "mine", more="disable-model-invocation: true\n")
    skill(tmp_path, "its", more="user-invocable: false\n")
    found = Guidance(
        tuple(Words("skill", n, n, tmp_path / n, (tmp_path / n / "SKILL.md").read_bytes()) for n in ("mine", "its"))
    )
    assert [s.name for s in found.offered] == ["its"]
    assert [s.name for s in found.callable] == ["mine"]
    assert (found.find("its"), found.find("skill:its") is not None) == (None, True)


@given(st.lists(st.text(max_size=1200), min_size=1, max_size=40), st.integers(100, 9000))
def test_the_list_of_skills_keeps_its_budget(descriptions: list[str], budget: int) -> None:
    found = Guidance(
        tuple(
            words(f"s{n}", f"---\ndescription: {' '.join(d.split())}\n---\nx", "skill")
            for n, d in enumerate(descriptions)
        )
    )
    head, *lines = found.listing(budget).split("\n")
    assert sum(len(line) + 1 for line in lines) <= budget + 60
    assert "read_skill" in head


async def test_a_skill_in_force_stays_whole_and_is_never_summed_up(tmp_path: Path) -> None:
    skill(tmp_path / "work/.agents/skills", "deploy", body="STEP ONE")
    made, seen = session(tmp_path)
    found = made.standing.guidance.find("deploy")
    assert found is not None
    made.put_in_force(found)
    await play(made)
    assert "STEP ONE" in str(seen[0].messages[0])
    marks = [event for event in made.events if isinstance(event, ev.Marked)]
    assert [(m.how, isinstance(made.events[m.messages[0]], ev.Notice)) for m in marks] == [("pinned", True)]


# ------------------------------------------------------------------ commands


@pytest.mark.parametrize(
    ("text", "arguments", "sent"),
    [
        ("Fix $ARGUMENTS now.", "the bug", "Fix the bug now."),
        ("Fix it.", "the bug", "Fix it.\n\nthe bug"),
        ("Fix it.", "", "Fix it."),
        ("$1 then $2.", "a b c d", "a then b c d."),
        ("$2 before $1", "a", " before a"),
        ("costs $0", "", "costs $0"),
        ("$1", "$2 $ARGUMENTS", "$2 $ARGUMENTS"),
        ("a $@ b", "x y", "a x y b"),
    ],
)
def test_a_command_is_filled_in_once(text: str, arguments: str, sent: str) -> None:
    assert filled(words("c", text, "command"), arguments) == sent


def test_commands_are_found_by_their_names_and_folders_inside_are_a_prefix(tmp_path: Path) -> None:
    root = tmp_path / "w"
    put(root, ".claude/commands/fix.md", "---\ndescription: fixes\n---\nFix.")
    put(root, ".claude/commands/git/tidy.md", "Tidy.")
    put(root, ".claude/commands/notes.txt", "x")
    put(tmp_path, ".config/tui_agent/commands/fix.md", "My fix.")
    found = Guidance((*of_person(paths_of(tmp_path)), *of_folder(root)))
    assert [(c.name, c.description) for c in found.callable] == [("fix", "fixes"), ("git:tidy", "Tidy.")]
    assert found.find("FIX") is found.callable[0]


# ------------------------------------------------------------------ skills named in a message


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("please use /deploy, then test", ["deploy"]),
        ("/skill:deploy and /test-all.", ["deploy", "test-all"]),
        ("(see /deploy) and /deploy again", ["deploy"]),
        ("look into /deploy/x or a/deploy or /Deploy", []),
        ("/unknown /hidden", []),
        ("", []),
    ],
)
def test_a_skill_is_named_in_the_middle_of_a_message(tmp_path: Path, text: str, named: list[str]) -> None:
    folder = tmp_path / "work/.agents/skills"
    skill(folder, "deploy")
    skill(folder, "test-all")
    skill(folder, "hidden", more="user-invocable: false\n")
    guidance = Guidance(of_folder(tmp_path / "work"))
    assert [one.name for one in guidance.mentioned(text)] == named


async def test_it_is_in_force_for_that_message_and_not_told_twice(tmp_path: Path) -> None:
    skill(tmp_path / "work/.agents/skills", "deploy", body="STEP ONE")
    made, seen = session(tmp_path)
    happened = await play(made, "go on as in /deploy please")
    assert [e for e in happened if is_durable(e)] == made.events[-len([e for e in happened if is_durable(e)]) :]
    assert any(isinstance(e, ev.Notice) and e.text.startswith("skill deploy") for e in happened)
    assert "STEP ONE" in seen[0].messages[0].text
    assert seen[0].messages[1].text == "go on as in /deploy please"
    await play(made, "and /deploy again")
    assert sum("STEP ONE" in m.text for m in seen[1].messages) == 1
    assert [text for text in notices(made) if text.startswith("skill deploy")] == [
        "skill deploy, in force for the rest of this session"
    ]


async def test_a_word_to_the_running_turn_names_one_too(tmp_path: Path) -> None:
    skill(tmp_path / "work/.agents/skills", "deploy", body="STEP ONE")
    put(tmp_path, "work/a.txt", "text")
    made, seen = session(tmp_path, [calls(reads("a.txt")), "Done."])
    left = [ev.Steered("now /deploy it")]
    made.meanwhile = lambda: [left.pop()] if left else []
    await play(made)
    assert [("STEP ONE" in m.text, m.text == "now /deploy it") for m in seen[1].messages[-3:-1]] == [
        (True, False),
        (False, True),
    ]

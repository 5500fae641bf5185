"""The facade: reading before writing, batches, decisions, partial application, words for the model."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import sys
import unicodedata

import pytest

from tui_agent.core import policy
from tui_agent.core.types import ApprovalRequest, Decision, Outcome, ToolCall
from tui_agent.workspace import Workspace


def test_read_edit_read(desk) -> None:
    desk.put("a.py", "x = 1\n")
    assert desk.call("read_file", path="a.py").text == "[file: lines 1-1 of 1] 6 bytes\n     1\tx = 1"
    outcome = desk.call("edit_file", path="./a.py", old="x = 1", new="x = 2")
    assert (outcome.status, outcome.text, outcome.note) == ("applied", "applied: changed a.py (+1 -1)", "")
    assert desk.tree() == {"a.py": b"x = 2\n"}
    receipt = outcome.receipt
    assert (receipt.tool, receipt.path, receipt.added, receipt.removed) == ("edit_file", "a.py", 1, 1)
    assert receipt.arguments == {"path": "./a.py", "old": "x = 1", "new": "x = 2"}
    assert len(receipt.before) == len(receipt.after) == 64
    assert receipt.by == "key"
    assert [request.summary for request in desk.asked] == ["edit  a.py  +1 -1"]


def test_a_rule_that_allows_is_named_in_the_receipt(make_desk) -> None:
    desk = make_desk(permissions=policy.Policy({**policy.DEFAULT.table, "write": "allow"}))
    outcome = desk.call("write_file", path="a.py", content="x\n")
    assert desk.asked == []
    assert outcome.receipt.by == "table: write = allow"


def test_a_rule_that_denies_is_told(make_desk) -> None:
    desk = make_desk(permissions=policy.Policy({**policy.DEFAULT.table, "write": "deny"}))
    outcome = desk.call("write_file", path="a.py", content="x\n")
    assert (outcome.status, outcome.text) == ("refused", "denied: table: write = deny")
    assert desk.asked == []


def test_without_anybody_to_ask_the_answer_is_no(tmp_path) -> None:
    outcome = asyncio.run(Workspace(tmp_path).call("write_file", {"path": "a.py", "content": "x"}))
    assert outcome.status == "refused"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("answer", "reason", "text"),
    [
        ("no", "", "user rejected the change"),
        ("no", "too big", "user rejected the change: too big"),
        ("stop", "", "user rejected the change"),
        ("skip", "later", "user skipped: later"),
        ("skip", "", "user skipped"),
    ],
)
def test_what_a_no_sounds_like(desk, answer: str, reason: str, text: str) -> None:
    (outcome,) = desk.batch(
        ("write_file", {"path": "a.py", "content": "x\n"}), decide=lambda r: Decision(r.id, answer, reason)
    )
    assert (outcome.status, outcome.text, outcome.receipt) == ("refused", text, None)
    assert desk.tree() == {}


@pytest.mark.parametrize("arguments", [None, [], "x", 3])
def test_arguments_that_are_no_object(desk, arguments: object) -> None:
    outcome = asyncio.run(desk.workspace.call("read_file", arguments))
    assert outcome.status == "error"
    assert "must be an object" in outcome.text


# ------------------------------------------------------------------ reading before writing


def test_a_partly_read_file_may_be_edited_but_not_replaced(desk) -> None:
    desk.put("a.txt", "".join(f"line {n}\n" for n in range(100)))
    desk.call("read_file", path="a.txt", limit=10)
    refused = desk.call("write_file", path="a.txt", content="all new\n")
    assert refused.status == "refused"
    assert "only up to line 10" in refused.text
    assert desk.call("edit_file", path="a.txt", old="line 99\n", new="").status == "applied"
    desk.call("read_file", path="a.txt", limit=50)
    desk.call("read_file", path="a.txt", start=51)
    assert desk.call("write_file", path="a.txt", content="all new\n").status == "applied"


def test_a_line_shown_cut_was_not_read_whole(desk) -> None:
    desk.put("a.txt", "x" * 10_000 + "\n")
    desk.call("read_file", path="a.txt")
    assert "not read whole from its first line" in desk.call("write_file", path="a.txt", content="y\n").text


def test_own_writes_need_no_reading(desk) -> None:
    desk.call("write_file", path="a.txt", content="one\n")
    assert desk.call("write_file", path="a.txt", content="two\n").status == "applied"
    assert desk.call("edit_file", path="a.txt", old="two", new="three").status == "applied"


def test_a_proposal_needs_no_reading_because_it_quotes_the_file(desk) -> None:
    desk.put("a.txt", "one\n")
    assert desk.call("propose_edit", path="a.txt", old="one\n", new="two\n").status == "applied"
    assert desk.call("edit_file", path="a.txt", old="two", new="three").status == "applied"


def test_a_refused_read_is_no_reading(desk) -> None:
    desk.put(".env", "TOKEN=1\n")
    desk.answer = "no"
    assert "secret" in desk.call("read_file", path=".env").text
    desk.answer = "yes"
    assert "read it first" in desk.call("edit_file", path=".env", old="1", new="2").text
    assert desk.tree() == {".env": b"TOKEN=1\n"}


def test_the_second_failed_edit_offers_the_whole_file(desk) -> None:
    desk.put("a.txt", "one\n")
    desk.call("read_file", path="a.txt")
    wrong = {"path": "a.txt", "old": "two", "new": "three"}
    assert "write_file" not in desk.call("edit_file", **wrong).text
    assert "send the whole new text with write_file" in desk.call("edit_file", **wrong).text
    assert desk.call("edit_file", path="a.txt", old="one", new="two\ntwo").status == "applied"
    assert "write_file" not in desk.call("edit_file", **wrong).text


def test_a_file_that_changed_since_it_was_read_is_not_deleted_either(desk) -> None:
    path = desk.put("a.txt", "one\n")
    desk.put("unread.txt", "two\n")
    desk.call("read_file", path="a.txt")
    path.write_text("mine\n")
    assert "has changed since it was read" in desk.call("delete_file", path="a.txt").text
    assert desk.call("delete_file", path="unread.txt").status == "applied"
    assert desk.tree() == {"a.txt": b"mine\n"}
    desk.call("read_file", path="a.txt")
    assert desk.call("delete_file", path="a.txt").status == "applied"


# ------------------------------------------------------------------ batches


def test_later_edits_see_earlier_ones_of_the_batch(desk) -> None:
    desk.put("a.txt", "1\n")
    desk.call("read_file", path="a.txt")
    outcomes = desk.batch(
        ("edit_file", {"path": "a.txt", "old": "1", "new": "12"}),
        ("edit_file", {"path": "./a.txt", "old": "12", "new": "123"}),
        ("write_file", {"path": "b.txt", "content": "b\n"}),
        ("edit_file", {"path": "b.txt", "old": "b", "new": "bb"}),
        ("delete_file", {"path": "b.txt"}),
    )
    assert [outcome.status for outcome in outcomes] == ["applied"] * 5
    assert desk.tree() == {"a.txt": b"123\n"}


def test_what_builds_on_a_refused_edit_is_not_done(desk) -> None:
    desk.put("a.txt", "1\n")
    desk.call("read_file", path="a.txt")
    first = []
    outcomes = desk.batch(
        ("edit_file", {"path": "a.txt", "old": "1", "new": "2"}),
        ("edit_file", {"path": "a.txt", "old": "2", "new": "3"}),
        ("edit_file", {"path": "a.txt", "old": "3", "new": "4"}),
        ("write_file", {"path": "b.txt", "content": "b\n"}),
        decide=lambda r: Decision(r.id, "yes" if first or first.append(r) else "no"),
    )
    assert [outcome.status for outcome in outcomes] == ["refused", "refused", "refused", "applied"]
    assert outcomes[1].text.startswith("not applied: base changed because the earlier change")
    assert desk.tree() == {"a.txt": b"1\n", "b.txt": b"b\n"}


def test_a_stale_first_edit_takes_the_second_with_it(desk) -> None:
    path = desk.put("a.txt", "1\n")
    desk.call("read_file", path="a.txt")
    calls = (
        ("edit_file", {"path": "a.txt", "old": "1", "new": "2"}),
        ("edit_file", {"path": "a.txt", "old": "2", "new": "3"}),
    )
    outcomes = desk.batch(*calls, decide=lambda r: path.write_text("mine\n") and Decision(r.id, "yes"))
    assert [outcome.status for outcome in outcomes] == ["refused", "refused"]
    assert desk.tree() == {"a.txt": b"mine\n"}


TWO_PLACES = "".join(f"{n}\n" for n in range(30))


def test_only_the_chosen_hunks_are_applied(desk) -> None:
    desk.put("a.txt", TWO_PLACES)
    desk.call("read_file", path="a.txt")
    edits = [{"old": "\n2\n", "new": "\ntwo\n"}, {"old": "\n25\n", "new": "\n26th\n"}]
    outcomes = desk.batch(
        ("multi_edit", {"path": "a.txt", "edits": edits}),
        ("edit_file", {"path": "a.txt", "old": "two", "new": "2"}),
        decide=lambda r: Decision(r.id, "yes", chosen=frozenset({1}) if r.call.name == "multi_edit" else None),
    )
    assert outcomes[0].status == "applied"
    assert "left out by the user: hunk 2 at line 26" in outcomes[0].text
    assert outcomes[0].summary == "edit  a.txt  +1 -1"
    assert outcomes[0].note == "1 of 2 hunks"
    assert outcomes[1].status == "refused"
    assert "only in part" in outcomes[1].text
    assert desk.tree()["a.txt"] == TWO_PLACES.replace("\n2\n", "\ntwo\n").encode()
    assert desk.call("edit_file", path="a.txt", old="\n25\n", new="\n26th\n").status == "applied"


def test_no_hunk_at_all_is_a_no(desk) -> None:
    (outcome,) = desk.batch(
        ("write_file", {"path": "a.txt", "content": "x\n"}), decide=lambda r: Decision(r.id, "yes", chosen=frozenset())
    )
    assert (outcome.status, outcome.receipt) == ("refused", None)
    assert desk.tree() == {}


def parked(desk, name: str, **arguments: object) -> ApprovalRequest:
    request = asyncio.run(desk.workspace.prepare(ToolCall("p", name, arguments)))
    asyncio.run(desk.workspace.commit(request, Decision(request.id, "skip"), lambda _: None))
    return request


def test_a_parked_change_is_applied_later(desk) -> None:
    desk.put("a.txt", TWO_PLACES)
    desk.call("read_file", path="a.txt")
    edits = [{"old": "\n2\n", "new": "\ntwo\n"}, {"old": "\n25\n", "new": "\n26th\n"}]
    request = parked(desk, "multi_edit", path="a.txt", edits=edits)
    assert desk.tree()["a.txt"] == TWO_PLACES.encode()
    desk.put("a.txt", "a new first line\r\n" + TWO_PLACES)
    outcome = asyncio.run(desk.workspace.apply_parked(request, frozenset({2})))
    assert (outcome.status, outcome.receipt.by, outcome.receipt.added) == ("applied", "key", 1)
    assert desk.tree()["a.txt"] == ("a new first line\r\n" + TWO_PLACES.replace("\n25\n", "\n26th\n")).encode()
    desk.put("a.txt", TWO_PLACES.replace("\n25\n", "\nmine\n"))
    assert asyncio.run(desk.workspace.apply_parked(request, frozenset({2}))).status == "refused"
    assert asyncio.run(desk.workspace.apply_parked(request, frozenset({1}))).status == "applied"


def test_a_parked_creation_never_overwrites(desk) -> None:
    request = parked(desk, "write_file", path="a.txt", content="model\n")
    desk.put("a.txt", "mine\n")
    assert asyncio.run(desk.workspace.apply_parked(request)).status == "refused"
    assert desk.tree() == {"a.txt": b"mine\n"}
    (desk.root / "a.txt").unlink()
    assert asyncio.run(desk.workspace.apply_parked(request)).status == "applied"


def test_a_file_that_became_a_hard_link_is_not_read_unasked(desk, tmp_path) -> None:
    (tmp_path / "secret").write_text("secret")
    desk.put("a.txt", "x")

    async def run() -> Outcome:
        request = await desk.workspace.prepare(ToolCall("c", "read_file", {"path": "a.txt"}))
        (desk.root / "a.txt").unlink()
        os.link(tmp_path / "secret", desk.root / "a.txt")
        return await desk.workspace.commit(request, Decision(request.id, "yes", by="rule"), lambda _: None)

    assert asyncio.run(run()).status == "refused"


# ------------------------------------------------------------------ the world between question and answer


def swap_for_link(path, target) -> None:
    path.unlink()
    path.symlink_to(target)


@pytest.mark.parametrize(
    "change",
    [
        lambda p: p.write_text("other\n"),
        lambda p: p.unlink(),
        lambda p: (p.unlink(), p.mkdir()),
        lambda p: (p.unlink(), os.mkfifo(p)),
        lambda p: swap_for_link(p, "/etc/hostname"),
        lambda p: swap_for_link(p, "b.txt"),
        lambda p: p.chmod(0o444),
        lambda p: p.parent.rename(p.parent.with_name("gone")),
        lambda p: (p.parent.rename(p.parent.with_name("gone")), p.parent.symlink_to("/etc")),
    ],
    ids=["text", "deleted", "folder", "fifo", "link out", "link in", "read-only", "folder gone", "folder linked"],
)
def test_nothing_is_written_when_the_world_changed(desk, change) -> None:
    path = desk.put("src/a.txt", "old\n")
    desk.put("b.txt", "old\n")
    desk.call("read_file", path="src/a.txt")
    after = {}

    def meanwhile() -> None:
        change(path)
        after.update(desk.tree())

    desk.before = meanwhile
    outcome = desk.call("edit_file", path="src/a.txt", old="old", new="new")
    assert outcome.status in {"refused", "error"}
    assert outcome.text
    assert desk.tree() == after


def test_a_workspace_that_is_gone_is_not_created_again(desk) -> None:
    desk.put("a.txt", "old\n")
    desk.call("read_file", path="a.txt")
    shutil.rmtree(desk.root)
    for tool, arguments in (
        ("read_file", {"path": "a.txt"}),
        ("list_files", {}),
        ("write_file", {"path": "sub/b.txt", "content": "x\n"}),
        ("edit_file", {"path": "a.txt", "old": "old", "new": "new"}),
    ):
        outcome = desk.call(tool, **arguments)
        assert outcome.status == "error"
        assert tool not in {"read_file", "list_files"} or "the folder of this workspace is gone" in outcome.text
    assert not desk.root.exists()


def test_another_folder_in_the_place_of_the_workspace_is_noticed(desk) -> None:
    desk.root.rename(desk.root.with_name("moved"))
    desk.root.mkdir()
    assert "replaced" in desk.call("write_file", path="sub/b.txt", content="x\n").text
    assert list(desk.root.iterdir()) == []


# ------------------------------------------------------------------ other tools


def test_listing(desk) -> None:
    desk.put("src/a.py", "x")
    desk.put("b.py", "xyz")
    desk.put("b.py~", "x")
    desk.put(".git/config", "x")
    desk.put(".env", "secret")
    assert desk.call("list_files").text == "[F] .env (6 bytes)\n[F] b.py (3 bytes)\n[D] src/"
    assert desk.call("list_files", path="src/").text == "[F] a.py (1 bytes)"
    assert desk.call("list_files", path="b.py").status == "error"
    assert desk.call("list_files", path="nope").status == "error"


def test_reading_git_config_hides_passwords(desk) -> None:
    desk.put(".git/config", "url = https://me:hunter2@example.org/x.git\n")
    text = desk.call("read_file", path=".git/config").text
    assert "hunter2" not in text
    assert "https://me:***@example.org/x.git" in text


def test_missing_files_have_similar_ones(desk) -> None:
    desk.put("src/util.py", "x")
    text = desk.call("read_file", path="src/utils.py").text
    assert "not found" in text
    assert "similar: src/util.py" in text


def test_plan_and_specs(desk) -> None:
    outcome = desk.call("update_plan", items=[{"status": "now", "text": "look"}])
    assert (outcome.status, outcome.note) == ("applied", "")
    assert desk.asked == []
    assert desk.workspace.specs[0].name == "read_file"


def test_only_enabled_tools_are_offered_and_taken(make_desk) -> None:
    desk = make_desk(tools=("read_file", "search"))
    assert [spec.name for spec in desk.workspace.specs] == ["read_file", "search"]
    assert desk.call("write_file", path="a", content="x").text.startswith("tool is not enabled: write_file")


def test_reads_without_numbers(make_desk) -> None:
    desk = make_desk(numbers=False)
    desk.put("a.py", "x = 1\n")
    assert desk.call("read_file", path="a.py").text == "[file: lines 1-1 of 1] 6 bytes\nx = 1"


def test_ids_are_unique_and_requests_name_their_call(desk) -> None:
    async def prepare() -> list[ApprovalRequest | Outcome]:
        calls = [ToolCall(f"c{n}", "write_file", {"path": f"{n}.txt", "content": "x\n"}) for n in range(40)]
        return await asyncio.gather(*(desk.workspace.prepare(call) for call in calls))

    requests = asyncio.run(prepare())
    assert len({request.id for request in requests}) == 40
    assert [request.call.id for request in requests] == [f"c{n}" for n in range(40)]


def test_a_cancelled_write_is_finished_or_never_begun(desk) -> None:
    async def run() -> None:
        request = await desk.workspace.prepare(
            ToolCall("c", "write_file", {"path": "a.txt", "content": "x" * 1_000_000})
        )
        task = asyncio.ensure_future(desk.workspace.commit(request, Decision(request.id, "yes"), lambda _: None))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert desk.tree() in ({}, {"a.txt": b"x" * 1_000_000})


def test_an_empty_file_has_one_hunk_that_may_be_left_out(desk) -> None:
    desk.put("empty.txt", "")
    refuse = lambda request: Decision(request.id, "yes", chosen=frozenset())  # noqa: E731
    (outcome,) = desk.batch(("delete_file", {"path": "empty.txt"}), decide=refuse)
    assert outcome.status == "refused"
    assert desk.tree() == {"empty.txt": b""}


def test_of_two_instances_at_one_file_the_later_approval_is_stale(tmp_path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (root / "a.txt").write_text("old\n")

    async def go() -> list[Outcome]:
        both = [Workspace(root), Workspace(root)]
        requests = []
        for n, workspace in enumerate(both):
            await workspace.call("read_file", {"path": "a.txt"})
            requests.append(
                await workspace.prepare(ToolCall("c", "write_file", {"path": "a.txt", "content": f"new {n}\n" * 1000}))
            )
        return [
            await workspace.commit(request, Decision(request.id, "yes"), lambda _: None)
            for workspace, request in zip(both, requests, strict=True)
        ]

    first, later = asyncio.run(go())
    assert (first.status, later.status) == ("applied", "refused")
    assert "changed" in later.text
    assert (root / "a.txt").read_text() == "new 0\n" * 1000


def test_an_answer_counts_for_its_own_question_only(desk) -> None:
    results = desk.batch(("write_file", {"path": "a", "content": "x"}), decide=lambda _: Decision("another", "yes"))
    assert [r.status for r in results] == ["refused"]
    results = desk.batch(
        ("write_file", {"path": "a", "content": "x"}), decide=lambda r: Decision(r.id, "yes", chosen=frozenset({9}))
    )
    assert [(r.status, r.text) for r in results] == [("refused", "not applied: no such hunk: 9")]
    assert desk.tree() == {}


def test_a_name_that_differs_in_its_accents_only_makes_no_twin(desk) -> None:
    desk.put(unicodedata.normalize("NFD", "caf\u00e9.txt"), "x")
    outcome = desk.call("write_file", path="caf\u00e9.txt", content="y")
    assert outcome.status == "refused"
    assert "accents" in outcome.text


@pytest.mark.parametrize(
    ("mode", "said"),
    [(0o4755, "setuid"), (0o2755, "setgid"), (0o6755, "setuid and setgid"), (0o1755, "")],
    ids=["setuid", "setgid", "both", "neither"],
)
def test_that_a_changed_file_runs_as_nobody_else_is_said_before_and_after(desk, mode: int, said: str) -> None:
    path = desk.put("tool", "a\n")
    path.chmod(mode)
    desk.call("read_file", path="tool")
    done = desk.call("edit_file", path="tool", old="a", new="b")
    assert desk.asked[0].caution == (said and f"this file is {said}; changed, it is that no more")
    assert (f"it is {said} no more" in done.text) == bool(said)
    assert path.stat().st_mode & 0o7777 == mode & 0o1777
    path.chmod(mode)
    desk.call("delete_file", path="tool")
    assert desk.asked[1].caution == ""


def test_a_pipe_in_the_place_of_a_file_is_refused_at_once(desk) -> None:
    file = desk.put("f", "old\n")
    desk.call("read_file", path="f")
    real = os.fstat

    def swapped(fd: int) -> os.stat_result:
        info = real(fd)
        here = sys._getframe(1).f_code.co_name == "_compare"  # between the look at it and its opening for writing
        if here and stat.S_ISREG(info.st_mode) and file.is_file():
            file.unlink()
            os.mkfifo(file)
        return info

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fstat", swapped)
        outcome = desk.call("write_file", path="f", content="new\n")
    assert outcome.status in {"refused", "error"}
    assert outcome.receipt is None
    assert stat.S_ISFIFO(file.lstat().st_mode)

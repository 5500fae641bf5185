"""A change whose file is not any more as it was shown: the same change on its present bytes, or why there is none."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace

import pytest

from tui_agent.core.types import ApprovalRequest, Decision, ToolCall, WriteBytes

OLD = "".join(f"{n}\n" for n in range(30))


def prepared(desk, name="edit_file", **arguments) -> ApprovalRequest:
    desk.call("read_file", path=arguments["path"])
    request = asyncio.run(desk.workspace.prepare(ToolCall("c", name, arguments)))
    assert isinstance(request, ApprovalRequest)
    return request


def fresh(desk, request):
    return asyncio.run(desk.workspace.fresh(request))


def test_an_unchanged_file_needs_nothing(desk):
    desk.put("a.txt", OLD)
    assert fresh(desk, prepared(desk, path="a.txt", old="5\n", new="five\n", replace_all=True)) is None


def test_the_change_is_made_on_the_present_text_and_approved_as_a_new_one(desk):
    desk.put("a.txt", OLD)
    request = prepared(desk, path="a.txt", old="\n5\n", new="\nfive\n")
    desk.put("a.txt", "mine\n" + OLD)
    effect = fresh(desk, request)
    expected = ("mine\n" + OLD).replace("\n5\n", "\nfive\n")
    assert effect == WriteBytes("a.txt", ("mine\n" + OLD).encode(), expected.encode())
    refused = asyncio.run(desk.workspace.commit(request, Decision(request.id, "yes"), lambda _: None))
    assert refused.status == "refused"
    assert desk.tree()["a.txt"].decode() == "mine\n" + OLD
    other = ApprovalRequest("new", request.call, effect, request.policy, "")
    done = asyncio.run(desk.workspace.commit(request, Decision(request.id, "yes", instead=other), lambda _: None))
    assert done.status == "applied"
    assert desk.tree()["a.txt"].decode() == expected
    assert "the file had changed since you read it" in done.text
    assert "edited your text" not in done.text
    assert "+five" in done.text


@pytest.mark.parametrize(
    ("now", "why"),
    [
        (b"other\n", "its old text is not there"),
        (OLD.replace("\n5\n", "\nV\n").encode(), "its old text is not there"),
        ((OLD + OLD).encode(), "its old text is there more than once"),
        (b"\xff\xfe\0", "no UTF-8 text"),
    ],
    ids=["gone", "changed there too", "twice", "binary"],
)
def test_a_change_that_does_not_fit_says_why_in_words_for_people(desk, now, why):
    desk.put("a.txt", OLD)
    request = prepared(desk, path="a.txt", old="\n5\n", new="\nfive\n")
    desk.put("a.txt", now)
    assert fresh(desk, request) == why
    assert desk.tree()["a.txt"] == now


def test_a_file_that_came_or_went_meanwhile(desk):
    desk.put("a.txt", OLD)
    gone = prepared(desk, path="a.txt", old="\n5\n", new="\nfive\n")
    (desk.root / "a.txt").unlink()
    effect = fresh(desk, gone)
    assert isinstance(effect, WriteBytes)
    assert effect.base is None
    create = asyncio.run(desk.workspace.prepare(ToolCall("c", "write_file", {"path": "b.txt", "content": "new\n"})))
    desk.put("b.txt", "mine\n")
    assert fresh(desk, create) == WriteBytes("b.txt", b"mine\n", b"new\n")


def test_a_skipped_change_of_a_file_that_went_is_not_made(desk):
    desk.put("a.txt", OLD)
    skipped = prepared(desk, path="a.txt", old="\n5\n", new="\nfive\n")
    (desk.root / "a.txt").unlink()
    outcome = asyncio.run(desk.workspace.apply_parked(skipped))
    assert (outcome.receipt, outcome.note) == (None, "gone meanwhile")
    assert desk.tree() == {}


def test_hunks_left_out_of_a_file_whose_old_copy_is_not_held_are_no_change(desk):
    whole = "".join(f"{n}\n" for n in range(30))
    desk.put("a.txt", whole)
    request = prepared(
        desk, "write_file", path="a.txt", content=whole.replace("\n3\n", "\nthree\n").replace("\n27\n", "\nx\n")
    )
    done = asyncio.run(
        desk.workspace.commit(request, Decision(request.id, "yes", chosen=frozenset({1})), lambda _: None)
    )
    assert asyncio.run(desk.workspace.left_out(request.call, done.receipt)) is not None
    gone = replace(done.receipt, after="0" * 64)
    assert asyncio.run(desk.workspace.left_out(request.call, gone)) is None


def test_another_place_is_no_present_text(desk, tmp_path):
    desk.put("a.txt", OLD)
    request = prepared(desk, path="a.txt", old="\n5\n", new="\nfive\n")
    (tmp_path / "outside.txt").write_text(OLD)
    (desk.root / "a.txt").unlink()
    (desk.root / "a.txt").symlink_to(tmp_path / "outside.txt")
    assert fresh(desk, request) == "its path leads out of the folder now"


def chmod(root):
    (root / "d/a.txt").chmod(0o755)


def other_folder(root):
    shutil.copytree(root / "d", root / "e")
    (root / "d").rename(root / "old")
    (root / "e").rename(root / "d")


@pytest.mark.parametrize("change", [chmod, other_folder])
@pytest.mark.parametrize("call", ["edit_file", "delete_file"])
def test_the_same_bytes_with_another_mode_or_in_another_folder_are_not_what_was_shown(desk, change, call):
    desk.put("d/a.txt", OLD)
    arguments = {"old": "\n5\n", "new": "\nfive\n"} if call == "edit_file" else {}
    request = prepared(desk, call, path="d/a.txt", **arguments)
    assert fresh(desk, request) is None
    change(desk.root)
    effect = fresh(desk, request)
    assert effect == request.effect  # the same text
    refused = asyncio.run(desk.workspace.commit(request, Decision(request.id, "yes"), lambda _: None))
    assert refused.status == "refused"
    assert "other permissions or stands in another folder" in refused.text
    assert (desk.root / "d/a.txt").read_text() == OLD
    other = ApprovalRequest("new", request.call, effect, request.policy, "")
    assert fresh(desk, other) is None
    done = asyncio.run(desk.workspace.commit(request, Decision(request.id, "yes", instead=other), lambda _: None))
    assert done.status == "applied"


def test_a_file_that_became_read_only_is_no_present_text(desk):
    desk.put("a.txt", OLD)
    request = prepared(desk, path="a.txt", old="\n5\n", new="\nfive\n")
    (desk.root / "a.txt").chmod(0o444)
    assert fresh(desk, request) == "read-only, mode 444"
    (desk.root / "a.txt").chmod(0o644)
    assert fresh(desk, request) is None


def test_a_link_that_leads_elsewhere_meanwhile_is_not_what_was_shown(desk):
    desk.put("a.txt", OLD)
    desk.put("b.txt", OLD)
    (desk.root / "link.txt").symlink_to("a.txt")
    request = prepared(desk, path="link.txt", old="\n5\n", new="\nfive\n")
    assert fresh(desk, request) is None
    (desk.root / "link.txt").unlink()
    (desk.root / "link.txt").symlink_to("b.txt")
    assert "leads to another file" in fresh(desk, request)
    refused = asyncio.run(desk.workspace.commit(request, Decision(request.id, "yes"), lambda _: None))
    assert refused.status == "refused"
    assert desk.tree()["a.txt"].decode() == desk.tree()["b.txt"].decode() == OLD


def test_files_in_a_folder_that_their_batch_makes_are_as_they_were_shown(desk):
    async def batch():
        made = []
        for name in ("new/a.txt", "new/b.txt", "new/a.txt"):
            call = ToolCall("c", "write_file", {"path": name, "content": f"{len(made)}\n"})
            made.append(await desk.workspace.prepare(call, tuple(made)))
        return [await desk.workspace.commit(one, Decision(one.id, "yes"), lambda _: None) for one in made]

    assert [outcome.status for outcome in asyncio.run(batch())] == ["applied"] * 3


def test_a_command_is_always_as_it_was_shown(desk):
    request = asyncio.run(desk.workspace.prepare(ToolCall("c", "run_command", {"argv": ["true"]})))
    assert fresh(desk, request) is None

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tui_agent.core.endings import StopReason
from tui_agent.core.guards import Key, batch_signature, refusal, repeat_verdict, signature, verdict_on_done
from tui_agent.core.types import ApprovalRequest, Decision, PolicyRequest, RunArgv, ToolCall, Verdict

WINDOW = 5


def test_signature_ignores_the_order_of_keys_and_the_id() -> None:
    a = ToolCall("1", "x", {"a": 1, "b": {"c": 2, "d": 3}})
    b = ToolCall("2", "x", {"b": {"d": 3, "c": 2}, "a": 1})
    assert signature(a) == signature(b)
    assert signature(a) != signature(ToolCall("1", "y", a.arguments))
    assert batch_signature([a, ToolCall("3", "z", {})]) == batch_signature([ToolCall("4", "z", {}), b])


def test_unparsed_arguments_are_told_apart_by_their_text() -> None:
    assert signature(ToolCall("1", "x", None, "bad", "{")) != signature(ToolCall("1", "x", None, "bad", "{{"))


def play(keys: list[Key]) -> list[str]:
    window: tuple[Key, ...] = ()
    out = []
    for key in keys:
        out.append(repeat_verdict(window, key))
        window = (*window, key)[-WINDOW:]
    return out


def test_repeats_in_a_row_and_in_the_window() -> None:
    a, b, c = ("a", 0), ("b", 0), ("c", 0)
    assert play([a, a, a]) == ["go", "warn", "stop"]
    assert play([a, b, a, b, a]) == ["go", "go", "go", "go", "stop"]
    assert play([a, b, c, ("d", 0), a]) == ["go"] * 5
    assert play([a, ("a", 1), ("a", 2), ("a", 3)]) == ["go"] * 4


def test_a_round_of_three_is_found_by_a_wider_window() -> None:
    a, b, c = ("a", 0), ("b", 0), ("c", 0)
    assert play([a, b, c] * 3) == ["go"] * 9  # the steps limit ends it
    assert repeat_verdict((a, b, c, a, b, c), a, newest=7) == "stop"
    assert repeat_verdict((a, b, c, a, b, c), ("a", 1), newest=7) == "go"


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 1)), max_size=30))
def test_no_key_ever_goes_a_third_time_within_the_newest_five(keys: list[Key]) -> None:
    verdicts = play(keys)
    for i in range(len(keys)):
        newest = range(max(0, i - WINDOW + 1), i + 1)
        seen = [k for k in newest if keys[k] == keys[i]]
        if len(seen) >= 3:
            assert verdicts[i] == "stop"


def test_the_window_and_the_warning_can_be_off() -> None:
    a, b = ("a", 0), ("b", 0)
    assert repeat_verdict((a, b, a, b), a, newest=1) == "go"
    assert repeat_verdict((b, a, a), a, newest=1) == "stop"
    assert repeat_verdict((b, a), a, newest=1) == "warn"
    assert repeat_verdict((b, a), a, newest=1, warn=False) == "go"
    assert repeat_verdict((a, b, a), b, limit=4, newest=1) == "go"


def test_what_may_be_called_done() -> None:
    assert verdict_on_done("make check", "none", edited=False, rounds_left=3)[0] is StopReason.COMPLETED
    assert verdict_on_done(None, "none", edited=True, rounds_left=3)[0] is StopReason.UNVERIFIED
    assert verdict_on_done("make check", "passed", edited=True, rounds_left=0)[0] is StopReason.VERIFIED
    assert verdict_on_done("make check", "not run", edited=True, rounds_left=3)[0] is StopReason.UNVERIFIED
    reason, text = verdict_on_done("make check", "failed", edited=True, rounds_left=1)
    assert reason is None
    assert "`make check` failed" in text
    assert verdict_on_done("make check", "failed", edited=True, rounds_left=0)[0] is StopReason.UNVERIFIED


def test_a_denial_names_the_commands_that_need_no_approval() -> None:
    request = ApprovalRequest(
        "r", ToolCall("c", "run_command", {}), RunArgv(("rm",), 1.0), PolicyRequest("run_command", "run"), "run  rm"
    )
    verdict = Verdict("deny", "table: run = deny", "run", ("git diff", "ls"))
    outcome, who = refusal(request, verdict, Decision("r", "yes"))
    assert outcome is not None
    assert outcome.text.endswith("Do not try it again. Commands that need no approval: git diff, ls.")
    assert (who, outcome.note) == ("policy", "table: run = deny")

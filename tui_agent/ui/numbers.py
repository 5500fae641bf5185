"""Tokens, money, windows and hosts in words: pure functions of what a session holds. Unknown is never shown as 0."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.profile import Pricing, Profile

NO_PRICING = 'n/a (no "pricing" block for this provider)'
LEVELS = ((95, "full"), (85, "nearly full"), (70, "filling"))
"""From this percentage of the window on, the word that goes with it."""


def thousands(count: int) -> str:
    """A number of tokens for the eye: 830, 18.2k, 200k."""
    if count < 1000:
        return str(count)
    if count >= 1_000_000:
        return f"{count / 1_000_000:.1f}M"
    return f"{count / 1000:.1f}k" if count < 100_000 else f"{count / 1000:.0f}k"


def size(count: int | None) -> str:
    """A window: 32k, 200k, 1M; "?" when nobody said."""
    if count is None:
        return "?"
    if count >= 1_000_000:
        return f"{count / 1_000_000:.0f}M"
    return f"{round(count / 1024) if count % 1024 == 0 else round(count / 1000)}k" if count >= 1000 else str(count)


def gauge(used: int | None, window: int | None, *, estimated: bool) -> str:
    """How full the context is: `~18.2k/32k 57%`; only tokens when the window is unknown, nothing before the first."""
    if used is None:
        return ""
    mark = "~" if estimated else ""
    if window is None:
        return f"{mark}{thousands(used)}"
    percent = 100 * used / window
    word = next((f" {word}" for least, word in LEVELS if percent >= least), "")
    return f"{mark}{thousands(used)}/{size(window)} {percent:.0f}%{word}"


def rates(pricing: Pricing) -> str:
    """The three rates of a profile."""
    return f"input {pricing.input:.4f}  cached {pricing.cached_input:.4f}  output {pricing.output:.4f} per million"


def tokens_report(events: Iterable[ev.Event | ev.Unknown], profiles: Mapping[str, Profile]) -> str:
    """What the session took, model by model, and in all when there were several. `profiles` give the rates by name."""
    sums = fold.totals_by_model(events)
    if not sums:
        return "No tokens yet: nothing was answered."
    blocks = [_block(f"{m.model} ({m.profile})", t, _cost(m, t, profiles.get(m.profile))) for m, t in sums]
    if len(sums) > 1:
        total = fold.Totals()
        for _, one in sums:
            cost = None if total.cost is None or one.cost is None else total.cost + one.cost
            total = fold.Totals(
                total.usage.plus(one.usage), cost, total.replies + one.replies, total.uncounted + one.uncounted
            )
        cost_text = f"${total.cost:.6f}" if total.cost is not None else "n/a (the cost of one of them is unknown)"
        blocks.append(_block("all", total, cost_text))
    return "\n".join(blocks)


def _block(title: str, totals: fold.Totals, cost: str) -> str:
    usage = totals.usage
    fresh, out = usage.input_tokens, usage.output_tokens
    rows = [("prompt", _count(fresh)), ("completion", _count(out))]
    rows.append(("total", _count(None if fresh is None or out is None else fresh + out)))
    if usage.cached_tokens and fresh:
        rows.append(("cached", f"{usage.cached_tokens:,}  ({100 * usage.cached_tokens / fresh:.1f}% of the prompt)"))
    if usage.reasoning_tokens:
        rows.append(("reasoning", f"{usage.reasoning_tokens:,}  (part of the completion)"))
    if totals.uncounted:
        rows.append(("not counted", f"{totals.uncounted} of {totals.replies} replies: the server told no tokens"))
    rows.append(("cost", cost))
    return "\n".join([title, *(f"  {name:<12}{value}" for name, value in rows)])


def _count(tokens: int | None) -> str:
    return "unknown" if tokens is None else f"{tokens:,}"


def _cost(chosen: ev.ModelChosen, totals: fold.Totals, profile: Profile | None) -> str:
    pricing = profile.pricing if profile else None
    if pricing is None:
        return f"$0 (local model {chosen.model})" if chosen.local else NO_PRICING
    if totals.cost is None:
        return f"unknown: a reply was not counted  ({rates(pricing)})"
    return f"${totals.cost:.6f}  ({rates(pricing)})"


def config_report(files: Mapping[str, bool], profiles: Sequence[str], active: str) -> str:
    """Which files of the configuration were read, the names of the profiles, and the one that answers."""
    rows = [f"{name}  ({'loaded' if there else 'absent'})" for name, there in files.items()]
    rows.append(f"profiles: {', '.join(profiles) or 'none'}")
    rows.append(f"active: {active or 'none'}")
    return "\n".join(rows)


def privacy_report(contacted: Mapping[str, int], *, offline: bool) -> str:
    """Every host that this process sent a request to."""
    rule = "--offline: only this machine is reached." if offline else "No telemetry, no update check."
    if not contacted:
        return f"Nothing has left this machine, no host was contacted. {rule}"
    hosts = [f"  {where}  {count} request{'s' if count != 1 else ''}" for where, count in contacted.items()]
    return "\n".join(["Hosts contacted since the start:", *hosts, rule])

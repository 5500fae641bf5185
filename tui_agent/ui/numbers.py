"""Tokens, money, windows and hosts in words: pure functions of what a session holds. Unknown is never shown as 0."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.context import CHARACTERS_PER_TOKEN
from tui_agent.core.profile import Pricing, Profile, Tried
from tui_agent.spending import Spent

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


def amount(count: int) -> str:
    """A number of characters for the eye: 830, 2.1k, 14k."""
    return str(count) if count < 1000 else f"{count / 1000:.1f}k" if count < 10_000 else f"{count // 1000}k"


def seconds(duration: float) -> str:
    """A duration for the eye; nothing when it is none."""
    if duration < 0.0005:
        return ""
    if duration < 1:
        return f"{duration * 1000:.0f} ms"
    return f"{duration:.1f}s" if duration < 60 else f"{duration // 60:.0f}m {duration % 60:02.0f}s"


def works(who: str, tried: Tried) -> str:
    """That somebody answers, how fast, and with what."""
    took = seconds(max(tried.seconds, 0.001))
    return f"{who} works, {took}, {'tools yes' if tried.tools else 'no tools: chat and review only'}."


def elapsed(duration: float) -> str:
    """How long something has gone on, second by second: 0:12, 12:00, 1:02:03."""
    minutes, left = divmod(int(duration), 60)
    hours, rest = divmod(minutes, 60)
    return f"{hours}:{rest:02}:{left:02}" if hours else f"{minutes}:{left:02}"


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


def money(cost: float | None) -> str:
    """A cost in USD for the eye; what is too small for cents is not nothing."""
    return "$ n/a" if cost is None else "<$0.01" if 0 < cost < 0.01 else f"${cost:.2f}"


def per_million(rate: float) -> str:
    """A rate for the eye, in a column of them."""
    return "<0.01" if 0 < rate < 0.01 else f"{rate:.2f}"


def forecast(used: int | None, characters: int, pricing: Pricing | None) -> str:
    """What sending so many characters more would take: `next ~9.4k, up to $0.03`, as a cache makes it cheaper.

    Before the first request nobody knows what stands before the message, so that only its own tokens are told. In tens: it is
    an estimate, and a number that changed with every fourth letter would be drawn between the letters.
    """
    own = -(-characters // CHARACTERS_PER_TOKEN)
    if used is None:
        return f"message ~{thousands(_tens(own))}"
    price = (used + own) * pricing.input / 1e6 if pricing is not None else 0.0
    cost = f", up to ${price:.{2 if price >= 0.1 else 4}f}" if price >= 0.0001 else ""
    return f"next ~{thousands(_tens(used + own))}{cost}"


def _tens(tokens: int) -> int:
    return -(-tokens // 10) * 10


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
    pricing = profile.answering(chosen.model).pricing if profile else None
    if pricing is None:
        if totals.cost is not None and not chosen.local:
            return f"${totals.cost:.6f}"
        if profile is not None and profile.pricing is not None:
            return f"n/a (the prices of {profile.name} are those of {profile.model})"
        return f"$0 (local model {chosen.model})" if chosen.local else NO_PRICING
    if totals.cost is None:
        return f"unknown: a request was not counted  ({rates(pricing)})"
    return f"${totals.cost:.6f}  ({rates(pricing)})"


def today_report(today: Spent) -> str:
    """What the sessions of this day have cost so far."""
    cost = "n/a (the cost of a reply is unknown)" if today.cost is None else f"${today.cost:.6f}"
    return f"today\n  {'cost':<12}{cost}  ({today.sessions} session{'s' if today.sessions != 1 else ''})"


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

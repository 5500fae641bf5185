"""A failed model call, for the person: what failed, what to do next, by which keys; and everything that is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tui_agent.core.address import shown
from tui_agent.core.profile import Profile
from tui_agent.core.types import ProviderError, RetryTick
from tui_agent.ui.actions import ACTIONS, BACK, COMMANDS, QUEUE, SEND

CUT_OFF = "Half an answer"
"""The title where the way to the server was lost after a part of the answer had come."""
SMALLER = "Context smaller than it looks"
"""The title where a model runs in a smaller window than it should."""
TITLES: Mapping[str, str] = {
    "auth": "The key was not accepted",
    "rate_limit": "Rate limit",
    "context_length": "Too long for the model's window",
    "server": "The server failed",
    "network": "No answer",
    "protocol": "The answer could not be read",
    "bad_request": "The request was not accepted",
}

NEXT = {
    "network": "Look at its address (/configure) and at the network, then /retry, or choose another with /provider",
    "auth": "Set the key and start again, or choose another with /provider",
    "context_length": "Leave something out with /context, choose a model with a larger window with /model, or begin anew with /new",
    "rate_limit": "Wait and /retry, or choose another with /provider",
    "bad_request": "Choose another model or server with /provider",
}

READ_ANEW = "/retry reads the key anew; or choose another with /provider"
ANOTHER_SERVER = "Look at its type and endpoint (/configure), then /retry, or choose another with /provider"
"""Where what answers is no such server, so that asking it again alone does not help."""
NOT_USABLE = "Mend that, in the configuration with /configure, then /retry; or choose another with /provider"
EMPTY = "is empty"
"""What is said of the variable of a key that is not set."""
NO_CREDIT = "Waiting does not help: top up the account, or choose another with /provider"
NO_ACCESS = "Choose another model or server with /provider, or the key of an account that may use this one"
UNPAID, FORBIDDEN = 402, 403


@dataclass(frozen=True, slots=True)
class CardKeys:
    """The keys of a card: they count while the transcript has the focus and the card is the newest thing."""

    meant: Mapping[str, str]
    """What each key does: actions of the scope "card", and what they carry out."""
    ways: tuple[str, ...]
    """How the card itself tells them: by what works in the message, too, where a letter is a letter."""
    held: tuple[str, ...]
    """How the footer tells them while they count."""
    beside: tuple[str, ...] = ()
    """What the footer tells while the message has the focus; empty: what it always tells there."""
    behind_leader: Mapping[str, str] = field(default_factory=dict)
    """Those of `meant` that count behind the leader, too; the others have a key of their own."""
    phase: str = ""
    """What the footer says that goes on."""


_DEEDS = {
    "card.retry": "agent.retry",
    "card.provider": "provider.switch",
    "card.config": "config.show",
    "card.details": "failure.details",
}
_DETAILS = {"card.details": "failure.details"}
_TRAP = {"card.fix": "trap.fix", "card.ignore": "trap.ignore"}
_TRAP_KEYS = ("{card.fix} fix it", "{card.ignore} ignore for this session")
_CARD = "{leader pane.next} card"

FAILED = CardKeys(
    _DEEDS,
    ways=("{agent.retry} retry", "{provider.switch} provider", "{ui.leader} {card.details} details", "{config.show}"),
    held=(*(f"{{{action.id}}} {action.hint}" for action in ACTIONS if action.id in _DEEDS), BACK),
    beside=(_CARD, SEND, "{provider.switch} other provider", COMMANDS),
    behind_leader=_DETAILS,
    phase="not answered",
)
"""Of a model call that failed."""
WAITING = CardKeys(
    _DEEDS,
    ways=("{agent.retry} now", "{provider.switch} provider", "{ui.back} stop"),
    held=("{card.retry} now", "{card.provider} provider", "{ui.back} stop"),
    beside=(
        "{ui.back} stop",
        "{agent.retry} now",
        "{provider.switch} other provider",
        QUEUE,
        COMMANDS,
    ),
    behind_leader=_DETAILS,
)
"""While the next try is waited for; the phase counts down."""
TRAPPED = CardKeys(
    _TRAP, ways=tuple(f"{{ui.leader}} {key}" for key in _TRAP_KEYS), held=(*_TRAP_KEYS, BACK), behind_leader=_TRAP
)
"""Where a model runs in too small a window."""
UNUSABLE = CardKeys(
    {"card.retry": "config.reload", "card.config": "config.edit"},
    ways=("{config.edit} opens it", "{config.reload} reads it again"),
    held=("{card.config} opens it", "{card.retry} reads it again", BACK),
    beside=(_CARD, SEND, COMMANDS),
    phase="read only",
)
"""While the configuration cannot be used and nothing else has failed."""

BAR = 16
"""Cells of the bar that fills while the next try is waited for."""


def words(error: ProviderError, profile: str = "") -> tuple[str, str, str]:
    """(what failed at which profile, why, what to do next)."""
    status = f" ({error.status})" if error.status else ""
    where = f" {'from' if error.kind == 'network' else 'at'} {profile}" if profile else ""
    title = (CUT_OFF if error.begun and error.kind == "network" else TITLES[error.kind]) + where + status
    following = NEXT.get(error.kind, "/retry, or choose another with /provider")
    if error.kind == "protocol" and not error.retryable and not error.begun:
        following = ANOTHER_SERVER
    if error.kind == "auth" and "api_key_cmd" in error.message:
        following = READ_ANEW
    if error.kind == "auth" and not error.status:
        missing = EMPTY in error.message
        title = f"No {'' if missing else 'usable '}key{f' for {profile}' if profile else ''}"
        following = following if missing else NOT_USABLE
    elif error.kind == "auth" and error.status == FORBIDDEN:
        return f"Access was refused{where}{status}", error.message, NO_ACCESS
    if error.status == UNPAID or (error.kind == "rate_limit" and not error.retryable):
        return f"No credit left{where}{status}", error.message, NO_CREDIT
    return title, error.message, following


def next_try(tick: RetryTick) -> str:
    """Which try comes next, of how many: "try 2 of 6"."""
    return f"try {tick.attempt + 1}" + (f" of {tick.tries}" if tick.tries else "")


def countdown(tick: RetryTick, profile: str = "") -> tuple[str, str, str]:
    """The card of a wait for the next try: what failed and which try comes, why, and how much of the wait is over."""
    title, cause, _ = words(tick.error, profile)
    over = round(BAR * (1 - tick.seconds / tick.whole)) if tick.whole > 0 else 0
    bar = "█" * over + "░" * (BAR - over)
    return f"{title}: {next_try(tick)}", cause, f"Next try in {tick.seconds:.0f} s  {bar}  your message is kept"


def details(error: ProviderError, profile: Profile | None) -> str:
    """Everything that is known of a failure, one fact a line; unknown stays unsaid."""
    key = f"the variable {profile.api_key_env}" if profile and profile.api_key_env else ""
    facts = {
        "kind": error.kind.replace("_", " "),
        "status": str(error.status or ""),
        "said": error.message,
        "may heal": "yes, it was tried again" if error.retryable else "no, so it was not tried again",
        "wait asked for": f"{error.retry_after:g} s" if error.retry_after is not None else "",
        "profile": f"{profile.name}, type {profile.type}" if profile else "",
        "model": (profile.model or "") if profile else "",
        "endpoint": shown(profile.endpoint or "") if profile else "",
        "key": "the output of api_key_cmd" if profile and profile.api_key_cmd else key,
    }
    return "\n".join(f"{name}: {fact}" for name, fact in facts.items() if fact)

"""The last stage of a stream: what a server says leaves it without any key, however it was cut into pieces."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from tui_agent.core.secrets import HIDDEN, Masked, Secrets
from tui_agent.core.types import CallDelta, Delta, ReasoningDelta, RefusalDelta, ReplyEnd, TextDelta

_SPOKEN = (TextDelta, ReasoningDelta, RefusalDelta)


class Mask:
    """Masks the deltas of one reply; a delta with nothing to hide comes out as the same object.

    Each text of a reply (answer, reasoning, refusal, the arguments of each call) is a stream of its own.
    """

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._texts: dict[type[TextDelta | ReasoningDelta | RefusalDelta], Masked] = {}
        self._arguments: dict[int, Masked] = {}

    def through(self, deltas: list[Delta]) -> list[Delta]:
        """The next deltas as they may be shown. What was held back comes out before the `ReplyEnd`."""
        return list(self._masked(deltas)) if self._secrets.known else deltas

    def _masked(self, deltas: Iterable[Delta]) -> Iterable[Delta]:
        for delta in deltas:
            if isinstance(delta, _SPOKEN):
                kind = type(delta)
                if kind not in self._texts:
                    self._texts[kind] = Masked(self._secrets)
                text = self._texts[kind].feed(delta.text)
                if text:
                    yield delta if text == delta.text else kind(text)
            elif isinstance(delta, CallDelta):
                yield self._call(delta)
            elif isinstance(delta, ReplyEnd):
                yield from self._rest()
                yield replace(delta, extras=self._clean(delta.extras))
            else:
                yield delta

    def _call(self, delta: CallDelta) -> CallDelta:
        if delta.key not in self._arguments:
            self._arguments[delta.key] = Masked(self._secrets)
        hide = self._secrets.hide
        return CallDelta(
            delta.key,
            hide(delta.id),
            HIDDEN if self._secrets.holds(delta.name) else hide(delta.name),
            self._arguments[delta.key].feed(delta.arguments),
            self._clean(delta.extras),
        )

    def _rest(self) -> Iterable[Delta]:
        for kind, text in self._texts.items():
            if rest := text.finish():
                yield kind(rest)
        for key, arguments in self._arguments.items():
            if rest := arguments.finish():
                yield CallDelta(key, arguments=rest)

    def _clean(self, extras: Mapping[str, Any]) -> Mapping[str, Any]:
        """Provider data goes back as it came or not at all: it may be signed."""
        if not extras:
            return extras
        text = json.dumps(extras, ensure_ascii=False, default=str)
        return extras if self._secrets.hide(text) == text else {}

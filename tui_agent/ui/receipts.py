"""The receipts of a session as lines: what was done, to what, with which result, how long it took and who approved."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from tui_agent.core.display import Shown, sanitise
from tui_agent.core.receipt import LINK, FileChange, Receipt
from tui_agent.ui.numbers import seconds
from tui_agent.ui.wrap_view import Line, Piece, shown_pieces

_NOTHING = "There are no receipts yet: nothing was written or run in this session."


def lines(receipts: Iterable[Receipt]) -> list[Line]:
    """Every receipt, the newest first."""
    found = [line for receipt in reversed(tuple(receipts)) for line in _receipt(receipt)]
    return found or [Line(((_NOTHING, "number"),))]


def _receipt(receipt: Receipt) -> Iterator[Line]:
    tool = shown_pieces(sanitise(receipt.tool, "tool_name"))
    target = _target(receipt)
    shown: tuple[Piece, ...] = shown_pieces(target) if target else ()
    yield Line((*tool, ("  ", "plain"), *shown), warns=target.warns if target else frozenset())
    facts = [
        receipt.id,
        f"{short_hash(receipt.before)} → {short_hash(receipt.after)}  +{receipt.added} -{receipt.removed}"
        if receipt.path
        else "",
        f"exit {receipt.exit_code}"
        if receipt.exit_code is not None
        else ""
        if receipt.path or "/" in receipt.tool
        else "no exit code",
        seconds(receipt.duration) or "0 ms",
        f"by {receipt.by}" if receipt.by else "",
        "interrupted" if receipt.interrupted else "",
    ]
    yield Line((("    ", "plain"), *_joined(facts)))
    for change in receipt.changed:
        path = shown_pieces(sanitise(change.path, "path"))
        yield Line(
            (
                ("    changed since it began  " if change.unsure else "    changed  ", "number"),
                *path,
                ("  ", "number"),
                *_joined(_difference(change)),
            )
        )
    for folder in receipt.folders if receipt.path is None else ():
        yield Line((("    made  ", "number"), *shown_pieces(sanitise(f"{folder}/", "path"))))


def _difference(change: FileChange) -> Iterator[str]:
    """What became another of a file: its bytes, its permissions."""
    if change.before != change.after or not change.modes:
        yield f"{short_hash(change.before)} → {short_hash(change.after)}"
    if change.modes:
        yield "mode {:03o} → {:03o}".format(*change.modes)


def _target(receipt: Receipt) -> Shown | None:
    if receipt.path is not None:
        return sanitise(receipt.path, "path")
    if "/" in receipt.tool:  # of an MCP server
        return sanitise(json.dumps(receipt.arguments, ensure_ascii=False), "title")
    argv, script = receipt.arguments.get("argv"), receipt.arguments.get("script")
    if isinstance(argv, list | tuple):
        return sanitise([str(word) for word in argv], "argv")
    return sanitise(script, "title") if isinstance(script, str) else None


def _joined(facts: Iterable[str]) -> Iterator[Piece]:
    for number, fact in enumerate(filter(None, facts)):
        if number:
            yield "   ", "number"
        pieces = shown_pieces(sanitise(fact, "title"))
        yield from ((text, "number" if style == "plain" else style) for text, style in pieces)


def short_hash(name: str | None) -> str:
    """The first characters of a hash; words for no file, for a link, and for bytes that nobody knows."""
    if name is None:
        return "no file"
    if name.startswith(LINK):
        return f"link to {name.removeprefix(LINK)}"
    return name.removeprefix("git:")[:10] or "unknown"

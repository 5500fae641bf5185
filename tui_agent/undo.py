"""Undo as functions of the event list: which receipts belong to which turn, and which of them still stand.

A turn is a message of the person with everything that was done for it. Undo goes back to before a turn: it
takes back all that stands since then. What really can be restored is the workspace's to say (`workspace.receipts`);
what was restored comes back as an `Undone` event, from which all of this is folded again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.receipt import Receipt
from tui_agent.core.types import Outcome
from tui_agent.workspace.committed import PREFIX
from tui_agent.workspace.receipts import Restore


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of the person (`number` from 1) and what stands of its changes, oldest first."""

    number: int
    text: str
    receipts: tuple[Receipt, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """The files it changed, each once, in order."""
        return tuple(dict.fromkeys(path for receipt in self.receipts for path in receipt.touched))


@dataclass(frozen=True, slots=True)
class Step:
    """One undo that a redo would take back: to before which turn it went, and what it left on the disk.

    `same` are the files that were as they should be before it, so that it left no receipt of them.
    """

    turn: int
    receipts: tuple[Receipt, ...]
    same: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    """Where a session stands: its turns with what stands of each, and the undos that can be taken back, newest last."""

    turns: tuple[Turn, ...] = ()
    redo: tuple[Step, ...] = ()

    def since(self, turn: int) -> tuple[Receipt, ...]:
        """All that stands from this turn on, oldest first: what going back to before it takes back."""
        return tuple(receipt for t in self.turns if t.number >= turn for receipt in t.receipts)

    @property
    def changed(self) -> tuple[Turn, ...]:
        """The turns that can be undone, newest first."""
        return tuple(turn for turn in reversed(self.turns) if turn.receipts)


def state(events: Iterable[ev.Event | ev.Unknown]) -> State:
    """Fold the events of a session."""
    turns: list[Turn] = []
    redo: list[tuple[Step, list[Turn]]] = []
    for event in events:
        match event:
            case ev.UserSaid(text):
                turns.append(Turn(len(turns) + 1, text, ()))
            case ev.Undone(number, receipts, paths, redo=False, batch=batch):
                written = {receipt.path for receipt in receipts}
                step = Step(number, receipts, tuple(path for path in paths if path not in written))
                redo.append((step, list(turns)))
                turns = [_without(turn, paths, batch) if turn.number >= number else turn for turn in turns]
            case ev.Undone(paths=paths, left=left) if redo:
                step, before = redo.pop()
                turns = [_only(was, now, (*paths, *step.same)) for was, now in zip(before, turns, strict=False)]
                rest = narrowed(step.receipts, (*paths, *left), keep=False)
                if rest:  # it was killed before it came to these
                    redo.append((Step(step.turn, rest), before))
            case _ if turns:
                made = tuple(receipt for receipt in fold.receipts((event,)) if receipt.touched)
                if made:
                    redo.clear()  # the files have gone another way since
                    turns[-1] = replace(turns[-1], receipts=turns[-1].receipts + made)
    return State(tuple(turns), tuple(step for step, _ in redo))


def narrowed(receipts: Iterable[Receipt], paths: Sequence[str], *, keep: bool) -> tuple[Receipt, ...]:
    """The receipts with only these paths (`keep`) or without them; one that is left with nothing is left out."""
    out = []
    for receipt in receipts:
        if receipt.path is not None:
            out += [receipt] if (receipt.path in paths) is keep else []
        elif changed := tuple(change for change in receipt.changed if (change.path in paths) is keep):
            out.append(replace(receipt, changed=changed))
    return tuple(out)


def _without(turn: Turn, paths: Sequence[str], batch: Sequence[str]) -> Turn:
    """A turn after an undo of `paths`, of the receipts in `batch` only when it names any."""
    left: list[Receipt] = []
    for receipt in turn.receipts:
        stays = batch and receipt.id not in batch
        left += (receipt,) if stays else narrowed((receipt,), paths, keep=False)
    return replace(turn, receipts=tuple(left))


def _only(was: Turn, now: Turn, paths: Sequence[str]) -> Turn:
    """A turn after a redo of `paths`: what stood of it before the undo and was done again, beside what stands now."""
    back = narrowed(was.receipts, paths, keep=True)
    ids = {receipt.id for receipt in back}
    merged = []
    for receipt in was.receipts:
        stands = [r for r in now.receipts if r.id == receipt.id]
        again = [r for r in back if r.id == receipt.id]
        if again and stands and receipt.id in ids:
            merged.append(
                replace(
                    receipt, changed=tuple(c for c in receipt.changed if c in (*again[0].changed, *stands[0].changed))
                )
            )
        else:
            merged += again or stands
    return replace(now, receipts=tuple(merged))


def undone(
    turn: int,
    plan: Sequence[Restore],
    outcomes: Sequence[Outcome],
    *,
    redo: bool = False,
    batch: Sequence[Receipt] = (),
) -> ev.Undone:
    """The event of an undo whose `plan` was carried out: `outcomes` are those of the possible steps that were chosen.

    A file that already was as it should be counts as restored. `batch` are the receipts that were taken back, when
    those are not all since the turn.
    """
    receipts = tuple(outcome.receipt for outcome in outcomes if outcome.receipt is not None)
    done = {receipt.path for receipt in receipts} | {step.path for step in plan if step.state == "same"}
    paths = tuple(step.path for step in plan if step.path in done)
    left = tuple(step.path for step in plan if step.path not in done)
    return ev.Undone(turn, receipts, paths, left, redo, tuple(receipt.id for receipt in batch))


def not_restored(outcomes: Sequence[Outcome]) -> str | None:
    """What an undo did not do, file by file, in words for the person; None when it did everything."""
    failed = (outcome for outcome in outcomes if outcome.status != "applied")
    return "\n".join(o.text if o.receipt else f"{o.summary}: {o.note or o.text}" for o in failed) or None


def cut_short(events: Iterable[ev.Event | ev.Unknown], receipts: tuple[Receipt, ...]) -> ev.Undone | None:
    """The event of an undo or a redo during which the process died; `receipts` are those of what it had carried out.

    The log does not hold how far back it was to go: it is the nearest message before which all of these files were as they
    are now. None where there is no such message.
    """
    stands, after = state(events), {receipt.path: receipt.after for receipt in receipts}
    paths = tuple(path for path in after if path is not None)
    if stands.redo:
        step = stands.redo[-1]
        ends = {(receipt.path, receipt.after, receipt.before) for receipt in step.receipts}
        if all((receipt.path, receipt.before, receipt.after) in ends for receipt in receipts):
            return ev.Undone(step.turn, receipts, paths, redo=True)
    for turn in stands.changed:
        first: dict[str | None, str | None] = {}
        for change in (change for receipt in stands.since(turn.number) for change in receipt.files):
            first.setdefault(change.path, change.before)
        if all(path in first and _fits(first[path], after[path]) for path in paths):
            return ev.Undone(turn.number, receipts, paths)
    return None


def _fits(before: str | None, now: str | None) -> bool:
    """Whether bytes may be those; what git held has another name there."""
    return before == now or (before is not None and before.startswith(PREFIX) and now is not None)

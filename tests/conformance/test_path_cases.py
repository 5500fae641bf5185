"""Every case of paths.json: confinement, protected and secret names, links, races, through the real workspace.

allow = `ask` was not called and the action happened; ask = `ask` was called; deny = refused unasked, or refused
because the world changed between the question and the write.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import re
import shutil
import subprocess
import tempfile
import traceback
import tracemalloc
import warnings
from pathlib import Path

import pytest

from tui_agent.core.types import ApprovalRequest, Decision, Outcome
from tui_agent.workspace import Workspace

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / (os.environ.get("TUI_AGENT_CASES") or "tests/cases")
NOBODY = 65534
NEW_TEXT = "written by the test\n"


def _build(spec: dict, root: str) -> dict[str, str]:
    path = ROOT / "tests/cases/policy/build_fixture.py"
    module = importlib.util.module_from_spec(found := importlib.util.spec_from_file_location("cases_fixture", path))
    found.loader.exec_module(module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the given builder leaves closing to the garbage collector
        return module.build(spec, root)


DATA = json.loads((CASES / "policy" / "paths.json").read_text(encoding="utf-8"))
PARAMS = [pytest.param(case, id=case["id"]) for case in DATA["cases"]]


class Trial:
    """One case in its own copy of the fixture; `asked` holds the requests that reached the person."""

    def __init__(self, case: dict, base: str) -> None:
        self.case = case
        self.names = _build(self._fixture(), os.path.realpath(base))
        self.asked: list[ApprovalRequest] = []
        self.armed = False
        self.workspace = Workspace(Path(self.names["WS"]), self._ask, home=Path(self.names["HOME"]), reach=self._reach)

    def _fixture(self) -> dict:
        """The large files only where the case is about them: they take most of the time."""
        spec = dict(DATA["fixture"])
        spec["large"] = {name: size for name, size in spec["large"].items() if Path(name).name in self.case["path"]}
        return spec

    def place(self, text: str) -> str:
        for name, value in self.names.items():
            text = text.replace("{" + name + "}", value)
        return text

    async def _ask(self, batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
        if self.armed:
            self.asked += batch
            self._race("dialog_shown")
        return tuple(Decision(request.id, "yes") for request in batch)

    def _reach(self, point: str) -> None:
        if point == "commit":
            self._race("approve")

    def _race(self, moment: str) -> None:
        if self.case.get("race", {}).get("after") == moment:
            subprocess.run(["sh", "-c", self.case["race"]["do"]], cwd=self.names["WS"], check=True)

    def run(self) -> Outcome:
        path, op = self.place(self.case["path"]), self.case["op"]
        if op == "write":
            asyncio.run(self.workspace.call("read_file", {"path": path}))
        self.armed = True
        tool, arguments = {
            "read": ("read_file", {}),
            "list": ("list_files", {}),
            "search": ("search", {"text": self.case.get("query", "x")}),
            "write": ("write_file", {"content": NEW_TEXT}),
            "create": ("write_file", {"content": NEW_TEXT}),
            "delete": ("delete_file", {}),
        }[op]
        return asyncio.run(self.workspace.call(tool, {"path": path, **arguments}))

    def verdict(self, outcome: Outcome) -> str:
        if outcome.status == "applied":
            return "ask" if self.asked else "allow"
        return "ask" if self.asked and "race" not in self.case else "deny"


def _content(base: str, name: str) -> bytes | None:
    path = Path(base, name)
    return path.read_bytes() if path.is_file() else None


def _tree(folder: str) -> dict[str, bytes | None]:
    return {str(path): _content(folder, str(path)) for path in sorted(Path(folder).rglob("*"))}


def reasons(case: dict, base: str) -> list[str]:
    """Everything that is wrong with the product in this case."""
    trial = Trial(case, base)
    root = trial.names["ROOT"]
    outside = {name: _tree(f"{root}/{name}") for name in ("outside", "ws-evil", "home")}
    tracemalloc.start()
    outcome = trial.run()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    wrong = []
    if (got := trial.verdict(outcome)) != case["expect"]:
        wrong.append(f"{got}, expected {case['expect']}: {outcome.text[:200]!r}")
    if "max_rss_growth_mb" in case and peak > case["max_rss_growth_mb"] * 1e6:
        wrong.append(f"needed {peak / 1e6:.0f} MB")
    if "error" in case and (outcome.status == "applied" or case["error"] not in outcome.text.lower()):
        wrong.append(f"the message does not say {case['error']!r}: {outcome.text!r}")
    if case["expect"] == "ask" and "error" not in case and "race" not in case and outcome.status != "applied":
        wrong.append(f"approved but not done: {outcome.text!r}")
    if case.get("truncated") and "more lines" not in outcome.text:
        wrong.append("not marked as truncated")
    wrong += [f"shows {text!r}" for text in case.get("must_not_contain", []) if text in outcome.text]
    shown = [f"{request.summary} {request.caution}" for request in trial.asked]
    wrong += [
        f"the dialog lacks {case[key]!r}" for key in ("shows", "warn") if key in case and case[key] not in str(shown)
    ]
    wrong += [f"{name} changed" for name, before in outside.items() if _tree(f"{root}/{name}") != before]
    return wrong + _after(case, trial)


def _after(case: dict, trial: Trial) -> list[str]:
    """The sentences of `after`, checked on disk; that nothing outside changed is checked for every case."""
    text = case.get("after")
    if text is None or text.endswith("unchanged"):
        return []
    if match := re.fullmatch(r"(\S+) is '(.*)'", text):
        return [] if _content(trial.names["WS"], match[1]) == f"{match[2]}\n".encode() else [f"not true: {text}"]
    if match := re.fullmatch(r"(\S+) has no (\S+)", text):
        return [f"not true: {text}"] if Path(trial.names["ROOT"], match[1], match[2]).exists() else []
    if match := re.fullmatch(
        r"(\S+) (still exists|exists|is kept|does not exist|is gone|is absent|is (?:still )?a (?:sym)?link)", text
    ):
        path = Path(trial.names["WS"], match[1])
        true = path.is_symlink() if match[2].endswith("link") else path.exists() == (match[2] in _PRESENT)
        return [] if true else [f"not true: {text}"]
    return [f"this test cannot check: {text}"]


_PRESENT = {"still exists", "exists", "is kept"}


def _in_own_folder(case: dict) -> list[str]:
    base = tempfile.mkdtemp(prefix="path-")
    try:
        return reasons(case, base)
    finally:
        for folder, _, _ in os.walk(base):
            Path(folder).chmod(0o755)
        shutil.rmtree(base)


def _as_nobody(case: dict) -> list[str]:
    """Run a case in a child that is no longer root; its reasons come back through a pipe."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            wrong = _in_own_folder(case)
        except BaseException:  # noqa: BLE001 - whatever happens in the child is the result
            wrong = [traceback.format_exc()]
        os.write(writing, json.dumps(wrong).encode()[:60_000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return json.loads(answer)


@pytest.mark.parametrize("case", PARAMS)
def test_path_case(case: dict) -> None:
    root_needs_another = case.get("skip_if_root") and os.geteuid() == 0
    assert (_as_nobody(case) if root_needs_another else _in_own_folder(case)) == []


def test_every_case_has_its_test() -> None:
    assert len({param.id for param in PARAMS}) == len(DATA["cases"])

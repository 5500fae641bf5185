"""A widget of ours must not use a private attribute of Textual's for something else.

`ApprovalScreen._closed` was one: setting it closed the screen's message pump, and the program could not end.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import textwrap
from functools import cache

import pytest
from textual.message_pump import MessagePump

import tui_agent.ui


@cache
def attributes(cls: type) -> set[str]:
    """The private names that the source of a class gives to itself or to `self`."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    body = tree.body[0]
    assert isinstance(body, ast.ClassDef)
    found = {node.name for node in body.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self":
            found.add(node.attr)
    return {name for name in found if name.startswith("_") and not name.startswith(("__", "_on_"))}


def widgets() -> list[type[MessagePump]]:
    modules = [importlib.import_module(f"tui_agent.ui.{m.name}") for m in pkgutil.iter_modules(tui_agent.ui.__path__)]
    found = {c for m in modules for c in vars(m).values() if inspect.isclass(c) and issubclass(c, MessagePump)}
    return sorted((c for c in found if c.__module__.startswith("tui_agent.")), key=lambda c: c.__qualname__)


MEANT = {
    # how a crash ends, see there; and what Textual itself pastes from, for the same meaning
    "AgentApp": {"_return_code", "_exception", "_handle_exception", "_clipboard"},
}


@pytest.mark.parametrize("cls", widgets(), ids=lambda c: c.__qualname__)
def test_no_private_name_of_textual_is_taken(cls: type[MessagePump]) -> None:
    theirs = set[str]().union(*(attributes(base) for base in cls.__mro__ if base.__module__.startswith("textual.")))
    assert attributes(cls) & theirs - MEANT.get(cls.__name__, set()) == set()

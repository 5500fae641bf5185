"""A home of its own for every test in a pseudo terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pty.terminal import Home


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.pty)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path).make()

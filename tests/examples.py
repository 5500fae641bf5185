"""How property tests draw their examples: the same ones in every run of the gate, others by chance in `make fuzz`.

A gate that draws by chance fails by chance. So what is drawn there hangs on nothing but the test itself: not on what an
earlier run found, not on how busy the machine is, and not on which modules the worker has imported so far.
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

FUZZ = int(os.environ.get("TUI_AGENT_FUZZ") or 0)
"""How many times as many examples are drawn, by chance; 0 in the gate."""


def prepare() -> None:
    """Make it so for every test that is imported from now on."""
    common: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
    settings.register_profile("gate", derandomize=True, database=None, **common)
    settings.register_profile("fuzz", max_examples=100 * FUZZ or 1, **common)
    settings.load_profile("fuzz" if FUZZ else "gate")
    if not FUZZ:
        # the numbers and words of the modules of this project that are loaded, which Hypothesis draws as well
        providers._get_local_constants = Constants


def examples(count: int, **more: Any) -> settings:
    """`count` examples instead of 100, of a test that is slow or looks for something rare."""
    return settings(max_examples=count * (FUZZ or 1), **more)

"""The product under the names of tiny-llm's week 4, days 1 and 2."""

from .agent.loop import *  # noqa: F403
from .agent.tools import *  # noqa: F403

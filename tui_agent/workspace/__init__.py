"""Everything that touches the person's disk and processes: paths, bytes, commits, receipts, commands."""

from tui_agent.workspace.receipts import Restore
from tui_agent.workspace.workspace import Workspace

__all__ = ["Restore", "Workspace"]

"""tui-agent: a full-screen, keyboard-driven coding agent for the terminal."""

__version__ = "0.1.0"

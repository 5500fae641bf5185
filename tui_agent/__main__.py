"""The program: `tui-agent` and `python -m tui_agent`."""

import sys  # nothing else: whoever interrupts while modules are read is not shown where


def entry() -> None:
    """Begin; an interrupt while the modules are still being read ends it like a later one."""
    try:
        from tui_agent.cli import entry as begin  # noqa: PLC0415 - the reading is what can be interrupted
    except KeyboardInterrupt:
        sys.exit(130)
    begin()


if __name__ == "__main__":
    entry()

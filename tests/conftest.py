"""What every test may rely on."""

from __future__ import annotations

import signal

# Under nohup SIGHUP is ignored, and every program that a test starts would inherit that.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

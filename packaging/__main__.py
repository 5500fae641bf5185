"""The beginning of the one-file program: unpack it once, then run it from there.

The folder is in the state folder of the person, named after what is in the archive, readable by nobody else. This file
is read by whatever Python there is, so it says itself when that is too old.
"""

import atexit
import os
import pwd
import shutil
import sys
import tempfile
import zipfile

BUILD = "@BUILD@"


def state_folder():  # noqa: ANN201 - this file is read by old Pythons, too
    """The same folder as `tui_agent.paths` finds, which cannot be imported yet; None for a user without a home."""
    own = os.environ.get("TUI_AGENT_HOME", "")
    if os.path.isabs(own):
        return os.path.join(own, "state")
    state = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):
        home = os.environ.get("HOME", "")
        try:
            home = home if os.path.isabs(home) else pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            return None
        state = os.path.join(home, ".local", "state")
    return os.path.join(state, "tui_agent")


def is_ours(folder):  # noqa: ANN001, ANN201
    """Whether a folder is one that only this person can write to, and no link."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return (
        os.path.isdir(folder)
        and not os.path.islink(folder)
        and found.st_uid == os.getuid()
        and not found.st_mode & 0o022
    )


def fresh_in(apps):  # noqa: ANN001, ANN201
    """A new folder to unpack into, in ours; None where none can be made or where others may write."""
    try:
        os.makedirs(apps, mode=0o700, exist_ok=True)
        return tempfile.mkdtemp(prefix=".new-", dir=apps) if is_ours(apps) else None
    except OSError:
        return None


def unpacked(archive):  # noqa: ANN001, ANN201
    """The folder with this build; made when it is not there, in one step, and older builds are removed."""
    state = state_folder()
    apps = os.path.join(state or "", "app")
    folder = os.path.join(apps, BUILD)
    if state and is_ours(apps) and is_ours(folder):
        return folder
    fresh = fresh_in(apps) if state else None
    if fresh is None:  # nowhere to keep it: once, for this run
        fresh = folder = tempfile.mkdtemp(prefix="tui-agent-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with zipfile.ZipFile(archive) as file:
        file.extractall(fresh)
    if fresh == folder:
        return folder
    try:
        os.rename(fresh, folder)
    except OSError:  # another process was faster
        shutil.rmtree(fresh, ignore_errors=True)
    for name in os.listdir(apps):
        if name != BUILD and not name.startswith(".new-"):
            shutil.rmtree(os.path.join(apps, name), ignore_errors=True)
    return folder


if sys.version_info < (3, 11):  # noqa: UP036 - it is what this is for
    sys.exit("tui-agent: Python 3.11 or newer is needed, this is {}.{}".format(*sys.version_info[:2]))
sys.path[0] = unpacked(sys.path[0])
from tui_agent.cli import entry  # noqa: E402 - it has only just been unpacked

entry()

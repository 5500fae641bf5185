"""The beginning of the one-file program: unpack it once, then run it from there.

The folder is in the state folder of the person, named after what is in the archive, readable by nobody else. This file
is read by whatever Python there is, so it says itself when that is too old.
"""

import sys

try:
    import atexit
    import os
    import pwd
    import shutil
    import tempfile
    import time
    import zipfile
except KeyboardInterrupt:  # while they are read
    sys.exit(130)

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


def filled(folder, archive):  # noqa: ANN001, ANN201
    """Unpack into a new folder; gives why that cannot be, "" when it is done. Of half of it nothing is left."""
    why = "interrupted"
    try:
        with zipfile.ZipFile(archive) as file:
            file.extractall(folder)
        why = ""
    except OSError as error:
        why = error.strerror
    finally:
        if why:
            shutil.rmtree(folder, ignore_errors=True)
    return why


def for_this_run(archive):  # noqa: ANN001, ANN201
    """A folder with this build that goes with the process."""
    try:
        folder = tempfile.mkdtemp(prefix="tui-agent-")
        why = filled(folder, archive)
    except OSError as error:
        why = error.strerror
    if why:
        sys.stderr.write("tui-agent: it cannot unpack itself: " + why + ". Make room, or set TMPDIR to a folder\n")
        sys.exit(74)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def is_old(path):  # noqa: ANN001, ANN201
    """Whether a folder is an older build, or what a kill left of one an hour ago and more."""
    name = os.path.basename(path)
    try:
        return name != BUILD and not (name.startswith(".new-") and os.lstat(path).st_mtime > time.time() - 3600)
    except OSError:
        return False


def unpacked(archive):  # noqa: ANN001, ANN201
    """The folder with this build; made when it is not there, in one step, and older builds are removed."""
    state = state_folder()
    apps = os.path.join(state or "", "app")
    folder = os.path.join(apps, BUILD)
    if state and is_ours(apps) and is_ours(folder):
        return folder
    fresh = fresh_in(apps) if state else None
    if fresh is None or filled(fresh, archive):  # nowhere to keep it
        return for_this_run(archive)
    try:
        os.rename(fresh, folder)
    except OSError:  # another process was faster
        shutil.rmtree(fresh, ignore_errors=True)
    for path in [os.path.join(apps, name) for name in os.listdir(apps)]:
        if is_old(path):
            shutil.rmtree(path, ignore_errors=True)
    return folder


if sys.version_info < (3, 11):  # noqa: UP036 - it is what this is for
    sys.exit("tui-agent: Python 3.11 or newer is needed, this is {}.{}".format(*sys.version_info[:2]))
try:
    sys.path[0] = unpacked(sys.path[0])
except KeyboardInterrupt:
    sys.exit(130)
from tui_agent.__main__ import entry  # noqa: E402 - it has only just been unpacked

entry()

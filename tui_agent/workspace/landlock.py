"""The small program that confines itself with Landlock and then becomes the command.

It runs on its own: `python -I -S landlock.py [--network] WRITABLE… -- PROGRAM ARGUMENT…`. Landlock is inherited and cannot be
taken off again. It stops: writing outside the given folders, TCP, signals and abstract sockets to processes
outside. It cannot stop: reading, chmod and the like, UDP, sockets with a path, nor protect a file inside a
writable folder. What of it the kernel knows depends on its `abi`. Of the rights of root only those over files, processes and
users stay: the others lead around all of this, by a device of its own to write to, or a module of the kernel.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

ABI_TRUNCATE = 3
ABI_TCP = 4
ABI_SCOPE = 6

NETWORK = "--network"
"""Leaves TCP as it is."""

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAPBSET_DROP = 24
_CAPABILITIES_LOST = {*range(64)} - {*range(8)} | {2}
"""All but chown, dac_override, fowner, fsetid, kill, setgid and setuid; more than any kernel knows."""
_RULE_PATH_BENEATH = 1

_WRITE_FILE, _TRUNCATE = 1 << 1, 1 << 14
_WRITE = _WRITE_FILE | sum(1 << bit for bit in range(4, 13))  # remove and make of every kind of entry
_REFER = 1 << 13
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm")  # noqa: S108

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def _call(number: int, *arguments: object) -> int:
    result: int = _libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def abi() -> int:
    """Return what the kernel knows of Landlock, 0 for nothing."""
    try:
        return _call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    except (OSError, AttributeError):
        return 0


def restrict(writable: list[str], *, network: bool = False) -> None:
    """Confine this thread and all its children to come.

    Raises:
        OSError: the kernel has no Landlock, or a writable folder cannot be opened.
    """
    version = abi()
    write = _WRITE | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= ABI_TRUNCATE else 0)
    tcp = 0b11 if version >= ABI_TCP and not network else 0  # bind and connect, and no rule that allows a port
    scope = 0b11 if version >= ABI_SCOPE else 0  # abstract sockets and signals
    size = 8 if version < ABI_TCP else 16 if version < ABI_SCOPE else 24
    attributes = struct.pack("QQQ", write, tcp, scope)[:size]
    rules = _call(_CREATE_RULESET, attributes, ctypes.c_size_t(size), ctypes.c_uint32(0))
    for path in [*writable, *filter(os.path.exists, _DEVICES)]:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        allowed = write if os.path.isdir(path) else write & (_WRITE_FILE | _TRUNCATE)  # noqa: PTH112 - pathlib is a slow import
        rule = struct.pack("=Qi", allowed, descriptor)
        _call(_ADD_RULE, ctypes.c_int(rules), ctypes.c_int(_RULE_PATH_BENEATH), rule, ctypes.c_uint32(0))
        os.close(descriptor)
    for number in _CAPABILITIES_LOST if os.geteuid() == 0 else ():
        _libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)  # what is executed then does not have them
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no_new_privs")
    _call(_RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint32(0))
    os.close(rules)


def main(arguments: list[str]) -> None:
    """Confine and execute; every failure ends with a sentence and 126 or 127, as a shell does."""
    split = arguments.index("--")
    program = arguments[split + 1 :]
    try:
        network = arguments[0] == NETWORK
        restrict(arguments[network:split], network=network)
    except OSError as error:
        sys.exit(_failure(f"the sandbox cannot be set up: {error.strerror}", 126))
    try:
        os.execvp(program[0], program)  # noqa: S606 - without a shell is the point
    except OSError as error:
        sys.exit(_failure(f"{program[0]} cannot be started: {error.strerror}", 127))


def _failure(sentence: str, code: int) -> int:
    sys.stderr.write(f"{sentence}\n")
    return code


if __name__ == "__main__":
    main(sys.argv[1:])

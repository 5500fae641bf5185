"""Where a profile's key comes from, and to whom it may be sent.

The key is read when a request is made, so that a changed variable or a rotating command counts at
once; it is never kept. A key goes only to the endpoint written beside it, over TLS or to this machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
from collections.abc import Mapping

from tui_agent.core.address import SECRET_NAME, is_encrypted, is_loopback, secrets_of
from tui_agent.core.profile import Profile
from tui_agent.core.types import ConfigError

COMMAND_TIMEOUT = 30.0
"""Seconds that `api_key_cmd` may take."""

_MAX_KEY = 1 << 16
"""Bytes of its output that are read."""


async def read_key(profile: Profile, env: Mapping[str, str]) -> str | None:
    """The key for one request, None when the profile needs none.

    Raises:
        ConfigError: there is no usable key; names its source and the next step, never the value.
    """
    if profile.api_key_cmd:
        key = await _run(profile.api_key_cmd, profile.name)
        return _checked(key, f"the output of api_key_cmd of profile {profile.name!r}", profile)
    return read_key_variable(profile, env)


def read_key_variable(profile: Profile, env: Mapping[str, str]) -> str | None:
    """The key from `api_key_env`; None when the profile names no variable, or is local and it is empty.

    Raises:
        ConfigError: see `read_key`.
    """
    name = profile.api_key_env
    if not name:
        return None
    key = env.get(name, "")
    if not key:
        if profile.local:
            return None
        raise ConfigError(
            f"profile {profile.name!r} reads its key from {name}, and that variable is empty: export {name}=... first"
        )
    return _checked(key, f"the value of {name}", profile)


def own_secrets(profile: Profile, env: Mapping[str, str]) -> list[str]:
    """What of a profile must never be shown, as far as it is known without running its `api_key_cmd`."""
    found = [
        env.get(profile.api_key_env or "", ""),
        *secrets_of(profile.endpoint),
        *secrets_of(profile.options.get("proxy")),
    ]
    return [text for text in (*found, *secret_values(profile.headers)) if text]


def secret_values(named: Mapping[str, str]) -> list[str]:
    """The values of headers or variables whose names say that they are secret."""
    found: list[str] = []
    for name, value in named.items():
        if SECRET_NAME.search(name):
            found += [value, *value.split()[-1:]]  # whole, and without the word before it: Bearer KEY
    return found


def check_header(name: str, value: str) -> None:
    """Refuse a header that could not be sent or could smuggle another one in.

    Raises:
        ConfigError: names the header, not its value.
    """
    token = name.replace("-", "").replace("_", "")
    if not (token.isascii() and token.isalnum() and value.isascii() and value.isprintable()):
        raise ConfigError(f"the header {name!r} holds characters that a header may not have")


def _checked(key: str, source: str, profile: Profile) -> str:
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ConfigError(f"{source} is no usable key: it holds a blank, a line break or a sign beyond ASCII")
    if not is_encrypted(profile.endpoint) and not is_loopback(profile.endpoint):
        raise ConfigError(
            f"profile {profile.name!r} would send its key unencrypted: use an https:// endpoint, or take the key out"
        )
    return key


async def _run(argv: tuple[str, ...], profile: str) -> str:
    """What the command printed until it ended; an agent that it starts may keep its output open and live on."""
    what = f"api_key_cmd of profile {profile!r} ({argv[0]})"
    loop = asyncio.get_running_loop()
    output, theirs = os.pipe()
    os.set_blocking(output, False)
    said = bytearray()
    try:
        try:
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL
            )
        except (OSError, ValueError) as error:  # a word of it holds what no command can hold
            raise ConfigError(f"{what} cannot be run: {getattr(error, 'strerror', None) or error}") from None
        finally:
            os.close(theirs)

        def take() -> None:
            with contextlib.suppress(BlockingIOError):  # nothing is there, and somebody still could print
                piece = os.read(output, _MAX_KEY)
                said.extend(piece)
                if not piece or len(said) > _MAX_KEY:
                    loop.remove_reader(output)
            if len(said) > _MAX_KEY and process.returncode is None:
                process.kill()

        loop.add_reader(output, take)
        try:
            async with asyncio.timeout(COMMAND_TIMEOUT):
                await process.wait()
        except TimeoutError:
            raise ConfigError(f"{what} took longer than {COMMAND_TIMEOUT:.0f} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        take()
    finally:
        loop.remove_reader(output)
        os.close(output)
    if len(said) > _MAX_KEY:
        raise ConfigError(f"{what} printed more than {_MAX_KEY >> 10} kB: that is no key")
    key = said.decode("utf-8", "replace").strip()
    if process.returncode or not key:
        raise ConfigError(f"{what} gave no key (exit {process.returncode})")
    return key

"""Files that are wrong in one way each: file, line, column, key, and the word that was meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.config import load
from tui_agent.places import Place, marked, place_of

BAD = [
    # text, line, column, key, message (its beginning), severity
    ("default_provider = \n", 1, 20, "", "is not valid TOML: Invalid value", "error"),
    ("[limits\n", 1, 8, "", "is not valid TOML: Expected ']'", "error"),
    ("[limits]\nmax_steps 3\n", 2, 11, "", "is not valid TOML: Expected '='", "error"),
    ("a = 1\na = 2\n", 2, 1, "", "is not valid TOML: a stands there twice", "error"),
    (
        "[limits]\nmax_steps = 1\n  max_steps = 2\n",
        3,
        3,
        "",
        "is not valid TOML: max_steps stands there twice",
        "error",
    ),
    ("a = [\n1]\na = [\n2]\n", 4, 3, "", "is not valid TOML: Cannot overwrite a value", "error"),
    ("[ui]\n[ui]\n", 2, 4, "", "is not valid TOML: Cannot declare ('ui',) twice", "error"),
    ("x = '''\nnever closed\n", 2, 13, "", "is not valid TOML: Expected", "error"),
    ("x = [1,\n", 1, 8, "", "is not valid TOML: ", "error"),
    ('x = "a\x07"\n', 1, 7, "", "is not valid TOML: Illegal character", "error"),
    ("é = 1\n", 1, 1, "", "is not valid TOML: Invalid statement", "error"),
    ("\ufeff[limits]\nmax_steps = 0\n", 2, 1, "limits.max_steps", "must be a positive whole number, not 0", "error"),
    ("[limits]\r\nmax_steps = 0\r\n", 2, 1, "limits.max_steps", "must be a positive whole number", "error"),
    ("[limits]\n  max_cost = -1\n", 2, 3, "limits.max_cost", "must be a positive number, not -1", "error"),
    ("[limits]\nmax_cost = inf\n", 2, 1, "limits.max_cost", "must be a positive number, not inf", "error"),
    ("[limits]\ncommand_timeout = nan\n", 2, 1, "limits.command_timeout", "must be a positive number", "error"),
    ("[limits]\nmax_identical = 1\n", 2, 1, "limits.max_identical", "must be a whole number, 2 or more", "error"),
    ("limits = 3\n", 1, 1, "limits", "must be a table, not 3", "error"),
    ("limits.max_steps = '9'\n", 1, 1, "limits.max_steps", "must be a positive whole number, not '9'", "error"),
    ("limits = { max_steps = 0 }\n", 1, 1, "limits.max_steps", "must be a positive whole number", "error"),
    (
        "[permissions]\nwrite = 'alow'\n",
        2,
        1,
        "permissions.write",
        "must be one of allow, ask, deny, not 'alow'; did you mean allow?",
        "error",
    ),
    (
        "[permissions]\nwrite = 'ASK'\n",
        2,
        1,
        "permissions.write",
        "must be one of allow, ask, deny, not 'ASK'; did you mean ask?",
        "error",
    ),
    (
        "[permissions]\nwrite = 'zzz'\n",
        2,
        1,
        "permissions.write",
        "must be one of allow, ask, deny, not 'zzz'",
        "error",
    ),
    ("[permissions]\nallow = 'make'\n", 2, 1, "permissions.allow", "must be a list of strings", "error"),
    ("[permissions]\nallow = ['make | sh']\n", 2, 1, "permissions.allow", "'make | sh' needs a shell", "error"),
    (
        "[permissions]\nsandbox = 'bubblewrap'\n",
        2,
        1,
        "permissions.sandbox",
        "must be one of auto, bwrap, landlock, none, not 'bubblewrap'",
        "error",
    ),
    ("[permisions]\nwrite = 'ask'\n", 1, 2, "permisions", "unknown key; did you mean permissions?", "warning"),
    ("[permissions]\nwrites = 'ask'\n", 2, 1, "permissions.writes", "unknown key; did you mean write?", "warning"),
    ("[profiles.x]\n\napi_key = 'sk'\n", 3, 1, "profiles.x.api_key", "unknown key; did you mean api_key_", "warning"),
    ("[profiles.x]\ntype = 'opnai'\n", 2, 1, "profiles.x.type", "unknown type 'opnai'; known are ", "error"),
    (
        "[profiles.x]\nendpoint = 'localhost:8080/v1'\n",
        2,
        1,
        "profiles.x.endpoint",
        "must be an address such as http://127.0.0.1:8080/v1, without blanks, not 'localhost:8080/v1'",
        "error",
    ),
    (
        "[mcp_servers.x]\nurl = 'http://me:sk-secret@host:port/'\n",
        2,
        1,
        "mcp_servers.x.url",
        "must be an address such as http://127.0.0.1:8080/v1, without blanks, not 'http://[hidden]@host:port/'",
        "error",
    ),
    ("[profiles.'a b']\nmodel = 3\n", 2, 1, "profiles.a b.model", "must be a string, not 3", "error"),
    (
        "[profiles.x.pricing]\ninput = 'free'\n",
        2,
        1,
        "profiles.x.pricing.input",
        "must be a number, 0 or more",
        "error",
    ),
    (
        "[profiles.x]\nprotocol = 'jsn'\n",
        2,
        1,
        "profiles.x.protocol",
        "must be one of auto, native, json, verbs, not 'jsn'; did you mean json?",
        "error",
    ),
    ("[checks]\n'/w' = []\n", 2, 1, "checks./w", "must be a list of words, the first a program", "error"),
    ("[ui]\nside_pane = 'yes'\n", 2, 1, "ui.side_pane", "must be true or false, not 'yes'", "error"),
    ("[keys]\n'ui.palette' = ['f2']\n", 2, 1, "keys.ui.palette", "must be a string", "error"),
]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad[0])
def test_a_bad_file(tmp_path: Path, bad: tuple[str, int, int, str, str, str]) -> None:
    text, line, column, key, message, severity = bad
    file = tmp_path / "config.toml"
    file.write_bytes(text.encode())
    faults = load(file, env={}).faults
    assert len(faults) == 1
    assert (faults[0].place, faults[0].key, faults[0].severity) == ((line, column), key, severity)
    assert faults[0].message.startswith(message)
    assert file.read_bytes() == text.encode(), "nothing is overwritten"


@pytest.mark.parametrize(("start", "column"), [(b"", 4), (b"\xef\xbb\xbf", 4)])
def test_a_file_of_another_encoding(tmp_path: Path, start: bytes, column: int) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(start + "# \u00fc\n# \u00fc".encode() + "\u00fc\n".encode("latin-1"))
    (fault,) = load(file, env={}).faults
    assert (fault.place, fault.message) == (Place(2, column), "cannot be read: it is not UTF-8 text")


NAMES = st.from_regex(r"[a-z][a-z_]{0,6}", fullmatch=True)


@given(
    st.lists(NAMES, min_size=1, max_size=4),
    st.lists(st.sampled_from(["", "# a = 1", "z9 = '# x'", 'z8 = "[a]"']), max_size=5, unique=True),
)
def test_the_place_of_a_key_is_where_it_was_written(parts: list[str], before: list[str]) -> None:
    *table, name = parts
    lines = [*before, *([f"[{'.'.join(table)}]"] if table else []), f"  {name} = 1"]
    assert place_of("\n".join(lines), (*table, name)) == (len(lines), 3)


@given(st.text(), st.integers(1, 6), st.integers(1, 300))
def test_any_place_in_any_text_can_be_marked(text: str, line: int, column: int) -> None:
    shown = marked(text, Place(line, column)).splitlines()
    assert len(shown) <= 2 or line <= len(text.splitlines())
    assert all(len(part) <= 300 for part in shown)


@pytest.mark.parametrize(
    ("text", "line", "shown"),
    [
        ('[profiles.p]\napi_key = "hunter2"  # mine', 2, "    api_key = *********  * ****\n    ^"),
        ("[a.headers]\nx = 'hunter2'", 2, "    x = *********\n    ^"),
        ("[a.env]\nx = [\n'hunter2'", 3, "    *********\n    ^"),
        ('proxy = "http://me:hunter2@host"', 1, "    proxy = ************************\n    ^"),
        ('[keys]\n"ui.palette" = "f2"', 2, '    "ui.palette" = "f2"\n    ^'),
        ('model = "gpt"', 1, '    model = "gpt"\n    ^'),
    ],
)
def test_the_line_of_a_fault_is_shown_without_what_may_be_secret(text: str, line: int, shown: str) -> None:
    assert marked(text, Place(line, 1)) == shown

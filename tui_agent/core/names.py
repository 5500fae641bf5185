"""Names of files in what a person or a model says, and which files of a folder they are. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from tui_agent.core.late import late

READ = 10_000
"""Characters of a task, from its beginning, and of an answer, at its end, that are looked at."""
MOST = 12
"""Names of a task that are looked for, and claims of an answer that are marked."""
_EXTENSION = r"(?:[A-Za-z][A-Za-z0-9]{0,9})"
FILE = rf"(?:[\w@+-][\w.@+-]*/)*[\w@+-][\w@+-]*(?:\.[\w@+-]+)*\.{_EXTENSION}"
QUOTED_FILE = rf"[`'\"*]{{0,3}}(?:\./)?{FILE}[`'\"*]{{0,3}}"
FILE_LIST = rf"{QUOTED_FILE}(?:(?:\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or)\s+){QUOTED_FILE}){{0,8}}"
_FILES = late(rf"(?<![\w/.@:-])(?:\./)?({FILE})(?![\w/-])(?!\.\w)")
_URL = late(r"(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
_NOT_FILES = frozenset({"e.g", "i.e", "etc", "com", "org", "net", "io", "dev"})
TEST_FILE = late(r"(?:^|/)tests?/|(?:^|/)test_[^/]*$|[._-](?:test|spec)s?\.\w+$|(?:^|/)conftest\.py$")
EXTENSIONS = (
    "adoc asm astro bash bat bib c cc cfg cjs clj cmake conf cpp cs css csv cxx dart diff ejs el env erl ex exs f90 fish fs go "
    "gradle graphql h hbs hpp hs htm html hxx ini ipynb java jinja jl js json jsonc jsx kt kts less lock log lua m md mdx mjs "
    "mk ml mli mm nim nix org patch php pl plist pm proto ps1 py pyi pyx r rb rkt rs rst sass scala scm scss sh sol sql svelte "
    "svg swift tcl tcss tex tf toml ts tsx txt vim vue xml yaml yml zig zsh "
)
"""Endings of names that are files and nothing else; `os.path` or `requests.get` may be either."""
_PRODUCTS = frozenset({"node.js", "next.js", "vue.js", "nuxt.js", "three.js", "react.js", "express.js", "d3.js"})


_DATA = frozenset({
    "cfg", "conf", "csv", "db", "env", "html", "ini", "ipynb", "json", "jsonc", "lock", "log", "md", "mdx", "org", "png", "rst",
    "sql", "sqlite", "svg", "toml", "tsv", "txt", "xml", "yaml", "yml",
})  # fmt: skip


def files_in(text: str) -> list[str]:
    """Names of files in a text, in order, each once; what is mentioned with an @ before it as well."""
    found = [name.removeprefix("@") for name in _FILES.findall(_URL.sub(" ", text)) if _is_file_name(name)]
    return list(dict.fromkeys(found))


def _is_file_name(name: str) -> bool:
    base, _, extension = posixpath.basename(name).rpartition(".")
    return (
        name.lower() not in _NOT_FILES | _PRODUCTS
        and extension.lower() not in _NOT_FILES
        and len(base) + len(extension) > 2
    )


def without_files(text: str) -> str:
    """A text without the names of files, and without addresses."""
    return _FILES.sub(" ", _URL.sub(" ", text))


def may_be_code(name: str) -> bool:
    """Whether a name with a dot may be of something in the code, and of no file."""
    return "/" not in name and f" {name.rpartition('.')[2].lower()} " not in f" {EXTENSIONS}"


def is_data(name: str) -> bool:
    """Whether a file of this name is read or written by code, so that what is done about it may stand in the code."""
    return name.rpartition(".")[2].lower() in _DATA


def same_file(path: str, named: str) -> bool:
    """Whether the file at a path is the one of this name, which need not say all of its folders, nor in which case it is written."""
    path, named = path.casefold(), posixpath.normpath(named).casefold()
    return path == named or path.endswith("/" + named) or posixpath.basename(path) == named


def listed(names: Iterable[str]) -> str:
    """The first of some names in a sentence."""
    return ", ".join(list(names)[:5])

"""Colours for code, one line at a time, with the lexer's state carried from line to line.

A stream never has to be read again: what a line looks like depends on the lines before it only. Pygments
is imported by the first fence with a known language, never before.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from tui_agent.ui.lines import OPEN, Piece, unmarked

if TYPE_CHECKING:
    from pygments.lexer import ExtendedRegexLexer  # type: ignore[import-untyped]

Stack: TypeAlias = tuple[str, ...]
"""States of a lexer between two lines, innermost last."""

ROOT: Stack = ("root",)

LANGUAGES = frozenset(
    (
        "bash",
        "c",
        "c++",
        "cpp",
        "css",
        "diff",
        "dockerfile",
        "go",
        "html",
        "ini",
        "java",
        "javascript",
        "js",
        "py",
        "python",
        "python3",
        "rs",
        "rust",
        "sh",
        "shell",
        "sql",
        "toml",
        "ts",
        "typescript",
        "xml",
        "zsh",
    )
)
"""Languages whose lexers keep their whole state in a stack; code in another one stays plain."""

_SUFFIXES = {
    **{name: name for name in ("c", "cpp", "css", "go", "html", "ini", "java", "js", "py", "rs", "sh", "sql", "toml")},
    **{name: name for name in ("ts", "xml", "zsh", "json", "jsx", "tsx")},
    "bash": "bash",
    "cc": "cpp",
    "cfg": "ini",
    "h": "c",
    "hpp": "cpp",
    "htm": "html",
    "mjs": "js",
    "pyi": "py",
    "svg": "xml",
}
_ALIASES = {"json": "js", "jsonc": "js", "jsx": "js", "tsx": "ts", "rs": "rust", "patch": "diff", "console": "bash"}

_STYLES = (
    ("Token.Comment", "dim"),
    ("Token.Keyword", "strong"),
    ("Token.Name.Tag", "strong"),
    ("Token.Literal", "literal"),
    ("Token.Generic.Inserted", "ok"),
    ("Token.Generic.Deleted", "fail"),
    ("Token.Generic.Heading", "strong"),
)


@lru_cache(maxsize=64)
def _lexer(language: str) -> ExtendedRegexLexer | None:
    language = _ALIASES.get(language, language)
    if language not in LANGUAGES:
        return None
    from pygments.lexer import ExtendedRegexLexer  # noqa: PLC0415 - late: not before the first paint
    from pygments.lexers import find_lexer_class_by_name  # type: ignore[import-untyped]  # noqa: PLC0415

    # The extended lexer takes its states from a context object, which can be kept between lines.
    plain = find_lexer_class_by_name(language)
    return type(plain.__name__, (ExtendedRegexLexer, plain), {"name": plain.name})()


@lru_cache(maxsize=512)
def _style(token: str) -> str:
    return next((style for prefix, style in _STYLES if token.startswith(prefix)), "")


def highlight(language: str, stack: Stack, line: str) -> tuple[Stack, list[Piece]]:
    """The pieces of one line of code (no line break in it) and the state after it."""
    lexer = None if OPEN in line else _lexer(language.lower())
    if lexer is None:
        return stack, unmarked(line, "")
    from pygments.lexer import LexerContext  # noqa: PLC0415

    context = LexerContext(line + "\n", 0, list(stack))
    pieces: list[Piece] = []
    for _, token, text in lexer.get_tokens_unprocessed(context=context):
        shown = text.rstrip("\n")
        style = _style(str(token))
        if pieces and pieces[-1][1] == style:
            pieces[-1] = (pieces[-1][0] + shown, style)
        elif shown:
            pieces.append((shown, style))
    return tuple(context.stack), pieces


def language_of(path: str) -> str:
    """The language of a file, by its name; "" when it is none of ours."""
    name = path.rpartition("/")[2].lower()
    return "dockerfile" if name == "dockerfile" else _SUFFIXES.get(name.rpartition(".")[2], "")


def load(language: str) -> bool:
    """Load what a language needs, which takes a while: meant for a thread. False when there are no colours for it."""
    return _lexer(language) is not None


def warm_up() -> None:
    """Load what the first fence will probably need; meant for a thread, while the model thinks."""
    for language in ("python", "bash"):
        _lexer(language)

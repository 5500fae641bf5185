"""Three sets of names, and nothing else decides by name: protected, secret and noise.

Protected names are never written, secret names ask before they are read and stay out of searches, noise is
neither listed nor searched. Dotfiles as such are ordinary. Names are compared in a folded form, because
a file system, or a model, may spell one name in several ways.
"""

from __future__ import annotations

import fnmatch
import unicodedata

TEMPORARY_PREFIX = ".tui-agent-"
"""How the name of a file begins that stands for one not yet committed; it ends with ".tmp"."""
_PROTECTED = frozenset({".git", ".tui_agent", "git~1"})
_SECRET_DIRECTORIES = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube"})
_SECRET = (
    *(".env", ".env.*", ".envrc", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*"),
    *("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk"),
    *(".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".htpasswd", ".git-credentials", ".dockercfg"),
    *("credentials", ".credentials", "credentials.json", "secrets.json", "secrets.toml", "secrets.y*ml"),
)
_NOT_SECRET = ("*.example", "*.sample", "*.template", "*.dist", "*.pub")
HOME_PROTECTED = (
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".inputrc"),
    *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login"),
    *(".config/fish", ".config/git", ".config/tui_agent", ".config/autostart", ".config/systemd"),
    *(".local/share/tui_agent", ".local/state/tui_agent", ".gitconfig", ".ssh", ".pam_environment", ".xprofile"),
)
"""Paths below the home directory that no tool writes: start files, and what belongs to this product."""
_INSTRUCTIONS = frozenset(
    {
        "agents.md",
        "agents.override.md",
        "claude.md",
        "claude.local.md",
        "gemini.md",
        "skill.md",
        "copilot-instructions.md",
    }
    | {".cursorrules", ".windsurfrules", ".clinerules"}
)
_EXECUTED = frozenset(
    {"makefile", "gnumakefile", "conftest.py", "noxfile.py", "tox.ini", "justfile", "setup.py", "setup.cfg", "build.rs"}
    | {"package.json", "pyproject.toml", "cargo.toml", "meson.build", "cmakelists.txt", "rakefile", "sitecustomize.py"}
    | {"pytest.ini", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradlew", "pom.xml"}
    | {"dockerfile", "jenkinsfile", ".gitlab-ci.yml", ".pre-commit-config.yaml", ".envrc", ".mcp.json"}
)
_EXECUTED_FOLDERS = frozenset({".husky", ".vscode", ".devcontainer", ".circleci"})
_CACHES = frozenset({"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox"})
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")


def fold(name: str) -> str:
    """One spelling for all: NFKC, invisible characters removed, case folded, a stream suffix and trailing blanks cut."""
    plain = name.isascii() and name.isprintable()  # as most names are: then there is nothing to remove
    kept = name if plain else (c for c in unicodedata.normalize("NFKC", name) if not _ignorable(c))
    text = unicodedata.normalize("NFKC", "".join(kept).casefold())
    return text.split(":")[0].rstrip(" .\t") or text


def alike(name: str) -> str:
    """One spelling for names that some file systems take for the same, and that look the same: case and accents."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def _ignorable(c: str) -> bool:
    return (
        c in _FILLERS
        or unicodedata.category(c) in {"Cf", "Cc"}
        or "\ufe00" <= c <= "\ufe0f"
        or "\U000e0100" <= c <= "\U000e01ef"
    )


def protected(parts: tuple[str, ...]) -> str | None:
    """Why no tool writes to a path with these components, or None."""
    for part in parts:
        if fold(part) in _PROTECTED:
            return f"{part} is protected: tools never write there"
    return None


def secret(parts: tuple[str, ...]) -> str | None:
    """Why reading a file of this path asks first, or None."""
    if not parts:
        return None
    if any(fold(part) in _SECRET_DIRECTORIES for part in parts[:-1]):
        return "it lies in a folder of keys and may hold a secret"
    name = fold(parts[-1])
    if any(fnmatch.fnmatchcase(name, p) for p in _NOT_SECRET):
        return None
    if any(fnmatch.fnmatchcase(name, p) for p in _SECRET):
        return f"{parts[-1]} is a sensitive name and may hold a secret"
    return None


def noise(name: str) -> bool:
    """Whether one component is left out of listings and searches: editor backups, `.git`, our own temporary files."""
    if name.startswith(TEMPORARY_PREFIX) and name.endswith(".tmp"):
        return True
    return name.endswith("~") or (name.startswith("#") and name.endswith("#") and len(name) > 1) or fold(name) == ".git"


def cache(parts: tuple[str, ...]) -> bool:
    """Whether a path lies in a folder that tools fill by themselves: what a command leaves there is no change of the work."""
    return any(part in _CACHES for part in parts)


def caution(parts: tuple[str, ...]) -> str:
    """What a person should know before this file is written, "" when there is nothing to say."""
    name = fold(parts[-1]) if parts else ""
    if name in _INSTRUCTIONS or (len(parts) > 1 and fold(parts[-2]) in {"skills", "commands"} and name.endswith(".md")):
        return "agents read this file as instructions"
    folders = {fold(part) for part in parts[:-1]}
    if name in _EXECUTED or folders & _EXECUTED_FOLDERS or folders >= {".github", "workflows"}:
        return "this file is executed by the check command, by tests, a build or an editor"
    return ""

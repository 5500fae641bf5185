"""Day 2: looking, through the product's own resolution of paths, in its strictest form."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tui_agent.tools import arguments, names
from tui_agent.workspace import files, paths

from .loop import AgentError


@dataclass(frozen=True)
class ToolPolicy:
    root: Path
    max_file_bytes: int = 65536
    max_list_entries: int = 200
    allow_writes: bool = False
    allowed_commands: tuple[Any, ...] = ()
    max_write_bytes: int = 65536
    command_timeout_seconds: float = 30.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "root", Path(self.root).resolve())
        if not self.root.is_dir():
            raise ValueError(f"the root must exist: {self.root}")
        if any(type(value) is not int for name, value in asdict(self).items() if name.startswith("max_")):
            raise ValueError("limits must be integers")
        if any(value <= 0 for name, value in asdict(self).items() if name.startswith(("max_", "command_"))):
            raise ValueError("limits must be positive")


class Workspace:
    available_tools, modified_files = frozenset({"list_files", "read_file"}), ()

    def __init__(self, policy: ToolPolicy, confirm_tool: Any = None, receipt_store: Any = None) -> None:
        self.policy, self._disk = policy, files.Disk(paths.Anchor.at(policy.root))

    def _place(self, raw: str) -> paths.Place:
        try:
            place = self._disk.anchor.resolve(raw)
        except arguments.ToolError as error:
            raise AgentError(str(error)) from error
        if place.floors or place.no_write or str(Path(raw)) != (place.path or "."):
            raise AgentError(f"{raw} is not allowed: {place.no_write or (*place.floors, 'a link or absolute')[0]}")
        return place

    def resolve_path(self, raw: str) -> Path:
        return self.policy.root / self._place(raw).path

    def list_files(self, path: str = ".") -> str:
        found = sorted(self.resolve_path(path).iterdir(), key=lambda entry: entry.name)
        hidden = lambda e: e.is_symlink() or any(f((e.name,)) for f in (names.protected, names.secret))  # noqa: E731
        shown = [e for e in found if not hidden(e) and not names.noise(e.name)][: self.policy.max_list_entries]
        return "\n".join(f"{'dir' if e.is_dir() else 'file'} {e.relative_to(self.policy.root)}" for e in shown)

    def read_file(self, path: str) -> str:
        place = self._place(path)
        if not place.is_file:
            raise AgentError(f"{path} is not a regular file")
        data = (self._disk.content(place) or (b"",))[0]
        if len(data) > self.policy.max_file_bytes:
            raise AgentError(f"{path} exceeds {self.policy.max_file_bytes} bytes")
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise AgentError(f"{path} is not UTF-8 text") from error

    def execute(self, action: Any) -> str:
        if action.tool not in self.available_tools:
            return f"error: tool is not enabled: {action.tool}"
        try:
            return getattr(self, action.tool)(**action.arguments)
        except (AgentError, arguments.ToolError, OSError, TypeError) as error:
            return f"error: {error}"

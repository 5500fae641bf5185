"""Completions for bash, zsh and fish, written from the parsers of the command line: nothing is said twice."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

PROGRAM = "tui-agent"

Takes: TypeAlias = Literal["nothing", "text", "file", "folder"]


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag with all its spellings; `choices` are the words it takes, else `takes` says what kind of word."""

    names: tuple[str, ...]
    help: str
    takes: Takes = "nothing"
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """A command with its flags, what stands behind them, and the commands in it. The program itself has no name."""

    name: str
    summary: str
    flags: tuple[Flag, ...] = ()
    operand: Takes = "nothing"
    choices: tuple[str, ...] = ()
    inner: tuple[Command, ...] = ()


def command(
    name: str,
    summary: str,
    parser: argparse.ArgumentParser,
    inner: Sequence[Command] = (),
    words: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Command:
    """What a parser takes; `inner` are commands that it does not know of itself.

    `words` are offered where the parser takes any, by the name that it has for the argument.
    """
    flags: list[Flag] = []
    operand: Takes = "nothing"
    choices: tuple[str, ...] = ()
    found = list(inner)
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to be asked
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001
            found += [command(key, helps[key], sub, words=words) for key, sub in action.choices.items()]
            continue
        takes = _takes(action)
        fitting = tuple(map(str, action.choices or words.get(str(action.metavar), ())))
        if action.option_strings:
            flags.append(Flag(tuple(action.option_strings), action.help or "", takes, fitting))
        else:
            operand, choices = takes, fitting
    return Command(name, summary, tuple(flags), operand, choices, tuple(found))


def _takes(action: argparse.Action) -> Takes:
    if action.nargs == 0:
        return "nothing"
    return "folder" if action.metavar == "DIR" else "file" if action.metavar == "FILE" else "text"


def _walk(node: Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Command]]:
    yield path, node
    for inner in node.inner:
        yield from _walk(inner, (*path, inner.name))


# ------------------------------------------------------------------ bash


def bash(root: Command) -> str:
    """A function for bash's `complete`."""
    steps, values, words = [], [], []
    for path, node in _walk(root):
        at = " ".join(path)
        for inner in node.inner:
            # a command of the program itself counts as the first word only, as it does for the program
            first = "[[ $i -eq 1 ]] && " if not path else ""
            steps.append(f'      "{at}:{inner.name}") {first}at="{" ".join((*path, inner.name))}" ;;')
        for flag in node.flags:
            if flag.takes != "nothing":
                names = "|".join(f'"{at}:{name}"' for name in flag.names)
                values.append(f"    {names}) {_bash_words(flag.takes, flag.choices)}; return ;;")
        flags = " ".join(name for flag in node.flags for name in flag.names)
        inner_names = " ".join(inner.name for inner in node.inner)
        words.append(f'    "{at}") flags="{flags}"; commands="{inner_names}"; operand="{node.operand}" ;;')
        if node.choices:
            words[-1] = words[-1].replace('commands=""', f'commands="{" ".join(node.choices)}"')
    return "\n".join(
        (
            f"# bash completion of {PROGRAM}; made by: {PROGRAM} completions bash",
            "_tui_agent() {",
            '  local at="" i flags="" commands="" operand="" cur=${COMP_WORDS[COMP_CWORD]} before=""',
            "  for ((i = 1; i < COMP_CWORD; i++)); do",
            # bash makes three words of --config=FILE
            '    if [[ ${COMP_WORDS[i]} == "=" ]]; then continue; fi',
            "    before=${COMP_WORDS[i]}",
            '    case "$at:$before" in',
            *steps,
            "    esac",
            "  done",
            '  if [[ $cur == "=" ]]; then cur=""; fi',
            '  case "$at:$before" in',
            *values,
            "  esac",
            '  case "$at" in',
            *words,
            "  esac",
            '  if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "$flags" -- "$cur")); return; fi',
            # the commands of the program are a first word, or a task would be taken for one
            '  if [[ -n $at || $COMP_CWORD -eq 1 ]]; then COMPREPLY=($(compgen -W "$commands" -- "$cur")); fi',
            "  local IFS=$'\\n'",
            '  if [[ $operand == file ]]; then COMPREPLY+=($(compgen -f -- "$cur")); fi',
            '  if [[ $operand == folder ]]; then COMPREPLY+=($(compgen -d -- "$cur")); fi',
            "}",
            f"complete -o filenames -F _tui_agent {PROGRAM}",
            "",
        )
    )


def _bash_words(takes: Takes, choices: tuple[str, ...]) -> str:
    if choices:
        return f'COMPREPLY=($(compgen -W "{" ".join(choices)}" -- "$cur"))'
    kind = {"file": "-f", "folder": "-d"}.get(takes)
    # names of files are lines: they may hold blanks
    return f"local IFS=$'\\n'; COMPREPLY=($(compgen {kind} -- \"$cur\"))" if kind else "COMPREPLY=()"


# ------------------------------------------------------------------ zsh


def zsh(root: Command) -> str:
    """A completion function for zsh, with the help of every flag."""
    lines = [f"#compdef {PROGRAM}", f"# made by: {PROGRAM} completions zsh", ""]
    for path, node in _walk(root):
        lines += [f"{_zsh_name(path)}() {{", *(f"  {line}" for line in _zsh_body(path, node)), "}", ""]
    return "\n".join((*lines, '_tui_agent "$@"', ""))


def _zsh_name(path: tuple[str, ...]) -> str:
    return "_".join(("_tui_agent", *path)).replace("-", "_")


def _zsh_body(path: tuple[str, ...], node: Command) -> Iterator[str]:
    specs = [f"  {_zsh_flag(flag)} \\" for flag in node.flags]
    if not node.inner:
        rest = f"'*:word:{_zsh_action(node.operand, node.choices)}'" if node.operand != "nothing" else ""
        yield from (line for line in ("_arguments -s \\", *specs, f"  {rest}") if line.strip())
        return
    yield "local context state state_descr line"
    yield "typeset -A opt_args"
    yield "local -a commands=("
    yield from (f"  {_quoted(f'{inner.name}:{inner.summary}')}" for inner in node.inner)
    yield ")"
    yield "_arguments -s -C \\"
    yield from specs
    yield "  '1: :->command' '*:: :->rest'"
    yield "case $state in"
    yield "  command) _describe -t commands command commands ;;"
    yield "  rest) case $line[1] in"
    yield from (f"    {inner.name}) {_zsh_name((*path, inner.name))} ;;" for inner in node.inner)
    yield "    *) _arguments -s \\"
    yield from (f"    {spec}" for spec in specs)
    yield "      '*:word: ' ;;"
    yield "  esac ;;"
    yield "esac"


def _zsh_flag(flag: Flag) -> str:
    text = re.sub(r"([\[\]:\\])", r"\\\1", flag.help)
    value = "" if flag.takes == "nothing" else f":value:{_zsh_action(flag.takes, flag.choices)}"
    rest = _quoted(f"[{text}]{value}")
    names = flag.names
    return f"'*'{{{','.join(names)}}}{rest}" if len(names) > 1 else f"'*'{names[0]}{rest}"


def _zsh_action(takes: Takes, choices: tuple[str, ...]) -> str:
    return f"({' '.join(choices)})" if choices else {"file": "_files", "folder": "_files -/"}.get(takes, " ")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


# ------------------------------------------------------------------ fish


def fish(root: Command) -> str:
    """Lines of `complete` for fish."""
    lines = [f"# fish completion of {PROGRAM}; made by: {PROGRAM} completions fish", f"complete -c {PROGRAM} -f"]
    for path, node in _walk(root):
        here = _fish_condition(root, path, node)
        lines += [
            f"complete -c {PROGRAM} -n {_fish(here)} -a {inner.name} -d {_fish(inner.summary)}" for inner in node.inner
        ]
        flags_here = f"not __fish_seen_subcommand_from {_names(root)}" if not path else here
        for flag in node.flags:
            spelled = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)
            lines.append(
                f"complete -c {PROGRAM} -n {_fish(flags_here)} {spelled}{_fish_value(flag)} -d {_fish(flag.help)}"
            )
        if node.choices:
            lines.append(f"complete -c {PROGRAM} -n {_fish(here)} -a {_fish(' '.join(node.choices))}")
        elif node.operand in {"file", "folder"}:
            lines.append(f"complete -c {PROGRAM} -n {_fish(here)} -F")
    return "\n".join((*lines, ""))


def _names(node: Command) -> str:
    return " ".join(inner.name for inner in node.inner)


def _fish_condition(root: Command, path: tuple[str, ...], node: Command) -> str:
    """Where a command's own words stand: behind its name, and behind none of its inner ones."""
    if not path:
        return "__fish_is_first_token"
    seen = "; and ".join(f"__fish_seen_subcommand_from {name}" for name in path)
    return f"{seen}; and not __fish_seen_subcommand_from {_names(node)}" if node.inner else seen


def _fish_value(flag: Flag) -> str:
    if flag.choices:
        return f" -x -a {_fish(' '.join(flag.choices))}"
    return {"nothing": "", "text": " -x", "file": " -r -F", "folder": " -x -a '(__fish_complete_directories)'"}[
        flag.takes
    ]


def _fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SHELLS: Mapping[str, Callable[[Command], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
"""The script of each shell."""

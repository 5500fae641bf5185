"""What a command would start: the programs behind wrappers, in `sh -c`, in shell text.

How each wrapper is written stands in a table; the search follows it and reports what it could
not see as `opaque`. It is used to find denied and dangerous commands, never to allow one.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tui_agent.core.shell import (
    ASSIGNMENT,
    MAX_BYTES,
    MAX_DEPTH,
    Command,
    MalformedError,
    Script,
    UnbalancedError,
    Word,
    lex,
)


def base_name(program: str) -> str:
    """Return the program's name without its folder, case-folded for file systems that do not care."""
    return program.rpartition("/")[2].casefold()


SHELLS = frozenset({
    "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "rbash", "pwsh", "powershell",
})  # fmt: skip


def shell_text(argv: Sequence[str]) -> str | None:
    """The script of an argv that is just `sh -c SCRIPT`, None for any other."""
    if len(argv) == 3 and base_name(argv[0]) in SHELLS and re.fullmatch(r"-[a-z]*c", argv[1]):
        return argv[2]
    return None


PRIVILEGE = frozenset({"sudo", "sudoedit", "doas", "su", "pkexec", "runuser", "run0"})


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How a program that starts another one is written.

    `values`: options that take a value. `scripts`: options whose value is shell text. `skip`: words
    before the inner command. `assigns`: NAME=value words may come first. `inner`: the rest is a
    command (argv), shell text when joined (text), or no command (none). `inert`: with these options
    nothing is started.
    """

    values: frozenset[str] = frozenset()
    scripts: frozenset[str] = frozenset()
    skip: int = 0
    assigns: bool = False
    inner: str = "argv"
    inert: frozenset[str] = frozenset()


def _wrapper(
    values: str = "", *, scripts: str = "", skip: int = 0, assigns: bool = False, inner: str = "argv", inert: str = ""
) -> Wrapper:
    def names(text: str) -> frozenset[str]:
        return frozenset(text.split())

    return Wrapper(names(values), names(scripts), skip, assigns, inner, names(inert))


_LOGIN = _wrapper("-g -G -s -w --group --supp-group --shell", scripts="-c --command --session-command", inner="none")
WRAPPERS: dict[str, Wrapper] = {
    "env": _wrapper("-u -C -a --unset --chdir --argv0", scripts="-S --split-string", assigns=True),
    "nice": _wrapper("-n --adjustment"),
    "timeout": _wrapper("-k -s --kill-after --signal", skip=1),
    "nohup": _wrapper(),
    "time": _wrapper("-f -o --format --output"),
    "stdbuf": _wrapper("-i -o -e --input --output --error"),
    "setsid": _wrapper(),
    "ionice": _wrapper("-c -n -p -P -u --class --classdata --pid --pgid --uid"),
    "taskset": _wrapper(skip=1),
    "chrt": _wrapper("-T -P -D", skip=1),
    "xargs": _wrapper(
        "-a -d -E -I -J -L -n -P -R -S -s --arg-file --delimiter --max-args --max-procs --max-chars --process-slot-var"
    ),
    "watch": _wrapper("-n -q --interval --equexit", inner="text"),
    "script": _wrapper(
        "-E -I -O -B -T -m -o --echo --log-in --log-out --log-io --log-timing --logging-format --output-limit",
        scripts="-c --command",
        inner="none",
    ),
    "command": _wrapper(inert="-v -V"),
    "builtin": _wrapper(),
    "coproc": _wrapper(),
    "exec": _wrapper("-a"),
    "eval": _wrapper(inner="text"),
    "trap": _wrapper(inner="text"),
    "parallel": _wrapper(
        "-j -P -a -I -S -N -n -L -s -d -E -C --jobs --arg-file --sshlogin --delay --timeout --joblog --colsep --results"
        " --workdir --tmpdir --retries --max-args --max-procs --load --memfree --halt --tagstring --delimiter",
        inner="text",
    ),
    "strace": _wrapper("-a -b -e -I -o -O -p -P -s -S -u -E -U -X --trace --output --string-limit --user --env"),
    "ltrace": _wrapper("-a -A -D -e -F -l -n -o -p -s -u -w -x"),
    "unshare": _wrapper("-S -G -R -w --setuid --setgid --root --wd --map-user --map-group --map-users --map-groups"),
    "nsenter": _wrapper("-t -S -G -T --target --setuid --setgid"),
    "chroot": _wrapper("--userspec --groups", skip=1),
    "flock": _wrapper("-w -E --timeout --wait --conflict-exit-code", scripts="-c --command", skip=1),
    "sudo": _wrapper(
        "-u -g -h -p -C -r -t -T -U -D -R -a -c --user --group --host --prompt --close-from --role --type --chdir"
        " --chroot --command-timeout --other-user",
        assigns=True,
    ),
    "doas": _wrapper("-u -C -a"),
    "pkexec": _wrapper("--user"),
    "runuser": _LOGIN,
    "su": _LOGIN,
    "busybox": _wrapper(),
    "toybox": _wrapper(),
    "find": _wrapper(),  # has its own reader below
    "prlimit": _wrapper("-p --pid -o --output"),
    "setpriv": _wrapper(
        "--ambient-caps --inh-caps --bounding-set --ruid --euid --rgid --egid --reuid --regid --groups --securebits"
        " --pdeathsig --selinux-label --apparmor-profile"
    ),
    "setarch": _wrapper(skip=1),
    "fakeroot": _wrapper("-l -s -i -b --lib --faked"),
    "choom": _wrapper("-n -p --adjust --pid"),
    "systemd-run": _wrapper(
        "-u -p -E -H -M --unit --property --setenv --host --machine --slice --description --uid --gid --nice"
        " --working-directory --service-type"
    ),
    "unbuffer": _wrapper(),
    "chronic": _wrapper(),
    "sg": _wrapper(scripts="-c", inner="text", skip=1),
    "capsh": _wrapper(scripts="-c", inner="none"),
    "sem": _wrapper("-j --jobs --id", inner="text"),
    # words of zsh and fish before a command
    **dict.fromkeys(("noglob", "nocorrect", "-", "and", "or", "not", "begin"), _wrapper()),
}
_FIND_EXEC = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_GIT_SCRIPTS = {
    "rebase": ("-x", "--exec"),
    "difftool": ("-x", "--extcmd"),
    "grep": ("-O", "--open-files-in-pager"),
    "filter-branch": tuple(
        f"--{name}-filter" for name in ("env", "tree", "index", "parent", "msg", "commit", "tag-name")
    ),
}
"""Options of git's sub-commands whose value is shell text."""
_SHELL_VALUES = frozenset({"--rcfile", "--init-file"})

GIT_VALUES = frozenset({
    "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--attr-source", "--super-prefix",
    "--shallow-file",
})  # fmt: skip
"""Global options of git that take the next word."""


_GIT_HARMLESS = re.compile(
    r"(user|color|column|advice|diff\.(context|renames|algorithm)|core\.(quotepath|abbrev|autocrlf)|init|log|safe)\b.*"
    r"|commit\.gpgsign=(false|0|no|off)",
    re.IGNORECASE,
)
"""Settings after `-c` that name no program and lead to no other settings."""
_STARTED = re.compile(r"(\w*PAGER|\w*EDITOR|VISUAL)=(?P<text>.*)", re.DOTALL)
"""Variables whose value is a command that a program starts."""
_TELLING = re.compile(
    r"(BASH_ENV|ENV|LD_\w+|DYLD_\w+|PATH|SHELL|SHELLOPTS|PS[0-4]|PROMPT_COMMAND|\w*PAGER|LESSOPEN|\w*EDITOR|VISUAL"
    r"|PYTHONSTARTUP|PERL5OPT|RUBYOPT|NODE_OPTIONS|MAKEFLAGS|RUSTC\w*"
    r"|GIT_(CONFIG\w*|SSH\w*|EXTERNAL_DIFF|ASKPASS|EXEC_PATH|PROXY_COMMAND|DIR))\+?=.*",
    re.DOTALL,
)
"""Variables that make a program start another one, or run other code, than its command line shows."""
_READ_SCRIPTS = frozenset({".", "source", "at", "batch", "crontab"})
_EVALUATED = re.compile(r"\[[^\]]*(\$\(|`)|@P\}")
"""What a shell evaluates although it is quoted: the subscript of a name, a value expanded like a prompt."""
_TAKE_COMMANDS = frozenset({"enable", "bind", "mapfile", "readarray", "complete", "compgen", "fc", "hash"})
"""Builtins of shells that can be given a command, or a file with one, by an option."""


def without_git_options(command: Command) -> Command:
    """Drop git's global options, so that the sub-command is the second word; other commands stay as they are."""
    if base_name(command[0].text) != "git":
        return command
    at = 1
    while at < len(command) and command[at].text.startswith("-"):
        at += 2 if command[at].text in GIT_VALUES else 1
    return (command[0], *command[at:])


def _git_settings(command: Command) -> Iterator[str]:
    """The settings that git's global options give; of those that lead to others, their option."""
    words = [word.text for word in command[: len(command) - len(without_git_options(command)) + 1]]
    for at, word in enumerate(words):
        if word == "-c" and at + 1 < len(words):
            yield words[at + 1]
        elif word.startswith(("-c", "--config-env", "--exec-path=")) and word != "-c":
            yield word.removeprefix("-c")


# ------------------------------------------------------------------ the search


@dataclass(slots=True)
class Found(Script):
    """Everything that one command line would start, as far as its text shows; the outer command is the first.

    `unseen_program`: a shell runs text that does not stand in the command line.
    """

    unseen_program: bool = False


def search_text(text: str) -> Found:
    """Find what shell text would start.

    Raises:
        UnbalancedError: a quote is not closed.
        MalformedError: too many words, or nested too deeply.
    """
    search = _Search()
    search.script(lex(text), 0)
    if _EVALUATED.search(text):
        search.found.hide("a text that a shell evaluates again")
    return search.with_variables()


def search_argv(argv: Sequence[str]) -> Found:
    """Find what an argv would start, itself included. Raises `MalformedError` when nested too deeply."""
    search = _Search()
    search.found.words += argv
    search.command(tuple(map(Word, argv)), 0)
    return search.with_variables()


class _Search:
    """Collects what is found; each step takes its depth and hands the next one on."""

    def __init__(self) -> None:
        self.found = Found()
        self.budget = MAX_BYTES * MAX_DEPTH

    def with_variables(self) -> Found:
        """All that was found, with what variables among the words start."""
        for word in self.found.words:  # grows by the words of what is found here, which are shorter
            if started := _STARTED.fullmatch(word):
                self.text(Word(started["text"]), 1)
            elif _TELLING.fullmatch(word):
                self.found.hide("a variable that may name a program")
        return self.found

    def script(self, script: Script, depth: int) -> None:
        """Note what stands in a script and look behind each of its commands."""
        found = self.found
        found.words += script.words
        found.targets += script.targets
        found.heredocs += script.heredocs
        found.fork_bomb = found.fork_bomb or script.fork_bomb
        found.hide(script.opaque)
        before = len(found.commands)
        for command in script.commands:
            self.command(command, depth)
        if any(base_name(command[0].text) in SHELLS for command in found.commands[before:]):
            for body in script.heredocs:
                self.text(Word(body), depth + 1)

    def text(self, text: Word, depth: int) -> None:
        """Look into shell text that a program is given; of one made at run time the visible part counts."""
        if not text.fixed:
            self.unseen("a script that is made at run time")
        self.budget -= len(text.text)
        if self.budget < 0:
            raise MalformedError("too much to look through")
        try:
            script = lex(text.text)
        except UnbalancedError:
            self.found.hide("a quote is not closed")
        else:
            self.script(script, depth)

    def unseen(self, reason: str) -> None:
        self.found.unseen_program = True
        self.found.hide(reason)

    def command(self, command: Command, depth: int) -> None:
        """Note one simple command and look behind it."""
        if depth > MAX_DEPTH:
            raise MalformedError(f"nested deeper than {MAX_DEPTH}")
        self.found.commands.append(command)
        name = base_name(command[0].text)
        if not command[0].fixed or "{}" in name:
            self.found.hide("a program name that is made at run time")
        elif name in _READ_SCRIPTS:
            self.unseen("a script in a file, or from input")
        elif name in SHELLS:
            self._shell(command, depth + 1)
        elif name == "find":
            self._find(command, depth + 1)
        elif name == "git":
            if any(word.text.casefold().startswith(("alias.", "-calias.")) for word in command):
                self.found.hide("a git alias")
            if any(not _GIT_HARMLESS.fullmatch(setting) for setting in _git_settings(command)):
                self.found.hide("a setting of git that may name a program")
            self._git(without_git_options(command), depth + 1)
        elif name in _TAKE_COMMANDS and any(word.text[:1] == "-" or not word.fixed for word in command[1:]):
            self.found.hide(f"{name} with an option")
        elif name == "alias":
            self.found.hide("an alias")
            for word in command[1:]:
                self.text(Word(word.text.partition("=")[2], word.fixed), depth + 1)
        elif name in WRAPPERS:
            self._wrapped(name, command, depth + 1)
        elif len(command) > 2 and command[1].text == "{":  # `coproc NAME { rm x`
            self.command(command[2:], depth + 1)

    def _shell(self, command: Command, depth: int) -> None:
        """`sh -c TEXT`; without -c the program text is somewhere else."""
        has_text, at = False, 1
        while at < len(command) and command[at].text[:1] in {"-", "+"}:
            text = command[at].text
            if text.startswith("--command="):
                self.text(Word(text.partition("=")[2], command[at].fixed), depth)
                return
            has_text = has_text or text == "--command" or (text[:2] != "--" and "c" in text.casefold())
            at += 2 if text in _SHELL_VALUES or re.fullmatch(r"[-+][A-Za-z]*[oO]", text) else 1
        if has_text and at < len(command):
            self.text(command[at], depth)
        else:
            self.unseen("a shell with a script that is not shown")

    def _git(self, command: Command, depth: int) -> None:
        """The programs and scripts that a sub-command of git is told to start."""
        words = [word.text for word in command[1:]]
        if words[:2] == ["bisect", "run"] and command[3:]:
            self.command(command[3:], depth)
        elif words[:1] == ["submodule"] and "foreach" in words:
            rest = command[words.index("foreach") + 2 :]
            self.text(_joined(tuple(itertools.dropwhile(lambda word: word.text.startswith("-"), rest))), depth)
        options = _GIT_SCRIPTS.get(words[0] if words else "", ())
        for at, word in enumerate(command):
            option, sign, value = word.text.partition("=")
            if option in options:
                script = Word(value, word.fixed) if sign else command[at + 1] if at + 1 < len(command) else None
            elif word.text[:2] in options:
                script = Word(word.text[2:], word.fixed)
            else:
                continue
            if script:
                self.text(script, depth)

    def _find(self, command: Command, depth: int) -> None:
        inner: list[Word] | None = None
        for word in (*command, Word(";")):
            if inner is None:
                inner = [] if word.text in _FIND_EXEC else None
            elif word.text in {";", "+"}:
                if inner:
                    self.command(tuple(inner), depth)
                inner = None
            else:
                inner.append(word)

    def _wrapped(self, name: str, command: Command, depth: int) -> None:
        wrapper, skip, at = WRAPPERS[name], WRAPPERS[name].skip, 1
        options = True
        while at < len(command):
            word = command[at]
            if word.text == "--" and options:
                options = wrapper.inner == "none"  # su hands what follows to a shell, which reads -c, too
                at += 1
            elif word.text.startswith("-") and options:
                if word.text in wrapper.inert:
                    return
                at += self._option(wrapper, command, at, depth)
            elif (wrapper.assigns and ASSIGNMENT.match(word.text)) or wrapper.inner == "none":
                at += 1
            elif skip:
                skip, at = skip - 1, at + 1
            else:
                break
        rest = command[at:]
        if name == "eval":
            self.found.hide("eval")
        if name == "parallel":
            self._parallel(rest, depth)
        elif rest and wrapper.inner == "text":
            self.text(_joined(rest), depth)
        elif rest:
            if name == "xargs" and base_name(rest[0].text) in SHELLS | WRAPPERS.keys():
                self.found.hide("a command that is read from input")
            self.command(rest, depth)

    def _option(self, wrapper: Wrapper, command: Command, at: int, depth: int) -> int:
        """Read one option of a wrapper as getopt does and return the number of its words."""
        word = command[at]
        option, equals, value = word.text.partition("=")
        takes = wrapper.values | wrapper.scripts
        if not word.text.startswith("--"):
            letters = word.text[1:]
            index = next((i for i, letter in enumerate(letters) if f"-{letter}" in takes), None)
            if index is None:
                return 1
            option, value = f"-{letters[index]}", letters[index + 1 :]
        elif option not in takes:
            if not equals:
                self.found.hide(f"{option} of a wrapper")  # it may take the next word
            return 1
        attached = bool(equals if option.startswith("--") else value)
        if option in wrapper.scripts:
            if attached:
                self.text(Word(value, word.fixed), depth)
            elif at + 1 < len(command):
                self.text(command[at + 1], depth)
        return 1 if attached else 2

    def _parallel(self, rest: Command, depth: int) -> None:
        cut = next((i for i, word in enumerate(rest) if word.text.startswith(":::")), len(rest))
        if cut:
            self.text(_joined(rest[:cut]), depth)
            return
        self.found.hide("commands that are read from input")
        for word in rest:
            if not word.text.startswith(":::"):
                self.text(word, depth)


def _joined(words: Command) -> Word:
    return Word(" ".join(word.text for word in words), all(word.fixed for word in words))

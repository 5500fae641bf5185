"""git in a hostile repository: nothing that its configuration names is started, whoever asks for git."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.examples import examples
from tests.fixtures.hostile import canaries, hostile_git, script
from tests.waiting import PATIENCE
from tui_agent.core.types import RunArgv, ToolCall
from tui_agent.workspace import Workspace, git, git_config
from tui_agent.workspace.runner import run


def git_here(root: Path, *words: str) -> str:
    """What git says of the repository itself, as it is run when the person was asked."""
    result = asyncio.run(run(git.argv(("git", *words), viewed=False), cwd=root, timeout=PATIENCE))
    assert result.error is None
    return result.output


def names(folder: str) -> set[tuple[str, str]]:
    """The (section, name) pairs that are switched off for a folder."""
    parts = (key.split(".", 1) for key in git.off([folder]).settings)
    return {(section, rest.rpartition(".")[0]) for section, rest in parts if "." in rest}


COMMANDS = [
    "status",
    "status --short",
    "diff",
    "diff HEAD",
    "diff --cached",
    "show",
    "log -p",
    "blame a.txt",
    "stash list -p",
    "add a.txt",
    "commit -m next -a",
    "checkout -- a.txt",
    "-C embedded.git log",
    "-C . diff",
    "grep one",
    "diff-files -p",
    "format-patch -1 --stdout",
    "--git-dir=.git status",
    "switch -c other",
    "ls-files -m",
]


@pytest.mark.parametrize("words", COMMANDS)
def test_no_program_of_the_repository_runs(tmp_path: Path, words: str) -> None:
    root = hostile_git(tmp_path / "repo", tmp_path)
    git_here(root, *words.split())
    assert canaries(tmp_path) == []


IN_SCRIPTS = [
    (
        "sh",
        "-c",
        "git status; git diff; git show; git log -p; git add a.txt; git commit -m next -a; git checkout -- a.txt",
    ),
    ("env", "git", "-C", ".", "diff"),
    ("timeout", "20", "git", "commit", "-am", "next"),
    ("xargs", "-a", "/dev/null", "git", "stash"),
    ("sh", "-c", "cd embedded.git && git status; git log"),
]


@pytest.mark.parametrize("argv", IN_SCRIPTS, ids=lambda argv: argv[0])
def test_nor_where_a_script_or_a_wrapper_starts_git(tmp_path: Path, argv: tuple[str, ...]) -> None:
    root = hostile_git(tmp_path / "repo", tmp_path)
    assert asyncio.run(run(argv, cwd=root, timeout=PATIENCE)).error is None
    assert canaries(tmp_path) == []


def test_a_wrapped_git_is_disarmed_for_the_repository_its_options_lead_to(tmp_path: Path) -> None:
    root = hostile_git(tmp_path / "repo", tmp_path)
    words = ("env", "git", "-C", str(root), "add", "a.txt")
    assert asyncio.run(run(words, cwd=tmp_path, timeout=PATIENCE)).exit_code == 0
    assert canaries(tmp_path) == []


def test_a_driver_and_the_program_of_the_same_name_are_two(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text('[diff]\nexternal = x\n[diff "external"]\ntextconv = y\n')
    values = git.environment(("make",), str(tmp_path)).values()
    assert {"diff.external", "diff.external.textconv", "diff.external.command"} <= set(values)


@pytest.mark.parametrize(
    ("beside", "folder"),
    [
        ("echo x > HEAD; echo > config", "."),
        ("echo 'ref: refs/heads/x' > HEAD; mkdir objects refs; echo > config", "."),
        ("mkdir -p sub/.git", "sub"),
        ("mkdir -p sub/.git; echo 'ref: refs/heads/x' > sub/.git/HEAD; echo > sub/.git/config", "sub"),
        ("mkdir -p sub/x", "sub/x"),
    ],
)
def test_what_only_looks_like_a_repository_hides_none(beside: str, folder: str, tmp_path: Path) -> None:
    root = hostile_git(tmp_path / "repo", tmp_path)
    subprocess.run(["sh", "-ec", beside], cwd=root, check=True)
    (tmp_path / "link").symlink_to(root / folder)
    assert "core.fsmonitor" in git.programs(root / folder)
    for words in (("git", "diff"), ("git", "status")):
        assert asyncio.run(run(git.argv(words), cwd=root / folder, timeout=PATIENCE)).exit_code == 0
        led = ("git", "-C", "link", *words[1:])
        assert asyncio.run(run(git.argv(led), cwd=tmp_path, timeout=PATIENCE)).exit_code == 0
    assert canaries(tmp_path) == []


def test_an_ordinary_repository_works_in_scripts(tmp_path: Path) -> None:
    script = "git init -q; echo a > a; git add a; git -c user.name=t -c user.email=t@t commit -qm a; echo b > a"
    script += "; git diff; git -c user.name=t -c user.email=t@t stash -q; git stash show -p"
    result = asyncio.run(run(("sh", "-c", script), cwd=tmp_path, timeout=PATIENCE))
    assert result.exit_code == 0, result.output
    assert result.output.count("-a\n+b\n") == 2
    assert "+b" in git_here(tmp_path, "stash", "show", "-p")


@pytest.mark.parametrize("words", ["status", "diff", "show", "blame a.txt", "commit -m next -a", "checkout -- a.txt"])
def test_the_repository_bites_without_the_hardening(tmp_path: Path, words: str) -> None:
    """Otherwise the tests above would prove nothing."""
    root = hostile_git(tmp_path / "repo", tmp_path)
    subprocess.run(["git", *words.split()], cwd=root, capture_output=True, check=False)
    assert canaries(tmp_path)


def test_what_git_says_is_still_right(tmp_path: Path) -> None:
    root = hostile_git(tmp_path / "repo", tmp_path)
    assert "M a.txt" in git_here(root, "status", "--short")
    assert "-one\n+two\n" in git_here(root, "diff")
    assert "one" in git_here(root, "show", "HEAD:a.txt")
    assert "two" in git_here(root, "blame", "a.txt")


def test_what_is_shown_is_what_runs_and_the_policy_sees_what_was_asked(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    request = asyncio.run(workspace.prepare(ToolCall("c", "run_command", {"argv": ["git", "diff", "--stat"]})))
    assert isinstance(request.effect, RunArgv)
    own = ("--ignore-submodules=dirty", "--no-ext-diff", "--no-textconv")
    assert request.effect.argv == ("git", "--no-pager", "--no-optional-locks", "diff", *own, "--stat")
    assert request.policy.argv == ("git", "diff", "--stat")
    assert request.summary == "run  git diff --stat"
    assert workspace.decide(request).permission == "allow"


def test_in_a_folder_that_is_not_trusted_git_asks(tmp_path: Path) -> None:
    from dataclasses import replace

    workspace = Workspace(tmp_path)
    workspace.permissions = replace(workspace.permissions, trusted=False)
    request = asyncio.run(workspace.prepare(ToolCall("c", "run_command", {"argv": ["git", "status"]})))
    assert workspace.decide(request).permission == "ask"


def test_names_come_from_every_file_that_git_reads(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    (root / ".git").mkdir(parents=True)
    (root / ".git/HEAD").write_text("ref: refs/heads/x\n")
    (root / ".git/config").write_text(
        '[filter "a"]\n clean = x\n[Filter.B]\n[diff "with \\"quote\\""]\n[core][filter "eq=ual"] clean = x\n'
        '[include]\n path = ../more\n[includeIf "gitdir:/x/"]\n\tpath = "~/absent"\n'
    )
    (root / "more").write_text('[include] path = again\n[filter "c"]\n')
    (root / "again").write_text('[include] path = more\n[diff "d"]\n')
    (root / ".git/config.worktree").write_text('[filter "w"]\n')
    want = {("filter", n) for n in ("a", "b", "c", "w", "eq=ual")} | {("diff", 'with "quote"'), ("diff", "d")}
    assert names(str(root)) == want
    (root / "sub").mkdir()
    assert names(str(root / "sub")) == want
    (tmp_path / "tree").mkdir()
    (root / ".git/worktrees/tree").mkdir(parents=True)
    (root / ".git/worktrees/tree/commondir").write_text("../..\n")
    (tmp_path / "tree/.git").write_text(f"gitdir: {root}/.git/worktrees/tree\n")
    assert ("filter", "a") in names(str(tmp_path / "tree"))


FILTERS = "".join(f'[filter "f{n}"]\n clean = x\n' for n in range(300))


@pytest.mark.parametrize("much", ["files", "bytes", "together", "names"])
def test_with_more_configuration_than_is_looked_through_git_runs_nothing(much: str, tmp_path: Path) -> None:
    root = hostile_git(tmp_path / "repo", tmp_path)
    config = root / ".git" / "config"
    evil, before = (
        config.read_text(),
        {
            "files": "".join(f"[include]\n path = more{n}\n" for n in range(300)),
            "bytes": "# x\n" * 300_000,
            "together": "".join(f"[include]\n path = big{n}\n" for n in range(20)),
            "names": FILTERS,
        }[much],
    )
    config.write_text(before + evil)
    for n in range(20):
        (root / f".git/big{n}").write_text("# x\n" * 20_000)
    for words in (("git", "status"), ("git", "diff"), ("sh", "-c", "git add a.txt; git commit -m x")):
        result = asyncio.run(run(git.argv(words, viewed=False), cwd=root, timeout=PATIENCE))
        assert "ot a git repository" in result.output
    assert canaries(tmp_path) == []
    assert ("more configuration than is looked through" in git.programs(root)) == (much != "names")


ENTERED = [
    "status",
    "status --ignored",
    "diff",
    "diff HEAD",
    "diff-files",
    "commit -m x",
    "commit -am x",
    "stash",
    "add .",
]


def hostile_below(root: Path, where: Path, *, version: int = 2, moved: bool = False) -> None:
    """A repository with another one in it that git enters by itself, which names programs and holds a third one."""

    def run(at: Path, *words: str) -> None:
        made = ["git", "-c", "user.name=t", "-c", "user.email=t@t", *words]
        subprocess.run(made, cwd=at, check=True, capture_output=True)

    below = [root, root / "sub", root / "sub" / "deep"]
    for folder in below:
        folder.mkdir(parents=True, exist_ok=True)
        run(folder, "init", "-q")
        (folder / ".gitattributes").write_text("* filter=evil diff=evil\n")
        (folder / "file").write_text("one\n")
    for folder in reversed(below):
        run(folder, "add", ".")
        run(folder, "commit", "-q", "-m", "first")
    for folder in below[1:]:
        if moved:
            inner = root / ".git" / "modules" / folder.name
            inner.parent.mkdir(exist_ok=True)
            (folder / ".git").rename(inner)
            (folder / ".git").write_text(f"gitdir: {inner}\n")
        with Path(f"{root}/.git/modules/{folder.name}/config" if moved else folder / ".git/config").open("a") as file:
            file.write(f'[filter "evil"]\n clean = touch {where}/PWN-clean-{folder.name}; cat\n')
            file.write(f'[diff "evil"]\n textconv = touch {where}/PWN-textconv-{folder.name}; cat\n')
            file.write(f"[core]\n fsmonitor = touch {where}/PWN-fsmonitor-{folder.name}; false\n")
        os.utime(folder / "file", ns=(1, 1))
    run(root, "update-index", f"--index-version={version}")


@pytest.mark.parametrize(("version", "moved"), [(2, False), (2, True), (4, False)])
@pytest.mark.parametrize("words", ENTERED)
def test_nor_does_one_of_a_repository_that_git_enters_by_itself(
    tmp_path: Path, words: str, version: int, moved: bool
) -> None:
    hostile_below(tmp_path / "repo", tmp_path, version=version, moved=moved)
    git_here(tmp_path / "repo", *words.split())
    assert asyncio.run(run(("sh", "-c", f"git {words}"), cwd=tmp_path / "repo", timeout=PATIENCE)).error is None
    assert canaries(tmp_path) == []


def test_the_entered_repositories_bite_without_the_hardening(tmp_path: Path) -> None:
    hostile_below(tmp_path / "repo", tmp_path)
    subprocess.run(["git", "status"], cwd=tmp_path / "repo", capture_output=True, check=False)
    assert {"PWN-clean-sub", "PWN-clean-deep"} <= set(canaries(tmp_path))


def test_with_a_common_folder_elsewhere_its_names_count(tmp_path: Path) -> None:
    git_here(tmp_path, "init", "-q", "a")
    git_here(tmp_path, "init", "-q", "--bare", "b")
    (tmp_path / "b/config").write_text("[core]\n repositoryformatversion = 0\n[alias]\n st = !touch PWN\n")
    (tmp_path / "a/.git/commondir").write_text("../../b\n")
    assert git.off([str(tmp_path / "a")]) == git.Off({"alias.st": ""})


# each: what the configuration holds, and a command that would start it; TRAP leaves a mark
OCCASIONS = {
    "alias": ("[alias]\n st = !TRAP", "st"),
    "alias over lines": ("[alias]\n a = b \\\n[foo]\n st = !TRAP", "st"),
    "gpg": ("[log]\n showSignature = true\n[gpg]\n program = PROGRAM", "log"),
    "gpg.x": ('[gpg "openpgp"]\n program = PROGRAM', "verify-commit HEAD"),
    "sign": ("[commit]\n gpgSign = true\n[gpg]\n program = PROGRAM", "commit --allow-empty -m x"),
    "ssh key": (
        '[commit]\n gpgSign = true\n[gpg]\n format = ssh\n[gpg "ssh"]\n defaultKeyCommand = TRAP',
        "commit --allow-empty -m x",
    ),
    "editor": ("[core]\n editor = TRAP", "commit --allow-empty"),
    "sequence": ("[sequence]\n editor = TRAP", "rebase -i --root"),
    "ssh": ("[core]\n sshCommand = TRAP", "ls-remote ssh://localhost/x"),
    "proxy": ("[core]\n gitProxy = PROGRAM", "ls-remote git://localhost/x"),
    "askpass": ("[core]\n askPass = PROGRAM", "credential fill"),
    "helper": ("[credential]\n helper = !TRAP", "credential fill"),
    "helper by name": ('[credential "https://x"]\n helper = !TRAP', "credential fill"),
    "uploadpack": ('[remote "o"]\n url = .\n uploadpack = TRAP', "ls-remote o"),
    "receivepack": ('[remote "o"]\n url = .\n receivepack = TRAP', "push o HEAD:x"),
    "ext": ('[protocol]\n allow = always\n[remote "o"]\n url = ext::PROGRAM', "ls-remote o"),
    "merge": ('[merge "evil"]\n driver = TRAP', "merge other"),
    "trailer": ('[trailer "x"]\n key = X\n cmd = TRAP', "interpret-trailers --trailer X=1 file"),
    "tar": ('[tar "x"]\n command = TRAP', "archive --format=x HEAD"),
    "mergetool": ('[merge]\n tool = x\n[mergetool "x"]\n cmd = TRAP', "mergetool -y"),
    "difftool": ('[diff]\n tool = x\n[difftool "x"]\n cmd = TRAP', "difftool -y HEAD~"),
}


def occasion(root: Path, config: str) -> None:
    """A repository with two branches that do not merge, a signed commit, and this configuration."""
    script(root / "program.sh", root, "program")
    signed = "-----BEGIN PGP SIGNATURE-----\n \n aaaa\n -----END PGP SIGNATURE-----"
    subprocess.run(
        ["sh", "-ec", f"""
            git init -q .; git config user.name t; git config user.email t@t
            echo '* merge=evil' > .gitattributes; echo one > file; git add .gitattributes file; git commit -qm 1
            git checkout -qb other; echo two > file; git commit -qam 2; git checkout -q -
            echo three > file; git commit -qam 3
            {{ git cat-file commit HEAD | sed '/^$/,$d'; printf 'gpgsig {signed}\n\nmsg\n'; }} > commit
            git update-ref HEAD $(git hash-object -t commit -w commit)
        """],
        cwd=root, check=True, capture_output=True,
    )  # fmt: skip
    text = config.replace("TRAP", f"touch {root}/PWN-x && false").replace("PROGRAM", str(root / "program.sh"))
    with (root / ".git/config").open("a") as file:
        file.write(text + "\n")


@pytest.mark.parametrize("name", OCCASIONS)
def test_what_a_setting_names_is_not_started(name: str, tmp_path: Path) -> None:
    config, words = OCCASIONS[name]
    given = f"protocol=https\nhost=x\n{'username=u' if name == 'askpass' else ''}\n".encode()
    argv = git.argv(("git", *words.split()))
    for bites in (False, True):
        root = tmp_path / str(bites)
        root.mkdir()
        occasion(root, config)
        if "mergetool" in words:
            subprocess.run(["git", "merge", "other"], cwd=root, capture_output=True, check=False)
        env = {"HOME": str(root), "PATH": os.environ["PATH"]} | ({} if bites else git.environment(argv, str(root)))
        subprocess.run(argv, cwd=root, env=env, input=given, capture_output=True, check=False, timeout=PATIENCE)
        assert bool(canaries(root)) == bites, "the second shows that the first means something"


NO_VALUE = {
    "proxy": "[core]\n gitProxy = PROGRAM",
    "uploadpack": '[remote "o"]\n url = .\n uploadpack = TRAP',
    "receivepack": '[remote "o"]\n url = .\n receivepack = TRAP',
    "collecting": "[gc]\n recentObjectsHook = TRAP",
}


@pytest.mark.parametrize("name", NO_VALUE)
def test_git_still_works_where_a_program_has_no_value_for_none(name: str, tmp_path: Path) -> None:
    occasion(tmp_path, NO_VALUE[name])
    for words, want in {"status -s": "?? program.sh", "log --oneline": "msg", "commit --allow-empty -m x": "x"}.items():
        assert want in git_here(tmp_path, *words.split())
    assert canaries(tmp_path) == []


@pytest.mark.parametrize("words", [("git", "gc"), ("git", "rebase", "-x", "git gc", "HEAD~"), ("sh", "-c", "git gc")])
def test_what_nothing_keeps_from_starting_leaves_no_repository(words: tuple[str, ...], tmp_path: Path) -> None:
    """A git of today may not know the setting, so this looks at what git is told."""
    occasion(tmp_path, NO_VALUE["collecting"])
    assert git.environment(words, str(tmp_path))["GIT_DIR"].startswith("/dev/null/gc.recentobjectshook")


def test_an_incomplete_repository_fetches_nothing_by_a_program_of_its_own(tmp_path: Path) -> None:
    occasion(tmp_path, "")
    part = tmp_path / "part"
    subprocess.run(["git", "config", "uploadpack.allowFilter", "true"], cwd=tmp_path, check=True)
    cloned = ["git", "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{tmp_path}", str(part)]
    subprocess.run(cloned, check=True, capture_output=True)
    trap = f"touch {part}/PWN-x; git-upload-pack"
    subprocess.run(["git", "config", "remote.origin.uploadpack", trap], cwd=part, check=True)
    git_here(part, "show", "HEAD:file")
    assert canaries(part) == []
    subprocess.run(["git", "show", "HEAD:file"], cwd=part, check=True, capture_output=True)
    assert canaries(part) == ["PWN-x"]


DRIVERS = [
    ('[filter ""]', ""),
    ("[filter.]", ""),
    ("[filter.a.b]", "a.b"),
    ('[FILTER.A "B.c"]', "a.B.c"),
    ('[filter "a]b"]', "a]b"),
]


@pytest.mark.parametrize(("header", "name"), DRIVERS)
def test_a_driver_of_any_name_is_not_started(header: str, name: str, tmp_path: Path) -> None:
    git_here(tmp_path, "init", "-q")
    with (tmp_path / ".git/config").open("a") as config:
        config.write(f"{header}\nclean = touch {tmp_path}/PWN-x; cat\n")
    (tmp_path / ".gitattributes").write_text(f"* filter={name}\n")
    (tmp_path / "file").write_text("text")
    git_here(tmp_path, "add", "file")
    assert canaries(tmp_path) == []
    (tmp_path / ".git/index").unlink()
    subprocess.run(["git", "add", "file"], cwd=tmp_path, check=True)
    assert canaries(tmp_path) == ["PWN-x"]  # it bites without the hardening


@pytest.mark.parametrize("words", ["diff", "show", "log -p", "cat-file -p HEAD:file", "blame file"])
def test_what_an_incomplete_repository_lacks_is_fetched_from_nobody(words: str, tmp_path: Path) -> None:
    occasion(tmp_path, "")
    (tmp_path / "file").write_text("another")
    blob = git_here(tmp_path, "rev-parse", "HEAD:file").strip()
    (tmp_path / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with socket.create_server(("127.0.0.1", 0)) as server, (tmp_path / ".git/config").open("a") as config:
        server.setblocking(False)
        url = f"git://127.0.0.1:{server.getsockname()[1]}/x"
        config.write(f'[extensions]\n partialClone = o\n[remote "o"]\n promisor = true\n url = {url}\n')
        config.flush()
        git_here(tmp_path, *words.split())
        with pytest.raises(BlockingIOError):
            server.accept()
        bare = subprocess.Popen(["git", *words.split()], cwd=tmp_path, stdout=-3, stderr=-3)
        server.settimeout(PATIENCE)
        server.accept()[0].close()  # without the hardening it is
    bare.kill()
    bare.wait()


SOMETIMES = {
    "[pager]\n log = !x": ("pager.log",),
    "[pager]\n log = x": ("pager.log",),
    "[pager]\n log = false\n diff = 1\n show\n branch = ON": (),
    "[protocol]\n allow = always": ("protocol.allow",),
    '[protocol "ext"]\n allow = user': ("protocol.ext.allow",),
    '[protocol]\n allow = never\n[protocol "file"]\n allow = always\n[protocol "ext"]\n allow = never': (),
}


@pytest.mark.parametrize(("config", "found"), SOMETIMES.items())
def test_some_settings_name_a_program_with_some_values_only(
    config: str, found: tuple[str, ...], tmp_path: Path
) -> None:
    git_here(tmp_path, "init", "-q")
    (tmp_path / ".git/config").write_text(config)
    assert git.programs(tmp_path) == found
    assert git_here(tmp_path, "status", "--short") == ""


NAMED = st.sampled_from(["alias", "ALIAS", "core", "diff", "x-y"])
PIECE = st.sampled_from(
    [
        "[",
        "]",
        " ",
        "\n",
        "=",
        '"',
        "\\",
        "#",
        ";",
        "st",
        "editor",
        "command",
        "a.b",
        "\t",
        "\\\n",
        "[alias]\n",
        '[diff "x"]',
        "\nst=",
        " = x",
        '" x "',
        "\\t",
        "\\n",
        '\\"',
        "\r",
        "\r\n",
        "\0",
        "\ufeff",
        "\x0b",
    ]
)


@examples(150)
@given(st.lists(st.one_of(PIECE, NAMED), max_size=16).map("".join))
@example("[alias]\nst = x\\")
@example('[include]\npath = " x "')
@example('[alias ""]\nst = x')
@example("[alias.]\nst = x")
@example("[alias.a.b]\nst = x")
@example('[alias.A "B.c"]\nst = x')
@example("[include]\npath = x\\ty\0z")
@example("[include]\npath = x \t y  # z")
def test_a_configuration_is_read_as_git_reads_it(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    file = tmp_path_factory.getbasetemp() / "some-config"
    file.write_bytes(text.encode())
    said = subprocess.run(["git", "config", "--no-includes", "-f", str(file), "-lz"], capture_output=True, check=False)
    if said.returncode == 0:  # what git refuses starts nothing
        want = {blanks(entry).partition("\n")[::2] for entry in said.stdout.decode().split("\0")}
        want = {pair for pair in want if "." in pair[0]}  # before the first header there is no setting
        assert want <= {(git_config.full(*each[:3]), blanks(each[3])) for each in git_config.settings(text) if each[2]}


@pytest.mark.parametrize("line", ["k=\\\n", 'k=""\\\n', "k = # x\n", "[\n", '[a "x', "k \n"])
def test_a_configuration_that_is_made_to_take_long_is_read_at_once(line: str) -> None:
    """With each line looked through to the end, these would take hours."""
    text = "[a]\n" + line * 200_000
    assert len(list(git_config.settings(text + '"'))) <= len(list(git_config.settings(text))) < 200_003


def blanks(text: str) -> str:
    """Which blanks stand in a value depends on the version of git."""
    return text.replace("\t", " ").replace("\r", " ")


@pytest.mark.parametrize(
    ("written", "name"),
    [('" x "', " x "), ("a\\tb", "a\tb"), ("a\tb", "a b"), ("x\0y", "x"), ("x\\", "x"), ("~/x", "")],
)
def test_a_file_that_is_included_is_found_however_its_name_is_written(written: str, name: str, tmp_path: Path) -> None:
    for folder in ("repo/.git/objects", "repo/.git/refs", "home"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "repo/.git/HEAD").write_text("ref: refs/heads/x\n")
    (tmp_path / "repo/.git/config").write_text(f"[include]\npath = {written}")
    if name:
        (tmp_path / "repo/.git" / name).write_text('[filter "f"]\nclean = x\n')
    assert names(str(tmp_path / "repo")) == ({("filter", "f")} if name else set())


def test_what_is_included_from_where_git_is_installed_cannot_be_found(tmp_path: Path) -> None:
    for folder in (".git/objects", ".git/refs"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/x\n")
    (tmp_path / ".git/config").write_text("[include]\npath = %(prefix)/../x\n")
    with pytest.raises(git.TooMuchError):
        git.off([str(tmp_path)])


def test_the_fact_beside_a_command_holds() -> None:
    assert git.fact(("git", "-C", "x", "status")) == git.fact(("git", "log")) == git.FACT
    for words in ("git st", "git push", "git lfs pull", "git difftool", "git", "make"):
        assert git.fact(tuple(words.split())) == ""


def test_a_configuration_that_cannot_be_read_gives_no_names(tmp_path: Path) -> None:
    assert names(str(tmp_path / "nowhere")) == set()
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git/config")
    assert names(str(tmp_path)) == set()


WORDS = st.lists(st.sampled_from(["-C", "sub", "diff", "--no-pager", "log", "-p", "--", "a b", "-c", "x=y", "status"]))


@given(WORDS)
def test_only_words_are_added_and_twice_is_once_as_far_as_it_matters(words: list[str]) -> None:
    before = ("git", *words)
    after = git.argv(before)
    left = list(after)
    for word in before:
        left.remove(word)  # everything that was asked is still there
    own = {"--no-pager", "--no-optional-locks", "--ignore-submodules=dirty", "--no-ext-diff", "--no-textconv"}
    assert set(left) <= own
    assert [w for w in after if w not in own] == [w for w in before if w != "--no-pager"]
    assert git.argv(("ls", *words)) == ("ls", *words)


@pytest.mark.parametrize("words", ["bisect start", "bisect start HEAD HEAD~1", "bisect reset"])
def test_the_hook_that_bisect_starts_wherever_hooks_are_said_to_be(words: str, tmp_path: Path) -> None:
    occasion(tmp_path, "")
    script(tmp_path / ".git/hooks/reference-transaction", tmp_path, "hook")
    for argv in (("git", *words.split()), ("sh", "-c", f"git {words}"), ("env", "git", *words.split())):
        result = asyncio.run(run(git.argv(argv), cwd=tmp_path, timeout=PATIENCE))
        assert "the hook reference-transaction cannot be switched off" in result.output
        assert canaries(tmp_path) == []
    (tmp_path / ".git/hooks/reference-transaction").unlink()
    script(tmp_path / ".git/hooks/post-checkout", tmp_path, "hook")
    assert asyncio.run(run(git.argv(("git", *words.split())), cwd=tmp_path, timeout=PATIENCE)).exit_code == 0
    assert canaries(tmp_path) == []


@pytest.mark.parametrize("path", ["../ours", "link", "more"])
@pytest.mark.parametrize("words", ["stash pop", "checkout other", "rebase other"])
def test_a_file_of_the_folder_that_is_included_may_be_another_one_while_a_command_runs(
    path: str, words: str, tmp_path: Path
) -> None:
    occasion(tmp_path, f"[include]\npath = {path}")
    subprocess.run(["git", "config", "--unset", "gpg.program"], cwd=tmp_path, check=False)
    (tmp_path / ".git/link").symlink_to("../ours")
    (tmp_path / ".git/more").write_text("[core]\neditor = x\n")
    (tmp_path / ".git/info/attributes").write_text("file filter=new\n")
    (tmp_path / "ours").write_text(f'[filter "new"]\nclean = touch {tmp_path}/PWN-x; cat\n')
    (tmp_path / "file").write_text("four\n")
    for each in (["add", "ours"], ["stash", "-q"]):
        subprocess.run(["git", *each], cwd=tmp_path, check=True)
    for mark in tmp_path.glob("PWN*"):
        mark.unlink()
    said = git_here(tmp_path, *words.split())
    assert ("its settings include a file of the folder" in said) == (path != "more")
    assert canaries(tmp_path) == []
    assert git_here(tmp_path, "log", "--oneline")


def test_such_a_file_bites_without_the_hardening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git, "_moves_with_files", lambda *_: False)
    with pytest.raises(AssertionError):
        test_a_file_of_the_folder_that_is_included_may_be_another_one_while_a_command_runs(
            "../ours", "stash pop", tmp_path
        )
    assert canaries(tmp_path)

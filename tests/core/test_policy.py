"""The permission policy, row by row, and the promises that hold for every input."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.examples import examples
from tui_agent.core import programs
from tui_agent.core.patterns import always_rule, always_rules
from tui_agent.core.policy import DEFAULT, ROWS, Policy, decide, may_hold
from tui_agent.core.programs import OPTIONS, TOOLS, classify
from tui_agent.core.shell import needs_shell, split
from tui_agent.core.types import ConfigError, Permission, PermissionClass, PolicyRequest, Verdict

OPEN = replace(DEFAULT, table=dict.fromkeys(ROWS, "allow"))
DENYING = replace(OPEN, deny=("rm", "git push", "curl"))


def row(policy: Policy, **rows: Permission) -> Policy:
    return replace(policy, table={**policy.table, **rows})


def command(text: str) -> PolicyRequest:
    return PolicyRequest("run_command", "run", command=text)


def argv(*words: str) -> PolicyRequest:
    return PolicyRequest("run_command", "run", argv=words)


def write(path: str, *floors: str) -> PolicyRequest:
    return PolicyRequest("edit_file", "write", path=path, floors=floors)


def answer(text: str, policy: Policy) -> str:
    return decide(command(text), policy).permission


# ------------------------------------------------------------------ the table

REQUESTS: dict[PermissionClass, PolicyRequest] = {
    "read": PolicyRequest("read_file", "read", path="a.py"),
    "search": PolicyRequest("search", "search", path="src"),
    "write": write("a.py"),
    "run": command("cat a.py"),
    "git": command("git log"),
    "shell": command("ls | wc"),
    "network": PolicyRequest("web_fetch", "network"),
    "mcp": PolicyRequest("server/tool", "mcp"),
}


@pytest.mark.parametrize("permission", ["allow", "ask", "deny"])
@pytest.mark.parametrize("name", ROWS)
def test_each_row_decides_its_class(name: PermissionClass, permission: Permission) -> None:
    verdict = replace(decide(REQUESTS[name], row(OPEN, **{name: permission})), instead=(), missed="")
    assert verdict == Verdict(permission, f"table: {name} = {permission}", name)


@pytest.mark.parametrize("name", ROWS)
def test_without_a_person_ask_is_deny(name: PermissionClass) -> None:
    verdict = replace(decide(REQUESTS[name], row(replace(OPEN, interactive=False), **{name: "ask"})), instead=())
    assert verdict == Verdict("deny", f"nobody to ask: table: {name} = ask", name)


@pytest.mark.parametrize(
    ("text", "rows", "expect"),
    [
        ("curl x", {"run": "deny"}, "table: run = deny"),
        ("curl x", {"network": "ask"}, "table: network = ask"),
        ("touch x", {"run": "ask"}, "table: run = ask"),
        ("git push", {"network": "deny"}, "table: network = deny"),
        ("git stash push", {"network": "deny"}, "table: git = allow"),
        ("git -C x push", {"network": "deny"}, "table: network = deny"),
        ("git st", {"shell": "ask"}, "table: git = allow"),
        ("git help", {"shell": "deny", "git": "ask"}, "table: git = ask"),
        ("ls; git st", {"shell": "allow", "git": "deny"}, "table: git = deny (git)"),
        ("npm install", {"network": "deny"}, "table: network = deny"),
        ("npm --quiet install", {"network": "deny"}, "table: network = deny"),
        ("npm run x", {"network": "deny"}, "table: run = allow"),
        ("ls; curl x", {"network": "deny"}, "table: network = deny (curl)"),
        ("nice curl x", {"network": "deny"}, "table: network = deny (curl)"),
        ("ls; curl x", {"network": "ask"}, "table: shell = allow"),
    ],
)
def test_a_command_falls_under_the_strictest_of_its_rows(text: str, rows: dict[str, Permission], expect: str) -> None:
    assert decide(command(text), row(OPEN, **rows)).rule == expect


@pytest.mark.parametrize(
    ("words", "expect"),
    [
        (["/usr/bin/GIT", "status"], "git"),
        (["sh"], "shell"),
        (["env"], "run"),
        (["env", "-i", "A=1"], "run"),
        (["env", "A=1", "ls"], "shell"),
        (["env", "-S", "ls"], "shell"),
        (["sed", "-n", "p"], "run"),
        (["sed", "-ni", "p"], "write"),
        (["sed", "--in-place=x", "p"], "write"),
        (["docker", "ps"], "run"),
        (["docker", "pull"], "network"),
        (["docker", "--context", "x", "image", "pull", "y"], "network"),
        (["podman", "compose", "pull"], "network"),
        (["docker", "build", "."], "run"),
        (["go", "mod", "tidy"], "run"),
        (["uv", "pip", "list"], "run"),
        (["uv", "pip", "install", "x"], "network"),
        (["docker", "container", "ls"], "run"),
        (["go", "mod", "download"], "network"),
        (["go", "run", "mod"], "run"),
        (["bundle", "install"], "network"),
        (["sed", "--in-pl", "s/a/b/", "x"], "write"),
        (["cargo", "+nightly", "install", "x"], "network"),
        (["unheard-of"], "run"),
        ([], "run"),
    ],
)
def test_classify(words: list[str], expect: str) -> None:
    assert classify(words) == expect


# ------------------------------------------------------------------ tools


@pytest.mark.parametrize("name", ["nosuchtool", "Read_File", "read_file ", "read-file", "", "/x", "x/", "mcp"])
def test_an_unknown_or_inexact_tool_is_denied(name: str) -> None:
    for permission in (*ROWS, "none"):
        assert decide(PolicyRequest(name, permission), OPEN).permission == "deny"


def test_a_tool_counts_only_as_its_own_class() -> None:
    assert decide(PolicyRequest("write_file", "read", path="x"), OPEN).permission == "deny"
    assert decide(PolicyRequest("server/read_file", "read", path="x"), OPEN).permission == "deny"
    assert decide(PolicyRequest("update_plan", "none"), row(OPEN, write="deny")).permission == "allow"


def test_floors_of_the_mechanism_make_every_tool_ask() -> None:
    for name, permission in TOOLS.items():
        if permission not in {"none", "shell", "run"}:
            verdict = decide(PolicyRequest(name, permission, floors=("a secret name",)), OPEN)
            assert verdict == Verdict("ask", "floor: a secret name", permission)
    assert decide(replace(command("ls"), floors=("x",)), OPEN).permission == "ask"


def test_yes_covers_edits_inside_the_workspace_only() -> None:
    policy = replace(DEFAULT, cli_yes=True, interactive=False)
    assert decide(write("src/a.py"), policy) == Verdict("allow", "flag: --yes", "write")
    for path in ("../a.py", "/etc/x", "a/../../b", ".git/config", ".GIT/x", "a/.tui_agent/x", "x\u200b", ".ssh/x"):
        assert decide(write(path), policy).permission == "deny", path
    assert decide(write("a.py", "a hard link"), policy).permission == "deny"
    assert decide(write("a.py"), row(policy, write="deny")).permission == "deny"
    for request in (command("touch x"), command("ls; ls"), REQUESTS["network"], REQUESTS["mcp"]):
        assert decide(request, policy).permission == "deny"


def test_protected_paths_are_never_written() -> None:
    for path in (
        ".git",
        ".GIT/hooks/x",
        "sub/.git/config",
        ".tui_agent/new.toml",
        "git~1/x",
        ".git. /x",
        ".g\u200bit/x",
    ):
        assert decide(write(path), OPEN) == Verdict("deny", "floor: protected path", "write"), path
    assert decide(write(".gitignore"), OPEN).permission == "allow"
    assert decide(write("a\x00b"), OPEN).permission == "deny"


# ------------------------------------------------------------------ allow patterns

ACCEPTED = {
    "pytest": "-q|-qq -v -vv -x -s -l|--lf --ff --nf --collect-only --no-header|--maxfail=3 --tb=short -rA --durations=10"
    "|-k 'a and b' -m slow|tests|tests/a.py::T::t|./a.py|a.py::b/../c|caf\u00e9.py",
    "make check": "-k -s|-j4",
    "cargo test": "--lib --bins --doc --all --workspace -q --quiet --release --no-run|-p a-b --test c|name a::b"
    "|-- --nocapture --exact --quiet --show-output --test-threads=1 name",
    "git status": "-s --short -b --branch --porcelain --porcelain=v1 --porcelain=v2|-uno -uall -unormal --ignored -z --no-renames|-- a b|--",
    "git diff": "--stat --numstat --shortstat --name-only --name-status --cached --staged|--no-color --no-ext-diff --no-textconv -w -b"
    "|--word-diff -U3|HEAD~1 main..dev v1.0^ -- a/b|src/a.py",
    "ls": "-la|-l -a|a 'b c'|-- -x|~x|..a",
}
REFUSED = {
    "pytest": "-p x|-c x|-o a=b|--rootdir=x|--basetemp=x|--junitxml=x|--pdb|-k|-k -p|-m '-p x'|..|../a|/a|a/../b|@x|::a|''|--"
    "|--maxfail|--maxfail=x|--tb=/x|'a\nb'|-qx|--l|-k 'a\nb'|-n 4",
    "make check": "all|-f x|-C x|--eval=x|A=b|-j|-j x|-n|-kf x|--|-B",
    "cargo test": "--config x|--manifest-path x|-p ../x|-p|--test -x|--target-dir=x|-- --logfile=x|-- ../x|../x|--features x|-- -Z x",
    "git status": "a|-- ../a|-- /a|--porcelain=v3|-v|--untracked-files|-- :/|-- 'a\nb'|--column",
    "git diff": "--output=x|--output x|--ext-diff|--textconv|--no-index a b|-- /a|../a|a/../../b|-O x|-- ':(top)a'|:/x|-G x|-p|--submodule",
    "ls": "/|..|a/..|/proc/self|--color|-laZ|-- /|-- ..|''|'a\nb'|-",
}


def pairs(table: dict[str, str]) -> list[tuple[str, str]]:
    return [(pattern, rest) for pattern, cases in table.items() for rest in cases.split("|")]


def test_every_option_table_is_tried() -> None:
    assert set(ACCEPTED) == set(REFUSED) == {" ".join(words) for words in OPTIONS} == set(DEFAULT.allow)


@pytest.mark.parametrize(("pattern", "rest"), pairs(ACCEPTED))
def test_accepted_words(pattern: str, rest: str) -> None:
    words = (*split(pattern), *split(rest))
    assert decide(argv(*words), DEFAULT).rule == f"allow pattern: {pattern}"
    assert decide(argv(*words), replace(DEFAULT, interactive=False)).permission == "allow"
    assert decide(argv(*words), replace(DEFAULT, allow=())).permission == "ask"


@pytest.mark.parametrize(("pattern", "rest"), pairs(REFUSED))
def test_other_words_ask(pattern: str, rest: str) -> None:
    assert decide(argv(*split(pattern), *split(rest)), DEFAULT).permission == "ask"


@pytest.mark.parametrize("text", ["pytestx", "./pytest", "/usr/bin/pytest", "PYTEST", "\u0440ytest", "make", "git", "git  -C . status",
                                  "git statusx", "env pytest", "sh -c pytest", "make -s check", "cargo", "lsx"])  # fmt: skip
def test_only_the_bare_name_and_the_whole_words_match(text: str) -> None:
    assert answer(text, DEFAULT) == "ask"


def test_a_pattern_without_option_table_matches_exactly_its_words() -> None:
    policy = replace(DEFAULT, allow=("ruff check 'a b'",))
    assert decide(argv("ruff", "check", "a b"), policy).rule == "allow pattern: ruff check 'a b'"
    for words in (("ruff", "check", "a b", "c"), ("ruff", "check"), ("ruff", "check", "a", "b")):
        assert decide(argv(*words), policy).permission == "ask"


def test_deny_is_over_allow() -> None:
    policy = replace(DEFAULT, deny=("git diff --stat",))
    assert answer("git diff --stat", policy) == "deny"
    assert answer("git diff --cached", policy) == "allow"


@pytest.mark.parametrize("text", ["pytest", "make check", "cargo test", "git status", "git diff"])
def test_an_untrusted_folder_turns_patterns_off(text: str) -> None:
    verdict = decide(command(text), replace(OPEN, trusted=False))
    assert (verdict.permission, verdict.rule) == ("ask", "floor: the folder is not trusted")
    assert answer("ls -la", replace(DEFAULT, trusted=False)) == "allow"
    assert answer("cat x", replace(OPEN, trusted=False)) == "ask"
    assert decide(write("a.py"), replace(OPEN, trusted=False)).permission == "allow"


# ------------------------------------------------------------------ code nobody saw, AUTO


@pytest.mark.parametrize("text", ["pytest -q", "make check", "cargo test", "tox -e py"])
def test_code_nobody_saw_runs_only_in_a_sandbox(text: str) -> None:
    policy = replace(DEFAULT, allow=(*DEFAULT.allow, "tox -e py"), unseen_edits=True)
    assert answer(text, policy) == "ask"
    assert answer(text, replace(policy, interactive=False)) == "deny"
    assert answer(text, replace(policy, sandbox=True)) == "allow"
    assert answer(text, replace(policy, unseen_edits=False)) == "allow"
    assert answer(text, replace(policy, unsandboxed=(text,))) == "allow"
    assert answer(text, replace(policy, unsandboxed=("make other",))) == "ask"
    assert answer(text, replace(policy, unsandboxed=(text,), trusted=False)) == "ask"


def test_code_nobody_saw_is_named_as_the_reason() -> None:
    assert decide(command("pytest"), replace(OPEN, unseen_edits=True)).rule == "floor: code nobody saw, and no sandbox"
    for text in ("ls", "git status", "git diff"):
        assert answer(text, replace(DEFAULT, unseen_edits=True)) == "allow"


@pytest.mark.parametrize("name", ROWS)
def test_auto_turns_ask_into_allow_only_in_a_sandbox(name: PermissionClass) -> None:
    asking = row(replace(OPEN, auto=True), **{name: "ask"})
    assert decide(REQUESTS[name], asking).permission == "ask"
    assert (
        decide(REQUESTS[name], replace(asking, sandbox=True)).rule == f"mode: AUTO in a sandbox (table: {name} = ask)"
    )
    assert decide(REQUESTS[name], replace(asking, sandbox=True, auto=False)).permission == "ask"
    denying = row(replace(asking, sandbox=True), **{name: "deny"})
    assert decide(REQUESTS[name], denying).permission == "deny"


def test_auto_keeps_floors_deny_patterns_and_the_trust_question() -> None:
    policy = replace(DEFAULT, auto=True, sandbox=True, deny=("rm",))
    assert answer("sudo ls", policy) == "ask"
    assert answer("ls; rm x", policy) == "deny"
    assert answer("eval x", policy) == "ask"
    assert decide(write("x", "a hard link"), policy).permission == "ask"
    assert decide(write("x"), replace(policy, trusted=False)).permission == "ask"
    assert answer("cat x", replace(policy, trusted=False)) == "ask"


def test_in_auto_the_question_says_which_floor_asks() -> None:
    policy = replace(DEFAULT, auto=True, sandbox=True)
    assert decide(command("sudo ls"), policy).missed == "mode AUTO does not cover it: sudo"
    assert decide(write("x", "a hard link"), policy).missed == "mode AUTO does not cover it: a hard link"
    assert decide(command("sudo ls"), replace(policy, auto=False)).missed == ""


# ------------------------------------------------------------------ always

NO_RULE = r"""
ls; ls ¦ A=1 ls ¦ ls > x ¦ sh -c ls ¦ bash x.sh ¦ env ls ¦ env ¦ nice ls ¦ xargs ls ¦ find . ¦ sudo ls ¦ python x.py ¦ python3.12 -m x
node x.js ¦ perl -e 1 ¦ awk 1 x ¦ npm test ¦ pip list ¦ uv run x ¦ cargo build ¦ go build ¦ curl u ¦ ssh h ¦ docker ps ¦ gh pr list
git branch -D x ¦ git branch -dr o/x ¦ git branch -v -D x ¦ git stash ¦ git stash drop ¦ git reflog expire --all ¦ git tag -d x ¦ pre-commit run
git push ¦ git remote -v ¦ git -C x log ¦ git -c a=b log ¦ rm x ¦ touch x ¦ sed -i s/a/b/ x ¦ ./run ¦ /bin/ls ¦ ls 'a ¦ ls a\u200bb ¦ git
git st ¦ git svn clone x ¦ git lfs pull ¦ git send-email ¦ git p4 sync ¦ git submodule foreach x
git bisect run rm ¦ git rebase -x cmd ¦ git rebase ¦ git config x y ¦ git grep -Orm ¦ prlimit rm x ¦ setpriv rm ¦ vim -c '!x' ¦ make rm
julia x.jl ¦ java -jar x ¦ ts-node x ¦ runghc x ¦ python3-dbg x ¦ expect x ¦ dotnet run ¦ cabal install ¦ cpan x ¦ dpkg -i x ¦ tox
kubectl delete pod ¦ aws s3 rm ¦ terraform apply ¦ svn up ¦ hg pull ¦ openssl s_client ¦ nobody-knows-this x ¦ time make ¦ make env
"""


@pytest.mark.parametrize("text", [case for line in NO_RULE.strip().splitlines() for case in line.split(" ¦ ")])
def test_always_is_not_offered(text: str) -> None:
    assert always_rule(command(text)) is None


@given(
    st.text(st.characters(codec="ascii", categories=["L", "N"], include_characters="-_."), min_size=1),
    st.lists(st.text(max_size=5), max_size=3),
)
def test_always_is_offered_for_programs_of_a_table_only(name: str, rest: list[str]) -> None:
    if always_rules(argv(name, *rest)):
        assert name in programs.PLAIN | {"git"} | {words[0] for words in OPTIONS}


def test_always_is_not_offered_for_tools_scripts_floors_and_line_ends() -> None:
    assert always_rule(REQUESTS["mcp"]) is None
    assert always_rule(PolicyRequest("run_shell", "shell", command="ls")) is None
    assert always_rule(replace(command("ls"), floors=("x",))) is None
    assert always_rule(argv("grep", "a\nb")) is None


def test_always_offers_the_exact_command_before_a_wider_rule() -> None:
    exact, wide = always_rules(command("git diff --stat src"))
    assert (exact.pattern, exact.matches, exact.refuses) == ("git diff --stat src", "git diff --stat src", "git diff")
    assert (wide.pattern, wide.matches, wide.refuses) == ("git diff", "git diff --stat src", "git diff --output=x")
    assert [rule.pattern for rule in always_rules(command("git diff"))] == ["git diff"]
    assert [rule.pattern for rule in always_rules(command("ruff check ."))] == ["ruff check ."]
    assert always_rules(command("npm test")) == ()


def test_always_names_the_rule_and_what_it_matches() -> None:
    rule = always_rule(command("pytest -q tests"))
    assert rule is not None
    assert (rule.pattern, rule.matches, rule.refuses) == ("pytest", "pytest -q tests", "pytest -p plugin")
    rule = always_rule(argv("grep", "-n", "it's $x", "a"))
    assert rule is not None
    assert rule.refuses == rule.matches + " --other"


PLAIN = st.text(st.sampled_from("abc-_.=/ '\"$;*~#:@"), min_size=1, max_size=8)


@given(
    st.lists(PLAIN, max_size=4).map(tuple),
    st.sampled_from(["pytest", "make check", "git log", "git diff", "ls", "grep", "ruff"]),
)
def test_always_matches_what_was_asked_and_not_its_counterexample(rest: tuple[str, ...], start: str) -> None:
    request = argv(*start.split(), *rest)
    for rule in always_rules(request):
        policy = replace(DEFAULT, allow=(rule.pattern,))
        assert decide(request, policy).rule == f"allow pattern: {rule.pattern}"
        assert decide(argv(*shlex.split(rule.matches)), policy).permission == "allow"
        assert decide(argv(*shlex.split(rule.refuses)), policy).permission == "ask"


# ------------------------------------------------------------------ a denial names what is allowed


def test_a_denied_command_is_told_with_the_commands_that_need_no_approval() -> None:
    alone = replace(DEFAULT, interactive=False, allow=("make check", "git diff", "ls", "ruff check ."))
    assert decide(command("rm x"), alone).instead == ("git diff", "ls", "make check", "ruff check .")
    assert decide(command("ls | wc"), alone).instead == decide(command("rm x"), alone).instead
    # only what holds now
    assert decide(command("rm x"), replace(alone, trusted=False)).instead == ("ls",)
    assert decide(command("rm x"), replace(alone, unseen_edits=True)).instead == ("git diff", "ls")
    assert decide(command("rm x"), replace(alone, unsandboxed=("true",))).instead[-1] == "true"
    for other in (write("a.py"), command("git diff"), command("")):
        assert decide(other, alone).instead == ()


def test_a_denied_command_is_not_told_that_its_like_needs_no_approval() -> None:
    alone = replace(DEFAULT, interactive=False, allow=("touch", "git diff", "ls"), deny=("touch gen", "git diff --x"))
    assert decide(argv("touch", "gen"), alone).instead == ("git diff", "ls")
    assert decide(argv("git", "diff", "--x"), alone).instead == ("ls", "touch")
    assert decide(argv("rm", "touch"), alone).instead == ("git diff", "ls", "touch")


@given(st.sampled_from(["rm x", "curl u", "ls; id", "git push"]), st.booleans(), st.booleans(), st.booleans())
def test_what_is_named_is_really_allowed(text: str, trusted: bool, unseen: bool, sandbox: bool) -> None:
    policy = replace(DEFAULT, interactive=False, trusted=trusted, unseen_edits=unseen, sandbox=sandbox)
    verdict = decide(command(text), policy)
    assert verdict.permission == "deny"
    assert all(decide(command(named), policy).permission == "allow" for named in verdict.instead)


# ------------------------------------------------------------------ construction


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"table": {**DEFAULT.table, "write": "maybe"}}, "permissions.write must be allow, ask or deny, not 'maybe'"),
        ({"table": {**DEFAULT.table, "writes": "ask"}}, "permissions.writes is unknown"),
        ({"table": {}}, "permissions.read must be"),
        ({"allow": "ls"}, "permissions.allow must be a list"),
        ({"allow": ("",)}, "permissions.allow: '' is not a command"),
        ({"allow": (5,)}, "permissions.allow: 5 is not a command"),
        ({"allow": ("ls *",)}, "permissions.allow: 'ls *' needs a shell"),
        ({"allow": ("'a\nb'",)}, "needs a shell"),
        ({"allow": ("./x",)}, "permissions.allow: './x' must begin with the bare name"),
        ({"allow": ("'' x",)}, "must begin with the bare name"),
        ({"deny": ("rm | x",)}, "permissions.deny: 'rm | x' needs a shell"),
        ({"deny": ("rm\x1b",)}, "permissions.deny: 'rm\\x1b' holds a fault: a control character"),
        ({"unsandboxed": ("a;b",)}, "permissions.unsandboxed: 'a;b' needs a shell"),
    ],
)
def test_a_wrong_policy_names_its_field(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        replace(DEFAULT, **fields)
    assert message in str(caught.value)


def test_a_policy_does_not_change_with_the_table_it_was_made_from() -> None:
    table = dict(DEFAULT.table)
    policy = replace(DEFAULT, table=table)
    table["write"] = "allow"
    assert policy.table["write"] == "ask"
    with pytest.raises(TypeError):
        policy.table["write"] = "allow"  # type: ignore[index]


# ------------------------------------------------------------------ for every input

SHELL_PIECES = st.sampled_from(
    ["'", '"', "`", "$(", "${", "$'", ")", "}", "{", "(", "\\", "\n", " ", "\t", ";", "&", "|", "<", ">", "<<E\n", "E\n", "#", "~", "*",
     "[", "=", "rm", "ls", "git ", "push", "sudo ", "env ", "sh -c ", "eval ", "xargs ", "find -exec ", "A=", "$X", "-", "--", "f(){",
     "case ", ".git", "/", "..", "\x00", "\x1b", "\u202e", "\ud800", "é", "for ", "parallel ", ":::", "-c", "watch "]
)  # fmt: skip
TEXTS = st.one_of(st.text(), st.lists(SHELL_PIECES, max_size=40).map("".join))
POLICIES = st.builds(
    replace,
    st.sampled_from([DEFAULT, OPEN, DENYING]),
    interactive=st.booleans(),
    trusted=st.booleans(),
    cli_yes=st.booleans(),
    unseen_edits=st.booleans(),
    sandbox=st.booleans(),
    auto=st.booleans(),
)


@examples(400)
@given(TEXTS, st.sampled_from(["run_command", "run_shell"]), POLICIES)
@example("$(" * 16_000, "run_shell", DENYING)
@example("`" * 32_768, "run_shell", DENYING)
@example("<<E\n" * 8_000, "run_shell", DENYING)
@example("'\"" * 16_000, "run_command", DENYING)
@example("a" * 40_960, "run_command", OPEN)
@example("a() { a; }; " * 2_000, "run_shell", OPEN)
@example("\\" * 32_767, "run_shell", DENYING)
@example("env " * 999 + "ls", "run_command", DENYING)
def test_every_text_has_a_verdict(text: str, tool: str, policy: Policy) -> None:
    request = PolicyRequest(tool, TOOLS[tool], command=text)
    verdict = decide(request, policy)
    assert verdict.permission in {"allow", "ask", "deny"}
    assert verdict.rule
    if not policy.interactive:
        assert verdict.permission != "ask"
    always_rule(request)
    needs_shell(text)


@examples(300)
@given(st.lists(TEXTS, max_size=8), POLICIES)
def test_every_argv_has_a_verdict(words: list[str], policy: Policy) -> None:
    assert decide(argv(*words), policy).rule
    classify(words)


@given(st.text(), st.sampled_from([*ROWS, "none"]), st.none() | st.text(), POLICIES)
def test_every_tool_name_has_a_verdict(
    name: str, permission: PermissionClass, path: str | None, policy: Policy
) -> None:
    verdict = decide(PolicyRequest(name, permission, path=path), policy)
    assert verdict.rule
    if name not in TOOLS and "/" not in name:
        assert verdict.permission == "deny"


@given(TEXTS)
def test_a_stricter_policy_is_never_laxer(text: str) -> None:
    strictness = {"allow": 0, "ask": 1, "deny": 2}
    asking, opened = answer(text, DEFAULT), answer(text, OPEN)
    assert strictness[opened] <= strictness[asking] <= strictness[answer(text, replace(DEFAULT, interactive=False))]
    assert strictness[opened] <= strictness[answer(text, DENYING)]
    assert strictness[asking] <= strictness[answer(text, replace(DEFAULT, trusted=False))]
    assert strictness[asking] <= strictness[answer(text, replace(DEFAULT, unseen_edits=True))]


@given(TEXTS)
def test_text_that_needs_a_shell_is_never_allowed_by_a_pattern(text: str) -> None:
    if needs_shell(text):
        assert answer(text, DEFAULT) != "allow"
    if needs_shell(f"pytest {text}"):
        assert answer(f"pytest {text}", DEFAULT) != "allow"


@pytest.mark.parametrize(("pattern", "holds"), [("pytest -x", False), ("ls", True), ("write:src/", True)])
def test_in_a_folder_that_is_not_trusted_no_pattern_of_a_command_may_hold(pattern: str, holds: bool) -> None:
    assert may_hold(pattern, replace(DEFAULT, trusted=False)) == holds
    assert may_hold(pattern, DEFAULT)

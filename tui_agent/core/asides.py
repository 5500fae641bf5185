"""What a task names without wanting it changed: to point at it, to ask about it, to run it, or to keep it. Pure.

The words are English. What is not known to be an aside is taken for what the task is about.
"""

from __future__ import annotations

import re

from tui_agent.core.late import late
from tui_agent.core.names import EXTENSIONS, FILE, FILE_LIST, QUOTED_FILE, files_in

_SAID = r"(?:[^.;!?\n]|\.(?=\w)){0,200}"
"""The rest of a sentence."""
_DOCUMENT = r"[\w./@+-]*\w\.(?:md|mdx|txt|rst|adoc|csv|tsv|log|pdf|json|html?|patch|diff)(?!\w)"
_LANGUAGES = (
    r"(?:Python|Go(?:lang)?|Rust|(?:Type|Java|Coffee)Script|Java|Kotlin|Swift|Ruby|PHP|Perl|Lua|Bash|Zig|Haskell|Scala|C|SQL|Markdown|HTML|JSON"
    r"|YAML|TOML|CSV|XML|LaTeX|README|packages?|modules?|scripts?|English|German|French|Spanish|Italian|Chinese|Japanese)(?![\w.])"
)
_ASIDES = (
    rf"\b(?:why|where|when|what)\b{_SAID}\?",
    r"\bTraceback \(most recent call last\):(?:\n.*\S.*)*",
    r"\bFile \"[^\"\n]*\", line \d+.*",
    r"(?:^|\n)(?:FAILED|ERROR|E|>)\s.*",
    r"\b(?:if|when|whenever|unless)\b(?:[^.,;:!?\n]|\.(?=\w)){0,200}",
    rf"\b(?:missing|absent|nonexistent)\s+{QUOTED_FILE}",
    rf"(?<![\w/.@+-]){QUOTED_FILE}\s+(?:is|are)\s+(?:missing|empty|absent|invalid|malformed|not\s+(?:there|found))\b",
    rf"(?<![\w/.@+-]){QUOTED_FILE}\s+(?:does\s+not|doesn['\u2019]t|cannot|can['\u2019]t)\s+\w+",
    (
        rf"\b(?:convert|translate|port|turn|rewrite|transform|migrate)\s+(?:the\s+)?(?:\w+\s+)?{QUOTED_FILE}"
        rf"(?=\s+(?:to|into|in|as)\s+(?:(?:a|an|the|plain|proper|real)\s+){{0,2}}(?:{_LANGUAGES}|{FILE}))"
    ),
    r"\b[A-Z]\w*(?:Error|Exception|Warning):[^\n`]{0,300}",
    rf"\b(?:remove|delete|exclude|omit|drop|add|include)\s+(?:the\s+)?{QUOTED_FILE}(?=\s+(?:from|to|in)\b)",
    rf"\b(?:use|using|import|call|reuse)\s+[^.;,!?\n]{{1,60}}?\sfrom\s+{QUOTED_FILE}",
    rf"\b(?:see(?:\s+also)?|cf|like(?:\s+in)?|as\s+in|similar\s+to|based\s+on|according\s+to|following)\.?\s+[`'\"]*(?:\./)?{FILE}",
    rf"\b(?:described|documented|specified|listed|mentioned|explained|outlined|reported|noted)\s+in\s+(?:the\s+)?{FILE_LIST}",
    rf"\bcompar\w+\s+(?:\w+\s+){{0,2}}(?:with|to|against)\s+(?:the\s+)?{FILE_LIST}",
    rf"(?<![\w/.@+-]){QUOTED_FILE}\s+(?:says|describes|explains|lists|specifies|asks)\b",
    rf"(?<![\w/.@+-]){QUOTED_FILE}\s+(?:crash|fail|hang|print|output|rais|throw|exit|show|stop|abort|segfault)(?:es|s|ing)?\b",
    (
        r"\b(?:follow|obey|apply|carry\s+out|do|use|using|match(?:es|ing)?|with|per|by)\s+(?:\w+\s+){0,3}?"
        r"(?:instructions?|steps?|spec(?:ification)?s?|requirements?|data|examples?|notes?|guide(?:lines?)?|rules?|conventions?|plan|design)"
        rf"\s+(?:in|from|of)\s+(?:the\s+)?{QUOTED_FILE}"
    ),
    (
        rf"\b(?:read|look(?:ing)?\s+(?:at|into)|consult|do|follow|apply|implement|study|us(?:e|ing)|load|parse)\s+(?:through\s+)?(?:the\s+)?(?:\w+\s+)?"
        rf"(?:(?:in|from|of)\s+)?[`'\"*]*(?:\./)?{_DOCUMENT}"
    ),
    (
        r"\b(?:run(?:s|ning)?|execut(?:e|es|ing)|start(?:s|ing)?|invok(?:e|ing)|python3?|node|deno|bash|sh|ruby|perl|php)\s+"
        rf"(?:the\s+)?(?:file\s+|script\s+|program\s+)?{QUOTED_FILE}"
    ),
    (
        r"\b(?:I|we)(?:['\u2019]ve|\s+have)?\s+(?:(?:just|already|also)\s+)?(?:renamed|moved|changed|added|edited|updated|modified|created"
        r"|deleted|removed|replaced|refactored|converted|split|wrote|rewrote|merged)\b(?:[^.;,!?\n]|\.(?=\w)){0,200}"
    ),
)
_KEPT = late(
    r"\b(?:do\s+not|don['\u2019]t|must\s+not|never|without|avoid)\s+(?:\w+\s+){0,2}?(?:touch|chang|edit|modif|alter|break|mov|delet|remov|renam)"
    rf"\w*\s+(?:the\s+)?(?:files?\s+)?({FILE_LIST})"
    rf"|\b(?:leave|keep)\s+({FILE_LIST})\s+(?:alone|as\s+(?:it|they|is)|un\w+|in\s+place|intact)"
    rf"|\b(?:except(?:\s+for)?|but\s+not|other\s+than|apart\s+from|besides)\s+(?:in\s+)?({FILE_LIST})",
    re.IGNORECASE,
)
_ASIDE = late("|".join(_ASIDES), re.IGNORECASE)
_JOINED = late(rf"(\.(?:{'|'.join(EXTENSIONS.split())}))\.(?=[A-Z][a-z]*(?![\w.]))")
"""A file's name at the end of a sentence, and the first word of the next without a blank between them."""


def parted(text: str) -> str:
    """A text whose sentences have a blank between them also behind the name of a file."""
    return _JOINED.sub(r"\1. ", text)


def without_asides(text: str) -> str:
    """What of a text may name what is to be changed."""
    return _ASIDE.sub(" ", _KEPT.sub(" ", text))


def kept_in(text: str) -> list[str]:
    """The files that a text wants to stay as they are."""
    found = [name for match in _KEPT.finditer(text) for name in files_in(next(filter(None, match.groups())))]
    return list(dict.fromkeys(found))

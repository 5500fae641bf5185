"""What may stand in a message: nothing hidden, nothing that acts on a terminal, and all that people write."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ui.writing import desk, key
from tui_agent.core.characters import kind
from tui_agent.core.display import sanitise
from tui_agent.ui.composer import BURST_WAIT
from tui_agent.ui.editing import clean


@given(st.text())
def test_cleaned_text_holds_nothing_that_acts_on_a_terminal(raw):
    cleaned = clean(raw)
    assert clean(cleaned) == cleaned
    assert cleaned.splitlines() == cleaned.removesuffix("\n").split("\n") or not cleaned
    assert all(character.isprintable() or not character < "\xa0" or character in "\n\t" for character in cleaned)
    cleaned.encode()


HIDING = (
    "".join(map(chr, range(0xE0100, 0xE01F0))) + "\ufff9\ufffa\ufffb\u180e\u180b\u3164\uffa0\u115f\u1160\u2800\u034f"
)
HIDING += "\u200b\u200c\u200d\u2060\ufe00\ufe0e\ufe0f\u202e\u2066\u00ad\ufeff\U000e0041\U0001d159\u17b4"
odd = st.text(
    st.sampled_from(HIDING + "ab \u00a0\u3000\u2003\ue000\u0301😀👩🏽❤#1نمक्षé漢") | st.characters(), max_size=40
)


@given(odd, odd)
def test_what_is_sent_is_what_is_seen(raw, before):
    cleaned = clean(raw, clean(before))
    assert clean(cleaned, clean(before)) == cleaned
    last = (clean(before) or " ")[-1]
    for character in cleaned:
        what = kind(character)
        if character in "\u200c\u200d\ufe0f":
            assert last not in "\u200c\u200dab \n"  # one, behind what it changes
        else:
            assert what in {None, "combining"} or character in "\n\t "
        last = character
    alone = "".join(c for c in cleaned if c not in "\u200c\u200d\ufe0f")
    shown = sanitise(alone.replace("\t", ""), "text")
    assert not shown.warns & {"invisible", "control", "bidi", "invalid", "non-ascii-space"}
    assert not sanitise(cleaned, "prose").warns & {"invisible"}  # the transcript shows it as it was typed


@pytest.mark.parametrize(
    "kept",
    [
        "👨\u200d👩\u200d👧\u200d👦",
        "❤\ufe0f",
        "1\ufe0f\u20e3",
        "می\u200cخواهم",
        "क्\u200dष",
        "👩🏽\u200d🚀",
        "e\u0301",
        "🇩🇪",
        "漢字",
    ],
)
def test_joiners_stay_where_they_are_drawn(kept):
    assert clean(kept) == kept
    typed = ""
    for character in kept:
        typed += clean(character, typed)
    assert typed == kept


def test_blanks_are_blanks_and_what_a_font_may_lack_is_written_out():
    assert clean("a\u00a0b\u3000c") == "a b c"
    assert clean("\ue0b0 \U000e0fff") == "<U+E0B0> <U+E0FFF>"
    assert clean("hello" + HIDING[:240] + "\ufff9hid\ufffb \u180e") == "hellohid "


async def test_joiners_can_be_typed():
    async with desk() as (_, pilot, composer):
        for character in "می\u200cخواهم 👩\u200d🚀 a\u200d":
            composer.post_message(key(character, character))
        await pilot.pause(BURST_WAIT * 2)
        assert composer.text == "می\u200cخواهم 👩\u200d🚀 a"


async def test_hidden_characters_come_in_by_no_way():
    async with desk() as (app, pilot, composer):
        for character in "a\u3164\U000e0101b":
            composer.post_message(key(character, character))
        await pilot.pause(BURST_WAIT * 2)
        composer.insert_paste("c\ufff9d")
        composer.load(composer.text + "\u2800e")
        assert composer.text == "abcde"
        composer.type("\u115ff")
        await pilot.press("enter")
        assert app.sent == ["abcdef"]

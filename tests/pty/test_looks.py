"""What only a terminal shows of looks and keys: its answer about its background, no colour, what it sends."""

from __future__ import annotations

import re
import termios

from tests.pty.terminal import CTRL_C, F2, F8, Home, Terminal, say

COLOUR = re.compile(rb"\x1b\[[\d;]*(?<!\d)(?:3[0-7]|4[0-7]|9[0-7]|10[0-7]|[34]8;[25]);?[\d;]*m")


def test_a_light_terminal_is_asked_and_what_is_typed_meanwhile_is_kept(home: Home) -> None:
    home.script(say("hello"))
    with Terminal(home, env={"COLORTERM": "truecolor"}) as t:
        t.until(lambda: b"\x1b]11;?" in t.raw, "never asked")
        t.send(b"fix\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62c")
        t.ready().wait_for("› fix")
        assert b"48;2;251;251;250" in t.raw, "the light theme"
        assert "rgb" not in t.text
        t.send(CTRL_C)
        t.send("/quit\r")
        assert t.ended() == 0
        t.assert_given_back()


def test_where_lines_are_two_cells_wide_plain_signs_are_drawn(home: Home) -> None:
    home.script(say("hello"))
    for column, sign in ((3, ">"), (2, "›")):
        with Terminal(home) as t:
            t.until(lambda: b"\x1b[6n" in t.raw, "never asked")
            t.send(f"a\x1b[1;{column}R\x1b[?62c".encode())
            t.ready().wait_for(f"{sign} a")
            assert ("─" in t.text) == (sign == "›")
            t.send(CTRL_C)
            t.send("/quit\r")
            assert t.ended() == 0


def test_a_terminal_that_says_nothing_is_not_waited_for(home: Home) -> None:
    home.script(say("hello"))
    with Terminal(home, env={"COLORTERM": "truecolor", "COLORFGBG": "15;0"}) as t:
        t.ready()
        assert b"48;2;18;18;18" in t.raw, "the dark theme"
        t.send("/quit\r")
        assert t.ended() == 0
        t.assert_given_back()


def test_no_colour_is_no_colour_and_is_passed_on(home: Home) -> None:
    home.script(say("hello"))
    with Terminal(home, env={"NO_COLOR": "1", "COLORTERM": "truecolor"}) as t:
        t.ready()
        t.task("!echo is-${NO_COLOR}-set")
        t.wait_for("is-1-set")
        t.send(F2)
        t.wait_for("Keys and commands")
        assert COLOUR.findall(t.raw) == []


def test_the_probe_names_what_arrives(home: Home) -> None:
    home.configure('[keys]\n"ui.palette" = "f3"\n')
    with Terminal(home, ["keys", "--probe"]) as t:
        t.wait_for("Press a key")
        for sent, shown in (
            (b"\x1bOR", "f3"),
            (b"\x1b\r", "alt+enter"),
            (b"\x1b", "escape"),
            (b"\x1b[13;2u", "shift+enter"),
        ):
            t.send(sent)
            t.wait_for(shown)
        assert "ui.palette: Commands" in t.text
        t.send(CTRL_C)
        assert t.ended() == 0
        assert termios.tcgetattr(t.slave) == t.before
        assert t.raw.endswith(b"\x1b[<u")


def test_the_table_of_keys(home: Home) -> None:
    home.configure('[keys]\n"ui.palette" = "f3"\n"pane.diff" = "f99"\n')
    with Terminal(home, ["keys"], size=(120, 400)) as t:
        assert t.ended() == 0
        assert re.search(r"ui\.palette +F3 ", t.text)
        assert re.search(r"model\.switch +Ctrl\+X m +/model ", t.text)
        assert "config.toml:3:1:keys.pane.diff:'f99'isnokey;didyoumeanf9?" in re.sub(r"\s", "", t.text)


def test_without_the_mouse_the_terminal_keeps_it_until_it_is_asked_for(home: Home) -> None:
    home.script(say("hello"))
    with Terminal(home, ["--no-mouse", "--theme", "light"], env={"COLORTERM": "truecolor"}) as t:
        t.ready()
        assert b"?1000h" not in t.raw
        assert b"48;2;251;251;250" in t.raw, "the light theme"
        t.send(F8)
        t.until(lambda: b"?1000h" in t.raw and b"?1006h" in t.raw, "never asked for")
        t.send(F8)
        t.wait_for("The mouse is the terminal's")
        assert "1000" not in t.left_on()
        t.send("/quit\r")
        assert t.ended() == 0
        t.assert_given_back()


def test_a_configuration_without_the_mouse(home: Home) -> None:
    home.script(say("hello"), more="[ui]\nmouse = false\n")
    with Terminal(home) as t:
        t.ready()
        assert b"?1000h" not in t.raw
        t.send("/quit\r")
        assert t.ended() == 0


def test_a_screen_that_another_program_spoiled_is_drawn_anew_with_every_mode(home: Home) -> None:
    home.script(say("hello"))
    with Terminal(home) as t:
        t.ready().task()
        t.wait_for("hello", "completed")
        before = t.left_on()
        t.clear()
        t.raw += b"\x1b[?2004l\x1b[?1000l\x1b[?1006l\x1b[?1004l\x1b[?1049l\x1b[?25h\x1b[?7h"
        t.send(b"\x0c")
        t.wait_for("hello", "completed", "ready", "project")
        assert t.left_on() == before
        assert b"\x1b[=25u" in t.raw
        t.send("/quit\r")
        assert t.ended() == 0
        t.assert_given_back()

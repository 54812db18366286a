"""Help texts that list what is registered, and the panels that options stand in."""

import re
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from chaffinch.cli.app import app
from chaffinch.cli.help import ABOUT, BASIC, FIRST, NAMES, PANELS, filled, panel_of
from chaffinch.synth import SYNTHESISERS


def test_placeholders_are_filled_when_help_is_shown_and_stay_for_the_next_time(monkeypatch):
    for words in ("one, two", "one, two, three"):
        monkeypatch.setitem(NAMES, "metrics", lambda words=words: words.split(", "))
        said = CliRunner().invoke(app, ["utility", "--help"]).output
        assert f"Some of {words}, as A,B" in " ".join(said.replace("│", " ").split())


def test_other_braces_stay():
    assert filled("a {b} {models}") == "a {b} nb, svc, knn, rf, lr"


def test_no_help_shows_a_placeholder():
    for name in ("utility", "release", "risk", "synth"):
        said = CliRunner().invoke(app, [name, "--help"]).output
        assert "{metrics}" not in said
        assert "{models}" not in said


def test_the_list_of_commands_imports_no_metric():
    code = "import sys; sys.argv = ['chaffinch', '--help']\ntry:\n    from chaffinch.cli.app import app; app()\nexcept SystemExit: pass\nassert 'chaffinch.utility' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize("command", ["synth", "fit", "release", "plan"])
def test_methods_are_listed_as_they_are_registered(command, run_here):
    words = re.sub(r"[\s│]+", " ", run_here(command, "--help").out)
    assert "{methods}" not in words
    assert "{private_methods}" not in words
    for kind in SYNTHESISERS:
        assert (kind.name in words) == (command != "plan" or kind.promise != "never"), kind.name


def commands():
    def inside(group):
        for name, one in group.commands.items():
            yield from inside(one) if hasattr(one, "commands") else [(name, one)]

    return list(inside(typer.main.get_command(app)))


@pytest.mark.parametrize(("name", "command"), commands(), ids=[name for name, _ in commands()])
def test_a_command_with_many_options_has_five_or_so_first(name, command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    options = [one.name for one in command.params if one.param_type_name == "option"]
    if len(options) > 12:
        assert set(FIRST[name]) <= set(options)
        assert 3 <= len(FIRST[name]) <= 6
    with command.make_context(name, [], resilient_parsing=True) as context:
        command.get_help(context)
        told = capsys.readouterr().out
        places = [
            told.find(f"─ {panel} ─")
            for panel in PANELS
            if any(panel_of(name, option) == panel for option in options)
        ]
        assert -1 not in places
        assert places == sorted(places)


def test_an_option_is_about_one_thing():
    names = [name for about in ABOUT.values() for name in about]
    assert len(names) == len(set(names))
    known = {one.name for _, command in commands() for one in command.params}
    assert set(names) <= known, set(names) - known
    assert panel_of("release", "output") == BASIC


def test_every_option_does_something():
    """None is there that a command takes and never looks at."""
    helps = [
        one.help or ""
        for _, command in commands()
        for one in command.params
        if one.param_type_name == "option"
    ]
    assert not [text for text in helps if "nothing is drawn" in text or "Accepted by" in text]

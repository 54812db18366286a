"""Help texts that list what is registered, and the panels that options stand in."""

import re
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from chaffinch._base.options import BASIC, PANELS
from chaffinch.cli.app import app
from chaffinch.cli.command import NAMES, fill_placeholders
from chaffinch.synth import SYNTHESISERS


def test_placeholders_are_filled_when_help_is_shown_and_stay_for_the_next_time(monkeypatch):
    for words in ("one, two", "one, two, three"):
        monkeypatch.setitem(NAMES, "metrics", lambda words=words: words.split(", "))
        said = CliRunner().invoke(app, ["utility", "--help-all"]).output
        assert f"Some of {words}, as A,B" in " ".join(said.replace("│", " ").split())


def test_other_braces_stay():
    assert fill_placeholders("a {b} {models}") == "a {b} nb, svc, knn, rf, lr"


def test_no_help_shows_a_placeholder():
    for name in ("utility", "release", "risk", "synth"):
        said = CliRunner().invoke(app, [name, "--help-all"]).output
        assert "{metrics}" not in said
        assert "{models}" not in said


def test_the_list_of_commands_imports_no_metric():
    code = "import sys; sys.argv = ['chaffinch', '--help']\ntry:\n    from chaffinch.cli.app import app; app()\nexcept SystemExit: pass\nassert 'chaffinch.utility.metric' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize("command", ["synth", "fit", "release", "plan"])
def test_methods_are_listed_as_they_are_registered(command, run_here):
    words = re.sub(r"[\s│]+", " ", run_here(command, "--help-all").out)
    assert "{methods}" not in words
    assert "{private_methods}" not in words
    for kind in SYNTHESISERS:
        assert (f"{kind.name} (" in words or f"{kind.name}[" in words) == (
            command != "plan" or kind.promise != "never"
        ), kind.name


def commands():
    def inside(group):
        for name, one in group.commands.items():
            yield from inside(one) if hasattr(one, "commands") else [(name, one)]

    return list(inside(typer.main.get_command(app)))


def options_of(command):
    return [one for one in command.params if one.param_type_name == "option"]


@pytest.mark.parametrize(("name", "command"), commands(), ids=[name for name, _ in commands()])
def test_help_shows_at_most_twelve_options_and_help_all_every_one(
    name, command, capsys, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "200")
    with command.make_context(name, [], resilient_parsing=True) as context:
        panels = {one.name: one.rich_help_panel for one in command.get_params(context)}
        assert set(panels.values()) <= {*PANELS, None}
        assert sum(panel == BASIC for panel in panels.values()) - 2 <= 12  # help, help-all
        command.get_help(context)
        few = capsys.readouterr().out
        context.meta["all"] = True
        command.get_help(context)
        every = capsys.readouterr().out
    for one in options_of(command):
        spelling = max(one.opts, key=len)
        shown = re.search(rf"{spelling}\s", few) is not None
        assert re.search(rf"{spelling}\s", every)
        assert shown or panels[one.name] != BASIC
    places = [every.find(f"─ {panel} ─") for panel in PANELS if panel in panels.values()]
    assert -1 not in places
    assert places == sorted(places)


def test_help_says_how_many_options_there_are_beside(run_here):
    few, every = run_here("release", "-h").out, run_here("release", "--help-all").out
    assert "--svm-rows" not in few
    assert "--svm-rows" in every
    (more,) = re.findall(r"--help-all shows (\d+) more options", few)
    assert int(more) > 20


def test_every_option_does_something():
    """None is there that a command takes and never looks at."""
    helps = [
        one.help or ""
        for _, command in commands()
        for one in command.params
        if one.param_type_name == "option"
    ]
    assert not [text for text in helps if "nothing is drawn" in text or "Accepted by" in text]

"""Help in panels, the few options that most runs need first."""

from __future__ import annotations

import pytest
import typer

from chaffinch.cli.app import app
from chaffinch.cli.help import ABOUT, BASIC, FIRST, PANELS, panel_of


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

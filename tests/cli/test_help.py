"""Help texts that list what is registered."""

import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from chaffinch.cli.app import app
from chaffinch.cli.help import NAMES, filled
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

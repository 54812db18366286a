"""Commands run in this process: much quicker than a new one each time (test_synth starts those)."""

import json
import sys

import pytest

from chaffinch.cli import app as cli


class Done:
    """How a command ended, and what it said."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def timings_in():
    """Return a function that lists the keys of JSON, however deep, that say how long something took."""

    def keys(value):
        if isinstance(value, dict):
            return [key for key, inner in value.items() for key in (key, *keys(inner))]
        return [key for inner in value for key in keys(inner)] if isinstance(value, list) else []

    def listed(path):
        words = ("second", "elapsed", "duration", "millis")
        return [key for key in keys(json.loads(path.read_text())) if any(word in key.lower() for word in words)]

    return listed


@pytest.fixture
def run_here(monkeypatch, capsys):
    """Run `chaffinch ...` through the same door as a shell's."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["chaffinch", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        return Done(ended.value.code or 0, said.out, said.err)

    return call

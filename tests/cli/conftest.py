"""Commands run in this process: much quicker than a new one each time (test_synth starts those)."""

import sys

import pytest

from chaffinch.cli import app as cli


class Done:
    """How a command ended, and what it said."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err


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

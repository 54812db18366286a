"""Small tables for tests, made from codes."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import hypothesis
import numpy as np
import pytest

from chaffinch.table import Categories, Column, Schema, Table

# No test asserts a time: a busy machine, or the first call of a compiled kernel, is no defect.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

DATA = Path(__file__).parents[1] / "examples" / "data"


def make_coded(codes: Sequence[Sequence[int]], sizes: Sequence[int]) -> Table:
    """Return a table of text columns a, b, c ... with the given codes; the levels of a column are 'v0', 'v1' ..."""
    columns = []
    for j, size in enumerate(sizes):
        levels = tuple(f"v{i:06d}" for i in range(size))
        columns.append(Column(f"c{j}", "categorical", levels=levels, codec=Categories(levels)))
    arrays = [np.asarray(column, dtype=np.uint32) for column in codes]
    return Table.from_codes(Schema(tuple(columns)), arrays, seed=0)


@pytest.fixture
def coded() -> Callable[[Sequence[Sequence[int]], Sequence[int]], Table]:
    return make_coded


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of the bundled public tables."""
    return DATA


class Done:
    """How a command ended, and what it said."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def run_here(monkeypatch, capsys):
    """Run `chaffinch ...` in this process, through the same door as a shell's: much quicker than a new one each time."""

    def call(*arguments):
        from chaffinch.cli import app as cli

        monkeypatch.setattr(sys, "argv", ["chaffinch", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        return Done(ended.value.code or 0, said.out, said.err)

    return call

"""A small population, and ensembles made in this process: a fresh one for each would take most of the time."""

from typing import Literal

import numpy as np
import pytest

from chaffinch._base.seeds import seed_sequence
from chaffinch.outputs.check import CheckInputs, CheckSettings, check_recipes
from chaffinch.outputs.check.assessment import DatasetEnsemble, OutputFit
from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.kinds import KINDS
from chaffinch.outputs.kinds.base import Kind
from chaffinch.outputs.kinds.table import TableSpec
from chaffinch.outputs.numbers import compare_numbers
from chaffinch.outputs.solve.engines import incremental

SIZES = {"a": 5, "b": 4, "c": 3, "d": 2, "y": 3}


def made_here(spec, *, copies, seed, progress=None):
    """An ensemble as `Evolver` makes it, without processes."""
    spec = spec.searched
    problem, rows = spec.problem(), spec.n_rows()
    solved = []
    for stream in seed_sequence(seed).spawn(copies):
        first, search = stream.spawn(2)
        start = problem.domain.start(rows, seed=first)
        solved.append(incremental.solve(problem, start, seed=search))
    seen = [compare_numbers(spec, one.codes) for one in solved]
    fits = [
        OutputFit(
            some[0].name,
            some[0].kind,
            some[0].size,
            float(np.mean([one.within for one in some])),
            float(np.mean([one.mean for one in some])),
            max(one.worst for one in some),
        )
        for some in zip(*seen, strict=True)
    ]
    return DatasetEnsemble(
        tuple(one.codes for one in solved),
        tuple(one.reached for one in solved),
        tuple(fits),
    )


@pytest.fixture
def maker():
    return made_here


@pytest.fixture(scope="session")
def fields():
    levels = {name: tuple(f"{name}{k}" for k in range(size)) for name, size in SIZES.items()}
    return OutputDomain(tuple(OutputColumn(name, some) for name, some in levels.items()))


@pytest.fixture(scope="session")
def people_whose_y_follows():
    """Codes of so many people, whose y follows their a and b half of the time."""

    def drawn(n, seed):
        rng = np.random.default_rng(seed)
        x = np.stack(
            [rng.integers(0, size, n) for name, size in SIZES.items() if name != "y"], axis=1
        )
        y = np.where(rng.random(n) < 0.5, (x[:, 0] + x[:, 1]) % 3, rng.integers(0, 3, n))
        return np.c_[x, y].astype(np.int32)

    return drawn


class RulesOnlySpec(TableSpec):
    """A table that no dataset is evolved from."""

    kind: Literal["ruled"] = "ruled"

    def equations(self, frame):
        return ()


@pytest.fixture
def rules_only():
    """Entries of a kind of which only the rules are checked."""
    KINDS.register(
        Kind("ruled", RulesOnlySpec, "Frequencies", "a table for the rules alone", searched=False)
    )
    yield lambda name: {"name": name, "kind": "ruled", "by": ["a", "y"]}
    KINDS.remove("ruled")


def check(recipes, data, *, released=None, seed=None, workers=None, maker=None, **settings):
    """A check of recipes, its settings by name."""
    return check_recipes(
        CheckInputs(
            recipes,
            data,
            CheckSettings.from_options(**settings),
            released=released,
            seed=seed,
            workers=workers,
            maker=maker,
        )
    )


@pytest.fixture(name="check")
def checker():
    return check


@pytest.fixture
def checked(check, fields, people_whose_y_follows, maker):
    def run(*entries, n=240, seed=1, released=(), **options):
        options = {
            "keys": ("a", "b", "c"),
            "sensitive": ("y",),
            "syntheses": 6,
            "seed": 3,
            **options,
        }
        old = recipes_of(released, fields) if released else None
        options = {"maker": maker, **options}
        return check(
            recipes_of(entries, fields), people_whose_y_follows(n, seed), released=old, **options
        )

    return run

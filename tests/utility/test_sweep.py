"""The sweep: syntheses that get worse, seeds, errors."""

import json
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest
from sklearn.ensemble import RandomForestClassifier

import chaffinch
from chaffinch import BayesNet, Independent
from chaffinch.errors import InputError
from chaffinch.stats.intervals import Result
from chaffinch.utility.composite import sweep
from chaffinch.utility.delta import delta
from chaffinch.utility.mu import mu


@dataclass(frozen=True, kw_only=True, repr=False)
class Part(Result):
    name: ClassVar[str] = "part"
    direction: ClassVar = "lower is better"
    identical: ClassVar[float] = 0.0


def table(n: int = 200, seed: int = 1) -> chaffinch.Table:
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, 1)) + 0.4 * rng.normal(size=(n, 3))
    return chaffinch.read(
        pa.table({name: np.where(hidden[:, j] > 0, "u", "v") for j, name in enumerate("abc")})
    )


def blurred(share: float):
    """A synthesiser as a plain function: that share of each column is shuffled."""

    def make(original: chaffinch.Table, seed: int) -> pa.Table:
        rng = np.random.default_rng(seed)
        columns = {}
        for name in original.columns:
            order = np.arange(original.n_rows)
            moved = np.flatnonzero(rng.random(original.n_rows) < share)
            order[moved] = rng.permutation(moved)
            columns[name] = original.data[name].take(order)
        return pa.table(columns)

    return make


def test_a_sweep_over_worse_and_worse_tables_rises_and_starts_at_zero() -> None:
    original = table()
    result = sweep(
        original,
        {0.0: blurred(0), 0.5: blurred(0.5), 1.0: blurred(1)},
        setting="blur",
        copies=2,
        seed=1,
        models=["nb"],
        repeats=2,
    )
    assert [(row.setting, row.copy) for row in result.rows] == [
        (s, c) for s in (0.0, 0.5, 1.0) for c in (1, 2)
    ]
    means = result.means()
    assert means[0] == {"setting": 0.0, "mu": 0, "delta": 0, "delta_tstr": 0, "G": 0}
    # Errors move from 0.15 to 0.5 and phi_k from 0.9 to 0.1, half as far at the middle: far beyond the noise of two copies.
    for name in ("mu", "delta", "G"):
        assert means[0][name] < means[1][name] < means[2][name]
    for row in result.rows:
        assert pytest.approx(row.mu + row.delta) == row.G
    told = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert told["setting"] == "blur"
    assert told["rows"][0] == {
        "setting": 0.0,
        "copy": 1,
        "mu": 0,
        "delta": 0,
        "delta_tstr": 0,
        "G": 0,
    }
    assert told["settings"]["delta"]["repeats"] == 2
    assert "<th>blur</th>" in result._repr_html_()


def test_a_sweep_measures_what_the_measures_alone_do() -> None:
    original = table()
    made: list[chaffinch.Table] = []

    @dataclass(frozen=True)
    class Kept:
        def fit(self, data, *, seed=None):
            self.seeds.append(seed)
            return self

        def sample(self, n_rows, *, seed=None):
            made.append(Independent().fit(original).sample(n_rows, seed=seed))
            self.seeds.append(seed)
            return made[-1]

        seeds: ClassVar[list[int]] = []

    result = sweep(
        original,
        {"kept": Kept()},
        copies=2,
        seed=7,
        alpha=2,
        models=["nb"],
        repeats=2,
        labels=["a"],
    )
    assert len(set(Kept.seeds)) == 4  # every fit and every sample has its own
    assert all(t.n_rows == original.n_rows for t in made)
    seed = np.random.SeedSequence(7, spawn_key=(0,))
    for row, synthetic in zip(result.rows, made, strict=True):
        alone = delta(original, synthetic, models=["nb"], repeats=2, labels=["a"], seed=seed)
        assert (row.delta, row.delta_tstr) == (alone.value, alone.tstr.value)
        assert row.mu == mu(original, synthetic).value
        assert pytest.approx(2 * row.mu + row.delta) == row.G


def test_a_sweep_repeats_itself_with_its_seed_whatever_the_threads() -> None:
    asked = {
        "copies": 2,
        "models": {"forest": RandomForestClassifier(7)},
        "repeats": 1,
        "labels": ["a"],
    }
    makers = {"network": BayesNet(parents=1), "alone": Independent()}
    one, two = (sweep(table(), makers, seed=3, threads=n, **asked) for n in (1, 2))
    assert one == two
    assert one != sweep(table(), makers, seed=4, **asked)
    assert one.rows[0].mu != one.rows[1].mu


def test_a_sweep_takes_another_measure_for_mu_and_says_none_where_a_part_does_not_apply() -> None:
    heard: list[float] = []
    result = sweep(
        table(),
        {"alone": Independent()},
        copies=1,
        seed=1,
        measure_mu=lambda *_: Part(value=None, reason="none"),
        models=["nb"],
        repeats=1,
        progress=lambda _, share: heard.append(share),
    )
    (row,) = result.rows
    assert row.mu is None
    assert row.G is None
    assert row.delta is not None
    assert result.means()[0]["G"] is None
    assert heard == sorted(heard)
    assert "<td></td>" in result._repr_html_()


def test_errors() -> None:
    with pytest.raises(InputError, match="at least one synthesiser"):
        sweep(table(), {})
    with pytest.raises(InputError, match=r"copies must be at least 1. Got 0"):
        sweep(table(), {1: Independent()}, copies=0)
    with pytest.raises(InputError, match="must have a method fit"):
        sweep(table(), {1: "privbayes"})

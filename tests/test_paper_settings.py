"""What the experiments on P0 and P2 are built of: the papers' own synthesiser, and cells that are kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch import BayesNet
from experiments.cells import CPU, Cells
from experiments.published import Published, coding_of, plain_draws


def test_bins_are_those_of_a_histogram_of_twenty() -> None:
    rng = np.random.default_rng(1)
    values = rng.integers(17, 91, 2000)
    coding = coding_of(pa.chunked_array([pa.array(values)]))
    counts, edges = np.histogram(values, bins=20)
    assert coding.edges is not None
    np.testing.assert_allclose(coding.edges, edges)
    np.testing.assert_array_equal(
        np.bincount(coding.codes(pa.chunked_array([pa.array(values)])), minlength=20), counts
    )


def test_numbers_come_back_inside_their_bins_whole_and_missing_as_they_went() -> None:
    column = pa.chunked_array([pa.array([None, *range(100), None])])
    coding = coding_of(column)
    codes = coding.codes(column)
    assert coding.size == 20
    assert codes[0] == codes[-1] == 20
    drawn = coding.drawn(np.repeat(codes, 50), np.random.default_rng(2))
    assert pa.types.is_integer(drawn.type)
    assert drawn.null_count == 100
    numbers = drawn.drop_null().to_numpy()
    assert coding.edges is not None
    # rounding moves a number by half a unit at most
    assert (numbers >= np.repeat(coding.edges[codes[1:-1]], 50) - 0.5).all()
    assert (numbers <= np.repeat(coding.edges[codes[1:-1] + 1], 50) + 0.5).all()


def test_words_and_numbers_of_few_values_are_levels() -> None:
    for values in ([3, 1, 1, 2], ["b", "a", "b", "c"]):
        coding = coding_of(pa.chunked_array([pa.array(values)]))
        assert coding.edges is None
        assert (
            coding.drawn(
                coding.codes(pa.chunked_array([pa.array(values)])), np.random.default_rng(0)
            ).to_pylist()
            == values
        )
    many = pa.chunked_array([pa.array(list(range(22)))])
    assert coding_of(many).edges is not None
    assert coding_of(many, bins=22).edges is None


def test_plain_draws_follow_counts_and_are_even_where_nothing_was_seen() -> None:
    parents, child = np.repeat([0, 5], [4, 6]), np.array([0, 0, 0, 2, 1, 1, 1, 1, 1, 1])
    asked = np.repeat([0, 5, 3], 30_000)
    drawn = plain_draws(parents, child, asked, 4, np.random.default_rng(3))
    shares = [np.bincount(drawn[asked == key], minlength=4) / 30_000 for key in (0, 5, 3)]
    # Five standard errors of a share of 30,000 draws: 0.0144. Codes that never occur (3) have no chance, as in their tables.
    np.testing.assert_allclose(
        shares, [[3 / 4, 0, 1 / 4, 0], [0, 1, 0, 0], [1 / 3, 1 / 3, 1 / 3, 0]], atol=0.0144
    )
    assert shares[0][1] == shares[1][0] == 0


def test_the_papers_arm_keeps_the_schema_and_cuts_the_sensitive_column_off() -> None:
    rng = np.random.default_rng(4)
    label = rng.integers(0, 2, 600)
    ill = np.where(rng.random(600) < 0.8, label, 1 - label)
    values = {
        "age": 20 + 20 * ill + rng.integers(0, 40, 600),
        "ill": np.array(["no", "yes"])[ill],
        "label": label,
        "town": np.array(["x", "y"])[ill],
    }
    table = chaffinch.read(pa.table(values), rare="keep")
    maker = Published(BayesNet(parents=3, search="genetic", label="label", sensitive=("ill",)))
    model = maker.fit(table, seed=1)
    assert model.network["ill"] == ("label",)
    assert not any("ill" in model.network[name] for name in model.network.order)
    synthetic = model.sample(5000, seed=2)
    assert synthetic.schema.sizes == table.schema.sizes
    together = np.corrcoef(synthetic.code("ill"), synthetic.code("town"))[0, 1]
    assert abs(np.corrcoef(ill, table.code("town"))[0, 1]) > 0.99
    assert abs(together) < 0.7  # through the label alone: 0.6 squared is 0.36
    plain = Published(BayesNet(parents=3, search="genetic")).fit(table, seed=1).sample(5000, seed=2)
    assert abs(np.corrcoef(plain.code("ill"), plain.code("town"))[0, 1]) > 0.95


def test_finished_cells_are_skipped_and_half_lines_forgotten(tmp_path: Path) -> None:
    path, asked = tmp_path / "cells.csv", []

    def work(value: int) -> list[list[int]]:
        asked.append(value)
        return [[value, value + 1], [value + 2, value + 3]]

    cells = Cells(path, ["arm", "seed"], ["a", "b"])
    assert cells.get(("x", 0), lambda: work(1)) == [["1", "2"], ["3", "4"]]
    assert path.read_text().splitlines()[0] == f"arm,seed,a,b,{CPU}"
    with open(path, "a") as handle:
        handle.write("x,1,5")
    again = Cells(path, ["arm", "seed"], ["a", "b"])
    assert again.get(("x", 0), lambda: work(1)) == [["1", "2"], ["3", "4"]]
    assert asked == [1]
    assert ("x", 1) not in again
    with pytest.raises(SystemExit, match="other columns"):
        Cells(path, ["arm"], ["a", "b"])

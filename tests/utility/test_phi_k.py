"""phi_k matrices against the phik library, pandas and brute force."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phik.phik import phik_from_hist2d, phik_matrix

import chaffinch
from chaffinch.stats.intervals import jackknife
from chaffinch.table import Categories, Column, Schema, Table
from chaffinch.table.groups import GROUPS
from chaffinch.utility.mu import mu, mu_from
from chaffinch.utility.phi_k import phi_k, phi_k_of_counts

NUMERIC = ("integer", "float", "date", "datetime")
Coded = Callable[[Sequence[Sequence[int]], Sequence[int]], Table]


def library(frame: pd.DataFrame, table: Table) -> np.ndarray:
    """Return the phik library's matrix of a frame, with the columns binned that are numeric in the table."""
    numeric = [column.name for column in table.schema if column.kind in NUMERIC]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (
            phik_matrix(frame, interval_cols=numeric, njobs=1)
            .loc[list(frame), list(frame)]
            .to_numpy()
        )


def adult(data: Path, rows: int) -> pa.Table:
    return pq.read_table(data / "adult_train.parquet").slice(0, rows)


def test_matrices_are_the_phik_librarys_on_adult(data: Path) -> None:
    values = adult(data, 4000)
    table = chaffinch.read(values, rare="keep")
    result = phi_k(table, table, missing="drop")
    np.testing.assert_allclose(result.original, library(values.to_pandas(), table), atol=2e-5)
    np.testing.assert_array_equal(result.synthetic, result.original)
    assert result.names == tuple(values.column_names)


def test_matrices_are_the_phik_librarys_on_cmc(data: Path) -> None:
    table = chaffinch.read(data / "cmc.csv")
    np.testing.assert_allclose(
        phi_k(table, table).original, library(pd.read_csv(data / "cmc.csv"), table), atol=2e-5
    )  # nothing is missing: a level of its own or dropped is the same


def test_missing_values_are_a_level_of_their_own(data: Path) -> None:
    values = adult(data, 3000)
    table = chaffinch.read(values, rare="keep")
    frame = values.to_pandas()
    assert frame["workclass"].isna().any()
    words = frame.select_dtypes(exclude="number").columns
    frame[words] = frame[words].astype(object).fillna("nothing here")
    np.testing.assert_allclose(phi_k(table, table).original, library(frame, table), atol=2e-5)


def shared_counts(
    first: pd.Series, second: pd.Series, rows: Sequence[object], columns: Sequence[object]
) -> np.ndarray:
    return pd.crosstab(first, second).reindex(index=rows, columns=columns, fill_value=0).to_numpy()


def test_a_lost_level_and_a_new_one_keep_the_grid() -> None:
    rng = np.random.default_rng(2)
    n = 600
    a = rng.choice(list("uvwx"), n)
    b = np.where(rng.random(n) < 0.4, np.char.upper(a), rng.choice(list("UVWX"), n))
    real = pd.DataFrame({"a": a, "b": b})
    fake = real.replace({"a": {"x": "w"}, "b": {"U": "new"}})  # x lost; U lost, (other) gained
    table = chaffinch.read(real)
    result = phi_k(table, fake)
    levels_b = ["U", "V", "W", "X", "new"]
    for frame, matrix in ((real, result.original), (fake, result.synthetic)):
        counts = shared_counts(frame["a"], frame["b"], list("uvwx"), levels_b)
        assert counts.shape == (4, 5)
        assert matrix[0, 1] == pytest.approx(phik_from_hist2d(counts), abs=2e-5)
    # Not what the library says of the original's own 4 x 4 and the synthetic table's own 3 x 4 cells.
    own = phik_from_hist2d(pd.crosstab(fake["a"], fake["b"]).to_numpy())
    assert abs(result.synthetic[0, 1] - own) > 1e-3


def by_hand_without_groups(codes: list[np.ndarray], shape: tuple[int, int]) -> list[float]:
    """Return phi_k of two columns without each group of records, dealt as the measure deals them."""
    n = len(codes[0])
    group = np.random.default_rng(0).permutation((np.arange(n) % GROUPS).astype(np.uint8))
    out = []
    for g in range(GROUPS):
        counts = np.zeros(shape)
        np.add.at(counts, (codes[0][group != g], codes[1][group != g]), 1)
        out.append(phi_k_of_counts(counts))
    return out


def test_interval_is_the_jackknife_by_brute_force(coded: Coded) -> None:
    rng = np.random.default_rng(5)
    real, fake = ([a := rng.integers(0, 4, 500), (a + rng.integers(0, k, 500)) % 5] for k in (2, 4))
    result = phi_k(coded(real, (4, 5)), coded(fake, (4, 5)))
    apart = np.array(by_hand_without_groups(fake, (4, 5))) - by_hand_without_groups(real, (4, 5))
    assert result.value is not None
    assert result.interval == pytest.approx(jackknife(result.value, np.abs(apart), low=0, high=1))
    assert mu_from(result).interval == pytest.approx(result.interval)  # one pair: the same number
    assert mu_from(result, norm="spectral").interval == pytest.approx(result.interval)


def test_pairs_that_are_never_both_there_have_no_value() -> None:
    n = 120
    a = ["x", "y", None, None] * (n // 4)
    b = [None, None, "p", "q"] * (n // 4)
    table = chaffinch.read(pa.table({"a": a, "b": b, "c": ["k", "k", "k", "l", "l"] * (n // 5)}))
    result = phi_k(table, table, missing="drop")
    assert np.isnan(result.original[0, 1])
    assert result.settings["pairs"] == 2
    assert mu_from(result, norm="spectral").value == 0.0
    alone = chaffinch.read(pa.table({"a": a, "b": b}))
    assert "same record" in phi_k(alone, alone, missing="drop").reason
    assert mu(alone, alone, missing="drop").value is None


def as_table(columns: Sequence[Sequence[int]], sizes: Sequence[int]) -> Table:
    """Return a table of codes (fixtures do not go with Hypothesis)."""
    schema = tuple(
        Column(f"c{j}", "categorical", codec=Categories(tuple(f"v{i}" for i in range(size))))
        for j, size in enumerate(sizes)
    )
    return Table.from_codes(
        Schema(schema), [np.array(column, dtype=np.uint32) for column in columns], seed=0
    )


small = st.integers(2, 4).flatmap(
    lambda width: st.lists(
        st.tuples(*[st.integers(0, 3)] * width),
        min_size=2,
        max_size=60,
    )
)


@given(small, small, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=20)
def test_matrices_are_symmetric_in_range_and_blind_to_order(
    first: list, second: list, random: object
) -> None:
    width = min(len(first[0]), len(second[0]))
    tables = [
        as_table(list(zip(*rows, strict=True))[:width], [4] * width) for rows in (first, second)
    ]
    result = phi_k(*tables, interval=False)
    if result.value is None:
        return
    for matrix in (result.original, result.synthetic):
        np.testing.assert_array_equal(matrix, matrix.T)
        held = matrix[np.isfinite(matrix)]
        assert ((held >= 0) & (held <= 1)).all()
    assert 0 <= result.value <= 1
    shuffled = [list(rows) for rows in (first, second)]
    for rows in shuffled:
        random.shuffle(rows)  # type: ignore[attr-defined]
    names = list(range(4))
    random.shuffle(names)  # type: ignore[attr-defined]
    relabelled = [
        as_table(
            [[names[v] for v in column] for column in zip(*rows, strict=True)][:width], [4] * width
        )
        for rows in shuffled
    ]
    again = phi_k(*relabelled, interval=False)
    # A root near 0 makes 1e-8 of an error of 1e-16.
    np.testing.assert_allclose(again.original, result.original, atol=1e-6)
    np.testing.assert_allclose(again.synthetic, result.synthetic, atol=1e-6)

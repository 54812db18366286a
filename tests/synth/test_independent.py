"""Each column alone."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch.counts import StreamCounter
from chaffinch.synth import Independent, Model, Synthesiser, load_model
from chaffinch.table import Scan
from chaffinch.table.sources import open_source


def test_columns_keep_their_shares_and_nothing_else(linked, count_cells, assert_drawn_from):
    table = linked(1, [3, 4, 2], 300)
    model = Independent().fit(table)
    assert model.network.edges == ()
    shares = [
        np.bincount(table.code(n), minlength=s) / 300
        for n, s in zip(table.schema.names, table.schema.sizes, strict=True)
    ]
    product = np.einsum("i,j,k->ijk", *shares)
    assert_drawn_from(count_cells(model.sample(50_000, seed=1)), product)
    assert model.log_likelihood(table) == pytest.approx(
        sum(
            np.log(share[table.code(n)])
            for share, n in zip(shares, table.schema.names, strict=True)
        )
    )


def test_the_links_of_the_table_are_gone(linked, count_cells, assert_drawn_from):
    table = linked(1, [3, 4, 2], 300)
    with pytest.raises(AssertionError):
        assert_drawn_from(
            count_cells(Independent().fit(table).sample(50_000, seed=1)), count_cells(table) / 300
        )


def test_it_is_a_synthesiser_like_any_other(linked, tmp_path):
    table = linked(1, [3, 4, 2], 300)
    model = Independent().fit(table, seed=1)
    assert isinstance(Independent(), Synthesiser)
    assert isinstance(model, Model)
    assert Independent() == Independent()
    assert model.to_dict()["method"] == "independent"
    model.save(tmp_path / "m.chaffinch")
    assert (
        load_model(tmp_path / "m.chaffinch")
        .sample(20, seed=1)
        .data.equals(model.sample(20, seed=1).data)
    )
    assert model.sample(0).n_rows == 0


def test_a_stream_gives_the_same(linked, tmp_path):
    table = linked(1, [3, 4, 2], 300)
    table.write(tmp_path / "t.parquet")
    stream = StreamCounter(Scan(open_source(tmp_path / "t.parquet"), table.schema, 300))
    assert (
        Independent()
        .fit(stream)
        .sample(50, seed=2)
        .data.equals(Independent().fit(table).sample(50, seed=2).data)
    )

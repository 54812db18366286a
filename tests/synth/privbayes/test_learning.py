"""The two private steps of PrivBayes: what is spent, and which tables are measured."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.privacy.opening import open_private
from chaffinch.synth import PrivBayes
from chaffinch.synth.privbayes.learning import learn, measure
from chaffinch.synth.privbayes.split import split_of
from chaffinch.table import Column, Schema


@pytest.mark.parametrize("parents", [0, 2])
def test_a_structure_has_each_column_once_and_all_is_spent(parents):
    codes = np.random.default_rng(1).integers(0, 3, (4, 300))
    columns = tuple(Column(f"c{j}", "categorical", levels=(0, 1, 2)) for j in range(4))
    table = chaffinch.prepare(
        pa.table({f"c{j}": c for j, c in enumerate(codes)}), Schema(columns, public=True, rows=300)
    )
    settings = PrivBayes(epsilon=2.0, parents=parents)._resolved()
    with open_private(table, settings.budget, settings.unit, seed=1) as counter:
        split = split_of(settings, counter.schema, counter.ledger.left, 300)
        structure = learn(counter, settings, split, 300, np.random.default_rng(1))
        tables = measure(counter, structure, split)
        assert counter.ledger.left == pytest.approx(0.0, abs=1e-9)
    assert sorted(structure.order) == [0, 1, 2, 3]
    for at, (child, chosen) in enumerate(zip(structure.order, structure.parents, strict=True)):
        assert set(chosen) <= set(structure.order[:at])
        assert len(chosen) == min(parents, at)
        assert any({f"c{child}", *(f"c{p}" for p in chosen)} <= set(t.columns) for t in tables)

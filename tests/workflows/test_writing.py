"""Syntheses in files: the same bytes whether they are drawn into them or held before."""

from __future__ import annotations

import pandas as pd
import pytest

import chaffinch as cf
from chaffinch.workflows.run import RunOptions
from chaffinch.workflows.synthesise import Synthesis, SynthesisSettings, copy_paths, write_batches

TABLE = pd.DataFrame({"a": ["x", "y"] * 40, "b": ["p", "q", "q", "p"] * 20})


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_a_table_that_is_held_is_written_as_if_drawn_into_its_file(tmp_path, ending):
    settings = SynthesisSettings(synthesiser=cf.Independent(), rows=70_000, copies=2)
    synthesis = Synthesis(settings, RunOptions(seed=1))
    model, table = synthesis.fit(synthesis.read(TABLE))
    outputs = copy_paths(tmp_path / f"o.{ending}", 2)
    tables = synthesis.draw(model, table, outputs, hold=1)
    assert [len(held) for held in tables] == [70_000]
    write_batches(tables[0], tmp_path / f"again.{ending}")
    assert (tmp_path / f"again.{ending}").read_bytes() == outputs[0].read_bytes()
    assert outputs[0].read_bytes() != outputs[1].read_bytes()
    account = synthesis.account(model, table)
    assert len(account.rows_equal_to_an_original) == account.copies == 2

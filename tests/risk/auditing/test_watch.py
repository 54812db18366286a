"""What can be seen of a run."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch.privacy.relation import Unit
from chaffinch.risk.auditing import made_pair
from chaffinch.risk.auditing.runs import OUTSIDE, Look, Watched
from chaffinch.risk.shadows.generator import coded
from chaffinch.synth.privbayes import PrivBayes


def test_look_reads_a_model():
    pair = made_pair("narrow", Unit("replace-one"))
    table = pair.base.take(pair.rows_with)
    model = PrivBayes(5.0, variant="dpart").fit(table, seed=1)
    look = Look(pair.base, coded(pair.base), model.network)
    watched = Watched(PrivBayes(5.0, variant="dpart"), pair.base)
    answer = watched.release(table, tables=1, rows=30, seed=np.random.SeedSequence(9)).model
    seen = look.cells(answer)
    assert seen[: len(OUTSIDE)].tolist() == [0.0, 30.0, 0.0]
    logs = seen[len(OUTSIDE) :][: pair.base.n_rows * 4].reshape(-1, 4)
    # The chances of all records of the domain sum to 1.
    assert np.exp(logs[:, 0]).sum() == pytest.approx(1.0, abs=1e-5)
    failed = look.cells(type(answer)(None, 0, "KeyError", 0))
    assert failed.shape == seen.shape
    assert np.isnan(failed[len(OUTSIDE) :]).all()

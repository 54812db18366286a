"""Small tables of people, given by their counts, and a trial on them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.mitigate.base import RuleTrial
from chaffinch.outputs.rules import Policy


def codes_of_counts(counts):
    """Return codes of as many people as a table of counts says, a column for each axis."""
    counts = np.asarray(counts)
    rows = [
        place for place in product(*map(range, counts.shape)) for _ in range(int(counts[place]))
    ]
    return np.array(rows, dtype=np.int32).reshape(-1, counts.ndim)


def fields_of(shape, *, numeric=False):
    levels = [
        tuple(range(size)) if numeric else tuple(f"{'abcdef'[axis]}{k}" for k in range(size))
        for axis, size in enumerate(shape)
    ]
    return OutputDomain(tuple(OutputColumn("xyz"[axis], some) for axis, some in enumerate(levels)))


@pytest.fixture
def trial_of():
    def make(counts, *entries, policy=None, released=(), numeric=False):
        shape = np.asarray(counts).shape
        codes = codes_of_counts(counts)
        fields = fields_of(shape, numeric=numeric).counted(codes)
        by = list("xyz"[: len(shape)])
        every = [{"name": "t", "kind": "table", "by": by, **entry} for entry in entries or ({},)]
        old = recipes_of(released, fields) if released else None
        return RuleTrial(recipes_of(every, fields), codes, policy or Policy(), old)

    return make

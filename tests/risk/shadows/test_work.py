"""What a worker does: shadows before the first that fails, and its reason without a stranger's words."""

import time

import numpy as np
import pytest

from chaffinch.errors import InputError
from chaffinch.risk.shadows import Generator, Working
from chaffinch.risk.shadows.run import OutOfTime, ShadowJob, within, work


def job(maker, base, draws, limit=None):
    return ShadowJob(
        Generator(maker, base),
        np.arange(3),
        tuple(draws[:3]),
        1,
        None,
        np.random.SeedSequence(1),
        None,
        limit,
    )


def test_shadows_before_a_failure_are_kept(base, draws):
    calls = []

    def stumbling(table, seed):
        calls.append(seed)
        if len(calls) == 3:
            raise RuntimeError("record 7 is Smith")
        return table

    done = work(job(stumbling, base, draws))
    assert done.part.ids.tolist() == [0, 1]
    assert (done.failed, done.reason) == (2, "the generator raised RuntimeError")
    assert len(set(calls)) == 3  # every shadow has a seed of its own


def test_a_block_within_its_time_is_left_alone_and_another_is_stopped():
    with within(5.0):
        pass
    with pytest.raises(OutOfTime), within(0.05):
        time.sleep(2)
    with within(None):
        pass


def test_a_limit_that_leaves_no_time_is_refused():
    with pytest.raises(InputError, match="time limit of a shadow must be above 0 seconds"):
        Working(time_limit=0.0).check("shadow")
    Working().check("shadow")

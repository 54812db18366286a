"""A seed becomes a generator in one place: equal seeds give equal streams, and what is no seed is refused."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch._base.errors import InputError
from chaffinch._base.seeds import generator, seed_sequence


def drawn(seed):
    return generator(seed).integers(2**62, size=4).tolist()


def test_equal_seeds_give_numpys_own_stream():
    assert (
        drawn(7) == drawn(np.int64(7)) == np.random.default_rng(7).integers(2**62, size=4).tolist()
    )
    assert drawn(7) == drawn(np.random.SeedSequence(7)) != drawn(8)
    assert drawn(None) != drawn(None)


def test_a_generator_is_used_as_it_is():
    rng = np.random.default_rng(1)
    assert generator(rng) is rng


@pytest.mark.parametrize("seed", [-1, True, 1.0, "7"])
@pytest.mark.parametrize("function", [generator, seed_sequence])
def test_what_is_no_seed(function, seed):
    with pytest.raises(InputError, match="seed must be a whole number of at least 0"):
        function(seed)


def test_sequences():
    sequence = np.random.SeedSequence(3)
    assert seed_sequence(sequence) is sequence
    assert seed_sequence(3).entropy == 3
    rng = np.random.default_rng(1)
    assert seed_sequence(rng).entropy != seed_sequence(rng).entropy

"""Randomness as an argument: one place that turns a seed into a generator."""

from __future__ import annotations

import numpy as np

from .errors import InputError

Seed = int | np.random.SeedSequence | np.random.Generator | None


def generator(seed: Seed = None) -> np.random.Generator:
    """Return a generator for an int, a SeedSequence, a Generator, or None (operating-system entropy).

    Examples
    --------
    >>> bool(generator(7).integers(100) == generator(7).integers(100))
    True
    """
    if isinstance(seed, np.random.Generator):
        return seed
    if seed is None or isinstance(seed, np.random.SeedSequence):
        return np.random.default_rng(seed)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(
            f"seed must be a whole number of at least 0, a SeedSequence or a Generator. Got {seed!r}."
        )
    return np.random.default_rng(int(seed))


def seed_sequence(seed: Seed = None) -> np.random.SeedSequence:
    """Return a SeedSequence from which independent streams are distinguished by number.

    A Generator gives one number of its own as entropy, so two calls with it differ.
    """
    if isinstance(seed, np.random.SeedSequence):
        return seed
    if isinstance(seed, np.random.Generator):
        return np.random.SeedSequence(int(seed.integers(2**63)))
    if seed is not None:
        generator(seed)  # checks it
    return np.random.SeedSequence(seed)


def child(root: np.random.SeedSequence, *key: int) -> np.random.SeedSequence:
    """Return the stream of a seed that has a number, always the same one; `root` is left as it is."""
    return np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, *key))

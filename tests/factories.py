"""Tables that tests need when any table will do: people with the usual columns, and columns of levels.

A test that is about certain values writes them down itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

TOWNS = ("north", "south", "east", "west")
JOBS = ("baker", "clerk", "nurse", "smith", "teacher")


def people(n: int = 300, seed: int = 1, columns: Sequence[str] = ()) -> pa.Table:
    """Return people with all of the columns, or those that are named.

    age, sex, town and children are independent; job and pay go with age, ill with age and sex, married with age, and vote with job and town.
    """
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    sex, town = rng.integers(0, 2, n), rng.integers(0, len(TOWNS), n)
    job = (age // 18 + rng.integers(0, 2, n)) % len(JOBS)
    made = {
        "age": age,
        "sex": np.array(["f", "m"])[sex],
        "town": np.array(TOWNS)[town],
        "children": rng.integers(0, 5, n),
        "job": np.array(JOBS)[job],
        "pay": np.round(np.exp(rng.normal(7, 0.5, n)) * (1 + age / 60), 2),
        "ill": np.where(rng.random(n) < age / 150 + 0.2 * sex, "yes", "no"),
        "married": np.where(rng.random(n) < age / 100, "yes", "no"),
        "vote": np.array(list("abc"))[(job + town + (rng.random(n) < 0.3)) % 3],
    }
    return pa.table({name: made[name] for name in columns or made})


def levels(n: int, sizes: Sequence[int], seed: int = 1, names: Sequence[str] = ()) -> pa.Table:
    """Return independent columns with as many levels as `sizes` says: a, b, c ..., named c0, c1 ... unless names are given."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    named = names or [f"c{place}" for place in range(len(sizes))]
    return pa.table(
        {name: letters[rng.integers(0, size, n)] for name, size in zip(named, sizes, strict=True)}
    )

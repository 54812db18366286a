from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaffinch.risk.memorisation.chance import chance_of_row
from chaffinch.risk.memorisation.copied_row import COPIES, copied_row
from chaffinch.risk.memorisation.exact_row import exact_row
from chaffinch.risk.memorisation.protocol import MEMORISATION_TESTS
from chaffinch.stats.excess import excess

from .conftest import case_of, people, with_copies


def coarse(n: int, rng: np.random.Generator) -> pa.Table:
    """Return people many of whom are alike: most have common values, a few have rare ones."""
    return pa.table({f"c{j}": np.minimum(rng.geometric(0.5, n), 9).astype(str) for j in range(9)})


def test_a_match_counts_by_the_chance_that_it_is_a_copy(rng: np.random.Generator) -> None:
    members, others, released = (coarse(200, rng) for _ in range(3))
    case = case_of(released, members, others)
    scores, matches = copied_row(case).numerator, exact_row(case).numerator
    chances = chance_of_row(case, np.arange(400))
    assert np.allclose(scores, matches * COPIES / (COPIES + 200 * chances))
    assert 0 < np.count_nonzero(scores) < 400


def test_copies_are_found_where_chance_matches_hide_them(rng: np.random.Generator) -> None:
    # 40 draws with 1 % of 1,500 members copied. Counted alike, matches find them in few draws.
    found = np.zeros((40, 2), dtype=bool)
    for draw in range(40):
        members, others, fresh = (coarse(1500, rng) for _ in range(3))
        case = case_of(with_copies(fresh, members, 0.01), members, others)
        for k, score in enumerate((exact_row(case), copied_row(case))):
            groups = [
                (score.numerator[part], score.weight[part])
                for part in (slice(1500), slice(1500, None))
            ]
            found[draw, k] = (excess(*groups, resamples=200, seed=draw).p_value or 1.0) <= 0.05
    plain, weighted = found.mean(axis=0)
    assert plain < 0.6
    assert weighted > plain + 0.3


def test_it_spends_half_of_the_level_whatever_else_is_run() -> None:
    assert MEMORISATION_TESTS["copied_row"].level_share == 0.5


def test_where_nobody_is_matched_nobody_scores(rng: np.random.Generator) -> None:
    members, others, released = (people(60, rng, 12) for _ in range(3))
    assert copied_row(case_of(released, members, others)).numerator.sum() == 0

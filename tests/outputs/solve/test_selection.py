"""Who becomes a parent: properties of every rule, and the chance of each rank against its formula."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch.outputs.solve.ea import choose_parents

N = 8
DRAWS = 20_000
RULES = ("tournament", "best", "roulette", "truncation")


@given(
    errors=st.lists(st.floats(0.0, 1e6), min_size=2, max_size=40),
    rule=st.sampled_from(RULES),
    tournament_size=st.integers(2, 9),
    best=st.integers(1, 40),
    seed=st.integers(0, 2**32 - 1),
)
def test_as_many_parents_as_candidates_and_none_worse_than_the_rule_allows(
    errors, rule, tournament_size, best, seed
):
    errors, best = np.array(errors), min(best, len(errors))
    chosen = choose_parents(
        errors, rule, np.random.default_rng(seed), tournament_size=tournament_size, best=best
    )
    assert chosen.shape == errors.shape
    assert ((chosen >= 0) & (chosen < len(errors))).all()
    allowed = {"best": best, "truncation": max(1, len(errors) // 2)}.get(rule, len(errors))
    # With equal errors which of the candidates is chosen is of no matter, but no error above the last allowed one is.
    assert errors[chosen].max() <= np.sort(errors)[allowed - 1]


@given(
    errors=st.lists(st.floats(0.0, 1e6), min_size=2, max_size=40, unique=True),
    seed=st.integers(0, 2**32 - 1),
)
def test_parents_depend_on_ranks_alone_and_follow_a_permutation(errors, seed):
    errors = np.array(errors)
    ranks = errors.argsort().argsort().astype(float)
    for rule in RULES:
        one, two = (choose_parents(e, rule, np.random.default_rng(seed)) for e in (errors, ranks))
        np.testing.assert_array_equal(one, two)


@given(errors=st.lists(st.floats(0.0, 1e6), min_size=2, max_size=40, unique=True))
def test_the_best_alone_and_a_tournament_of_all_but_surely(errors):
    errors = np.array(errors)
    rng = np.random.default_rng(1)
    assert (choose_parents(errors, "best", rng, best=1) == errors.argmin()).all()
    # Each of n candidates is left out of 40 n draws with a chance of exp(-40).
    assert (
        choose_parents(errors, "tournament", rng, tournament_size=40 * len(errors))
        == errors.argmin()
    ).all()


def by_formula(rule, size):
    """The chance of each rank, best first."""
    ranks = np.arange(N)
    if rule == "tournament":  # all `size` draws are of this rank or worse, and not all are worse
        return ((N - ranks) ** size - (N - ranks - 1) ** size) / N**size
    if rule == "roulette":
        return (N - ranks) / (N * (N + 1) / 2)
    return np.where(
        ranks < (size if rule == "best" else N // 2),
        1.0 / (size if rule == "best" else N // 2),
        0.0,
    )


@pytest.mark.parametrize(
    ("rule", "size"),
    [
        ("tournament", 2),
        ("tournament", 3),
        ("tournament", 8),
        ("best", 1),
        ("best", 2),
        ("best", 5),
        ("roulette", 0),
        ("truncation", 0),
    ],
)
def test_each_rank_has_its_chance(rule, size):
    """5 sd of the binomial for each of 8 ranks and 8 rules: a right rule fails once in 27,000 times, and the seed is fixed."""
    rng = np.random.default_rng(7)
    ranks = rng.permutation(N)  # candidate k is the ranks[k]-th best
    options = (
        {"tournament_size": size}
        if rule == "tournament"
        else {"best": size}
        if rule == "best"
        else {}
    )
    chosen = np.concatenate(
        [choose_parents(ranks * 1.5, rule, rng, **options) for _ in range(DRAWS // N)]
    )
    times = np.bincount(ranks[chosen], minlength=N)
    chances = by_formula(rule, size)
    assert chances.sum() == pytest.approx(1.0)
    assert (np.abs(times - DRAWS * chances) <= 5 * np.sqrt(DRAWS * chances * (1 - chances))).all()

"""Which settings can be tried, and which next: the grid, then one step from what matters, always the same."""

from __future__ import annotations

from dataclasses import fields
from itertools import chain, combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from chaffinch.report.frontier_result import (
    CandidateSettings,
    Evaluation,
    Limits,
    RiskFigure,
    WorthFigure,
)
from chaffinch.workflows.frontier.search import LADDERS, Space, next_candidates, promising

SPACE = Space(sensitive=("a",))


def one(candidate: CandidateSettings, risk: float, worth: float) -> Evaluation:
    figure = WorthFigure(name="w", value=worth, interval=(worth - 0.01, worth + 0.01))
    return Evaluation(
        candidate=candidate,
        risk=RiskFigure(estimate=risk, lower=risk - 0.02, upper=risk + 0.02),
        worth=(figure,),
    )


def test_the_grid_comes_first_in_its_order() -> None:
    grid = SPACE.grid()
    assert next_candidates(SPACE, [], Limits(), "w") == grid[:4]
    assert next_candidates(SPACE, [one(grid[0], 0.1, 0.5)], Limits(), "w", 2) == grid[1:3]


def test_after_the_grid_steps_start_at_what_would_be_chosen_and_nothing_comes_twice() -> None:
    every = [one(candidate, 0.5, 0.1) for candidate in SPACE.grid()]
    best = CandidateSettings(rare=10)
    every = [one(best, 0.02, 0.9) if e.candidate == best else e for e in every]
    limits = Limits(max_excess=0.05)
    assert promising(every, limits, "w")[0].candidate == best
    batch = next_candidates(SPACE, every, limits, "w")
    assert batch[0] in SPACE.neighbours(best)
    assert not set(batch) & {e.candidate for e in every}
    assert batch == next_candidates(SPACE, every, limits, "w")


def test_what_lies_on_both_sides_of_the_limit_and_is_worth_more_is_gone_on_from() -> None:
    some = [
        one(CandidateSettings(), 0.02, 0.5),
        one(CandidateSettings(leaf=30), 0.06, 0.7),
        one(CandidateSettings(leaf=100), 0.5, 0.6),
    ]
    assert [e.candidate.leaf for e in promising(some, Limits(max_excess=0.05), "w")] == [10, 30]


def test_without_a_limit_wide_gaps_come_first() -> None:
    some = [
        one(CandidateSettings(leaf=300), 0.0, 0.1),
        one(CandidateSettings(leaf=100), 0.1, 0.2),
        one(CandidateSettings(leaf=30), 0.2, 0.3),
        one(CandidateSettings(), 0.3, 0.9),
    ]
    assert [e.candidate.leaf for e in promising(some, Limits(), "w")][:2] == [30, 10]


def test_a_space_that_is_used_up_gives_nothing() -> None:
    space = Space(epsilons=(1.0,), recode=False)
    tried: list[Evaluation] = []
    for _ in range(200):
        batch = next_candidates(space, tried, Limits(), "w")
        if not batch:
            break
        tried += [one(candidate, 0.1, 0.1) for candidate in batch]
    assert batch == []
    assert len({e.candidate for e in tried}) == len(tried)


WIDE_SPACE = Space(sensitive=("a", "b"), droppable=("k",))
CANDIDATES = st.builds(
    CandidateSettings,
    method=st.sampled_from(["bayesnet", "independent"]),
    conditionals=st.sampled_from(["trees", "tables"]),
    parents=st.sampled_from(LADDERS["parents"]),
    leaf=st.sampled_from(LADDERS["leaf"]),
    rare=st.sampled_from(LADDERS["rare"]),
    bins=st.sampled_from(LADDERS["bins"]),
    protected=st.sampled_from([(), ("a",), ("b",), ("a", "b")]),
    dropped=st.sampled_from([(), ("k",)]),
)


def apart(one: CandidateSettings, other: CandidateSettings) -> list[str]:
    return [
        field.name
        for field in fields(CandidateSettings)
        if getattr(one, field.name) != getattr(other, field.name)
    ]


@given(CANDIDATES)
def test_neighbours_differ_in_one_setting(candidate: CandidateSettings) -> None:
    near = WIDE_SPACE.neighbours(candidate)
    assert len(near) == len(set(near))
    for other in near:
        assert apart(candidate, other) in [
            [name] for name in CandidateSettings.__dataclass_fields__
        ] or apart(candidate, other) == ["protected", "protect"]


@given(CANDIDATES, CANDIDATES)
def test_a_path_takes_one_setting_at_a_time(
    start: CandidateSettings, end: CandidateSettings
) -> None:
    steps = WIDE_SPACE.path(start, end)
    assert (steps[0], steps[-1]) == (start, end)
    network = {"method", "conditionals", "parents", "leaf", "smoothing", "protected", "protect"}
    for one, other in pairwise(steps):
        moved = set(apart(one, other))
        assert (
            len(moved) == 1
            or (one.method != other.method and moved <= network)
            or moved == {"conditionals", "leaf"}
        )
    assert len(set(steps)) == len(steps)


def test_the_grid_starts_with_the_default_and_has_every_subset_once() -> None:
    grid = WIDE_SPACE.grid()
    assert grid[0] == CandidateSettings()
    assert len(grid) == len(set(grid))
    subsets = set(chain.from_iterable(combinations("ab", size) for size in (1, 2)))
    assert {one.protected for one in grid if one.protected} == subsets
    assert any(one.dropped == ("k",) for one in grid)
    assert {one.method for one in grid} == {"bayesnet", "independent"}


def test_many_sensitive_columns_do_not_explode() -> None:
    names = tuple("abcdefgh")
    subsets = list(Space(sensitive=names).subsets())
    assert len(subsets) == 8 + 8 + 1


def test_a_promise_has_budgets_and_nothing_that_recodes() -> None:
    space = Space(sensitive=("a",), epsilons=(1.0, 3.0), recode=False)
    assert {one.epsilon for one in space.grid()} == {1.0, 3.0}
    assert all((one.rare, one.bins) == (3, 20) for one in space.grid())
    assert any(one.epsilon == 3.0 for one in space.neighbours(CandidateSettings(epsilon=1.0)))

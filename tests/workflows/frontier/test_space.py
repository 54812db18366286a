"""Which settings can be tried."""

from __future__ import annotations

from dataclasses import fields
from itertools import chain, combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from chaffinch.report.frontier_result import CandidateSettings
from chaffinch.workflows.frontier.search import LADDERS, Space

SPACE = Space(sensitive=("a", "b"), droppable=("k",))
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
    near = SPACE.neighbours(candidate)
    assert len(near) == len(set(near))
    for other in near:
        assert apart(candidate, other) in [
            [name] for name in CandidateSettings.__dataclass_fields__
        ] or apart(candidate, other) == ["protected", "protect"]


@given(CANDIDATES, CANDIDATES)
def test_a_path_takes_one_setting_at_a_time(
    start: CandidateSettings, end: CandidateSettings
) -> None:
    steps = SPACE.path(start, end)
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
    grid = SPACE.grid()
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
    assert space.values("epsilon") == (1.0, 3.0)

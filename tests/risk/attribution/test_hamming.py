"""The nearest rows: the lemma, and a search that stops at a distance."""

from itertools import combinations

from hypothesis import example, given
from hypothesis import strategies as st


@given(
    st.integers(1, 6).flatmap(
        lambda d: st.lists(st.tuples(*[st.integers(0, 2)] * d), min_size=2, max_size=15)
    )
)
@example([(0, 0), (0, 1), (1, 0), (1, 1)])
def test_at_the_smallest_distance_each_row_agrees_on_one_choice_of_kept_columns(rows: list) -> None:
    """The lemma by which counts of choices are added up."""
    key, *others = rows
    distances = [sum(a != b for a, b in zip(key, row, strict=True)) for row in others]
    kept = list(combinations(range(len(key)), len(key) - min(distances)))
    for row, distance in zip(others, distances, strict=True):
        agreeing = sum(all(key[j] == row[j] for j in columns) for columns in kept)
        assert agreeing == (distance == min(distances))

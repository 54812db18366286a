from __future__ import annotations

from chaffinch.risk.memorisation.finding import HEAD, MemorisationFinding, finding_rows

FOUND = MemorisationFinding(
    test="exact_row",
    value=0.03,
    holdout=0.01,
    excess=0.02,
    excess_interval=(0.01, 0.03),
    p_value=0.001,
    p_family=0.002,
    lower_bound=0.01,
    n_people=4000,
)


def plain(finding: MemorisationFinding) -> str:
    return finding.sentence.replace("\u00a0", " ")


def test_a_sentence_says_members_others_and_what_it_is_worth() -> None:
    assert plain(FOUND) == (
        "The whole row is in the released table for 3 % of the people in the data, and for 1 % of people who are not: more than chance gives."
    )


def test_without_a_holdout_only_members_are_in_the_sentence() -> None:
    alone = MemorisationFinding(test="exact_row", value=0.03)
    assert (
        plain(alone) == "The whole row is in the released table for 3 % of the people in the data."
    )


def test_a_share_of_few_people_does_not_leave() -> None:
    shown = FOUND.masked(10, members=6.0, others=0.0)
    assert (shown.value, shown.holdout, shown.excess, shown.excess_interval, shown.detectable) == (
        None,
    ) * 5
    assert (shown.p_value, shown.p_family) == (0.001, 0.002)
    assert shown.sentence.startswith("Exact row: It is about fewer than 10 people")
    assert shown.sentence.endswith("more than chance gives.")
    few_others = FOUND.masked(10, members=60.0, others=3.0)
    assert (few_others.value, few_others.holdout, few_others.excess) == (0.03, None, None)
    assert (
        plain(few_others)
        == "The whole row is in the released table for 3 % of the people in the data: more than chance gives."
    )
    assert FOUND.masked(10, members=60.0, others=20.0).holdout == 0.01


def test_rows_have_a_cell_for_each_heading() -> None:
    (row,) = finding_rows([FOUND])
    assert len(row) == len(HEAD)
    assert row[0] == "Exact row"

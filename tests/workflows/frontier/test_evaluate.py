"""One candidate measured on people divided by person: a copy gives all away, what was left out is no key, equal seeds give equal figures, worth has its interval."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch.errors import InputError
from chaffinch.report.frontier_result import CandidateSettings
from chaffinch.utility.tvd import marginal_distance
from chaffinch.workflows.frontier.evaluate import (
    FrontierStudy,
    MadeTable,
    cost_of_parting,
    divide_people,
    fill_missing_columns,
    recode,
    rows_of,
    split_people,
    without_columns,
    worth_figures,
)

from .conftest import made_people, quick, study_of


def test_references_stand_at_both_ends(study: FrontierStudy) -> None:
    original, fresh = (one.evaluation for one in study.references())
    assert original.reference == "the original itself"
    assert original.risk.lower > 0.5
    assert fresh.risk.lower < 0.05
    assert original.worth[0].value > 0.6


def test_a_candidate_is_measured_on_the_part_that_is_named(study: FrontierStudy) -> None:
    one = study.evaluate(CandidateSettings(leaf=30))
    again = study.evaluate(CandidateSettings(leaf=30))
    other = study.evaluate(CandidateSettings(leaf=30), study.confirmation)
    assert one.evaluation == again.evaluation
    assert one.evaluation.split == "search"
    assert other.evaluation.split == "confirmation"
    assert one.evaluation.risk != other.evaluation.risk
    assert len(one.scores) == 200
    assert any(name.endswith("on job") for name in one.attacks)


def test_the_search_never_reads_the_other_part(study: FrontierStudy) -> None:
    """Values of the people set aside are destroyed: figures of the search stay the same to the last digit."""
    from dataclasses import replace

    rows = np.concatenate([fold.members for fold in study.confirmation.folds])
    order = np.arange(study.table.n_rows)
    order[rows] = rows[0]
    spoilt = replace(
        study, table=chaffinch.read(study.table.data.take(order)), _codings={}
    )  # its schema too
    assert (
        spoilt.evaluate(CandidateSettings(leaf=30)).evaluation
        == study.evaluate(CandidateSettings(leaf=30)).evaluation
    )


def test_what_cannot_be_fitted_says_why(study: FrontierStudy) -> None:
    found = study.evaluate(CandidateSettings(protected=("nobody",)))
    assert "nobody" in found.evaluation.failure
    assert found.evaluation.risk.estimate is None


def test_a_dropped_key_is_gone_from_table_and_attack(study: FrontierStudy) -> None:
    candidate = CandidateSettings(dropped=("town",))
    assert "town" not in study.coded(candidate).schema.names
    found = study.evaluate(candidate).evaluation
    assert not found.failure
    assert found.risk.estimate is not None


def test_recoding_changes_bins_and_pools(study: FrontierStudy) -> None:
    table = chaffinch.read(made_people(400))
    coarse = recode(table, 90, 5, 10)
    assert coarse.schema["age"].size < table.schema["age"].size
    assert coarse.schema["town"].size < table.schema["town"].size
    assert coarse.data.equals(table.data)


def test_a_table_without_columns_has_no_rules_on_them() -> None:
    table = chaffinch.read(made_people(400))
    assert without_columns(table, ("none",)) is table
    assert without_columns(table, ("town",)).schema.names == ("age", "sex", "job", "ill")


def test_with_a_holdout_members_are_the_whole_part() -> None:
    study = study_of(quick(), holdout=made_people(300, 2))
    found = study.evaluate(CandidateSettings())
    assert found.evaluation.people == 200
    assert len(found.scores) == 150


@pytest.mark.slow
def test_an_auc_is_measured_where_it_is_asked_for(study: FrontierStudy) -> None:
    """Shadows of 100 people, which takes 10 s: a network with a leaf for every record is told better than independent columns, or as well."""
    found = study.with_auc(study.evaluate(CandidateSettings(leaf=5)).evaluation)
    low, high = found.risk.auc_interval
    assert 0 <= low <= found.risk.auc <= high <= 1


def rows_set(rows: np.ndarray) -> set[int]:
    return set(rows.tolist())


@settings(max_examples=15, deadline=None)
@given(st.integers(220, 400), st.floats(0.3, 0.6), st.integers(0, 99))
def test_every_row_is_in_one_part_and_its_folds_mirror_each_other(
    n: int, share: float, seed: int
) -> None:
    table = chaffinch.read(made_people(400)).take(np.arange(n))
    try:
        parts = divide_people(table, None, share, np.random.default_rng(seed))
    except InputError:
        assert n * min(share, 1 - share) / 2 <= 51
        return
    search, confirmation = rows_of(parts)
    assert search.isdisjoint(confirmation)
    assert search | confirmation == set(range(n))
    for part in parts:
        first, second = part.folds
        assert rows_set(first.members) == rows_set(second.others)
        assert rows_set(first.members).isdisjoint(rows_set(first.others))


def test_all_rows_of_a_person_stay_together() -> None:
    table = chaffinch.read(made_people(400))
    table = replace(table, person_of=np.arange(400) // 2)
    first, second = split_people(table, np.arange(400), 0.5, np.random.default_rng(1))
    assert len(first) == len(second) == 200
    assert set((first // 2).tolist()).isdisjoint(set((second // 2).tolist()))


def test_a_holdout_is_parted_alike() -> None:
    table, holdout = chaffinch.read(made_people(300)), chaffinch.read(made_people(200, 2))
    search, confirmation = divide_people(table, holdout, 0.5, np.random.default_rng(1))
    assert len(search.folds) == len(confirmation.folds) == 1
    assert rows_set(search.folds[0].others).isdisjoint(rows_set(confirmation.folds[0].others))
    assert len(search.folds[0].members) == 150


def test_too_few_people_are_refused() -> None:
    table = chaffinch.read(made_people(150))
    with pytest.raises(InputError, match=r"Too few people to part.*Give a holdout"):
        divide_people(table, None, 0.5, np.random.default_rng(1))
    with pytest.raises(InputError, match="Too few people to part"):
        divide_people(table, table.take(np.arange(60)), 0.5, np.random.default_rng(1))


def test_what_parting_costs_is_the_root_of_the_share() -> None:
    """A quarter of the people see twice as large an excess at the least: sqrt(1/4) is a half."""
    part = divide_people(chaffinch.read(made_people(400)), None, 0.75, np.random.default_rng(1))[0]
    sentences = cost_of_parting(part, 400, (0.04, 0.2), holdout=False)
    assert "made of 50 people, where the release is made of 400" in sentences[0]
    assert "0.04 to 0.2" in sentences[1]
    assert "0.02 to 0.1" in sentences[1]


SEED = np.random.SeedSequence(1)


def halves() -> tuple[chaffinch.Table, chaffinch.Table]:
    table = chaffinch.read(made_people(400))
    return table.take(np.arange(200)), table.take(np.arange(200, 400))


def test_a_copy_is_worth_more_than_independent_columns() -> None:
    first, second = halves()
    free = chaffinch.Independent().fit(first).sample(seed=1)
    asked = quick(label="ill", formula="age ~ sex", tables=(("age", "job"),))
    copied, scores = worth_figures([MadeTable(first, first, second)], asked, SEED)
    apart, _ = worth_figures([MadeTable(first, free, second)], asked, SEED)
    assert [one.name for one in copied] == ["accuracy", "regression", "tables"]
    assert copied[0].value > apart[0].value + 0.05
    assert copied[1].value == pytest.approx(1.0)
    assert copied[2].value == 0.0 < apart[2].value
    assert len(scores) == 200
    assert all(one.interval is not None for one in copied[:1])


def test_two_folds_are_averaged() -> None:
    first, second = halves()
    asked = quick(label=None, tables=(("age", "sex"),))
    both, _ = worth_figures(
        [MadeTable(first, second, second), MadeTable(second, first, first)], asked, SEED
    )
    each = [
        marginal_distance(a, b, cliques=[("age", "sex")]).value
        for a, b in ((first, second), (second, first))
    ]
    assert both[0].value == pytest.approx(np.mean(each))


def test_headline_measures_have_values() -> None:
    first, second = halves()
    figures, _ = worth_figures([MadeTable(first, second, second)], quick(label=None), SEED)
    assert [one.name for one in figures] == ["tvd_2", "phi_k", "tvd_3", "pmse"]
    assert all(one.value is not None and not one.higher for one in figures)


def test_a_column_that_was_left_out_has_its_commonest_value() -> None:
    first, _ = halves()
    made = fill_missing_columns(first[["age", "sex", "town", "ill"]], first)
    assert made.column_names == list(first.columns)
    values, counts = np.unique(
        first.data.column("job").to_numpy(zero_copy_only=False), return_counts=True
    )
    assert set(made.column("job").to_pylist()) == {values[counts.argmax()]}
    assert fill_missing_columns(first, first) is first


def test_a_label_without_people_has_a_reason() -> None:
    first, second = halves()
    figures, scores = worth_figures(
        [MadeTable(first, first.take(np.arange(5)), second)], quick(), SEED
    )
    assert figures[0].value is None
    assert "too few" in figures[0].reason
    assert len(scores) == 0

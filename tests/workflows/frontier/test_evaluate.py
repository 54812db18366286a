"""One candidate measured: a copy gives all away, what was left out is no key, and equal seeds give equal figures."""

from __future__ import annotations

import numpy as np
import pytest

import chaffinch
from chaffinch.report.frontier_result import CandidateSettings
from chaffinch.workflows.frontier.evaluate import FrontierStudy, recoded, without_columns

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
    assert one.evaluation.part == "search"
    assert other.evaluation.part == "confirmation"
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
    coarse = recoded(table, 90, 5, 10)
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

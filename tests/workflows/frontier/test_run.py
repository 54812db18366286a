"""A whole frontier: reproducible whatever the threads, resumable, stoppable; it chooses, confirms, and refuses what it cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.errors import InputError
from chaffinch.report.frontier_result import (
    CandidateSettings,
    Confirmation,
    Evaluation,
    FrontierResult,
)
from chaffinch.workflows.frontier import run as running
from chaffinch.workflows.frontier.evaluate import FrontierStudy
from chaffinch.workflows.frontier.run import EvaluationFile, inputs_of
from tests.workflows.frontier.conftest import made_people, quick

OPTIONS: dict[str, Any] = {
    "keys": ["age", "sex"],
    "sensitive": ["job"],
    "label": "ill",
    "attackers": ["matching", "exact_row"],
    "evaluations": 5,
    "seed": 1,
}


def plain(result: FrontierResult) -> str:
    return json.dumps({name: part for name, part in result.to_dict().items() if name != "run"})


def test_the_same_number_and_seed_give_the_same_whatever_the_threads(people: pa.Table) -> None:
    one = chaffinch.frontier(people, **OPTIONS, max_excess=0.3, threads=1)
    two = chaffinch.frontier(people, **OPTIONS, max_excess=0.3, threads=2)
    assert plain(one) == plain(two)
    assert len(one.evaluations) == 5
    assert one.choice is not None
    assert one.choice.confirmation is not None
    assert one.choice.confirmation.evaluation.split == "confirmation"
    assert one.best(max_excess=0.3) is one.choice


def test_a_search_goes_on_from_its_folder(people: pa.Table, tmp_path: Path) -> None:
    """Three settings, and on from them to five, are the same as five at once."""
    whole = chaffinch.frontier(people, **OPTIONS)
    chaffinch.frontier(people, **{**OPTIONS, "evaluations": 3}, folder=tmp_path)
    again = chaffinch.frontier(people, **{**OPTIONS, "seed": None}, folder=tmp_path)
    assert [one.candidate for one in again.evaluations] == [
        one.candidate for one in whole.evaluations
    ]
    assert again.evaluations == whole.evaluations


def test_a_hand_that_stops_it_keeps_what_is_done(
    people: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = 0
    own = FrontierStudy.evaluate

    def evaluate(self: FrontierStudy, candidate: Any, part: Any = None) -> Any:
        nonlocal done
        done += 1
        if done == 3:
            raise KeyboardInterrupt
        return own(self, candidate, part)

    monkeypatch.setattr(FrontierStudy, "evaluate", evaluate)
    result = chaffinch.frontier(people, **OPTIONS, max_excess=0.3, folder=tmp_path, threads=1)
    assert result.about.stopped.startswith("Stopped by hand: 2 settings are kept")
    assert result.choice is None
    stored = json.loads((tmp_path / "confidential" / "evaluations.json").read_text())
    assert len(stored["evaluations"]) == 2


def test_a_budget_of_time_ends_and_says_so(people: pa.Table) -> None:
    result = chaffinch.frontier(people, **{**OPTIONS, "evaluations": None}, budget=0.001)
    assert len(result.evaluations) == running.BATCH  # a budget below one batch gives one
    assert "budget of 0 s was used up" in result.about.stopped


def test_columns_that_are_not_there_and_too_few_people(people: pa.Table) -> None:
    with pytest.raises(InputError, match="agee"):
        chaffinch.frontier(people, **{**OPTIONS, "keys": ["agee"]})
    with pytest.raises(InputError, match="Too few people"):
        chaffinch.frontier(people.slice(0, 120), **OPTIONS)


def test_a_promise_is_never_chosen_by_figures(people: pa.Table) -> None:
    with pytest.raises(InputError, match="no promise of privacy covers a choice by them"):
        chaffinch.frontier(people, **OPTIONS, epsilons=[1.0, None], max_excess=0.1)


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    table = chaffinch.read(made_people(200))
    inputs, path = inputs_of(table, None, quick()), tmp_path / "confidential" / "evaluations.json"
    first = EvaluationFile(path, inputs, 7)
    first.replace([Evaluation(candidate=CandidateSettings(leaf=30), people=9)])
    assert path.stat().st_mode & 0o077 == 0
    assert next(iter(json.loads(path.read_text()))) == "confidential"
    again = EvaluationFile(path, inputs, None)
    assert (again.seed, again.resumed, again.evaluations) == (7, 1, first.evaluations)


def test_looks_at_people_who_were_set_aside_are_kept(tmp_path: Path) -> None:
    table = chaffinch.read(made_people(200))
    inputs, path = inputs_of(table, None, quick()), tmp_path / "confidential" / "evaluations.json"
    first = EvaluationFile(path, inputs, 7)
    look = Confirmation(
        evaluation=Evaluation(candidate=CandidateSettings(leaf=30), people=9),
        word="shown to keep",
        passed=True,
        attempt=1,
    )
    first.looks[look.evaluation.candidate.key] = look
    first.write()
    assert EvaluationFile(path, inputs, 7).looks == {look.evaluation.candidate.key: look}


def test_other_data_options_and_seeds_are_refused(tmp_path: Path) -> None:
    table = chaffinch.read(made_people(200))
    path = tmp_path / "confidential" / "evaluations.json"
    EvaluationFile(path, inputs_of(table, None, quick()), 7).write()
    other = chaffinch.read(made_people(200, seed=2))
    with pytest.raises(InputError, match="another original"):
        EvaluationFile(path, inputs_of(other, None, quick()), 7)
    with pytest.raises(InputError, match="another settings"):
        EvaluationFile(path, inputs_of(table, None, quick(resamples=60)), 7)
    with pytest.raises(InputError, match="with seed 7"):
        EvaluationFile(path, inputs_of(table, None, quick()), 8)
    path.write_text("no json")
    with pytest.raises(InputError, match="not JSON"):
        EvaluationFile(path, inputs_of(table, None, quick()), 7)


def test_the_digest_is_of_values_not_of_how_they_lie() -> None:
    table = chaffinch.read(made_people(200))
    apart = table.take(np.arange(200))
    assert inputs_of(table, None, quick()) == inputs_of(apart, None, quick())
    moved = table.take(np.arange(199, -1, -1))
    assert inputs_of(table, None, quick()) != inputs_of(moved, None, quick())


def test_without_a_folder_nothing_is_written(tmp_path: Path) -> None:
    EvaluationFile(None, {}, None).replace([])
    assert list(tmp_path.iterdir()) == []

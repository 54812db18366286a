"""A whole frontier: reproducible whatever the threads, resumable, stoppable; it chooses, confirms, and refuses what it cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import chaffinch
from chaffinch.errors import InputError
from chaffinch.report.frontier_result import FrontierResult
from chaffinch.workflows.frontier import run as running
from chaffinch.workflows.frontier.evaluate import FrontierStudy

OPTIONS: dict[str, Any] = {
    "keys": ["age", "sex"],
    "sensitive": ["job"],
    "label": "ill",
    "attackers": ["gcap"],
    "tests": ["exact_row"],
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
    assert one.choice.confirmation.evaluation.part == "confirmation"
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

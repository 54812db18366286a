"""The file of evaluations: a search goes on from it, and another search's folder is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import chaffinch
from chaffinch.errors import InputError
from chaffinch.report.frontier_result import CandidateSettings, Confirmation, Evaluation
from chaffinch.workflows.frontier.run import EvaluationFile, inputs_of

from .conftest import made_people, quick


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

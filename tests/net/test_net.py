"""The net's own words are kept, and each of ten planted faults shows in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from .net import CASES, FAULTS, Case, Fault, caught, differences, run_all


def test_names_are_said_once_and_faults_name_cases() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    assert {name for fault in FAULTS for name in fault.cases} <= set(names)
    assert len(FAULTS) >= 10


def test_a_difference_is_told_and_none_is_not() -> None:
    assert differences({"a.json": "1\n2"}, {"a.json": "1\n3", "b.csv": "x"}) == [
        "a.json:\n    -2\n    +3",
        "b.csv: only in the second",
    ]
    assert differences({"a.json": "1"}, {"a.json": "1"}) == []


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_keeps_its_words(case: Case, tmp_path: Path) -> None:
    (outcome,) = run_all(tmp_path / "net", [case])
    assert outcome.faults == ()


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_caught(fault: Fault, tmp_path: Path) -> None:
    assert caught(fault, tmp_path)

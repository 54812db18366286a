"""The majority of the three nearest rows, beside distances worked out pair by pair; and everywhere an attacker has to be found."""

from __future__ import annotations

import html
import json
import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch.report.compare import compare
from chaffinch.report.release import render
from chaffinch.report.result import report_of
from chaffinch.risk import ATTACKERS
from chaffinch.workflows.frontier.settings import FrontierSettings

NAME, TITLE = "nearest_rows", "Majority of the three nearest rows"


def people(n: int, rng: np.random.Generator) -> pa.Table:
    age = rng.integers(18, 80, n)
    return pa.table(
        {
            "age": [None if i % 17 == 3 else int(value) for i, value in enumerate(age)],
            "town": rng.choice(["a", "b", "c"], n),
            "ill": np.where(rng.random(n) < age / 100, "yes", "no"),
        }
    )


def by_hand(members: list[dict], rows: list[dict], width: float, order: list[str]) -> float:
    """Gower's distance of every pair, in double loops."""
    right = 0
    for person in members:
        distances = []
        for row in rows:
            if person["age"] is None or row["age"] is None:
                apart = float((person["age"] is None) != (row["age"] is None))
            else:
                apart = abs(person["age"] - row["age"]) / width
            distances.append(apart + (person["town"] != row["town"]))
        third = sorted(distances)[2]
        votes = Counter(
            row["ill"] for row, d in zip(rows, distances, strict=True) if d <= third + 1e-6
        )
        said = max(order, key=lambda value: (votes[value], -order.index(value)))
        right += said == person["ill"]
    return right / len(members)


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(5)
    return tuple(people(n, rng) for n in (90, 70, 80))


@pytest.fixture(scope="module")
def result(tables):
    members, released, others = tables
    return chaffinch.risk(
        members,
        released,
        others,
        keys=["age", "town"],
        sensitive=["ill"],
        attackers=[NAME, "gcap"],
        resamples=30,
        seed=1,
    )


def test_answers_are_those_of_a_double_loop(tables, result):
    members, released, others = (table.to_pylist() for table in tables)
    ages = [row["age"] for row in (*members, *released, *others) if row["age"] is not None]
    asked = [row["age"] for row in (*released, *members, *others) if row["age"] is not None]
    assert (min(ages), max(ages)) == (min(asked), max(asked))
    (finding,) = [one for one in result.findings if one.attacker == NAME]
    width = max(ages) - min(ages)
    assert finding.value == pytest.approx(by_hand(members, released, width, ["no", "yes"]))
    assert finding.holdout == pytest.approx(by_hand(others, released, width, ["no", "yes"]))


def test_it_is_found_wherever_attackers_are(result, tables, tmp_path):
    plain = json.loads(json.dumps(result.to_dict()))
    assert NAME in {finding["attacker"] for finding in plain["findings"]}
    page = html.unescape(render(report_of(title="t", risk=plain)))
    assert TITLE in page
    assert ATTACKERS[NAME].definition in page
    assert TITLE in {row.name for row in compare(plain, plain).findings}
    shown = subprocess.run(
        [sys.executable, "-m", "chaffinch", "risk", "--help-all"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "200"},
    ).stdout
    assert NAME in shown
    settings = FrontierSettings(
        keys=("age", "town"), sensitive=("ill",), attackers=(NAME,), tables=(("age", "town"),)
    )
    assert [attacker.name for attacker in settings.attack.plan().attackers] == [NAME]


def test_a_source_of_two_rows_is_too_small(tables):
    members, released, _ = tables
    (finding,) = chaffinch.risk(
        members,
        released.slice(0, 2),
        keys=["age", "town"],
        sensitive=["ill"],
        attackers=[NAME],
        resamples=2,
        seed=1,
    ).findings
    assert (finding.value, finding.reason) == (None, "the source has fewer than 3 rows")

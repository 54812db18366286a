"""Proposals are the only limit: a clock that runs wild, or a slow machine, changes no dataset, no verdict and no figure."""

from __future__ import annotations

import io
import itertools
import json
import time

import numpy as np
import pytest

from chaffinch import check, evolve
from chaffinch.errors import InputError
from chaffinch.outputs import evolve as evolving
from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.domain import OutputColumn, OutputDomain
from chaffinch.outputs.readers.statsmodels import spec_of
from chaffinch.outputs.solve import combine, process
from chaffinch.outputs.solve.engine import cost_of, proposals_in, proposals_of, seconds_of_move
from chaffinch.outputs.solve.engines import ea, incremental, maxent
from chaffinch.outputs.solve.settings import SearchSettings

COLUMNS = [{"name": "sex", "levels": ["f", "m"]}, {"name": "age", "from": 0, "to": 60}]
HARD = [
    {"name": "t", "kind": "table", "by": ["sex"], "counts": [70, 130]},
    {"name": "m", "kind": "mean", "of": "age", "by": ["sex"], "values": [30.123456, 31.654321]},
    {"name": "s", "kind": "sd", "of": "age", "value": 11.123456},
]
"""Numbers with more digits than 200 records can have: a search ends when its proposals do, and looks for combinations on the way."""


@pytest.fixture
def spec():
    return spec_of(COLUMNS, HARD, rows=200)


@pytest.fixture
def wild(monkeypatch):
    """From now on an hour passes between two looks at any clock, and every block of moves is slow."""

    def start():
        hours = itertools.count(1)
        for name in ("perf_counter", "monotonic", "time", "process_time"):
            monkeypatch.setattr(time, name, lambda: 3600.0 * next(hours))
        search, slept = incremental.search, time.sleep

        def slow(*arguments):
            slept(0.002)
            return search(*arguments)

        monkeypatch.setattr(incremental, "search", slow)

    return start


@pytest.fixture
def here(monkeypatch):
    """Copies are made in this process, where clocks can be changed, by what the process of an engine runs."""

    def run(job, *, each=None, engines=None):
        answers = io.BytesIO()
        request = json.loads(process.request_line(job))
        process._work(request, answers)
        return list(process._answers(io.BytesIO(answers.getvalue()), len(job.seeds)))

    monkeypatch.setattr(process, "FORBIDDEN", ())
    monkeypatch.setattr(evolving, "run", run)


def plain(result):
    """What is not under `run`, as bytes."""

    def left(part):
        if isinstance(part, dict):
            return {key: left(value) for key, value in part.items() if key != "run"}
        return [left(one) for one in part] if isinstance(part, list) else part

    return json.dumps(left(result.to_dict()), sort_keys=True).encode()


@pytest.mark.parametrize("engine", [incremental, maxent, ea], ids=["incremental", "maxent", "ea"])
def test_an_engine_does_not_look_at_the_clock(engine, spec, wild):
    problem, start = spec.problem(), spec.fields.start(200, seed=1)
    most = 400_000 if engine is not ea else 400

    def solve():
        return engine.solve(problem, start, proposals=most, seed=2)

    one = solve()
    wild()
    other = solve()
    np.testing.assert_array_equal(one.codes, other.codes)
    assert (one.proposals, one.accepted, one.errors) == (
        other.proposals,
        other.accepted,
        other.errors,
    )
    assert one.proposals >= (
        most if engine is not ea else 384
    )  # to the end, and not a moment of a clock less
    assert [(p.proposals, p.errors) for p in one.trace] == [
        (p.proposals, p.errors) for p in other.trace
    ]


def test_combinations_count(spec, monkeypatch):
    looked = []
    real = incremental.combine

    def counted(*arguments, **options):
        looked.append(real(*arguments, **options))
        return looked[-1]

    monkeypatch.setattr(incremental, "combine", counted)
    solved = incremental.solve(
        spec.problem(), spec.fields.start(200, seed=1), proposals=1_500_000, seed=2
    )
    spent = sum(one.proposals for one in looked)
    assert any(one.helped is not None and one.proposals > combine.PAIRING for one in looked)
    assert 1_500_000 <= solved.proposals < 1_500_000 + 8 * max(one.proposals for one in looked)
    assert spent < solved.proposals


@pytest.mark.parametrize("engine", ["incremental", "maxent", "ea"])
def test_seconds_are_proposals_whatever_the_machine_does(engine, spec, here, wild):
    seconds = 0.15 if engine != "ea" else 0.02
    one = evolve(spec, search_engine=engine, copies=2, seconds=seconds, seed=3, workers=1)
    assert not one.reached
    wild()
    for asked in ({"seconds": seconds}, {"proposals": one.proposals}):
        other = evolve(spec, search_engine=engine, copies=2, seed=3, workers=1, **asked)
        assert plain(one) == plain(other)
        for a, b in zip(one.copies, other.copies, strict=True):
            assert a.codes.tobytes() == b.codes.tobytes()


@pytest.mark.parametrize("engine", ["incremental", "ea"])
def test_a_check_does_not_look_at_the_clock(engine, here, wild):
    """With and without outputs that are reached: the verdict that says so is the one that time could change."""
    fields = OutputDomain(
        (
            OutputColumn("a", ("a0", "a1", "a2")),
            OutputColumn("x", tuple(range(30))),
            OutputColumn("y", ("n", "y")),
        )
    )
    rng = np.random.default_rng(1)
    codes = np.stack(
        [rng.integers(0, 3, 160), rng.integers(0, 30, 160), rng.integers(0, 2, 160)], axis=1
    ).astype(np.int32)
    recipes = recipes_of(
        [
            {"name": "t", "kind": "table", "by": ["a", "y"]},
            {"name": "m", "kind": "mean", "of": "x", "by": ["a"]},
        ],
        fields,
    )

    def ask(**asked):
        return check(
            recipes,
            codes,
            keys=["a"],
            sensitive=["y"],
            syntheses=2,
            search_engine=engine,
            seed=1,
            workers=1,
            **asked,
        )

    seconds = 0.0002 if engine == "incremental" else 0.01
    one = ask(seconds=seconds)
    assert one.verdict.word == "not reached (lower bound)"
    wild()
    for asked in ({"seconds": seconds}, {"proposals": one.settings.search.proposals}):
        assert plain(one) == plain(ask(**asked))


def test_the_rule_from_seconds_to_proposals(spec):
    """Worked out by hand: 1 table, 2 systems, of 2 and 3 sums for each record (those of a mean: count and sum; of an sd: squares, too)."""
    problem = spec.problem()
    # 0.15 + 0.02 + 2 * 0.06 + 5 * 0.04 microseconds
    assert np.isclose(seconds_of_move(problem, 200), 0.49e-6)
    assert np.isclose(seconds_of_move(problem, 100_000), 0.98e-6)
    for engine in ("incremental", "maxent"):
        assert cost_of(SearchSettings(search_engine=engine)).seconds(problem, 200) == (
            seconds_of_move(problem, 200)
        )
    scored, refitted = (
        cost_of(SearchSettings.from_options(search_engine="ea", fitness=fitness)).seconds(
            problem, 300
        )
        for fitness in ("score", "refit")
    )
    assert np.isclose(scored, 20e-6 + 0.015 * 300 * 0.49e-6)
    assert np.isclose(refitted, scored + 2 * (5e-3 + 300 * 3e-6))
    assert proposals_in(60.0, 0.83e-6) == 72_000_000
    assert proposals_in(1e300, 1e-6) == 10**15
    for asked, expected in (
        (SearchSettings(), 4_000_000),  # 2 / 0.49e-6 = 4.08e6, to two digits
        (SearchSettings(seconds=3.0), 6_100_000),
        (SearchSettings(proposals=17), 17),
    ):
        assert proposals_of(asked, problem, 200, default=2.0) == expected
    with pytest.raises(InputError, match="Give seconds or proposals, not both"):
        SearchSettings(seconds=1.0, proposals=17)

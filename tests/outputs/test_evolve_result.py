"""What evolving returns: plain data and back, without the records."""

import json
from dataclasses import replace

import pytest

from chaffinch._base.results import RunFacts
from chaffinch.errors import InputError
from chaffinch.outputs.evolve import (
    EvolveAbout,
    EvolvedCopy,
    EvolveResult,
    OutputReport,
    ShownNumber,
    TracePoint,
    by_output,
)
from chaffinch.outputs.numbers import Number
from chaffinch.outputs.solve.incremental import Checkpoint
from chaffinch.outputs.solve.state import OutputError

SHOWN = ShownNumber("f", 10.0, 10.0, 10.0, 12.0, False)
REPORT = OutputReport("by sex", "table", False, 2, 1, True, 2.0, None, 1.0, (SHOWN,))
COPY = EvolvedCopy(
    False,
    ("by sex",),
    500,
    0.25,
    (REPORT,),
    (TracePoint(0, None, 1, {"by sex": 1.0}),),
    1.5,
    (0.1,),
)
RESULT = EvolveResult(
    EvolveAbout(seed=3, engine="ea", options={"population": 8}, rows=30, proposals_at_most=500),
    (COPY, replace(COPY, reached=True, missed=())),
    2.0,
    RunFacts(versions={"numpy": "2"}, date="2025-01-01", command="chaffinch evolve"),
)


def test_a_result_is_read_back_as_it_was_without_its_records():
    plain = json.loads(json.dumps(RESULT.to_dict()))
    again = EvolveResult.from_dict(plain)
    assert again.to_dict() == plain
    assert again.about == RESULT.about
    assert (again.copies[0].missed, again.copies[0].outputs, again.copies[0].trace) == (
        ("by sex",),
        (REPORT,),
        COPY.trace,
    )
    assert (again.copies[0].seconds, again.copies[0].seconds_of_trace) == (1.5, (0.1,))
    assert not again.reached
    with pytest.raises(InputError, match="has no datasets"):
        again.copies[0].codes  # noqa: B018


def test_options_stand_among_the_facts():
    about = RESULT.to_dict()["about"]
    assert list(about)[:3] == ["spec", "seed", "population"]


def test_seconds_that_a_file_lacks_are_none():
    plain = RESULT.to_dict()
    del plain["run"]
    again = EvolveResult.from_dict(plain)
    assert [copy.seconds for copy in again.copies] == [0.0, 0.0]
    assert again.copies[1].seconds_of_trace == ()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "x"}, "must be of format 'chaffinch-evolved', version 1"),
        ({"copies": [{"reached": True}]}, "at 'copies.0.missed': field required"),
        ({"about": {"rows": "many"}}, "at 'rows'"),
    ],
)
def test_what_is_no_result_is_refused_with_its_place(change, words):
    with pytest.raises(InputError, match=words):
        EvolveResult.from_dict({**RESULT.to_dict(), **change})


def test_errors_of_a_regression_on_the_way_are_those_of_its_coefficients():
    """Beside the coefficients, off by 0.5 and by 1.5, stands a log-likelihood that is off by 40."""
    errors = (OutputError("r", 2, 1, 1.5, 1.0, 9.0), OutputError("r loglik", 1, 1, 40.0, 40.0, 1.0))
    source = {"r": "r", "r loglik": "r"}
    assert by_output(errors, source) == {"r": list(errors)}
    assert TracePoint.of(Checkpoint(7, 0.1, 10.0, errors), source) == TracePoint(
        7, 10.0, 2, {"r": 1.0}
    )


def test_a_number_is_published_where_it_was_printed():
    exact, interval = Number("f", 10.0, 10.0, 12.0), Number("m", 1.0, 9.0, 3.0)
    assert ShownNumber.of(exact, 1e-3).published == 10.0
    assert ShownNumber.of(interval, 1e-3) == ShownNumber("m", None, 1.0, 9.0, 3.0, True)

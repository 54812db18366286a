"""A plan in words and as plain data."""

from __future__ import annotations

import json
import math

from chaffinch._base.results import from_plain
from chaffinch.outputs.check.mitigation import (
    AssessedPlan,
    Loss,
    MitigationOption,
    MitigationPlan,
    MitigationStep,
)

LOSS = Loss(0.1, 20, 20, withheld=2, records_covered=0.9)
STEP = MitigationStep("t", ("2 of 20 cells withheld",), "fail", "pass", LOSS)
PLAN = MitigationPlan(
    (STEP,),
    (MitigationOption("t", "suppress", "2 of 20 cells withheld", "pass", LOSS, True),),
    {"u": "it could not be read: no file"},
    "fail",
    "pass",
    True,
    "rules only. 1 output: 1 pass.",
    12,
    True,
    (
        AssessedPlan("as they came", "excess found", 0.1, 0.02, 0.18),
        AssessedPlan("less", "none", math.nan, math.nan, math.nan),
    ),
)


def test_words_of_losses():
    assert Loss(1.0, 5, 0).description == "everything"
    assert Loss(0.0, 5, 5).description == "next to nothing"
    assert Loss(0.3, 12, 9).description == "9 numbers instead of 12"
    assert (
        Loss(0.3, 11, 12, largest_error=0.5).description
        == "12 numbers instead of 11, coarser ones; a number may be off by up to 50.0% of itself"
    )


def test_sentences():
    assert (
        PLAN.sentence
        == "1 output changed. Checked anew as a whole, by the same rules: rules only. 1 output: 1 pass."
    )
    dropped = MitigationPlan(
        (MitigationStep("t", ("not published",), "fail", None, Loss(1, 4, 0), True),),
        (),
        {},
        "fail",
        None,
        False,
        None,
        3,
        True,
    )
    assert dropped.sentence == "1 output changed, 1 of them dropped: nothing is left to publish."
    short = MitigationPlan(
        (STEP,), (), {}, "fail", "fail", False, "rules only. 1 output: 1 fail.", 600, False
    )
    assert short.sentence == (
        "1 output changed. That is not enough. Checked anew as a whole: rules only. 1 output: 1 fail. Not everything was tried: the limit of work was reached."
    )


def test_plain_data_and_back():
    data = json.loads(json.dumps(PLAN.to_dict(), allow_nan=False))
    again = from_plain(MitigationPlan, data, what="the plan")
    assert again.to_dict() == PLAN.to_dict()
    assert (again.steps, again.options, again.not_mended) == (
        PLAN.steps,
        PLAN.options,
        PLAN.not_mended,
    )

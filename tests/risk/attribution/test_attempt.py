"""One question asked from one source: what attackers share is worked out once."""

import numpy as np
import pyarrow as pa

import chaffinch
from chaffinch.risk import ATTACKERS
from chaffinch.risk.attribution.attack_data import AttackData
from chaffinch.risk.attribution.attacker import Attempt, Question, outcomes


def attempt(attackers=("dcap", "cap")):
    table = chaffinch.read(
        pa.table({"a": ["x", "x", "y", "y"], "s": ["u", "v", "u", "u"]}), rare="keep"
    )
    other = chaffinch.read(pa.table({"a": ["x", "y"], "s": ["u", "v"]}), rare="keep")
    data = AttackData.of(table, [table], other, columns=["a", "s"])
    return Attempt(data, "synthetic", ["original", "holdout"], Question(("a",), "s", attackers))


def test_outcomes_stand_in_the_order_of_registration_and_of_sides():
    answers = outcomes(attempt())
    assert (
        list(answers)
        == ["cap", "dcap"]
        == [one.name for one in ATTACKERS if one.name in ("dcap", "cap")]
    )
    # Original: x is u in half of its rows, y always u. Holdout: x/u is right in half of the rows, y/v never.
    assert [one.value for one in answers["dcap"]] == [0.75, 0.25]


def test_what_is_shared_is_worked_out_once():
    one, calls = attempt(), []
    assert [one.once("it", lambda: calls.append(1) or 7) for _ in range(3)] == [7, 7, 7]
    assert calls == [1]


def test_sides_are_joined_and_end_where_they_end():
    one = attempt()
    keys, values, missing = one.rows(["original", "holdout"])
    assert [len(keys[0]), len(values), missing] == [6, 6, None]
    assert one.ends.tolist() == [4]
    assert [len(part) for part in np.split(values, one.ends)] == [4, 2]

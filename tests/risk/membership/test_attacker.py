"""A way to tell members is one place: a toy one, registered, is learnt from, named in results, on the page and in `--help`."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import chaffinch
from chaffinch.cli.app import app
from chaffinch.errors import InputError
from chaffinch.report.membership import membership_page
from chaffinch.risk.membership import ATTACKERS, MembershipAttacker, MembershipResult
from chaffinch.risk.membership.linear import Linear

TOY = MembershipAttacker(
    name="short", definition="A linear one that takes a single step.", reference="Nobody 2020",
    learner=lambda kind, **options: Linear(kind, steps=1),
)  # fmt: skip


@pytest.fixture
def toy():
    ATTACKERS.register(TOY)
    yield
    ATTACKERS.remove("short")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(7)
    return pd.DataFrame({name: rng.choice(list("abc"), 120) for name in ("one", "two", "three")})


OPTIONS = {"targets": 2, "rows": 20, "shadows": 10, "tests": 10, "tables": 1, "seed": 1, "workers": 1}


def test_a_toy_attacker_is_found_everywhere(toy, frame):
    result = chaffinch.membership(frame, chaffinch.Independent(), learner="short", **OPTIONS)
    plain = json.loads(json.dumps(result.to_dict()))
    assert plain["settings"]["learner"] == "short"
    assert "short" in membership_page(MembershipResult.from_dict(plain))
    said = " ".join(CliRunner().invoke(app, ["attack", "membership", "--help"], terminal_width=200).output.replace("│", " ").split())
    assert ", ".join(ATTACKERS.names) in said


def test_an_unknown_one_is_named(frame):
    with pytest.raises(InputError, match="Unknown learner 'short'"):
        chaffinch.membership(frame, chaffinch.Independent(), learner="short", **OPTIONS)


def test_another_threshold_masks_by_it(frame):
    result = chaffinch.membership(frame, chaffinch.Independent(), threshold=100, **OPTIONS)
    assert result.population == "<100"  # 27 combinations of values at most
    assert '"<10"' not in json.dumps(result.to_dict())
    membership_page(result)
    result.show()

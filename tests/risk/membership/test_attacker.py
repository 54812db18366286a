"""A way to tell members is one place: a toy one, registered, is learnt from, named in results, on the page and in `--help`."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import chaffinch
from chaffinch.cli.app import app
from chaffinch.errors import InputError
from chaffinch.report.attacks import membership_page
from chaffinch.risk.membership import ATTACKERS, MembershipAttacker, MembershipResult
from chaffinch.risk.membership.attacker import folds
from chaffinch.risk.membership.linear import Linear

TOY = MembershipAttacker(
    name="short",
    definition="A linear one that takes a single step.",
    reference="Nobody 2020",
    learner=lambda kind, **options: Linear(kind, steps=1),
)


@pytest.fixture
def toy():
    ATTACKERS.register(TOY)
    yield
    ATTACKERS.remove("short")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(7)
    return pd.DataFrame({name: rng.choice(list("abc"), 120) for name in ("one", "two", "three")})


OPTIONS = {
    "targets": 2,
    "rows": 20,
    "shadows": 10,
    "tests": 10,
    "tables": 1,
    "seed": 1,
    "workers": 1,
}


def test_a_toy_attacker_is_found_everywhere(toy, frame):
    result = chaffinch.membership(frame, chaffinch.Independent(), learner="short", **OPTIONS)
    plain = json.loads(json.dumps(result.to_dict()))
    assert plain["settings"]["learner"] == "short"
    assert "short" in membership_page(MembershipResult.from_dict(plain))
    said = " ".join(
        CliRunner()
        .invoke(app, ["attack", "membership", "--help"], terminal_width=200)
        .output.replace("│", " ")
        .split()
    )
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


@given(st.integers(2, 40), st.integers(0, 2**32 - 1))
def test_pairs_of_shadows_stay_in_one_fold(pairs, seed):
    fold = folds(np.tile([True, False], pairs), np.random.default_rng(seed))
    assert (fold[::2] == fold[1::2]).all()
    sizes = np.bincount(fold)
    assert len(sizes) == min(5, pairs)
    assert sizes.max() - sizes.min() <= 2  # one pair more or less


@given(st.lists(st.booleans(), min_size=6, max_size=60), st.integers(0, 2**32 - 1))
def test_every_fold_has_its_share_of_members_and_others(member, seed):
    member = np.array([True, True, False, False, *member])
    fold = folds(member, np.random.default_rng(seed))
    for side in (True, False):
        sizes = np.bincount(fold[member == side], minlength=int(fold.max()) + 1)
        assert sizes.max() - sizes.min() <= 1


def test_learners_of_pairs_are_not_wrong_out_of_fold():
    # The two shadows of a pair are alike but for a little that tells the member: 0.5 standard deviations of one number, an AUC of 0.64 at best. A learner that has seen the
    # one of a pair takes the other for it: dealt out apart, extra trees had 0.5, since scores that fall with membership are taken to say nothing.
    rng = np.random.default_rng(1)
    pairs = rng.normal(size=(60, 1, 1, 12)).repeat(2, axis=1)
    pairs[:, 0, :, 0] += 0.5
    member = np.tile([True, False], 60)
    learnt = (
        ATTACKERS["extra-trees"].learner(kind="real").fit(pairs.reshape(120, 1, 12), member, seed=1)
    )
    assert learnt.auc > 0.57

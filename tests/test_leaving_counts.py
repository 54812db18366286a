"""No count under the threshold can be computed from what may leave: shares are masked like the counts that they are made of."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.naive_bayes import GaussianNB

import chaffinch
from chaffinch._base.masking import is_small, masked_share
from chaffinch.utility.learning import learning

THRESHOLD = 10


def _table(n, rng, levels):
    """People of three columns; the label is rare."""
    return pa.table(
        {
            "a": rng.integers(0, levels, n).astype(str),
            "b": rng.integers(0, 5, n).astype(str),
            "c": np.where(rng.random(n) < 0.15, "yes", "no"),
        }
    )


def _small_shares(result, n_members, n_others):
    """The figures of a risk result as it leaves that are, times the people they are of, a small number of people."""
    found = []
    for one in result["findings"]:
        name = one["attacker"]
        if one.get("n_matched") is None and is_small((one["value"] or 0) * n_members):
            found.append((name, "value"))
        if one.get("n_matched") is None and is_small((one["holdout"] or 0) * n_others):
            found.append((name, "holdout"))
    return found


@settings(max_examples=6, deadline=None)
@given(
    n=st.integers(60, 220),
    levels=st.integers(4, 30),
    copied=st.integers(0, 25),
    seed=st.integers(0, 10**6),
)
def test_no_share_of_a_risk_study_tells_a_small_number(n, levels, copied, seed):
    rng = np.random.default_rng(seed)
    original, holdout = _table(n, rng, levels), _table(n, rng, levels)
    synthetic = pa.concat_tables([original.slice(0, copied), _table(n - copied, rng, levels)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = chaffinch.risk(
            original,
            synthetic,
            holdout,
            keys=["a", "b"],
            sensitive=["c"],
            attackers=["cap", "dcap", "disco", "tcap", "nb", "memorisation"],
            seed=1,
        ).to_dict()
    shares = [
        one
        for one in result["findings"]
        if one["attacker"] not in ("dcr", "nndr", "rare_combination", "rare_level", "rare_number")
    ]
    assert not _small_shares({"findings": shares}, n, n)
    every = result["findings"]
    hidden = [
        excess
        for one, excess in zip(
            every, result["family"].get("excesses") or [None] * len(every), strict=True
        )
        if one["excess"] is None
    ]
    assert hidden == [None] * len(hidden)  # what a line hides is not beside it


def test_nine_people_are_found_by_no_attack_that_leaves():
    """A holdout of whom few are right: neither their share nor the difference leaves; whether it is more than chance does."""
    from chaffinch.risk.finding import Finding
    from chaffinch.risk.run import Tried

    attack = Finding(
        attacker="disco",
        sensitive="c",
        value=0.05,
        holdout=0.01125,
        excess=0.03875,
        excess_interval=(0.01, 0.07),
        p_value=0.2,
        upper_bound=0.08,
        n_people=800,
    )
    shown = attack.masked(THRESHOLD, *Tried(attack, (), 800).people_behind())
    assert (
        shown.value,
        shown.holdout,
        shown.excess,
        shown.excess_interval,
        shown.upper_bound,
        shown.p_value,
    ) == (0.05, None, None, None, None, 0.2)
    assert "Fewer than 10 people of the holdout" in shown.reason
    assert (
        attack.masked(THRESHOLD, *Tried(attack, (), 8000).people_behind()).excess == attack.excess
    )  # ninety people
    few = replace(attack, attacker="nb", value=0.01125, holdout=0.5, excess=-0.4)
    few = few.masked(THRESHOLD, *Tried(few, (), 800).people_behind())
    assert (few.value, few.excess) == (None, None)


@settings(max_examples=5, deadline=None)
@given(n=st.integers(60, 200), seed=st.integers(0, 10**6))
@example(n=66, seed=11832)  # the rarer class has fewer records than are told of
def test_no_rate_of_a_rare_class_tells_what_the_matrix_hides(n, seed):
    rng = np.random.default_rng(seed)
    original, synthetic = _table(n, rng, 4), _table(n, rng, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = learning(
            chaffinch.read(original),
            synthetic,
            label="c",
            models={"nb": GaussianNB()},
            repeats=1,
            seed=1,
        ).to_dict()
    for row, matrix in zip(result.get("rows", ()), result.get("confusion", ()), strict=True):
        counts = matrix["counts"]
        if len(counts) != 2:
            continue
        masked = [[isinstance(cell, str) for cell in line] for line in counts]
        # One of the two is the rarer class: its rates are there only where what they are made of is.
        assert row["recall"] is None or any(not any(masked[k]) for k in (0, 1))
        assert row["precision"] is None or any(
            not masked[0][k] and not masked[1][k] for k in (0, 1)
        )


def test_rates_of_few_records_by_hand():
    """Of 41 people of the rarer class one is named so: recall is .024. Of 30 wrong ones precision is a share of 31, of whom one is right."""
    from chaffinch.utility.learning import _hidden_rates
    from chaffinch.utility.trials import FitScores

    def hidden(counts, fits=1, rarer=1):
        scores = [FitScores(score=0.9, counts=np.array(counts))] * fits
        return _hidden_rates(scores, rarer, THRESHOLD)

    assert hidden([[900, 30], [40, 1]]) == {"recall", "precision", "f2"}
    assert hidden([[900, 3], [40, 20]]) == {"precision", "f2"}
    assert hidden([[900, 30], [4, 20]]) == {"recall", "f2"}
    assert hidden([[900, 30], [40, 20]]) == set()
    assert hidden([[900, 30], [40, 0]]) == set()
    assert hidden([[900, 30], [40, 9]], fits=3) == {"recall", "precision", "f2"}
    # The mean of two recalls, of 7 in 12 and of none in one, is 7 / 24. A mean over three classes tells no class's number.
    assert hidden([[7, 5], [1, 0]], rarer=None) == {"recall", "precision", "f2"}
    assert hidden([[900, 30], [40, 20]], rarer=None) == set()
    assert hidden([[900, 30, 2], [40, 20, 9], [0, 3, 40]], rarer=None) == set()


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0.0, 0.0), (1 / 800, "<0.0125"), (9 / 800, "<0.0125"), (10 / 800, 10 / 800), (1.0, 1.0)],
)
def test_a_share_is_masked_as_its_count_is(share, shown):
    assert masked_share(share, 800) == shown


def test_rows_equal_to_an_original_are_masked_as_a_count(tmp_path):
    rng = np.random.default_rng(5)
    wide = pa.table({f"q{i}": rng.integers(0, 9, 800).astype(str) for i in range(4)})
    made = chaffinch.release(
        wide,
        method="independent",
        seed=3,
        measures=["tvd"],
        attackers=["cap", "dcap", "disco", "tcap", "memorisation"],
    ).report.synthesis
    share = made.rows_equal_to_an_original
    assert isinstance(share, str) or share * 800 >= THRESHOLD or share == 0.0
    assert type(made).from_dict(made.to_dict()) == made

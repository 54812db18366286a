"""A result of utility: as plain data and back, in a terminal, in a notebook, as a page; and its verdicts in words."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chaffinch
from chaffinch.errors import InputError, UnknownNameError
from chaffinch.stats.intervals import Result
from chaffinch.utility import METRICS, References, UtilityResult
from chaffinch.utility.learning import Learning, LearningRow
from chaffinch.utility.result import VerdictRow, ladder, rules, verdict_row, way_between


@pytest.fixture(scope="module")
def result(data):
    table = chaffinch.read(data / "cmc.csv")
    synthetic = chaffinch.BayesNet(parents=1).fit(table, seed=1).sample(700, seed=2)
    return chaffinch.utility(
        table,
        synthetic,
        label="contraceptive_method",
        formula="num_children ~ wife_age",
        models=["nb"],
        repeats=2,
        svm_rows=150,
        seed=1,
        thorough=True,
    ).named(original="cmc.csv", synthetic="s<b>.csv")


def test_plain_data_come_back_as_the_result_they_were(result):
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    again = UtilityResult.from_dict(plain)
    assert again.to_dict() == plain
    assert list(again.to_dict()) == list(plain)
    assert again.about == result.about
    assert again.references == result.references
    assert again.verdict == result.verdict
    for name, one in result.results.items():
        assert type(again[name]) is type(one)
        assert (again[name].value, again[name].interval, again[name].settings) == (
            one.value,
            one.interval,
            plain_of(one.settings),
        )
    np.testing.assert_allclose(again["phi_k"].synthetic, result["phi_k"].synthetic, atol=1e-6)
    assert again["learning"].rows == result["learning"].rows
    assert again["delta"].tstr.value == result["delta.tstr"].value


def plain_of(settings):
    return json.loads(json.dumps(settings))


def test_what_does_not_apply_comes_back_with_its_reason():
    import pyarrow as pa

    two = pa.table({"a": ["x", "y"], "b": [1, 2], "c": ["u", "u"]})
    outcome = chaffinch.utility(chaffinch.read(two, rare="keep"), two, label="a", repeats=1, seed=1)
    again = UtilityResult.from_dict(json.loads(json.dumps(outcome.to_dict())))
    assert again.to_dict() == json.loads(json.dumps(outcome.to_dict()))
    assert {name: one.reason for name, one in again.results.items()} == {
        n: r.reason for n, r in outcome.results.items()
    }
    assert again["learning"].reason


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "must be of format 'chaffinch-utility'. Got 'list'"),
        ({"format": "chaffinch-risk"}, "Got 'chaffinch-risk'. Give the JSON of chaffinch utility"),
        ({"format": "chaffinch-utility", "version": 2}, "reads version 1"),
        (
            {"format": "chaffinch-utility", "version": 1, "mu": {"value": "much"}},
            "data of 'mu' are not as they should be at 'value'",
        ),
        (
            {"format": "chaffinch-utility", "version": 1, "about": {"columns": 3}},
            "data of 'about' are not",
        ),
    ],
)
def test_something_else_is_refused(data, words):
    with pytest.raises(InputError) as caught:
        UtilityResult.from_dict(data)
    assert words in str(caught.value)


def test_it_shows_itself(result, capsys, tmp_path):
    result.show()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("measure ")
    assert len(lines) == 1 + len(result.verdict)
    assert lines[1].endswith(result.verdict[0].word)
    assert repr(result).startswith("UtilityResult(phi_k 0.")
    html = result._repr_html_()
    assert html.startswith("<table>")
    svg = ET.fromstring(html[html.index("<svg") :])
    assert len([e for e in svg.iter() if e.tag.endswith("circle")]) == sum(
        row.share_kept is not None for row in result.verdict
    )
    page = result.to_html(tmp_path / "u.html")
    assert (tmp_path / "u.html").read_text() == page
    assert "<b>" not in page
    assert "<script" not in page
    assert result.verdict[0].sentence in page
    with pytest.raises(UnknownNameError, match="Unknown measure 'nu'"):
        result["nu"]


def test_names_of_tables(result):
    about = result.to_dict()["about"]
    assert about["original"] == {"rows": 1470, "columns": 10, "name": "cmc.csv"}
    assert about["synthetic"] == {"rows": 700, "name": "s<b>.csv"}
    assert about["holdout"] is None


LOWER, HIGHER = "lower is better", "higher is better"


def result_of(value, *, direction=LOWER, identical=0.0, interval=None, reason=""):
    """Return a number of some direction."""

    @dataclass(frozen=True, kw_only=True, repr=False)
    class Number(Result):
        name: ClassVar[str] = "number"

    Number.direction, Number.identical = direction, identical
    return Number(value=value, interval=interval, reason=reason)


def row_of(name, value, *, marginals=None, resample=None, holdout=None, **more):
    """Return the verdict's row of one metric."""
    metric = next(metric for metric in METRICS if metric.id == name)
    return verdict_row(metric, result_of(value, **more), References(marginals, resample, holdout))


def rows_of(data):
    """Return the verdict on plain data."""
    return UtilityResult.from_dict({"format": "chaffinch-utility", "version": 1, **data}).verdict


# Worked by hand: (marginals - value) / (marginals - best), best being the holdout where there is one.
@pytest.mark.parametrize(
    ("value", "marginals", "holdout", "identical", "direction", "kept", "word"),
    [
        (0.02, 0.20, None, 0.0, LOWER, 0.9, "close"),
        (0.0201, 0.20, None, 0.0, LOWER, 0.8995, "fair"),
        (0.08, 0.20, None, 0.0, LOWER, 0.6, "fair"),
        (0.0802, 0.20, None, 0.0, LOWER, 0.599, "weak"),
        (0.16, 0.20, None, 0.0, LOWER, 0.2, "weak"),
        (0.1602, 0.20, None, 0.0, LOWER, 0.199, "lost"),
        (0.08, 0.20, 0.05, 0.0, LOWER, 0.8, "fair"),
        (0.04, 0.20, 0.05, 0.0, LOWER, 1.0, "close"),
        (0.30, 0.20, 0.05, 0.0, LOWER, 0.0, "lost"),
        (0.84, 0.20, None, 1.0, HIGHER, 0.8, "fair"),
        (0.10, 0.20, None, 1.0, HIGHER, 0.0, "lost"),
        (0.84, 0.20, 0.84, 1.0, HIGHER, 1.0, "close"),
    ],
)
def test_what_is_kept_and_its_word(value, marginals, holdout, identical, direction, kept, word):
    row = row_of(
        "phi_k",
        value,
        marginals=marginals,
        holdout=holdout,
        identical=identical,
        direction=direction,
    )
    assert row.share_kept == pytest.approx(kept)
    assert row.word == word


numbers = st.floats(-5, 5, allow_nan=False)


@given(value=numbers, other=numbers, marginals=numbers, best=numbers)
def test_kept_is_a_share_and_nearer_is_never_worse(value, other, marginals, best):
    words = ["lost", "weak", "fair", "close"]
    rows = [row_of("phi_k", v, marginals=marginals, holdout=best) for v in (value, other)]
    assert all(row.share_kept is None or 0.0 <= row.share_kept <= 1.0 for row in rows)
    if value <= other:
        assert words.index(rows[0].word) >= words.index(rows[1].word)


@given(value=numbers, marginals=numbers, best=numbers)
def test_a_measure_turned_upside_down_gets_the_same_word(value, marginals, best):
    row = row_of("phi_k", value, marginals=marginals, holdout=best)
    turned = row_of("phi_k", -value, marginals=-marginals, holdout=-best, direction=HIGHER)
    assert (row.word, row.share_kept) == (turned.word, turned.share_kept)


@pytest.mark.parametrize(("value", "direction"), [(0.2, LOWER), (0.25, LOWER)])
def test_no_better_than_independent_columns_is_said(value, direction):
    row = row_of("mu", value, marginals=0.2, direction=direction)
    assert row.word == "lost"
    assert "no better than independent columns" in row.sentence
    assert "no better" not in row_of("mu", 0.19, marginals=0.2).sentence


def test_single_columns_are_not_judged_by_independent_columns():
    for name, edge in (("jensen_shannon", 0.05), ("tvd_1", 0.03)):
        assert row_of(name, edge, marginals=0.001).word == "close"
        assert row_of(name, edge * 1.01, marginals=0.001).word == "fair"
        assert row_of(name, 0.9, marginals=0.9).word == "lost"
        assert row_of(name, 0.06, marginals=0.001, holdout=0.07).word == "close"
        assert row_of(name, 0.06, marginals=0.9).share_kept is None


@pytest.mark.parametrize(
    ("value", "word"),
    [(0.5, "close"), (3.0, "close"), (3.1, "fair"), (10.0, "fair"), (11.0, "weak"), (31.0, "lost")],
)
def test_the_pmse_ratio_has_a_scale_of_its_own(value, word):
    row = row_of("pmse_ratio", value, marginals=50.0)
    assert (row.word, row.share_kept) == (word, None)
    beaten = row_of("pmse_ratio", 2.0, marginals=1.9)
    assert beaten.word == "lost"
    assert "no better than independent columns" in beaten.sentence


@pytest.mark.parametrize(
    ("value", "holdout", "word"),
    [
        (0.9, None, "close"),
        (0.85, None, "fair"),
        (0.85, 0.84, "close"),
        (0.3, None, "weak"),
        (-0.35, 0.8, "lost"),
    ],
)
def test_a_regression_far_off_is_not_close_for_lack_of_a_lower_end(value, holdout, word):
    row = row_of(
        "regression", value, marginals=-12.0, holdout=holdout, identical=1.0, direction=HIGHER
    )
    assert (row.word, row.share_kept) == (word, None)
    assert (
        "no better than"
        in row_of("regression", -13.0, marginals=-12.0, identical=1.0, direction=HIGHER).sentence
    )


def test_a_measure_without_a_value_shows_its_reason():
    row = row_of("learning", None, reason="the label has one class.")
    assert (row.word, row.value, row.share_kept) == ("not applicable", None, None)
    assert row.sentence == "Not applicable: the label has one class."


def test_without_independent_columns_limits_decide_or_no_word_is_given():
    assert row_of("phi_k", 0.02).word == "close"
    assert row_of("phi_k", 0.021).word == "fair"
    assert row_of("regression", 0.55, identical=1.0, direction=HIGHER).word == "weak"
    assert row_of("learning", -0.2).word == "close"
    for name in ("mu", "G"):
        row = row_of(name, 0.02)
        assert (row.word, row.value) == ("not applicable", 0.02)
        assert "no scale" in row.sentence


def test_where_there_is_nothing_to_keep():
    near = {"marginals": 0.003, "holdout": 0.004}
    assert row_of("phi_k", 0.0035, **near).word == "close"
    assert row_of("phi_k", 0.006, interval=(0.003, 0.009), **near).word == "close"
    far = row_of("phi_k", 0.05, interval=(0.04, 0.06), **near)
    assert (far.word, far.share_kept) == ("lost", None)
    assert "little here to keep" in far.sentence


def test_learning_finds_its_reference_in_its_own_rows():
    rows = [
        LearningRow(model, side, score)
        for model, scores in (("nb", (0.8, 0.79, 0.7)), ("rf", (0.9, 0.88, 0.6)))
        for side, score in zip(("original", "synthetic", "marginals"), scores, strict=True)
    ]
    result = Learning.from_dict(Learning(value=0.015, rows=tuple(rows)).to_dict())
    row = verdict_row(METRICS["learning"], result, result.references)
    assert row.marginals == pytest.approx((0.1 + 0.3) / 2)
    assert row.share_kept == pytest.approx((0.2 - 0.015) / 0.2)


def test_gaps_are_told_with_their_side():
    assert "score 0.015 lower than" in row_of("learning", 0.015).sentence
    assert "score 0.015 higher than" in row_of("learning", -0.015).sentence
    assert "score no lower than" in row_of("learning", 0.0).sentence


def test_one_row_for_each_measure_that_a_study_has(study_of):
    study = study_of(15)
    assert {row.id for row in rows_of(study)} == {metric.id for metric in METRICS} - {
        "rules"
    }  # its schema has none
    del study["mu"], study["tvd"]["3"], study["delta"]["tstr"]
    assert {m.id for m in METRICS} - {row.id for row in rows_of(study)} == {
        "mu",
        "tvd_3",
        "tstr",
        "rules",
    }
    keys = [
        "section",
        "id",
        "measure",
        "question",
        "value",
        "interval",
        "direction",
        "identical",
        "marginals",
        "resample",
        "holdout",
        "best",
        "kept",
        "word",
        "sentence",
    ]
    for row in rows_of(study):
        assert (
            list(row.to_dict())
            == keys
            == [field.metadata.get("key") or field.name for field in fields(row)]
        )
        assert VerdictRow.from_dict(row.to_dict()) == row


def test_rows_stand_in_the_order_of_a_page(study_of):
    order = [
        "jensen_shannon",
        "tvd_1",
        "phi_k",
        "mu",
        "pearson",
        "tvd_2",
        "tvd_3",
        "impossible",
        "pmse_ratio",
        "learning",
        "tstr",
        "delta",
        "G",
        "regression",
    ]
    rows = rows_of(study_of(15))
    assert [row.id for row in rows] == order
    assert len({row.group for row in rows}) == 4


def test_a_distance_that_does_not_apply_at_all_is_not_lost_from_sight():
    rows = rows_of({"tvd": {"value": None, "not_applicable": "there are no rows", "settings": {}}})
    assert [row.word for row in rows] == ["not applicable"]


@pytest.mark.parametrize("noise", [0.1, 1.0, 5.0, 40.0])
def test_no_word_of_release(study_of, noise):
    said = " ".join(
        [*rules(), *(row.sentence for row in rows_of(study_of(15, noise=noise)))]
    ).lower()
    assert not re.search(r"\b(safe|release|private|anonym\w*|harmless|approved)\b", said)
    assert all(metric.sentence(place, 0.5) for metric in METRICS for place in range(4))


def test_an_empty_study_has_no_rows():
    assert rows_of({}) == ()


def test_the_best_is_the_holdout_then_the_original_drawn_again_then_identical_tables():
    sides = {"marginals": 0.9, "resample": 0.4, "holdout": 0.1}
    for known, kept, best in (
        (sides, 0.5, 0.1),
        ({**sides, "holdout": None}, 0.8, 0.4),
        ({"marginals": 0.9}, 0.444444444444, 0.0),
    ):
        row = row_of("mu", 0.5, **known)
        assert row.share_kept == pytest.approx(kept)
        assert row.best == best


def test_an_interval_beyond_the_end_of_the_scale_is_no_point():
    """Both ends nearer to the original than a fresh sample is: the share is held to 1, and its interval says that it lies beyond."""
    row = VerdictRow(
        id="tvd_2",
        measure="TVD",
        value=0.01,
        interval=(0.005, 0.015),
        marginals=0.5,
        best=0.02,
        share_kept=1.0,
        word="close",
    )
    ((_, dot),) = ladder([row])
    assert (dot.value, dot.low) == (1.0, 1.0)
    assert dot.high == pytest.approx((0.5 - 0.005) / 0.48)
    assert way_between(dot.low, dot.high).replace("\xa0", " ") == "100 % or more"
    ((_, bare),) = ladder([replace(row, interval=None)])
    assert (bare.low, bare.high) == (None, None)
    assert way_between(bare.low, bare.high) == "–"


def test_the_table_of_a_result_has_a_row_for_each_metric(result):
    frame = result.to_pandas()
    assert list(frame["id"]) == [row.id for row in result.verdict]
    assert frame.to_dict("records")[0].keys() == result.rows()[0].keys()
    assert {"value", "low", "high", "word"} <= set(frame.columns)
    assert "interval" not in frame.columns

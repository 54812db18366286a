"""A result of utility: as plain data and back, in a terminal, in a notebook, as a page."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import chaffinch
from chaffinch.errors import InputError, UnknownNameError
from chaffinch.utility import UtilityResult


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
        row.kept is not None for row in result.verdict
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

"""One rule about leaving: the first line says it, and a public page holds nothing else."""

from __future__ import annotations

import re
from dataclasses import replace

import pyarrow as pa
import pytest

import chaffinch
from chaffinch.report.release import (
    closing_sections,
    header,
    promises,
    render,
    words_section,
)
from chaffinch.report.result import report_of
from chaffinch.report.sections import Cell, PageTable
from chaffinch.report.synthesis import synthesis_section
from chaffinch.report.text import UTILITY_ALONE, UTILITY_BESIDE
from chaffinch.risk.finding import FOUND, NO_VALUE, NONE_FOUND, UNKNOWN
from chaffinch.risk.verdict import LimitVerdict
from chaffinch.utility.result import GRADE_LABELS, NOT_APPLICABLE

from .test_promise import account, synthesis


def promised(*, test_only: bool = False) -> dict:
    made = account(delta=None, test_only=test_only)
    return synthesis(made, nodes=["town", "ill"], edges=[["town", "ill"]])


@pytest.fixture(scope="module")
def report():
    table = pa.table({"town": ["Leeds"] * 70 + ["York"] * 50, "ill": ["no", "no", "yes"] * 40})
    worth = chaffinch.utility(
        table,
        table.take(list(range(119, -1, -1))),
        measures=["jensen_shannon", "tvd", "phi_k"],
        seed=1,
    )
    others = pa.table({"town": ["York"] * 55 + ["Leeds"] * 65, "ill": ["no", "yes", "no"] * 40})
    risk = chaffinch.risk(table, table, others, keys=["town"], sensitive=["ill"], seed=1)
    return lambda **more: report_of(worth, title="t", risk=risk, **more)


def first_line(page: str) -> str:
    return re.sub(r"<[^>]+>", "", re.search(r"<header>(.*?)</p>", page, flags=re.DOTALL)[1]).strip()


def test_the_first_line_says_whether_and_why(report):
    assert first_line(render(report())).startswith(
        "Keep inside. It draws how values of the original are distributed"
    )
    assert first_line(render(report(), public=True)).startswith(
        "May leave. It holds measures over many people"
    )
    assert first_line(render(report(synthesis=promised()))).startswith(
        "Keep inside. Its figures are taken from the original without noise"
    )
    assert first_line(render(report(synthesis=promised()), public=True)).startswith(
        "May leave. It holds settings"
    )


def test_a_public_page_names_no_value(report):
    inside, outside = render(report()), render(report(), public=True)
    assert "Leeds" in inside
    assert "Leeds" not in outside
    assert "York" not in outside
    assert 'id="verdict"' in outside
    assert "look-columns" not in outside


@pytest.mark.parametrize("test_only", [False, True])
def test_a_promise_covers_no_figure_so_none_leaves(report, test_only):
    made = report(synthesis=promised(test_only=test_only))
    assert promises(made)
    page = render(made, public=True)
    assert {"verdict", "risk-findings", "tradeoff", "look-columns", "why"}.isdisjoint(
        re.findall(r' id="([^"]+)"', page)
    )
    assert 'id="promise"' in page
    assert "Measured inside." in page
    assert "Keep this report inside" not in page
    assert "not covered" not in page
    assert " made</text>" not in page  # how many attacks could be made depends on the data
    assert "figures that were measured on the real data" in page
    assert "box-1" not in page
    assert "about 120 rows" not in page
    assert ("TEST ONLY" in page) is test_only


def test_what_is_known_of_a_limit_opens_the_page_unless_a_promise_keeps_it_inside(report):
    def with_limit(**more):
        made = report(**more)
        verdict = LimitVerdict(max_excess=0.01, lower_bound=-0.02, upper_bound=0.3, attacks=3)
        return replace(made, risk=replace(made.risk, policy=verdict.to_dict()))

    for page in (
        render(with_limit()),
        render(with_limit(), public=True),
        render(with_limit(synthesis=promised())),
    ):
        assert re.search(
            r'role="alert">[^<]*UNDECIDED: an excess of at most 0.01 is neither shown to hold', page
        )
    assert "UNDECIDED" not in render(with_limit(synthesis=promised()), public=True)


@pytest.mark.parametrize("private", [False, True])
def test_a_given_seed_stays_inside(private):
    """Whoever knows it makes the table again from a guess at the data; so it is in no public page, and nor are rows that equal an original one beside a promise."""
    table = pa.table({"town": ["Leeds"] * 70 + ["York"] * 50, "ill": ["no", "no", "yes"] * 40})
    worth = chaffinch.utility(table, table, measures=["tvd"], seed=4711047)
    made = {
        "network": promised()["network"]
        if private
        else {"method": "bayesnet", "nodes": ["town", "ill"], "edges": []}
    }
    risk = chaffinch.risk(table, table, keys=["town"], sensitive=["ill"], seed=4711047)
    made = report_of(
        worth,
        title="t",
        risk=risk,
        synthesis={**made, "seed": 4711047, "rows_equal_to_an_original": 0.77},
    )
    inside, outside = render(made), render(made, public=True)
    assert inside.count("4711047") >= 2
    assert "77" in inside
    assert "4711047" not in outside
    assert ("Rows equal to an original one" in outside) != private


def test_no_holdout_no_label_no_seed(study_of):
    facts = dict(header(report_of(study_of(15, holdout=False, label=False), title="t")))
    assert facts["Holdout"].startswith("none given")
    assert facts["Label"].startswith("none given")
    assert facts["Seed"].startswith("none given")
    assert "Not applicable: no label was named." in render(
        report_of(study_of(15, label=False), title="t")
    )


def test_the_first_limit_says_whether_the_table_was_attacked(study_of, risk_of):
    for risk, sentence in ((None, UTILITY_ALONE), (risk_of(), UTILITY_BESIDE)):
        limits = next(closing_sections(report_of(study_of(3), title="t", risk=risk)))
        assert limits.blocks[0].items[0] == sentence


def test_how_a_table_was_made_is_told_where_it_is_known(study_of):
    assert synthesis_section(None, None) is None
    made = {
        "seed": 3,
        "network": {"method": "bayesnet", "parents": 2, "nodes": ["a", "b"], "edges": [["a", "b"]]},
    }
    section = synthesis_section(report_of(study_of(3), title="t", synthesis=made).synthesis, None)
    assert section.blocks[0].rows == (
        ("Method", "bayesnet"),
        ("Most parents of a column", "2"),
        ("Columns, edges", "2, 1"),
        ("Seed", "3"),
    )


@pytest.mark.parametrize(
    ("share", "words"),
    [
        ("<0.0125", "fewer than 1.25\xa0%, codes compared"),
        (0.25, "25\xa0%, codes compared"),
        (0.0, "0\xa0%, codes compared"),
        ("<<script>", ""),
    ],
)
def test_few_rows_that_equal_an_original_are_a_bound(study_of, share, words):
    """A bound that is none, as from a stranger's file, is not told."""
    made = {"network": {"method": "bayesnet"}, "rows_equal_to_an_original": share}
    section = synthesis_section(report_of(study_of(3), title="t", synthesis=made).synthesis, None)
    told = dict(section.blocks[0].rows).get("Rows equal to an original one", "")
    assert told.startswith(words)
    assert bool(told) == bool(words)


def words_of(**sides: bool) -> list[str]:
    table = words_section(**sides).blocks[0]
    assert isinstance(table, PageTable)
    return [
        row[0].word for row in table.rows if isinstance(row, tuple) and isinstance(row[0], Cell)
    ]


def test_every_word_has_its_rule_beside_it():
    assert words_of(utility=True, risk=False) == [*GRADE_LABELS, NOT_APPLICABLE]
    assert {FOUND, NONE_FOUND, UNKNOWN, NO_VALUE} <= set(words_of(utility=False, risk=True))


def test_rules_stand_once_on_a_page(study_of, risk_of):
    page = render(report_of(study_of(4), title="t", risk=risk_of()))
    assert page.count("in full</summary>") == 2
    assert page.count('id="words"') == 1

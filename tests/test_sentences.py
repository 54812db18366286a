"""Every sentence with a figure is on the list, and says something true in the ugly case: nothing there, one of it, everything, few people, no number.

Results of every kind are bent: all counts that may be are 0, or 1, or masked, all shares 0, 1 or just below it, and what may be missing is. Their pages and texts are
then read as a person reads them. `tests/sentences.csv` says which sentences that reaches; others name the test that feeds them.
"""

from __future__ import annotations

import asyncio
import copy
import io
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields, replace
from html import escape, unescape
from math import nan
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from markupsafe import Markup
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

from chaffinch import trees
from chaffinch._base.errors import ChaffinchError
from chaffinch.cli.app import app
from chaffinch.cli.attack import AucLimit, print_result
from chaffinch.cli.check import _show as check_lines
from chaffinch.cli.check import mitigation_lines
from chaffinch.cli.evolve import _show as evolve_lines
from chaffinch.cli.frontier import _show as frontier_lines
from chaffinch.cli.ledger import _show_project, show_account
from chaffinch.cli.options import console
from chaffinch.cli.risk import family_line, show_findings
from chaffinch.cli.synth import say_synthesis
from chaffinch.outputs.check import CheckResult
from chaffinch.outputs.check.assessment import CumulativeStage
from chaffinch.outputs.check.attribution import RiskMeasure
from chaffinch.outputs.check.mitigation import (
    AssessedPlan,
    Loss,
    MitigationOption,
    MitigationPlan,
    MitigationStep,
)
from chaffinch.outputs.evolve import EvolveResult
from chaffinch.outputs.rules import RuleReport
from chaffinch.outputs.rules.findings import finding
from chaffinch.privacy.ledger import Budget
from chaffinch.privacy.project import Project, Release, create_project, open_project
from chaffinch.privacy.relation import PrivacyUnit
from chaffinch.report.attacks import audit_answers, audit_page, membership_page, singling_out_page
from chaffinch.report.charts import _map_words as heatmap_words
from chaffinch.report.check import check_page, hold_back_sentence
from chaffinch.report.check_figures import cumulative
from chaffinch.report.compare import Comparison, FindingRow, compare
from chaffinch.report.compare import _table_words as summary_words
from chaffinch.report.compare import _utility_answer as several_good
from chaffinch.report.decision import _tally as verdict_tally
from chaffinch.report.evolve import _difference as evolve_difference
from chaffinch.report.evolve import evolve_page
from chaffinch.report.frontier import front_picture, frontier_page
from chaffinch.report.frontier_result import CandidateSettings, FrontierResult, Limits, no_candidate
from chaffinch.report.page import PageContent
from chaffinch.report.promise import _whose as promise_whose
from chaffinch.report.release import FOUND, UTILITY, render
from chaffinch.report.result import ReportResult, report_of
from chaffinch.report.risk import _joint_words as together_words
from chaffinch.report.risk import _left_out, findings_section
from chaffinch.report.risk_figures import ladder
from chaffinch.report.sections import Cell, Col, Figure, Heading, Section, page_table
from chaffinch.report.synthesis import EQUAL_ROWS, Choices, _pairs_mended, why_section
from chaffinch.report.synthesis import _facts as synthesis_facts
from chaffinch.report.trees import tree_page
from chaffinch.report.utility import column_picture, columns_figure, pairs_figure
from chaffinch.risk import RiskResult
from chaffinch.risk.auditing.result import AuditResult
from chaffinch.risk.finding import ALPHA, column_findings, record_findings
from chaffinch.risk.membership.result import MembershipResult
from chaffinch.risk.singling_out import SinglingOutResult
from chaffinch.risk.together import MultiReleaseResult
from chaffinch.risk.verdict import LimitVerdict
from chaffinch.stats.familywise import FamilywiseTest
from chaffinch.stats.intervals import Estimate, LimitState
from chaffinch.synth.account import SynthesisAccount
from chaffinch.utility.result import SHARES, TableSummary, VerdictRow
from chaffinch.utility.shapes import ColumnShape, PairShape, TableShapes
from chaffinch.web import guard
from chaffinch.web.decisions import Checker, _check_reason, put_down, read_records
from chaffinch.web.guard import Keys
from chaffinch.web.guard import _form as read_form
from chaffinch.web.jobs import Job, JobState, Queue
from chaffinch.web.page import Page, Profile, ProfileState, SentForm
from chaffinch.web.project import Places, ProjectFolder
from chaffinch.web.screens.columns import _bars as column_bars
from chaffinch.web.screens.outputs import _write_back
from chaffinch.web.screens.promise import _check_nothing, balance
from chaffinch.web.screens.running import RunRow
from chaffinch.web.screens.running import _row as run_row
from chaffinch.workflows.settings import SynthesisSettings

from .conftest import make_risk
from .report.conftest import make_study
from .report.test_attacks import audit, membership, singling_out
from .report.test_check import CASES as CHECKS
from .report.test_evolve import CASES as EVOLVED
from .report.test_evolve import copy_of as evolved_copy
from .report.test_evolve import home_by_sex as evolved_table
from .report.test_evolve import told as evolved
from .report.test_frontier import evaluation, frontier_result
from .report.test_frontier import one as candidate_risk
from .report.test_promise import account, synthesis
from .sentences import HERE, NOT_FED, ROOT, SOURCE, listed, sentences

Plain = dict[str, Any]
Told = Callable[[Plain], list[str]]


def _reported(plain: Plain) -> list[str]:
    report = ReportResult.from_dict(plain)
    again = report_of(report.utility, title="other", risk=report.risk)
    texts = [
        render(report),
        compare(report, again).to_text(),
        compare(report, again).to_html(),
        compare(report, again, report).to_html(),
    ]
    return [*texts, *([] if report.risk is None else [report.risk.to_html()])]


def _rendered(plain: Plain) -> list[str]:
    return [render(ReportResult.from_dict(plain))]


def _synthesis() -> Plain:
    network = {
        "method": "bayesnet",
        "parents": 2,
        "nodes": ["age", "sex"],
        "edges": [["age", "sex"]],
        "strengths": [0.1],
        "sensitive": ["age"],
    }
    notes = [{"column": "age", "what": "pooled", "why": "3 levels."}]
    return {
        "rows": 1629,
        "columns": ["age", "sex"],
        "seed": 1,
        "network": network,
        "copies": 1,
        "rows_equal_to_an_original": 0.03,
        "notes": notes,
    }


FEW = (("age", "sex"), ("relationship",))


def _tested() -> Plain:
    risk = make_risk(*FEW)
    finding = {
        "attacker": "rare_combination",
        "value": 0.7,
        "holdout": 0.6,
        "excess": 0.1,
        "excess_interval": [0.05, 0.15],
        "p_value": 0.01,
        "p_family": 0.02,
    }
    risk["findings"].append({**finding, "lower_bound": 0.01, "detectable": 0.05, "n_people": 300})
    return risk


def _released() -> Plain:
    """A study of two releases and their model, attacked together."""
    risk = _tested()
    gain = {
        "alone": [0.02, 0.03, None],
        "added": 0.06,
        "interval": [0.04, 0.08],
        "p_value": 0.001,
        "p_family": 0.002,
    }
    joint = [{**finding, "releases": gain} for finding in risk["findings"][-2:]]
    risk["together"] = {
        "tables": 2,
        "names": ["a.csv", "b.csv"],
        "model_rows": 5000,
        "findings": joint,
    }
    return risk


KINDS: dict[str, tuple[Callable[[], Plain], Told]] = {
    "report": (
        lambda: report_of(
            make_study(3), title="t", risk=_tested(), synthesis=_synthesis()
        ).to_dict(),
        _reported,
    ),
    "report without a holdout": (
        lambda: report_of(
            make_study(3, holdout=False), title="t", risk=make_risk(*FEW, holdout=False)
        ).to_dict(),
        _rendered,
    ),
    "report on several releases": (
        lambda: report_of(title="t", risk=_released()).to_dict(),
        _reported,
    ),
    "report on several key sets": (
        lambda: report_of(
            title="t",
            risk=make_risk(
                ("a", "b"),
                ("s",),
                sizes=(1, 2),
                measures=("cap", "tcap", "nb"),
            ),
        ).to_dict(),
        _rendered,
    ),
    "audit": (lambda: audit().to_dict(), lambda plain: [audit_page(AuditResult.from_dict(plain))]),
    "membership": (
        lambda: membership().to_dict(),
        lambda plain: [membership_page(MembershipResult.from_dict(plain))],
    ),
    "singling out": (
        lambda: singling_out().to_dict(),
        lambda plain: [singling_out_page(SinglingOutResult.from_dict(plain))],
    ),
    "frontier": (
        lambda: frontier_result().to_dict(),
        lambda plain: [frontier_page(FrontierResult.from_dict(plain))],
    ),
    **{
        f"check, {name}": (
            lambda told=told: told,
            lambda plain: [check_page(CheckResult.from_dict(plain)).html],
        )
        for name, told in CHECKS.items()
    },
    **{
        f"evolve, {name}": (
            lambda told=told: told,
            lambda plain: [evolve_page(EvolveResult.from_dict(plain))],
        )
        for name, told in EVOLVED.items()
    },
}


def _printed(show: Callable[..., Any], *given: Any, **named: Any) -> str:
    """Return what a command prints of a result, on both streams, each line a paragraph: on a screen so wide that only tables have several."""
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(io.StringIO()) as out,
        redirect_stderr(out),
    ):
        patch.setenv("COLUMNS", "2000")
        show(*given, **named)
    return "".join(f"<p>{escape(line)}</p>" for line in out.getvalue().splitlines())


def _promised() -> list[str]:
    """Pages of tables with promises, from one that promises all but everything to none at all, and two of them compared."""
    made = [
        report_of(
            make_study(3),
            title="t",
            risk=make_risk(*FEW),
            synthesis=synthesis(account(epsilon=epsilon, delta=delta, part=part, unit=unit)),
        )
        for epsilon, delta, part, unit in (
            (1e-6, None, 1.0, None),
            (1.0, 1e-12, 0.5, PrivacyUnit("replace-one", 1)),
            (80.0, 0.5, 1.0, PrivacyUnit("add-remove", 3)),
            (1.0, None, 1e-9, None),
        )
    ]
    return [
        *map(render, made),
        *(compare(made[0], one).to_html() for one in made),
        compare(*made).to_html(),
        compare(*made).to_text(),
    ]


def _treed() -> list[str]:
    """Pages of a tree of one node, of one of two leaves, and of one that isolates, before and after pruning."""
    x = np.arange(12.0).reshape(-1, 1)
    texts = []
    for depth, y in (
        (1, np.zeros(12)),
        (1, np.arange(12) // 6),
        (None, np.arange(12) % 3),
        (None, np.array([0] * 11 + [1])),
    ):
        model = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(x, y)
        data = pa.table({"x0": x[:, 0], "y": y})
        for given in (
            {},
            {"data": data, "label": "y"},
            {"holdout": data.slice(0, 1), "label": "y"},
        ):
            result = trees.prune(model, **given)
            texts += [
                tree_page(result.audit, result, "t"),
                tree_page(result.audit, None, "t"),
                escape(result.audit.verdict),
            ]
    return texts


def _on_a_terminal() -> list[str]:
    """What commands print of results that are there whole, at one and at nothing."""
    texts = []
    for case in ("nothing", "one of each", "missing", "masked"):
        report = ReportResult.from_dict(ugly("report", case))
        assert report.risk is not None
        texts += [_printed(show_findings, report.risk), report.risk.sentence]
        texts += [
            _printed(check_lines, CheckResult.from_dict(ugly(f"check, {name}", case)))
            for name in CHECKS
        ]
        for name in EVOLVED:
            evolved = EvolveResult.from_dict(ugly(f"evolve, {name}", case))
            texts.append(_printed(evolve_lines, evolved, [Path("made.csv")] * len(evolved.copies)))
        texts.append(_printed(print_result, AuditResult.from_dict(ugly("audit", case))))
        texts.append(_printed(FrontierResult.from_dict(ugly("frontier", case)).show))
    verdicts = [
        LimitVerdict(
            max_excess=0.01,
            state=state,
            lower_bound=low,
            upper_bound=high,
            detectable=size,
            attacks=n,
            tests=1 - n,
        )
        for state in LimitState
        for low, high, size, n in (
            (0.0, 1.0, (1.5, 2.0), 1),
            (-1.0, 0.0, (0.2, 1.5), 0),
            (0.5, 0.6, None, 1),
        )
    ]
    return [*texts, *(escape(verdict.sentence) for verdict in verdicts)]


OTHERS: dict[str, Callable[[], list[str]]] = {
    "promises": _promised,
    "trees": _treed,
    "terminal": _on_a_terminal,
}
"""Texts that are made otherwise than from plain data that are bent."""
READERS: dict[str, Callable[[Plain], Any]] = {
    "report": ReportResult.from_dict,
    "audit": AuditResult.from_dict,
    "membership": MembershipResult.from_dict,
    "singling out": SinglingOutResult.from_dict,
    "frontier": FrontierResult.from_dict,
    "check": CheckResult.from_dict,
    "evolve": EvolveResult.from_dict,
}
BENT: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda v: 0 if isinstance(v, int) else 0.0 if isinstance(v, float) else v,
    "one of each": lambda v: 1 if isinstance(v, int) else 1.0 if isinstance(v, float) else v,
    "just below one": lambda v: 0.99999 if isinstance(v, float) else v,
    "tiny": lambda v: 1e-9 if isinstance(v, float) else v,
    "missing": lambda v: None if isinstance(v, int | float) else v,
    "masked": lambda v: "<10" if isinstance(v, int) else v,
    "empty lists": lambda v: [] if isinstance(v, list) else v,
}
"""What becomes of numbers, by the name of the ugly case; truth values stay."""


SPARED = {"audit": ("claim",)}
"""What no result of a kind is without: an audit has a claim above 0."""


def keys_of(plain: Any) -> Iterator[str]:
    """Yield the names under which numbers or lists stand."""
    for key, value in plain.items() if isinstance(plain, dict) else ():
        if isinstance(value, int | float | list) and not isinstance(value, bool):
            yield key
        yield from keys_of(value)
    for part in plain if isinstance(plain, list) else ():
        yield from keys_of(part)


def bent(plain: Any, keys: frozenset[str], bend: Callable[[Any], Any]) -> Any:
    """Return plain data in which numbers under some names are bent, in lists too."""

    def inside(value: Any) -> Any:
        if isinstance(value, list) and bend(value) == []:
            return []
        if (
            isinstance(value, list)
            and value
            and all(isinstance(one, int | float) and not isinstance(one, bool) for one in value)
        ):
            return [bend(one) for one in value]
        return value if isinstance(value, bool | dict | list) else bend(value)

    if isinstance(plain, dict):
        return {
            name: bent(inside(value) if name in keys else value, keys, bend)
            for name, value in plain.items()
        }
    return [bent(part, keys, bend) for part in plain] if isinstance(plain, list) else plain


def ugly(name: str, case: str) -> Plain:
    """Return a result in which all is bent that its reader lets be bent: names together, halved where they are refused together."""
    plain = copy.deepcopy(KINDS[name][0]())
    kind = re.split(r",| w| on", name)[0]
    read = READERS[kind]
    # A point for an interval is what came in then, not what a sentence made of it.
    waiting = [
        [
            key
            for key in dict.fromkeys(keys_of(plain))
            if key not in SPARED.get(kind, ()) and "interval" not in key
        ]
    ]
    while waiting:
        keys = waiting.pop()
        other = bent(plain, frozenset(keys), BENT[case])
        try:
            read(other)
            plain = other
        except (ChaffinchError, ValueError, TypeError, KeyError, IndexError):
            half = len(keys) // 2
            waiting += [keys[half:], keys[:half]] if half else []
    return plain


WRONG = {
    "a number that is none": re.compile(r"\b(nan|inf|None|NaN)\b"),
    "one of many": re.compile(
        r"(?<![\d.,/−-])\b1 (attacks|tests|rows|records|people|columns|outputs|settings|targets|measures|releases|leaves|trees|nodes|syntheses|pairs|numbers|levels|datasets|"
        r"splits|models|queries|runs|cells|edges|links|sets|guesses|shadows|findings|rules|persons|attributes|points|seconds|others)\b"
    ),
    "a mark after nothing": re.compile(r"[(] ?[),;]|[,;:] ?[.;,](?!\d)|\bof \.|\bby \."),
    "a value left open": re.compile(r"\{\}|\{[a-z_]+\}"),
    "more than all": re.compile(r"(?<![\d.])(?!100\b)\d{3,}(\.\d+)? %"),
    "an interval that is a point": re.compile(r"(?:interval|CI) (\S+(?: %)?) to \1(?![\d.])"),
}


def read_aloud(html: str) -> list[str]:
    """Return the sentences and cells of a page as a person reads them."""
    plain = re.sub(
        r"<style>.*?</style>|<script.*?</script>|<path[^>]*>|<!--.*?-->", " ", html, flags=re.DOTALL
    )
    return [
        " ".join(unescape(part).replace("\xa0", " ").split())
        for part in re.split(r"<[^>]+>", plain)
        if part.strip()
    ]


def faults(texts: list[str]) -> list[str]:
    """Return what is wrong in texts, each with the words around it."""
    found = {}
    for text in texts:
        for part in read_aloud(text):
            part = re.sub(r"\w+=None", "x", part)  # settings as Python writes them
            for what, pattern in WRONG.items():
                for hit in pattern.finditer(part):
                    found.setdefault((what, part[max(hit.start() - 60, 0) : hit.end() + 40]), None)
    return [f"{what}: {words}" for what, words in found]


def _figure_words(figure: Any) -> str:
    """Return all that a figure says: caption, pictures and note."""
    return f"{figure.caption} {' '.join(map(str, figure.pictures))} {figure.note}"


def _error_of(call: Callable[[], Any]) -> str:
    """Return the message of the error that a call ends with."""
    with pytest.raises((ChaffinchError, ValueError)) as caught:
        call()
    return str(caught.value)


def _stages(n: int) -> Any:
    measured = RiskMeasure(
        "job", "all_rows", *[Estimate(0.1, low=0.0, high=0.2)] * 5, detectable=0.1
    )
    return [CumulativeStage(f"o{i}", (f"o{i}",), 1.0, (), (measured,)) for i in range(n)]


def _evolved_page(outputs: int, copies: int) -> str:
    made = []
    for _ in range(copies):
        trace = [
            {
                "proposals": p,
                "objective": e,
                "outside": int(e),
                "mean_error": {f"o{i}": e for i in range(outputs)},
            }
            for p, e in ((0, 2.0), (90, 1.0))
        ]
        made.append(
            {
                **evolved_copy(*({**evolved_table(), "name": f"o{i}"} for i in range(outputs))),
                "trace": trace,
            }
        )
    return evolve_page(EvolveResult.from_dict(evolved(*made)))


def _failing(*names: str) -> str:
    rules = RuleReport(
        tuple(finding(name, "table", "threshold", ["x"], total=1, sentence="") for name in names),
        "default",
        "0" * 64,
    )
    return hold_back_sentence(
        replace(CheckResult.from_dict(copy.deepcopy(CHECKS["rules alone"])), rules=rules)
    )


def _shape(kind: Any, first: float | None, second: float | None) -> ColumnShape:
    return ColumnShape("sex", kind, ("f",), (first,), (second,))


def _column(
    kind: Any, first: float | None, second: float | None, distance: float | None = None
) -> str:
    return str(column_picture("k", _shape(kind, first, second), 10, distance))


def _pairs(n: int, value: float | None = 0.5) -> str:
    pair = PairShape(("a", "b"), (("x",), ("y",)), (1.0,), (None,), value)
    figure = pairs_figure(TableShapes((), (pair,) * n, 2), lambda names: "")
    assert figure is not None
    return _figure_words(figure)


def _front(excess: float, n: int) -> str:
    some = tuple(evaluation(10 + i, excess, 0.5 + i / 100) for i in range(n))
    return str(
        front_picture(
            frontier_result(evaluations=some, choice=None, references=()), "accuracy", key="k"
        )
    )


def _attacked_columns(n: int) -> RiskResult:
    """A study of one attack on each of n columns."""
    whole = RiskResult.from_dict(make_risk(*FEW, extras=False))
    attack = whole.findings[0]
    return replace(whole, findings=tuple(replace(attack, sensitive=f"c{i}") for i in range(n)))


def _compared(risk: RiskResult) -> str:
    """Three reports of a study side by side."""
    return compare(*[report_of(title="t", risk=risk)] * 3).to_html()


def _why_cuts(n: int, value: Any = 0.1) -> str:
    cuts = [
        {"sensitive": "age", "other": f"o{i}", "information": value, "through_label": None}
        for i in range(n)
    ]
    given = {
        "network": {
            "method": "bayesnet",
            "nodes": ["age"],
            "edges": [],
            "sensitive": ["age"],
            "protection": {"protect": "separate", "cuts": cuts},
        }
    }
    return str(why_section(report_of(title="t", risk=make_risk(*FEW), synthesis=given)))


def _remedy(nodes: int) -> str:
    network = {"method": "independent", "nodes": [f"c{i}" for i in range(nodes)], "edges": []}
    return _pairs_mended([], Choices(SynthesisAccount.from_dict({"network": network})))


def _page_with(rows: int) -> str:
    lines = [row for i in range(rows) for row in (Heading(f"h{i}"), ("x", "1"))]
    table = page_table("c", lines, Col("a"), Col("b"))
    return PageContent(
        "t", [Section("s", "S", (Figure("f", "c", (Markup("<svg></svg>"),), table),))]
    ).html


def _plan_lines(share: float, *, options: int = 0, low: float = 0.0) -> str:
    loss = Loss(share, 1, 1, withheld=1)
    plan = MitigationPlan(
        steps=(MitigationStep("t", ("suppress",), "fail", "pass", loss),),
        options=tuple(MitigationOption("t", "m", "round", "pass", loss) for _ in range(options)),
        not_mended={},
        rules_before="fail",
        rules_after="pass",
        passed=True,
        after=None,
        asked=1,
        complete=True,
        assessed=(AssessedPlan("as they came", "pass", -0.0001, low, 0.2),),
    )
    return "\n".join(mitigation_lines(plan))


def _account(*, part: float = 1.0, delta: float | None = None) -> str:
    return _printed(lambda: show_account(console(), account(delta=delta, part=part)))


def _ledger(epsilon: float | None, spent: float = 0.0) -> Project:
    releases = (
        (
            Release(
                label="a", when="2026-01-01", budget=Budget(spent), unit=PrivacyUnit("add-remove")
            ),
        )
        if spent
        else ()
    )
    return Project(
        Path("ledger.json"),
        "people",
        epsilon,
        None,
        releases=releases,
        rule="basic" if epsilon is not None else "smaller",
    )


def _family(lower: float, attacks: int, tests: int, upper: float | None = None) -> str:
    whole = RiskResult.from_dict(_tested())
    family = FamilywiseTest(p_value=0.03, lower=(lower,), upper=() if upper is None else (upper,))
    return family_line(
        replace(
            whole,
            findings=(
                *column_findings(whole.findings)[:attacks],
                *(record_findings(whole.findings)[:1] * tests),
            ),
            family=family,
        )
    )


def _many_attacks(n: int) -> str:
    whole = RiskResult.from_dict(make_risk(*FEW))
    return _printed(show_findings, replace(whole, findings=(whole.findings * n)[:n]))


def _limit(low: float, high: float, limit: float) -> str:
    asked = AucLimit(max_auc=limit)
    return _printed(asked.check, asked.policy((low, high)), quiet=False)


def _ladder_of(n: int, *, several: bool) -> str:
    attack = RiskResult.from_dict(make_risk(*FEW)).findings[0]
    figure = ladder(
        "k",
        "s",
        [replace(attack, value=0.1 + i / 100, excess=i / 1000) for i in range(n)],
        several=several,
    )
    assert figure is not None
    assert (
        max(
            cell.text
            for row in figure.table.rows
            if not isinstance(row, Heading)
            for cell in row[1:3]
            if isinstance(cell, Cell) and cell.text[:2] == "0."
        )
        == f"{0.1 + (n - 1) / 100:.3f}"
    )  # the worst is there
    return _figure_words(figure)


def _delivered(resumed: int, **more: Any) -> str:
    return _printed(
        frontier_lines,
        SimpleNamespace(result=frontier_result(**more), names=(), release=None),
        Path("out"),
        resumed,
    )


def _nearest(*kept: float) -> str:
    """Return which of some reports the box of a comparison calls nearest, by the share of the way that each goes."""
    rows = [
        VerdictRow(id="tvd_2", measure="m", value=1 - way, marginals=1.0, best=0.0, share_kept=way)
        for way in kept
    ]
    return several_good(
        cast(Any, [SimpleNamespace(rows=[row]) for row in rows]), ["A", "B", "C"][: len(rows)]
    ).sentence


def _equal_rows(share: Any) -> str:
    model = SimpleNamespace(
        method="m",
        search="",
        score="",
        parents=None,
        nodes=(),
        edges=(),
        sensitive=(),
        kept_columns=(),
    )
    return dict(
        synthesis_facts(
            cast(Any, SimpleNamespace(model=model, seed=None, rows_equal_to_an_original=share))
        )
    )[EQUAL_ROWS].replace("\xa0", " ")


def _compared_attacks(rows: int) -> str:
    nothing: dict[str, Any] = dict.fromkeys((f.name for f in fields(FindingRow)), None)
    words = {"name": "n", "keys": (), "sensitive": "", "target": "whole records", "why": "w"}
    sides = dict.fromkeys(("values", "intervals", "excesses"), (None, None)) | {
        "verdict_words": ("", "")
    }
    empty: dict[str, Any] = dict.fromkeys((f.name for f in fields(Comparison)), ())
    row = FindingRow(**nothing | words | sides)
    found = Comparison(**empty | {"names": ("a", "b"), "findings": (row,) * rows, "picture": None})
    return " ".join(
        getattr(block, "caption", "") for section in found.sections() for block in section.blocks
    )


SAID: tuple[tuple[str, str, Callable[[], str]], ...] = (
    (
        ", {} of {}: all with an excess found, then those that differ most",
        ", 40 of 41: all with an excess found, then those that differ most",
        lambda: _compared_attacks(41),
    ),
    ("{} {} nearest", "A comes nearest", lambda: _nearest(1.0, 0.0)),
    ("{} {} nearest", "A and B come nearest", lambda: _nearest(1.0, 1.0, 0.0)),
    ("fewer than {} %", "fewer than 100 %", lambda: _equal_rows("<1")),
    ("fewer than {} %", "fewer than 1e-07 %", lambda: _equal_rows("<1e-9")),
    ("By {} measure{}: {}", "By 0 measures: no scale for a word", lambda: verdict_tally([])),
    (
        "By {} measure{}: {}",
        "By 1 measure: 1 close",
        lambda: verdict_tally([VerdictRow(word="close")]),
    ),
    ("under {}", "under 0.1", lambda: evolve_difference(1e-300, 0)),
    (
        "a membership AUC of at most {}",
        "a membership AUC of at most 0.5",
        lambda: Limits(max_auc=0.5).description,
    ),
    (
        "smoothing {}",
        "trees, at most 0 parents, smoothing 0",
        lambda: CandidateSettings(parents=0, smoothing=0.0).description,
    ),
    ("at most {}", "trees, at most 0 parents", lambda: CandidateSettings(parents=0).description),
    (
        "smoothing {}",
        "at most 1 parent, smoothing 1e-09",
        lambda: CandidateSettings(parents=1, smoothing=1e-9).description,
    ),
    ("{} {} by {}", "'a' fails by itself.", lambda: _failing("a")),
    ("{} {} by {}", "'a', 'b' fail by themselves.", lambda: _failing("a", "b")),
    (
        "The JSON has {}.",
        "The JSON has 1 more step.",
        lambda: _figure_words(cumulative(_stages(41), 0.95)),
    ),
    (
        "The JSON has {}.",
        "The JSON has 2 more steps.",
        lambda: _figure_words(cumulative(_stages(42), 0.95)),
    ),
    (
        ", the first {} of {} columns",
        ", the first 1 of 2 columns",
        lambda: _figure_words(columns_figure(TableShapes((_shape("bars", 1.0, 0.0),), (), 2), {})),
    ),
    ("JS {}", "JS –", lambda: _column("bars", 0.5, 0.5, nan)),
    ("JS {}", "JS 0.000", lambda: _column("bars", 0.5, 0.5, 0.0)),
    (
        "{}: original {}, synthetic {}",
        "f: original fewer than 10 people, synthetic 0 %",
        lambda: _column("bars", None, 0.0),
    ),
    (
        "{}: original {}, synthetic {}",
        "f: original more than 99.9 %, synthetic less than 0.1 %",
        lambda: _column("histogram", 0.99999, 1e-9),
    ),
    (
        "A comparison needs two reports or more. Got {}.",
        "A comparison needs two reports or more. Got 0.",
        lambda: _error_of(lambda: compare()),
    ),
    (
        "A comparison needs two reports or more. Got {}.",
        "A comparison needs two reports or more. Got 1.",
        lambda: _error_of(lambda: compare(report_of(make_study(3), title="t"))),
    ),
    ("about {}", "a with about 1 row", lambda: summary_words(TableSummary(rows=1, name="a"))),
    ("{} with {}", "unnamed with <10 rows", lambda: summary_words(TableSummary(rows="<10"))),
    (
        "{} with {}",
        "a with rows that were not counted",
        lambda: summary_words(TableSummary(name="a")),
    ),
    ("Not drawn: {}.", "Not drawn: 1 more output.", lambda: _evolved_page(7, 1)),
    ("Not drawn: {}.", "Not drawn: 2 more copies.", lambda: _evolved_page(1, 8)),
    ("Not drawn: {}.", "Not drawn: 1 more copy.", lambda: _evolved_page(1, 7)),
    ("{}, from {} down to {}.", "1 line, from 2 down to 1.", lambda: _evolved_page(1, 1)),
    ("{} of {}: above this scale", "1 of 1 setting: above this scale", lambda: _front(0.9, 1)),
    ("{} of {}: above this scale", "2 of 2 settings: above this scale", lambda: _front(0.9, 2)),
    (
        "{} tried",
        "1 setting tried",
        lambda: frontier_page(
            frontier_result(evaluations=(evaluation(10, 0.0, 0.5),), choice=None)
        ),
    ),
    (
        "{}. {}",
        "1 setting. 4 settings were asked for.",
        lambda: frontier_page(
            frontier_result(evaluations=(evaluation(10, 0.0, 0.5),), choice=None)
        ),
    ),
    (
        "{}, with all numbers",
        "1 attack, with all numbers",
        lambda: str(findings_section(_attacked_columns(1))),
    ),
    (
        ", {} of {}",
        "Each attack and test of every table, 40 of 41: all with an excess found, then those that differ most",
        lambda: _compared(_attacked_columns(41)),
    ),
    (
        "FrontierResult({}, {} on the front)",
        "FrontierResult(1 setting, 0 on the front)",
        lambda: repr(
            frontier_result(
                evaluations=(candidate_risk(None, None),),
                worths=("w",),
                choice=None,
                references=(),
                limits=Limits(),
            )
        ),
    ),
    (
        "None of {} could be attacked, so none is known to keep to {}. Name other keys, or more people.",
        "None of 1 setting could be attacked, so none is known to keep to an excess of at most 0. Name other keys, or more people.",
        lambda: str(no_candidate([candidate_risk(None, 0.5)], Limits(max_excess=0.0))),
    ),
    (
        "and a membership AUC of {}",
        "with an excess of −0.1, −0.1 with room for doubt and a membership AUC of 1. Allow more",
        lambda: str(no_candidate([candidate_risk(-0.1, 0.5, auc=1.0)], Limits(max_auc=0.6))),
    ),
    (
        "None of {} is within {}, with room for doubt. Nearest: {}, with an excess of {}, {} with room for doubt{}. Allow more, search longer (--budget, --evaluations), or give more people: an excess is known more closely then.",
        "None of 1 setting is within an excess of at most 0.1, with room for doubt. Nearest: trees, with an excess of 1, 1 with room for doubt. Allow more, search longer (--budget, --evaluations), or give more people: an excess is known more closely then.",
        lambda: str(no_candidate([candidate_risk(1.0, 0.5)], Limits(max_excess=0.1))),
    ),
    (
        "{}; no value is defined.",
        "1 column; no value is defined.",
        lambda: heatmap_words(["a"], np.zeros((1, 1))),
    ),
    (
        "{}; no value is defined.",
        "2 columns; no value is defined.",
        lambda: heatmap_words(["a", "b"], np.full((2, 2), nan)),
    ),
    (
        "All bounds together hold with a confidence of {}: that is no accident.",
        "All bounds together hold with a confidence of 0.99: that is no accident.",
        lambda: str(audit_answers(audit(2.0), ".")),
    ),
    (
        "The {} pairs of columns furthest from the original",
        "The 2 pairs of columns furthest from the original",
        lambda: _pairs(2),
    ),
    (", off by {}", "a × b, off by 0.000", lambda: _pairs(1, 0.0)),
    (
        "{} by {}; the shares are in the table below{}. {}",
        "1 by 1 value; the shares are in the table below, off by 0.500.",
        lambda: _pairs(1),
    ),
    (
        "{} by {}; the shares are in the table below{}. {}",
        "1 by 1 value; the shares are in the table below.",
        lambda: _pairs(1, None),
    ),
    (
        "at most {} rows of each person were used",
        "at most 2 rows of each person were used",
        lambda: promise_whose(account(unit=PrivacyUnit("add-remove", 2, by_person=True))),
    ),
    (
        "The first {} of {} sensitive columns; all are in the JSON.",
        "The first 8 of 9 sensitive columns; all are in the JSON.",
        lambda: str(list(_left_out(dict.fromkeys("abcdefghi")))),
    ),
    (
        "The table has the {} worst, the JSON all.",
        "The table has the 21 worst, the JSON all.",
        lambda: _ladder_of(21, several=False),
    ),
    (
        "The table has the {} worst, the JSON all.",
        "The table has the 40 worst, the JSON all.",
        lambda: _ladder_of(41, several=True),
    ),
    (
        "The first {} of {} rows; all are in the JSON.",
        "The first 60 of 61 rows; all are in the JSON.",
        lambda: str(findings_section(_attacked_columns(61))),
    ),
    (
        "Table '{}' has {}. Got a row of {}.",
        "Table 'c' has 1 column. Got a row of 0.",
        lambda: _error_of(lambda: page_table("c", [()], Col("a"))),
    ),
    (
        "Releases, in this order: {}{}.",
        "Releases, in this order: a, b, c, d, e, f and others.",
        lambda: together_words(MultiReleaseResult(names=tuple("abcdefg"))),
    ),
    (
        "Releases, in this order: {}{}.",
        "Releases, in this order: a.",
        lambda: together_words(MultiReleaseResult(names=("a",))),
    ),
    (
        "The last of those alone is the model, as {} drawn from it.",
        "The last of those alone is the model, as 1 row drawn from it.",
        lambda: together_words(MultiReleaseResult(model_rows=1)),
    ),
    (
        "The last of those alone is the model, as {} drawn from it.",
        "The last of those alone is the model, as <10 rows drawn from it.",
        lambda: together_words(MultiReleaseResult(model_rows="<10")),
    ),
    (
        "the p-value of “people in the data and others are alike”, adjusted for all attacks together, is at most {}, or the lower bound of the excess, which holds for all attacks at once, is above 0",
        f"the p-value of “people in the data and others are alike”, adjusted for all attacks together, is at most {100 * ALPHA:g} %, or the lower bound of the excess, which holds for all attacks at once, is above 0",
        lambda: FOUND,
    ),
    (
        "goes {} or more of the way from independent columns to the best that can be had",
        f"goes {100 * SHARES[0]:g} % or more of the way from independent columns to the best that can be had",
        lambda: UTILITY["close"],
    ),
    ("goes {} or more of it", f"goes {100 * SHARES[1]:g} % or more of it", lambda: UTILITY["fair"]),
    ("goes {} or more of it", f"goes {100 * SHARES[2]:g} % or more of it", lambda: UTILITY["weak"]),
    (
        ", the {} largest of {}",
        "Relations that protection cut, the 8 largest of 9",
        lambda: _why_cuts(9),
    ),
    (
        "Another method, or fewer columns. The model has {}.",
        "Another method, or fewer columns. The model has 1 column.",
        lambda: _remedy(1),
    ),
    (
        "Another method, or fewer columns. The model has {}.",
        "Another method, or fewer columns. The model has 0 columns.",
        lambda: _remedy(0),
    ),
    ("Data of this figure ({} row{})", "Data of this figure (1 row)", lambda: _page_with(1)),
    ("Data of this figure ({} row{})", "Data of this figure (2 rows)", lambda: _page_with(2)),
    (
        "{} must lie between 0 and 1. Got {}.",
        "max_auc must lie between 0 and 1. Got nan.",
        lambda: _error_of(lambda: AucLimit(max_auc=nan)),
    ),
    (
        "{} must lie between 0 and 1. Got {}.",
        "max_auc must lie between 0 and 1. Got 1.00000001.",
        lambda: _error_of(lambda: AucLimit(max_auc=1.00000001)),
    ),
    (
        "EXCEEDS THE LIMIT: the {} may be {} at most, and the 95 % interval is",
        "EXCEEDS THE LIMIT: the AUC may be 0.5 at most, and the 95 % interval is 0.5004 to 1.",
        lambda: _limit(0.5004, 1.0, 0.5),
    ),
    (
        "SHOWN TO KEEP THE LIMIT: the {} may be {} at most, and the 95 % interval is",
        "SHOWN TO KEEP THE LIMIT: the AUC may be 0.1234 at most, and the 95 % interval is 0 to 0.1234.",
        lambda: _limit(0.0, 0.1234, 0.1234),
    ),
    (
        "UNDECIDED: that the {} is {} at most is neither shown to hold nor shown to be exceeded. The 95 % interval is",
        "UNDECIDED: that the AUC is 0.6 at most is neither shown to hold nor shown to be exceeded. The 95 % interval is 0.5 to 0.60001.",
        lambda: _limit(0.5, 0.60001, 0.6),
    ),
    ("{} {} to {}.", "interval is 0 to 1.", lambda: _limit(0.0, 1.0, 0.6)),
    (
        "- '{}': {} ({}; lost: {}, {})",
        "- 't': suppress (rules fail, then pass; lost: less than 0.1 %, 1 of 1 number withheld)",
        lambda: _plan_lines(1e-9),
    ),
    (
        "- '{}': {} ({}; lost: {}, {})",
        "- 't': suppress (rules fail, then pass; lost: more than 99.9 %, 1 of 1 number withheld)",
        lambda: _plan_lines(0.99999),
    ),
    (
        "{} to {}",
        "- Marginal risk 0.000 (0.000 to 0.200), pass: as they came.",
        lambda: _plan_lines(0.5),
    ),
    (
        "{} ({})",
        "- Marginal risk 0.000 (no interval), pass: as they came.",
        lambda: _plan_lines(0.5, low=nan),
    ),
    (
        "- '{}': {} (rules {}; lost: {}, {})",
        "- 't': round (rules pass; lost: 0 %, 1 of 1 number withheld)",
        lambda: _plan_lines(0.0, options=1),
    ),
    (
        "- '{}': {} more, on the page (--html) and in the JSON.",
        "- 't': 1 more, on the page (--html) and in the JSON.",
        lambda: _plan_lines(0.0, options=5),
    ),
    (
        "Went on from {} that '{}' held.",
        "Went on from 1 setting that 'out' held.",
        lambda: _delivered(1),
    ),
    (
        "{} tried, {} on the front. {}",
        "4 settings tried, 3 on the front. 4 settings were asked for.",
        lambda: _delivered(0),
    ),
    (
        "{} tried, {} on the front. {}",
        "1 setting tried, 1 on the front.",
        lambda: _delivered(0, evaluations=(evaluation(10, 0.0, 0.5),), choice=None),
    ),
    (
        "Spent {} {} of {}, which is epsilon {}{}; unspent {} {}.",
        "Spent epsilon 1 of 1, which is epsilon 1; unspent epsilon 0.",
        lambda: _account(),
    ),
    (
        "Spent {} {} of {}, which is epsilon {}{}; unspent {} {}.",
        "Spent epsilon 1e-09 of 1, which is epsilon 1e-09; unspent epsilon 1.",
        lambda: _account(part=1e-9),
    ),
    (
        "limit epsilon {}, delta {}",
        "limit epsilon 1, delta 0; releases: 0.",
        lambda: _printed(_show_project, console(), _ledger(1.0)),
    ),
    (
        "Project ledger of '{}': {}; releases: {}.",
        "Project ledger of 'people': no limit; releases: 1.",
        lambda: _printed(_show_project, console(), _ledger(None, 0.5)),
    ),
    (
        "Left of the limit: epsilon {}.",
        "Left of the limit: epsilon 0.",
        lambda: _printed(_show_project, console(), _ledger(1.0, 1.0)),
    ),
    (
        "and an upper bound of {}",
        "lower bound of −0.1 and an upper bound of 1.".replace("−", "-"),
        lambda: _family(-0.1, 1, 0, 1.0),
    ),
    (
        "{} together: p = {} for the hypothesis that members and others are alike; the largest excess has a simultaneous 95 % lower bound of {}{}.",
        "1 attack together: p = 0.03 for the hypothesis that members and others are alike; the largest excess has a simultaneous 95 % lower bound of 0.",
        lambda: _family(0.0, 1, 0),
    ),
    (
        "{} together: p = {} for the hypothesis that members and others are alike; the largest excess has a simultaneous 95 % lower bound of {}{}.",
        "2 attacks together: p = 0.03 for the hypothesis that members and others are alike; the largest excess has a simultaneous 95 % lower bound of 0.",
        lambda: _family(0.0, 0, 2),
    ),
    (
        "The {} worst of {} attacks; the others are in the JSON.",
        "The 30 worst of 31 attacks; the others are in the JSON.",
        lambda: _many_attacks(31),
    ),
    (
        "rows must be a whole number of at least 0. Got {}.",
        "rows must be a whole number of at least 0. Got -1.",
        lambda: _error_of(lambda: SynthesisSettings.from_options(rows=-1)),
    ),
    (
        "Wrote {}: {}.",
        "Wrote a.csv: 1 row.",
        lambda: _printed(say_synthesis, [Path("a.csv")], None, rows=1, private=False),
    ),
    (
        "Wrote {}: {}.",
        "Wrote a.csv: 0 rows.",
        lambda: _printed(say_synthesis, [Path("a.csv")], None, rows=0, private=False),
    ),
)
"""A sentence of the list, what it says in an ugly case, and what makes it say so."""


def words_of(text: str) -> str:
    """Return a text without tags, on one line."""
    return " ".join(
        unescape(re.sub(r"</?(?!\d)[a-z][^<>]*>", " ", text)).replace("\xa0", " ").split()
    )


def fits(sentence: str, text: str) -> bool:
    """Return whether words of the list, with `{}` for each value, are in a text."""
    return (
        re.search(
            ".*?".join(
                map(re.escape, sentence.replace("\xa0", " ").removesuffix(" {}").split("{}"))
            ),
            text,
        )
        is not None
    )


@pytest.mark.parametrize(
    ("sentence", "expected", "make"),
    SAID,
    ids=[f"{place}: {expected[:50]}" for place, (_, expected, _) in enumerate(SAID)],
)
def test_a_sentence_is_true_in_its_ugly_case(
    sentence: str, expected: str, make: Callable[[], str]
) -> None:
    assert fits(sentence, expected), "the case is not of this sentence"
    assert expected in words_of(make())


def test_no_note_says_that_rows_are_left_out_where_none_is() -> None:
    assert "all are in the JSON" not in str(findings_section(_attacked_columns(60)))
    assert " of 40, those with" not in _compared(_attacked_columns(40))
    assert "largest of" not in _why_cuts(8)
    assert "Relations that protection cut" not in _why_cuts(1, nan)
    assert "worst of" not in _many_attacks(30)
    assert "not drawn" not in _evolved_page(6, 6).lower()


DECLARED = 'format = "chaffinch-schema"\nversion = 1\npublic = true\nrows = 1\n\n[columns.a]\nkind = "categorical"\nlevels = ["x", "y"]\n'


def _commanded(folder: Path, *words: str) -> str:
    """What a command says that runs in a folder with a header of one column, its declared schema, and a table of two columns: fewer are refused."""
    (folder / "one.csv").write_text("a\n" + "x\ny\n" * 20)
    (folder / "one.toml").write_text(DECLARED)
    pq.write_table(pa.table({"a": ["x", "y"] * 20, "b": ["z"] * 40}), folder / "two.parquet")
    done = CliRunner().invoke(
        app,
        [str(folder / word) if "." in word and not word[0].isdigit() else word for word in words],
    )
    assert done.exit_code == 0, done.output
    return escape(done.output)


def _web(folder: Path) -> Page:
    project = ProjectFolder.open(folder / "project")
    return Page(project, Places((folder,)), Queue(project.path("runs")), Keys("k"))


def _screen(where: Path, template: str, /, **context: Any) -> str:
    return bytes(_web(where).show(template, step="runs", context=context).body).decode()


def _refused(body: bytes, wait: float = 0.0) -> str:
    """What the guard says to a form."""

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(wait)
        return {"type": "http.request", "body": body}

    answer = asyncio.run(
        read_form(
            {
                b"content-type": ["application/x-www-form-urlencoded"],
                b"content-length": [str(len(body))],
            },
            receive,
        )
    )
    return "" if isinstance(answer, list) else answer.why


def _slow() -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guard, "PATIENCE", 0.001)
        return _refused(b"a=1", 0.1)


def _filled(folder: Path, **fields: str) -> str:
    return _error_of(lambda: _check_nothing(_web(folder), SentForm(tuple(fields.items()))))


def _run_rows(folder: Path, **progress: Any) -> str:
    """How far a run is by its file of progress, whoever wrote that."""
    page_here = _web(folder)
    place = page_here.project.next_folder("runs")
    (place / "job.json").write_text('{"words": ["release"]}')
    (place / "progress.json").write_text(json.dumps({"doing": "learning", **progress}))
    return run_row(page_here, Job(place)).remaining


def _looking(folder: Path, **progress: Any) -> str:
    page_here = _web(folder)
    (folder / "progress.json").write_text(json.dumps({"doing": "reading", **progress}))
    return page_here.environment.get_template("looking.html.j2").render(
        profile=Profile(None, Job(folder), ProfileState.READING), part=False
    )


def _columns_screen(
    folder: Path, rows: int, *, part: bool = False, personal: tuple[str, ...] = ()
) -> str:
    found = {"rows": rows, "personal": dict.fromkeys(personal, "a name"), "part": part, "notes": ()}
    return _screen(
        folder,
        "columns.html.j2",
        columns=found,
        part=part,
        profile=Profile(
            found, Job(folder), ProfileState.READING_REST if part else ProfileState.COMPLETE
        ),
        rows=[],
        kinds=(),
        roles=(),
        decisions=(),
        text="",
        promised=False,
    )


def _confirmed(folder: Path, epsilon: float) -> str:
    choices = _web(folder).choices.model_copy(update={"source": "a.csv", "epsilon": epsilon})
    return _screen(
        folder,
        "runs.html.j2",
        choices=choices,
        confirm=True,
        undecided=[],
        balance=(),
        rows=[],
        busy=False,
    )


def _row_of(folder: Path, state: str, *, asked: bool, kind: str = "release") -> str:
    row = RunRow(1, JobState(state), state, "", -1, "0 s so far", "", asked, kind)
    return (
        _web(folder)
        .environment.get_template("runs_list.html.j2")
        .render(rows=[row], busy=False, form_key="k", choices_stamp="", decisions_stamp="")
    )


def _balance(folder: Path, epsilon: float | None, *spent: float) -> str:
    (folder / "ledger.json").unlink(missing_ok=True)
    create_project(folder / "ledger.json", data="people", epsilon=epsilon)
    ledger = replace(
        open_project(folder / "ledger.json"),
        releases=tuple(
            Release(f"r{i}", "2026", Budget(one), PrivacyUnit("add-remove"))
            for i, one in enumerate(spent)
        ),
    )
    here = SimpleNamespace(choices=SimpleNamespace(ledger="ledger.json"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("chaffinch.privacy.project.open_project", lambda path: ledger)
        return " ".join(balance(cast("Page", here)))


def _summary_of(folder: Path, *words: str) -> str:
    """The summary that goes into a copy of an ACRO folder, after outputs were decided on."""
    kept: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "chaffinch.outputs.readers.acro.read.read_acro",
            lambda source: SimpleNamespace(results=()),
        )
        patch.setattr(
            "chaffinch.outputs.readers.acro.write.write_back",
            lambda *given, **named: kept.update(named),
        )
        _write_back(
            folder,
            folder,
            [{"output": f"o{i}", "decision": word, "reason": ""} for i, word in enumerate(words)],
            Checker(name="Ann", time="now"),
        )
    return str(kept["summary"])


def _decided(folder: Path, run: int) -> str:
    """The screen with a decision, whoever wrote its record."""
    page_here = _web(folder)
    put_down(
        page_here.project.next_folder("decisions"),
        "approved",
        run=1,
        reason="fine",
        checkers=[Checker(name="Ann", time="now")],
        waiting=False,
        about={},
    )
    record = page_here.project.path("decisions", "0001", "decision.json")
    record.write_text(json.dumps({**json.loads(record.read_text()), "run": run}))
    return _screen(
        folder,
        "decide.html.j2",
        job=None,
        records=read_records(record.parents[1]),
        done=[],
        checks=[],
        check_settings=[],
        check_texts={},
        folder=folder,
    )


def _sampled(folder: Path, rows: int) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "chaffinch.workflows.synthesise.draw_sample",
            lambda *given, **named: SimpleNamespace(rows=rows),
        )
        return _commanded(folder, "sample", "one.csv", "-o", "new.csv")


SAID_IN: tuple[tuple[str, str, Callable[[Path], str]], ...] = (
    (
        "Wrote {}: {}. It lists levels of the data: confidential.",
        ": 2 columns. It lists levels of the data: confidential.",
        lambda at: _commanded(at, "schema", "two.parquet", "-o", "out.toml"),
    ),
    (
        "Wrote {}: {} to fill in. No row was read.",
        ": 1 column to fill in. No row was read.",
        lambda at: _commanded(at, "schema", "one.csv", "--blank", "-o", "out.toml"),
    ),
    (
        "{}, {}, {} of columns. The data were not opened; nothing has been spent.",
        "1 row, 1 column, 0 pairs of columns. The data were not opened; nothing has been spent.",
        lambda at: _commanded(at, "plan", "--schema", "one.toml", "--epsilon", "1"),
    ),
    (
        "How {} would split epsilon {}{}; {}:",
        "would split epsilon 1e-06; add or remove",
        lambda at: _commanded(at, "plan", "--schema", "one.toml", "--epsilon", "0.000001"),
    ),
    (
        "Budget: epsilon {}",
        "Budget: epsilon 1e-06",
        lambda at: _commanded(
            at,
            "synth",
            "one.csv",
            "-o",
            "out.csv",
            "--schema",
            "one.toml",
            "--epsilon",
            "0.000001",
            "--dry-run",
        ),
    ),
    ("Wrote {}: {}.", "new.csv: 1 row.", lambda at: _sampled(at, 1)),
    ("Wrote {}: {}.", "new.csv: 0 rows.", lambda at: _sampled(at, 0)),
    (
        "A decision has a reason: write one, in at most {} characters.",
        "A decision has a reason: write one, in at most 8,000 characters.",
        lambda at: _error_of(lambda: _check_reason("x" * 8001)),
    ),
    (
        "A decision has a reason: write one, in at most {} characters.",
        "A decision has a reason: write one, in at most 8,000 characters.",
        lambda at: _error_of(lambda: _check_reason(" ")),
    ),
    (
        "The form is not UTF-8, or has more than {} fields.",
        "The form is not UTF-8, or has more than 20,000 fields.",
        lambda at: _refused(b"a=1&" * 20_000 + b"a=1"),
    ),
    (
        "The form is not UTF-8, or has more than {} fields.",
        "The form is not UTF-8, or has more than 20,000 fields.",
        lambda at: _refused(b"a=\xff"),
    ),
    (
        "The form took longer than {} seconds to arrive.",
        "The form took longer than 0 seconds to arrive.",
        lambda at: _slow(),
    ),
    (
        "Nothing is promised, and {} {} filled in. Tick Differential privacy, or empty the fields. Nothing was saved.",
        "Nothing is promised, and epsilon was filled in. Tick Differential privacy, or empty the fields. Nothing was saved.",
        lambda at: _filled(at, epsilon="0"),
    ),
    (
        "Nothing is promised, and {} {} filled in. Tick Differential privacy, or empty the fields. Nothing was saved.",
        "Nothing is promised, and epsilon, delta were filled in. Tick Differential privacy, or empty the fields. Nothing was saved.",
        lambda at: _filled(at, epsilon="1", delta="nan"),
    ),
    (
        "{}. Counts are rounded, and small ones hidden.",
        "1 bar. Counts are rounded, and small ones hidden.",
        lambda at: str(column_bars("k", "a", ["<10"])),
    ),
    (
        "{}. Counts are rounded, and small ones hidden.",
        "0 bars. Counts are rounded, and small ones hidden.",
        lambda at: str(column_bars("k", "a", [])),
    ),
    ("Approved: {} of {}.", "Approved: 0 of 1 output.", lambda at: _summary_of(at, "rejected")),
    (
        "Approved: {} of {}.",
        "Approved: 1 of 2 outputs.",
        lambda at: _summary_of(at, "rejected", "approved"),
    ),
    (
        "Its limit is epsilon {}.",
        "has 0 releases, which add up to epsilon 0. Its limit is epsilon 1e-06.",
        lambda at: _balance(at, 1e-6),
    ),
    (
        "The ledger of '{}' has {} to epsilon {}.",
        "The ledger of 'people' has 1 release, which adds up to epsilon 1.00004. It has no limit.",
        lambda at: _balance(at, None, 1.00004),
    ),
    (
        "about {} s left of this",
        "about 0 s left of this",
        lambda at: _run_rows(at, left=0, seconds=3),
    ),
    ("{} s so far", "3 s so far", lambda at: _run_rows(at, left=nan, seconds=3)),
    ("{} s so far", "0 s so far", lambda at: _run_rows(at, left=-1, seconds="soon")),
    ("{} s so far", "0 s so far", lambda at: _run_rows(at, left=True, seconds=nan)),
    (
        "This is how its first {} look{}: kinds and pictures may change when all are read. Say meanwhile",
        "This is how its first 1 row looks: kinds and pictures may change when all are read. Say meanwhile what",
        lambda at: _columns_screen(at, 1, part=True),
    ),
    ("{}. Say", "1 row. Say what columns are for.", lambda at: _columns_screen(at, 1)),
    ("{}. Say", "0 rows. Say what columns are for.", lambda at: _columns_screen(at, 0)),
    (
        "{} column{} said who somebody is. Nothing runs before you have said what becomes of {}.",
        "1 column looks as if it said who somebody is. Nothing runs before you have said what becomes of it.",
        lambda at: _columns_screen(at, 1, personal=("a",)),
    ),
    (
        "{} column{} said who somebody is. Nothing runs before you have said what becomes of {}.",
        "2 columns look as if they said who somebody is. Nothing runs before you have said what becomes of them.",
        lambda at: _columns_screen(at, 1, personal=("a", "b")),
    ),
    (
        "There {} so far. With two or more they stand side by side here.",
        "There is no result so far. With two or more they stand side by side here.",
        lambda at: _screen(at, "compare.html.j2", done=[], chosen=(), body=""),
    ),
    (
        "There {} so far. With two or more they stand side by side here.",
        "There is one result so far. With two or more they stand side by side here.",
        lambda at: _screen(
            at,
            "compare.html.j2",
            done=[SimpleNamespace(number=1)],
            chosen=(),
            body="",
            changed={1: ""},
        ),
    ),
    (
        ", {} s so far.",
        "being read once: reading, 100 %, 0 s so far.",
        lambda at: _looking(at, share=1.5, seconds=nan),
    ),
    (
        ", {} s so far.",
        "being read once: reading, 99 %, 0 s so far.",
        lambda at: _looking(at, share=0.9999, seconds=-1),
    ),
    (
        ", {} s so far.",
        "being read once: reading, 1 s so far.",
        lambda at: _looking(at, share=nan, seconds=1),
    ),
    (
        "This spends epsilon {}",
        "This spends epsilon 1e-06, once and for good.",
        lambda at: _confirmed(at, 1e-6),
    ),
    ("Spend epsilon {} and start", "Spend epsilon 0.5 and start", lambda at: _confirmed(at, 0.5)),
    ("{}: run {} {}", "1: run not known, approved", lambda at: _decided(at, 0)),
    ("{}: run {} {}", "1: run 2 approved", lambda at: _decided(at, 2)),
    ("Stop {} {}", "Stop check 1", lambda at: _row_of(at, "running", asked=True, kind="check")),
    ("Take {} {} out", "Take run 1 out", lambda at: _row_of(at, "waiting", asked=True)),
    ("Start {} {}", "Start check 1", lambda at: _row_of(at, "waiting", asked=False, kind="check")),
)
"""As `SAID`, of what needs a folder: commands, and screens of the page."""


@pytest.mark.parametrize(
    ("sentence", "expected", "make"),
    SAID_IN,
    ids=[f"{place}: {expected[:50]}" for place, (_, expected, _) in enumerate(SAID_IN)],
)
def test_a_sentence_in_a_folder_is_true_in_its_ugly_case(
    sentence: str, expected: str, make: Callable[[Path], str], tmp_path: Path
) -> None:
    text = words_of(make(tmp_path))
    assert expected in text
    assert fits(sentence, text), "the case is not of this sentence"


def test_a_form_with_as_many_fields_as_may_be_is_taken() -> None:
    assert _refused(b"a=1&" * 19_999 + b"a=1") == ""


def said_sentences() -> set[str]:
    """Return the sentences whose words in an ugly case are written down here."""
    return {words for words, _, _ in (*SAID, *SAID_IN)}


@pytest.fixture(scope="module")
def fed() -> set[str]:
    """The sentences that the ugly cases reach."""
    return reached_sentences()


def reached_sentences() -> set[str]:
    """Return the sentences that the ugly cases reach, by their words: all texts are made once, watched line by line."""
    waiting: dict[str, dict[int, list[str]]] = {}
    for one in sentences():
        for line in range(one.lines[0], one.lines[1] + 1):
            waiting.setdefault(str(SOURCE / one.file), {}).setdefault(line, []).append(one.words)
    reached: set[str] = set()

    def watch(frame: Any, event: str, _: Any) -> Any:
        lines = waiting.get(frame.f_code.co_filename)
        if not lines:
            return None
        if event == "line":
            reached.update(lines.pop(frame.f_lineno, ()))
            return watch
        last = max((line for _, _, line in frame.f_code.co_lines() if line), default=0)
        return (
            watch if any(frame.f_code.co_firstlineno <= line <= last for line in lines) else None
        )  # nothing of it waits: not line by line

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        for name in KINDS:
            for case in BENT:
                TOLD[name, case] = told_of(name, case)
        for name, make in OTHERS.items():
            TOLD[name, ""] = make()
    finally:
        sys.settrace(before)
    return reached


TOLD: dict[tuple[str, str], list[str]] = {}


def told_of(name: str, case: str) -> list[str]:
    """Return the texts of an ugly result; none where it is refused with a clear error."""
    try:
        return KINDS[name][1](ugly(name, case))
    except ChaffinchError:
        return []


@pytest.mark.parametrize("case", BENT)
@pytest.mark.parametrize("name", KINDS)
def test_no_text_says_what_cannot_be(name: str, case: str, fed: set[str]) -> None:
    assert faults(TOLD[name, case]) == []


@pytest.mark.parametrize("name", OTHERS)
def test_no_other_text_says_what_cannot_be(name: str, fed: set[str]) -> None:
    assert TOLD[name, ""]
    assert faults(TOLD[name, ""]) == []


def test_most_ugly_results_have_a_text(fed: set[str]) -> None:
    """A result that is refused feeds nothing: that stays the exception."""
    assert sum(map(bool, TOLD.values())) > 0.9 * len(TOLD)


def test_every_sentence_names_the_test_that_feeds_it_or_why_none_can() -> None:
    for words, test in listed().items():
        assert test.startswith(NOT_FED) or (ROOT / test).is_file(), (
            f"name a test that feeds it an ugly case: {words}"
        )


def test_the_list_is_current() -> None:
    """Every sentence with a figure is on the list. Write it anew with `python -m tests.sentences`; places may change, words are looked at."""
    found = {one.words for one in sentences()}
    assert found - set(listed()) == set(), (
        "not on the list: run python -m tests.sentences, and feed the sentence an ugly case"
    )
    assert set(listed()) - found == set(), "gone from the source: run python -m tests.sentences"


def test_sentences_that_are_said_to_be_fed_are(fed: set[str]) -> None:
    assert {
        words for words, test in listed().items() if test == HERE
    } - fed - said_sentences() == set()


def test_faults_are_seen() -> None:
    wrong = [
        "1 attacks",
        "nan",
        "an interval (; p = 1)",
        "of {count} rows",
        "104 % of them",
        "interval 1 to 1",
        "by .",
    ]
    for words in wrong:
        assert faults([f"<p>{words}</p>"]), words
    for words in (
        "21 attacks",
        "0.1 rows",
        "1 attack",
        "100 % of 1,629",
        "interval 1 to 1.2",
        "nanometres",
    ):
        assert not faults([f"<p>{words}</p>"]), words

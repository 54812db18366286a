"""Every sentence with a figure is on the list, and says something true in the ugly case: nothing there, one of it, everything, few people, no number.

Results of every kind are bent: all counts that may be are 0, or 1, or masked, all shares 0, 1 or just below it, and what may be missing is. Their pages and texts are
then read as a person reads them. `tests/sentences.csv` says which sentences that reaches; others name the test that feeds them.
"""

from __future__ import annotations

import copy
import io
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from html import escape, unescape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.tree import DecisionTreeClassifier

from chaffinch import trees
from chaffinch._base.errors import ChaffinchError
from chaffinch.cli.audit import _show as audit_lines
from chaffinch.cli.check import _show as check_lines
from chaffinch.cli.evolve import _show as evolve_lines
from chaffinch.cli.risk import show_attacks
from chaffinch.outputs.check import CheckResult
from chaffinch.outputs.evolve_result import EvolveResult
from chaffinch.privacy.relation import Unit
from chaffinch.report.audit import audit_page
from chaffinch.report.check import check_page
from chaffinch.report.compare import compare_all
from chaffinch.report.evolve import evolve_page
from chaffinch.report.frontier import frontier_page
from chaffinch.report.frontier_result import FrontierResult
from chaffinch.report.membership import membership_page
from chaffinch.report.page import render, report_of
from chaffinch.report.result import ReportResult
from chaffinch.report.singling_out import singling_out_page
from chaffinch.report.trees import tree_page
from chaffinch.risk.attribution.verdict import LimitVerdict
from chaffinch.risk.auditing.result import AuditResult
from chaffinch.risk.membership.result import MembershipResult
from chaffinch.risk.singling_out.result import SinglingOutResult
from chaffinch.stats.intervals import LimitState

from .conftest import make_risk
from .report.conftest import make_study
from .report.test_audit import audit
from .report.test_check import CASES as CHECKS
from .report.test_evolve import CASES as EVOLVED
from .report.test_frontier_result import frontier_result
from .report.test_membership import membership
from .report.test_promise import account, synthesis
from .report.test_singling_out import singling_out
from .sentences import HERE, SOURCE, listed, sentences

Plain = dict[str, Any]
Told = Callable[[Plain], list[str]]


def _reported(plain: Plain) -> list[str]:
    report = ReportResult.from_dict(plain)
    again = report_of(report.utility, title="other", risk=report.risk)
    texts = [render(report), compare_all([report, again]).to_text(), compare_all([report, again]).to_html(), compare_all([report, again, report]).to_html()]
    return [*texts, *([] if report.risk is None else [report.risk.to_html()])]


def _rendered(plain: Plain) -> list[str]:
    return [render(ReportResult.from_dict(plain))]


def _synthesis() -> Plain:
    network = {"method": "bayesnet", "parents": 2, "nodes": ["age", "sex"], "edges": [["age", "sex"]], "strengths": [0.1], "sensitive": ["age"]}
    notes = [{"column": "age", "what": "pooled", "why": "3 levels."}]
    return {"rows": 1629, "columns": ["age", "sex"], "seed": 1, "network": network, "copies": 1, "rows_equal_to_an_original": 0.03, "notes": notes}


FEW = (("age", "sex"), ("relationship",))


def _tested() -> Plain:
    risk = make_risk(*FEW)
    finding = {"test": "rare_combination", "value": 0.7, "holdout": 0.6, "excess": 0.1, "excess_interval": [0.05, 0.15], "p_value": 0.01, "p_family": 0.02}
    risk["memorisation_tests"] = [{**finding, "lower_bound": 0.01, "detectable": 0.05, "n_people": 300}]
    return risk


KINDS: dict[str, tuple[Callable[[], Plain], Told]] = {
    "report": (lambda: report_of(make_study(3), title="t", risk=_tested(), synthesis=_synthesis()).to_dict(), _reported),
    "report without a holdout": (lambda: report_of(make_study(3, holdout=False), title="t", risk=make_risk(*FEW, holdout=False)).to_dict(), _rendered),
    "report on several key sets": (lambda: report_of(title="t", risk=make_risk(("a", "b"), ("s",), sizes=(1, 2), measures=("cap", "tcap", "nb"))).to_dict(), _rendered),
    "audit": (lambda: audit().to_dict(), lambda plain: [audit_page(AuditResult.from_dict(plain))]),
    "membership": (lambda: membership().to_dict(), lambda plain: [membership_page(MembershipResult.from_dict(plain))]),
    "singling out": (lambda: singling_out().to_dict(), lambda plain: [singling_out_page(SinglingOutResult.from_dict(plain))]),
    "frontier": (lambda: frontier_result().to_dict(), lambda plain: [frontier_page(FrontierResult.from_dict(plain))]),
    **{f"check, {name}": (lambda told=told: told, lambda plain: [check_page(CheckResult.from_dict(plain))]) for name, told in CHECKS.items()},
    **{f"evolve, {name}": (lambda told=told: told, lambda plain: [evolve_page(EvolveResult.from_dict(plain))]) for name, told in EVOLVED.items()},
}


def _printed(show: Callable[..., Any], *given: Any, **named: Any) -> str:
    """Return what a command prints of a result, on both streams."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(out):
        show(*given, **named)
    return escape(out.getvalue())


def _promised() -> list[str]:
    """Pages of tables with promises, from one that promises all but everything to none at all, and two of them compared."""
    made = [
        report_of(make_study(3), title="t", risk=make_risk(*FEW), synthesis=synthesis(account(epsilon=epsilon, delta=delta, part=part, unit=unit)))
        for epsilon, delta, part, unit in ((1e-6, None, 1.0, None), (1.0, 1e-12, 0.5, Unit("replace-one", 1)), (80.0, 0.5, 1.0, Unit("add-remove", 3)), (1.0, None, 1e-9, None))
    ]
    return [*map(render, made), *(compare_all([made[0], one]).to_html() for one in made), compare_all(made).to_html(), compare_all(made).to_text()]


def _treed() -> list[str]:
    """Pages of a tree of one node, of one of two leaves, and of one that isolates, before and after pruning."""
    x = np.arange(12.0).reshape(-1, 1)
    texts = []
    for depth, y in ((1, np.zeros(12)), (1, np.arange(12) // 6), (None, np.arange(12) % 3), (None, np.array([0] * 11 + [1]))):
        model = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(x, y)
        data = pa.table({"x0": x[:, 0], "y": y})
        for given in ({}, {"data": data, "label": "y"}, {"holdout": data.slice(0, 1), "label": "y"}):
            result = trees.prune(model, **given)
            texts += [tree_page(result.audit, result, "t"), tree_page(result.audit, None, "t"), escape(result.audit.verdict)]
    return texts


def _on_a_terminal() -> list[str]:
    """What commands print of results that are there whole, at one and at nothing."""
    texts = []
    for case in ("nothing", "one of each", "missing", "masked"):
        report = ReportResult.from_dict(ugly("report", case))
        assert report.risk is not None
        texts += [_printed(show_attacks, report.risk), report.risk.verdict[-1].sentence]
        texts += [_printed(check_lines, CheckResult.from_dict(ugly(f"check, {name}", case))) for name in CHECKS]
        for name in EVOLVED:
            evolved = EvolveResult.from_dict(ugly(f"evolve, {name}", case))
            texts.append(_printed(evolve_lines, evolved, [Path("made.csv")] * len(evolved.copies)))
        texts.append(_printed(audit_lines, AuditResult.from_dict(ugly("audit", case))))
        texts.append(_printed(FrontierResult.from_dict(ugly("frontier", case)).show))
    verdicts = [LimitVerdict(max_excess=0.01, state=state, lower_bound=low, upper_bound=high, detectable=size, attacks=n, tests=1 - n) for state in LimitState
                for low, high, size, n in ((0.0, 1.0, (1.5, 2.0), 1), (-1.0, 0.0, (0.2, 1.5), 0), (0.5, 0.6, None, 1))]  # fmt: skip
    return [*texts, *(escape(verdict.sentence) for verdict in verdicts)]


OTHERS: dict[str, Callable[[], list[str]]] = {"promises": _promised, "trees": _treed, "terminal": _on_a_terminal}
"""Texts that are made otherwise than from plain data that are bent."""
READERS: dict[str, Callable[[Plain], Any]] = {
    "report": ReportResult.from_dict, "audit": AuditResult.from_dict, "membership": MembershipResult.from_dict, "singling out": SinglingOutResult.from_dict,
    "frontier": FrontierResult.from_dict, "check": CheckResult.from_dict, "evolve": EvolveResult.from_dict,
}  # fmt: skip
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


SPARED = frozenset(("claim", "findings"))
"""What no result is without: an audit has a claim above 0, and findings."""


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
        if isinstance(value, list) and value and all(isinstance(one, int | float) and not isinstance(one, bool) for one in value):
            return [bend(one) for one in value]
        return value if isinstance(value, bool | dict | list) else bend(value)

    if isinstance(plain, dict):
        return {name: bent(inside(value) if name in keys else value, keys, bend) for name, value in plain.items()}
    return [bent(part, keys, bend) for part in plain] if isinstance(plain, list) else plain


def ugly(name: str, case: str) -> Plain:
    """Return a result in which all is bent that its reader lets be bent: names together, halved where they are refused together."""
    plain = copy.deepcopy(KINDS[name][0]())
    read = READERS[re.split(r",| w| on", name)[0]]
    # A point for an interval is what came in then, not what a sentence made of it.
    waiting = [[key for key in dict.fromkeys(keys_of(plain)) if key not in SPARED and "interval" not in key]]
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
    plain = re.sub(r"<style>.*?</style>|<script.*?</script>|<path[^>]*>|<!--.*?-->", " ", html, flags=re.DOTALL)
    return [" ".join(unescape(part).replace("\xa0", " ").split()) for part in re.split(r"<[^>]+>", plain) if part.strip()]


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
        return watch if any(frame.f_code.co_firstlineno <= line <= last for line in lines) else None  # nothing of it waits: not line by line

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


def test_the_list_is_current() -> None:
    """Every sentence with a figure is on the list. Write it anew with `python -m tests.sentences`; places may change, words are looked at."""
    found = {one.words for one in sentences()}
    assert found - set(listed()) == set(), "not on the list: run python -m tests.sentences, and feed the sentence an ugly case"
    assert set(listed()) - found == set(), "gone from the source: run python -m tests.sentences"


def test_sentences_that_are_said_to_be_fed_are(fed: set[str]) -> None:
    assert {words for words, test in listed().items() if test == HERE} - fed == set()


def test_faults_are_seen() -> None:
    wrong = ["1 attacks", "nan", "an interval (; p = 1)", "of {count} rows", "104 % of them", "interval 1 to 1", "by ."]
    for words in wrong:
        assert faults([f"<p>{words}</p>"]), words
    for words in ("21 attacks", "0.1 rows", "1 attack", "100 % of 1,629", "interval 1 to 1.2", "nanometres"):
        assert not faults([f"<p>{words}</p>"]), words

"""What attacks found, as plain data: every finding has the same keys, wherever it stands, and older files are refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import chaffinch
from chaffinch import Independent
from chaffinch.report.result import ReportResult, as_report, report_of
from chaffinch.risk import ATTACKERS, Finding, RiskResult, cross_fit
from chaffinch.risk.finding import ReleasesGain
from chaffinch.risk.result import AttackedTable, RiskAbout
from chaffinch.risk.together import MultiReleaseResult
from chaffinch.stats.familywise import FamilywiseTest

from ..factories import people

MANDATORY = frozenset(
    (
        "attacker",
        "convention",
        "keys",
        "sensitive",
        "value",
        "interval",
        "direction",
        "guess",
        "guess_by",
        "holdout",
        "original",
        "marginals_only",
        "label_only",
        "excess",
        "excess_interval",
        "p_value",
        "p_family",
        "lower_bound",
        "upper_bound",
        "detectable",
        "n_people",
        "n_matched",
        "coarse",
        "reason",
        "word",
    )
)
"""What every finding says, null where it is not known."""
OPTIONAL = frozenset(
    ("scope", "quantity", "claim", "records", "n_compared", "trials", "releases", "key_sets")
)
WORDS = ("excess found", "no excess found", "not known", "not applicable")


def lists_of_findings(plain: Any, place: str = "") -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield every list of findings in plain data with its place."""
    for name, value in plain.items():
        if name == "findings":
            yield place or "study", value
        elif isinstance(value, dict):
            yield from lists_of_findings(value, f"{place}.{name}" if place else name)


def check_keys(study: RiskResult) -> set[str]:
    """Check the keys of all findings of a study; return where they stood."""
    plain = json.loads(json.dumps(study.to_dict(), allow_nan=False))
    places = dict(lists_of_findings(plain))
    for place, findings in places.items():
        for finding in findings:
            assert set(finding) - OPTIONAL == MANDATORY, place
            assert finding["word"] in WORDS
            assert ("releases" in finding) == place.endswith("together")
    headline = plain.get("headline")
    if headline is not None:
        assert set(headline) - OPTIONAL == MANDATORY | {"number", "cross_fit", "title"}
        assert headline["word"] in WORDS
    again = RiskResult.from_dict(plain)
    assert again == study
    assert again.to_dict() == study.to_dict()
    return set(places)


NUMBERS = st.none() | st.floats(-1.0, 1.0)
INTERVALS = st.none() | st.tuples(st.floats(-1.0, 0.0), st.floats(0.0, 1.0))
COUNTS = st.none() | st.integers(0, 10**6) | st.just("<10")
SIDES = dict.fromkeys(
    ("value", "guess", "holdout", "original", "marginals_only", "label_only"), NUMBERS
)
MORE = dict.fromkeys(
    ("excess", "p_value", "p_family", "lower_bound", "upper_bound", "detectable"), NUMBERS
)


@st.composite
def findings(draw: st.DrawFn, *, several: bool = False) -> Finding:
    """Draw what an attacker may have found, on a column or on whole records, with any part of it missing."""
    attacker = draw(st.sampled_from(tuple(ATTACKERS)))
    on_column = attacker.kind != "memorisation"
    gain = st.builds(
        ReleasesGain,
        alone=st.lists(NUMBERS, max_size=3).map(tuple),
        added=NUMBERS,
        interval=INTERVALS,
        p_value=NUMBERS,
        p_family=NUMBERS,
    )
    return Finding(
        attacker=attacker.name,
        convention=draw(st.sampled_from(("", "matched_rows"))) if on_column else "",
        keys=draw(st.sampled_from((("age",), ("age", "sex")))) if on_column else (),
        sensitive="ill" if on_column else "",
        direction=attacker.direction,
        interval=draw(INTERVALS),
        excess_interval=draw(INTERVALS),
        n_people=draw(COUNTS),
        n_matched=draw(COUNTS),
        coarse=draw(st.sampled_from(((), ("age in bins",)))),
        reason=draw(st.sampled_from((None, "Few."))),
        releases=draw(gain) if several else None,
        **{name: draw(numbers) for name, numbers in (SIDES | MORE).items()},
    )


@st.composite
def studies(draw: st.DrawFn) -> RiskResult:
    """Draw a study of one release or of several."""
    joint = st.builds(
        MultiReleaseResult,
        tables=st.just(2),
        findings=st.lists(findings(several=True), min_size=1, max_size=3).map(tuple),
    )
    return RiskResult(
        about=RiskAbout(holdout=draw(st.sampled_from((None, AttackedTable(rows=100))))),
        findings=tuple(draw(st.lists(findings(), min_size=1, max_size=4))),
        family=FamilywiseTest(p_value=draw(NUMBERS)),
        together=draw(st.none() | joint),
    )


@given(studies(), st.none() | studies())
def test_every_finding_has_the_same_keys_whatever_is_missing(
    study: RiskResult, halves: RiskResult | None
) -> None:
    places = check_keys(replace(study, cross_fit=halves))
    wanted = {"study"} | ({"cross_fit"} if halves else set())
    wanted |= {"together"} if study.together else set()
    wanted |= {"cross_fit.together"} if halves is not None and halves.together else set()
    assert places == wanted


def test_every_finding_of_real_attacks_has_the_same_keys() -> None:
    """Attacks that match and that learn, memorisation tests, two releases, and models of halves of the people."""
    asked = {
        "keys": ["age", "sex", "town"],
        "sensitive": ["ill"],
        "attackers": ["matching", "nb", "memorisation"],
        "resamples": 50,
        "seed": 1,
    }
    original, first, second = (chaffinch.read(people(200, seed)) for seed in (1, 2, 3))
    study = chaffinch.risk(original, [first, second], **asked)
    halves = cross_fit(original, Independent(), copies=2, **asked)
    whole = replace(study, cross_fit=halves)
    assert check_keys(whole) == {"study", "together", "cross_fit", "cross_fit.together"}
    kinds = {ATTACKERS[finding.attacker].kind for finding in whole.findings}
    assert kinds == {"matching", "learning", "memorisation"}


def test_a_word_is_worked_out_anew_when_read() -> None:
    plain = RiskResult(findings=(Finding(value=0.6, excess=0.1, p_family=0.001),)).to_dict()
    plain["findings"][0]["word"] = "no excess found"
    assert RiskResult.from_dict(plain).findings[0].word == "excess found"


# Older files.


OLD = {"format": "chaffinch-risk", "version": 2, "attacks": [], "memorisation_tests": []}
OLDER_REPORT = {"format": "chaffinch-report", "version": 2, "title": "t"}


@pytest.mark.parametrize(
    ("read", "plain", "name", "version"),
    [
        (RiskResult.from_dict, OLD, "chaffinch-risk", 3),
        (lambda plain: report_of(title="t", risk=plain), OLD, "chaffinch-risk", 3),
        (ReportResult.from_dict, OLDER_REPORT, "chaffinch-report", 3),
    ],
)
def test_an_older_version_is_refused_and_what_to_do_is_said(
    read: Any, plain: dict[str, Any], name: str, version: int
) -> None:
    with pytest.raises(chaffinch.errors.InputError) as caught:
        read(plain)
    assert str(caught.value) == (
        f"This Chaffinch reads version {version} of '{name}'. Got '2'. Measure again, or update Chaffinch."
    )


def test_an_older_version_of_a_cross_fit_is_refused_too() -> None:
    plain = RiskResult(cross_fit=RiskResult()).to_dict()
    plain["cross_fit"]["version"] = 2
    with pytest.raises(chaffinch.errors.InputError, match="This Chaffinch reads version 3"):
        RiskResult.from_dict(plain)


@pytest.mark.parametrize("plain", [OLD, OLDER_REPORT], ids=["risk", "report"])
def test_a_comparison_refuses_it_by_its_letter(plain: dict[str, Any]) -> None:
    with pytest.raises(chaffinch.errors.InputError) as caught:
        as_report(plain, "B")
    assert str(caught.value) == (
        "B is of version 2; this Chaffinch reads version 3. Measure again, or update."
    )

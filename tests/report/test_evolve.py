"""The page on evolved datasets, from made-up plain data: what it says, what it draws, and that it is whole."""

from __future__ import annotations

import re

import pytest

from chaffinch.outputs.evolve import EvolveResult, ShownNumber, TracePoint
from chaffinch.report import evolve as pages
from chaffinch.report.evolve import _decimals, _thin_trace

from .conftest import whole_page


def evolve_page(told):
    """The page on plain data, as they come back from a file."""
    return pages.evolve_page(EvolveResult.from_dict(told))


def sentence(told):
    return pages.sentence(EvolveResult.from_dict(told))


def number(name, published, synthetic, *, half=5e-5, within=True):
    return {
        "name": name,
        "published": published,
        "low": None if published is None else published - half,
        "high": None if published is None else published + half,
        "synthetic": synthetic,
        "within": within,
    }


def logit(shift=0.0, *, outside=0, refitted=True):
    shown = [
        number("Intercept", 0.2498, 0.24981 + shift, within=not outside),
        number("C(sex)[T.<m>]", -0.4055, -0.40551),
    ]
    return {
        "name": "who <owns>",
        "kind": "logit",
        "regression": True,
        "numbers": 2,
        "outside": outside,
        "refitted": refitted,
        "largest_error": 1e-5 + shift if refitted else None,
        "largest_error_in_precision": 0.2,
        "mean_error": 1e-5 if refitted else None,
        "shown": shown if refitted else [],
    }


def home_by_sex(outside=0):
    few = {
        "name": "m|rented",
        "published": None,
        "low": 1.0,
        "high": 9.0,
        "synthetic": 12.0,
        "within": False,
    }
    right = {
        "name": "f|owned",
        "published": 25.0,
        "low": 25.0,
        "high": 25.0,
        "synthetic": 25.0,
        "within": True,
    }
    return {
        "name": "home by sex",
        "kind": "table",
        "regression": False,
        "numbers": 2_000,
        "outside": outside,
        "refitted": True,
        "largest_error": 7.0 if outside else 0.0,
        "largest_error_in_precision": 1.0,
        "mean_error": 0.0,
        "shown": [few, right] if outside else [right],
    }


def point(proposals, error, outside):
    return {
        "proposals": proposals,
        "objective": error,
        "outside": outside,
        "mean_error": {"who <owns>": error, "home by sex": float(outside)},
    }


def copy_of(*outputs):
    missed = [one["name"] for one in outputs if one["outside"]]
    trace = [point(0, 1.9, 2002), point(2_000, 0.3, 900), point(90_000, 1e-5, 0)]
    return {
        "reached": not missed,
        "missed": missed,
        "proposals": 90_000,
        "outputs": list(outputs),
        "trace": trace,
    }


def told(*copies, **about):
    return {
        "format": "chaffinch-evolved",
        "version": 2,
        "about": {
            "spec": "p<1>.toml",
            "seed": 1,
            "search_engine": "incremental",
            "start": "uniform",
            "rows": 50_357,
            "max_error": 0.001,
            "proposals": 9000,
            "refitted_by": "statsmodels 0.15.0",
            **about,
        },
        "reached": all(copy["reached"] for copy in copies),
        "copies": list(copies),
        "run": {"seconds": {"all": 1.5}, "date": "2025-11-15 09:00 UTC"},
    }


def cells(html, first):
    """The texts of the table row that begins with a word."""
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", html, flags=re.DOTALL)
    texts = [
        [
            re.sub(r"<[^>]*>", "", cell).strip()
            for cell in re.findall(r"<t[hd].*?</t[hd]>", row, flags=re.DOTALL)
        ]
        for row in rows
    ]
    return next(row for row in texts if row and row[0] == first)


CASES = {
    "one copy": told(copy_of(logit(), home_by_sex())),
    "three copies": told(*(copy_of(logit(k * 1e-5), home_by_sex()) for k in range(3))),
    "not reached": told(
        copy_of(logit(0.01, outside=1), home_by_sex(3)), search_engine="ea", selection="roulette"
    ),
    "not refitted": told(copy_of(logit(refitted=False), home_by_sex()), refitted_by=None),
    "tables alone": told(copy_of(home_by_sex())),
    "no trace": told({**copy_of(logit()), "trace": []}),
    "at once": told({**copy_of(home_by_sex()), "trace": [point(0, 0.0, 0)]}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_page_is_whole_and_calls_nobody(name):
    html = evolve_page(CASES[name])
    whole_page(html)
    assert "p&lt;1&gt;.toml" in html


def test_coefficients_stand_beside_each_other_as_they_were_printed():
    html = evolve_page(CASES["one copy"])
    row = cells(html, "Intercept")
    # P1's table 2: original, synthetic, difference; the difference has a digit more.
    assert row == [
        "Intercept",
        "0.2498",
        "0.2498",
        "+0.00001",
        "yes",
    ]
    assert "C(sex)[T.&lt;m&gt;]" in html
    assert "all 2,000 numbers are as published" in html
    assert "refitted by statsmodels 0.15.0" in html


def test_copies_are_averaged_and_the_farthest_is_shown():
    html = evolve_page(CASES["three copies"])
    row = cells(html, "Intercept")
    # 0.24981, 0.24982, 0.24983 against 0.2498: the mean is off by 0.00002, the last by 0.00003.
    assert row == ["Intercept", "0.2498", "0.2498", "+0.00002", "0.000030", "yes"]
    assert "Copy 3" in html


def test_what_was_not_reached_is_said_first_and_shown():
    html = evolve_page(CASES["not reached"])
    assert html.index("Not all outputs were reached") < html.index("<h1")
    assert (
        "4 of 2,002 published numbers differ, in &#39;who &lt;owns&gt;&#39;, &#39;home by sex&#39;"
        in html
    )
    assert "1 of 2 numbers is not as published" in html
    assert "1 to 9" in html  # a suppressed cell is an interval
    assert "ea (selection roulette)" in html
    assert "by generations, on a logarithmic axis" in html
    assert "Not all outputs" not in evolve_page(CASES["one copy"])


def test_a_fit_that_was_not_found_is_said():
    lost = logit(outside=2)
    for each in lost["shown"]:
        each.update(synthetic=None, within=False)
    html = evolve_page(told(copy_of({**lost, "largest_error": None, "mean_error": None})))
    assert cells(html, "Intercept") == ["Intercept", "0.2498", "–", "–", "no"]
    assert "statsmodels found no fit" in html


def test_without_statsmodels_nothing_is_claimed_of_regressions():
    html = evolve_page(CASES["not refitted"])
    assert "statsmodels is not installed" in html
    assert "refitted by" not in html


def test_errors_are_drawn_on_logarithmic_axes_zero_at_the_bottom():
    html = evolve_page(CASES["one copy"])
    assert html.count("<svg") == html.count("</svg>") == 2 + 2  # two in the head
    assert "A line that ends at the bottom arrived at 0." in html
    assert "from 2,002 down to 0" in html


def test_sentences():
    assert (
        sentence(CASES["three copies"])
        == "All 3 datasets have all 2,002 published numbers, within the precision they were printed with."
    )
    half = told(copy_of(logit()), copy_of(logit(0.1, outside=1)))
    assert (
        sentence(half)
        == "1 of 2 datasets do not have all outputs: up to 1 of 2 published numbers differs, in 'who <owns>'."
    )
    late = told({**copy_of(logit()), "reached": False})
    assert "before it said so" in sentence(late)


def test_decimals_come_from_the_width_of_what_was_printed():
    assert [
        _decimals(ShownNumber(**number("x", 1.5, 1.5, half=h))) for h in (0.05, 5e-5, 0.5, 0.0)
    ] == [1, 4, 0, 6]
    assert _decimals(ShownNumber(**number("n", 1473.0, 1473.0, half=0.0))) == 0
    assert _decimals(ShownNumber(**number("x", None, 1.0))) == 6


def test_some_points_keep_both_ends():
    some = _thin_trace([TracePoint(k, None, 0, {}) for k in range(100)])
    assert len(some) == 12
    assert (some[0].proposals, some[-1].proposals) == (0, 99)

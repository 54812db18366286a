"""The measures of utility as a page speaks of them: what each asks, how it is defined, whose it is, in which words it is told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .words import number, percent

__all__ = ["GROUPS", "MEASURES", "Measure", "measures_of"]

GROUPS = {
    "columns": "Each column by itself",
    "relations": "How columns are related",
    "whole": "The table as a whole",
    "uses": "Working with the table",
}


@dataclass(frozen=True)
class Measure:
    """A measure in words.

    Parameters
    ----------
    path
        Where it stands in the plain data of a study.
    phrases
        What is said when it is close, fair, weak, lost; each goes on with `detail`.
    detail
        What the number means, with `{value}`, as a share `{percent}`, or as a `{gap}` to the original.
    limits
        How far from identical tables a value may be and still be called close, fair, weak, where no table of independent
        columns gives a scale; None where numbers of this measure mean nothing by themselves.
    scaled
        Whether independent columns are the bottom of its scale.
    """

    id: str
    path: tuple[str, ...]
    group: str
    name: str
    question: str
    definition: str
    reference: str
    phrases: tuple[str, str, str, str]
    detail: str
    limits: tuple[float, float, float] | None = None
    scaled: bool = True

    def say(self, place: int, value: float) -> str:
        """Return the sentence for a value whose word has a place: 0 close, 1 fair, 2 weak, 3 lost."""
        gap = f"{number(abs(value))} {'lower' if value > 0 else 'higher'}" if value else "no lower"
        return f"{self.phrases[place]}: {self.detail.format(value=number(value), percent=percent(value), gap=gap)}."


def _tvd(width: int, what: str, limits: tuple[float, float, float], group: str) -> Measure:
    each = {1: "a column", 2: "a table of two columns", 3: "a table of three columns"}[width]
    return Measure(
        f"tvd_{width}",
        ("tvd", str(width)),
        group,
        f"Distance of {width}-way tables (TVD)",
        f"Do {what} hold the same shares?",
        f"Half the summed absolute difference of the shares of all cells of {each}, meaned over {what} (sampled where many).",
        "Total variation distance",
        (
            f"Tables of {what} hold almost the same shares as in the original",
            f"Tables of {what} hold roughly the same shares as in the original",
            f"Tables of {what} hold clearly other shares than in the original",
            f"Tables of {what} hold quite other shares than in the original",
        ),
        f"on average {{percent}} of the records would have to move to make {each} equal",
        limits,
        scaled=width > 1,
    )


MEASURES = (
    Measure(
        "jensen_shannon",
        ("jensen_shannon",),
        "columns",
        "Distance of columns (Jensen-Shannon)",
        "Is each column distributed as before?",
        "Square root of the Jensen-Shannon divergence in bits between the two distributions of a column, meaned over columns.",
        "Lin 1991, IEEE Transactions on Information Theory 37(1)",
        (
            "Each column by itself looks almost as in the original",
            "Each column by itself looks roughly as in the original",
            "Columns by themselves look clearly different from the original",
            "Columns by themselves look little like the original",
        ),
        "the distance is {value} on average, where 0 is the same and 1 nothing in common",
        (0.05, 0.1, 0.2),
        scaled=False,
    ),
    _tvd(1, "single columns", (0.03, 0.07, 0.15), "columns"),
    Measure(
        "phi_k",
        ("phi_k",),
        "relations",
        "Relations of pairs (phi_k)",
        "Are pairs of columns related as strongly as before?",
        "Mean absolute difference of the correlation coefficient phi_k over all pairs of columns, on bins shared by both tables.",
        "Baak, Koopman, Snoek and Klous 2020, Computational Statistics and Data Analysis 152",
        (
            "Pairs of columns are related almost as in the original",
            "Pairs of columns are related roughly as in the original",
            "Much of how pairs of columns are related is lost",
            "How pairs of columns are related is lost",
        ),
        "on average phi_k differs by {value}",
        (0.02, 0.05, 0.1),
    ),
    Measure(
        "mu",
        ("mu",),
        "relations",
        "Relations of pairs (mu)",
        "Are pairs of columns related as before, large differences weighing more?",
        "Norm of the difference of the two phi_k matrices, divided by the number of pairs of columns.",
        "Galloni, Lendák and Horváth 2020, equation 2",
        (
            "The pattern of relations is almost that of the original",
            "The pattern of relations is roughly that of the original",
            "Much of the pattern of relations is lost",
            "The pattern of relations is lost",
        ),
        "mu is {value}; it shrinks as columns are added, so compare it between tables of the same columns only",
    ),
    Measure(
        "pearson",
        ("pearson",),
        "relations",
        "Straight-line relations (Pearson)",
        "Do columns rise and fall together as before?",
        "Mean absolute difference of Pearson's correlation of the columns' codes over all pairs. Codes of unordered levels have no "
        "order of their own: read phi_k for those.",
        "Hittmeir, Mayer and Ekelhart 2022, figure 1; Niederhametner and Mayer 2023, figures 4 and 5",
        (
            "Columns rise and fall together almost as in the original",
            "Columns rise and fall together roughly as in the original",
            "Much of how columns rise and fall together is lost",
            "How columns rise and fall together is lost",
        ),
        "on average the correlation of codes differs by {value}",
        (0.02, 0.05, 0.1),
    ),
    _tvd(2, "pairs of columns", (0.05, 0.12, 0.25), "relations"),
    _tvd(3, "triples of columns", (0.08, 0.18, 0.35), "relations"),
    Measure(
        "impossible",
        ("impossible",),
        "relations",
        "Impossible pairs",
        "Do synthetic rows combine values that never occur together?",
        "Share of synthetic rows with at least one pair of values that no original record has. Some such pairs are merely rare.",
        "Counted on the pairs of columns of both tables",
        (
            "Synthetic rows seldom combine what never occurs together",
            "Some synthetic rows combine what never occurs together",
            "Many synthetic rows combine what never occurs together",
            "Synthetic rows combine freely what never occurs together",
        ),
        "{percent} of them hold a pair of values that no original record has",
        (0.02, 0.1, 0.3),
    ),
    Measure(
        "pmse_ratio",
        ("pmse_ratio",),
        "whole",
        "Telling the tables apart (pMSE ratio)",
        "Can a model tell synthetic rows from original ones?",
        "Propensity mean squared error of a model that tells the tables apart, divided by what it is when both are drawn alike.",
        "Snoke, Raab, Nowok, Dibben and Slavković 2018, Journal of the Royal Statistical Society A 181(3)",
        (
            "A model can hardly tell the tables apart",
            "A model can tell the tables apart somewhat",
            "A model tells the tables apart well",
            "A model tells the tables apart easily",
        ),
        "it does {value} times as well as on two samples drawn alike, which score 1",
        (3.0, 10.0, 30.0),
        scaled=False,
    ),
    Measure(
        "learning",
        ("learning",),
        "uses",
        "Learning the label",
        "Do models trained on synthetic rows predict real ones?",
        "Mean over models of the score when trained on the original less the score when trained on the synthetic table; both are "
        "tested on real records.",
        "Hittmeir, Mayer and Ekelhart 2022, tables V to VII; Niederhametner and Mayer 2023, table III",
        (
            "Models learnt from the synthetic table predict almost as well",
            "Models learnt from the synthetic table predict somewhat worse",
            "Models learnt from the synthetic table predict much worse",
            "Models learn little from the synthetic table",
        ),
        "on average they score {gap} than those learnt from the original",
        (0.02, 0.05, 0.1),
    ),
    Measure(
        "tstr",
        ("delta", "tstr"),
        "uses",
        "Learning any column (TSTR)",
        "Whichever column one predicts: do models trained on synthetic rows work on real ones?",
        "Train on synthetic, test on real: how far the error rate on original records is from that of models trained on the "
        "original, meaned over labels and models.",
        "Esteban, Hyland and Rätsch 2017, arXiv 1706.02633",
        (
            "Whichever column is predicted, synthetic rows teach almost as well as original ones",
            "Whichever column is predicted, synthetic rows teach somewhat worse than original ones",
            "Whichever column is predicted, synthetic rows teach much worse than original ones",
            "Whichever column is predicted, synthetic rows teach little",
        ),
        "tested on original records, error rates are off by {value} on average",
        (0.02, 0.05, 0.1),
    ),
    Measure(
        "delta",
        ("delta",),
        "uses",
        "Learning any column (delta)",
        "Are columns as easy to predict within the synthetic table as within the original?",
        "Mean absolute difference of error rates, each model trained and tested on its own table, over labels and models. A "
        "degenerate table can score well: read TSTR beside it.",
        "Galloni, Lendák and Horváth 2020, equation 3",
        (
            "Columns are about as easy to predict as in the original",
            "Columns are not quite as easy or hard to predict as in the original",
            "Columns are clearly easier or harder to predict than in the original",
            "How easy columns are to predict is lost",
        ),
        "error rates within each table differ by {value} on average",
        (0.02, 0.05, 0.1),
    ),
    Measure(
        "G",
        ("G",),
        "uses",
        "Relations and learning together (G)",
        "Both at once, as one number for comparing syntheses?",
        "alpha mu + beta delta.",
        "Galloni, Lendák and Horváth 2020, equation 4",
        (
            "Relations and learning together are almost as in the original",
            "Relations and learning together are roughly as in the original",
            "Relations and learning together are far from the original",
            "Relations and learning together are lost",
        ),
        "G is {value}; use it to compare syntheses of the same table, not by itself",
    ),
    Measure(
        "regression",
        ("regression",),
        "uses",
        "A regression's results",
        "Would the regression lead to the same conclusions?",
        "Mean over coefficients of how far the two 95 % confidence intervals overlap.",
        "Karr, Kohnen, Oganian, Reiter and Sanil 2006, The American Statistician 60(3)",
        (
            "The regression says almost the same",
            "The regression says roughly the same",
            "The regression says partly something else",
            "The regression says something else",
        ),
        "the overlap of confidence intervals is {value} on average, where 1 is full and 0 or less none",
        (0.1, 0.4, 0.8),
        scaled=False,
    ),
)


def measures_of(study: Mapping[str, Any]) -> Iterator[tuple[Measure, Mapping[str, Any]]]:
    """Yield the measures that a study has, with their plain data, in the order of a page."""
    for measure in MEASURES:
        found: Any = study
        for key in measure.path:
            found = found.get(key) if isinstance(found, Mapping) else None
        if measure.path[0] == "tvd" and found is None and measure.id == "tvd_1":
            whole = study.get("tvd")
            found = whole if isinstance(whole, Mapping) and "not_applicable" in whole else None
        if isinstance(found, Mapping):
            yield measure, found

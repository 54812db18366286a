"""The words a check ends with. None of them is "safe": what was not found may be too small to be found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ..._base.errors import listed
from ..._base.results import Number, finite
from ...stats.crossed import Estimate
from ..margins import KnownMargins
from .ensembles import OutputFit
from .marginal import RiskMeasure

Word = Literal[
    "no excess found",
    "excess found",
    "outputs inconsistent",
    "not reached (lower bound)",
    "too uncertain",
    "nothing measured",
    "rules only",
]

MOST_FITS = 5
"""Outputs of which is said how far datasets came: those that fewest have."""


class NotAssessed(NamedTuple):
    """A rule that was not assessed to the end, and the output that it was about."""

    rule: str
    output: str


@dataclass(frozen=True)
class CheckVerdict:
    """The outcome of a check."""

    # `no excess found`, `excess found`, `outputs inconsistent`, `not reached (lower bound)`; `too uncertain` where even a marginal risk of 1 would have
    # been missed, `nothing measured` where no output could be, `rules only` where that was not asked for
    word: Word
    # The smallest marginal risk that would have been found with a chance of 80 %, under the worse convention; nan if nothing was attributed,
    # infinite if none would have been found
    detectable: Number
    sentences: tuple[str, ...] = ()  # What it means, in plain words
    # Rules that were not assessed to the end, each with its output: whatever the word, this is not all clear
    not_assessed: tuple[NotAssessed, ...] = ()
    unmeasured: tuple[
        str, ...
    ] = ()  # The outputs that could not be measured, or whose numbers could not be compared with the data

    @property
    def text(self) -> str:
        """The words as shown: "no excess found" never stands without what could have been detected, and what was not looked at."""
        shown = (
            f"{self.detectable:.3f}" if math.isfinite(self.detectable) else "nothing was attributed"
        )
        text = (
            f"no excess found (detectable: {shown})"
            if self.word == "no excess found"
            else self.word
        )
        text += "; not all outputs assessed" if self.unmeasured else ""
        return f"{text}; not all rules assessed" if self.not_assessed else text

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {
            "word": self.word,
            "text": self.text,
            "detectable": finite(self.detectable),
            "sentences": list(self.sentences),
            "not_assessed": [one._asdict() for one in self.not_assessed],
            "unmeasured": list(self.unmeasured),
        }


def verdict_of(
    measures: Sequence[RiskMeasure],
    *,
    reached: float,
    measured: bool | None = True,
    fits: Sequence[OutputFit] = (),
    margins: KnownMargins | None = None,
    inconsistent: Sequence[str] = (),
    not_assessed: Sequence[tuple[str, str]] = (),
    unmeasured: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
) -> CheckVerdict:
    """Return the verdict.

    `measured` is whether some output could be measured, None where the rules alone were asked for; `unmeasured` has, by name, why an output
    could not be; `fits` say how far datasets came that do not have every output, `margins` what they started from; `notes` are further
    sentences.

    Examples
    --------
    >>> verdict_of([], reached=1.0, inconsistent=["table 2"]).text
    'outputs inconsistent'
    >>> verdict_of([], reached=1.0, not_assessed=[("suppression undone", "table 2")]).text
    'no excess found (detectable: nothing was attributed); not all rules assessed'
    """
    every = [measure.detectable for measure in measures if not math.isnan(measure.detectable)]
    detectable = max(every, default=math.nan)
    excesses = [measure for measure in measures if measure.excess]
    sentences = []
    word: Word
    if inconsistent:
        word = "outputs inconsistent"
        names = ", ".join(f"'{name}'" for name in inconsistent)
        sentences.append(
            f"The published numbers of {names} are not those that the data give, and nothing here vouches for them"
            f"{': the risk was measured with numbers computed anew' if measured else ''}."
        )
    elif measured is None:
        word = "rules only"
    elif not measured:
        word = "nothing measured"
    elif excesses:
        word = "excess found"
    elif reached < 1.0:
        word = "not reached (lower bound)"
    elif math.isinf(detectable):
        word = "too uncertain"
    else:
        word = "no excess found"
    for measure in excesses:
        low, high = measure.marginal.low, measure.marginal.high
        sentences.append(
            f"An attacker who uses the outputs is right about '{measure.sensitive}' more often for people in the data than for others: "
            f"by {measure.marginal.value:.3f} ({low:.3f} to {high:.3f}; convention {measure.convention})."
            + _of_start(measure.prior_marginal)
        )
    if measured is None:
        sentences.append(
            "Only the rules were asked: what an attacker could do with the numbers was not measured."
        )
    elif not measured:
        sentences.append("No output could be measured: only the rules say something.")
    elif not excesses and math.isinf(detectable):
        sentences.append(
            "No difference was found between people in the data and people held out, but none could have been: with so few datasets or people even "
            "the largest, 1, would be missed with a chance above 20 %. Ask for more syntheses."
        )
    elif not excesses and every:
        sentences.append(
            "No difference was found between people in the data and people held out; "
            f"one of {detectable:.3f} would have been found with a chance of 80 %."
        )
    elif not excesses:
        sentences.append(
            "No dataset was certain about anyone under any key set, so nothing was attributed and there is no rate to compare."
        )
    if reached < 1.0:
        sentences.append(
            f"Only {100 * reached:.0f} % of the datasets reproduce every output within its precision: what was measured is a lower bound. "
            "Give the search more proposals."
        )
        sentences += [
            fit.how_far
            for fit in sorted(fits, key=lambda fit: fit.reached)[:MOST_FITS]
            if fit.reached < 1.0
        ]
    if margins is not None:
        sentences.append(start_sentence(margins))
    sentences += [
        f"Not assessed: '{name}'. {reason}" for name, reason in (unmeasured or {}).items()
    ]
    sentences += notes
    if not_assessed:
        rules = listed(dict.fromkeys(f"{rule} ('{output}')" for rule, output in not_assessed))
        sentences.append(
            f"Not all was looked at, and nothing is said of the rest: not assessed to the end: {rules}."
        )
    return CheckVerdict(
        word,
        detectable,
        tuple(sentences),
        tuple(NotAssessed(*one) for one in not_assessed),
        tuple(unmeasured or ()),
    )


def _of_start(prior: Estimate) -> str:
    """What the margins tell of their own people without any output, where that is more than nothing."""
    if not prior.low > 0.0:
        return ""
    return f" The margins that datasets start from give {prior.value:.3f} ({prior.low:.3f} to {prior.high:.3f}) of that without any output."


def start_sentence(margins: KnownMargins) -> str:
    """Return what an attacker was taken to know beside the outputs, in a sentence.

    Examples
    --------
    >>> start_sentence(KnownMargins(published=("sex",), assumed=("age", "area")))
    "Datasets start from how often each level occurs: as published for 'sex'; the attacker was assumed to know it of 'age', 'area'."
    """
    if not margins.every:
        return "Datasets start with every level as often as any other: the attacker was assumed to know nothing but the outputs."
    known, assumed = (
        listed([f"'{name}'" for name in names])
        for names in ((*margins.declared, *margins.published), margins.assumed)
    )
    parts = [f"as published for {known}"] if known else []
    parts += [f"the attacker was assumed to know it of {assumed}"] if assumed else []
    return f"Datasets start from how often each level occurs: {'; '.join(parts)}."

"""Rules on regressions and correlations: residual degrees of freedom, and the covariate patterns behind the coefficients.

Degrees of freedom count records. A model with as many parameters as there are patterns of covariates is a table of means or proportions in
disguise, however many records it has: y ~ C(A)*C(B) tells the share of y in every cell of A by B. By the rules of patsy that `formula.py`
follows, a term in the levels of some columns puts the indicators of all their combinations into the span of the design, the
reference's included; so each combination with few people is a small group behind a coefficient.

Coefficients stand for sums over people (the score equations), so the rules for sums hold for them: no few people may make up most of the label, of a score equation or of
the squared residuals, and nobody may decide a fitted value alone (`stats/glm.py` has the formulas).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..._base.arrays import Floats, Ints
from ...counts.tally import count_cells
from ...stats.glm import Influence, class_influence, influence
from ...table.compare.classes import class_ids
from ..domain import Codes, OutputDomain
from ..formula import Factor, Formula, Term
from .evidence import RULES, InterpolatingFit, ModelGroups, Rule, RuleOutcome, SortedGroups
from .findings import count_phrase
from .magnitudes import by_ratio, by_share
from .policy import Policy

if TYPE_CHECKING:
    from ..kinds.model import ModelSpec

MAX_ENTRIES = 50_000_000
"""Entries of a design that is written out to look for dominant records."""
MAX_CELLS = 3_000
"""The most indicators whose rank is worked out; beyond, their number stands in for it."""


@dataclass(frozen=True, eq=False)
class Patterns:
    """The patterns of covariates that a model can distinguish: the columns that make them, and the one of each record, from 0 without gaps.

    `parameters` are the independent ones, as far as they distinguish patterns.
    """

    columns: tuple[int, ...]
    pattern: Ints
    parameters: int

    @cached_property
    def counts(self) -> Ints:
        """The number of records of each pattern."""
        return np.bincount(self.pattern)

    @property
    def share(self) -> float:
        """Parameters to patterns: 1 for a saturated model."""
        return self.parameters / max(len(self.counts), 1)


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A model of a formula, with the records behind it: `label` is a number of each, one of a few classes or not; `events` are 1 where an event is."""

    output: ModelSpec
    formula: Formula
    fields: OutputDomain
    records: Codes
    label: Ints
    few_labels: bool
    events: Ints | None = None

    @cached_property
    def groups(self) -> list[_Group]:
        """The groups of people that coefficients distinguish, by term."""
        return _groups(self.formula.source_terms, self.fields, self.records)

    @property
    def is_large(self) -> bool:
        """Whether its design is not written out."""
        return len(self.records) * self.formula.size > MAX_ENTRIES

    @cached_property
    def design(self) -> Floats:
        """The design of its records."""
        from ..kinds.model import design_of

        return design_of(self.formula, self.records)[0]

    @cached_property
    def numbers(self) -> Floats:
        """The label of its records, where it is a number."""
        from ..kinds.model import label_of

        return label_of(self.formula, self.fields, self.records)

    @cached_property
    def influence(self) -> Callable[[int], Influence]:
        """The influence of the records that have the most, by how many these are."""
        return cache(lambda top: influence(self.design, self.numbers, top=top))

    def classes(self, policy: Policy) -> Ints | None:
        """Return the class of each record, where the label is one of a few, or a number of two values, both of them common; else None."""
        if self.few_labels:
            return self.label
        high = self.numbers == self.numbers.max()
        is_common = min(high.sum(), (~high).sum()) >= policy.threshold
        return high.astype(np.int64) if is_common and len(np.unique(self.numbers)) <= 2 else None


def _design(formula: Formula, patterns: Codes) -> NDArray[np.float64]:
    """The design of some records, dense."""
    out = np.zeros((len(patterns), formula.size))
    for terms in formula.terms:
        index = terms.keys(patterns)
        for row, (first, last) in enumerate(
            zip(terms.starts[index], terms.starts[index + 1], strict=True)
        ):
            out[row, terms.equations[first:last]] += terms.values[first:last]
    return out


def patterns_of(
    formula: Formula, fields: OutputDomain, records: Codes, *, saturation: float = 0.8
) -> Patterns:
    """Return the distinct rows of the design, and its rank; the number of columns where patterns are so many that it cannot matter.

    Examples
    --------
    >>> from chaffinch.outputs.domain import OutputColumn
    >>> from chaffinch.outputs.formula import read_formula
    >>> fields = OutputDomain((OutputColumn("y", (0, 1)), OutputColumn("a", ("p", "q")), OutputColumn("b", ("r", "s"))))
    >>> records = np.array([[0, 0, 0], [1, 0, 1], [0, 1, 0], [1, 1, 1], [1, 1, 1]], dtype=np.int32)
    >>> [patterns_of(read_formula(f"y ~ {right}", fields), fields, records).share for right in ("a + b", "a * b")]
    [0.75, 1.0]
    """
    columns = tuple(sorted({column for terms in formula.terms for column in terms.columns}))
    key = class_ids(records[:, columns])[0]
    first = np.unique(key, return_index=True)[1]
    # Rows of the design that are equal have equal products with random vectors; others differ, but for one chance in very many.
    vectors = np.random.default_rng(1).normal(size=(formula.size, 2))
    products = sum(
        (terms.times(vectors).evaluate(records[first]) for terms in formula.terms),
        np.zeros((len(first), 2)),
    )
    scale = np.maximum(np.abs(products).max(axis=0, initial=0.0), 1e-300)
    _, representatives, inverse = np.unique(
        np.round(products / scale, 11), axis=0, return_index=True, return_inverse=True
    )
    pattern = np.asarray(inverse, dtype=np.int64).ravel()[key]
    if (
        len(representatives)
        > max(4.0 if formula.size <= 400 else 1.0, 1.0 / saturation) * formula.size
    ):
        return Patterns(columns, pattern, formula.size)
    rows = _design(formula, records[first[representatives]])
    largest = np.abs(rows).max(axis=0)
    rank = int(np.linalg.matrix_rank(rows / np.where(largest > 0, largest, 1.0)))
    return Patterns(columns, pattern, rank)


def _levels_only(terms: tuple[Term, ...], fields: OutputDomain, records: Codes) -> Patterns | None:
    """The patterns of the columns that stand in terms of levels alone, and the rank of those terms; None without any."""
    plain = [
        tuple(sorted({c for f in term for c in f.columns}))
        for term in terms
        if term and all(f.categorical for f in term)
    ]
    largest = [
        columns_of_term
        for columns_of_term in set(plain)
        if not any(set(columns_of_term) < set(other) for other in plain)
    ]
    if not largest:
        return None
    columns = tuple(sorted({column for columns_of_term in largest for column in columns_of_term}))
    pattern = class_ids(records[:, columns])[0]
    first = np.unique(pattern, return_index=True)[1]
    cells = [class_ids(records[first][:, columns_of_term])[0] for columns_of_term in largest]
    size = sum(int(cell.max()) + 1 for cell in cells)
    if size > MAX_CELLS or size < 0.5 * len(first):
        return Patterns(columns, pattern, min(size, len(first)))
    indicators = np.concatenate([np.eye(int(cell.max()) + 1)[cell] for cell in cells], axis=1)
    return Patterns(columns, pattern, int(np.linalg.matrix_rank(indicators)))


@RULES.register(
    Rule(
        "covariate patterns",
        "Is a regression a table in disguise, with few people in one of its cells?",
        ("pattern_threshold", "saturation"),
    )
).looks_at(FittedModel)
def _patterns(model: FittedModel, policy: Policy) -> Iterator[RuleOutcome]:
    """Whether the model is a table in disguise, with few people in one of its cells."""
    threshold, fields, records = policy.pattern_least, model.fields, model.records
    candidates = [
        patterns_of(model.formula, fields, records, saturation=policy.saturation),
        _levels_only(model.formula.source_terms, fields, records),
    ]
    tables = [
        patterns
        for patterns in candidates
        if patterns is not None and patterns.share >= policy.saturation
    ]
    worst, total, split = list[str](), 0, False
    for patterns in tables:
        small, by_label = patterns.counts < threshold, False
        if model.few_labels and patterns.parameters == len(patterns.counts) and not small.any():
            # Saturated to the last cell: its proportions are those of a table of the label, too.
            by_class = np.stack([patterns.pattern, model.label])
            cells, people = np.unique(by_class, axis=1, return_counts=True)
            small[cells[0, people < threshold]], by_label = True, True
        if small.sum() > len(worst) or not total:
            worst = _name_patterns(patterns, np.flatnonzero(small), fields, records)
            total, split = len(patterns.counts), by_label
    what = f"The model has nearly as many parameters as patterns of covariates, so it is a table in disguise, of {total} patterns"
    clear_sentence = (
        f"{what}; none has few people."
        if tables
        else "The model has far fewer parameters than patterns of covariates."
    )
    about = "and some pattern, by label, has" if split else "and some pattern has"
    yield RuleOutcome(
        worst,
        total,
        clear_sentence=clear_sentence,
        sentence=f"{what}, {about} fewer than {threshold} people.",
    )


def _name_patterns(
    patterns: Patterns, which: Ints, fields: OutputDomain, records: Codes
) -> list[str]:
    """Patterns by the levels of their first record; for the inside."""
    first = np.unique(patterns.pattern, return_index=True)[1]
    return [
        ", ".join(
            f"{fields.names[c]} = {fields.columns[c].labels[int(records[first[k], c])]}"
            for c in patterns.columns
        )
        for k in which
    ]


@dataclass(frozen=True, eq=False)
class _Group:
    """The combinations of levels of one term, as what leaves may have it, and the one of each record."""

    safe_term: str
    cell: Ints
    names: tuple[str, ...]


def _groups(terms: tuple[Term, ...], fields: OutputDomain, records: Codes) -> list[_Group]:
    """For each term the combinations of its categorical factors that occur; terms of numbers alone have none."""
    groups: dict[tuple[str, ...], _Group] = {}
    for term in terms:
        factors = [factor for factor in term if factor.categorical]
        texts = tuple(factor.text for factor in factors)
        if not factors or texts in groups:
            continue
        columns = tuple(factor.columns[0] for factor in factors)
        cell = class_ids(records[:, columns])[0]
        first = np.unique(cell, return_index=True)[1]
        names = tuple(":".join(_level(f, fields, row) for f in factors) for row in records[first])
        groups[texts] = _Group(":".join(factor.safe_text for factor in factors), cell, names)
    return list(groups.values())


def _level(factor: Factor, fields: OutputDomain, record: NDArray[np.int32]) -> str:
    column = factor.columns[0]
    return f"{factor.text}[{fields.columns[column].labels[int(record[column])]}]"


@RULES.register(
    Rule("small group behind a coefficient", "Are few people behind a coefficient?")
).looks_at(FittedModel)
def _small_groups(model: FittedModel, policy: Policy) -> Iterator[RuleOutcome]:
    """Whether fewer people than the threshold are behind a coefficient."""
    formula, threshold, where, terms = model.formula, policy.threshold, list[str](), list[str]()
    total = 0
    for group in model.groups:
        counts = np.bincount(group.cell)
        small = np.flatnonzero(counts < threshold)
        total += len(counts)
        where += [group.names[k] for k in small]
        terms += [group.safe_term] if len(small) else []
    few = _carriers(formula, model.records, threshold)
    for name, coefficient, is_few in zip(formula.names, formula.coefficients, few, strict=True):
        # A number, or a number within a level, of which hardly anyone has another value than the most common one.
        if is_few and any(level is None for _, level in coefficient):
            where.append(name)
            terms.append(":".join(factor.safe_text for factor, _ in coefficient))
    total = max(total, len(where), formula.size)
    shown = ", ".join(dict.fromkeys(terms))
    sentence = f"Fewer than {threshold} people are behind {count_phrase(len(where), total, 'group')} that coefficients tell apart, in {shown}."
    yield RuleOutcome(
        where,
        total,
        clear_sentence=f"Behind every coefficient there are {threshold} people or more.",
        sentence=sentence,
    )


def _carriers(formula: Formula, records: Codes, threshold: int) -> list[bool]:
    """For each column of the design whether fewer records than `least`, but some, differ from its most common value."""
    few = [False] * formula.size
    for terms in formula.terms:
        if not terms.columns:
            continue
        counts = count_cells([records[:, c] for c in terms.columns], terms.sizes).ravel()
        rows = np.repeat(np.arange(len(counts)), np.diff(terms.starts))
        seen = counts[rows] > 0
        weights, equations, values = counts[rows][seen], terms.equations[seen], terms.values[seen]
        for equation in np.unique(equations):
            mine = equations == equation
            distinct, value_ids = np.unique(values[mine], return_inverse=True)
            people = np.bincount(value_ids.ravel(), weights=weights[mine], minlength=len(distinct))
            zero = len(records) - people.sum()
            few[equation] = bool(0 < len(records) - max(people.max(), zero) < threshold)
    return few


@RULES.register(
    Rule(
        "perfect prediction",
        "Do all people of a group that coefficients tell apart have the same label?",
        ("zeros_are_disclosive",),
    )
).looks_at(FittedModel)
def _equal(model: FittedModel, policy: Policy) -> Iterator[RuleOutcome]:
    """Whether all people of a group have the same label: its coefficient runs off, and tells everyone's label."""
    where, total, label = list[str](), 0, model.label
    for group in model.groups:
        size = int(group.cell.max()) + 1
        smallest = np.full(size, np.iinfo(np.int64).max)
        largest = np.full(size, -1, dtype=np.int64)
        np.minimum.at(smallest, group.cell, label)
        np.maximum.at(largest, group.cell, label)
        total += size
        where += [group.names[k] for k in np.flatnonzero(smallest == largest)]
    if not model.groups and len(np.unique(label)) == 1:
        where, total = ["everyone"], 1
    fails = model.few_labels and policy.zeros_are_disclosive
    yield RuleOutcome(
        where,
        max(total, 1),
        clear_sentence="In no group that coefficients tell apart do all people have the same label.",
        sentence=f"In {count_phrase(len(where), max(total, 1), 'group')} that coefficients tell apart all people have the same label.",
        status="fail" if fails else "review",
    )


@RULES.register(
    Rule("few events", "Do few people have the event in a group that coefficients tell apart?")
).looks_at(FittedModel)
def _events(model: FittedModel, policy: Policy) -> Iterator[RuleOutcome]:
    """Whether few people with the event are in a group that coefficients tell apart, or in all."""
    if model.events is None:
        return
    threshold, where, total = policy.threshold, list[str](), 0
    everyone = _Group("", np.zeros(len(model.events), dtype=np.int64), ("everyone",))
    for group in [everyone, *model.groups]:
        counts = np.bincount(group.cell, weights=model.events, minlength=len(group.names))
        total += len(counts)
        where += [group.names[k] for k in np.flatnonzero((counts > 0) & (counts < threshold))]
    yield RuleOutcome(
        where,
        total,
        clear_sentence=f"In every group that coefficients tell apart {threshold} people or more have the event, or none.",
        sentence=f"Fewer than {threshold} people have the event in {count_phrase(len(where), total, 'group')} that coefficients tell apart.",
        status="review",
    )


@RULES.register(
    Rule(
        "dominance in a regression",
        "Do a few people make up most of what a regression sums up?",
        ("nk_n", "nk_k", "p_ratio"),
    )
).looks_at(FittedModel)
def _look_at_dominance(model: FittedModel, policy: Policy) -> Iterator[RuleOutcome]:
    """Whether a few people dominate the label, a score equation or the squared residuals.

    Where the label is one of a few classes the sums are those of each numeric column over the people of a class.
    """
    formula, top, limit = model.formula, policy.nk_n, policy.nk_k
    if model.is_large:
        sentence = f"Whether a few people dominate the fit was not looked at: the design has more than {MAX_ENTRIES:,} entries."
        yield RuleOutcome(["the fit"], formula.size, sentence=sentence, status="not assessed")
        return
    equations, of_label, below_ratio, of_residuals = np.zeros(formula.size), False, False, False
    classes = model.classes(policy)
    if classes is not None:
        numeric = np.array(
            [
                any(level is None for _, level in coefficient)
                for coefficient in formula.coefficients
            ],
            dtype=bool,
        )
        equations[numeric] = class_influence(
            model.design[:, numeric], classes, min_records=policy.threshold, top=top
        )
    elif model.output.SUMS_LABEL:
        result = model.influence(top)
        labels = SortedGroups(model.numbers, np.zeros(len(model.numbers), dtype=np.int64), 1)
        equations, of_residuals = result.equations, result.residuals >= limit
        of_label, below_ratio = bool(by_share(labels, policy)[0]), bool(by_ratio(labels, policy)[0])
    dominated = [
        name for name, share in zip(formula.names, equations, strict=True) if share >= limit
    ]
    which = f"the score equations of {count_phrase(len(dominated), formula.size, 'coefficient')}"
    sums = [
        *(["the label's sum"] if of_label else []),
        *([which] if dominated else []),
        *(["the squared residuals"] if of_residuals else []),
    ]
    share = f"The {top} largest contributions make up at least {limit:.0%} of "
    sentence = share + f"{' and of '.join(sums)}." if sums else ""
    if below_ratio:
        sentence += f" Without its two largest values the label's sum is less than {policy.p_ratio:.0%} of the largest."
    where = [
        *dominated,
        *(["the label"] if of_label or below_ratio else []),
        *(["the residuals"] if of_residuals else []),
    ]
    yield RuleOutcome(
        where,
        max(formula.size, len(where)),
        clear_sentence=f"The {top} largest contributions make up less than {limit:.0%} of the label's sum, of every score equation and of the squared residuals.",
        sentence=sentence.strip(),
    )


@RULES.register(
    Rule("leverage", "Does one person decide a fitted value alone?", ("nk_k",))
).looks_at(FittedModel)
def _leverage(model: FittedModel, policy: Policy) -> Iterator[RuleOutcome]:
    """Whether one person decides a fitted value alone."""
    if model.is_large:
        return
    limit, classes = policy.nk_k, model.classes(policy)
    alone = classes is None and model.influence(policy.nk_n).leverage >= limit
    yield RuleOutcome(
        ["the fit"] if alone else [],
        1,
        clear_sentence=f"Nobody's leverage is {limit:.0%} or more.",
        sentence=f"The leverage of one person is at least {limit:.0%}: the fitted value at their covariates is nearly their own label.",
    )


def _few_groups(piece: ModelGroups, policy: Policy) -> Iterator[RuleOutcome]:
    where, threshold = [piece.column] if piece.n_groups < policy.threshold else [], policy.threshold
    yield RuleOutcome(
        where,
        1,
        clear_sentence=f"There are {threshold} groups or more.",
        sentence=f"There are fewer than {threshold} groups, so that what is between groups is about few of them.",
        status="review",
    )


@RULES.register(
    Rule(
        "exact labels",
        "Do coefficients printed in full give the labels that they pass through?",
        (),
    )
).looks_at(InterpolatingFit)
def _exact_labels(piece: InterpolatingFit, policy: Policy) -> Iterator[RuleOutcome]:
    yield RuleOutcome(
        ["coefficients"] if piece.in_full else [],
        1,
        clear_sentence="Coefficients are rounded, so that they do not give the label of any one record exactly.",
        sentence="Coefficients are printed in full: a quantile regression passes through the labels of some records, which are then given exactly.",
        status="review",
    )


RULES.register(Rule("few groups", "Are a model's groups few?", looks={ModelGroups: _few_groups}))

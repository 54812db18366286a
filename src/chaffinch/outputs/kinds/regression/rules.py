"""Rules on regressions and correlations: residual degrees of freedom, and the covariate patterns behind the coefficients.

Degrees of freedom count records. A model with as many parameters as there are patterns of covariates is a table of means or proportions in
disguise, however many records it has: y ~ C(A)*C(B) tells the share of y in every cell of A by B. By the rules of patsy that `formula.py`
follows, a term in the levels of some columns puts the indicators of all their combinations into the span of the design, the
reference's included; so each combination with few people is a small group behind a coefficient.

Coefficients stand for sums over people (the score equations), so the rules for sums hold for them: no few people may make up most of the label, of a score equation or of
the squared residuals, and nobody may decide a fitted value alone (`stats/glm.py` has the formulas).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ....counts.tally import count_cells
from ....stats.glm import class_influence, influence
from ....table.compare.classes import class_ids
from ...cells import scalar_code
from ...domain import Codes, Fields, Ints
from ...families import BINARY
from ...formula import Factor, Formula, Term
from ...rules.cell_counts import CellCounter, CellCounts
from ...rules.counts import degrees_of_freedom, threshold
from ...rules.findings import RuleFinding, finding, some
from ...rules.magnitudes import dominance
from ...rules.policy import Policy
from ..model import ModelSpec, design_of, label_of
from .spec import RegressionSpec

MOST_CELLS = 3_000
"""The most indicators whose rank is worked out; beyond, their number stands in for it."""


@dataclass(frozen=True, eq=False)
class Patterns:
    """The patterns of covariates that a model can tell apart: the columns that make them, and the one of each record, from 0 without gaps.

    `parameters` are the independent ones, as far as they tell patterns apart.
    """

    columns: tuple[int, ...]
    pattern: Ints
    parameters: int

    @cached_property
    def counts(self) -> Ints:
        """The number of records of each pattern."""
        return _sizes(self.pattern)

    @property
    def share(self) -> float:
        """Parameters to patterns: 1 for a saturated model."""
        return self.parameters / max(len(self.counts), 1)


def regression_rules(
    output: RegressionSpec, tallies: list[CellCounts], counter: CellCounter, policy: Policy
) -> list[RuleFinding]:
    """Return what n, degrees of freedom, covariate patterns, groups behind coefficients and equal labels say of a regression."""
    records = counter.inside
    formula = output.compiled(counter.frame, records if len(records) else None)
    label, few_labels = _labels(output, counter.fields, formula, records)
    outcomes = max(len(np.unique(label)) - 1, 1) if output.kind == "multinomial" else 1
    return model_rules(
        output,
        formula,
        tallies,
        counter,
        policy,
        label=label,
        few_labels=few_labels,
        parameters=formula.size * outcomes,
    )


def model_rules(
    output: ModelSpec,
    formula: Formula,
    tallies: list[CellCounts],
    counter: CellCounter,
    policy: Policy,
    *,
    label: Ints,
    few_labels: bool,
    parameters: int,
    events: Ints | None = None,
) -> list[RuleFinding]:
    """Return the same for any model of a formula: `label` is a number of each record, one of a few classes or not; `events` are 1 where an event is."""
    name, kind, fields, records = output.name, output.kind, counter.fields, counter.inside
    n = [one for one in tallies if one.part == "n"]
    findings = threshold(n, policy) if n else []
    findings += [degrees_of_freedom(name, kind, len(records) - parameters, policy)]
    if not len(records):
        return findings
    groups = _groups(formula.source_terms, fields, records)
    return [
        *findings,
        _patterns(output, formula, fields, records, label if few_labels else None, policy),
        _small(name, kind, formula, groups, records, policy),
        _equal(name, kind, groups, label, few_labels, policy),
        *([] if events is None else [_events(name, kind, groups, events, policy)]),
        *_influence(output, formula, fields, records, label if few_labels else None, policy),
    ]


MOST_ENTRIES = 50_000_000
"""Entries of a design that is written out to look for dominant records."""


def _influence(
    output: ModelSpec,
    formula: Formula,
    fields: Fields,
    records: Codes,
    label: Ints | None,
    policy: Policy,
) -> list[RuleFinding]:
    """Whether a few people dominate the label, a score equation or the squared residuals, and whether one decides a fitted value alone.

    `label`: the class of each record, where the label is one of a few classes; the sums are then those of each numeric column over the people of a class, as they are for
    a label of two numbers, both of them common.
    """
    name, kind, rule = output.name, output.kind, "dominance in a regression"
    if len(records) * formula.size > MOST_ENTRIES:
        bad = f"Whether a few people dominate the fit was not looked at: the design has more than {MOST_ENTRIES:,} entries."
        return [
            finding(
                name,
                kind,
                rule,
                ["the fit"],
                of=formula.size,
                good="",
                bad=bad,
                status="not assessed",
            )
        ]
    x, _ = design_of(formula, records)
    top, limit = policy.nk_n, policy.nk_k
    equations, of_label, by_ratio, of_residuals, leverage = (
        np.zeros(formula.size),
        False,
        False,
        False,
        0.0,
    )
    numbers, classes = np.zeros(0), label
    if label is None:
        numbers = label_of(formula, fields, records)
        high = numbers == numbers.max()
        if len(np.unique(numbers)) <= 2 and min(high.sum(), (~high).sum()) >= policy.threshold:
            classes = high.astype(np.int64)
    if classes is not None:
        numeric = np.array(
            [
                any(level is None for _, level in coefficient)
                for coefficient in formula.coefficients
            ],
            dtype=bool,
        )
        equations[numeric] = class_influence(
            x[:, numeric], classes, min_records=policy.threshold, top=top
        )
    else:
        result = influence(x, numbers, top=top)
        leverage = result.leverage
        if output.SUMS_LABEL:
            broken = dominance(numbers, np.zeros(len(numbers), dtype=np.int64), 1, policy)
            equations, of_residuals = result.equations, result.residuals >= limit
            of_label, by_ratio = bool(broken.nk[0]), bool(broken.p_ratio[0])
    dominated = [
        called for called, share in zip(formula.names, equations, strict=True) if share >= limit
    ]
    sums = [
        *(["the label's sum"] if of_label else []),
        *(
            [f"the score equations of {some(len(dominated), formula.size, 'coefficient')}"]
            if dominated
            else []
        ),
        *(["the squared residuals"] if of_residuals else []),
    ]
    bad = (
        f"The {top} largest contributions make up at least {limit:.0%} of {' and of '.join(sums)}."
        if sums
        else ""
    )
    if by_ratio:
        bad += f" Without its two largest values the label's sum is less than {policy.p_ratio:.0%} of the largest."
    good = f"The {top} largest contributions make up less than {limit:.0%} of the label's sum, of every score equation and of the squared residuals."
    where = [
        *dominated,
        *(["the label"] if of_label or by_ratio else []),
        *(["the residuals"] if of_residuals else []),
    ]
    alone = ["the fit"] if leverage >= limit else []
    decided = f"The leverage of one person is at least {limit:.0%}: the fitted value at their covariates is nearly their own label."
    return [
        finding(
            name, kind, rule, where, of=max(formula.size, len(where)), good=good, bad=bad.strip()
        ),
        finding(
            name,
            kind,
            "leverage",
            alone,
            of=1,
            good=f"Nobody's leverage is {limit:.0%} or more.",
            bad=decided,
        ),
    ]


def _events(
    name: str, kind: str, groups: list[_Group], events: Ints, policy: Policy
) -> RuleFinding:
    """Whether few people with the event are in a group that coefficients tell apart, or in all."""
    least, where, of = policy.threshold, list[str](), 0
    every = _Group("", np.zeros(len(events), dtype=np.int64), ("everyone",))
    for group in [every, *groups]:
        counts = np.bincount(group.cell, weights=events, minlength=len(group.names))
        of += len(counts)
        where += [group.names[k] for k in np.flatnonzero((counts > 0) & (counts < least))]
    good = f"In every group that coefficients tell apart {least} people or more have the event, or none."
    bad = f"Fewer than {least} people have the event in {some(len(where), of, 'group')} that coefficients tell apart."
    return finding(name, kind, "few events", where, of=of, good=good, bad=bad, status="review")


def _labels(
    output: RegressionSpec, fields: Fields, formula: Formula, records: Codes
) -> tuple[Ints, bool]:
    """The label of each record as a number, and whether it is one of a few classes."""
    columns, kind = formula.label.columns, output.kind
    binary = kind in BINARY or (kind == "glm" and output.family == "binomial")
    if binary and (output.success is not None or formula.label.categorical) and len(columns) == 1:
        field = fields.every[columns[0]]
        success = scalar_code(field, output.success, output=output.name, key="success")
        return (records[:, columns[0]] == success).astype(np.int64), True
    key = _key(records, columns)
    return key, binary or kind == "multinomial"


def _key(records: Codes, columns: tuple[int, ...]) -> Ints:
    """A number for each record's combination of levels, from 0 on, without gaps."""
    return class_ids(records[:, columns])[0]


def _sizes(numbers: Ints) -> Ints:
    """How many records have each of the numbers from 0 on."""
    return count_cells([numbers], [int(numbers.max(initial=-1)) + 1])


def _design(formula: Formula, patterns: Codes) -> NDArray[np.float64]:
    """The design of some records, dense."""
    out = np.zeros((len(patterns), formula.size))
    for terms in formula.terms:
        at = terms.keys(patterns)
        for row, (first, last) in enumerate(
            zip(terms.starts[at], terms.starts[at + 1], strict=True)
        ):
            out[row, terms.equations[first:last]] += terms.values[first:last]
    return out


def patterns_of(
    formula: Formula, fields: Fields, records: Codes, *, saturation: float = 0.8
) -> Patterns:
    """Return the distinct rows of the design, and its rank; the number of columns where patterns are so many that it cannot matter.

    Examples
    --------
    >>> from chaffinch.outputs.domain import Field
    >>> from chaffinch.outputs.formula import read_formula
    >>> fields = Fields((Field("y", (0, 1)), Field("a", ("p", "q")), Field("b", ("r", "s"))))
    >>> records = np.array([[0, 0, 0], [1, 0, 1], [0, 1, 0], [1, 1, 1], [1, 1, 1]], dtype=np.int32)
    >>> [patterns_of(read_formula(f"y ~ {right}", fields), fields, records).share for right in ("a + b", "a * b")]
    [0.75, 1.0]
    """
    columns = tuple(sorted({column for terms in formula.terms for column in terms.columns}))
    key = _key(records, columns)
    first = np.unique(key, return_index=True)[1]
    # Rows of the design that are equal have equal products with random vectors; others differ, but for one chance in very many.
    vectors = np.random.default_rng(1).normal(size=(formula.size, 2))
    products = sum(
        (terms.times(vectors).of(records[first]) for terms in formula.terms),
        np.zeros((len(first), 2)),
    )
    scale = np.maximum(np.abs(products).max(axis=0, initial=0.0), 1e-300)
    _, at, inverse = np.unique(
        np.round(products / scale, 11), axis=0, return_index=True, return_inverse=True
    )
    pattern = np.asarray(inverse, dtype=np.int64).ravel()[key]
    if len(at) > max(4.0 if formula.size <= 400 else 1.0, 1.0 / saturation) * formula.size:
        return Patterns(columns, pattern, formula.size)
    rows = _design(formula, records[first[at]])
    largest = np.abs(rows).max(axis=0)
    rank = int(np.linalg.matrix_rank(rows / np.where(largest > 0, largest, 1.0)))
    return Patterns(columns, pattern, rank)


def _levels_only(terms: tuple[Term, ...], fields: Fields, records: Codes) -> Patterns | None:
    """The patterns of the columns that stand in terms of levels alone, and the rank of those terms; None without any."""
    plain = [
        tuple(sorted({c for f in term for c in f.columns}))
        for term in terms
        if term and all(f.categorical for f in term)
    ]
    largest = [one for one in set(plain) if not any(set(one) < set(other) for other in plain)]
    if not largest:
        return None
    columns = tuple(sorted({column for one in largest for column in one}))
    pattern = _key(records, columns)
    first = np.unique(pattern, return_index=True)[1]
    cells = [_key(records[first], one) for one in largest]
    size = sum(int(one.max()) + 1 for one in cells)
    if size > MOST_CELLS or size < 0.5 * len(first):
        return Patterns(columns, pattern, min(size, len(first)))
    indicators = np.concatenate([np.eye(int(one.max()) + 1)[one] for one in cells], axis=1)
    return Patterns(columns, pattern, int(np.linalg.matrix_rank(indicators)))


def _patterns(
    output: ModelSpec,
    formula: Formula,
    fields: Fields,
    records: Codes,
    label: Ints | None,
    policy: Policy,
) -> RuleFinding:
    """Whether the model is a table in disguise, with few people in one of its cells."""
    least = policy.pattern_least
    every = [
        patterns_of(formula, fields, records, saturation=policy.saturation),
        _levels_only(formula.source_terms, fields, records),
    ]
    tables = [one for one in every if one is not None and one.share >= policy.saturation]
    worst, of, split = list[str](), 0, False
    for one in tables:
        small, by_label = one.counts < least, False
        if label is not None and one.parameters == len(one.counts) and not small.any():
            # Saturated to the last cell: its proportions are those of a table of the label, too.
            cells, people = np.unique(np.stack([one.pattern, label]), axis=1, return_counts=True)
            small[cells[0, people < least]], by_label = True, True
        if small.sum() > len(worst) or not of:
            worst, of, split = (
                _called(one, np.flatnonzero(small), fields, records),
                len(one.counts),
                by_label,
            )
    what = f"The model has nearly as many parameters as patterns of covariates, so it is a table in disguise, of {of} patterns"
    good = (
        f"{what}; none has few people."
        if tables
        else "The model has far fewer parameters than patterns of covariates."
    )
    about = "and some pattern, by label, has" if split else "and some pattern has"
    return finding(
        output.name,
        output.kind,
        "covariate patterns",
        worst,
        of=of,
        good=good,
        bad=f"{what}, {about} fewer than {least} people.",
    )


def _called(one: Patterns, which: Ints, fields: Fields, records: Codes) -> list[str]:
    """Patterns by the levels of their first record; for the inside."""
    first = np.unique(one.pattern, return_index=True)[1]
    return [
        ", ".join(
            f"{fields.names[c]} = {fields.every[c].labels[int(records[first[k], c])]}"
            for c in one.columns
        )
        for k in which
    ]


@dataclass(frozen=True, eq=False)
class _Group:
    """The combinations of levels of one term, as what leaves may have it, and the one of each record."""

    safe_term: str
    cell: Ints
    names: tuple[str, ...]


def _groups(terms: tuple[Term, ...], fields: Fields, records: Codes) -> list[_Group]:
    """For each term the combinations of its categorical factors that occur; terms of numbers alone have none."""
    groups: dict[tuple[str, ...], _Group] = {}
    for term in terms:
        factors = [factor for factor in term if factor.categorical]
        texts = tuple(factor.text for factor in factors)
        if not factors or texts in groups:
            continue
        columns = tuple(factor.columns[0] for factor in factors)
        cell = _key(records, columns)
        first = np.unique(cell, return_index=True)[1]
        names = tuple(":".join(_level(f, fields, row) for f in factors) for row in records[first])
        groups[texts] = _Group(":".join(factor.safe_text for factor in factors), cell, names)
    return list(groups.values())


def _level(factor: Factor, fields: Fields, record: NDArray[np.int32]) -> str:
    column = factor.columns[0]
    return f"{factor.text}[{fields.every[column].labels[int(record[column])]}]"


def _small(
    name: str, kind: str, formula: Formula, groups: list[_Group], records: Codes, policy: Policy
) -> RuleFinding:
    """Whether fewer people than the threshold are behind a coefficient."""
    least, where, terms = policy.threshold, list[str](), list[str]()
    of = 0
    for group in groups:
        counts = _sizes(group.cell)
        bad = np.flatnonzero(counts < least)
        of += len(counts)
        where += [group.names[k] for k in bad]
        terms += [group.safe_term] if len(bad) else []
    for name_of, coefficient, few in zip(
        formula.names, formula.coefficients, _carriers(formula, records, least), strict=True
    ):
        # A number, or a number within a level, of which hardly anyone has another value than the most common one.
        if few and any(level is None for _, level in coefficient):
            where.append(name_of)
            terms.append(":".join(factor.safe_text for factor, _ in coefficient))
    of = max(of, len(where), formula.size)
    shown = ", ".join(dict.fromkeys(terms))
    return finding(
        name,
        kind,
        "small group behind a coefficient",
        where,
        of=of,
        good=f"Behind every coefficient there are {least} people or more.",
        bad=f"Fewer than {least} people are behind {some(len(where), of, 'group')} that coefficients tell apart, in {shown}.",
    )


def _carriers(formula: Formula, records: Codes, least: int) -> list[bool]:
    """For each column of the design whether fewer records than `least`, but some, differ from its most common value."""
    few = [False] * formula.size
    for terms in formula.terms:
        if not terms.columns:
            continue
        counts = count_cells([records[:, c] for c in terms.columns], terms.sizes).ravel()
        at = np.repeat(np.arange(len(counts)), np.diff(terms.starts))
        seen = counts[at] > 0
        weights, equations, values = counts[at][seen], terms.equations[seen], terms.values[seen]
        for equation in np.unique(equations):
            mine = equations == equation
            distinct, of = np.unique(values[mine], return_inverse=True)
            people = np.bincount(of.ravel(), weights=weights[mine], minlength=len(distinct))
            zero = len(records) - people.sum()
            few[equation] = bool(0 < len(records) - max(people.max(), zero) < least)
    return few


def _equal(
    name: str, kind: str, groups: list[_Group], label: Ints, few_labels: bool, policy: Policy
) -> RuleFinding:
    """Whether all people of a group have the same label: its coefficient runs off, and tells everyone's label."""
    where, of = list[str](), 0
    for group in groups:
        size = int(group.cell.max()) + 1
        least = np.full(size, np.iinfo(np.int64).max)
        most = np.full(size, -1, dtype=np.int64)
        np.minimum.at(least, group.cell, label)
        np.maximum.at(most, group.cell, label)
        of += size
        where += [group.names[k] for k in np.flatnonzero(least == most)]
    if not groups and len(np.unique(label)) == 1:
        where, of = ["everyone"], 1
    return finding(
        name,
        kind,
        "perfect prediction",
        where,
        of=max(of, 1),
        good="In no group that coefficients tell apart do all people have the same label.",
        bad=f"In {some(len(where), max(of, 1), 'group')} that coefficients tell apart all people have the same label.",
        status="fail" if few_labels and policy.zeros_are_disclosive else "review",
    )

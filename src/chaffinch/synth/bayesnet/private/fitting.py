"""The private fit: single columns, then how far pairs are from independence, then the tables that are worth their noise.

1. Tables of single columns; under Gaussian noise in two looks, the second where levels are filled.
2. The distance of every pair's table from the product of its columns, as one query: a model made of released numbers is a constant, so
   one record moves each distance by at most one half, and all of them together cost little. Where there are so many pairs that these would
   drown in noise, a few are chosen first, one by one. Distances of triples, for what no pair shows.
3. A search over networks on these distances, each less the error that measuring the pair would add; no link where none pays. A given
   network needs no search.
4. The tables of the chosen links, with all that is left. Everything after reads released numbers only.

Amounts add up in the ledger: the promise is its total, for its relation. Proofs stand with each query in `privacy.counter`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from ...._base.runtime import Progress, silent
from ...._base.seeds import Seed, generator
from ....counts.marginal import Marginal
from ....counts.plan import Columns
from ....privacy.counter import PrivateCounter
from ....privacy.ledger import Plan
from ....privacy.relation import PrivacyUnit
from ....privacy.session import plan_budget, public_rows, start_private_session
from ....table.schema import Schema
from ...data import private_data
from ...noisy import Counts, column_noise, private_model, product_of
from ...settings import noise_step
from ..model import BayesNetModel, FitSummary
from ..network import Rules, parents_first
from ..protection import Cut, Protection, cut_pairs, protected_schema, through_label
from .assemble import Assembled, assemble, searched_parents, with_fewer_parents
from .links import (
    FEW_ALARMS,
    FIRST_LOOK,
    TRIPLES,
    Candidates,
    Gaps,
    StepShares,
    Wants,
    amounts_for,
    bar_of,
    column_error,
    filled_cells,
    measured_gaps,
    picks_of,
    possible_pairs,
    shares_of,
    shortlisted_gaps,
    single_columns,
    triples_of,
    triples_show,
    worth,
)
from .measurements import Measurements

if TYPE_CHECKING:
    from ..settings import BayesNet


_REST = 1e-9
"""The part of a budget that rounding may leave: nothing is measured with it."""

MOST_PAIRS = 500
"""Pairs over which the noise of columns is averaged; where there are more, evenly spaced ones."""


def fit_private(
    settings: BayesNet, source: Any, *, seed: Seed = None, progress: Progress = silent
) -> BayesNetModel:
    """Return a network fitted under the promise that the settings ask for."""
    rng = generator(seed)
    data, origin = private_data(source)
    with start_private_session(
        data, settings.budget, settings.unit, seed=None if seed is None else rng
    ) as counter:
        rules = settings.rules(counter.schema.names)
        protected_schema(
            counter.schema, settings.label, settings.sensitive, settings.protect
        )  # raises before anything is spent
        if settings.network is not None:
            settings.given_parents(rules)  # raises before anything is spent
        rows, how = public_rows(counter)
        shares = _shares(
            settings, rules, counter.schema, rows, counter.ledger.remaining, counter.unit
        )
        if settings.parents is None:
            error = column_error(
                counter.ledger.remaining,
                counter.schema.sizes,
                rows,
                counter.unit,
                pure=counter.pure,
            )
            rules = with_fewer_parents(rules, error)
        progress("measuring single columns", -1)
        known = Measurements.for_schema(counter.schema)
        _measure_columns(counter, shares.margins, known, "single columns")
        progress("measuring links", -1)
        assembled, gaps = _learn(settings, counter, rules, shares, known, rng)
    summary = FitSummary(
        method="bayesnet",
        search="given" if settings.network is not None else settings.search,
        score="distance",
        label=settings.label,
        sensitive=tuple(settings.sensitive),
        protection=noisy_protection(settings, rules, gaps, assembled, known.total),
        parents=rules.max_parents,
        note=paying_note(
            known.margins,
            known.stds,
            known.total,
            gaps,
            edges=sum(map(len, assembled.parents)),
            every_pair=gaps is not None and len(gaps.cliques) == comb(rules.d, 2),
        ),
        privacy=counter.ledger.account(test_only=counter.test_only, rows=rows, rows_how=how),
        draw=settings.drawing,
    )
    return private_model(
        counter.schema, assembled.order, assembled.parents, assembled.tables, summary, origin=origin
    )


def plan_private(settings: BayesNet, schema: Schema) -> Plan:
    """Return how the budget would be split under a schema, before anything is spent; raise if the settings do not fit it."""
    budget_plan = plan_budget(schema, settings.budget, settings.unit)
    rules = settings.rules(budget_plan.schema.names)
    protected_schema(budget_plan.schema, settings.label, settings.sensitive, settings.protect)
    if settings.network is not None:
        settings.given_parents(rules)
    if not budget_plan.settled:
        return budget_plan.plan_unsettled(
            "tables of single columns, distances, tables of links, all"
        )
    pure = budget_plan.budget.kind == "pure"
    shares = _shares(
        settings,
        rules,
        budget_plan.schema,
        budget_plan.schema.rows or 0,
        budget_plan.remaining,
        budget_plan.unit,
    )
    steps = (
        ("tables of single columns, all", "single columns", shares.margins),
        ("distances of pairs from independence", "what is worth measuring", shares.distances),
        ("distances of triples from independence", "what is worth measuring", shares.triples),
        ("tables of links that are worth it, all", "links", shares.tables),
    )
    return budget_plan.plan([noise_step(*step, pure=pure) for step in steps if step[2]])


def _shares(
    settings: BayesNet, rules: Rules, schema: Schema, rows: int, amount: float, unit: PrivacyUnit
) -> StepShares:
    searched, pure = settings.network is None, settings.budget.kind == "pure"
    wants = Wants(
        links=not searched or bool(settings.sensitive) or any(rules.required),
        distances=searched or bool(settings.sensitive),
        triples=searched
        and settings.most_parents > 1
        and triples_show(len(schema.sizes), rows, TRIPLES * amount, unit, pure=pure),
    )
    return shares_of(amount, schema.sizes, rows, unit, pure=pure, wants=wants)


def _measure_columns(counter: PrivateCounter, amount: float, known: Measurements, why: str) -> None:
    """Measure all single columns; what was measured before counts too.

    A first look shares by declared levels, and the rest by those that hold more than noise. Not under pure epsilon, where two
    looks tell less than one that costs as much.
    """
    columns = [(i,) for i in range(len(known.sizes))]
    if not known.margins:
        first = amount if counter.pure else FIRST_LOOK * amount
        known.add(columns, single_columns(counter, first, why=why))
        amount -= first
    if amount > 0:
        looked = [
            std * FIRST_LOOK**0.5 for std in known.stds
        ]  # what noise would be if all were spent so
        known.add(
            columns,
            single_columns(counter, amount, why=why, cells=filled_cells(known.margins, looked)),
        )


def _learn(
    settings: BayesNet,
    counter: PrivateCounter,
    rules: Rules,
    shares: StepShares,
    known: Measurements,
    rng: np.random.Generator,
) -> tuple[Assembled, Gaps | None]:
    gaps = _gaps(counter, rules, shares, known) if shares.distances else None
    triples: list[Columns] = []
    if settings.network is not None:
        parents = dict(enumerate(settings.given_parents(rules)))
    elif gaps is None:
        parents = dict.fromkeys(range(rules.d), ())
    else:
        triples = _interactions(counter, rules, shares, known, gaps, rng)
        parents = searched_parents(settings, counter, rules, gaps, triples, rng)
    links = dict.fromkeys(
        tuple(sorted((child, p))) for child, chosen in parents.items() for p in chosen
    )
    # A triple is measured where one of its columns has the two others as parents.
    inside = [t for t in triples if any(set(t) <= {child, *parents[child]} for child in t)]
    cliques = [*links, *inside]
    if cliques:
        _measure(counter, cliques, known)
    elif counter.ledger.remaining > _REST * counter.ledger.total:
        _measure_columns(counter, counter.ledger.remaining, known, "single columns, again")
    order = parents_first((i for block in rules.blocks for i in block), parents)
    return assemble(rules, order, parents, known.margins, known.tables, rng), gaps


def _gaps(counter: PrivateCounter, rules: Rules, shares: StepShares, known: Measurements) -> Gaps:
    """The distances of all pairs from independence; pairs that protection cuts are among them, for what it costs to be told."""
    pairs = possible_pairs(counter.schema.sizes)
    candidates = Candidates(pairs, known.margins, known.stds, known.total)
    picks = picks_of(
        len(pairs), rules.d, known.total, shares.distances, counter.unit, pure=counter.pure
    )
    if picks:
        return shortlisted_gaps(
            counter, candidates, shares.distances, picks, "what is worth measuring"
        )
    return measured_gaps(counter, candidates, shares.distances, "what is worth measuring")


def _interactions(
    counter: PrivateCounter,
    rules: Rules,
    shares: StepShares,
    known: Measurements,
    pairs: Gaps,
    rng: np.random.Generator,
) -> list[Columns]:
    """Triples that are farther from independence than all of their pairs together: an interaction that no pair shows."""
    triples = triples_of(rules, counter.schema.sizes, rng) if shares.triples else []
    if not triples:
        return []
    candidates = Candidates(triples, known.margins, known.stds, known.total)
    gaps = measured_gaps(counter, candidates, shares.triples, "what is worth measuring")
    of_pair = {
        pair: max(float(v), 0.0) for pair, v in zip(pairs.cliques, pairs.values, strict=True)
    }
    beyond = np.array(
        [
            value - sum(of_pair.get(pair, 0.0) for pair in combinations(triple, 2))
            for triple, value in zip(gaps.cliques, gaps.values, strict=True)
        ]
    )
    std = (gaps.std**2 + 3 * pairs.std**2) ** 0.5
    bar = bar_of(len(triples), std, FEW_ALARMS, pure=counter.pure)
    interactions = Gaps(
        gaps.cliques, beyond, std, gaps.curves, np.minimum(beyond, gaps.excess), bar
    )
    return worth(interactions, counter.ledger.remaining, counter, max_cliques=rules.d)


def _measure(counter: PrivateCounter, cliques: Sequence[Columns], known: Measurements) -> None:
    """Measure tables with all that is left and estimate them."""
    names = counter.schema.names
    models = [product_of(clique, known.margins, known.total) for clique in cliques]
    amounts = amounts_for(models, counter.ledger.remaining, pure=counter.pure)
    noisy = counter.tables(
        [tuple(names[c] for c in clique) for clique in cliques], amounts, why="links"
    )
    known.add(cliques, noisy)


def paying_note(
    margins: Sequence[Counts],
    stds: Sequence[float],
    total: float,
    gaps: Gaps | None,
    *,
    edges: int,
    every_pair: bool,
) -> str:
    """Return a sentence where links did not pay; empty where they did.

    Noise in single columns moves the tables of pairs, in a model of independent columns as in any other. Where all pairs were looked at,
    that is put beside the mean distance of pairs from independence, which is what leaving out all links costs.
    """
    if len(margins) < 2:
        return ""
    noise = _pair_noise(margins, stds, total)
    sentence = (
        ""
        if edges
        else "No link was worth its noise: columns are drawn independently of each other."
    )
    if every_pair and gaps is not None and len(gaps.cliques):
        links = min(float(np.mean(gaps.values)) / total, 1.0)
        if noise > links:
            more = (
                f"Noise moves tables of two columns by about {noise:.2g} on average, and leaving out all links would by about "
                f"{links:.2g}: at this budget no private model is nearer to the data than independent columns without noise."
            )
            return f"{sentence} {more}".strip()
    return sentence


def _pair_noise(margins: Sequence[Counts], stds: Sequence[float], total: float) -> float:
    """The mean distance by which noise in single columns moves the product of two, as a part of the records."""
    pairs = possible_pairs([len(margin) for margin in margins])
    if not pairs:
        return 0.0
    sampled_pairs = pairs[:: -(-len(pairs) // MOST_PAIRS)]
    noises = [
        column_noise(pair, product_of(pair, margins, total), margins, stds)
        for pair in sampled_pairs
    ]
    return min(float(np.mean(noises)) / total, 1.0)


def noisy_protection(
    settings: BayesNet, rules: Rules, gaps: Gaps | None, assembled: Assembled, total: float
) -> Protection | None:
    """Return the pairs that protection cuts, with what they tell of each other at least.

    The information of a pair is a lower bound from its noisy distance t from independence, 2 t^2 nats (Pinsker's inequality); what passes
    through the label is counted in the model.
    """
    if not settings.sensitive or gaps is None:
        return None
    names = rules.names
    distance = {
        pair: max(float(v), 0.0) / total for pair, v in zip(gaps.cliques, gaps.values, strict=True)
    }
    cuts = []
    for s, o in cut_pairs(names, settings.label, settings.sensitive, settings.protect):
        i, j = names.index(s), names.index(o)
        information = 2 * min(distance.get((min(i, j), max(i, j)), 0.0), 1.0) ** 2
        through = 0.0
        if settings.label is not None:
            label = names.index(settings.label)
            through = through_label(
                _pair(assembled, names, label, i), _pair(assembled, names, label, j)
            )
        cuts.append(Cut(s, o, information, through))
    return Protection(settings.protect, tuple(cuts))


def _pair(assembled: Assembled, names: Sequence[str], a: int, b: int) -> Marginal:
    counts = assembled.sample.counts((a, b))
    return Marginal((names[a], names[b]), counts.shape, counts / counts.sum())

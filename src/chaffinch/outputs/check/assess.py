"""May these outputs leave? One assessment: what datasets evolved from them give away, and what the rules of thumb say.

For each of two folds the outputs are computed from its records alone, many datasets are evolved from the numbers alone, and these datasets
attack the fold's people and people held out. Elliot, Little and Allmendinger do this with one dataset; an ensemble gives an interval.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ..._base.errors import InputError, join_names
from ..._base.masking import masked_count
from ..contradictions import contradictions
from ..document import Outputs
from ..domain import Codes, OutputDomain
from ..margins import KnownMargins
from ..numbers import Compared, compare_numbers
from ..rules import Policy, RuleReport, check_rules
from ..rules.check import not_assessed_by_any
from ..rules.findings import statbarn_of
from .assessment import FEWEST
from .measurement import CheckInputs, Measurement, OutputSet, measure
from .result import CheckedOutput, CheckResult, ResolvedSettings, verdict_of
from .settings import CheckSettings

if TYPE_CHECKING:
    from ..kinds import OutputSpec


MOST_FEW = 2 * FEWEST
"""Complete records without which no attack is measured, however many there are in all: a fold needs so many on either side."""


NOT_REFITTED = "its numbers were not compared with the data, which needs an extra: pip install 'chaffinch[statsmodels]'"


def check_recipes(inputs: CheckInputs) -> CheckResult:
    """Return what outputs give away about the people they come from.

    1. Put the outputs and those released already over the same columns, and the records into their codes.
    2. Compare published numbers with the data, and ask the rules.
    3. Measure what datasets evolved from the outputs give away, unless the rules alone are asked for.
    4. Conclude.

    No output stops another: what cannot be counted, compared or computed on a fold is not assessed, with the reason, and the others are.
    """
    inputs.settings.check_attack()
    began, threshold = time.perf_counter(), inputs.threshold
    outputs, codes = inputs.encode()
    settings, notes = outputs.attackable(inputs.settings)
    inputs.progress("rules", 0.0)
    published = compare_published(outputs.recipes, codes)
    rules = _ask_rules(outputs, codes, inputs.policy, published)
    attacked, measurement = _attack(inputs, outputs, codes, settings)
    left_out = {
        recipe.name: _count_left_out(recipe, outputs.recipes.fields, codes)
        for recipe in outputs.recipes.outputs
    }
    unmeasured = {**published.unseen, **measurement.unmeasured, **inputs.uncertain}
    together = measurement.all
    verdict = verdict_of(
        () if together is None else together.measures,
        measured=None if inputs.settings.rules_only else together is not None,
        reached=1.0 if together is None else together.reached,
        fits=() if together is None else together.fits,
        margins=measurement.margins,
        inconsistent=published.differing,
        not_assessed=[
            (finding.rule, finding.output) for finding in rules if finding.status == "not assessed"
        ],
        unmeasured=unmeasured,
        notes=[*notes, *left_out_sentences(left_out, threshold)],
    )
    inputs.progress("done", 1.0)
    return CheckResult(
        verdict=verdict,
        settings=inputs.settings
        if settings.rules_only
        else replace(
            settings,
            key_sizes=measurement.key_sizes,
            search=measurement.search or settings.search,
        ),
        resolved=ResolvedSettings(
            key_sets=measurement.key_sets,
            margins=measurement.margins or KnownMargins(),
            seed=inputs.seed if isinstance(inputs.seed, int) else None,
        ),
        records=masked_count(len(codes), threshold),
        left_out=round(1.0 - len(attacked) / len(codes), 2),
        outputs=_checked_outputs(
            outputs,
            measurement,
            published,
            unmeasured,
            {name: masked_count(n, threshold) for name, n in left_out.items()},
        ),
        all=together,
        cumulative=measurement.cumulative,
        without=measurement.without,
        agreement=measurement.agreement,
        rules=rules,
        exposed_classes=masked_count(len(measurement.exposed), threshold),
        seconds=round(time.perf_counter() - began, 1),
        exposed=measurement.exposed,
        recipes=outputs.recipes,
        tcaps=measurement.tcaps,
    )


def _ask_rules(
    outputs: OutputSet, codes: Codes, policy: Policy, published: PublishedNumbers
) -> RuleReport:
    """What the rules say of the outputs that want to leave; of one that may be of other records, also that they were asked of all."""
    recipes = outputs.recipes
    report = check_rules(recipes.only(outputs.new), codes, policy, released=outputs.released)
    unvouched = [
        not_assessed_by_any(recipes[name], published.unseen[name]) for name in published.others
    ]
    return replace(report, findings=(*report.findings, *unvouched))


def _attack(
    inputs: CheckInputs, outputs: OutputSet, codes: Codes, settings: CheckSettings
) -> tuple[Codes, Measurement]:
    """The records that take part in an attack, and what it measured: nothing where the rules alone are asked, or too few records are complete."""
    if settings.rules_only:
        return codes, Measurement()
    certain = outputs.but(inputs.uncertain)
    attacked = complete_records(certain, codes, settings)
    if len(attacked) >= min(MOST_FEW, len(codes)):
        return attacked, measure(inputs, certain, attacked, settings)
    why = "too few records have a value in every column of the outputs and keys for an attack to be measured"
    return attacked, Measurement(unmeasured=dict.fromkeys(certain.names, why))


def complete_records(outputs: OutputSet, codes: Codes, settings: CheckSettings) -> Codes:
    """Return the people of an attack: records with a value in every key, every sensitive attribute and every column that datasets are evolved from.

    Datasets have a value in every column, so people without one can be neither matched nor guessed.
    """
    fields, searched = outputs.recipes.fields, outputs.searched(outputs.names)
    wanted = {
        *settings.keys,
        *settings.sensitive,
        *(name for output in searched for name in outputs.columns[output]),
    }
    complete = (
        codes[:, [fields.position(name) for name in fields.names if name in wanted]] >= 0
    ).all(axis=1)
    return codes if (codes >= 0).all() else np.ascontiguousarray(np.maximum(codes[complete], 0))


def left_out_sentences(left_out: Mapping[str, int], threshold: int) -> list[str]:
    """Return how many records with missing values each output leaves out, in a sentence; none where none does.

    Examples
    --------
    >>> left_out_sentences({"a": 3, "b": 63, "c": 0}, 10)
    ["Records with a missing value in a column of an output are not in that output: fewer than 10 in 'a', about 60 in 'b'."]
    """
    counts = {name: masked_count(count, threshold) for name, count in left_out.items() if count}
    if not counts:
        return []
    each = [
        f"{f'fewer than {threshold}' if isinstance(count, str) else f'about {count}'} in '{name}'"
        for name, count in counts.items()
    ]
    return [
        f"Records with a missing value in a column of an output are not in that output: {join_names(each)}."
    ]


def _count_left_out(output: OutputSpec, fields: OutputDomain, codes: Codes) -> int:
    """How many records an output leaves out for missing values."""
    columns = list(output.own_columns(fields))
    return int((codes[:, columns] < 0).any(axis=1).sum()) if columns else 0


def _checked_outputs(
    outputs: OutputSet,
    measurement: Measurement,
    published: PublishedNumbers,
    unmeasured: Mapping[str, str],
    left_out: Mapping[str, int | str],
) -> tuple[CheckedOutput, ...]:
    fits = {} if measurement.all is None else {fit.name: fit for fit in measurement.all.fits}
    return tuple(
        CheckedOutput(
            recipe.name,
            recipe.kind,
            statbarn_of(recipe.kind),
            recipe.name in outputs.old,
            None if recipe.published is None else published.consistent(recipe.name),
            outputs.columns[recipe.name],
            fits.get(recipe.name),
            unmeasured.get(recipe.name, ""),
            outputs.recipes.rules_only.get(recipe.name, ""),
            left_out[recipe.name],
        )
        for recipe in outputs.recipes.outputs
    )


@dataclass(frozen=True)
class PublishedNumbers:
    """What the data say of published numbers."""

    differing: tuple[str, ...] = ()
    """The names of outputs whose numbers the data do not give."""
    unseen: dict[str, str] = field(default_factory=dict)
    """By name, why the numbers of an output could not be compared: it may be of a subset, say."""
    others: tuple[str, ...] = ()
    """The names of those that may be of some of the records, or mean something else: rules on all
    records, as they are read, do not vouch for them.
    """

    def consistent(self, name: str) -> bool | None:
        """Return whether an output's numbers are those of the data; None where they could not be compared."""
        return None if name in self.unseen else name not in self.differing


def compare_published(recipes: Outputs, codes: Codes) -> PublishedNumbers:
    """Return of which outputs the published numbers are not those of the data, each by its own records, and of which that cannot be said."""
    differing: list[str] = []
    others: list[str] = []
    unseen: dict[str, str] = {}
    for name in (recipe.name for recipe in recipes.outputs if recipe.published is not None):
        try:
            records = recipes[name].own_records(recipes.fields, codes)
            spec = recipes.only([name]).published(rows=len(records))
            (comparison,) = compare_numbers(spec, records)
            if comparison.within is False and (
                reading := spec.outputs[0].other_reading(
                    spec.outputs[0].sample(spec.fields, records)
                )
            ):
                unseen[name] = reading
                others.append(name)
            elif (
                comparison.within is False
                and (people := fewer_people(comparison, recipes.fields.threshold)) is not None
            ):
                unseen[name] = _of_a_subset(*people, recipes.fields.threshold)
                others.append(name)
            elif comparison.within is False or (
                comparison.within is None and contradictions(spec, len(records))
            ):
                differing.append(name)
            elif comparison.within is None:
                unseen[name] = NOT_REFITTED
        except InputError as error:
            unseen[name] = str(error)
    return PublishedNumbers(tuple(differing), unseen, tuple(others))


def fewer_people(comparison: Compared, threshold: int) -> tuple[int, int] | None:
    """Return how many people an output says it is of and how many records there are of it, where it may be of some of these records alone; else None.

    That is so where its n is smaller; without n, where each of its counts is at most that of the records, and not all are equal. A count below the
    threshold is one whatever the records are, so such an output is not taken for one of a subset.

    Examples
    --------
    >>> from chaffinch.outputs.numbers import Number
    >>> table = Compared("t", "table", 2, 1, 1.0, 1.0, 0.5, True, (Number("f", 12, 12, 13), Number("m", 20, 20, 20)))
    >>> fewer_people(table, 10), fewer_people(table, 13)
    ((32, 33), None)
    """
    n = next((number for number in comparison.numbers if number.name == "n"), None)
    counts = (
        [n] if n is not None else [number for number in comparison.numbers if number.unit == 0.0]
    )
    if (
        not counts
        or (n is None and len(counts) < len(comparison.numbers))
        or any(0 < number.hi < threshold for number in comparison.numbers if number.unit == 0.0)
    ):
        return None
    fewer = all(number.lo == number.hi and number.hi <= number.value for number in counts) and any(
        number.hi < number.value for number in counts
    )
    return (
        (round(sum(number.hi for number in counts)), round(sum(number.value for number in counts)))
        if fewer
        else None
    )


def _of_a_subset(people: int, records: int, threshold: int) -> str:
    few = (
        f" Fewer than {threshold} people are between the two, whom an output of all records shows."
        if records - people < threshold
        else ""
    )
    return (
        f"Its n is {people} of about {masked_count(records, threshold)} records with its columns: "
        f'a subset? Say which records it is of: where = "...".{few}'
    )

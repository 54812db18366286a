"""Publish less of an output: broader categories and tails coded together, a column or what stands beside the main numbers left out, numbers rounded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..domain import OutputColumn
from ..kinds.base import OutputSpec
from ..rules.cell_counts import CellCounter
from ..rules.system import CellSystem
from .base import MITIGATIONS, MitigatedForm, Mitigation, RuleTrial, Series, has_key

MOST_FORMS = 24
"""Forms of one series that are tried: of columns of many levels, evenly spaced from few merged levels to many."""


class _Band(NamedTuple):
    """Levels that are one group, by code, and how many records it has."""

    codes: tuple[int, ...]
    people: int
    name: str | None


def _band_series(output: OutputSpec, trial: RuleTrial) -> Iterator[Series]:
    if has_key(output, "by", "groups"):
        for column in getattr(output, "by", ()):
            yield _merge_groups(output, trial, column, _smallest_pair)
        if len(getattr(output, "by", ())) > 1:
            for column in getattr(output, "by", ()):
                yield iter([_without_column(output, trial, column)])
    elif has_key(output, "edges", "variable"):
        yield _fewer_edges(output, trial, ends=False)


def _top_code_series(output: OutputSpec, trial: RuleTrial) -> Iterator[Series]:
    if has_key(output, "by", "groups"):
        for column in getattr(output, "by", ()):
            if trial.outputs.fields[column].numeric:
                yield _merge_groups(output, trial, column, _end_pair)
    elif has_key(output, "edges", "variable"):
        yield _fewer_edges(output, trial, ends=True)


def _merge_groups(output: OutputSpec, trial: RuleTrial, column: str, pair: Any) -> Series:
    """Forms in which one more pair of groups of a column is one, until two are left."""
    field, bands = trial.outputs.fields[column], _bands(output, trial, column)
    first, forms = len(bands), []
    while len(bands) > 2 and (joined := pair(bands, field)) is not None:
        first_band, second_band = sorted(joined)
        united = _Band(
            (*bands[first_band].codes, *bands[second_band].codes),
            bands[first_band].people + bands[second_band].people,
            None,
        )
        bands = [
            *bands[:first_band],
            united,
            *bands[first_band + 1 : second_band],
            *bands[second_band + 1 :],
        ]
        forms.append(bands)
    for k in _spread(len(forms)):
        groups = {**getattr(output, "groups", {}), column: _describe_groups(forms[k], field)}
        recipe = trial.recipe_of(output).changed(drop=("withheld",), groups=groups)
        yield MitigatedForm(recipe, f"'{column}' in {len(forms[k])} groups instead of {first}")


def _spread(n: int) -> list[int]:
    return (
        list(range(n))
        if n <= MOST_FORMS
        else sorted({round(k) for k in np.linspace(0, n - 1, MOST_FORMS)})
    )


def _bands(output: OutputSpec, trial: RuleTrial, column: str) -> list[_Band]:
    cells = output.crossing(trial.domain)
    position = trial.outputs.fields.position(column)
    axis = cells.positions.index(position)
    group, names = cells.steps[axis][1], cells.names[axis]
    records = output.own_records(trial.outputs.fields, trial.codes)
    inside = output.filter(trial.domain).record_mask(records)
    people = np.bincount(records[inside, position], minlength=len(group))
    return [
        _Band(tuple(np.flatnonzero(group == k).tolist()), int(people[group == k].sum()), name)
        for k, name in enumerate(names)
        if (group == k).any()
    ]


def _smallest_pair(bands: Sequence[_Band], field: OutputColumn) -> tuple[int, int] | None:
    """The group of fewest records, and of those that it may join the one of fewest: a neighbour among numbers, any among words."""
    for k in sorted(range(len(bands)), key=lambda k: bands[k].people):
        others = (
            [j for j in (k - 1, k + 1) if 0 <= j < len(bands)]
            if field.numeric
            else [j for j in range(len(bands)) if j != k]
        )
        others = [
            j for j in others if not field.numeric or _touch(bands[min(j, k)], bands[max(j, k)])
        ]
        if others:
            return k, min(others, key=lambda j: bands[j].people)
    return None


def _end_pair(bands: Sequence[_Band], field: OutputColumn) -> tuple[int, int] | None:
    """The two groups at the end that has fewer records."""
    ends = [(len(bands) - 2, len(bands) - 1), (0, 1)]
    ends = [(low, high) for low, high in ends if _touch(bands[low], bands[high])]
    return min(
        ends, key=lambda pair: min(bands[pair[0]].people, bands[pair[1]].people), default=None
    )


def _touch(low: _Band, high: _Band) -> bool:
    """Whether no level lies between two groups of numbers."""
    return max(low.codes) + 1 == min(high.codes)


def _describe_groups(bands: Sequence[_Band], field: OutputColumn) -> dict[str, Any]:
    """Groups as a file of outputs has them: ends of numbers, lists of words."""
    out: dict[str, Any] = {}
    for band in bands:
        levels = [field.levels[code] for code in band.codes]
        labels = [field.labels[code] for code in band.codes]
        if field.numeric:
            name = band.name or f"{labels[0]} to {labels[-1]}"
            value: Any = [levels[0], levels[-1]]
        else:
            name, value = band.name or " or ".join(labels), levels
        while name in out:
            name += "'"
        out[name] = value
    return out


def _without_column(output: OutputSpec, trial: RuleTrial, column: str) -> MitigatedForm:
    groups = {
        name: levels for name, levels in getattr(output, "groups", {}).items() if name != column
    }
    by = [name for name in getattr(output, "by", ()) if name != column]
    return MitigatedForm(
        trial.recipe_of(output).changed(drop=("withheld",), by=by, groups=groups),
        f"without '{column}'",
    )


def _fewer_edges(output: OutputSpec, trial: RuleTrial, *, ends: bool) -> Series:
    """Forms of a histogram in which one more pair of neighbouring bins is one."""
    edges: list[float] = list(getattr(output, "edges", ()))
    recipe, first = trial.recipe_of(output), len(edges) - 1
    values = np.asarray(trial.outputs.fields[getattr(output, "variable", "")].values)
    records = output.own_records(trial.outputs.fields, trial.codes)
    inside = output.filter(trial.domain).record_mask(records)
    numbers = values[
        records[inside, trial.outputs.fields.position(getattr(output, "variable", ""))]
    ]
    while len(edges) > 3:
        people = np.histogram(numbers, bins=np.array(edges))[0]
        if ends:
            edge = 1 if people[0] < people[-1] else len(edges) - 2
        else:
            small = int(people.argmin())
            below = people[small - 1] if small > 0 else np.inf
            above = people[small + 1] if small + 1 < len(people) else np.inf
            edge = small if below <= above else small + 1
        edges = [*edges[:edge], *edges[edge + 1 :]]
        yield MitigatedForm(
            recipe.changed(drop=("withheld",), edges=list(edges)),
            f"{len(edges) - 1} bins instead of {first}",
        )


BAND = MITIGATIONS.register(
    Mitigation(
        "band", "broader categories, a column less, fewer bins", _band_series, undoes=("suppress",)
    )
)
TOP_CODE = MITIGATIONS.register(
    Mitigation(
        "top-code", "the ends of a number in one group each", _top_code_series, undoes=("suppress",)
    )
)


OMISSIONS = {
    "n": "the number of records",
    "totals": "the totals",
    "counts": "the counts behind its numbers",
}
"""What is left out, in words, by key."""


def _omission_series(output: OutputSpec, trial: RuleTrial) -> Iterator[Series]:
    recipe = trial.recipe_of(output)
    main = [key for key in output.statistics if key not in output.optional]
    for key, phrase in OMISSIONS.items():
        if key in output.optional and recipe.publishes(key) and (main or key == "n"):
            yield iter([MitigatedForm(_without(recipe, key), f"without {phrase}")])
    if getattr(recipe, "margins", False):
        yield iter(
            [MitigatedForm(recipe.changed(margins=False), "without the totals of rows and columns")]
        )


def _without(recipe: OutputSpec, key: str) -> OutputSpec:
    announced = {name: value for name, value in recipe._announced.items() if name != key}
    return recipe.changed(drop=(key,), announced=announced)


def _ends(output: OutputSpec, trial: RuleTrial) -> Iterator[Series]:
    probabilities = getattr(output, "probabilities", None) or []
    inner = [q for q in probabilities if 0 < q < 1]
    if (
        inner
        and len(inner) < len(probabilities)
        and output.definition.statbarn != "NonLinearConcentrationRatios"
    ):
        yield iter(
            [
                MitigatedForm(
                    trial.recipe_of(output).changed(probabilities=inner),
                    "without the smallest and the largest value",
                )
            ]
        )


OMIT = MITIGATIONS.register(
    Mitigation("leave out", "leave out n, totals or margins", _omission_series)
)
ENDS = MITIGATIONS.register(
    Mitigation("no ends", "leave out the smallest and the largest value", _ends)
)


BASES = (3, 5, 10)
"""Bases that environments use; the threshold of the policy is one more, as with it a small count cannot be told from none."""

EXACT = 4
"""The decimals that a number printed in full is first cut to."""


def _base_series(output: OutputSpec, trial: RuleTrial) -> Iterator[Series]:
    if (
        has_key(output, "base", "rounding")
        and output.definition.statbarn == "Frequencies"
        and getattr(output, "percentages", None) is None
    ):
        yield _bases(output, trial)


def _bases(output: OutputSpec, trial: RuleTrial) -> Series:
    recipe, threshold = trial.recipe_of(output), trial.policy.for_kind(output.kind).threshold
    for base in sorted({*BASES, max(threshold, 2)}):
        if base > int(getattr(output, "base", 1)):
            # A count that is rounded is not withheld as well: the sign would tell that it is small.
            form = recipe.changed(
                drop=("threshold", "bands", "withheld", "suppressed_zeros"),
                base=base,
                rounding="nearest",
            )
            if not _narrows(form, trial):
                yield MitigatedForm(form, f"counts and totals rounded to multiples of {base}")


def _narrows(form: OutputSpec, trial: RuleTrial) -> bool:
    """Whether rounded totals and rounded cells together leave a small count no more room than the policy asks for withheld ones."""
    rules = trial.policy.for_kind(form.kind)
    table, *others = form.tallies(CellCounter(form, trial.outputs.fields, trial.codes))
    small = (table.counts > 0) & (table.counts < rules.threshold)
    if not small.any():
        return False
    limits = CellSystem([table, *others]).ranges(table, others, small, enough=rules.protection)
    return bool((small & (limits.hi - limits.lo < rules.protection)).any())


def _decimals(output: OutputSpec, trial: RuleTrial) -> Iterator[Series]:
    counted = (
        output.definition.statbarn == "Frequencies" and getattr(output, "percentages", None) is None
    )
    if not counted:
        yield _fewer_decimals(output, trial)


def _fewer_decimals(output: OutputSpec, trial: RuleTrial) -> Series:
    recipe = trial.recipe_of(output)
    printed = _most_decimals(recipe)
    for decimals in range(EXACT if printed is None else min(printed - 1, EXACT), -1, -1):
        description = f"numbers printed with {decimals} decimal{'' if decimals == 1 else 's'}"
        yield MitigatedForm(
            recipe.changed(drop=("digits",), decimals=decimals),
            description + ("" if printed is None else f" instead of {printed}"),
        )


def _most_decimals(recipe: OutputSpec) -> int | None:
    """The most decimals that numbers are printed with; None where they are printed in full."""
    styles = [
        style
        for digits in (recipe.digits or {}).values()
        for style in (digits.values() if isinstance(digits, dict) else [digits])
    ]
    places = [
        style if isinstance(style, int) else len(str(style).partition("e")[0].partition(".")[2])
        for style in styles
    ]
    return max([*places, *([] if recipe.decimals is None else [recipe.decimals])], default=None)


ROUND = MITIGATIONS.register(
    Mitigation(
        "round", "round counts and totals to a base", _base_series, undoes=("round", "suppress")
    )
)
DECIMALS = MITIGATIONS.register(
    Mitigation(
        "fewer decimals", "print numbers with fewer decimals", _decimals, undoes=("fewer decimals",)
    )
)

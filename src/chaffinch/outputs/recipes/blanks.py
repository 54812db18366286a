"""An output without its numbers: what is left is how to compute them, and how to print them.

Beside the keys of a file of outputs (`docs/outputs-file.md`) a blank may have

    digits      how numbers are printed, by key: a number of decimals, or an example ("0.0000", "0.000e+00"), or these by name
    bands       words that stand for a range of counts wherever one falls into it: ["<10"]
    withheld    names of numbers that are withheld whatever they are
    threshold   also for means, sums, spreads and quantiles: groups with fewer records are withheld

and `true` in place of numbers that were published beside the main ones: `n`, `totals`, `standard_errors` (or a list of names), `loglik`,
`dispersion`, `alpha`, `at_risk`, `events`, `survival`, and `counts` or `n` of leaves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..._base.errors import InputError, unknown_name
from ..formula import plain_name
from ..kinds.base import Frame, OutputSpec, crossed
from ..kinds.quantiles import QuantileSpec
from ..kinds.regressions import RegressionSpec
from ..kinds.summaries import CorrelationSpec, MomentSpec
from ..kinds.survival import KaplanMeierSpec
from ..kinds.tables import Counted, HistogramSpec, TableSpec
from ..kinds.trees import TreeSpec
from ..precision import count_interval
from ..spec import KINDS
from .given import Given, given_numbers
from .printing import bands_in, digits_in, is_withheld

__all__ = ["blank_of", "check_blank", "cleaned", "has_numbers", "template"]

NUMBERS: dict[type[OutputSpec], tuple[str, ...]] = {
    TableSpec: ("counts", "cells", "values", "totals"),
    HistogramSpec: ("counts",),
    MomentSpec: ("value", "values"),
    CorrelationSpec: ("value", "values"),
    QuantileSpec: ("value", "values"),
    RegressionSpec: ("coefficients", "standard_errors", "loglik", "dispersion"),
    KaplanMeierSpec: ("at_risk", "events", "survival"),
    TreeSpec: (),
}
"""The keys that hold numbers; all kinds also have n."""
BESIDE = ("n", "totals", "standard_errors", "loglik", "dispersion", "at_risk", "events", "survival")
"""Numbers that need not be there: a blank says so by `true`."""
OWN = ("digits", "bands", "withheld")
"""Keys that only blanks have."""


def _is_blank(value: Any, key: str = "") -> bool:
    return value is None or isinstance(value, bool) or (key == "standard_errors" and isinstance(value, list))


def _is_there(value: Any) -> bool:
    return value is not None and value is not False  # 0 is


def _number_keys(cls: type[OutputSpec]) -> tuple[str, ...]:
    return (*NUMBERS[cls], "n")


def _class(entry: Any) -> type[OutputSpec] | None:
    return KINDS.get(entry["kind"]) if isinstance(entry, Mapping) and isinstance(entry.get("kind"), str) else None


def cleaned(entry: Any) -> Any:
    """Return an entry that a specification can read: without the keys of blanks, and without `true` for numbers.

    Where a key is required that a blank need not have, it is there and empty. What is no entry at all is returned as it is: reading it
    will say what is wrong.
    """
    cls = _class(entry)
    if cls is None:
        return entry
    own = OWN if issubclass(cls, Counted) else (*OWN, "threshold", "suppressed_zeros")
    numbers = _number_keys(cls)
    kept = {
        key: value for key, value in entry.items() if key not in own and not (key in numbers and _is_blank(value, key))
    }
    if cls is HistogramSpec:
        kept.setdefault("counts", [])
    if cls is RegressionSpec:
        kept.setdefault("coefficients", {})
        if isinstance(kept.get("alpha"), bool):
            del kept["alpha"]
    if cls is TreeSpec and isinstance(entry.get("leaves"), list):
        kept["leaves"] = [_leaf(leaf) for leaf in entry["leaves"]]
    return kept


def _leaf(leaf: Any) -> Any:
    if not isinstance(leaf, Mapping):
        return leaf
    return {key: value for key, value in leaf.items() if key == "where" or not _is_blank(value)}


def has_numbers(entry: Mapping[str, Any]) -> bool:
    """Return whether an entry has all its numbers, so that it can be published as it stands."""
    cls = KINDS[entry["kind"]]
    flagged = [*_number_keys(cls), *(["alpha"] if cls is RegressionSpec else [])]
    if any(_is_blank(entry.get(key), key) and _is_there(entry.get(key)) for key in flagged):
        return False
    if cls is TreeSpec:
        return all(any(not _is_blank(leaf.get(key)) for key in ("counts", "n")) for leaf in entry["leaves"])
    main = [key for key in NUMBERS[cls] if key not in BESIDE] or NUMBERS[cls]
    return any(not _is_blank(entry.get(key)) for key in main)


def template(entry: Mapping[str, Any]) -> OutputSpec:
    """Return a blank as an output, to compile its filter, groups and formula; its numbers are empty."""
    kept = {key: value for key, value in cleaned(entry).items() if value is not None}
    if isinstance(kept.get("coefficients"), Mapping) and kept.get("alpha") is None and _needs_alpha(entry):
        kept["alpha"] = 1.0
    return KINDS[entry["kind"]].model_validate(kept)


def _needs_alpha(entry: Mapping[str, Any]) -> bool:
    return entry["kind"] == "negative-binomial" or entry.get("family") == "negative-binomial"


def blank_of(entry: Mapping[str, Any], output: OutputSpec, frame: Frame) -> dict[str, Any]:
    """Return an entry without its numbers, rules of precision read off them.

    Parameters
    ----------
    entry
        The entry, with or without numbers.
    output
        The same, `cleaned` and read.
    frame
        The columns.
    """
    cls = type(output)
    numbers = _number_keys(cls)
    blank: dict[str, Any] = {"name": output.name, "kind": output.kind}
    blank |= {key: value for key, value in entry.items() if key not in numbers and value is not None}
    blank["name"] = output.name
    blank |= {key: True for key in numbers if key in BESIDE and _is_there(entry.get(key))}
    if isinstance(output, RegressionSpec):
        blank |= _regression_flags(entry, output, frame)
    if isinstance(output, KaplanMeierSpec) and not any(blank.get(key) for key in NUMBERS[cls]):
        raise InputError(
            f"Output '{output.name}' must say what it has, with numbers or with at_risk = true, events = true or survival = true."
        )
    if isinstance(output, TreeSpec):
        blank["leaves"] = [_leaf_flags(leaf, output, number) for number, leaf in enumerate(entry["leaves"], 1)]
    _check_own(blank)
    given = list(given_numbers(output, frame))
    _infer_counts(blank, [part for part in given if part.counted])
    _infer_numbers(blank, [part for part in given if not part.counted])
    return blank


def _infer_counts(blank: dict[str, Any], given: list[Given]) -> None:
    cells = [cell for part in given for cell in part.numbers]
    if bands := bands_in(cells):
        blank.setdefault("bands", bands)
        least = [count_interval(band, most=2**62) for band in bands if band.startswith("<")]
        if least:
            blank.setdefault("threshold", max(high for _, high in least) + 1)
    unknown = [name for part in given for name, cell in zip(part.names, part.numbers, strict=True) if cell == "?"]
    if unknown:
        blank["withheld"] = list(dict.fromkeys([*blank.get("withheld", []), *unknown]))


def _infer_numbers(blank: dict[str, Any], given: list[Given]) -> None:
    for part in given:
        style = digits_in(part.numbers, part.names)
        if style is not None:
            blank["digits"] = {part.key: style, **blank.get("digits", {})}
        gone = [name for name, number in zip(part.names, part.numbers, strict=True) if is_withheld(number)]
        # With a threshold it is the threshold that withholds; without one the same numbers are withheld again.
        if gone and "threshold" not in blank:
            blank["withheld"] = list(dict.fromkeys([*blank.get("withheld", []), *gone]))


def _check_own(blank: Mapping[str, Any]) -> None:
    what = f"Output '{blank['name']}'"
    threshold = blank.get("threshold")
    if threshold is not None and (isinstance(threshold, bool) or not isinstance(threshold, int) or threshold < 1):
        raise InputError(f"{what}: threshold must be a whole number of at least 1.")
    for key in ("bands", "withheld"):
        words = blank.get(key, [])
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise InputError(f"{what}: {key} must be a list of words.")
    for band in blank.get("bands", []):
        count_interval(band, most=2**62, what=f"{what}: a band")
    digits = blank.get("digits", {})
    if not isinstance(digits, Mapping):
        raise InputError(f'{what}: digits must be given by key, such as digits = {{ loglik = 2, values = "0.00" }}.')
    keys = {*NUMBERS[KINDS[blank["kind"]]], "alpha"}
    for key, style in digits.items():
        if key not in keys:
            raise InputError(f"{what}: digits: {unknown_name('key', key, sorted(keys))}")
        for one in style.values() if isinstance(style, Mapping) else [style]:
            decimals = isinstance(one, int) and not isinstance(one, bool) and 0 <= one <= 15
            example = isinstance(one, str) and one.replace("e+00", "").replace(".", "", 1).strip("0") == "" and one
            if not decimals and not example:
                raise InputError(
                    f'{what}: digits must be a number of decimals, 0 to 15, or an example such as "0.0000" or "0.000e+00".'
                )


def _regression_flags(entry: Mapping[str, Any], output: RegressionSpec, frame: Frame) -> dict[str, Any]:
    """Which standard errors there are, and whether alpha is estimated."""
    flags: dict[str, Any] = {}
    asked = entry.get("standard_errors")
    if isinstance(asked, list | Mapping):
        formula = output.compiled(frame)
        known = formula.names
        by = {plain_name(name): name for name in known} | ({"const": "Intercept"} if "Intercept" in known else {})
        names = []
        for name in asked:
            if plain_name(str(name)) in by:
                names.append(by[plain_name(str(name))])
            elif name != "alpha":
                raise InputError(f"Output '{output.name}': {formula.unknown('standard error', str(name))}")
        flags["standard_errors"] = True if set(names) == set(known) else [name for name in known if name in names]
    coefficients = entry.get("coefficients")
    estimated = entry.get("alpha") is True or (isinstance(coefficients, Mapping) and "alpha" in coefficients)
    if _needs_alpha(entry) and (estimated or entry.get("alpha") is None):
        if entry["kind"] != "negative-binomial":
            raise InputError(f"Output '{output.name}' is a GLM of the negative binomial, so it needs alpha = ...")
        flags["alpha"] = True
    return flags


def _leaf_flags(leaf: Mapping[str, Any], output: TreeSpec, number: int) -> dict[str, Any]:
    asked = [key for key in ("counts", "n") if _is_there(leaf.get(key))]
    if not asked:
        asked = ["n" if output.label is None else "counts"]
    if len(asked) > 1 or (asked == ["counts"] and output.label is None):
        raise InputError(
            f"Output '{output.name}': leaf {number} must have counts, for which label = ... names the column, or n."
        )
    return {"where": leaf["where"], asked[0]: True}


def check_blank(blank: Mapping[str, Any], frame: Frame) -> None:
    """Raise for columns, filters, formulas and other rules that no records could satisfy."""
    output = template(blank)
    output.filter(frame)
    if isinstance(output, MomentSpec | QuantileSpec):
        output.crossing(frame)
        frame.fields[output.of].values  # noqa: B018  raises for words
        if isinstance(output, QuantileSpec):
            output.points  # noqa: B018  raises without `at`
    elif isinstance(output, CorrelationSpec):
        for column in output.of:
            frame.fields[column].values  # noqa: B018
    else:
        _filled(blank, output, frame).equations(frame)


def _filled(blank: Mapping[str, Any], output: OutputSpec, frame: Frame) -> OutputSpec:
    """The output with some numbers or other, to compile it."""
    some: dict[str, Any] = {}
    if isinstance(output, RegressionSpec):
        formula = output.compiled(frame)
        zeros = dict.fromkeys(formula.names, 0.0)
        some["coefficients"] = zeros
        if output.kind == "multinomial":
            labels = frame.fields.every[formula.label.columns[0]].labels
            some["coefficients"] = {labels[code]: zeros for code in output.classes(frame, formula)[1:]}
        if names := blank.get("standard_errors"):
            some["standard_errors"] = dict.fromkeys(formula.names if names is True else names, 1.0)
        some |= {key: 1.0 for key in ("loglik", "dispersion") if blank.get(key)}
        some |= {"n": frame.rows} if blank.get("n") else {}
    elif isinstance(output, TableSpec):
        some = {"values": {}} if output.percentages is not None else {"cells": {}}
    elif isinstance(output, HistogramSpec):
        some["counts"] = [0] * (len(output.edges) - 1)
    elif isinstance(output, KaplanMeierSpec):
        shape = (*crossed(output.by, output.groups, frame.fields, output=output.name).shape, len(output.times))
        numbers = {"at_risk": 0, "events": 0, "survival": 1.0}
        some = {key: np.full(shape, number).tolist() for key, number in numbers.items() if blank.get(key)}
    elif isinstance(output, TreeSpec):
        some["leaves"] = [
            {"where": leaf["where"], **({"n": 0} if leaf.get("n") else {"counts": {}})} for leaf in blank["leaves"]
        ]
    return type(output).model_validate({**output.model_dump(exclude_unset=True), "kind": output.kind, **some})

"""All measures of a synthetic table's worth in one go, each beside its references."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._base.errors import InputError, unknown_name
from .._base.html import html_table
from .._base.masking import about
from .._base.progress import Progress, silent
from .._base.seeds import Seed, generator, seed_sequence
from ..stats.result import Result
from ..synth.independent import Independent
from ..table.alike import alike
from ..table.table import Table
from .association import Norm, mu_from, pearson, phi_k
from .composite import composite
from .delta import delta
from .distances import jensen_shannon, marginal_distance
from .impossible import impossible_pairs
from .learning import learning
from .propensity import pmse
from .regression import regression

__all__ = ["MEASURES", "UtilityStudy", "study_utility"]

MEASURES = (
    "phi_k",
    "pearson",
    "jensen_shannon",
    "tvd",
    "impossible",
    "pmse",
    "regression",
    "learning",
    "delta",
)
"""What can be measured. mu comes with phi_k, and G with phi_k and delta."""

WIDTHS = (1, 2, 3)
REFERENCES = ("marginals", "resample", "holdout")
PERMUTATIONS, REFERENCE_PERMUTATIONS = 20, 5
"""Of the null of pMSE; references are far from it, or need not be known as closely."""


@dataclass(frozen=True)
class UtilityStudy:
    """What a synthetic table is worth: results by name, references beside them, and what was compared.

    Parameters
    ----------
    about
        The tables, columns, label, seed and notes, as plain data.
    results
        The results by their names in the plain data; a marginal distance of width 2 is `tvd.2`.
    references
        For each name the same measure of a table of independent columns (`marginals`), of the original's own records drawn with
        replacement (`resample`: all relations kept, only the noise of drawing) and of the `holdout`.
    seconds
        How long each took.
    """

    about: Mapping[str, Any]
    results: Mapping[str, Result]
    references: Mapping[str, Mapping[str, float | None]]
    seconds: Mapping[str, float] = field(default_factory=dict, compare=False)

    def __getitem__(self, name: str) -> Result:
        if name not in self.results:
            raise unknown_name("measure", name, self.results)
        return self.results[name]

    def to_dict(self) -> dict[str, Any]:
        """Return the study as plain data: `chaffinch-utility`, version 1."""
        out: dict[str, Any] = {"format": "chaffinch-utility", "version": 1, "about": dict(self.about)}
        for name, result in self.results.items():
            told = result.to_dict()
            told["references"] = dict(self.references[name])
            if "tstr" in told:
                told["tstr"]["references"] = dict(self.references["delta.tstr"])
            group, _, member = name.partition(".")
            if member:
                out.setdefault(group, {})[member] = told
            else:
                out[name] = told
        if "tvd" in out:
            out["tvd"]["settings"] = {"widths": [int(width) for width in out["tvd"]]}
        out["run"] = {"seconds": {step: round(seconds, 3) for step, seconds in self.seconds.items()}}
        return out

    def __repr__(self) -> str:
        shown = (f"{name} {r.value:.3g}" if r.value is not None else f"{name} n/a" for name, r in self.results.items())
        return f"UtilityStudy({', '.join(shown)})"

    def _repr_html_(self) -> str:
        rows = []
        for name, result in self.results.items():
            held = self.references.get(name, {})
            shown = (_shown(result.value), *(_shown(held.get(side)) for side in REFERENCES))
            rows.append([name, *shown, f"{result.identical:g}", result.direction, result.why_not])
        head = [
            "measure",
            "synthetic",
            "independent columns",
            "resampled",
            "holdout",
            "identical tables",
            "direction",
            "",
        ]
        return html_table(head, rows)


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def study_utility(
    original: Table,
    synthetic: Any,
    holdout: Any = None,
    *,
    label: str | None = None,
    formula: str | None = None,
    measures: Iterable[str] | None = None,
    models: Sequence[str] | None = None,
    repeats: int = 10,
    norm: Norm = "frobenius",
    encoding: str = "codes",
    pmse_model: str = "tree",
    alpha: float = 1.0,
    beta: float = 1.0,
    svm_rows: int | None = 5000,
    seed: Seed = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> UtilityStudy:
    """Return what a synthetic table is worth: every measure that applies, or those that are named.

    Parameters
    ----------
    original, synthetic, holdout
        The last two may be tables, paths or frames. A holdout holds people of the same population who are not in the
        original: what a fresh sample would score, and a clean test set for learners.
    label
        The column that learners predict; the schema's label unless named. Without any, `learning` does not apply.
    formula
        A regression to fit on both tables, as `income ~ age + sex`.
    measures
        Some of `MEASURES`; all of them unless named.
    models, repeats, encoding, svm_rows
        Of learners, see `learning` and `delta`.

    Raises
    ------
    InputError
        If columns differ, or a name or number breaks a rule.
    """
    chosen = _chosen(measures)
    if repeats < 1:
        raise InputError(f"repeats must be at least 1. Got {repeats}.")
    named = label if label is not None else next(iter(original.schema.with_role("label")), None)
    if named is not None and named not in original.schema.names:
        raise unknown_name("label", named, original.schema.names)
    root = seed_sequence(seed)
    streams = dict(zip(("marginals", "resample", *MEASURES), root.spawn(len(MEASURES) + 2), strict=True))
    tables = alike(original, synthetic, *([] if holdout is None else [holdout]))
    first, second = tables[:2]
    third = tables[2] if len(tables) > 2 else None
    baseline = Independent().fit(first).sample(second.n_rows, seed=streams["marginals"])
    drawn = np.sort(generator(streams["resample"]).integers(0, first.n_rows, second.n_rows))
    run = _Run(first, second, third, {"marginals": baseline, "resample": first.take(drawn)}, progress)

    if "phi_k" in chosen:
        found = run.beside("phi_k", lambda other, whole: phi_k(first, other), "comparing pairs of columns")
        run.put("mu", {side: mu_from(result, norm=norm) for side, result in found.items()})  # type: ignore[arg-type]
    if "pearson" in chosen:
        run.beside("pearson", lambda other, whole: pearson(first, other), "correlating codes")
    if "jensen_shannon" in chosen:
        run.beside("jensen_shannon", lambda other, whole: jensen_shannon(first, other), "comparing columns")
    if "tvd" in chosen:
        for width in WIDTHS:

            def distance(other: Table, whole: bool, width: int = width) -> Result:
                return marginal_distance(first, other, width=width, seed=_again(streams["tvd"]))

            run.beside(f"tvd.{width}", distance, f"comparing {width}-way marginals")
    if "impossible" in chosen:
        run.beside("impossible", lambda other, whole: impossible_pairs(first, other), "looking for impossible pairs")
    if "pmse" in chosen:

        def propensity(other: Table, whole: bool) -> Result:
            stream = _again(streams["pmse"])
            times = PERMUTATIONS if whole else REFERENCE_PERMUTATIONS
            return pmse(
                first, other, model=pmse_model, permutations=times, seed=stream, threads=threads, progress=progress
            )

        run.beside("pmse_ratio", propensity, "telling original from synthetic")
    if "regression" in chosen and formula is not None:
        run.beside("regression", lambda other, whole: regression(first, other, formula), "fitting the regression")
    if "learning" in chosen and named is not None:
        with run.timed("learning"):
            result = learning(
                first, second, third, label=named, models=models, encoding=encoding, repeats=repeats, svm_rows=svm_rows,
                seed=streams["learning"], progress=progress, threads=threads,
            )  # fmt: skip
        run.put("learning", {"synthetic": result})
    if "delta" in chosen:

        def deltas(other: Table, whole: bool) -> Result:
            return delta(
                first, other, repeats=repeats if whole else 1, rows=svm_rows, encoding=encoding,
                seed=_again(streams["delta"]), progress=progress, threads=threads,
            )  # fmt: skip

        run.beside("delta", deltas, "learning each column in turn")
    if {"phi_k", "delta"} <= set(chosen):
        parts = {
            side: composite(run.found["mu"][side], run.found["delta"][side], alpha=alpha, beta=beta)
            for side in run.found["delta"]
        }
        run.put("G", parts)
    return UtilityStudy(_about(original, run, named, seed), run.results(), run.references(), run.seconds)


def _chosen(measures: Iterable[str] | None) -> tuple[str, ...]:
    asked = MEASURES if measures is None else tuple(measures)
    for name in asked:
        if name not in MEASURES:
            raise unknown_name("measure", name, MEASURES)
    if not asked:
        raise InputError(f"Name at least one measure of {', '.join(MEASURES)}.")
    return asked


def _again(stream: np.random.SeedSequence) -> np.random.SeedSequence:
    """Return the stream as if new, so that references are drawn as the synthetic table's value was."""
    return np.random.SeedSequence(stream.entropy, spawn_key=stream.spawn_key)


class _Run:
    """The tables of a study, and what was found of each: the synthetic one, independent columns, the holdout."""

    def __init__(
        self,
        original: Table,
        synthetic: Table,
        holdout: Table | None,
        references: Mapping[str, Table],
        progress: Progress,
    ) -> None:
        self.original, self.synthetic, self.holdout = original, synthetic, holdout
        self.others = {"synthetic": synthetic, **references}
        if holdout is not None:
            self.others["holdout"] = holdout
        self.progress = progress
        self.found: dict[str, dict[str, Result]] = {}
        self.seconds: dict[str, float] = {}

    def timed(self, name: str) -> _Timed:
        return _Timed(self.seconds, name)

    def beside(self, name: str, measure: Callable[[Table, bool], Result], doing: str) -> dict[str, Result]:
        """Measure the synthetic table and its references; keep the results under a name."""
        self.progress(doing, -1)
        with self.timed(name):
            self.found[name] = {side: measure(other, side == "synthetic") for side, other in self.others.items()}
        return self.found[name]

    def put(self, name: str, results: Mapping[str, Result]) -> None:
        """Keep results that were found elsewhere."""
        self.found[name] = dict(results)

    def results(self) -> dict[str, Result]:
        """The results of the synthetic table."""
        return {name: sides["synthetic"] for name, sides in self.found.items()}

    def references(self) -> dict[str, dict[str, float | None]]:
        """The values of the references."""
        out = {name: _values(sides) for name, sides in self.found.items()}
        if "learning" in self.found:
            out["learning"]["marginals"] = self.found["learning"]["synthetic"].marginals  # type: ignore[attr-defined]
        if "delta" in self.found:
            out["delta.tstr"] = _values({side: found.tstr for side, found in self.found["delta"].items()})  # type: ignore[attr-defined]
        return out


def _values(sides: Mapping[str, Result]) -> dict[str, float | None]:
    return {side: sides[side].value if side in sides else None for side in REFERENCES}


class _Timed:
    """Adds the time of a block to a step."""

    def __init__(self, seconds: dict[str, float], name: str) -> None:
        self.seconds, self.name = seconds, name

    def __enter__(self) -> None:
        self.start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.seconds[self.name] = time.perf_counter() - self.start


def _about(original: Table, run: _Run, label: str | None, seed: Seed) -> dict[str, Any]:
    notes = [str(note) for table in (run.original, run.synthetic, run.holdout) if table for note in table.notes]
    left_out = [column.name for column in original.schema if not column.modelled]
    return {
        "original": {"rows": about(run.original.n_rows), "columns": len(run.original.schema.names)},
        "synthetic": {"rows": about(run.synthetic.n_rows)},
        "holdout": None if run.holdout is None else {"rows": about(run.holdout.n_rows)},
        "columns": [
            {"name": c.name, "kind": c.kind, "levels": c.size, "role": "label" if c.name == label else c.role}
            for c in run.original.schema
        ],
        "not_measured": left_out,
        "label": label,
        "seed": seed if isinstance(seed, int) else None,
        "notes": list(dict.fromkeys(notes)),
    }

"""Cox's proportional hazards model: coefficients are logarithms of hazard ratios, at which the partial likelihood is largest.

The partial likelihood is a function of sums over records, so that risk sets may change with the records.
With w = exp(x'b) at the published b, each stratum and time has the sums over its records of w, w x and w x x', how many events there are, and
(for Efron's way with ties) the same sums over events alone; the events of all times have the sum of x. Risk sets are those sums added up from
the last time on. With d events at a time, S_k the sums over its risk set and E_k those over its events, k = 0, 1, 2, and f_l = l / d (Breslow: 0),

    phi_kl = S_k - f_l E_k                            l = 0, ..., d - 1
    loglik = sum of x'b over events - sum of log phi_0l
    score  = sum of x over events   - sum of phi_1l / phi_0l
    J      = sum of phi_2l / phi_0l - phi_1l phi_1l' / phi_0l^2

(Breslow 1974; Efron 1977, section 6). What was published is read off these as in `model.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field as Key

from ..._base.arrays import Floats
from ..._base.errors import InputError
from ..cells import CrossClassification, cross_classify, scalar_code
from ..domain import Codes, OutputDomain, Scalar
from ..equations import Output, Terms
from ..formula import Formula
from ..statistics import statsmodels_fit
from .base import KINDS, Column, Columns, Kind, Sample, Statistic
from .formulas import STEP, raise_to
from .model import (
    JointLevels,
    ModelFit,
    ModelLabels,
    ModelSpec,
    OneStep,
    design_of,
    joint_columns,
    upper,
)

RUN_OFF = 100.0
"""A standard error this large, of the logarithm of the hazards of two records, is that of a coefficient without a finite estimate."""
MOST_SUMS = 2_000
"""The most sums over records: strata x times, with a few for each pair of coefficients."""
TINY = 1e-12


class CoxSpec(ModelSpec):
    """A Cox regression.

    Parameters
    ----------
    formula
        The label is the column of times: "YEARS ~ AGE + C(SEX)". A hazard has no intercept.
    event, level
        The column that says whether the event happened at that time, and which of its levels says yes: the last of two if absent.
    ties
        How events at the same time are counted: "efron" (R, lifelines) or "breslow" (statsmodels, Stata).
    strata
        Columns each combination of which has a baseline hazard of its own.
    """

    INTERCEPT: ClassVar[bool] = False

    kind: Literal["cox"] = "cox"
    loglik: Annotated[Any, Statistic("the partial log-likelihood")] = None
    event: Column
    level: Scalar | None = None
    ties: Literal["efron", "breslow"] = "efron"
    strata: Columns = Key(default_factory=list)

    def compiled(self, domain: OutputDomain, records: Codes | None = None) -> Formula:
        """Return the formula, whose label must be a column of numbers."""
        formula = super().compiled(domain, records)
        label = formula.label
        if label.categorical or not label.is_column:
            raise self.fault(
                ': the label of its formula must be the column of times, "TIME ~ ...", a column of numbers.'
            )
        time = domain.names[label.columns[0]]
        cross_classify(
            [time, self.event, *self.strata], {}, domain, output=self.name
        )  # different columns
        return formula

    def _happened(self, domain: OutputDomain) -> NDArray[np.bool_]:
        """For each level of the column of events whether it says yes."""
        field = domain[self.event]
        code = scalar_code(field, self.level, output=self.name, key="level")
        return np.arange(len(field.levels)) == code

    def _strata(self, domain: OutputDomain) -> CrossClassification:
        return cross_classify(self.strata, {}, domain, output=self.name)

    def _stratum(self, domain: OutputDomain, codes: Codes) -> NDArray[np.int64]:
        """The stratum of each record, from 0."""
        strata = self._strata(domain)
        return strata.cell_index(
            {p: codes[:, p].astype(np.intp) for p in strata.positions}, len(codes)
        )

    def _risk_sums(self, domain: OutputDomain, formula: Formula) -> RiskSums:
        times = len(domain.columns[formula.label.columns[0]].levels)
        return RiskSums(self._strata(domain).size, times, formula.size - 1, self.ties == "efron")

    def _columns(self, domain: OutputDomain, formula: Formula) -> tuple[int, ...]:
        return joint_columns(
            formula,
            formula.label.columns[0],
            domain.position(self.event),
            *self._strata(domain).positions,
        )

    def rules_only(self, domain: OutputDomain) -> str:
        """Return whether there are too many times, strata or joint levels, or a basis that only the data tell."""
        if reason := super().rules_only(domain):
            return reason
        formula = self.compiled(domain)
        layout = self._risk_sums(domain, formula)
        if layout.size > MOST_SUMS:
            return f"with {layout.strata * layout.times} risk sets it has more than {MOST_SUMS} sums; use coarser times"
        return JointLevels.too_many(domain, self._columns(domain, formula), layout.block)

    def equations(self, domain: OutputDomain) -> tuple[Output, ...]:
        """Return coefficients and what was published beside them as a function of sums over each time's records."""
        formula = self.check_numbers(domain)
        happened = self._happened(domain)
        if self.rules_only(domain):
            return self.n_equations(domain)
        intervals, coefficients, keys = self.one_step(formula)
        layout = self._risk_sums(domain, formula)
        reading = PartialLikelihood(layout, coefficients, keys, loglik=self.loglik is not None)
        joint = JointLevels.from_formula(formula, domain, self._columns(domain, formula))
        numbers = self._numbers(joint, layout, domain, formula, happened, coefficients)
        system = self.sum_system(domain, layout.size, [numbers], intervals, reading)
        return (system, *self.n_equations(domain))

    def _numbers(
        self,
        joint: JointLevels,
        layout: RiskSums,
        domain: OutputDomain,
        formula: Formula,
        happened: NDArray[np.bool_],
        coefficients: Floats,
    ) -> Terms:
        """What each combination of levels adds to the sums of its stratum and time, and to those of events."""
        x, codes = joint.x[:, 1:], joint.codes
        event = happened[codes[:, domain.position(self.event)]]
        stratum = self._stratum(domain, codes)
        weight = np.exp(np.clip(x @ coefficients + joint.offset, -300.0, 300.0))
        weighted = weight[:, None] * np.hstack(
            [np.ones((len(x), 1)), x, upper(x[:, :, None] * x[:, None, :])]
        )
        block = np.hstack(
            [
                weighted,
                *([weighted * event[:, None]] if layout.efron else []),
                event[:, None].astype(float),
            ]
        )
        cell = stratum * layout.times + codes[:, formula.label.columns[0]]
        rows = np.repeat(np.arange(len(codes)), layout.block)
        equations = (cell[:, None] * layout.block + np.arange(layout.block)).ravel()
        of_events = np.argwhere((x != 0.0) & event[:, None])
        all_rows = np.concatenate([rows, of_events[:, 0]])
        all_equations = np.concatenate([equations, layout.size - layout.p + of_events[:, 1]])
        values = np.concatenate([block.ravel(), x[of_events[:, 0], of_events[:, 1]]])
        nonzero = values != 0.0
        return Terms.sparse(
            joint.columns, joint.sizes, all_rows[nonzero], all_equations[nonzero], values[nonzero]
        )

    def fitted(self, sample: Sample, formula: Formula) -> ModelFit:
        """Return the fit by statsmodels."""
        domain, codes = sample.domain, sample.inside
        time = domain.columns[formula.label.columns[0]].values[codes[:, formula.label.columns[0]]]
        event = self._happened(domain)[codes[:, domain.position(self.event)]]
        stratum = self._stratum(sample.domain, codes) if self.strata else None
        x, offset = design_of(formula, codes)
        x = x[:, 1:]
        if not event.any():
            raise InputError("none of its records has the event")
        return _by_statsmodels(time, event, x, offset, stratum, self.ties)

    def labels_of(self, domain: OutputDomain, formula: Formula, records: Codes) -> ModelLabels:
        """Return who has the event."""
        position = domain.position(self.event)
        events = self._happened(domain)[records[:, position]].astype(np.int64)
        return ModelLabels(events, True, events, formula.size - 1)


def _by_statsmodels(
    time: Floats,
    event: NDArray[np.bool_],
    x: Floats,
    offset: Floats,
    stratum: NDArray[np.int64] | None,
    ties: str,
) -> ModelFit:
    """The fit; InputError where there is none."""
    with statsmodels_fit("Fitting a Cox regression"):
        from statsmodels.duration.hazard_regression import PHReg  # type: ignore[import-untyped]

        # Hazards have no intercept: columns that are centred and of one length are as good, and Newton's first steps are then never far off.
        middle, scale = x.mean(axis=0), np.maximum(x.std(axis=0), 1e-300)
        if (x.std(axis=0) <= 1e-12 * np.maximum(np.abs(middle), 1e-300)).any():
            raise InputError(
                "a column of its design is the same in all records, so its coefficient has no estimate"
            )
        model = PHReg(
            time,
            (x - middle) / scale,
            status=event.astype(int),
            ties=ties,
            strata=stratum,
            offset=offset if offset.any() else None,
        )
        result = model.fit(method="newton", tol=1e-12, maxiter=60)
        params, errors = np.asarray([result.params, result.bse], dtype=float)
        score = np.asarray(model.score(params), dtype=float)
    # Where some group has no event its coefficient runs off, and its standard error much faster, beyond any ratio of hazards that could be told.
    reach = errors * np.ptp(x, axis=0) / scale
    if not (
        np.isfinite(params).all()
        and np.isfinite(errors).all()
        and np.abs(score).max() < 1e-4
        and reach.max() < RUN_OFF
    ):
        raise InputError(
            "there is no finite estimate: too few records or events, or groups without events"
        )
    return ModelFit(params / scale, errors / scale, {"loglik": float(result.llf)})


@dataclass(frozen=True)
class RiskSums:
    """How the sums are laid out: strata x times blocks of numbers, and the sum of x over events last.

    A block has w, w x and the upper triangle of w x x'; with `efron` the same over events; and the number of events.
    """

    strata: int
    times: int
    p: int
    efron: bool

    @property
    def width(self) -> int:
        """The sums over one set of records: of w, w x and w x x'."""
        return 1 + self.p + self.p * (self.p + 1) // 2

    @property
    def block(self) -> int:
        """The sums of one time of one stratum."""
        return self.width * (2 if self.efron else 1) + 1

    @property
    def size(self) -> int:
        """All sums."""
        return self.strata * self.times * self.block + self.p

    def parts(self, sums: Floats) -> tuple[Floats, Floats, NDArray[np.int64], Floats]:
        """Return sums over risk sets and over events, (strata, times, width) each, the numbers of events, and the sum of x over events."""
        blocks = sums[: -self.p].reshape(self.strata, self.times, self.block)
        of_record = blocks[:, :, : self.width]
        at_risk = np.cumsum(of_record[:, ::-1], axis=1)[:, ::-1]
        events = (
            blocks[:, :, self.width : 2 * self.width] if self.efron else np.zeros_like(of_record)
        )
        return at_risk, events, np.rint(blocks[:, :, -1]).astype(np.int64), sums[-self.p :]


class PartialLikelihood:
    """Coefficients, standard errors of some and the partial log-likelihood out of `RiskSums`, with derivatives.

    `at` are the published coefficients, `keys` those whose standard errors are published. A tied event adds to the score, the information and the
    log-likelihood what its risk set does (phi, see above); from these it is one step of Newton's. One more event counts as Efron's mean over those
    of its time.
    """

    def __init__(
        self, layout: RiskSums, coefficients: Floats, keys: list[int], *, loglik: bool
    ) -> None:
        self.layout, self.coefficients = layout, coefficients
        self.step = OneStep(coefficients, keys, loglik=loglik)

    def _ties(self, sums: Floats) -> tuple[NDArray[np.int64], Floats, Floats]:
        """For each tied event the place of its risk set (stratum times `times` plus time), f_l and phi."""
        layout, (at_risk, events, died, _) = self.layout, self.layout.parts(sums)
        flat = np.maximum(died.ravel(), 0)
        time_index = np.repeat(np.arange(len(flat)), flat)
        number = np.arange(len(time_index)) - np.repeat(np.cumsum(flat) - flat, flat)
        share = (
            number / np.maximum(flat[time_index], 1) if layout.efron else np.zeros(len(time_index))
        )
        fewer = share[:, None] * events.reshape(-1, layout.width)[time_index]
        return time_index, share, at_risk.reshape(-1, layout.width)[time_index] - fewer

    def _added(self, phi: NDArray[Any]) -> NDArray[Any]:
        """What events with risk sets phi, (n, width), add to the score, the information and the log-likelihood."""
        p, zero = self.layout.p, raise_to(phi[:, :1], TINY)
        mean, (rows, columns) = phi[:, 1 : 1 + p] / zero, np.triu_indices(self.layout.p)
        information = phi[:, 1 + p :] / zero - mean[:, rows] * mean[:, columns]
        return np.hstack([-mean, information, -np.log(zero)])

    def _total(self, sums: Floats, added: Floats) -> Floats:
        of_events, total = sums[-self.layout.p :], added.sum(axis=0)
        total[: self.layout.p] += of_events
        total[-1] += of_events @ self.coefficients
        return total

    def undetermined(self, sums: Floats) -> NDArray[np.bool_]:
        """Return whether there is no estimate: of all numbers or none."""
        return self.step.undetermined(self._total(sums, self._added(self._ties(sums)[2])))

    def __call__(self, sums: Floats) -> tuple[Floats, Floats]:
        """Return the published numbers, and their derivatives by the sums."""
        layout, (time_index, share, phi) = self.layout, self._ties(sums)
        cells, added = layout.strata * layout.times, self._added(phi)
        values, by = self.step(self._total(sums, added))
        at_risk = layout.parts(sums)[0].reshape(cells, -1)
        count = np.bincount(time_index, minlength=cells)[:, None]
        events = _sums_by_cell(added, time_index, cells)
        # What one more event at a time adds: the mean over its ties, or what a first event would.
        by_count = np.where(count > 0, events / np.maximum(count, 1), self._added(at_risk)) @ by.T
        slopes = np.zeros((len(by), layout.size))
        blocks = slopes[:, : -layout.p].reshape(len(by), layout.strata, layout.times, layout.block)
        for k, unit in enumerate(1j * STEP * np.eye(layout.width)):
            if k <= layout.p:
                of_phi = self._added(phi + unit).imag @ by.T / STEP
            else:  # the information is linear in phi_2
                of_phi = by[:, k - 1] / np.maximum(phi[:, :1], TINY)
            of_risk = _sums_by_cell(of_phi, time_index, cells)
            # A record is in the risk sets of its own time and of all before it.
            of_times = np.cumsum(of_risk.T.reshape(blocks.shape[:3]), axis=2)
            blocks[..., k] = of_times
            if layout.efron:
                of_events = _sums_by_cell(-share[:, None] * of_phi, time_index, cells)
                blocks[..., layout.width + k] = of_events.T.reshape(blocks.shape[:3])
        blocks[..., -1] = by_count.T.reshape(blocks.shape[:3])
        slopes[:, : -layout.p] = blocks.reshape(len(by), -1)
        slopes[:, -layout.p :] = by[:, : layout.p] + by[:, -1:] * self.coefficients
        return values, slopes


def _sums_by_cell(rows: Floats, cell_index: NDArray[np.int64], cells: int) -> Floats:
    """The sums of the rows of each cell; `place` rises."""
    filled, first = np.unique(cell_index, return_index=True)
    sums = np.zeros((cells, rows.shape[1]))
    if len(filled):
        sums[filled] = np.add.reduceat(rows, first, axis=0)
    return sums


KINDS.register(
    Kind(
        "cox",
        CoxSpec,
        "HazardSurvivalTables",
        "a Cox proportional hazards regression",
        regression=True,
    )
)

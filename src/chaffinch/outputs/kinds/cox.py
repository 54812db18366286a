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

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field as Key

from ..._base.errors import InputError, MissingExtraError
from ..cells import Crossing, Frame, crossed, scalar_code
from ..domain import Codes, Fields, Floats, Scalar
from ..equations import Output, Terms
from ..formula import Formula
from .base import KINDS, ROWS, Column, Columns, Kind, Sample, Statistic
from .model import (
    EstimatedModel,
    JointLevels,
    ModelFit,
    ModelLabels,
    design_of,
    inverse,
    joint_columns,
    symmetric,
    upper,
)

RUN_OFF = 100.0
"""A standard error this large, of the logarithm of the hazards of two records, is that of a coefficient without a finite estimate."""
MOST_SUMS = 2_000
"""The most sums over records: strata x times, with a few for each pair of coefficients."""
TINY = 1e-12


class CoxSpec(EstimatedModel):
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

    def compiled(self, frame: Frame, records: Codes | None = None) -> Formula:
        """Return the formula, whose label must be a column of numbers."""
        formula = super().compiled(frame, records)
        label = formula.label
        if label.categorical or not label.is_column:
            raise self.fault(
                ': the label of its formula must be the column of times, "TIME ~ ...", a column of numbers.'
            )
        time = frame.fields.names[label.columns[0]]
        crossed(
            [time, self.event, *self.strata], {}, frame.fields, output=self.name
        )  # different columns
        return formula

    def _happened(self, fields: Fields) -> NDArray[np.bool_]:
        """For each level of the column of events whether it says yes."""
        field = fields[self.event]
        code = scalar_code(field, self.level, output=self.name, key="level")
        return np.arange(len(field.levels)) == code

    def _strata(self, frame: Frame) -> Crossing:
        return crossed(self.strata, {}, frame.fields, output=self.name)

    def _stratum(self, frame: Frame, codes: Codes) -> NDArray[np.int64]:
        """The stratum of each record, from 0."""
        strata = self._strata(frame)
        return strata.of({p: codes[:, p].astype(np.intp) for p in strata.positions}, len(codes))

    def _risk_sums(self, frame: Frame, formula: Formula) -> RiskSums:
        times = len(frame.fields.every[formula.label.columns[0]].levels)
        return RiskSums(self._strata(frame).size, times, formula.size - 1, self.ties == "efron")

    def _columns(self, frame: Frame, formula: Formula) -> tuple[int, ...]:
        fields = frame.fields
        return joint_columns(
            formula,
            formula.label.columns[0],
            fields.position(self.event),
            *self._strata(frame).positions,
        )

    def rules_only(self, fields: Fields) -> str:
        """Return whether there are too many times, strata or joint levels, or a basis that only the data tell."""
        if reason := super().rules_only(fields):
            return reason
        frame = Frame(fields, ROWS)
        formula = self.compiled(frame)
        layout = self._risk_sums(frame, formula)
        if layout.size > MOST_SUMS:
            return f"with {layout.strata * layout.times} risk sets it has more than {MOST_SUMS} sums; use coarser times"
        return JointLevels.too_many(fields, self._columns(frame, formula), layout.block)

    def equations(self, frame: Frame) -> tuple[Output, ...]:
        """Return coefficients and what was published beside them as a function of sums over each time's records."""
        formula = self.check_numbers(frame)
        happened = self._happened(frame.fields)
        if self.rules_only(frame.fields):
            return self.n_equations(frame)
        intervals, at, keys = self.one_step(formula)
        layout = self._risk_sums(frame, formula)
        reading = PartialLikelihood(layout, at, keys, loglik=self.loglik is not None)
        joint = JointLevels.of(formula, frame, self._columns(frame, formula))
        numbers = self._numbers(joint, layout, frame, formula, happened, at)
        system = self.sum_system(frame, layout.size, [numbers], intervals, reading)
        return (system, *self.n_equations(frame))

    def _numbers(
        self,
        joint: JointLevels,
        layout: RiskSums,
        frame: Frame,
        formula: Formula,
        happened: NDArray[np.bool_],
        at: Floats,
    ) -> Terms:
        """What each combination of levels adds to the sums of its stratum and time, and to those of events."""
        x, codes = joint.x[:, 1:], joint.codes
        event = happened[codes[:, frame.fields.position(self.event)]]
        stratum = self._stratum(frame, codes)
        weight = np.exp(np.clip(x @ at + joint.offset, -300.0, 300.0))
        own = weight[:, None] * np.hstack(
            [np.ones((len(x), 1)), x, upper(x[:, :, None] * x[:, None, :])]
        )
        block = np.hstack(
            [own, *([own * event[:, None]] if layout.efron else []), event[:, None].astype(float)]
        )
        cell = stratum * layout.times + codes[:, formula.label.columns[0]]
        rows = np.repeat(np.arange(len(codes)), layout.block)
        equations = (cell[:, None] * layout.block + np.arange(layout.block)).ravel()
        of_events = np.argwhere((x != 0.0) & event[:, None])
        all_rows = np.concatenate([rows, of_events[:, 0]])
        all_equations = np.concatenate([equations, layout.size - layout.p + of_events[:, 1]])
        values = np.concatenate([block.ravel(), x[of_events[:, 0], of_events[:, 1]]])
        there = values != 0.0
        return Terms.sparse(
            joint.columns, joint.sizes, all_rows[there], all_equations[there], values[there]
        )

    def fitted(self, sample: Sample, formula: Formula) -> ModelFit:
        """Return the fit by statsmodels."""
        fields, codes = sample.fields, sample.inside
        time = fields.every[formula.label.columns[0]].values[codes[:, formula.label.columns[0]]]
        event = self._happened(fields)[codes[:, fields.position(self.event)]]
        stratum = self._stratum(sample.frame, codes) if self.strata else None
        x, offset = design_of(formula, codes)
        x = x[:, 1:]
        if not event.any():
            raise InputError("none of its records has the event")
        return _by_statsmodels(time, event, x, offset, stratum, self.ties)

    def labels_of(self, frame: Frame, formula: Formula, records: Codes) -> ModelLabels:
        """Return who has the event."""
        position = frame.fields.position(self.event)
        events = self._happened(frame.fields)[records[:, position]].astype(np.int64)
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
    try:
        from statsmodels.duration.hazard_regression import PHReg  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtraError("Fitting a Cox regression", "statsmodels") from None
    # Hazards have no intercept: columns that are centred and of one length are as good, and Newton's first steps are then never far off.
    middle, scale = x.mean(axis=0), np.maximum(x.std(axis=0), 1e-300)
    if (x.std(axis=0) <= 1e-12 * np.maximum(np.abs(middle), 1e-300)).any():
        raise InputError(
            "a column of its design is the same in all records, so its coefficient has no estimate"
        )
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model = PHReg(
                time,
                (x - middle) / scale,
                status=event.astype(int),
                ties=ties,
                strata=stratum,
                offset=offset if offset.any() else None,
            )
            result = model.fit(method="newton", tol=1e-12, maxiter=60)
            params, errors = (np.asarray(part, dtype=float) for part in (result.params, result.bse))
            score = np.asarray(model.score(params), dtype=float)
        except (np.linalg.LinAlgError, ValueError, FloatingPointError, OverflowError, IndexError):
            raise InputError("statsmodels finds no estimate") from None
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
        own = blocks[:, :, : self.width]
        at_risk = np.cumsum(own[:, ::-1], axis=1)[:, ::-1]
        events = blocks[:, :, self.width : 2 * self.width] if self.efron else np.zeros_like(own)
        return at_risk, events, np.rint(blocks[:, :, -1]).astype(np.int64), sums[-self.p :]


@dataclass(frozen=True, eq=False)
class _Ties:
    """One row for each tied event: the place of its risk set (stratum times `times` plus time), f_l, phi_0, phi_1 and phi_2."""

    place: NDArray[np.int64]
    share: Floats
    zero: Floats
    one: Floats
    two: Floats


class PartialLikelihood:
    """Coefficients, standard errors of some and the partial log-likelihood out of `RiskSums`, with derivatives.

    `at` are the published coefficients, `keys` those whose standard errors are published. Derivatives by way of the information are left out of
    those of coefficients, since they vanish where records have the published ones; the number of tied events counts as Efron's mean over them.
    """

    def __init__(self, layout: RiskSums, at: Floats, keys: list[int], *, loglik: bool) -> None:
        self.layout, self.at, self.keys, self.loglik = layout, at, keys, loglik

    @cached_property
    def _triangle(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        return np.triu_indices(self.layout.p)

    def _ties(self, at_risk: Floats, events: Floats, died: NDArray[np.int64]) -> _Ties:
        layout, flat = self.layout, died.ravel()
        flat = np.maximum(flat, 0)
        place = np.repeat(np.arange(len(flat)), flat)
        number = np.arange(len(place)) - np.repeat(np.cumsum(flat) - flat, flat)
        share = number / np.maximum(flat[place], 1) if layout.efron else np.zeros(len(place))
        rows = (
            at_risk.reshape(-1, layout.width)[place]
            - share[:, None] * events.reshape(-1, layout.width)[place]
        )
        zero = np.maximum(rows[:, 0], TINY)
        p = layout.p
        two = np.zeros((len(place), p, p))
        upper, lower = self._triangle
        two[:, upper, lower] = rows[:, 1 + p :]
        two[:, lower, upper] = rows[:, 1 + p :]
        return _Ties(place, share, zero, rows[:, 1 : 1 + p], two)

    def undetermined(self, sums: Floats) -> NDArray[np.bool_]:
        """Return whether there is no estimate: of all numbers or none."""
        ties = self._ties(*self.layout.parts(sums)[:3])
        information = _information(ties)
        root = np.sqrt(np.maximum(np.diag(information), 1e-300))
        sizes = (
            np.linalg.eigvalsh(information / np.outer(root, root))
            if len(ties.place)
            else np.zeros(1)
        )
        return np.full(self.layout.p + len(self.keys) + self.loglik, bool(sizes[0] < 1e-8))

    def __call__(self, sums: Floats) -> tuple[Floats, Floats]:
        """Return the published numbers, and their derivatives by the sums."""
        layout, p = self.layout, self.layout.p
        at_risk, events, died, of_events = layout.parts(sums)
        ties = self._ties(at_risk, events, died)
        mean = ties.one / ties.zero[:, None]
        score, inner = of_events - mean.sum(axis=0), inverse(_information(ties))
        step = inner @ score
        upper, lower = self._triangle
        twice = np.where(upper == lower, 1.0, 2.0)

        # Derivatives of each number by phi_0, phi_1 and the triangle of phi_2 of each tie, and by the sum of x over events.
        numbers = p + len(self.keys) + self.loglik
        values, of_phi = [*(self.at + step)], np.zeros((numbers, len(ties.place), layout.width))
        of_x = np.zeros((numbers, p))
        of_phi[:p, :, 0] = inner @ (mean / ties.zero[:, None]).T
        of_phi[:p, :, 1 : 1 + p] = -inner[:, None, :] / ties.zero[:, None]
        of_x[:p] = inner
        for row, key in enumerate(self.keys, p):
            v, error = inner[key], float(np.sqrt(max(inner[key, key], 1e-300)))
            values.append(error)
            along, bent = mean @ v, np.einsum("i,nij,j->n", v, ties.two, v) / ties.zero
            # d J along v v' = (v'd phi_2 v) / phi_0 - 2 along (v'd phi_1) / phi_0 + (2 along^2 - bent) d phi_0 / phi_0; the error falls with it.
            fall = -0.5 / error / ties.zero
            of_phi[row, :, 0] = fall * (2.0 * along**2 - bent)
            of_phi[row, :, 1 : 1 + p] = -2.0 * (fall * along)[:, None] * v
            of_phi[row, :, 1 + p :] = fall[:, None] * (twice * v[upper] * v[lower])
        by_count = np.zeros((numbers, layout.strata * layout.times))
        if self.loglik:
            values.append(float(of_events @ self.at - np.log(ties.zero).sum() + 0.5 * score @ step))
            of_phi[-1, :, 0] = -1.0 / ties.zero + (mean @ step) / ties.zero
            of_phi[-1, :, 1 : 1 + p] = -step / ties.zero[:, None]
            of_x[-1] = self.at + step
            by_count[-1] = -self._per_event(
                np.log(ties.zero), np.log(np.maximum(at_risk[:, :, 0], TINY)).ravel(), ties, died
            )
        first = at_risk[:, :, 1 : 1 + p].reshape(-1, p) / np.maximum(
            at_risk[:, :, 0].reshape(-1, 1), TINY
        )
        each = np.stack([self._per_event(mean[:, k], first[:, k], ties, died) for k in range(p)])
        by_count[:p] = -inner @ each
        return np.array(values), self._by_sums(of_phi, of_x, by_count, ties)

    def _per_event(
        self, of_ties: Floats, alone: Floats, ties: _Ties, died: NDArray[np.int64]
    ) -> Floats:
        """What one more event at a time adds: the mean over its ties, or what a first event would."""
        count = np.maximum(died.ravel(), 0)
        total = np.bincount(ties.place, weights=of_ties, minlength=len(count))
        return np.where(count > 0, total / np.maximum(count, 1), alone)

    def _by_sums(self, of_phi: Floats, of_x: Floats, by_count: Floats, ties: _Ties) -> Floats:
        layout = self.layout
        cells, width = layout.strata * layout.times, layout.width
        slopes = np.zeros((len(of_phi), layout.size))
        for row, each in enumerate(of_phi):
            at_risk, events = np.zeros((cells, width)), np.zeros((cells, width))
            np.add.at(at_risk, ties.place, each)
            np.add.at(events, ties.place, -ties.share[:, None] * each)
            # A record is in the risk sets of its own time and of all before it.
            own = np.cumsum(at_risk.reshape(layout.strata, layout.times, width), axis=1).reshape(
                cells, width
            )
            parts = [own, *([events] if layout.efron else []), by_count[row][:, None]]
            slopes[row, : -layout.p] = np.hstack(parts).ravel()
            slopes[row, -layout.p :] = of_x[row]
        return slopes


def _information(ties: _Ties) -> Floats:
    mean = ties.one / ties.zero[:, None]
    information = np.einsum("nij,n->ij", ties.two, 1.0 / ties.zero) - mean.T @ mean
    return symmetric(information[np.triu_indices(len(information))], len(information))


KINDS.register(
    Kind(
        "cox",
        CoxSpec,
        "HazardSurvivalTables",
        "a Cox proportional hazards regression",
        regression=True,
    )
)

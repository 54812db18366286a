"""Cox's proportional hazards model: coefficients are logarithms of hazard ratios, at which the partial likelihood is largest."""

from __future__ import annotations

import warnings
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field as Key

from ...._base.errors import InputError, MissingExtraError
from ...columns import Codes, Floats
from ...crossing import Crossing, Frame, crossed, scalar_code
from ...equations import Output, SumSystem, Terms
from ...fields import Fields, Scalar
from ...formula import Formula
from ...precision import Interval
from ...rules.findings import Finding
from ...rules.policy import Policy
from ...rules.tallies import OutputTally
from ...rules.tallying import Tallier
from ..base import ROWS, Sample
from ..likelihood import JointLevels, joint_columns, upper
from ..model import EstimatedModel, ModelFit, design_of
from .reading import PartialLikelihood, RiskSums

RUN_OFF = 100.0
"""A standard error this large, of the logarithm of the hazards of two records, is that of a coefficient without a finite estimate."""
MOST_SUMS = 2_000
"""The most sums over records: strata x times, with a few for each pair of coefficients."""


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

    COLUMN_KEYS: ClassVar[tuple[str, ...]] = ("event", "strata")
    INTERCEPT: ClassVar[bool] = False
    SINGLES: ClassVar[dict[str, str]] = {"loglik": "the partial log-likelihood"}

    kind: Literal["cox"] = "cox"
    event: str
    level: Scalar | None = None
    ties: Literal["efron", "breslow"] = "efron"
    strata: list[str] = Key(default_factory=list)

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

    def _layout(self, frame: Frame, formula: Formula) -> RiskSums:
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
        layout = self._layout(frame, formula)
        if layout.size > MOST_SUMS:
            return f"with {layout.strata * layout.times} risk sets it has more than {MOST_SUMS} sums; use coarser times"
        return JointLevels.too_many(fields, self._columns(frame, formula), layout.block)

    def equations(self, frame: Frame) -> tuple[Output, ...]:
        """Return coefficients and what was published beside them as a function of sums over each time's records."""
        formula = self.check_numbers(frame)
        happened = self._happened(frame.fields)
        if self.rules_only(frame.fields):
            return self.n_equations(frame)
        intervals, keys = self.named(self.coefficients, formula, "coefficient"), list[int]()
        at = np.array([one.middle for one in intervals])
        if self.standard_errors is not None:
            columns, bounds = self.error_keys(formula)
            keys = [k - 1 for k in columns]
            intervals += [Interval(*map(float, bound)) for bound in bounds]
        if self.loglik is not None:
            intervals.append(self.printed(self.loglik, self.SINGLES["loglik"]))
        layout = self._layout(frame, formula)
        reading = PartialLikelihood(layout, at, keys, loglik=self.loglik is not None)
        joint = JointLevels.of(formula, frame, self._columns(frame, formula))
        numbers = self._numbers(joint, layout, frame, formula, happened, at)
        lo, hi = np.array(intervals).T
        system = SumSystem(
            self.name,
            layout.size,
            (numbers,),
            lo,
            hi,
            keep=self.filter(frame).keep(),
            reported=reading,
        )
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

    def findings(
        self, tallies: list[OutputTally], tallier: Tallier, policy: Policy
    ) -> list[Finding]:
        """Return what degrees of freedom, covariate patterns, groups behind coefficients and their events say."""
        from ..regression.rules import model_rules

        records = tallier.inside
        formula = self.compiled(tallier.frame, records if len(records) else None)
        event = self._happened(tallier.fields)[
            records[:, tallier.fields.position(self.event)]
        ].astype(np.int64)
        return model_rules(
            self,
            formula,
            tallies,
            tallier,
            policy,
            label=event,
            few_labels=True,
            parameters=formula.size - 1,
            events=event,
        )


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

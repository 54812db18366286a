"""A report as one typed result: studies of utility and of risk, how the table was made, and what was run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .._base.plain import check_format, from_plain
from .._base.runs import RunFacts
from ..risk.attribution.result import RiskResult
from ..risk.attribution.verdict import RiskVerdictRow
from ..synth.account import SynthesisAccount
from ..utility.result import UtilityAbout, UtilityResult
from ..utility.verdict import VerdictRow

__all__ = ["FORMAT", "VERSION", "ReportResult"]

FORMAT = "chaffinch-report"
VERSION = 1


@dataclass(frozen=True, kw_only=True)
class ReportResult:
    """What a page shows: `from_dict` reads it from `report.json`.

    `rows` are the verdict on utility, `risk_rows` that on risk.
    """

    title: str = "Report"
    about: UtilityAbout = field(default_factory=UtilityAbout)
    synthesis: SynthesisAccount | None = None
    utility: UtilityResult | None = None
    risk: RiskResult | None = None
    attacked: bool = False
    rows: tuple[VerdictRow, ...] = ()
    risk_rows: tuple[RiskVerdictRow, ...] = ()
    run: RunFacts = field(default_factory=RunFacts)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ReportResult:
        """Return the report that plain data hold.

        Raises
        ------
        InputError
            If the data are something else, or are not as they should be at some place.
        """
        check_format(data, FORMAT, VERSION, "Make one of a study: report_of(study, title=...).")
        part = {key: value for key, value in data.items() if value is not None}
        verdict = part.get("verdict") or ()
        # The promise is worked out anew from its account; a row that says so is for readers of the JSON.
        on_utility = (row for row in verdict if row.get("section") not in ("promise", "risk"))
        return cls(
            title=str(part.get("title") or "Report"),
            about=from_plain(UtilityAbout, _known(part.get("about")), what="'about'"),
            synthesis=SynthesisAccount.from_dict(part.get("synthesis")),
            utility=_utility(part) if "utility" in data else None,
            risk=_risk(part),
            attacked="risk" in data,
            rows=tuple(map(VerdictRow.from_dict, on_utility)),
            risk_rows=tuple(RiskVerdictRow.from_dict(row) for row in verdict if row.get("section") == "risk"),
            run=from_plain(RunFacts, _known(part.get("run")), what="'run'"),
        )


def _utility(part: Mapping[str, Any]) -> UtilityResult:
    frame = {"format": "chaffinch-utility", "version": 1, "about": part.get("about"), "run": part.get("run")}
    return UtilityResult.from_dict({**(part.get("utility") or {}), **frame})


def _risk(part: Mapping[str, Any]) -> RiskResult | None:
    if not part.get("risk"):
        return None
    return RiskResult.from_dict({**part["risk"], "format": "chaffinch-risk", "version": 1})


def _known(data: Any) -> dict[str, Any]:
    """A mapping without what is not known, however deep; nothing for anything else."""
    if not isinstance(data, Mapping):
        return {}
    return {key: _known(value) if isinstance(value, Mapping) else value for key, value in data.items() if value is not None}

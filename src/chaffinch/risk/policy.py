"""What an institution allows a table to give away, and what a result says of that limit."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel, ConfigDict

from .._base.checks import check_between
from .._base.documents import parse_document, validate_document
from .._base.errors import InputError
from .._base.files import read_small
from ..stats.intervals import LimitState
from .result import RiskResult
from .settings import LimitSettings
from .verdict import LimitVerdict, limit_verdict

MOST_BYTES = 1 << 20
"""Bytes that a file with a policy may have."""


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    max_excess: float
    require_shown: bool = False


@dataclass(frozen=True)
class RiskPolicy:
    """The excess that is allowed, None where nothing is said; `source` names the file that says it, with its hash.

    `require_shown`: whether a limit that is not shown to be kept counts as one that is exceeded.
    """

    max_excess: float | None = None
    source: Mapping[str, str] = field(default_factory=dict)
    require_shown: bool = False

    @classmethod
    def read(cls, limits: LimitSettings, *, holdout: bool) -> RiskPolicy:
        """Return the policy of limits, those of its file where no other are set; raise where it could not be judged."""
        path, limit, source = limits.policy, limits.max_excess, {}
        require_shown = limits.require_shown
        if path is not None:
            next_step = "Write max_excess = 0.02 in one."
            text = read_small(path, what="policy", max_bytes=MOST_BYTES, next_step=next_step)
            stated = validate_document(_File, parse_document(text, str(path)), f"'{path}'")
            limit = stated.max_excess if limit is None else limit
            require_shown = require_shown or stated.require_shown
            source = {"file": path.name, "sha256": hashlib.sha256(text.encode()).hexdigest()}
        policy = cls(limit, source, require_shown)
        policy.check(holdout=holdout)
        if limit is not None and not holdout:
            raise InputError(
                "An excess cannot be judged without a holdout: name people who are not in the data with --holdout, or leave out "
                "--max-excess and --policy."
            )
        return policy

    def check(self, *, holdout: bool) -> None:
        """Raise for a limit that no excess has, and where one is to be shown to be kept and cannot be, whatever is found."""
        check_between("max_excess", self.max_excess, 0, 1, optional=True)
        if self.require_shown and self.max_excess is None:
            raise InputError(
                "--require-shown needs a limit: name --max-excess, or a --policy that has one."
            )
        if self.require_shown and not holdout:
            raise InputError(
                "--require-shown needs a holdout: without people who are not in the data no limit can be shown to be kept. Name them with --holdout; risk and release set some aside with --holdout-share 0.25."
            )

    def refuses(self, verdict: LimitVerdict | None) -> bool:
        """Return whether a command ends with 1: the limit is exceeded, or where that is required not shown to be kept."""
        return verdict is not None and (
            verdict.state is LimitState.EXCEEDS
            or (self.require_shown and verdict.state is not LimitState.SHOWN)
        )

    def classify(self, result: RiskResult, facts: Mapping[str, Any]) -> RiskResult:
        """Return a result with what was allowed and what its findings say of that, where there is a limit, and what ran it."""
        policy = None
        if self.max_excess is not None:
            required = {"require_shown": True} if self.require_shown else {}
            policy = {**self.source, **limit_verdict(result, self.max_excess).to_dict(), **required}
        return replace(result, policy=policy, run=replace(result.run, **facts))

"""What an institution allows a table to give away, and whether a result keeps to it."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .._base.errors import FileError, InputError
from ..risk import RiskResult

__all__ = ["RiskPolicy"]


@dataclass(frozen=True)
class RiskPolicy:
    """The excess that is allowed, None where nothing is said; `source` names the file that says it, with its hash."""

    max_excess: float | None = None
    source: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path | None, max_excess: float | None, *, holdout: bool) -> RiskPolicy:
        """Return the policy of a file, whose limit `max_excess` overrides; raise where it could not be judged."""
        limit, source = max_excess, {}
        if path is not None:
            try:
                text = path.read_bytes()
                data = tomllib.loads(text.decode("utf-8"))
            except OSError as error:
                raise FileError(f"Cannot read '{path}': {error.strerror or 'the system refused'}.") from None
            except (tomllib.TOMLDecodeError, UnicodeDecodeError):
                raise InputError(f"'{path}' is no policy: it is not TOML. Write max_excess = 0.02 in it.") from None
            if unknown := sorted(set(data) - {"max_excess"}):
                raise InputError(f"'{path}': unknown key '{unknown[0]}'. Keys: max_excess.")
            stated = data.get("max_excess")
            if not isinstance(stated, int | float) or isinstance(stated, bool):
                raise InputError(f"'{path}': max_excess must be a number from 0 to 1.")
            limit = float(stated) if limit is None else limit
            source = {"file": path.name, "sha256": hashlib.sha256(text).hexdigest()}
        if limit is not None and not 0 <= limit <= 1:
            raise InputError(f"max_excess must lie between 0 and 1. Got {limit:g}.")
        if limit is not None and not holdout:
            raise InputError(
                "An excess cannot be judged without a holdout: name people who are not in the data with --holdout, or leave out "
                "--max-excess and --policy."
            )
        return cls(limit, source)

    def allows(self, bound: float | None) -> bool:
        """Return whether a lower bound of the excess keeps to what is allowed; one that is not known does."""
        return bound is None or self.max_excess is None or bound <= self.max_excess

    def judged(self, result: RiskResult, facts: Mapping[str, Any]) -> RiskResult:
        """Return a result with what was allowed, whether it keeps to that, and what ran it."""
        bound = result.lower_bound
        policy = {**self.source, "max_excess": self.max_excess, "lower_bound": bound, "passed": self.allows(bound)}
        return replace(result, policy=policy, run=replace(result.run, **facts))

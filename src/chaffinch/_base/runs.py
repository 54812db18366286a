"""How a result was made: what may differ between two equal runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class RunFacts:
    """Seconds of each step, versions of packages, the date and the command; the last three where a command was run."""

    seconds: Mapping[str, float] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    date: str = ""
    command: str | tuple[str, ...] = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the facts that are known as plain data, seconds to the millisecond; a private result has none of these."""
        known = {
            name: value
            for name in ("versions", "date", "command")
            if (value := getattr(self, name))
        }
        seconds = {step: round(seconds, 3) for step, seconds in self.seconds.items()}
        return {**({"seconds": seconds} if seconds else {}), **known}

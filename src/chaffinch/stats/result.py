"""What a measure returns: a number with its direction and its interval, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from .._base.html import html_table

__all__ = ["Direction", "Result"]

Direction = Literal["lower is better", "higher is better"]


@dataclass(frozen=True, kw_only=True)
class Result:
    """A measured number. Subclasses say what it is and add what it is made of.

    Parameters
    ----------
    value
        The number; None where the measure does not apply, and then `why_not` says why.
    interval
        95 % interval, None where there is none; `settings["interval"]` says what it covers.
    settings
        All that was chosen to get the number, defaults too, as plain data.
    """

    name: ClassVar[str]
    direction: ClassVar[Direction]
    identical: ClassVar[float]
    """What identical tables score."""

    value: float | None
    interval: tuple[float, float] | None = None
    why_not: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.value is None) != bool(self.why_not):
            raise ValueError(f"{self.name} needs either a value or the reason why there is none.")

    def details(self) -> dict[str, Any]:
        """Return what the number is made of, as plain data that may leave: no record, no small count."""
        return {}

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data."""
        head: dict[str, Any] = {"value": self.value}
        if self.why_not:
            head["not_applicable"] = self.why_not
        else:
            head["interval"] = None if self.interval is None else list(self.interval)
        return {
            **head,
            "direction": self.direction,
            "identical": self.identical,
            **({} if self.why_not else self.details()),
            "settings": dict(self.settings),
        }

    def __repr__(self) -> str:
        if self.value is None:
            return f"{type(self).__name__}(not applicable because {self.why_not})"
        between = "" if self.interval is None else f" [{self.interval[0]:.4g}, {self.interval[1]:.4g}]"
        return f"{type(self).__name__}({self.name} = {self.value:.4g}{between}, {self.direction}, identical tables {self.identical:g})"

    def _repr_html_(self) -> str:
        shown = "not applicable: " + self.why_not if self.value is None else f"{self.value:.4g}"
        between = "" if self.interval is None else f"{self.interval[0]:.4g} to {self.interval[1]:.4g}"
        head = ["measure", "value", "95 % interval", "direction", "identical tables"]
        return html_table(head, [[self.name, shown, between, self.direction, f"{self.identical:g}"]])

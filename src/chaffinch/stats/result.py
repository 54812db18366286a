"""What a measure returns: a number with its direction and its interval, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

from .._base.results import from_plain, html_table

Direction = Literal["lower is better", "higher is better"]


@dataclass(frozen=True, kw_only=True)
class Result:
    """A measured number. Subclasses say what it is and add what it is made of.

    Parameters
    ----------
    value
        The number; None where the measure does not apply, and then `reason` says why.
    interval
        95 % interval, None where there is none; `settings["interval"]` says what it covers.
    settings
        All that was chosen to get the number, defaults too, as plain data.
    """

    name: ClassVar[str]
    direction: ClassVar[Direction]
    identical: ClassVar[float]
    """What identical tables score."""
    decisive: ClassVar[tuple[str, ...]] = ()
    """Fields that decide what the number is a number of, as `settings` do."""

    value: float | None
    interval: tuple[float, float] | None = None
    reason: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.value is None) != bool(self.reason):
            raise ValueError(f"{self.name} needs either a value or the reason why there is none.")

    def details(self) -> dict[str, Any]:
        """Return what the number is made of, as plain data that may leave: no record, no small count."""
        return {}

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data."""
        head: dict[str, Any] = {"value": self.value}
        if self.reason:
            head["not_applicable"] = self.reason
        else:
            head["interval"] = None if self.interval is None else list(self.interval)
        return {
            **head,
            "direction": self.direction,
            "identical": self.identical,
            **({} if self.reason else self.details()),
            "settings": dict(self.settings),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the result that plain data hold: undoes `to_dict`, numbers as far as they were written."""
        return from_plain(cls, cls._fields_of(data), what=f"'{cls.name}'")

    @classmethod
    def _fields_of(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return plain data under the names of fields."""
        missing = data.get("value") is None
        reason = str(data.get("not_applicable") or "no value was given") if missing else ""
        return {**data, "value": data.get("value"), "reason": reason}

    def __repr__(self) -> str:
        if self.value is None:
            return f"{type(self).__name__}(not applicable because {self.reason})"
        between = (
            "" if self.interval is None else f" [{self.interval[0]:.4g}, {self.interval[1]:.4g}]"
        )
        return f"{type(self).__name__}({self.name} = {self.value:.4g}{between}, {self.direction}, identical tables {self.identical:g})"

    def _repr_html_(self) -> str:
        shown = "not applicable: " + self.reason if self.value is None else f"{self.value:.4g}"
        between = (
            "" if self.interval is None else f"{self.interval[0]:.4g} to {self.interval[1]:.4g}"
        )
        head = ["measure", "value", "95 % interval", "direction", "identical tables"]
        return html_table(
            head, [[self.name, shown, between, self.direction, f"{self.identical:g}"]]
        )

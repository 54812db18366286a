"""What a column that determines another maps to: a code of the right column for each code of the left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._base.errors import SchemaError


@dataclass(frozen=True)
class FunctionMap:
    """For each code of `left` the code of `right` that goes with it, and where that is a bin of numbers the one number of it that is drawn.

    A number of the data stands here only if at least ten records share it; else it is the middle of the bin, which is nobody's.
    """

    left: str
    right: str
    codes: tuple[int, ...]
    numbers: tuple[float | None, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that `from_dict` reads."""
        return {
            "left": self.left,
            "right": self.right,
            "codes": list(self.codes),
            "numbers": list(self.numbers),
        }

    @classmethod
    def from_dict(cls, data: Any) -> FunctionMap:
        """Return the map that `to_dict` described; SchemaError for anything else."""
        try:
            left, right, codes, numbers = (
                data["left"],
                data["right"],
                data["codes"],
                data["numbers"],
            )
        except (KeyError, TypeError):
            raise SchemaError("A function among the rules of a model is incomplete.") from None
        sound = (
            isinstance(left, str)
            and isinstance(right, str)
            and isinstance(codes, list)
            and isinstance(numbers, list)
            and len(codes) == len(numbers)
            and all(isinstance(code, int) and not isinstance(code, bool) for code in codes)
            and all(
                number is None or (isinstance(number, int | float) and not isinstance(number, bool))
                for number in numbers
            )
        )
        if not sound:
            raise SchemaError(
                "A function among the rules of a model has an entry of the wrong type."
            )
        return cls(
            left,
            right,
            tuple(codes),
            tuple(None if number is None else float(number) for number in numbers),
        )

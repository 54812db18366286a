"""Numbers and names as a page shows them: those of `_base.words`."""

from .._base.words import NONE, between, fixed, is_number, number, percent, shown, signed, width_of

__all__ = ["NONE", "between", "fixed", "is_number", "number", "percent", "shown", "signed", "width_of"]

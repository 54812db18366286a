"""Groups of fields, each measured as one full table with noise, drawn independently of each other."""

from .settings import FieldGroups

__all__ = ["FieldGroups"]

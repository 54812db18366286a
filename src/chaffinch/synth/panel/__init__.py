"""Several rows for one person: how long a sequence is, its first row, and each row given the one before."""

from .model import PanelModel
from .settings import Panel

__all__ = ["Panel", "PanelModel"]

"""Conditional distributions as trees over the parents' codes: what matters, where it matters."""

from .learning import TreeSettings, learn_trees
from .table import TreeTable

__all__ = ["TreeSettings", "TreeTable", "learn_trees"]

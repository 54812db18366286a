"""Marginals and the engines that count them."""

from .counter import Counter, MemoryCounter, StreamCounter
from .describe import Description, describe
from .marginal import Marginal

__all__ = ["Counter", "Description", "Marginal", "MemoryCounter", "StreamCounter", "describe"]

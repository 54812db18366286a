"""Marginals and the engines that count them."""

from .counter import Counter
from .describe import Description, describe
from .marginal import Marginal
from .memory import MemoryCounter
from .stream import StreamCounter

__all__ = ["Counter", "Description", "Marginal", "MemoryCounter", "StreamCounter", "describe"]

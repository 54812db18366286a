"""Marginals and the engines that count them."""

from .counter import Counter
from .marginal import Marginal
from .memory import MemoryCounter
from .stream import StreamCounter

__all__ = ["Counter", "Marginal", "MemoryCounter", "StreamCounter"]

"""Marginals and the engines that count them."""

from typing import TYPE_CHECKING

from .._base.lazy import offer_names

if TYPE_CHECKING:
    from .counter import Counter as Counter
    from .counter import MemoryCounter as MemoryCounter
    from .counter import StreamCounter as StreamCounter
    from .describe import Description as Description
    from .describe import describe as describe
    from .marginal import Marginal as Marginal

offer_names(__name__)

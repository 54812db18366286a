"""What one released table shows about who was in the data: attackers that need no keys, each a score for every person."""

from typing import TYPE_CHECKING

from ..._base.lazy import offer_names

if TYPE_CHECKING:
    from .protocol import NotApplicableError as NotApplicableError
    from .protocol import ReleaseCase as ReleaseCase

offer_names(__name__)

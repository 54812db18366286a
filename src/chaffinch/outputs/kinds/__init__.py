"""The kinds of outputs, one file or package of this folder each, which registers itself in `KINDS`."""

from typing import TYPE_CHECKING

from ..._base.lazy import offer_names

if TYPE_CHECKING:
    from .base import KINDS as KINDS
    from .base import Kind as Kind
    from .base import OutputSpec as OutputSpec

offer_names(__name__)

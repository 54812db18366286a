"""The shape of a synthesiser. Anything of this shape can be measured and attacked."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from .._base.seeds import Seed
from ..table.table import Table

__all__ = ["Model", "Synthesiser", "promises_privacy"]


@runtime_checkable
class Model(Protocol):
    """What was learnt: draws tables."""

    def sample(self, n_rows: int, *, seed: Seed = None) -> Table:
        """Return a table of new rows."""


@runtime_checkable
class Synthesiser(Protocol):
    """What to learn: settings with a fit."""

    def fit(self, data: Any, *, seed: Seed = None) -> Model:
        """Return a model of a table or a counter."""


def promises_privacy(synthesiser: object) -> bool:
    """Return whether settings ask for a promise of privacy: they have an epsilon.

    How long such a fit takes is nothing that its budget covers, so it stands in no result of it.

    Examples
    --------
    >>> from chaffinch import BayesNet
    >>> promises_privacy(BayesNet()), promises_privacy(BayesNet(epsilon=1.0))
    (False, True)
    """
    return getattr(synthesiser, "epsilon", None) is not None

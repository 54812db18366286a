"""What the settings of methods under pure epsilon share: their budget, whom they protect, and that they cut no column off."""

from __future__ import annotations

from collections.abc import Sequence

from ..privacy.budget import Budget
from ..privacy.relation import Neighbours, Unit

__all__ = ["PureMethod"]


class PureMethod:
    """Settings with an epsilon, a neighbour relation and rows per person; a delta only for levels to be discovered."""

    epsilon: float
    delta: float | None
    neighbours: Neighbours
    rows_per_person: int

    @property
    def sensitive(self) -> Sequence[str]:
        """No column is protected from others by such a method: see BayesNet."""
        return ()

    @property
    def budget(self) -> Budget:
        """What there is to spend: pure epsilon."""
        return Budget(self.epsilon, self.delta, accounting="pure")

    @property
    def unit(self) -> Unit:
        """Whose data are protected."""
        return Unit(self.neighbours, self.rows_per_person)
